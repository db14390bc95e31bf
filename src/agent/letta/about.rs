//! The description of Letta Code.

use crate::agent::prelude::*;
use crate::agent::upkeep::{BadLine, HalfLine};

pub(crate) const ABOUT: About = About {
    program: Some("letta"),
    title: "Letta Code",
    tested_version: Some("0.32.18"),
    silent: &[("/type", &["session"])],
    // `Log::add_usage` parses the record.
    usage: Some(UsageAt { mark: "\"usage\"", ..UsageAt::NONE }),
    is_state: |name| name == "conversation.json",
    half_line: HalfLine::Failing,
    bad_line: BadLine::Failing,
    new_session: NewSession::NONE.without_terminal(&["letta"], &["-p"]),
    decide: |copy| evidence::decide(copy, |evidence| evidence.counts),
    ..About::NONE
};
