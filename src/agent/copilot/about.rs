//! The description of Copilot CLI in docs/agents.md.

use crate::agent::prelude::*;
use crate::agent::upkeep;

pub(crate) const ABOUT: About = About {
    title: "Copilot CLI",
    sessions: "`~/.copilot/session-state/<id>/`; the same below `$COPILOT_HOME`",
    launch_dir: "the directory of the last start or resume in `events.jsonl`; else `cwd` of `workspace.yaml`, which stays \
        the first one",
    elsewhere: "works, and goes to the directory of `workspace.yaml` by itself if that exists; the beginning of an id or a \
        name will do, so it may be another session's",
    starts: "`copilot --resume=ID`, with `-p TEXT` for one prompt",
    in_use: "`inuse.<pid>.hold` is locked from the first prompt of a client until its end; where there is none, a running process \
        of that id means maybe",
    deletes: "nothing",
    writes: "nothing",
    facts: "measured on 1.0.102",
    root: ".copilot",
    variables: &[("COPILOT_HOME", None)],
    silent: &[(
        "/type",
        &[
            "session.start",
            "session.resume",
            "session.shutdown",
            "session.model_change",
            "session.usage_record",
            "session.warning",
            "session.error",
            "session.info",
            "session.context_changed",
            "session.mode_changed",
            "system.message",
            "hook.start",
            "hook.end",
            "abort",
        ],
    )],
    // The extensions of one session, by the generated types of its SDK.
    runs: &["extensions"],
    version_at: Some("/data/copilotVersion"),
    new_session: NewSession::NONE.in_terminal(&["copilot"], &["-i"]).without_terminal(&["copilot"], &["-p"]),
    api_error: Some("session.error"),
    link: upkeep::node,
    marks_use: true,
    ..About::NONE
};
