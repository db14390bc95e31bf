//! The description of Hermes in docs/agents.md.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "Hermes",
    sessions: "`~/.hermes/state.db`, and `profiles/<name>/state.db` there; the same below `$HERMES_HOME`",
    launch_dir: "`cwd`, the first directory; a branch has none",
    elsewhere: "works, and goes to `cwd` by itself; where that is gone it says so and stays in the current directory. In a \
        terminal an id that it does not know starts an empty session of that name",
    starts: "`hermes --resume ID`; with `--prompt` `hermes chat -Q --resume ID -q TEXT`, because `-z` would start anew; names \
        the home of a profile; nothing while another profile is the active one",
    in_use: "it keeps no lock: a record of the last two minutes means maybe",
    deletes: "nothing, unless `sessions.auto_prune` is on",
    writes: "nothing; its database is only read, and `hermes sessions delete --yes ID` removes a session",
    facts: "measured on 0.19.0, schema 22; profiles, sub-agents and compression by its code",
    root: ".hermes",
    variables: &[("HERMES_HOME", None)],
    // In a terminal, `-q` also answers and ends.
    new_session: NewSession::NONE.without_terminal(&["hermes", "chat", "-Q"], &["-q"]),
    renames: &["hermes", "sessions", "rename", "ID", "TITLE"],
    ..About::NONE
};
