//! Reads the files of a session: lines, or one document of the older generation.

use std::collections::HashSet;
use std::io::Read;

use super::{DOCUMENT, is_document, saved};
use crate::agent::gemini::conversation::{Conversation, HistoryEntry, Place};
use crate::agent::gemini::records::{GeminiRecord, message, record};
use crate::agent::prelude::*;
use crate::agent::unknown_format;
use crate::format::document::DocumentField;
use crate::format::jsonl::{Jsonl, lacks_text};
use crate::session::branches::{Id, hash};
use crate::session::obstacle::Obstacle;

/// Files up to this size, in bytes, are read whole for a list; larger ones only at both ends.
const SMALL: u64 = 64 * 1024;
/// Number of bytes at the start of a document that are read for a list.
const MAX_HEAD: u64 = 1024 * 1024;

/// Reads the facts for a list from a file of lines, and returns the file's modification time.
pub(super) fn read_lines(copy: &mut SessionCopy) -> Result<Option<Timestamp>, PathError> {
    let path = copy.place.path.clone();
    let mut file = Jsonl::open(&path)?.with_tail(usize::try_from(SMALL).unwrap_or(usize::MAX));
    let (length, modified) = (file.len(), file.modified());
    copy.transcript_bytes = length;
    let mut sum = Conversation::default();
    let is_whole = file.lines_forward(&mut |line| {
        sum.see(line, Place::default());
        length > SMALL && sum.first_prompt().is_some() && sum.created_at.is_some()
    })?;
    let (mut late, mut is_torn, mut seen) = (Conversation::default(), false, 0);
    file.lines_backward(&mut |line, is_ended| {
        is_torn |= !is_ended && record(line).is_none();
        seen += line.len() as u64;
        if !is_whole {
            // The file is read backwards, so the first value found is the last one written.
            let mut one = Conversation::default();
            one.see(line, Place::default());
            late.newest = late.newest.max(one.newest);
            late.summary = late.summary.take().or(one.summary);
            late.model = late.model.take().or(one.model);
            // The last checkpoint buries the conversation if no record from there on may be a part of one.
            let record = record(line).filter(|_| late.buried_at.is_none() && !late.has_spoken);
            if let Some(record) = record {
                late.has_spoken = !record.is_silent();
                let is_checkpoint = record.change().as_ref().unwrap_or(&record).checkpoint().is_some();
                late.buried_at = (is_checkpoint && !late.has_spoken).then_some(0);
            }
        }
        is_whole || (late.newest.is_some() && late.model.is_some() && (late.summary.is_some() || seen >= SMALL))
    })?;
    sum.newest = sum.newest.max(late.newest);
    sum.summary = late.summary.or(sum.summary);
    sum.model = late.model.or(sum.model);
    sum.buried_at = late.buried_at.or(sum.buried_at);
    copy.mark_if(is_torn, Health::TornTranscript);
    fill(copy, &sum, is_whole);
    Ok(modified)
}

/// Reads the facts for a list from a document, and returns the file's modification time.
pub(super) fn read_document(copy: &mut SessionCopy) -> Result<Option<Timestamp>, PathError> {
    let path = copy.place.path.clone();
    let (file, metadata) = fsio::open_regular(&path)?;
    copy.transcript_bytes = metadata.len();
    let mut sum = Conversation::default();
    let (is_small, is_saved) = (metadata.len() <= SMALL, saved::is_in(&copy.place));
    let mut see = |field: DocumentField<'_>| {
        take_field(&mut sum, &field);
        // The header has the newest time; the title is at the end.
        if !is_small && sum.first_prompt().is_some() && (is_saved || sum.model.is_some()) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let is_read = if !is_small {
        each(&copy.place, &mut file.take(MAX_HEAD), &mut see)
    } else if is_saved {
        saved::each(&mut &*fsio::read_opened(file, &metadata, &path, SMALL)?, &mut see)
    } else {
        DOCUMENT.each_in(&fsio::read_opened(file, &metadata, &path, SMALL)?, &mut see)
    };
    if !is_small && !is_saved {
        Jsonl::open(&path)?.lines_backward(&mut |line, _| {
            sum.summary = summary_line(line);
            // The title comes after the last message, whose brackets have this indentation.
            sum.summary.is_some() || line.starts_with(b"  ]")
        })?;
    } else if is_small && !is_read {
        copy.health.insert(Health::InvalidContent);
    }
    fill(copy, &sum, is_small);
    Ok(metadata.modified().ok().and_then(|time| Timestamp::try_from(time).ok()))
}

/// Parses the title in a line of a document with the client's layout.
pub(super) fn summary_line(line: &[u8]) -> Option<String> {
    let value = line.strip_prefix(b"  \"summary\": ")?;
    let value = value.strip_suffix(b",").unwrap_or(value);
    serde_json::from_slice::<Text<'_>>(value).ok()?.filled().map(str::to_owned)
}

pub(super) fn take_field(sum: &mut Conversation, field: &DocumentField<'_>) {
    match field {
        DocumentField::Member(key, value) => {
            if let Some(value) = inner::<Text<'_>>(Some(value)).get() {
                sum.take_field(key, value);
            }
        }
        DocumentField::Message(raw) => match message(raw) {
            Some(message) => sum.take_message(&message, Place::default()),
            None => sum.has_bad_lines = true,
        },
    }
}

/// Passes the fields of a document, or of a saved chat, to `see`.
pub(super) fn each(
    place: &Located,
    file: &mut dyn Read,
    see: &mut dyn FnMut(DocumentField<'_>) -> ControlFlow<()>,
) -> bool {
    if saved::is_in(place) { saved::each(file, see) } else { DOCUMENT.each(file, see) }
}

/// Reads a whole file into a conversation, and calls `see` with each line, or message of a document.
pub(super) fn whole(place: &Located, see: &mut dyn FnMut(&[u8])) -> Result<Conversation, PathError> {
    let mut sum = Conversation::default();
    if is_document(place) {
        let (mut file, _) = fsio::open_regular(&place.path)?;
        each(place, &mut file, &mut |field| {
            take_field(&mut sum, &field);
            if let DocumentField::Message(raw) = field {
                see(raw.get().as_bytes());
            }
            ControlFlow::Continue(())
        });
        return Ok(sum);
    }
    let mut lines = Jsonl::open(&place.path)?.into_lines()?;
    while let Some(line) = lines.next_line()? {
        see(line.bytes);
        // A checkpoint repeats the lines before it, which have the texts that do not fit.
        let has_list = |record: &GeminiRecord<'_>| record.change().as_ref().unwrap_or(record).checkpoint().is_some();
        if lacks_text(line.bytes) {
            if record(line.bytes).as_ref().is_some_and(has_list) {
                continue;
            }
            sum.lacks_text = true;
        }
        let length = line.offset(line.bytes.len()) - line.start;
        sum.see(line.bytes, Place { start: line.start, length, nth: None });
    }
    Ok(sum)
}

/// Passes messages in their order, each from the line that it was last written in.
pub(super) fn show(
    path: &Path,
    entries: &[(&HistoryEntry, Option<u16>)],
    see: &mut Visitor<'_>,
) -> Result<(), PathError> {
    let file = Jsonl::open(path)?;
    let answered: HashSet<Id> = entries.iter().flat_map(|(entry, _)| entry.answers.iter().copied()).collect();
    let is_answered = |id: &str| answered.contains(&hash(id));
    for group in entries.chunk_by(|(a, _), (b, _)| a.place.start == b.place.start) {
        let Place { start, length, .. } = group[0].0.place;
        let mut lines = file.lines_from(start, length)?;
        // If the file has been replaced in the meantime, the line is gone.
        let Some(record) = lines.next_line()?.and_then(|line| record(line.bytes)) else { continue };
        let change = record.change();
        let list = change.as_ref().unwrap_or(&record).checkpoint().unwrap_or_default();
        for (entry, branch) in group {
            let listed = entry.place.nth.and_then(|nth| list.get(nth)).and_then(|raw| message(raw));
            let found = if entry.place.nth.is_some() { listed.as_ref() } else { Some(&record) };
            let messages = found.into_iter().flat_map(|found| found.in_words(&is_answered));
            let messages = messages.map(|message| message.on_branch(*branch));
            if messages.into_iter().try_for_each(&mut *see).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Fills the copy with the facts of a file. If the whole file was read, a missing fact is known to be missing.
pub(super) fn fill(copy: &mut SessionCopy, sum: &Conversation, is_whole: bool) {
    // Messages that were taken back are still in the file.
    let is_empty = sum.prompts() + sum.replies() == 0 && !sum.has_spoken;
    copy.kind = if copy.place.is_subagent || sum.is_subagent {
        SessionKind::Subagent
    } else if is_whole && is_empty {
        SessionKind::Empty
    } else if saved::is_in(&copy.place) {
        SessionKind::Saved
    } else {
        SessionKind::Main
    };
    copy.health.remove(Health::EmptySession);
    copy.mark_if(is_whole && is_empty, Health::EmptySession);
    if copy.kind == SessionKind::Empty && saved::is_in(&copy.place) {
        // The user saved it, and the client saves only chats with messages.
        unknown_format::mark(copy, "none of its messages could be understood".to_owned());
    }
    if sum.buried_at.is_some() && copy.kind == SessionKind::Main {
        copy.obstruct(Obstacle {
            is_mendable: true,
            is_off_branch: true,
            ..Obstacle::new(
                "its last checkpoint has only context of Gemini CLI in place of the conversation before, and Gemini CLI finds no \
                 session without a prompt",
            )
        });
    }
    copy.title = sum.summary.clone().map(|summary| Fact::new(summary, "summary")).or(copy.title.take());
    copy.first_prompt = sum.first_prompt().map(|prompt| Fact::new(prompt.to_owned(), "transcript"));
    copy.created_at = sum.created_at.map(|at| Fact::new(at, "transcript")).or(copy.created_at.take());
    copy.model = sum.model.clone().map(|model| Fact::new(model, "transcript"));
    copy.active_at = sum.newest.map(|at| Fact::new(at, "transcript")).or(copy.active_at.take());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_is_read_from_a_top_level_line() {
        assert_eq!(summary_line(br#"  "summary": "A \"b\"","#).as_deref(), Some("A \"b\""));
        for other in [r#"    "summary": "deeper""#, r#"  "summary": 7"#, r#"  "summary": """#] {
            assert_eq!(summary_line(other.as_bytes()), None, "{other}");
        }
    }
}
