//! The description of Kilo.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    program: Some("kilo"),
    title: "Kilo",
    tested_version: Some("7.7.9"),
    new_session: NewSession::NONE.in_terminal(&["kilo"], &["--prompt"]).without_terminal(&["kilo", "run"], &[]),
    api_error: Some("\"statusCode\""),
    ..About::NONE
};
