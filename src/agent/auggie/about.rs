//! The description of Auggie in docs/agents.md.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "Auggie",
    sessions: "`~/.augment/sessions/<id>.json`, with what it saved of a session before as `<id>-backup<number>.json` beside it; \
        what `--augment-cache-dir` leads elsewhere is not found",
    launch_dir: "the first workspace that a message names",
    elsewhere: "works, but in the current directory; it warns where its server knows another workspace of the session; the \
        beginning of an id will do",
    starts: "`auggie --resume ID`, with `--print -i TEXT` for one prompt",
    in_use: "it keeps no lock: a change of the last two minutes means maybe",
    deletes: "nothing",
    writes: "nothing",
    facts: "read in the package of 0.36.0 alone: it needs an account, so neither its sessions nor its resume could be tried \
        offline. What is only on its server is fetched by its own `auggie session list` and not shown here",
    root: ".augment",
    ..About::NONE
};
