//! The records that contain a title or a move of a session.

use std::collections::{HashSet, VecDeque};

use memchr::memmem;

use super::{desktop, sidecar};
use crate::agent::claude::records::ClaudeRecord;
use crate::agent::prelude::*;
use crate::format::jsonl::Jsonl;
use crate::format::skim::Raw;

/// Bytes of a transcript that are searched for the leaf of a summary; if it is farther down, a list shows no title from
/// a summary.
const LEAF_WINDOW: u64 = 64 * 1024 * 1024;

/// The records that contain a title or a move of a session; the last one of each type in the file wins.
#[derive(Default)]
pub(super) struct Titles {
    custom: Option<String>,
    ai: Option<String>,
    /// The summaries in the order of the file.
    summaries: VecDeque<Summary>,
    relocated: Option<String>,
}

/// A title of older versions.
struct Summary {
    text: String,
    /// The record that it ends at; a leaf of another type is an empty text.
    leaf: Option<String>,
}

impl Summary {
    fn of(record: &ClaudeRecord<'_>) -> Option<Self> {
        // Records of other types may have a summary that is not a title.
        if !record.kind.is("summary") {
            return None;
        }
        let leaf = record.leaf_uuid.bytes().map(|_| record.leaf_uuid.filled().unwrap_or_default());
        Some(Self { text: record.summary.filled()?, leaf })
    }
}

impl Titles {
    fn pairs<'r>(&mut self, record: &ClaudeRecord<'r>) -> [(&mut Option<String>, Raw<'r>); 3] {
        [
            (&mut self.custom, record.custom_title),
            (&mut self.ai, record.ai_title),
            (&mut self.relocated, record.relocated_cwd),
        ]
    }

    /// Adds a record that is later in the file than all earlier ones.
    pub(super) fn see_later(&mut self, record: &ClaudeRecord<'_>) {
        for (kept, seen) in self.pairs(record) {
            if let Some(seen) = seen.filled() {
                *kept = Some(seen);
            }
        }
        self.summaries.extend(Summary::of(record));
    }

    /// Adds a record that is earlier in the file than all seen so far.
    pub(super) fn see_earlier(&mut self, record: &ClaudeRecord<'_>) {
        for (kept, seen) in self.pairs(record) {
            if kept.is_none() {
                *kept = seen.filled();
            }
        }
        if let Some(summary) = Summary::of(record) {
            self.summaries.push_front(summary);
        }
    }

    /// Returns these titles, with missing ones taken from `earlier` records.
    pub(super) fn or(self, mut earlier: Self) -> Self {
        earlier.summaries.extend(self.summaries);
        Self {
            custom: self.custom.or(earlier.custom),
            ai: self.ai.or(earlier.ai),
            summaries: earlier.summaries,
            relocated: self.relocated.or(earlier.relocated),
        }
    }

    pub(super) fn has_custom(&self) -> bool {
        self.custom.is_some()
    }

    pub(super) fn take_relocated(&mut self) -> Option<String> {
        self.relocated.take()
    }

    /// Returns the ids of the records at which summaries end, if the title depends on them.
    pub(super) fn leaves(&self) -> HashSet<&str> {
        let is_named = self.custom.is_some() || self.ai.is_some();
        self.summaries.iter().filter(|_| !is_named).filter_map(|summary| summary.leaf.as_deref()).collect()
    }

    /// Returns the title in the picker's order of precedence (measured on 2.1.330). `is_own` returns whether a record
    /// is in this transcript: a summary that ends at any other record belongs to another session (2.1.197 ignores it,
    /// too).
    pub(super) fn into_title(self, is_own: impl Fn(&str) -> bool) -> Option<Fact<Arc<str>>> {
        let is_own = |summary: &Summary| summary.leaf.as_deref().is_none_or(&is_own);
        let summary = self.summaries.into_iter().rev().find(is_own).map(|summary| summary.text);
        let sources = [(self.custom, "custom-title"), (self.ai, "ai-title"), (summary, "summary")];
        sources.into_iter().find_map(|(title, source)| Some(Fact::new(title?, source)))
    }
}

/// Returns whether a title is from another file, which the client or the app prefers to an earlier record.
pub(super) fn is_from_other_file(title: &Fact<Arc<str>>) -> bool {
    [sidecar::TITLE, desktop::TITLE].contains(&title.source)
}

/// Returns those of the ids that are records of a transcript; empty if it is unreadable.
pub(super) fn own_records(path: &Path, ids: &HashSet<&str>) -> HashSet<String> {
    let mut own = HashSet::new();
    if ids.is_empty() {
        return own;
    }
    let Ok(mut lines) = Jsonl::open(path).and_then(|file| file.lines_within(LEAF_WINDOW)) else { return own };
    while let Ok(Some(line)) = lines.next_line() {
        let line = line.bytes;
        // Inside a JSON string the quotes are escaped.
        for at in memmem::find_iter(line, br#""uuid":""#) {
            let rest = &line[at + br#""uuid":""#.len()..];
            let id = rest.split(|byte| *byte == b'"').next().and_then(|id| str::from_utf8(id).ok());
            own.extend(id.filter(|id| ids.contains(id)).map(str::to_owned));
        }
        if own.len() == ids.len() {
            break;
        }
    }
    own
}
