//! Shared code for agents that store a session as one JSON document with a list of messages.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::value::RawValue;

use super::engine::Engine;
use super::{Found, Observers, ReadContext, decide_launch_dir, judge_by_age};
use crate::error::PathError;
use crate::format::compare::compare_lists;
use crate::format::content::is_beginning_of;
use crate::format::document::{DocumentField, Shape};
use crate::format::json::{Text, inner};
use crate::format::turn::Turn;
use crate::session::branches::BranchFilter;
use crate::session::{Comparison, Fact, Health, Located, SessionCopy, SessionKind, Store, Visitor};
use crate::system::fsio;

/// A file up to this size is read whole for a list; only the beginning of a larger one is read.
const SMALL: u64 = 64 * 1024;
/// Number of bytes of that beginning.
const MAX_HEAD: u64 = 1024 * 1024;

/// Formats JSON on one line, which is easier to read inside a text.
pub(super) fn compact(json: &str) -> String {
    serde_json::from_str::<serde_json::Value>(json).map_or_else(|_| json.to_owned(), |value| value.to_string())
}

/// Sets the title of a copy to that of its document, unless it is only the beginning of the first prompt.
pub(super) fn set_title(copy: &mut SessionCopy, title: Option<&str>) {
    let prompt = copy.first_prompt.as_ref().map_or("", |prompt| &*prompt.value);
    let title = title.filter(|title| !is_beginning_of(title, prompt));
    copy.title = title.map(|title| Fact::new(title, "session"));
}

/// The engine of agents that keep one document per session, in a file that is named after its id.
pub(super) struct Documents {
    /// The directory of the files below the root of a store; `None` for the root itself.
    pub dir: Option<&'static str>,
    /// Returns whether the name of a file, without `.json`, is the id of a session.
    pub is_id: fn(&str) -> bool,
    pub document: Document,
    /// Fills in a copy from the members of its document.
    pub fill: fn(&mut SessionCopy, &Sum, &ReadContext<'_>) -> Result<(), PathError>,
}

impl Engine for Documents {
    fn locate(&self, store: &Arc<Store>, only: Option<&str>) -> Found {
        let mut dir = store.root.clone();
        dir.extend(self.dir);
        let mut found = Found::default();
        found.add_files(store, &dir, None, ".json", only, &self.is_id);
        found
    }

    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
        let sum = self.document.glance(&place.path)?;
        let mut copy = SessionCopy::new(place);
        copy.size_bytes = sum.bytes;
        sum.fill(&mut copy);
        (self.fill)(&mut copy, &sum, context)?;
        copy.set_active_by_file(sum.modified);
        let last = copy.active_at.as_ref().map(|at| at.value).max(sum.modified);
        judge_by_age(&mut copy, last, context.env.clock.now);
        decide_launch_dir(&mut copy);
        Ok(copy)
    }

    fn observe(&self, copy: &mut SessionCopy, _observers: &mut Observers) -> Result<(), PathError> {
        self.document.whole(&copy.place.path, &mut |_| ())?.fill_counts(copy);
        Ok(())
    }

    fn messages_on(&self, copy: &SessionCopy, _wanted: BranchFilter, see: &mut Visitor<'_>) -> Result<(), PathError> {
        self.document.messages(&copy.place.path, see)
    }

    fn written(&self, place: &Located) -> Vec<PathBuf> {
        vec![place.path.to_path_buf()]
    }

    fn compare(&self, a: &SessionCopy, b: &SessionCopy) -> Option<Comparison> {
        self.document.compare(&a.place.path, &b.place.path)
    }
}

/// Parses an element of a list of messages.
type ParseTurns = fn(&RawValue) -> Option<Vec<Turn>>;

/// The format of an agent's documents.
pub(super) struct Document {
    /// The members that are read.
    pub shape: Shape,
    /// Parses an element of the list, which may contain a prompt and its reply; `None` if it is not a message.
    pub turns: ParseTurns,
    /// Parses the first element of the list, if its meaning differs from the others.
    pub first: Option<ParseTurns>,
}

/// The sum of a document's messages.
#[derive(Default)]
pub(super) struct Sum {
    members: BTreeMap<String, Box<RawValue>>,
    pub first_prompt: Option<String>,
    pub prompts: u64,
    pub replies: u64,
    /// The last model that answered, among the messages seen.
    pub model: Option<String>,
    pub newest: Option<Timestamp>,
    /// Set if every message was seen.
    pub is_whole: bool,
    /// Set if the document is truncated, or is not such a document.
    pub is_broken: bool,
    has_bad_messages: bool,
    /// The number of messages seen.
    seen: u64,
    pub bytes: u64,
    pub modified: Option<Timestamp>,
}

impl Sum {
    /// Creates the sum of a missing document.
    pub(super) fn gone() -> Self {
        Self { is_whole: true, is_broken: true, ..Self::default() }
    }

    /// Returns a string member.
    pub(super) fn text(&self, key: &str) -> Text<'_> {
        inner(self.member(key))
    }

    /// Returns a member.
    pub(super) fn member(&self, key: &str) -> Option<&RawValue> {
        self.members.get(key).map(AsRef::as_ref)
    }

    fn see(&mut self, field: &DocumentField<'_>, document: &Document) {
        match field {
            DocumentField::Member(key, value) => {
                self.members.insert((*key).to_owned(), (*value).to_owned());
            }
            DocumentField::Message(raw) => match document.parse(raw, &mut self.seen) {
                Some(turns) => turns.into_iter().for_each(|turn| {
                    self.prompts += u64::from(turn.prompt().is_some());
                    self.replies += u64::from(turn.is_reply());
                    self.first_prompt = self.first_prompt.take().or_else(|| turn.prompt().map(str::to_owned));
                    self.newest = self.newest.max(turn.at);
                    self.model = turn.model.or_else(|| self.model.take());
                }),
                None => self.has_bad_messages = true,
            },
        }
    }

    /// Fills in the fields of a copy that a list shows.
    pub(super) fn fill(&self, copy: &mut SessionCopy) {
        copy.transcript_bytes = self.bytes;
        let transcript = |text: &String| Fact::<Arc<str>>::new(text.as_str(), "transcript");
        copy.first_prompt = copy.first_prompt.take().or_else(|| self.first_prompt.as_ref().map(transcript));
        copy.model = self.model.as_ref().map(transcript).or_else(|| copy.model.take());
        copy.mark_if(self.is_broken, Health::InvalidContent);
        self.judge_emptiness(copy);
    }

    /// Fills in the counts of a copy.
    pub(super) fn fill_counts(&self, copy: &mut SessionCopy) {
        (copy.prompts, copy.replies) = (Some(self.prompts), Some(self.replies));
        copy.note_bad_lines(self.has_bad_messages);
        self.fill(copy);
    }

    fn judge_emptiness(&self, copy: &mut SessionCopy) {
        let is_empty = self.is_whole && copy.first_prompt.is_none() && self.prompts + self.replies == 0;
        if is_empty {
            copy.health.insert(Health::EmptySession);
        }
        if matches!(copy.kind, SessionKind::Main | SessionKind::Empty) {
            copy.kind = if is_empty { SessionKind::Empty } else { SessionKind::Main };
        }
    }
}

impl Document {
    /// Parses the next element of the list after `seen` others.
    fn parse(&self, raw: &RawValue, seen: &mut u64) -> Option<Vec<Turn>> {
        *seen += 1;
        self.first.filter(|_| *seen == 1).unwrap_or(self.turns)(raw)
    }

    /// Reads the data for a list: the whole of a small document, or the beginning of a larger one.
    pub(super) fn glance(&self, path: &Path) -> Result<Sum, PathError> {
        let (file, metadata) = fsio::open_regular(path)?;
        let modified = metadata.modified().ok().and_then(|at| at.try_into().ok());
        let mut sum = Sum { bytes: metadata.len(), modified, ..Sum::default() };
        if metadata.len() <= SMALL {
            let bytes = fsio::read_opened(file, &metadata, path, SMALL)?;
            sum.is_broken = !self.shape.each_in(&bytes, &mut |field| {
                sum.see(&field, self);
                ControlFlow::Continue(())
            });
            sum.is_whole = true;
            return Ok(sum);
        }
        self.shape.each(&mut file.take(MAX_HEAD), &mut |field| {
            sum.see(&field, self);
            let is_enough = sum.first_prompt.is_some() && sum.replies > 0;
            if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        Ok(sum)
    }

    /// Sums up a whole document, and calls `see` with each element of its list.
    pub(super) fn whole(&self, path: &Path, see: &mut dyn FnMut(&RawValue)) -> Result<Sum, PathError> {
        let (mut file, metadata) = fsio::open_regular(path)?;
        let mut sum = Sum { bytes: metadata.len(), is_whole: true, ..Sum::default() };
        sum.is_broken = !self.shape.each(&mut file, &mut |field| {
            sum.see(&field, self);
            if let DocumentField::Message(raw) = field {
                see(raw);
            }
            ControlFlow::Continue(())
        });
        Ok(sum)
    }

    /// Calls `see` with the messages of a document until it breaks.
    pub(super) fn messages(&self, path: &Path, see: &mut Visitor<'_>) -> Result<(), PathError> {
        let (mut file, _) = fsio::open_regular(path)?;
        let mut seen = 0;
        let is_whole = self.shape.each(&mut file, &mut |field| match field {
            DocumentField::Message(raw) => {
                self.parse(raw, &mut seen).into_iter().flatten().flat_map(|turn| turn.messages).try_for_each(&mut *see)
            }
            DocumentField::Member(..) => ControlFlow::Continue(()),
        });
        let why = "it is cut off or damaged, so messages may be missing";
        is_whole.then_some(()).ok_or_else(|| PathError::new("read", path, std::io::Error::other(why)))
    }

    /// Compares the messages of two documents; `None` if one is unreadable.
    pub(super) fn compare(&self, a: &Path, b: &Path) -> Option<Comparison> {
        Some(compare_lists(&self.digests(a)?, &self.digests(b)?))
    }

    fn digests(&self, path: &Path) -> Option<Vec<u64>> {
        let (mut file, _) = fsio::open_regular(path).ok()?;
        let mut digests = Vec::new();
        let is_whole = self.shape.each(&mut file, &mut |field| {
            if let DocumentField::Message(raw) = field {
                let mut hasher = DefaultHasher::new();
                raw.get().hash(&mut hasher);
                digests.push(hasher.finish());
            }
            ControlFlow::Continue(())
        });
        // The unreadable rest may contain exactly the messages that the other document lacks.
        is_whole.then_some(digests)
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out the files that they look at")]
mod tests {
    use super::*;

    #[test]
    fn truncated_document_is_not_comparable() {
        let document = Document { shape: Shape { list: "messages", members: &[] }, turns: |_| None, first: None };
        let dir = tempfile::tempdir().expect("a directory");
        let whole = r#"{"messages":[{"a":1},{"b":2}],"x":1}"#;
        let path = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).expect("a file");
            path
        };
        let (a, b) = (path("a", whole), path("b", r#"{"messages":[{"a":1}]}"#));
        assert!(document.compare(&a, &b).is_some());
        assert!(document.messages(&a, &mut |_| ControlFlow::Continue(())).is_ok());
        // The truncated document would compare as a prefix of the other one.
        for cut in [20, whole.len() - 1] {
            let cut = path("cut", &whole[..cut]);
            assert!(document.compare(&a, &cut).is_none());
            assert!(document.messages(&cut, &mut |_| ControlFlow::Continue(())).is_err(), "messages may be missing");
        }
    }
}
