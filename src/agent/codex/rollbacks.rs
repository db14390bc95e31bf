//! Turns that Codex rolled back: a resume omits them.
//!
//! Facts: measured on 0.169.0, by the requests of a resume after a `thread_rolled_back`, and after a rewind in the
//! terminal.

use memchr::memmem;

use super::records::{CodexRecord, Prompt};
use super::thread::{Thread, ThreadLine};
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
    let (mut division, mut lines) = (Division::of(thread), 0);
    if !division.is_any {
        thread.each_line(&mut |line| {
            division.is_any |= taken_back(line.bytes).is_some();
            if division.is_any { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
    }
    if division.is_any {
        thread.each_line(&mut |line| {
            division.see(lines, &line, CodexRecord::of_line(line.bytes).and_then(|record| record.prompt()).as_ref());
            lines += 1;
            ControlFlow::Continue(())
        })?;
    }
    Ok(division.branches(lines))
}

/// The division of a thread into turns so far.
///
/// A turn begins with the prompt in the messages to the model or, in older rollouts, with the event of a typed prompt.
pub(super) struct Division {
    /// Set if anything was rolled back.
    is_any: bool,
    sent: Turns,
    typed: Turns,
    has_sent: bool,
    /// The numbers of turns that counted where the next rollout continues.
    beyond: Option<(usize, usize)>,
}

impl Division {
    pub(super) fn of(thread: &Thread) -> Self {
        let (sent, typed, has_sent, beyond) = Default::default();
        Self { is_any: thread.is_rewound(), sent, typed, has_sent, beyond }
    }

    /// Adds a line by its number, and its prompt, if it has one.
    pub(super) fn see(&mut self, at: usize, line: &ThreadLine<'_>, prompt: Option<&Prompt>) {
        match (line.is_taken_back, self.beyond) {
            (true, None) => self.beyond = Some((self.sent.count(), self.typed.count())),
            (false, Some((sent_before, typed_before))) => {
                self.sent.truncate(sent_before);
                self.typed.truncate(typed_before);
                self.beyond = None;
            }
            _ => {}
        }
        match (taken_back(line.bytes), prompt) {
            (Some(count), _) => {
                self.is_any = true;
                self.sent.take_back(count);
                self.typed.take_back(count);
            }
            (None, Some(Prompt::Sent(_))) => {
                self.has_sent = true;
                self.sent.begin(at);
            }
            (None, Some(Prompt::Typed(_))) => self.typed.begin(at),
            (None, None) => {}
        }
    }

    pub(super) fn branches(&self, lines: usize) -> Branches {
        let turns = if self.has_sent { &self.sent } else { &self.typed };
        if self.is_any { turns.branches(lines) } else { Branches::default() }
    }
}
