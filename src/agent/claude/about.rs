//! The description of Claude Code.

use crate::agent::about::OutputDir;
use crate::agent::mentions::ListAt;
use crate::agent::prelude::*;
use crate::agent::relocation::is_relocated;
use crate::agent::rewind::Slim;
use crate::agent::upkeep::BadLine;

pub(crate) const ABOUT: About = About {
    program: Some("claude"),
    title: "Claude Code",
    tested_version: Some("2.1.332"),
    variables: &[("CLAUDE_CONFIG_DIR", None)],
    has_forks: true,
    // The scripts that hooks write into `$CLAUDE_ENV_FILE`, sourced before each command of a tool.
    runs: &["session-env"],
    version_at: Some("/version"),
    has_verbatim_titles: true,
    references: super::relocation::references,
    changes_outside: &[
        "~/.claude.json",
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".claude/cat/sessions/*.cwd",
    ],
    // `<project>/<id>/tasks` below it (read in the bundle of 2.1.332).
    output_dir: Some(OutputDir { variable: "CLAUDE_CODE_TMPDIR", prefix: "claude-" }),
    rewind: Some(super::rewind::rewound),
    slim: Some(Slim::new(super::rewind::slim)),
    cwd_records: Some(&crate::agent::cat::Cat),
    api_error: Some("isApiErrorMessage"),
    new_session: NewSession::NONE
        .in_terminal(&["claude"], &[])
        .without_terminal(&["claude", "-p"], &[])
        .unset(super::launch_args::NESTED),
    // The values that the agents of a workflow returned, which their transcripts have too: daaain/claude-code-log #174, and
    // the bundle of 2.1.332.
    is_journal: |path| {
        let run = path.parent().and_then(|dir| dir.parent());
        path.ends_with("journal.jsonl") && run.is_some_and(|dir| dir.ends_with("subagents/workflows"))
    },
    joins: |copy| super::live::job(copy).is_some(),
    decide: super::decide_again,
    link: super::upkeep::link,
    parent_at: Some("parentUuid"),
    is_move_record: Some(is_relocated),
    // At the end of each turn and of the session (2.1.332). The client writes a title of the user again, too; that counts.
    untimed: &["ai-title", "atis-latch", "last-prompt", "mode", "permission-mode"],
    marks_use: true,
    lists: &[
        ListAt { path: "history.jsonl", names: ["sessionId", "display", "timestamp", "project"] },
        // An index of each project, which versions of early 2026 wrote (anthropics/claude-code#25032, #41458).
        ListAt {
            path: "projects/*/sessions-index.json",
            names: ["sessionId", "firstPrompt summary", "modified", "projectPath"],
        },
    ],
    usage: Some(UsageAt::NONE),
    logs: Some(LogPlaces::named_after_id(&["projects/*"])),
    bad_line: BadLine::Skipped,
    ..About::NONE
};
