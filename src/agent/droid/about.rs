//! The description of Factory's Droid in docs/agents.md.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "Factory Droid",
    sessions: "`~/.factory/sessions/<project>/<id>.jsonl` with `<id>.settings.json` beside it, side questions in \
        `~/.factory/sessions/btw/`; the same below `$FACTORY_HOME_OVERRIDE`, which stands in for the home",
    launch_dir: "`lastCwd` of the first record, else its `cwd`",
    elsewhere: "continues the session and changes to its directory; if that is gone, it warns and stays",
    starts: "`droid --resume ID` (0.225.2 also has `droid resume`, `--last` and `--fork`); with `--prompt` `droid exec --session-id ID TEXT`",
    in_use: "it keeps no lock while a session is open: what was written to in the last two minutes may be",
    deletes: "nothing but sessions that were never used",
    writes: "nothing",
    facts: "read in the packages of 0.215.0 and 0.225.2 alone: it needs an account, so neither its sessions nor its resume could be tried \
        offline",
    root: ".factory",
    variables: &[("FACTORY_HOME_OVERRIDE", Some(".factory"))],
    silent: &[("/type", &["session_start"])],
    is_state: |name| name.ends_with(super::SETTINGS),
    // The level of autonomy, by its package.
    runs: &[".settings.json"],
    // Source: docs.factory.ai/reference/cli-reference
    new_session: NewSession::NONE.in_terminal(&["droid"], &[]).without_terminal(&["droid", "exec"], &[]),
    ..About::NONE
};
