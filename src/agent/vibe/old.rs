//! The older directories: `meta.json` and `messages.jsonl`, with one message per line and no times.

use std::ops::ControlFlow;
use std::path::PathBuf;

use jiff::Timestamp;

use crate::agent::vibe::records::OldMessage;
use crate::error::PathError;
use crate::format::json;
use crate::format::jsonl::{Jsonl, each_line, each_message};
use crate::session::{Fact, Health, Located, SessionCopy, SessionKind, Visitor};

pub(super) fn messages_path(place: &Located) -> PathBuf {
    place.path.join("messages.jsonl")
}

/// Reads the two ends of the messages. Returns the time of their file, for sessions without any other time.
pub(super) fn read(copy: &mut SessionCopy) -> Result<Option<Fact<Timestamp>>, PathError> {
    let path = messages_path(&copy.place);
    let mut prompt = None;
    let mut is_empty = true;
    let mut modified = None;
    if let Some(mut file) = Jsonl::open_if_present(&path)? {
        copy.transcript_bytes = file.len();
        modified = file.modified();
        let mut has_reply = false;
        let is_whole = file.lines_forward(|line| {
            if let Some(message) = json::record::<OldMessage<'_>>(line) {
                prompt = message.prompt();
                has_reply |= message.is_reply();
            }
            prompt.is_some()
        })?;
        is_empty = is_whole && !has_reply;
        let mut is_torn = false;
        file.lines_backward(|line, is_ended| {
            is_torn = !is_ended && json::record::<OldMessage<'_>>(line).is_none();
            true
        })?;
        if is_torn {
            // Vibe hides a session with an unreadable line.
            copy.health.insert(Health::TornTranscript);
        }
    }
    if is_empty && prompt.is_none() {
        copy.kind = SessionKind::Empty;
    }
    copy.first_prompt = prompt.map(|prompt| Fact::new(prompt, "messages"));
    Ok(modified.filter(|_| copy.active_at.is_none()).map(|at| Fact::new(at, "mtime")))
}

/// Counts prompts and replies, and returns whether there is an unreadable line.
pub(super) fn count(place: &Located) -> Result<(u64, u64, bool), PathError> {
    let (mut prompts, mut replies, mut has_bad_lines) = (0, 0, false);
    each_line(&messages_path(place), &mut |line| {
        match line.and_then(json::record::<OldMessage<'_>>) {
            Some(message) => {
                prompts += u64::from(message.prompt().is_some());
                replies += u64::from(message.is_reply());
            }
            None => has_bad_lines = true,
        }
        ControlFlow::Continue(())
    })?;
    Ok((prompts, replies, has_bad_lines))
}

pub(super) fn messages(place: &Located, see: &mut Visitor<'_>) -> Result<(), PathError> {
    each_message(&messages_path(place), see, |line| {
        json::record::<OldMessage<'_>>(line).map(|message| message.messages())
    })
}
