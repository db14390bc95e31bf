//! Answers as rows: tsv and csv.

use std::fmt;
use std::io::{self, Write};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::cli::Format;
use crate::format::text;

/// Writes a row: comma-separated as in RFC 4180, or with tabs.
pub(crate) fn row(
    out: &mut dyn Write,
    format: Format,
    cells: impl IntoIterator<Item = impl AsRef<str>>,
) -> io::Result<()> {
    /// Most rows are shorter; a longer row is written in parts.
    const BUFFER: usize = 512;
    if format == Format::Csv {
        let mut writer = csv::WriterBuilder::new().buffer_capacity(BUFFER).from_writer(out);
        writer.write_record(cells.into_iter().map(|cell| cell.as_ref().as_bytes().to_vec()))?;
        return writer.flush();
    }
    for (column, cell) in cells.into_iter().enumerate() {
        write!(out, "{}{}", if column > 0 { "\t" } else { "" }, text::field(cell.as_ref()))?;
    }
    writeln!(out)
}

/// Writes the names of the columns; only csv has them.
pub(crate) fn head(
    out: &mut dyn Write,
    format: Format,
    names: impl IntoIterator<Item = impl AsRef<str>>,
) -> io::Result<()> {
    if format == Format::Csv { row(out, format, names) } else { Ok(()) }
}

/// Converts ndjson to rows while it is written: one row per item, one column per field.
///
/// An answer without items is one row of the fields in its header.
pub(crate) struct RowWriter<'a> {
    out: &'a mut dyn Write,
    format: Format,
    line: Vec<u8>,
    /// The fields of the header, until an item follows.
    header: Option<RowFields>,
    /// The last complete line, which is the summary if no other follows.
    last: Option<RowFields>,
    names: Vec<String>,
}

/// The fields of an object in their order.
struct RowFields(Vec<(String, Box<RawValue>)>);

impl<'a> RowWriter<'a> {
    pub(crate) fn new(out: &'a mut dyn Write, format: Format) -> Self {
        Self { out, format, line: Vec::new(), header: None, last: None, names: Vec::new() }
    }

    /// Writes the remaining rows when the ndjson is complete.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let Some(RowFields(fields)) = self.header.take() else { return Ok(()) };
        // Every header begins with the version and the kind. If an object is the next field, its members are the
        // answer.
        let mut all: Vec<(String, Box<RawValue>)> = Vec::new();
        for (name, value) in fields.into_iter().skip(2) {
            let is_new = |RowFields(inner): &RowFields| {
                !is_path(inner) && inner.iter().all(|(name, _)| all.iter().all(|(known, _)| known != name))
            };
            match serde_json::from_str(value.get()).ok().filter(is_new) {
                Some(RowFields(inner)) => all.extend(inner),
                None => all.push((name, value)),
            }
        }
        if all.is_empty() { Ok(()) } else { self.item(&RowFields(all)) }
    }

    fn end_line(&mut self) -> io::Result<()> {
        let fields: RowFields = serde_json::from_slice(&std::mem::take(&mut self.line))?;
        if self.header.is_none() && self.names.is_empty() {
            self.header = Some(fields);
        } else if let Some(item) = self.last.replace(fields) {
            self.header = None;
            self.item(&item)?;
        }
        Ok(())
    }

    fn item(&mut self, RowFields(fields): &RowFields) -> io::Result<()> {
        if self.names.is_empty() {
            self.names = fields.iter().map(|(name, _)| name.clone()).collect();
            head(&mut self.out, self.format, &self.names)?;
        }
        let of = |name: &String| fields.iter().find(|(known, _)| known == name).map(|(_, value)| cell(value));
        row(&mut self.out, self.format, self.names.iter().map(|name| of(name).unwrap_or_default()))
    }
}

impl Write for RowWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.end_line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns whether an object is a path, possibly with facts about it.
fn is_path<V>(fields: &[(String, V)]) -> bool {
    fields.first().is_some_and(|(name, _)| name == "path")
}

/// Formats a value: a path as its text, a list of texts with commas, and any other object or list as JSON.
fn cell(value: &RawValue) -> String {
    let raw = || value.get().to_owned();
    match serde_json::from_str(value.get()) {
        Ok(Value::Null) => String::new(),
        Ok(Value::String(text)) => text,
        Ok(Value::Array(_)) => {
            let items: Vec<Box<RawValue>> = serde_json::from_str(value.get()).unwrap_or_default();
            let texts: Option<Vec<String>> = items.iter().map(|item| text_of(item)).collect();
            texts.map_or_else(raw, |texts| texts.join(","))
        }
        Ok(Value::Object(_)) => text_of(value).unwrap_or_else(raw),
        _ => raw(),
    }
}

/// Returns the text of a string or of a path.
fn text_of(value: &RawValue) -> Option<String> {
    let text = serde_json::from_str::<String>(value.get());
    let path = || serde_json::from_str(value.get()).ok().filter(|RowFields(fields)| is_path(fields));
    text.ok().or_else(|| serde_json::from_str(path()?.0.first()?.1.get()).ok())
}

impl<'de> Deserialize<'de> for RowFields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = RowFields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RowFields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(RowFields(fields))
            }
        }
        from.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(format: Format, ndjson: &str) -> String {
        let mut out = Vec::new();
        let mut rows = RowWriter::new(&mut out, format);
        // Serializers write a line in pieces.
        ndjson.as_bytes().chunks(7).for_each(|piece| rows.write_all(piece).expect("written"));
        rows.finish().expect("finished");
        String::from_utf8(out).expect("text")
    }

    const HEADER: &str = r#"{"format_version":"1.0","kind":"k"}"#;

    #[test]
    fn rows_have_fields_of_items_in_order() {
        let items = format!(
            "{HEADER}\n{}\n{}\n{}\n",
            r#"{"b":"x\ty","a":1,"none":null,"dir":{"path":"/p"},"list":["m","n"]}"#,
            r#"{"b":"say, \"hi\"","a":2,"none":null,"dir":{"path":"/q"},"list":[{"z":1}]}"#,
            r#"{"kind":"summary","k":2}"#
        );
        assert_eq!(
            converted(Format::Tsv, &items),
            "x\\ty\t1\t\t/p\tm,n\nsay, \"hi\"\t2\t\t/q\t[{\"z\":1}]\n".replace("\\ty", &text::field("\ty"))
        );
        assert_eq!(
            converted(Format::Csv, &items),
            "b,a,none,dir,list\nx\ty,1,,/p,\"m,n\"\n\"say, \"\"hi\"\"\",2,,/q,\"[{\"\"z\"\":1}]\"\n"
        );
    }

    #[test]
    fn answer_without_items_is_one_row_or_none() {
        let summary = r#"{"kind":"summary","k":0}"#;
        assert_eq!(converted(Format::Csv, &format!("{HEADER}\n{summary}\n")), "");
        let header = r#"{"format_version":"1.0","kind":"k","session":{"id":"a","dir":{"path":"/p"}},"n":3}"#;
        assert_eq!(converted(Format::Csv, &format!("{header}\n{summary}\n")), "id,dir,n\na,/p,3\n");
    }
}
