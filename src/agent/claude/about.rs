//! The description of Claude Code in docs/agents.md.

use crate::agent::prelude::*;
use crate::agent::relocation::is_relocated;

pub(crate) const ABOUT: About = About {
    title: "Claude Code",
    sessions: "`~/.claude/projects/<slug>/<id>.jsonl`; the same below `$CLAUDE_CONFIG_DIR`, `~/.claude-*`, and the \
        folder of each task of Claude Desktop's local agent mode, `~/.config/Claude/local-agent-mode-sessions/*/*/local_*/.claude` \
        (macOS: `~/Library/Application Support/Claude/…`)",
    launch_dir: "the last `relocated` record, else the first recorded directory, else the last, whichever encodes to the \
        slug; a session that none fits is marked `misfiled` and resumed only with `--trust` or `--in`",
    elsewhere: "before 2.1.223 it looked only in the project of the current directory: \"No conversation found with \
        session ID\"; since then it looks in every project, but finds nothing if another project has a copy too",
    starts: "`claude --resume ID`, without the variables of a client that it was started from; for a task of Claude Desktop with its \
        folder as `$CLAUDE_CONFIG_DIR`, and with a warning: Claude Code may ask for a login there, and lacks the app's tools",
    in_use: "it registers its processes, with the time each started, and whether it is idle or busy",
    deletes: "sessions whose file was last changed more than `cleanupPeriodDays` ago, 30 by default; not known for Claude Desktop",
    writes: "hooks in `settings.json` (`hook install`), and the records of directories that these hooks keep",
    facts: "measured on 2.1.332 and 2.1.197; claude-agent-sdk-python e8bde601; Claude Desktop was never \
        measured: its tasks by docs/formats/cowork.md of skillsynchq/txcript 6699e3ed, their resume with an invented one",
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
    rewind: Some(super::rewind::rewound),
    cwd_records: Some(&crate::agent::cat::Cat),
    api_error: Some("isApiErrorMessage"),
    new_session: NewSession::NONE
        .in_terminal(&["claude"], &[])
        .without_terminal(&["claude", "-p"], &[])
        .unset(super::launch_args::NESTED),
    decide: super::decide_again,
    link: super::upkeep::link,
    is_move_record: Some(is_relocated),
    marks_use: true,
    ..About::NONE
};
