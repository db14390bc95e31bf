//! Counts prompts and replies of a session in a database.

use super::reader::DatabaseReader;
use crate::agent::tree::note_branches;
use crate::agent::unknown_format;
use crate::format::sqlite::QueryError;
use crate::format::text;
use crate::format::turn::Turn;
use crate::session::branches::Branches;
use crate::session::{Fact, SessionCopy};

/// Counts all messages of a session.
pub(super) fn tally(reader: &mut DatabaseReader<'_>, table: usize, id: &str) -> Result<MessageTally, QueryError> {
    let mut tally = MessageTally::default();
    let keys = reader.all_keys(table, id)?;
    tally.branches = reader.branches(table, id, &keys)?;
    tally.way_to_branches = reader.schema.way_to_branches();
    for (at, (table, key)) in keys.into_iter().enumerate() {
        let Some(turn) = reader.turn(table, key)? else { continue };
        if tally.branches.other(at).is_none() {
            tally.add(&turn);
        } else {
            tally.hidden += u64::from(turn.prompt().is_some() || turn.is_reply());
            tally.rows += u64::from(turn.counts);
        }
    }
    tally.bytes = reader.size(table, id)?;
    tally.is_damaged = reader.is_damaged;
    Ok(tally)
}

/// Counts of prompts and replies.
#[derive(Default)]
pub(in crate::agent) struct MessageTally {
    prompts: u64,
    replies: u64,
    /// Rows that are not marked as made by the agent.
    rows: u64,
    /// Set if unreadable rows may be messages.
    pub(super) is_damaged: bool,
    bytes: u64,
    model: Option<String>,
    branches: Branches,
    way_to_branches: Option<&'static str>,
    /// Prompts and replies on other branches.
    hidden: u64,
}

impl MessageTally {
    /// Returns the counts of a session that does not exist.
    pub(super) fn of_missing(is_damaged: bool) -> Self {
        Self { is_damaged, ..Self::default() }
    }

    pub(in crate::agent) fn add(&mut self, turn: &Turn) {
        self.prompts += u64::from(turn.prompt().is_some());
        self.replies += u64::from(turn.is_reply());
        self.rows += u64::from(turn.counts);
        if turn.is_reply() && turn.model.is_some() {
            self.model.clone_from(&turn.model);
        }
    }

    pub(in crate::agent) fn note_in(self, copy: &mut SessionCopy) {
        (copy.prompts, copy.replies) = (Some(self.prompts), Some(self.replies));
        copy.size_bytes = copy.size_bytes.max(self.bytes);
        copy.is_size_known = true;
        copy.transcript_bytes = copy.transcript_bytes.max(self.bytes);
        self.note_format(copy);
        if copy.model.is_none() {
            copy.model = self.model.map(|model| Fact::new(model, "message"));
        }
        note_branches(copy, &self.branches, self.hidden, self.way_to_branches);
    }

    /// Marks a session without any known message: as empty, or as one in an unknown format.
    pub(super) fn note_format(&self, copy: &mut SessionCopy) {
        match self.prompts + self.replies + self.hidden {
            0 if self.rows > 0 => {
                let rows = text::count(self.rows, "message");
                unknown_format::mark(copy, format!("{rows} of its database could not be understood"));
            }
            0 if !self.is_damaged => copy.be_empty(),
            _ => {}
        }
    }
}
