//! The description of Goose.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    program: Some("goose"),
    title: "Goose",
    // Source: a public copy of the page "Running Tasks" in the documentation; not measured.
    new_session: NewSession::NONE.without_terminal(&["goose", "run"], &["-t"]),
    ..About::NONE
};
