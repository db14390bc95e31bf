//! The description of Crush.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    program: Some("crush"),
    title: "Crush",
    is_anywhere: true,
    // Source: internal/cmd/run.go of charmbracelet/crush 01f8b811; no first prompt in a terminal.
    new_session: NewSession::NONE.without_terminal(&["crush", "run"], &[]),
    ..About::NONE
};
