//! The description of Pi.

use crate::agent::prelude::*;
use crate::agent::rewind::Slim;
use crate::agent::upkeep;
use crate::agent::upkeep::BadLine;

pub(crate) const ABOUT: About = About {
    program: Some("pi"),
    slim: Some(Slim::new(super::slim::slim)),
    title: "Pi",
    tested_version: Some("1.6.0"),
    asks_elsewhere: true,
    variables: &[("PI_CODING_AGENT_DIR", None)],
    api_error: Some("errorMessage"),
    new_session: NewSession::NONE.in_terminal(&["pi"], &[]).without_terminal(&["pi", "-p"], &[]),
    usage: Some(USAGE),
    decide: evidence::decide_in_project,
    link: upkeep::node,
    parent_at: Some("parentId"),
    logs: Some(LogPlaces { dirs: &["*"], id_of_file: super::records::id_of_file }),
    bad_line: BadLine::Skipped,
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
