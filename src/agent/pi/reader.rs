//! Reads a session's file: its two ends for a list, the whole of it for counts and messages.

use std::ops::ControlFlow;
use std::path::Path;

use super::ends::{Dialect, Ends, TAIL};
use crate::agent::ReadContext;
use crate::agent::pi::records::{Branch, Record};
use crate::error::PathError;
use crate::format::jsonl::{Jsonl, each_line, too_long};
use crate::session::{Copy, Fact, Located, Message, SessionKind};

/// Reads what a list needs.
pub(in crate::agent) fn read(
    place: Located,
    dialect: &'static Dialect,
    context: &ReadContext<'_>,
) -> Result<Copy, PathError> {
    let mut file = Jsonl::open(&place.path)?.with_tail(TAIL);
    let mut copy = Copy::new(place);
    (copy.size_bytes, copy.transcript_bytes) = (file.len(), file.len());
    copy.active_at = file.modified().map(|at| Fact::new(at, "mtime"));

    let mut ends = Ends::new(dialect);
    ends.is_whole = file.lines_forward(|line| ends.see_from_start(line))?;
    context.inspect(&copy.place, &copy.place.path, &mut file, copy.place.is_subagent);
    file.lines_backward(|line, is_ended| ends.see_from_end(line, is_ended))?;
    ends.fill(&mut copy, context.env.clock.now);
    Ok(copy)
}

/// Counts the prompts and the replies of the branch that a resume goes on with.
pub(in crate::agent) fn count(copy: &mut Copy, dialect: &Dialect) -> Result<(), PathError> {
    let branch = Branch::read(&copy.place.path)?;
    let (mut prompts, mut replies, mut elsewhere) = (0_u64, 0_u64, 0_u64);
    let (mut at, mut has_bad_lines, mut name) = (0, false, None);
    each_line(&copy.place.path, &mut |line| {
        match line.and_then(Record::parse) {
            Some(record) => {
                let (is_prompt, is_reply) = (record.prompt().is_some(), record.is_reply());
                if branch.has(at) {
                    prompts += u64::from(is_prompt);
                    replies += u64::from(is_reply);
                } else {
                    elsewhere += u64::from(is_prompt || is_reply);
                }
                name = record.session_name().map(str::to_owned).or(name.take());
            }
            None => has_bad_lines = true,
        }
        at += 1;
        ControlFlow::Continue(())
    })?;
    (copy.prompts, copy.replies) = (Some(prompts), Some(replies));
    if elsewhere > 0 {
        copy.notes.push(format!("{elsewhere} more messages are on other branches; {}", dialect.branches));
    }
    copy.note_bad_lines(has_bad_lines);
    // What lies between the two windows of a glance may name the session.
    if let Some(name) = name {
        copy.title = Some(name).filter(|name| !name.is_empty()).map(|name| Fact::new(name, "session_info"));
    }
    if matches!(copy.kind, SessionKind::Main | SessionKind::Empty) {
        let is_empty = prompts + replies + elsewhere == 0;
        copy.kind = if is_empty { SessionKind::Empty } else { SessionKind::Main };
    }
    Ok(())
}

/// Shows the messages of that branch.
pub(in crate::agent) fn messages(
    path: &Path,
    see: &mut dyn FnMut(Message) -> ControlFlow<()>,
) -> Result<(), PathError> {
    let branch = Branch::read(path)?;
    let mut at = 0;
    each_line(path, &mut |line| {
        let is_shown = branch.has(at);
        at += 1;
        let Some(line) = line else { return see(too_long()) };
        let record = Some(line).filter(|_| is_shown).and_then(Record::parse);
        record.into_iter().flat_map(|record| record.messages()).try_for_each(&mut *see)
    })
}
