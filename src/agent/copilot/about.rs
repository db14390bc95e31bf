//! The description of Copilot CLI.

use crate::agent::prelude::*;
use crate::agent::rewind::Slim;
use crate::agent::upkeep::BadLine;

pub(crate) const ABOUT: About = About {
    program: Some("copilot"),
    slim: Some(Slim::new(super::slim::slim)),
    title: "Copilot CLI",
    tested_version: Some("1.0.102"),
    root: ".copilot",
    variables: &[("COPILOT_HOME", None)],
    silent: &[(
        "/type",
        &[
            "session.start",
            "session.resume",
            "session.shutdown",
            "session.model_change",
            "session.usage_record",
            "session.warning",
            "session.error",
            "session.info",
            "session.context_changed",
            "session.mode_changed",
            "system.message",
            "hook.start",
            "hook.end",
            "abort",
        ],
    )],
    // The extensions of one session, by the generated types of its SDK.
    runs: &["extensions"],
    version_at: Some("/data/copilotVersion"),
    new_session: NewSession::NONE.in_terminal(&["copilot"], &["-i"]).without_terminal(&["copilot"], &["-p"]),
    api_error: Some("session.error"),
    marks_use: true,
    bad_line: BadLine::Skipped,
    ..About::NONE
};
