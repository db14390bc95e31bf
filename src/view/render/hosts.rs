//! The answers of hosts: their rows in one document, or one after the other.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::cli::Format;
use crate::fleet::row;
use crate::fleet::rows::HostReport;
use crate::format::json_writer::Harmless;
use crate::format::text;
use crate::view::render::document::{begin_list, write_header, write_summary};
use crate::view::render::list;
use crate::view::ui::{Styles, Ui};

/// Writes the name of a host above its answer.
pub(crate) fn head(ui: &mut Ui, host: &str, at: usize) -> io::Result<()> {
    let Styles { header, .. } = ui.styles;
    let gap = if at > 0 { "\n" } else { "" };
    writeln!(ui.data(), "{gap}{header}{}{header:#}", text::one_line(host))
}

/// A document that is written while the rows arrive: each with its host, and at the end the counts of all hosts.
pub(crate) struct HostsDocument {
    format: Format,
    /// The name of the list of rows.
    list: &'static str,
    rows: usize,
}

impl HostsDocument {
    /// Writes its beginning.
    pub(crate) fn begin(
        out: &mut impl Write,
        kind: &'static str,
        list: &'static str,
        format: Format,
    ) -> io::Result<Self> {
        match format {
            Format::Ndjson => write_header(out, kind)?,
            _ => begin_list(out, kind, list)?,
        }
        Ok(Self { format, list, rows: 0 })
    }

    /// Writes a row, which is an object on a line.
    pub(crate) fn row(&mut self, out: &mut impl Write, line: &str, host: &str) -> io::Result<()> {
        let Some(row) = row::with_host(line, host) else { return Ok(()) };
        let ends_line = self.format == Format::Ndjson;
        if !ends_line && self.rows > 0 {
            out.write_all(b",")?;
        }
        self.rows += 1;
        Harmless(&mut *out).write_all(row.as_bytes())?;
        if ends_line { out.write_all(b"\n") } else { Ok(()) }
    }

    /// Writes the end: the sums of the hosts' counts, and the result of each host. `beyond` more rows were not written.
    pub(crate) fn end(&self, out: &mut impl Write, reports: &[HostReport], beyond: usize) -> io::Result<()> {
        let mut fields = sums(reports);
        if let Some(is_limited) = fields.get_mut("limit_reached") {
            *is_limited = (beyond > 0 || *is_limited == Value::Bool(true)).into();
        } else if beyond > 0 {
            let known = fields.get("beyond_limit").and_then(Value::as_u64).unwrap_or_default();
            fields.insert("beyond_limit".to_owned(), known.saturating_add(beyond as u64).into());
        }
        fields.insert("hosts".to_owned(), serde_json::to_value(reports)?);
        if self.format == Format::Ndjson {
            fields.insert(self.list.to_owned(), self.rows.into());
            return write_summary(out, fields);
        }
        fields.remove(self.list);
        let fields = serde_json::to_string(&fields)?;
        out.write_all(b"],")?;
        // The fields continue the object of the list, so their opening brace is left out.
        Harmless(&mut *out).write_all(fields.strip_prefix('{').unwrap_or_default().as_bytes())?;
        writeln!(out)
    }
}

/// The fields that a document sets itself.
const OWN: [&str; 4] = ["format_version", "kind", "host", "hosts"];

/// Adds up the hosts' counts, and joins their lists, each item with its host.
fn sums(reports: &[HostReport]) -> Map<String, Value> {
    let mut sums = Map::new();
    for report in reports {
        // A host cannot override the document's own fields.
        for (name, value) in report.summary.iter().filter(|(name, _)| !OWN.contains(&name.as_str())) {
            let sum = sums.entry(name.clone()).or_insert_with(|| match value {
                Value::Number(_) => 0.into(),
                Value::Array(_) => Value::Array(Vec::new()),
                other => other.clone(),
            });
            match (sum, value) {
                (sum @ Value::Number(_), Value::Number(more)) => {
                    *sum = sum.as_u64().unwrap_or_default().saturating_add(more.as_u64().unwrap_or_default()).into();
                }
                (Value::Array(all), Value::Array(more)) => {
                    all.extend(more.iter().map(|one| of_host(one, &report.host)));
                }
                (Value::Bool(any), Value::Bool(one)) => *any |= one,
                _ => {}
            }
        }
    }
    sums
}

fn of_host(value: &Value, host: &str) -> Value {
    let Value::Object(fields) = value else { return value.clone() };
    let own = fields.iter().map(|(name, value)| (name.clone(), value.clone()));
    Value::Object([("host".to_owned(), host.into())].into_iter().chain(own).collect())
}

/// Returns the notes on a terminal about rows that a table leaves out.
pub(crate) fn notes(reports: &[HostReport], shown: usize, beyond: usize) -> Vec<String> {
    let sum = |name: &str| {
        let sum: u64 = reports.iter().filter_map(|it| it.summary.get(name)?.as_u64()).sum();
        usize::try_from(sum).unwrap_or(usize::MAX)
    };
    let answered = reports.iter().filter(|report| report.fault.is_none()).count();
    let mut notes = Vec::new();
    if shown == 0 && answered > 0 {
        notes.push(format!("No sessions found on {}.", text::count(answered, "host")));
    }
    notes.extend(list::beyond(sum("beyond_limit") + beyond, true));
    notes.extend(list::more_with_all(sum("hidden"), ""));
    notes
}

/// Reports that no message on any host matches.
pub(crate) fn nothing_has(requested: &str, reports: &[HostReport]) -> String {
    let searched: u64 = reports.iter().filter_map(|report| report.summary.get("searched")?.as_u64()).sum();
    let hosts = reports.iter().filter(|report| report.fault.is_none()).count();
    let sessions = text::count(usize::try_from(searched).unwrap_or(usize::MAX), "session");
    format!("No match for {requested:?} in {sessions} on {}.", text::count(hosts, "host"))
}

/// The answer of one host.
#[derive(Debug, Serialize)]
pub(crate) struct HostAnswer {
    /// The name of the host.
    pub host: String,
    /// The exit status of rejoin on the host; `null` if there is none.
    pub status: Option<u8>,
    /// The reason why there is no answer; `null` if there is one.
    pub fault: Option<String>,
    /// The answer of rejoin on the host: an object with its `kind`, which is `error` for a refusal; `null` without an
    /// answer.
    pub answer: Option<Box<RawValue>>,
}

/// Writes the answers of hosts as they arrive.
pub(crate) fn write_answers(
    out: &mut impl Write,
    format: Format,
    answers: impl Iterator<Item = HostAnswer>,
) -> io::Result<()> {
    const KIND: &str = "host-answers";
    let are_lines = format == Format::Ndjson;
    if are_lines {
        write_header(out, KIND)?
    } else {
        begin_list(out, KIND, "hosts")?
    }
    for (at, answer) in answers.enumerate() {
        if !are_lines && at > 0 {
            out.write_all(b",")?;
        }
        Harmless(&mut *out).write_all(&serde_json::to_vec(&answer)?)?;
        if are_lines {
            writeln!(out)?;
        }
    }
    if are_lines { write_summary(out, Map::new()) } else { writeln!(out, "]}}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(host: &str, summary: Value) -> HostReport {
        let Value::Object(summary) = summary else { panic!("an object") };
        HostReport { host: host.to_owned(), status: Some(0), summary, ..HostReport::default() }
    }

    #[test]
    fn summary_adds_counts_of_hosts() {
        let one = report("a", json!({ "sessions": 2, "hidden": 1, "problems": [{ "path": "/x" }], "cut": false }));
        let two = report("b", json!({ "sessions": 3, "hidden": 0, "problems": [{ "path": "/y" }], "cut": true }));
        let problems = json!([{ "host": "a", "path": "/x" }, { "host": "b", "path": "/y" }]);
        let sums = Value::Object(sums(&[one, two]));
        assert_eq!(sums, json!({ "sessions": 5, "hidden": 1, "problems": problems, "cut": true }));
    }

    #[test]
    fn host_cannot_set_document_fields_or_overflow_count() {
        let evil = json!({ "format_version": "9", "kind": "error", "hosts": [], "host": "x", "sessions": u64::MAX });
        let sums = sums(&[report("a", evil.clone()), report("b", evil)]);
        assert_eq!(Value::Object(sums), json!({ "sessions": u64::MAX }));
    }

    #[test]
    fn document_is_valid_as_json_and_ndjson() {
        let reports = [report("a", json!({ "sessions": 1, "hidden": 0, "beyond_limit": 1 }))];
        let written = |format, rows: &[&str]| {
            let mut out = Vec::new();
            let mut document = HostsDocument::begin(&mut out, "session-list", "sessions", format).expect("written");
            rows.iter().for_each(|row| document.row(&mut out, row, "a").expect("written"));
            document.end(&mut out, &reports, 2).expect("written");
            String::from_utf8(out).expect("text")
        };
        let json: Value =
            serde_json::from_str(&written(Format::Json, &[r#"{"id":"x"}"#, r#"{"id":"y"}"#])).expect("JSON");
        assert_eq!(json["sessions"], json!([{ "host": "a", "id": "x" }, { "host": "a", "id": "y" }]));
        assert_eq!((&json["kind"], &json["beyond_limit"]), (&json!("session-list"), &json!(3)));
        assert_eq!(json["hosts"], json!([{ "host": "a", "status": 0, "fault": null }]));
        let none: Value = serde_json::from_str(&written(Format::Json, &[])).expect("JSON");
        assert_eq!(none["sessions"], json!([]));
        let lines = written(Format::Ndjson, &[r#"{"id":"x"}"#]);
        let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!((&lines[1]["host"], &lines[2]["sessions"]), (&json!("a"), &json!(1)));
    }
}
