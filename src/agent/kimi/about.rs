//! The description of Kimi CLI in docs/agents.md.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "Kimi CLI",
    sessions: "`~/.kimi/sessions/<md5 of the directory>/<id>/`; the same below `$KIMI_SHARE_DIR`",
    launch_dir: "the one that `kimi.json` lists, else the one that the system prompt names, whichever \
        hashes to the project",
    elsewhere: "it starts a new session of the same id without a word, so one id may have several conversations",
    starts: "`kimi --session ID`, with `--print` and `-p TEXT` for one prompt; nothing where Kimi would start anew, \
        which also empties a session that `kimi.json` no longer lists. Nor if `kimi` is 1.52 or later, which only says that it is no \
        longer maintained, or Kimi Code, which has the same name: `kimi migrate --run` of Kimi Code imports the sessions",
    in_use: "it keeps no lock: a record of the last two minutes means maybe, unless it ends a turn",
    deletes: "nothing",
    writes: "nothing",
    facts: "measured on 1.45.0 and 1.52.0; 1.51.0 by its code; its session.py (02a40bfe)",
    root: ".kimi",
    variables: &[("KIMI_SHARE_DIR", None)],
    is_state: |name| matches!(name, "state.json" | "metadata.json"),
    needs_own_dir: true,
    decide: |copy| {
        // In a directory that does not hash to the project, Kimi would start a new session.
        evidence::decide(copy, |_| false);
        copy.last_dir = copy.last_dir.take().or_else(|| copy.start_dir.clone());
    },
    // With `-p` in a terminal, it would answer and end (kimi_cli/ui/shell of 1.45.0).
    new_session: NewSession::NONE.without_terminal(&["kimi", "--print"], &["-p"]),
    ..About::NONE
};
