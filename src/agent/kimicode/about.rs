//! The description of Kimi Code.

use crate::agent::mentions::ListAt;
use crate::agent::prelude::*;
use crate::agent::upkeep::BadLine;

pub(crate) const ABOUT: About = About {
    program: Some("kimi"),
    title: "Kimi Code",
    tested_version: Some("2.1.0"),
    root: ".kimi-code",
    variables: &[("KIMI_CODE_HOME", None)],
    silent: &[(
        "/type",
        &[
            "metadata",
            "config.update",
            "permission.set_mode",
            "runtime.set_binding",
            "plugin.session_start",
            "token_counting.measured",
            "token_counting.turn_recorded",
        ],
    )],
    is_state: |name| name == "state.json",
    needs_own_dir: true,
    new_session: NewSession::NONE.without_terminal(&["kimi"], &["-p"]),
    api_error: Some("provider.api_error"),
    lists: &[ListAt { path: "session_index.jsonl", names: ["sessionId", "", "", "workDir"] }],
    bad_line: BadLine::Ending,
    ..About::NONE
};
