//! The journal of Vibe's unified store: changes since the newest generation was written (3.0.2).

use std::collections::{HashMap, HashSet};

use crate::agent::prelude::*;
use crate::agent::vibe::records::{UnifiedEntry, entries, history};
use crate::format::content::plain_text;
use crate::format::json::{list, record};

/// The fields of a journal record that affect the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EntryChange {
    /// A prompt was accepted, but may not be part of the conversation yet.
    Reserved(String),
    /// An entry was added.
    Append(UnifiedEntry),
    /// The first entry with this id was replaced.
    Replace(String, UnifiedEntry),
    /// Every entry with this id was removed.
    Remove(String),
    /// The whole conversation was replaced.
    Reset(Vec<UnifiedEntry>),
}

/// Parses a line of the journal; `None` if it is not a record.
pub(crate) fn changes(line: &[u8]) -> Option<Vec<EntryChange>> {
    let [kind, payload] = members(Some(record(line)?), ["type", "payload"]);
    let kind: Text<'_> = inner(kind);
    let kind = kind.get();
    // Most bytes of a journal are requests to the model, which are skipped early.
    if !matches!(kind, Some("command_reserved" | "projection_delta" | "projection_advanced")) {
        return Some(Vec::new());
    }
    let [method, params, delta, snapshot] = members(payload, ["method", "params", "delta", "snapshot"]);
    let change = |step: &RawValue| {
        let [op, id, entry, listed] = members(Some(step), ["op", "id", "entry", "entries"]);
        let entry = || entry.and_then(|raw| UnifiedEntry::parse(raw.get().as_bytes()));
        let id = || inner::<Text<'_>>(id).get().unwrap_or_default().to_owned();
        match inner::<Text<'_>>(op).get() {
            Some("append_entry") => entry().map(EntryChange::Append),
            Some("replace_entry") => entry().map(|entry| EntryChange::Replace(id(), entry)),
            Some("remove_entry") => Some(EntryChange::Remove(id())),
            Some("set_history_entries") => Some(EntryChange::Reset(entries(listed))),
            _ => None,
        }
    };
    Some(match kind {
        Some("command_reserved") if inner::<Text<'_>>(method).get() == Some("turn/start") => {
            params.and_then(reserved).map(EntryChange::Reserved).into_iter().collect()
        }
        Some("projection_delta") => list(delta).into_iter().filter_map(change).collect(),
        Some("projection_advanced") => snapshot.map(|raw| EntryChange::Reset(history(raw))).into_iter().collect(),
        _ => Vec::new(),
    })
}

/// Returns the prompt of a turn that is about to start: one message, or a list of entries from the terminal.
fn reserved(raw: &RawValue) -> Option<String> {
    let [injected, message, queued] = members(Some(raw), ["injected", "message", "entries"]);
    if inner::<Flag>(injected).0 {
        return None;
    }
    let queued = list(queued).into_iter().filter_map(|raw| {
        let [role, content] = members(Some(raw), ["role", "content"]);
        (inner::<Text<'_>>(role).get() == Some("user")).then(|| plain_text(content))
    });
    [plain_text(message)].into_iter().chain(queued).find(|text| !text.trim().is_empty())
}

/// The whole journal: the changes to the entries of the generation before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct VibeJournal {
    /// Set if nothing of the generation is left.
    pub is_reset: bool,
    replaced: HashMap<String, UnifiedEntry>,
    removed: HashSet<String>,
    appended: Vec<UnifiedEntry>,
    reserved: Vec<String>,
}

impl VibeJournal {
    /// Applies the next change.
    pub(crate) fn apply(&mut self, change: EntryChange) {
        match change {
            EntryChange::Reserved(prompt) => self.reserved.push(prompt),
            EntryChange::Append(entry) => {
                self.settle(&entry);
                self.appended.push(entry);
            }
            EntryChange::Replace(id, entry) => match self.appended.iter_mut().find(|old| old.id == id) {
                Some(old) => *old = entry,
                None => drop(self.replaced.insert(id, entry)),
            },
            EntryChange::Remove(id) => {
                self.appended.retain(|entry| entry.id != id);
                self.replaced.remove(&id);
                self.removed.insert(id);
            }
            EntryChange::Reset(entries) => {
                entries.iter().for_each(|entry| self.settle(entry));
                *self = Self {
                    is_reset: true,
                    appended: entries,
                    reserved: std::mem::take(&mut self.reserved),
                    ..Self::default()
                };
            }
        }
    }

    /// Removes the prompt of an entry from the accepted prompts, because it is now part of the conversation.
    fn settle(&mut self, entry: &UnifiedEntry) {
        if let Some(at) = entry.prompt().and_then(|prompt| self.reserved.iter().position(|text| text == prompt)) {
            self.reserved.remove(at);
        }
    }

    /// Returns an entry of the generation after all changes; `None` if it was removed.
    pub(crate) fn revise(&mut self, entry: UnifiedEntry) -> Option<UnifiedEntry> {
        if self.removed.contains(&entry.id) {
            return None;
        }
        Some(self.replaced.remove(&entry.id).unwrap_or(entry))
    }

    /// Returns the part after the generation: new entries, then accepted prompts that are not entries yet.
    pub(crate) fn rest(self) -> impl Iterator<Item = UnifiedEntry> {
        let announced = |text| UnifiedEntry { id: String::new(), message: Some((Role::User, text)), at: None };
        self.appended.into_iter().chain(self.reserved.into_iter().map(announced))
    }
}
