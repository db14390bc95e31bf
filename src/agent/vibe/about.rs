//! The description of Vibe in docs/agents.md.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "Vibe",
    sessions: "`~/.vibe/logs/session/unified/<id>/`, and older ones in `~/.vibe/logs/session/<prefix>_<time>_<8 \
        characters>/`; the same below `$VIBE_HOME` or in `save_dir` of its settings",
    launch_dir: "`working_directory` of `meta.json`; for a sub-agent, which has none, that of its state",
    elsewhere: "works, but in the current directory and not where the session worked; 8 characters of an id will do, so it \
        may be another session's",
    starts: "`vibe --resume ID`, with `-p TEXT` for one prompt",
    in_use: "`active/<id>.lock` is locked while a client has the session open; a lock of a process that cannot be seen \
        means maybe",
    deletes: "nothing",
    writes: "nothing",
    facts: "measured on 3.0.2; mistralai/mistral-vibe session_logger.py (025ba238), session_lease.py (503a4dcb)",
    root: ".vibe",
    variables: &[("VIBE_HOME", None)],
    is_state: |name| matches!(name, "meta.json" | "scheduled-loops.json"),
    // On exit, the client prints its own resume command with this prefix of the id.
    printed_id: Some(super::PRINTED_ID),
    new_session: NewSession::NONE.in_terminal(&["vibe"], &[]).without_terminal(&["vibe"], &["-p"]),
    marks_use: true,
    ..About::NONE
};
