//! What `save` wrote.

use std::io::{self, Write};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::format::text;
use crate::save::transcript::Counts;
use crate::system::env::Env;
use crate::view::render::answer::Answer;
use crate::view::ui::Styles;

/// What was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Saved {
    /// What it is, as its command is named.
    pub what: &'static str,
    /// The file.
    pub path: PathBuf,
    /// Whether it was written; `false` when it was the same already.
    pub is_written: bool,
    /// How many messages there were, where there are messages.
    pub counts: Option<Counts>,
}

impl Saved {
    /// Makes the outcome of a file that was written.
    pub(crate) fn new(what: &'static str, path: PathBuf) -> Self {
        Self { what, path, is_written: true, counts: None }
    }
}

/// The answer of `save`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SaveOutcome", deny_unknown_fields)]
pub(crate) struct SaveJson<'a> {
    /// `session-info`, `transcript`, `leo` or `jido`.
    pub what: &'static str,
    /// The file.
    #[schemars(with = "String")]
    pub path: std::borrow::Cow<'a, str>,
    /// `written`, or `kept` when it was the same already.
    pub result: &'static str,
    /// How many messages the file holds; `null` for another file than a transcript.
    pub messages: Option<u64>,
    /// How many messages have a role that is never written; `null` for another file than a transcript.
    pub left_out: Option<u64>,
}

impl Answer for Saved {
    fn object(&self) -> (&'static str, impl Serialize) {
        let fields = SaveJson {
            what: self.what,
            path: self.path.to_string_lossy(),
            result: if self.is_written { "written" } else { "kept" },
            messages: self.counts.map(|counts| counts.messages),
            left_out: self.counts.map(|counts| counts.left_out),
        };
        ("save-outcome", fields)
    }

    /// People see it beside the answer.
    fn table(&self, _: &mut impl Write, _: &Env, _: &Styles) -> io::Result<()> {
        Ok(())
    }
}

/// Says the outcome in a sentence.
pub(crate) fn text(saved: &Saved) -> String {
    let path = saved.path.display();
    match saved.counts {
        Some(counts) if saved.is_written => format!("Saved {} in {path}.", text::count(counts.messages, "message")),
        Some(counts) => format!("{path} already has the same {}.", text::count(counts.messages, "message")),
        None => format!("Saved {path}."),
    }
}
