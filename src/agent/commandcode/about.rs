//! The description of Command Code in docs/agents.md.

use crate::agent::prelude::*;
use crate::agent::upkeep;
use crate::agent::upkeep::HalfLine;
use crate::agent::usage::UsageAt;

pub(crate) const ABOUT: About = About {
    title: "Command Code",
    sessions: "`~/.commandcode/projects/<project>/<id>.jsonl`, with `<id>.meta.json` and other files of the same name next to it",
    launch_dir: "that of the file's header, else the one of the project's other sessions, if they agree; different directories may share a \
        project, which is named after letters and digits alone",
    elsewhere: "it looks only in the project of the current directory: \"No session … found to resume\", exit code 1",
    needs_own_dir: true,
    starts: "`command-code --resume ID`, with `-p TEXT` for one prompt",
    in_use: "it keeps no lock: a record of the last two minutes means maybe",
    deletes: "nothing",
    writes: "nothing, but `move` puts the new directory into the header and the files into that directory's project, unless the \
        directory has characters beyond ASCII, `&` or `'`",
    facts: "measured on 1.64.0; files next to the transcript, forks and titles by its package; the names of projects with its \
        dependency @sindresorhus/slugify",
    root: ".commandcode",
    // Measured on 1.64.0: it then loses the next record, and with that every earlier one.
    half_line: HalfLine::WrittenOn,
    is_state: |name| name.ends_with("meta.json"),
    api_error: Some("\"Error: "),
    new_session: NewSession::NONE.in_terminal(&["command-code"], &[]).without_terminal(&["command-code"], &["-p"]),
    usage: Some(UsageAt { mark: "\"costUsd\"", usage: &["usage"], cost: &["costUsd"], ..UsageAt::NONE }),
    decide: evidence::decide_in_project,
    link: upkeep::node,
    ..About::NONE
};
