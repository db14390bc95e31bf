//! The rows about Otter in docs/agents.md.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "Otter",
    sessions: "`~/.otter/sessions/<id>.jsonl`",
    launch_dir: "`dir` of the first line",
    elsewhere: "works",
    starts: "`otter --resume ID`, with `-p TEXT` for one prompt",
    in_use: "nothing tells",
    deletes: "nothing",
    writes: "nothing",
    facts: "invented for docs/adding-an-agent.md",
    root: ".otter",
    ..About::NONE
};
