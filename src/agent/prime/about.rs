//! The description of Prime Agent.

use crate::agent::pi::about::USAGE;
use crate::agent::prelude::*;
use crate::agent::upkeep;

pub(crate) const ABOUT: About = About {
    program: Some("prime-agent"),
    title: "Prime Agent",
    // Never measured: the version of the package whose code was read.
    tested_version: Some("0.8.0"),
    measured: false,
    root: ".prime/agent",
    variables: &[("PRIME_AGENT_CODING_AGENT_DIR", None)],
    asks_elsewhere: true,
    api_error: Some("errorMessage"),
    usage: Some(USAGE),
    link: upkeep::node,
    parent_at: Some("parentId"),
    logs: Some(LogPlaces::named_after_id(&["sessions"])),
    ..About::NONE
};
