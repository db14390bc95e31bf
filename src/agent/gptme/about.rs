//! The description of gptme.

use crate::agent::prelude::*;
use crate::agent::upkeep::BadLine;

pub(crate) const ABOUT: About = About {
    program: Some("gptme"),
    title: "gptme",
    tested_version: Some("0.35.1"),
    is_state: |name| name == ".lock",
    variables: &[("GPTME_LOGS_HOME", None)],
    needs_own_dir: true,
    // No `new_session`: gptme reads the files and addresses that a prompt mentions, and a briefing quotes others.
    api_error: Some("error_class"),
    usage: Some(UsageAt { mark: "\"cost\"", usage: &["metadata"], cost: &["cost"], ..UsageAt::NONE }),
    // The settings contain `env` and the commands of MCP servers (gptme's config.py, 02786002).
    runs: &["config.toml"],
    renames: &["gptme-util", "chats", "rename", "ID", "TITLE"],
    marks_use: true,
    bad_line: BadLine::Skipped,
    ..About::NONE
};
