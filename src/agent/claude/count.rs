//! Counts the messages of a transcript, line by line.

use super::branches::Tree;
use super::desktop;
use super::ends::TranscriptEnds;
use super::records::ClaudeRecord;
use super::titles::is_from_other_file;
use super::usage::Usages;
use crate::agent::about;
use crate::agent::prelude::*;
use crate::format::json::last_object;
use crate::format::jsonl::each_line;
use crate::session::branches::hash;

/// Implements [`Engine::observe`].
pub(super) fn observe(copy: &mut SessionCopy, observers: &mut Observers) -> Result<(), PathError> {
    let has_usage = observers.usage && about(copy.place.agent()).usage.is_some();
    let mut usages = has_usage.then(|| Usages::of(&copy.place));
    let (mut tree, mut whole) = (Tree::of(copy), TranscriptEnds::default());
    let counts_sidechains = copy.kind == SessionKind::Subagent;
    let mut see = |line: &[u8]| {
        usages.iter_mut().for_each(|usages| usages.see(line));
        let record = Some(line).filter(|_| observers.counts).map(ClaudeRecord::of_sound_line)?;
        observers.has_bad_lines |= record.is_none();
        let record = record.or_else(|| ClaudeRecord::of_sound_line(last_object(line)?));
        let (is_new, number) = (tree.see(record.as_ref()), observers.line);
        observers.line += 1;
        let record = record?;
        whole.note_entrypoint(&record);
        whole.late.see_later(&record);
        // The client ignores repetitions in a file that was concatenated with itself.
        if !is_new || (record.is_sidechain.0 && !counts_sidechains) {
            return None;
        }
        observers.prompts.extend(record.prompt().map(|_| number));
        observers.replies.extend(record.reply_id().map(|id| (number, hash(&id))));
        let days = observers.days.as_mut()?;
        let at = record.at().filter(|at| days.lacks(*at) && !record.messages().is_empty())?;
        days.add(at);
        Some(())
    };
    each_line(&copy.place.path, &mut |line| {
        see(line);
        ControlFlow::Continue(())
    })?;
    copy.usage = usages.map(Usages::sum).or(copy.usage);
    if !observers.counts {
        return Ok(());
    }
    let all = observers.finish_on(&tree.branches(), None, copy);
    // Records between the two windows of the first read may contain a title, or show how the session was started.
    if !copy.title.as_ref().is_some_and(is_from_other_file) {
        copy.title = whole.late.into_title(|leaf| tree.has(leaf)).or_else(|| copy.title.take());
    }
    if matches!(copy.kind, SessionKind::Main | SessionKind::Exec | SessionKind::Empty) {
        let is_exec = whole.is_exec && !whole.is_interactive || desktop::is_of_routine(copy);
        copy.kind = match (all, is_exec) {
            (0, _) => SessionKind::Empty,
            (_, true) => SessionKind::Exec,
            (_, false) => SessionKind::Main,
        };
    }
    Ok(())
}
