//! The description of Codex.

use crate::agent::mentions::ListAt;
use crate::agent::prelude::*;
use crate::agent::upkeep::BadLine;

pub(crate) const ABOUT: About = About {
    program: Some("codex"),
    slim: Some(super::slim::SLIM),
    title: "Codex",
    has_open_file_only: true,
    tested_version: Some("0.171.0"),
    root: ".codex",
    variables: &[("CODEX_HOME", None)],
    has_forks: true,
    runs: &["shell_snapshots"],
    version_at: Some("/payload/cli_version"),
    joins: super::joins,
    list_anew: super::list_anew,
    api_error: Some("codex_error_info"),
    new_session: NewSession::NONE
        .in_terminal(&["codex"], &[])
        .without_terminal(&["codex", "exec", "--skip-git-repo-check"], &[]),
    rewind_mark: Some("thread_rolled_back"),
    // Measured on 0.169.0: the sum is written after each reply.
    usage: Some(UsageAt {
        mark: "\"total_token_usage\"",
        usage: &["payload", "info", "total_token_usage"],
        last: &["payload", "info", "last_token_usage"],
        input: &["input_tokens"],
        cached: "cached_input_tokens",
        output: &["output_tokens"],
        is_total: true,
        ..UsageAt::NONE
    }),
    marks_use: true,
    lists: &[
        ListAt { path: "history.jsonl", names: ["session_id", "text", "ts", ""] },
        ListAt { path: "session_index.jsonl", names: ["id", "thread_name", "updated_at", ""] },
    ],
    logs: Some(LogPlaces {
        dirs: &["sessions", "sessions/*", "sessions/*/*", "sessions/*/*/*", "archived_sessions"],
        id_of_file: super::rollouts::rollout_id,
    }),
    bad_line: BadLine::Skipped,
    ..About::NONE
};
