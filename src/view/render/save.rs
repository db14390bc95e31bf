//! The answer of `save`.

use std::path::PathBuf;

use crate::change::outcome::ItemResult;
use crate::format::text;
use crate::save::transcript::MessageCounts;
use crate::view::render::change::ChangeText;
use crate::view::render::items::ItemList;
use crate::view::render::json::change::{ChangeJson, ItemJson, StepJson};
use crate::view::render::json::details::{ItemDetails, SaveItem};

/// A saved file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Saved {
    /// The kind of file, named like its command.
    pub what: &'static str,
    /// The file.
    pub path: PathBuf,
    /// Set if the file was written; `false` if it was already equal.
    pub is_written: bool,
    /// Numbers of messages, for a file with messages.
    pub counts: Option<MessageCounts>,
}

impl Saved {
    /// Creates the outcome of a file that was written.
    pub(crate) fn new(what: &'static str, path: PathBuf) -> Self {
        Self { what, path, is_written: true, counts: None }
    }
}

/// Returns the answer for scripts.
pub(crate) fn answer(saved: &Saved) -> ChangeText<'_> {
    let result = if saved.is_written { &ItemResult::Done } else { &ItemResult::Unchanged };
    let item = move |_| ItemJson {
        steps: vec![StepJson::new("write", &saved.path)],
        details: saved
            .counts
            .map(|MessageCounts { messages, left_out, .. }| ItemDetails::Save(SaveItem { messages, left_out })),
        ..ItemJson::new(None, saved.what, result, false)
    };
    ChangeText::new(ChangeJson::new("save", false, ItemList::counted(1, item), [result]), false)
}

/// Describes the outcome in a sentence.
pub(crate) fn text(saved: &Saved) -> String {
    let path = saved.path.display();
    match saved.counts {
        Some(counts) if saved.is_written => format!("Saved {} in {path}.", text::count(counts.messages, "message")),
        Some(counts) => format!("{path} already has the same {}.", text::count(counts.messages, "message")),
        None => format!("Saved {path}."),
    }
}
