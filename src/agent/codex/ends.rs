//! Reads the two ends of a rollout, which is sufficient for a list.

use super::obstacles::has_ordinal;
use super::replay::Replay;
use super::threads::THREADS;
use crate::agent::codex::meta::{Meta, Source};
use crate::agent::codex::records::{CodexRecord, Prompt, TurnContext};
use crate::agent::prelude::*;

/// Number of records near the end that are read even after every field was found: times are not in order.
const LAST_RECORDS: u32 = 4;

/// The facts in the two ends of a rollout.
#[derive(Default)]
pub(super) struct RolloutEnds {
    pub(super) meta: Option<Meta>,
    /// The store of a sub-agent's parent, to omit the parent's history.
    store: Option<Arc<Store>>,
    replay: Option<Replay>,
    /// Set if no record has the first ordinal after the copied history.
    lacks_own_start: bool,
    told_cwd: Option<String>,
    typed: Option<String>,
    sent: Option<String>,
    has_reply: bool,
    early_turn: TurnContext,
    /// Set if every line of the file was seen from its start.
    pub(super) is_whole: bool,
    newest: Option<Timestamp>,
    late_turn: TurnContext,
    row_dir: Option<Arc<Path>>,
    late_branch: Option<String>,
    is_torn: bool,
    /// Set if the last record needs an ordinal and has none.
    pub(super) lacks_ordinal: bool,
    records_from_end: u32,
}

impl RolloutEnds {
    /// Creates the facts of a rollout in this store. Those of a sub-agent begin after the copied history of its parent.
    pub(super) fn in_store(store: &Arc<Store>) -> Self {
        Self { store: Some(Arc::clone(store)), ..Self::default() }
    }

    pub(super) fn see_from_start(&mut self, line: &[u8]) {
        if self.meta.is_none() {
            self.meta = Meta::parse(line);
            if let Some(meta) = &self.meta {
                let store = self.store.as_ref().filter(|_| meta.is_subagent());
                self.replay = store.and_then(|store| Replay::after(meta, store, !self.lacks_own_start));
                return;
            }
        }
        if let Some(replay) = &mut self.replay {
            if replay.see(line) {
                (self.typed, self.sent, self.has_reply, self.early_turn) = Default::default();
            }
            if replay.is_in_copy() {
                return;
            }
        }
        let Some(record) = CodexRecord::of_line(line) else { return };
        match record.prompt() {
            Some(Prompt::Typed(text)) if self.typed.is_none() => self.typed = Some(text),
            Some(Prompt::Sent(text)) if self.sent.is_none() => self.sent = Some(text),
            _ => {}
        }
        self.has_reply |= record.is_reply();
        if let Some(turn) = record.turn() {
            self.early_turn = TurnContext { cwd: turn.cwd.or(self.early_turn.cwd.take()), model: turn.model };
        }
        if self.told_cwd.is_none() && self.meta.as_ref().is_none_or(|meta| meta.cwd.is_none()) {
            self.told_cwd = record.told_cwd();
        }
    }

    /// Returns the facts to begin again with, if every line of the file was seen, and none has the first ordinal after the
    /// copied history.
    pub(super) fn begun_again(&self) -> Option<Self> {
        self.replay.as_ref().filter(|replay| self.is_whole && replay.lacks_start())?;
        Some(Self { store: self.store.clone(), lacks_own_start: true, ..Self::default() })
    }

    pub(super) fn knows_start(&self) -> bool {
        let is_own = self.replay.as_ref().is_none_or(|replay| replay.is_over || replay.copied == 0);
        self.meta.is_some() && self.typed.is_some() && is_own
    }

    /// Returns whether prompts must be taken from the messages to the model, because no event contains the typed text.
    pub(super) fn lacks_events(&self) -> bool {
        self.typed.is_none() && self.sent.is_some()
    }

    pub(super) fn see_from_end(&mut self, line: &[u8], is_ended: bool) {
        let Some(record) = CodexRecord::of_line(line) else {
            self.is_torn |= !is_ended;
            return;
        };
        if self.records_from_end == 0 && self.meta.as_ref().is_some_and(|meta| meta.is_paginated) {
            self.lacks_ordinal = !has_ordinal(line);
        }
        self.records_from_end += 1;
        self.newest = self.newest.max(record.at());
        if let Some(turn) = record.turn() {
            self.late_turn.cwd = self.late_turn.cwd.take().or(turn.cwd);
            self.late_turn.model = self.late_turn.model.take().or(turn.model);
        }
        // Codex repeats its first record after a change of branch; a copied history contains the parent's.
        if record.is_meta() && self.late_branch.is_none() {
            let meta = Meta::parse(line).filter(|meta| meta.id == self.meta.as_ref().and_then(|own| own.id.clone()));
            self.late_branch = meta.and_then(|meta| meta.branch);
        }
    }

    /// Returns whether the end shows the directory of the last turn; a long turn can begin far before the end.
    pub(super) fn knows_last_turn(&self) -> bool {
        self.late_turn.cwd.is_some() || self.row_dir.is_some()
    }

    /// Sets the directory from Codex's own list of sessions.
    pub(super) fn see_row(&mut self, row: Option<&Evidence>) {
        self.row_dir = row.map(|row| row.dir.clone());
    }

    /// Adds the first record of the last turn.
    pub(super) fn see_last_turn(&mut self, line: &[u8]) {
        if let Some(turn) = CodexRecord::of_line(line).and_then(|record| record.turn()) {
            self.late_turn = TurnContext { cwd: turn.cwd, model: self.late_turn.model.take().or(turn.model) };
        }
    }

    pub(super) fn is_done_with_end(&self) -> bool {
        self.late_turn.cwd.is_some()
            && self.late_turn.model.is_some()
            && self.newest.is_some()
            && self.records_from_end >= LAST_RECORDS
    }

    /// Fills in the copy.
    pub(super) fn fill(self, copy: &mut SessionCopy, is_archived: bool) {
        // The first prompt is unknown if a copied history is longer than the window.
        let is_own = |replay: &Replay| replay.is_over || replay.copied == 0 || self.is_whole;
        let prompt = self.typed.or(self.sent).filter(|_| self.replay.as_ref().is_none_or(is_own));
        let is_empty = self.is_whole && prompt.is_none() && !self.has_reply;
        let has_meta = self.meta.as_ref().is_some_and(|meta| meta.has_envelope);
        let meta = self.meta.unwrap_or_default();
        let is_exec = meta.source == Source::Exec;
        let is_subagent = meta.is_subagent();
        let parent = meta.parent_id().map(str::to_owned);
        copy.kind = if is_archived {
            SessionKind::Archived
        } else if is_subagent {
            SessionKind::Subagent
        } else if meta.forked_from.is_some() {
            // A fork contains its parent's conversation, even before it has its own messages.
            SessionKind::Fork
        } else if is_empty {
            SessionKind::Empty
        } else if is_exec {
            SessionKind::Exec
        } else {
            SessionKind::Main
        };
        copy.parent_id = parent;
        copy.mark_if(is_empty && copy.kind == SessionKind::Empty, Health::EmptySession);
        copy.mark_if(self.is_torn, Health::TornTranscript);
        copy.mark_if(!has_meta, Health::MissingFields);
        if let Some(other) = meta.id.filter(|id| !id.eq_ignore_ascii_case(&copy.place.id)) {
            copy.notes.push(format!("its first record says that its id is {other}"));
            copy.health.insert(Health::InvalidContent);
        }
        let dir = |dir: String, source| Some(Fact::new(recorded::dir(&dir)?, source));
        let first_prompt = prompt.filter(|prompt| !prompt.is_empty());
        copy.first_prompt = first_prompt.map(|prompt| Fact::new(prompt, "transcript"));
        copy.start_dir = meta.cwd.or(self.told_cwd).and_then(|cwd| dir(cwd, "transcript"));
        let row = self.row_dir.map(|dir| Fact::new(dir, THREADS));
        let last = self.late_turn.cwd.and_then(|cwd| dir(cwd, "last-turn")).or(row);
        let last = last.or_else(|| self.early_turn.cwd.and_then(|cwd| dir(cwd, "last-turn")));
        copy.last_dir = last.or_else(|| copy.start_dir.clone());
        copy.created_at = meta.created_at.map(|at| Fact::new(at, "transcript"));
        copy.active_at = self.newest.map(|at| Fact::new(at, "transcript"));
        let model = self.late_turn.model.or(self.early_turn.model);
        copy.model = model.map(|model| Fact::new(model, "transcript"));
        copy.git_branch = self.late_branch.or(meta.branch).map(|branch| Fact::new(branch, "transcript"));
    }
}
