//! Writes a copy of a session without its large parts: the same records in a new rollout, whose header has a new id.
//!
//! Facts: measured on 0.171.0, which finds a rollout by the id in its name, and sends the messages of such a copy.

use super::thread::Thread;
use crate::agent::prelude::*;
use crate::agent::rewind::{self, NewCopy};
use crate::format::slim::Results;

/// Outputs for the model, and events that repeat them for the screen.
const RESULTS: Results = Results {
    marks: &[
        ("type", "function_call_output"),
        ("type", "custom_tool_call_output"),
        ("type", "local_shell_call_output"),
        ("type", "exec_command_end"),
        ("type", "mcp_tool_call_end"),
    ],
    members: &["images"],
};

/// Implements [`Slim`](crate::agent::rewind::Slim).
pub(super) fn slim(copy: &SessionCopy, id: &str) -> Result<NewCopy, PathError> {
    let path = &copy.place.path;
    if Thread::of(&copy.place)?.parts.len() > 1 {
        return Err(rewind::fails(copy, "its conversation is in several files"));
    }
    let (bytes, removed) = rewind::slim_log(copy, path, &["session_meta"], RESULTS, id)?;
    Ok(NewCopy { dir: None, files: vec![(rewind::beside(path, &copy.place.id, id), bytes)], removed })
}
