//! The facts about Gemini CLI in docs/agents.md.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "Gemini CLI",
    sessions: "`~/.gemini/tmp/<project>/chats/session-<minute>-<id8>.jsonl`, older ones `.json`, and the chats that you \
        saved with `/chat save TAG` (kind `saved`), `~/.gemini/tmp/<project>/checkpoint-TAG.json`; the same below `$GEMINI_CLI_HOME`",
    launch_dir: "the one in `.project_root` or `projects.json`; of a project that is named by a hash, whichever known \
        directory has that hash: of the registry, of other agents' sessions, or the current one",
    elsewhere: "it looks only in the project of the current directory: \"Invalid session identifier\", exit code 42",
    starts: "`gemini --resume ID`, with a warning: after a resume the client may delete the session; \
        for a saved chat `gemini`, and it says to type `/chat resume TAG` there",
    in_use: "it leaves no mark: a record of the last minutes means maybe",
    deletes: "a session that was resumed, at a later start (0.61.0)",
    writes: "nothing",
    facts: "measured on 0.61.0 and 0.25.0; its projectRegistry.ts (04fbf507) and sessionOperations.ts (0a33bdb8); \
        saved chats by its logger.ts (04fbf507)",
    root: ".gemini",
    variables: &[("GEMINI_CLI_HOME", Some(".gemini"))],
    needs_own_dir: true,
    is_hash: super::is_hash,
    decide: |copy| {
        evidence::decide(copy, |_| false);
        // A session never leaves its directory.
        copy.last_dir = copy.start_dir.clone();
    },
    new_session: NewSession::NONE.in_terminal(&["gemini"], &["-i"]).without_terminal(&["gemini"], &["-p"]),
    rewind_mark: Some("$rewindTo"),
    ..About::NONE
};
