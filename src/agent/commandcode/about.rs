//! The description of Command Code.

use crate::agent::prelude::*;
use crate::agent::upkeep;
use crate::agent::upkeep::{BadLine, HalfLine};

pub(crate) const ABOUT: About = About {
    program: Some("command-code"),
    title: "Command Code",
    needs_own_dir: true,
    tested_version: Some("1.64.0"),
    root: ".commandcode",
    // Measured on 1.64.0: the agent then loses the next record, and with it all earlier ones.
    half_line: HalfLine::WrittenOn,
    bad_line: BadLine::Skipped,
    is_state: |name| name.ends_with("meta.json"),
    api_error: Some("\"Error: "),
    new_session: NewSession::NONE.in_terminal(&["command-code"], &[]).without_terminal(&["command-code"], &["-p"]),
    usage: Some(UsageAt { mark: "\"costUsd\"", usage: &["usage"], cost: &["costUsd"], ..UsageAt::NONE }),
    decide: evidence::decide_in_project,
    link: upkeep::node,
    parent_at: Some("parentId"),
    logs: Some(LogPlaces::named_after_id(&["projects/*"])),
    ..About::NONE
};
