//! The description of Goose in docs/agents.md.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "Goose",
    sessions: "`~/.local/share/goose/sessions/sessions.db`, and `<id>.jsonl` beside it if Goose before 1.10 \
        wrote it and no later one imported it; the same below `$XDG_DATA_HOME` or `$GOOSE_PATH_ROOT/data`",
    launch_dir: "`working_dir`",
    elsewhere: "works, and offers to go to that directory",
    starts: "`goose session --resume --session-id ID`; with `--prompt` `goose run --resume --session-id ID -t TEXT`; for \
        a file with a warning, because Goose 1.10 or later has to import it first, or not at all if there is a database without it",
    in_use: "it keeps no lock: a record of the last two minutes means maybe",
    deletes: "nothing",
    writes: "nothing; its database is only read, and `goose session remove --session-id ID` removes a session",
    facts: "read in aaif-goose/goose 017176d0, schema 17; old files by block/goose's session_manager.rs (01643006) and legacy.rs (decaa9d2)",
    // Source: a public copy of the page "Running Tasks" in the documentation; not measured.
    new_session: NewSession::NONE.without_terminal(&["goose", "run"], &["-t"]),
    ..About::NONE
};
