//! The description of Grok Build in docs/agents.md.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "Grok Build",
    sessions: "`~/.grok/sessions/<percent-encoded directory>/<id>/` with `summary.json` and `updates.jsonl`; a name over 255 bytes is \
        a hash; sub-agents are sessions of the same project; the same below `$GROK_HOME`",
    launch_dir: "`info.cwd` of `summary.json`, if the project is named after it",
    elsewhere: "it resumes the session in the session's own directory, unless a second directory has one of the same id",
    starts: "`grok --resume ID`, with `-p TEXT` for one prompt; not a sub-agent's session, nor one without `summary.json`, which Grok \
        Build does not find",
    in_use: "`active_sessions.json` names a process that is there: maybe; so does a record of the last two minutes",
    deletes: "nothing",
    writes: "nothing, but `move` moves the folder into the new directory's project and changes `info.cwd`",
    facts: "measured on 1.0.41; sub-agents, `/rewind` and locks by xai-org/grok-build 19d42e35",
    root: ".grok",
    variables: &[("GROK_HOME", None)],
    silent: &[
        (
            "/params/update/sessionUpdate",
            &[
                "available_commands_update",
                "current_mode_update",
                "hooks_changed",
                "memory_files",
                "model_changed",
                "plugins_changed",
                "session_status",
            ],
        ),
        ("/type", &["system"]),
    ],
    is_state: |name| name.ends_with(".json"),
    new_session: NewSession::NONE.in_terminal(&["grok"], &[]).without_terminal(&["grok"], &["-p"]),
    api_error: Some("\"stop_reason\":\"error\""),
    rewind_mark: Some("rewind_marker"),
    decide: evidence::decide_in_project,
    marks_use: true,
    ..About::NONE
};
