//! Turns that Codex rolled back: a resume omits them.
//!
//! Facts: measured on 0.169.0, by the requests of a resume after a `thread_rolled_back`, and after a rewind in the
//! terminal.

use memchr::memmem;

use super::records::{CodexRecord, Prompt};
use super::thread::Thread;
use crate::agent::prelude::*;
use crate::agent::tree::Turns;
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

/// Returns the number of turns that a line rolls back, if it does.
pub(super) fn taken_back(line: &[u8]) -> Option<usize> {
    memmem::find(line, EVENT)?;
    let event: Event = serde_json::from_slice(line).ok()?;
    (event.payload.kind.as_bytes() == EVENT).then_some(event.payload.num_turns)
}

/// Reads the branches of a thread: the turns that count, and those that were rolled back.
pub(super) fn branches(thread: &Thread) -> Result<Branches, PathError> {
    let mut is_any = thread.is_rewound();
    if !is_any {
        thread.each_line(&mut |line| {
            is_any |= taken_back(line.bytes).is_some();
            if is_any { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
    }
    if !is_any {
        return Ok(Branches::default());
    }
    // A turn begins with the prompt in the messages to the model or, in older rollouts, with the event of a typed
    // prompt.
    let (mut sent, mut typed, mut has_sent, mut lines) = (Turns::new(), Turns::new(), false, 0);
    let mut beyond = None;
    thread.each_line(&mut |line| {
        match (line.is_taken_back, beyond) {
            (true, None) => beyond = Some((sent.count(), typed.count())),
            (false, Some((sent_before, typed_before))) => {
                sent.truncate(sent_before);
                typed.truncate(typed_before);
                beyond = None;
            }
            _ => {}
        }
        match taken_back(line.bytes) {
            Some(count) => {
                sent.take_back(count);
                typed.take_back(count);
            }
            None => match CodexRecord::of_line(line.bytes).and_then(|record| record.prompt()) {
                Some(Prompt::Sent(_)) => {
                    has_sent = true;
                    sent.begin(lines);
                }
                Some(Prompt::Typed(_)) => typed.begin(lines),
                None => {}
            },
        }
        lines += 1;
        ControlFlow::Continue(())
    })?;
    Ok(if has_sent { sent } else { typed }.branches(lines))
}
