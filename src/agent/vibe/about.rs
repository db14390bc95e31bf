//! The description of Vibe.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    program: Some("vibe"),
    title: "Vibe",
    tested_version: Some("3.0.2"),
    root: ".vibe",
    variables: &[("VIBE_HOME", None)],
    is_state: |name| matches!(name, "meta.json" | "scheduled-loops.json"),
    // On exit, the client prints its own resume command with this prefix of the id.
    printed_id: Some(super::PRINTED_ID),
    new_session: NewSession::NONE.in_terminal(&["vibe"], &[]).without_terminal(&["vibe"], &["-p"]),
    marks_use: true,
    ..About::NONE
};
