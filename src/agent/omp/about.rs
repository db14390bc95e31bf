//! The description of oh-my-pi in docs/agents.md.

use crate::agent::prelude::*;
use crate::agent::upkeep;

pub(crate) const ABOUT: About = About {
    title: "oh-my-pi",
    sessions: "`~/.omp/agent/sessions/<project>/<time>_<id>.jsonl`, sub-agents in the folder of the same name, backups as `<name>.jsonl.<number>.bak`, archived ones \
        as `.jsonl.gz` in `~/.omp/agent/archive/sessions`; the same below `$PI_CODING_AGENT_DIR`, `~/$PI_CONFIG_DIR/agent`, \
        `~/.omp/profiles/<name>/agent` and `$XDG_DATA_HOME/omp`",
    launch_dir: "that of the file's header, else the one of the project's other sessions, if they agree",
    elsewhere: "it goes on with the session and changes to the header's directory itself; if that is gone, it asks whether \
        to move the session here, and without a terminal it fails",
    starts: "`omp --resume ID`, with `-p TEXT` for one prompt; not an archived session, which `--resume` does not find",
    has_open_file_only: true,
    in_use: "a process that has the file open, where it is looked at closely; else a record of the last two minutes means maybe",
    deletes: "nothing; `omp gc --apply` archives",
    writes: "nothing, but `move` puts the new directory into the header and the file into that directory's project",
    facts: "measured on 18.2.3; the variables, the place of images, and all of 18.3.4, by its code",
    api_error: Some("errorMessage"),
    new_session: NewSession::NONE.in_terminal(&["omp"], &[]).without_terminal(&["omp", "-p"], &[]),
    usage: Some(crate::agent::pi::about::USAGE),
    decide: evidence::decide_in_project,
    link: upkeep::node,
    marks_use: true,
    ..About::NONE
};
