//! The description of Kilo in docs/agents.md.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "Kilo",
    sessions: "`kilo.db` and `kilo-*.db` in `~/.local/share/kilo`, below `$XDG_DATA_HOME`, and what `$KILO_DB` names; \
        `opencode-*.db` there, of a channel that has no `kilo-*.db`",
    launch_dir: "`session.directory`",
    elsewhere: "works, and goes on in the session's own directory, even if that is gone; `--in` with another directory is \
        refused while its own exists",
    starts: "`kilo --session ID`; with `--prompt` `kilo run --session ID TEXT`; names the database if it is not the usual one",
    in_use: "it keeps no lock: a record of the last two minutes means maybe",
    deletes: "nothing",
    writes: "nothing; its databases are only read, and `kilo session delete ID` removes a session",
    facts: "measured on 7.7.9; names of databases by its code",
    new_session: NewSession::NONE.in_terminal(&["kilo"], &["--prompt"]).without_terminal(&["kilo", "run"], &[]),
    api_error: Some("\"statusCode\""),
    ..About::NONE
};
