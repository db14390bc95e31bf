//! Writes a copy of a session without its large parts: the same records in a new rollout, whose header has a new id.
//!
//! Facts: measured on 0.171.0, which finds a rollout by the id in its name, and sends the messages of such a copy.

use super::rollouts::is_segment;
use crate::agent::prelude::*;
use crate::agent::rewind::{self, NewCopy, Slim};
use crate::format::slim::{ResultAt, SlimShape};

/// Outputs for the model, and events that repeat them for the screen.
const SHAPE: SlimShape = SlimShape {
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

/// A fork, or a thread after a rewind, may be in several rollouts, each with a part of it.
pub(super) const SLIM: Slim = Slim { write: slim, is_supported: is_in_one_file };

fn is_in_one_file(copy: &SessionCopy) -> bool {
    !is_segment(&copy.place.path) && copy.parent_id.is_none()
}

fn slim(copy: &SessionCopy, id: &str) -> Result<NewCopy, PathError> {
    rewind::slim_file(copy, &["session_meta"], &SHAPE, id)
}
