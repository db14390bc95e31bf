//! The description of OpenCode.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    program: Some("opencode"),
    title: "OpenCode",
    tested_version: Some("1.18.34"),
    // Measured on 1.18.33: it never answers if the directory in its database is gone.
    needs_own_dir: true,
    check_prompt: super::check_prompt,
    new_session: NewSession::NONE.in_terminal(&["opencode"], &["--prompt"]).without_terminal(&["opencode", "run"], &[]),
    api_error: Some("\"statusCode\""),
    ..About::NONE
};
