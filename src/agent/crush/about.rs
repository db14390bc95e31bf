//! The description of Crush in docs/agents.md.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "Crush",
    sessions: "`.crush/crush.db` in each project; found through `projects.json` in `~/.local/share/crush`, \
        `$XDG_DATA_HOME/crush` or `$CRUSH_GLOBAL_DATA`, in the directories in which sessions of any agent worked, \
        in the current one, and in that of `--dir`; what the registry does not name is marked `planted`",
    launch_dir: "the one that the registry names for the database, else the directory of its `.crush`",
    elsewhere: "it looks only in the project's own database",
    starts: "`crush --session ID`; with `--prompt` `crush run --session ID TEXT`; with `--data-dir` if the data is not \
        in the directory's own `.crush`",
    in_use: "it keeps no lock: a record of the last two minutes means maybe",
    deletes: "nothing",
    writes: "nothing; its databases are only read, and `crush session delete ID` removes a session",
    facts: "read in charmbracelet/crush 37f36e93",
    is_anywhere: true,
    // Source: internal/cmd/run.go of charmbracelet/crush 01f8b811; no first prompt in a terminal.
    new_session: NewSession::NONE.without_terminal(&["crush", "run"], &[]),
    ..About::NONE
};
