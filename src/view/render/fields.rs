//! The fields of a session as scripts read them: lines for a pipe, and CSV.

use std::io::{self, Write};

use crate::format::text;
use crate::session::fields::Field;
use crate::session::{InOrder, Session, marks};
use crate::view::render::write_lines;

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
        Field::Problems => "PROBLEMS",
        Field::Kind => "KIND",
        Field::Created => "CREATED",
        Field::Model => "MODEL",
        Field::Branch => "BRANCH",
        Field::Project => "PROJECT",
        Field::Path => "PATH",
        Field::Copies => "COPIES",
    }
}

/// Returns whether a column holds numbers, which stand at its right edge.
pub(super) fn is_number(field: Field) -> bool {
    matches!(field, Field::Size | Field::Prompts | Field::Replies | Field::Copies)
}

/// Returns what a field says of a session, with nothing shortened; what is not known is empty.
pub(super) fn value(field: Field, session: &Session) -> String {
    let copy = session.copy();
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    let owned = |text: Option<&str>| text.unwrap_or_default().to_owned();
    match field {
        Field::Host => owned(session.host()),
        Field::Agent => session.agent.name().to_owned(),
        Field::Id => session.id.clone(),
        Field::Title => owned(session.label()),
        Field::Dir => session.launch_dir().map(|dir| text::of_path(dir).into_owned()).unwrap_or_default(),
        Field::Active => session.active_at().map(|at| at.to_string()).unwrap_or_default(),
        Field::Size => number(copy.size()),
        Field::Prompts => number(copy.prompts),
        Field::Replies => number(copy.replies),
        Field::Marks => marks::words(session).join(", "),
        Field::Problems => session.health.iter().map(|health| health.code()).collect::<Vec<_>>().join(","),
        Field::Kind => copy.kind.name().to_owned(),
        Field::Created => copy.created_at.as_ref().map(|at| at.value.to_string()).unwrap_or_default(),
        Field::Model => owned(copy.model.as_ref().map(|model| model.value.as_str())),
        Field::Branch => owned(copy.git_branch.as_ref().map(|branch| branch.value.as_str())),
        Field::Project => owned(copy.place.project.as_deref()),
        Field::Path => text::of_path(&copy.place.path).into_owned(),
        Field::Copies => session.copies.len().to_string(),
    }
}

/// Writes one line a session for a pipe: fields separated by tabs, nothing shortened.
pub(super) fn lines(out: &mut impl Write, sessions: &dyn InOrder, fields: &[Field]) -> io::Result<()> {
    write_lines(out, sessions.count(), |at, line| {
        let session = sessions.at(at);
        for (column, field) in fields.iter().enumerate() {
            line.extend_from_slice(if column > 0 { b"\t" } else { b"" });
            line.extend_from_slice(text::field(&value(*field, &session)).as_bytes());
        }
        line.push(b'\n');
        Ok(())
    })
}

/// Writes CSV as RFC 4180 has it, with a line of names first.
pub(super) fn csv(out: &mut impl Write, sessions: &dyn InOrder, fields: &[Field], has_head: bool) -> io::Result<()> {
    if has_head {
        let mut names = Vec::new();
        record(&mut names, fields.iter().map(|field| field.name().to_owned()));
        out.write_all(&names)?;
    }
    write_lines(out, sessions.count(), |at, line| {
        let session = sessions.at(at);
        record(line, fields.iter().map(|field| value(*field, &session)));
        Ok(())
    })
}

fn record(line: &mut Vec<u8>, fields: impl Iterator<Item = String>) {
    let start = line.len();
    for (column, field) in fields.enumerate() {
        line.extend_from_slice(if column > 0 { b"," } else { b"" });
        if field.contains([',', '"', '\n', '\r']) {
            line.extend_from_slice(format!("\"{}\"", field.replace('"', "\"\"")).as_bytes());
        } else {
            line.extend_from_slice(field.as_bytes());
        }
    }
    // An empty line would be no record.
    line.extend_from_slice(if line.len() == start { b"\"\"\n" } else { b"\n" });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_csv_is_quoted_where_it_has_to_be() {
        for (fields, expected) in [
            (&["a", "", "b c"][..], "a,,b c\n"),
            (
                &["a,b", "say \"x\"", "\"", "one\ntwo", "one\rtwo"],
                "\"a,b\",\"say \"\"x\"\"\",\"\"\"\",\"one\ntwo\",\"one\rtwo\"\n",
            ),
            (&[""], "\"\"\n"),
            (&["", ""], ",\n"),
        ] {
            let mut line = b"before\n".to_vec();
            record(&mut line, fields.iter().map(|field| (*field).to_owned()));
            assert_eq!(String::from_utf8(line).expect("text"), format!("before\n{expected}"));
        }
    }
}
