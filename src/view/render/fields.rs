//! The fields of a session for scripts: lines for a pipe, and CSV.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::io::{self, Write};

use jiff::Timestamp;

use crate::cli::Format;
use crate::format::text;
use crate::session::fields::Field;
use crate::session::{Session, marks};
use crate::view::render::{rows, write_lines};

/// Returns the heading of a column.
pub(super) fn heading(field: Field) -> &'static str {
    match field {
        Field::Host => "HOST",
        Field::Agent => "AGENT",
        Field::Id => "ID",
        Field::Title => "TITLE",
        Field::Dir => "DIRECTORY",
        Field::Active => "ACTIVE",
        Field::Size => "SIZE",
        Field::Prompts => "PROMPTS",
        Field::Replies => "REPLIES",
        Field::Marks => "MARKS",
        Field::Tags => "TAGS",
        Field::Problems => "HEALTH",
        Field::Kind => "KIND",
        Field::Created => "CREATED",
        Field::Model => "MODEL",
        Field::Branch => "BRANCH",
        Field::Project => "PROJECT",
        Field::Path => "PATH",
        Field::Copies => "COPIES",
        Field::State => "STATE",
        Field::Since => "SINCE",
        Field::Pid => "PID",
    }
}

/// The value of a field, not shortened.
pub(super) enum Value<'s> {
    /// Any text; empty if unknown.
    Text(Cow<'s, str>),
    /// A number.
    Number(u64),
    /// A time in UTC.
    Time(Timestamp),
}

impl Display for Value<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => number.fmt(f),
            Self::Time(at) => at.fmt(f),
        }
    }
}

impl<'s> From<Option<&'s str>> for Value<'s> {
    fn from(text: Option<&'s str>) -> Self {
        Self::Text(Cow::Borrowed(text.unwrap_or_default()))
    }
}

/// Returns the value of a field.
pub(super) fn value(field: Field, session: &Session) -> Value<'_> {
    let copy = session.copy();
    let number = |number: Option<u64>| number.map_or(Value::from(None), Value::Number);
    let time = |at: Option<Timestamp>| at.map_or(Value::from(None), Value::Time);
    match field {
        Field::Host => session.host().into(),
        Field::Agent => Some(session.agent.name()).into(),
        Field::Id => Some(session.id()).into(),
        Field::Title => session.label().into(),
        Field::Dir => Value::Text(session.launch_dir().map(text::of_path).unwrap_or_default()),
        Field::Active => time(session.active_at()),
        Field::Size => number(copy.size()),
        Field::Prompts => number(copy.prompts),
        Field::Replies => number(copy.replies),
        Field::Marks => Value::Text(marks::words(session).join(", ").into()),
        Field::Tags => Value::Text(marks::tag_words(session).into()),
        Field::Problems => {
            Value::Text(session.health.iter().map(|health| health.code()).collect::<Vec<_>>().join(",").into())
        }
        Field::Kind => Some(copy.kind.name()).into(),
        Field::Created => time(copy.created_at.as_ref().map(|at| at.value)),
        Field::Model => copy.model.as_ref().map(|model| &*model.value).into(),
        Field::Branch => copy.git_branch.as_ref().map(|branch| &*branch.value).into(),
        Field::Project => copy.place.project.as_deref().into(),
        Field::Path => Value::Text(text::of_path(&copy.place.path)),
        Field::Copies => Value::Number(session.copies.len() as u64),
        Field::State => session.process.map(|process| process.state.name()).into(),
        Field::Since => time(session.process.and_then(|process| process.started_at)),
        Field::Pid => number(session.process.and_then(|process| process.pid.map(u64::from))),
    }
}

/// Writes one line per session for a pipe: fields separated by tabs, nothing shortened.
pub(super) fn lines(out: &mut impl Write, sessions: &[Session], fields: &[Field]) -> io::Result<()> {
    write_lines(out, sessions.len(), |at, line| {
        let session = &sessions[at];
        for (column, field) in fields.iter().enumerate() {
            line.extend_from_slice(if column > 0 { b"\t" } else { b"" });
            match value(*field, session) {
                Value::Text(text) => line.extend_from_slice(text::field(&text).as_bytes()),
                plain => write!(line, "{plain}")?,
            }
        }
        line.push(b'\n');
        Ok(())
    })
}

/// Writes CSV as in RFC 4180, with a line of names first.
pub(super) fn csv(out: &mut impl Write, sessions: &[Session], fields: &[Field], has_head: bool) -> io::Result<()> {
    if has_head {
        rows::row(out, Format::Csv, fields.iter().map(|field| field.name()))?;
    }
    write_lines(out, sessions.len(), |at, line| {
        let session = &sessions[at];
        rows::row(line, Format::Csv, fields.iter().map(|field| value(*field, session).to_string()))
    })
}
