//! The description of Grok Build.

use crate::agent::prelude::*;
use crate::agent::upkeep::BadLine;

pub(crate) const ABOUT: About = About {
    program: Some("grok"),
    title: "Grok Build",
    tested_version: Some("1.0.41"),
    root: ".grok",
    variables: &[("GROK_HOME", None)],
    silent: &[
        (
            "/params/update/sessionUpdate",
            &[
                "available_commands_update",
                "current_mode_update",
                "hooks_changed",
                "memory_files",
                "model_changed",
                "plugins_changed",
                "session_status",
            ],
        ),
        ("/type", &["system"]),
    ],
    is_state: |name| name.ends_with(".json"),
    new_session: NewSession::NONE.in_terminal(&["grok"], &[]).without_terminal(&["grok"], &["-p"]),
    api_error: Some("\"stop_reason\":\"error\""),
    rewind_mark: Some("rewind_marker"),
    decide: evidence::decide_in_project,
    marks_use: true,
    bad_line: BadLine::Skipped,
    ..About::NONE
};
