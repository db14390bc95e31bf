//! The description of Continue.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    program: Some("cn"),
    title: "Continue CLI",
    tested_version: Some("1.5.47"),
    root: ".continue/sessions",
    variables: &[("CONTINUE_GLOBAL_DIR", Some("sessions"))],
    silent: &[("/message/role", &["system"])],
    // Measured on 1.5.47: only an editor extension removes an entry from its `sessions.json`.
    still_lists: Some("Continue CLI still lists removed sessions, and opens the newest session instead"),
    // Measured on `tested_version`.
    new_session: NewSession::NONE.without_terminal(&["cn", "-p"], &[]),
    ..About::NONE
};
