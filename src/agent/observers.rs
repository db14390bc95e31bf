//! The facts that a command wants from a whole session: each of its logs is read once for all of them.

use std::borrow::Borrow;
use std::ops::ControlFlow;
use std::path::Path;

use foldhash::HashSet;
use jiff::Timestamp;

use super::tree::{note_branches, note_cut_off};
use crate::error::PathError;
use crate::format::jsonl::each_line;
use crate::format::turn::Turn;
use crate::session::branches::{ACTIVE, BranchFilter, Branches, Id};
use crate::session::stats::Days;
use crate::session::{Message, SessionCopy};

/// The wanted facts of a copy, and what was read for them so far.
///
/// Messages are noted by their lines, because only the last line shows on which branch each of them is.
#[derive(Debug, Default)]
pub(crate) struct Observers {
    /// Set to count prompts and replies, and to find bad lines and other branches.
    pub(super) counts: bool,
    /// Set to sum up the tokens and the cost in the records of the replies.
    pub(super) usage: bool,
    /// Receives the days on which the counted messages and those of other branches were written.
    pub days: Option<Days>,
    /// Set if the days were read. Otherwise, [`Reading::messages_on`](super::Reading::messages_on) has them.
    pub has_days: bool,
    /// Number of lines before the one that is read.
    pub(super) line: usize,
    pub(super) has_bad_lines: bool,
    pub(super) prompts: Vec<usize>,
    /// The lines of replies. One reply may have several lines, with the same id.
    pub(super) replies: Vec<(usize, Id)>,
    pub(super) times: Vec<(usize, Timestamp)>,
    /// Ids of the messages that were counted.
    pub(super) counted: HashSet<String>,
}

impl Observers {
    /// Creates observers that count, and sum up the usage if it is wanted.
    pub(crate) fn counts(usage: bool) -> Self {
        Self { counts: true, usage, ..Self::default() }
    }

    /// Forgets the lines that were read, before a read that starts over.
    pub(super) fn restart(&mut self) {
        *self = Self { counts: self.counts, usage: self.usage, days: self.days.take(), ..Self::default() };
    }

    /// Notes the times of messages on the line. Takes no message if no days are wanted.
    pub(super) fn see(&mut self, messages: impl IntoIterator<Item = impl Borrow<Message>>) {
        if self.days.is_some() {
            let shown = messages.into_iter().filter(|message| !message.borrow().text.trim().is_empty());
            self.times.extend(shown.filter_map(|message| Some((self.line, message.borrow().at?))));
        }
    }

    /// Counts the line as a prompt or a reply.
    pub(super) fn count(&mut self, is_prompt: bool, is_reply: bool) {
        self.prompts.extend(is_prompt.then_some(self.line));
        self.replies.extend(is_reply.then_some((self.line, self.replies.len() as Id)));
    }

    /// Counts a turn on the line, and notes its times. The turns of one message count once.
    pub(super) fn add(&mut self, mut turn: Turn) {
        self.see(&turn.messages);
        let (is_prompt, is_reply) = (turn.prompt().is_some(), turn.is_reply());
        if (is_prompt || is_reply) && turn.id.take().is_none_or(|id| self.counted.insert(id)) {
            self.count(is_prompt, is_reply);
        }
    }

    /// Adds a record: its turn, if it has one; `None` for a bad record.
    pub(super) fn add_record(&mut self, record: Option<Option<Turn>>) {
        self.has_bad_lines |= record.is_none();
        record.flatten().into_iter().for_each(|turn| self.add(turn));
    }

    /// Adds the records of a file, each as `turn_of` parses its line.
    pub(super) fn add_lines(
        &mut self,
        path: &Path,
        mut turn_of: impl FnMut(&[u8]) -> Option<Option<Turn>>,
    ) -> Result<(), PathError> {
        each_line(path, &mut |line| {
            self.add_record(turn_of(line));
            ControlFlow::Continue(())
        })
    }

    /// Stores the facts in a copy without branches.
    pub(super) fn finish(&mut self, copy: &mut SessionCopy) {
        self.finish_on(&Branches::default(), None, copy);
    }

    /// Stores the facts on the active branch in a copy, and notes the others with the way to them. Returns the number of
    /// prompts and replies on all branches.
    pub(super) fn finish_on(&mut self, branches: &Branches, way: Option<&str>, copy: &mut SessionCopy) -> u64 {
        let times = self.times.iter().filter(|(line, _)| branches.has(*line, BranchFilter::All));
        self.days.iter_mut().for_each(|days| times.clone().for_each(|(_, at)| days.add(*at)));
        self.has_days = true;
        let kind = |line: usize| match branches.number_of_line(line) {
            ACTIVE => 0,
            number => 1 + usize::from(branches.is_cut_off(number)),
        };
        let (mut prompts, mut replies) = ([0; 3], [0; 3]);
        self.prompts.iter().for_each(|line| prompts[kind(*line)] += 1);
        let different: HashSet<_> = self.replies.iter().map(|(line, id)| (kind(*line), id)).collect();
        different.into_iter().for_each(|(kind, _)| replies[kind] += 1);
        let [active, hidden, cut_off] = [0, 1, 2].map(|kind| prompts[kind] + replies[kind]);
        (copy.prompts, copy.replies) = (Some(prompts[0]), Some(replies[0]));
        copy.note_bad_lines(self.has_bad_lines);
        note_cut_off(copy, cut_off);
        note_branches(copy, branches, hidden, way);
        active + hidden + cut_off
    }
}
