//! The fields of a session for scripts: lines for a pipe, and CSV.

use std::io::{self, Write};

use crate::cli::Format;
use crate::format::text;
use crate::session::Session;
use crate::session::facts::FieldValue;
use crate::session::fields::Field;
use crate::system::env::Env;
use crate::view::render::{rows, write_lines};

/// Returns the heading of a column: its short name.
pub(super) fn heading(field: Field) -> String {
    match field {
        Field::Dir => "DIRECTORY".to_owned(),
        Field::Branch => "BRANCH".to_owned(),
        _ => field.name().split('_').next().unwrap_or_default().to_uppercase(),
    }
}

/// Formats a value on one line for users.
pub(super) fn words(value: &FieldValue<'_>, env: &Env) -> String {
    match value {
        FieldValue::Path(path) => text::unbroken(&text::of_path(path)).into_owned(),
        FieldValue::Time(at) => env.clock.local_time(*at),
        FieldValue::Cost(cost) => cost.to_string(),
        value => text::one_line(&value.to_string()).into_owned(),
    }
}

/// Writes one line per session for a pipe: fields separated by tabs, nothing shortened.
pub(super) fn lines(out: &mut impl Write, sessions: &[Session], fields: &[Field]) -> io::Result<()> {
    write_lines(out, sessions.len(), |at, line| {
        let session = &sessions[at];
        for (column, field) in fields.iter().enumerate() {
            line.extend_from_slice(if column > 0 { b"\t" } else { b"" });
            match field.value(session) {
                Some(FieldValue::Text(text)) => line.extend_from_slice(text::field(&text).as_bytes()),
                Some(FieldValue::Path(path)) => line.extend_from_slice(text::field(&text::of_path(path)).as_bytes()),
                plain => plain.iter().try_for_each(|value| write!(line, "{value}"))?,
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
        let cell = |field: &Field| field.value(session).map(|value| value.to_string()).unwrap_or_default();
        rows::row(line, Format::Csv, fields.iter().map(cell))
    })
}
