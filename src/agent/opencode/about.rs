//! The description of OpenCode.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "OpenCode",
    tested_version: Some("1.18.34"),
    check_prompt: super::check_prompt,
    new_session: NewSession::NONE.in_terminal(&["opencode"], &["--prompt"]).without_terminal(&["opencode", "run"], &[]),
    api_error: Some("\"statusCode\""),
    ..About::NONE
};
