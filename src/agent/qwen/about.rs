//! The description of Qwen Code.

use crate::agent::claude;
use crate::agent::mentions::ListAt;
use crate::agent::prelude::*;
use crate::agent::upkeep::{BadLine, HalfLine};

pub(crate) const ABOUT: About = About {
    program: Some("qwen"),
    title: "Qwen Code",
    tested_version: Some("0.24.4"),
    variables: &[("QWEN_HOME", None)],
    needs_own_dir: true,
    version_at: Some("/version"),
    // Measured on 0.24.4: the line then is not a record, and the next record has lost its parent.
    half_line: HalfLine::WrittenOn,
    bad_line: BadLine::Skipped,
    new_session: NewSession::NONE.in_terminal(&["qwen"], &["-i"]).without_terminal(&["qwen"], &["-p"]),
    api_error: Some("qwen-code.api_error"),
    // Measured on 0.24.4: thinking tokens are added to the output tokens.
    usage: Some(UsageAt {
        mark: "\"usageMetadata\"",
        usage: &["usageMetadata"],
        input: &["promptTokenCount"],
        cached: "cachedContentTokenCount",
        output: &["candidatesTokenCount", "thoughtsTokenCount"],
        ..UsageAt::NONE
    }),
    decide: |copy| evidence::decide(copy, |evidence| evidence.source == "transcript"),
    link: claude::link,
    parent_at: Some("parentUuid"),
    marks_use: true,
    lists: &[ListAt { path: "tmp/*/logs.json", names: ["sessionId", "message", "timestamp", ""] }],
    logs: Some(LogPlaces::named_after_id(&["projects/*/chats", "projects/*/chats/archive"])),
    ..About::NONE
};
