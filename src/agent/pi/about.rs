//! The description of Pi in docs/agents.md.

use crate::agent::prelude::*;
use crate::agent::upkeep;
use crate::agent::usage::UsageAt;

pub(crate) const ABOUT: About = About {
    title: "Pi",
    sessions: "`~/.pi/agent/sessions/<project>/<time>_<id>.jsonl`; the same below `$PI_CODING_AGENT_DIR`; without \
        projects in `$PI_CODING_AGENT_SESSION_DIR` or the `sessionDir` of its settings",
    launch_dir: "that of the file's header, else the one of the project's other sessions, if they agree",
    elsewhere: "it asks whether to fork; without a terminal it does nothing and returns 0; if its own directory is gone, 1.5.2 \
        asks whether to continue, to fork or to cancel, and without a terminal ends with an error; the beginning of an id may \
        resume another session",
    starts: "`pi --session ID`, with `-p TEXT` for one prompt; not a file without a header, which Pi would empty",
    in_use: "it keeps no lock: a record of the last two minutes means maybe",
    deletes: "nothing",
    writes: "nothing",
    facts: "measured on 1.5.2 and 0.87.1; earendil-works/pi 005aeb97",
    asks_elsewhere: true,
    api_error: Some("errorMessage"),
    new_session: NewSession::NONE.in_terminal(&["pi"], &[]).without_terminal(&["pi", "-p"], &[]),
    usage: Some(USAGE),
    decide: evidence::decide_in_project,
    link: upkeep::node,
    ..About::NONE
};

/// The tokens and the cost of a reply (Pi 0.87.1, oh-my-pi 18.2.3). The cost is by pi-ai of Pi 1.5.2: the total that
/// the provider billed, or else the one by the prices of its catalog. For a model without a price it is zero.
pub(in crate::agent) const USAGE: UsageAt = UsageAt {
    mark: "\"usage\"",
    usage: &["message", "usage"],
    input: &["input", "cacheRead", "cacheWrite"],
    cached: "cacheRead",
    output: &["output"],
    cost: &["cost", "total"],
    ..UsageAt::NONE
};
