//! The description of JidoCode in docs/agents.md.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "JidoCode",
    sessions: "`~/.jido_code/sessions/<id>.json`, only while they are closed",
    launch_dir: "`project_path`",
    elsewhere: "works, if `project_path` exists",
    starts: "`jido_code`, and says what to type: `/resume ID`",
    in_use: "a session that is open has no file",
    deletes: "the file of a session that it resumes; closing the session writes it again",
    writes: "signed sessions (`save jido`)",
    facts: "read in agentjido/jido_code 03efe8eb",
    root: ".jido_code",
    silent: &[("/role", &["system"]), ("/status", &["pending", "in_progress", "completed"])],
    marks_use: true,
    ..About::NONE
};
