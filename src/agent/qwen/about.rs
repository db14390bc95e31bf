//! The description of Qwen Code in docs/agents.md.

use crate::agent::prelude::*;
use crate::agent::upkeep::HalfLine;
use crate::agent::usage::UsageAt;

pub(crate) const ABOUT: About = About {
    title: "Qwen Code",
    sessions: "`~/.qwen/projects/<slug>/chats/<id>.jsonl`, archived ones in `chats/archive/`; the same below \
        `$QWEN_RUNTIME_DIR`, the settings' `runtimeOutputDir` and `$QWEN_HOME`",
    launch_dir: "the first recorded one, also where several directories share a slug; the repository for what was done in a \
        worktree of the client; `misfiled` as for Claude Code",
    elsewhere: "it looks only for sessions whose first record names the current directory: \"No saved session found with \
        ID\"",
    starts: "`qwen --resume ID`",
    in_use: "it registers its processes; where there is no register, the process that a session's `runtime.json` names \
        means maybe",
    deletes: "nothing",
    writes: "nothing",
    facts: "measured on 0.24.4 and 0.15.10; its sessionService.ts (011133cd) and storage.ts (013e660f)",
    needs_own_dir: true,
    version_at: Some("/version"),
    // Measured on 0.24.4: the line is then not a record, and the next record has lost its parent.
    half_line: HalfLine::WrittenOn,
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
    marks_use: true,
    ..About::NONE
};
