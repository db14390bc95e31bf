//! The facts of a session: the value of each field, and the file or record that it was read from.
//!
//! Tables, lines, JSON and pages for users are written from this list; each names only the fields that it has, in its
//! order.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::path::Path;
use std::sync::Arc;

use changes::path_text::lossy;
use jiff::Timestamp;
use serde::Serialize;

use crate::session::fields::Field;
use crate::session::usage::{Cost, Tokens};
use crate::session::{Fact, Session, marks};

/// The value of a field, not shortened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum FieldValue<'s> {
    /// Any text.
    Text(Cow<'s, str>),
    /// A file or a directory.
    Path(#[serde(serialize_with = "lossy")] &'s Path),
    /// A number.
    Number(u64),
    /// A time in UTC.
    Time(Timestamp),
    /// Tokens of models.
    Tokens(Tokens),
    /// Money.
    Cost(Cost),
}

impl Display for FieldValue<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Path(path) => path.display().fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Time(at) => at.fmt(f),
            Self::Tokens(tokens) => tokens.total().fmt(f),
            Self::Cost(cost) => cost.dollars().fmt(f),
        }
    }
}

impl Field {
    /// Returns the value of the field; `None` if it is unknown or not applicable. Only a value that was read has a
    /// source.
    pub(crate) fn fact(self, session: &Session) -> Option<Fact<FieldValue<'_>>> {
        let copy = session.copy();
        match self {
            Self::Host => text(session.host()),
            Self::Agent => text(Some(session.agent.name())),
            Self::Id => text(Some(session.id())),
            Self::Kind => text(Some(copy.kind.name())),
            Self::Title => text(session.label()),
            Self::OwnTitle => read_text(&copy.title),
            Self::FirstPrompt => read_text(&copy.first_prompt),
            Self::Dir => dir(&copy.launch_dir),
            Self::StartDir => dir(&copy.start_dir),
            Self::LastDir => dir(&copy.last_dir),
            Self::Project => text(copy.place.project.as_deref()),
            Self::Path => plain(FieldValue::Path(&copy.place.path)),
            Self::Created => time(&copy.created_at),
            Self::Active => time(&copy.active_at),
            Self::ActiveSource => text(copy.active_at.as_ref().map(|at| at.source)),
            Self::Size => plain(FieldValue::Number(copy.size()?)),
            Self::Prompts => plain(FieldValue::Number(copy.prompts?)),
            Self::Replies => plain(FieldValue::Number(copy.replies?)),
            Self::Tokens => plain(FieldValue::Tokens(copy.usage?.tokens?)),
            Self::Cost => plain(FieldValue::Cost(copy.usage?.cost?)),
            Self::Model => read_text(&copy.model),
            Self::Branch => read_text(&copy.git_branch),
            Self::ParentId => text(copy.parent_id.as_deref()),
            Self::Marks => words(marks::words(session).join(", ")),
            Self::Tags => words(marks::tag_words(session)),
            Self::Problems => words(session.health.iter().map(|it| it.code()).collect::<Vec<_>>().join(",")),
            Self::Copies => plain(FieldValue::Number(session.copies.len() as u64)),
            Self::State => text(session.process.map(|process| process.state.name())),
            Self::Since => plain(FieldValue::Time(session.process?.started_at?)),
            Self::Pid => plain(FieldValue::Number(session.process?.pid?.into())),
        }
    }

    /// Returns the value of the field without its source.
    pub(crate) fn value(self, session: &Session) -> Option<FieldValue<'_>> {
        self.fact(session).map(|fact| fact.value)
    }
}

fn plain(value: FieldValue<'_>) -> Option<Fact<FieldValue<'_>>> {
    Some(Fact { value, source: "" })
}

fn text(text: Option<&str>) -> Option<Fact<FieldValue<'_>>> {
    plain(FieldValue::Text(text?.into()))
}

fn words<'s>(words: String) -> Option<Fact<FieldValue<'s>>> {
    plain(FieldValue::Text(words.into()))
}

fn read_text(fact: &Option<Fact<Arc<str>>>) -> Option<Fact<FieldValue<'_>>> {
    fact.as_ref().map(|fact| Fact::new(FieldValue::Text((&*fact.value).into()), fact.source))
}

fn dir(fact: &Option<Fact<Arc<Path>>>) -> Option<Fact<FieldValue<'_>>> {
    fact.as_ref().map(|fact| Fact::new(FieldValue::Path(&fact.value), fact.source))
}

fn time<'s>(fact: &Option<Fact<Timestamp>>) -> Option<Fact<FieldValue<'s>>> {
    fact.as_ref().map(|fact| Fact::new(FieldValue::Time(fact.value), fact.source))
}
