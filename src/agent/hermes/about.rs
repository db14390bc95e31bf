//! The description of Hermes.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    program: Some("hermes"),
    title: "Hermes",
    tested_version: Some("0.19.0"),
    root: ".hermes",
    variables: &[("HERMES_HOME", None)],
    // Even at a terminal, `-q` answers once and exits.
    new_session: NewSession::NONE.without_terminal(&["hermes", "chat", "-Q"], &["-q"]),
    renames: &["hermes", "sessions", "rename", "ID", "TITLE"],
    ..About::NONE
};
