//! Turns that Codex took back: a resume leaves them out.
//!
//! Facts: measured on 0.169.0, by what a resume sent to the model after a `thread_rolled_back`.

use std::ops::ControlFlow;
use std::path::Path;

use memchr::memmem;
use serde::Deserialize;

use super::records::{Prompt, Record};
use crate::agent::tree::Turns;
use crate::error::PathError;
use crate::format::jsonl::each_line;
use crate::session::branches::Branches;

/// The type of the event.
const EVENT: &[u8] = b"thread_rolled_back";

#[derive(Deserialize)]
struct Event {
    payload: Rollback,
}

#[derive(Deserialize)]
struct Rollback {
    #[serde(rename = "type")]
    kind: String,
    num_turns: usize,
}

/// Returns how many turns a line takes back, if it does.
pub(super) fn taken_back(line: &[u8]) -> Option<usize> {
    memmem::find(line, EVENT)?;
    let event: Event = serde_json::from_slice(line).ok()?;
    (event.payload.kind.as_bytes() == EVENT).then_some(event.payload.num_turns)
}

/// Reads the branches of a rollout: the turns that count, and those that were taken back.
pub(super) fn branches(rollout: &Path) -> Result<Branches, PathError> {
    let mut is_any = false;
    each_line(rollout, &mut |line| {
        is_any |= line.and_then(taken_back).is_some();
        if is_any { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if !is_any {
        return Ok(Branches::default());
    }
    // A turn begins with the prompt that was sent to the model or, in older rollouts, with the event of a typed prompt.
    let (mut sent, mut typed, mut has_sent, mut lines) = (Turns::new(), Turns::new(), false, 0);
    each_line(rollout, &mut |line| {
        if let Some(line) = line {
            match taken_back(line) {
                Some(count) => {
                    sent.take_back(count);
                    typed.take_back(count);
                }
                None => match Record::of_line(line).and_then(|record| record.prompt()) {
                    Some(Prompt::Sent(_)) => {
                        has_sent = true;
                        sent.begin(lines);
                    }
                    Some(Prompt::Typed(_)) => typed.begin(lines),
                    None => {}
                },
            }
        }
        lines += 1;
        ControlFlow::Continue(())
    })?;
    Ok(if has_sent { sent } else { typed }.branches(lines))
}
