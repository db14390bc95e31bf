//! Counts the messages of a transcript, line by line.

use foldhash::HashSet;

use super::branches::Tree;
use super::ends::Ends;
use super::records::ClaudeRecord;
use super::titles::is_from_other_file;
use super::usage::Usages;
use crate::agent::prelude::*;
use crate::agent::tree::{note_branches, note_cut_off};
use crate::format::json::last_object;
use crate::format::jsonl::each_line;
use crate::session::branches::{BranchFilter, Id, hash};
use crate::session::stats::Days;

/// Reads a whole transcript and counts its messages.
pub(in crate::agent) fn count(copy: &mut SessionCopy) -> Result<(), PathError> {
    let mut count = Count::of(copy);
    each_line(&copy.place.path, &mut |line| {
        count.see(line);
        ControlFlow::Continue(())
    })?;
    count.finish(copy);
    Ok(())
}

/// Reads a whole transcript once for its messages, their days, their tokens and their cost.
pub(super) fn measure(copy: &mut SessionCopy, days: &mut Days) -> Result<Usage, PathError> {
    let (mut count, mut usages) = (Count::of(copy), Usages::of(&copy.place));
    each_line(&copy.place.path, &mut |line| {
        usages.see(line);
        if let Some(record) = count.see(line)
            && let Some(at) = record.at().filter(|at| days.lacks(*at))
            && !record.messages().is_empty()
        {
            days.add(at);
        }
        ControlFlow::Continue(())
    })?;
    let usage = usages.sum();
    count.finish(copy);
    Ok(usage)
}

/// The messages so far.
struct Count {
    counts_sidechains: bool,
    /// Line numbers of prompts; line numbers and message ids of replies.
    prompts: Vec<usize>,
    replies: Vec<(usize, Id)>,
    tree: Tree,
    lines: usize,
    whole: Ends,
    has_bad_lines: bool,
}

impl Count {
    fn of(copy: &SessionCopy) -> Self {
        let counts_sidechains = copy.kind == SessionKind::Subagent;
        let (prompts, replies, whole) = Default::default();
        let tree = Tree::of(copy);
        Self { counts_sidechains, prompts, replies, tree, lines: 0, whole, has_bad_lines: false }
    }

    /// Counts a line. Returns its record if it is new and belongs to the conversation.
    fn see<'l>(&mut self, line: &'l [u8]) -> Option<ClaudeRecord<'l>> {
        let record = ClaudeRecord::of_sound_line(line);
        self.has_bad_lines |= record.is_none();
        let record = record.or_else(|| ClaudeRecord::of_sound_line(last_object(line)?));
        let is_new = self.tree.see(record.as_ref());
        self.lines += 1;
        let (record, number) = (record?, self.lines - 1);
        self.whole.note_entrypoint(&record);
        self.whole.late.see_later(&record);
        // The client ignores repetitions in a file that was concatenated with itself.
        if !is_new || (record.is_sidechain.0 && !self.counts_sidechains) {
            return None;
        }
        self.prompts.extend(record.prompt().map(|_| number));
        self.replies.extend(record.reply_id().map(|id| (number, hash(&id))));
        Some(record)
    }

    fn finish(self, copy: &mut SessionCopy) {
        let Self { prompts, replies, tree, whole, has_bad_lines, .. } = self;
        let branches = tree.branches();
        let counted = |is_counted: &dyn Fn(usize) -> bool| {
            let replies: HashSet<Id> =
                replies.iter().filter(|(line, _)| is_counted(*line)).map(|(_, id)| *id).collect();
            (prompts.iter().filter(|line| is_counted(**line)).count() as u64, replies.len() as u64)
        };
        let (prompts, replies) = counted(&|line| branches.has(line, BranchFilter::Active));
        let hidden_on = |cut_off: bool| {
            let (prompts, replies) =
                counted(&|line| branches.other(line).is_some_and(|number| branches.is_cut_off(number) == cut_off));
            prompts + replies
        };
        let (cut_off, hidden) = (hidden_on(true), hidden_on(false));
        note_cut_off(copy, cut_off);
        note_branches(copy, &branches, hidden, None);
        (copy.prompts, copy.replies) = (Some(prompts), Some(replies));
        copy.note_bad_lines(has_bad_lines);
        // Records between the two windows of the first read may contain a title, or show how the session was started.
        if !copy.title.as_ref().is_some_and(is_from_other_file) {
            copy.title = whole.late.into_title(|leaf| tree.has(leaf)).or_else(|| copy.title.take());
        }
        if matches!(copy.kind, SessionKind::Main | SessionKind::Exec | SessionKind::Empty) {
            copy.kind = match (prompts + replies + cut_off + hidden, whole.is_exec && !whole.is_interactive) {
                (0, _) => SessionKind::Empty,
                (_, true) => SessionKind::Exec,
                (_, false) => SessionKind::Main,
            };
        }
    }
}
