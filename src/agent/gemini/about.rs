//! The description of Gemini CLI.

use crate::agent::mentions::ListAt;
use crate::agent::prelude::*;
use crate::agent::upkeep::BadLine;

pub(crate) const ABOUT: About = About {
    program: Some("gemini"),
    title: "Gemini CLI",
    tested_version: Some("0.61.0"),
    root: ".gemini",
    variables: &[("GEMINI_CLI_HOME", Some(".gemini"))],
    // A message that is written again counts once. Thinking tokens are counted separately.
    usage: Some(UsageAt {
        mark: "\"tokens\"",
        usage: &["tokens"],
        input: &["input"],
        cached: "cached",
        output: &["output", "thoughts"],
        id: "id",
        ..UsageAt::NONE
    }),
    needs_own_dir: true,
    is_hash: super::is_hash,
    decide: |copy| {
        evidence::decide(copy, |_| false);
        // A session never leaves its directory.
        copy.last_dir = copy.start_dir.clone();
    },
    new_session: NewSession::NONE.in_terminal(&["gemini"], &["-i"]).without_terminal(&["gemini"], &["-p"]),
    rewind_mark: Some("$rewindTo"),
    lists: &[ListAt { path: "tmp/*/logs.json", names: ["sessionId", "message", "timestamp", ""] }],
    bad_line: BadLine::Skipped,
    ..About::NONE
};
