//! The description of Codex in docs/agents.md.

use crate::agent::prelude::*;
use crate::agent::usage::UsageAt;

pub(crate) const ABOUT: About = About {
    title: "Codex",
    sessions: "`~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl` and `archived_sessions/`, each also as \
        `.jsonl.zst`; after a rewind also `rollout-<time>-<id>_<segment>.jsonl`; the same below `$CODEX_HOME`",
    launch_dir: "where the last turn worked, else where the session was started",
    elsewhere: "works; `exec` then works in the current directory and the session stays there, a terminal asks. Anything \
        but a full id that it knows starts a new session without a word",
    starts: "`codex resume ID`, with `--prompt` `codex exec --skip-git-repo-check resume ID TEXT`; an archived session \
        is refused with the `codex unarchive ID` to run first",
    has_open_file_only: true,
    in_use: "a lock (`flock`) on `thread-writer-locks/<id>.lock`; for versions without one, a process that has the file \
        open for writing",
    deletes: "nothing",
    writes: "nothing",
    facts: "measured on 0.169.0 and 0.57.0; openai/codex 28345fe3, 3846901e",
    root: ".codex",
    variables: &[("CODEX_HOME", None)],
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
        input: &["input_tokens"],
        cached: "cached_input_tokens",
        output: &["output_tokens"],
        is_total: true,
        ..UsageAt::NONE
    }),
    marks_use: true,
    ..About::NONE
};
