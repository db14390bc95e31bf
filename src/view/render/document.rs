//! The JSON documents of answers: one object, or several lines of ndjson.

use std::io::{self, Write};

use serde::Serialize;

use super::serializer;
use crate::format::json_writer::Harmless;

/// The version of the JSON contract (docs/json.md). Additive change is a minor version.
const FORMAT_VERSION: &str = "1.0";

/// The common fields of every answer.
#[derive(Debug, Serialize)]
pub(super) struct AnswerDocument<T> {
    format_version: &'static str,
    kind: &'static str,
    #[serde(flatten)]
    fields: T,
}

impl<T> AnswerDocument<T> {
    pub(super) fn new(kind: &'static str, fields: T) -> Self {
        Self { format_version: FORMAT_VERSION, kind, fields }
    }
}

/// Writes one object, on a line.
pub(crate) fn write_object(out: &mut dyn Write, kind: &'static str, fields: impl Serialize) -> io::Result<()> {
    write_line(out, &AnswerDocument::new(kind, fields))
}

/// Writes the first line of an ndjson answer whose items follow one by one.
pub(crate) fn write_header(out: &mut dyn Write, kind: &'static str) -> io::Result<()> {
    #[derive(Serialize)]
    struct Nothing {}
    write_object(out, kind, Nothing {})
}

/// Writes an object up to the beginning of its list, so that its items can be written as they are found.
pub(crate) fn begin_list(out: &mut dyn Write, kind: &str, list: &str) -> io::Result<()> {
    write!(out, r#"{{"format_version":"{FORMAT_VERSION}","kind":"{kind}","{list}":["#)
}

/// Writes the last line of an ndjson answer.
pub(crate) fn write_summary(out: &mut dyn Write, fields: impl Serialize) -> io::Result<()> {
    #[derive(Serialize)]
    struct SummaryLine<T> {
        kind: &'static str,
        #[serde(flatten)]
        fields: T,
    }
    write_line(out, &SummaryLine { kind: "summary", fields })
}

/// Writes a value as one line of JSON.
pub(crate) fn write_line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serializer::write_line(&mut Harmless(out), value)
}
