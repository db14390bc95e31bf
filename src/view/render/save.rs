//! The answer of `save`.

use std::io::{self, Write};
use std::path::PathBuf;

use serde::Serialize;

use crate::change::outcome::ItemResult;
use crate::format::text;
use crate::save::transcript::Counts;
use crate::system::env::Env;
use crate::view::render::answer::Answer;
use crate::view::render::items::List;
use crate::view::render::json::change::{ChangeJson, ItemJson, StepJson, kind};
use crate::view::render::json::details::{ItemDetails, SaveItem};
use crate::view::ui::Styles;

/// A saved file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Saved {
    /// The kind of file, named like its command.
    pub what: &'static str,
    /// The file.
    pub path: PathBuf,
    /// Set if it was written; `false` if it was already equal.
    pub is_written: bool,
    /// Numbers of messages, if it has messages.
    pub counts: Option<Counts>,
}

impl Saved {
    /// Creates the outcome of a file that was written.
    pub(crate) fn new(what: &'static str, path: PathBuf) -> Self {
        Self { what, path, is_written: true, counts: None }
    }
}

impl Answer for Saved {
    fn object(&self) -> (&'static str, impl Serialize) {
        let result = if self.is_written { &ItemResult::Done } else { &ItemResult::Unchanged };
        let item = move |_| ItemJson {
            steps: vec![StepJson::new("write", &self.path)],
            details: self
                .counts
                .map(|Counts { messages, left_out, .. }| ItemDetails::Save(SaveItem { messages, left_out })),
            ..ItemJson::new(None, self.what, result, false)
        };
        (kind(false), ChangeJson::new("save", false, List::counted(1, item), [result]))
    }

    /// Users get a note on standard error.
    fn table(&self, _: &mut impl Write, _: &Env, _: &Styles) -> io::Result<()> {
        Ok(())
    }
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
