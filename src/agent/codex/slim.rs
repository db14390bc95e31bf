//! Writes a copy of a session without its large parts: the same records in a new rollout, whose header has a new id.
//!
//! Facts: measured on 0.171.0, which finds a rollout by the id in its name, and sends the messages of such a copy.

use super::thread::Thread;
use crate::agent::prelude::*;
use crate::agent::rewind::{self, NewCopy};
use crate::format::slim::{ResultAt, Shape};

/// Outputs for the model, and events that repeat them for the screen.
const SHAPE: Shape = Shape {
    results: &[
        ResultAt { mark: ("type", "function_call_output"), members: &["output"], counts: true },
        ResultAt { mark: ("type", "custom_tool_call_output"), members: &["output"], counts: true },
        ResultAt { mark: ("type", "local_shell_call_output"), members: &["output"], counts: true },
        ResultAt { mark: ("type", "exec_command_end"), members: SHOWN, counts: false },
        ResultAt { mark: ("type", "mcp_tool_call_end"), members: &["result"], counts: false },
    ],
    repeated: &[],
    images: &["images"],
};
/// Members with the output of a command for the screen.
const SHOWN: &[&str] = &["aggregated_output", "formatted_output", "stderr", "stdout"];

/// Implements [`Slim`](crate::agent::rewind::Slim).
pub(super) fn slim(copy: &SessionCopy, id: &str) -> Result<NewCopy, PathError> {
    let path = &copy.place.path;
    if Thread::of(&copy.place)?.parts.len() > 1 {
        return Err(rewind::fails(copy, "its conversation is in several files"));
    }
    let (bytes, removed) = rewind::slim_log(copy, path, &["session_meta"], &SHAPE, id)?;
    Ok(NewCopy { dir: None, files: vec![(rewind::beside(path, &copy.place.id, id), bytes)], removed })
}
