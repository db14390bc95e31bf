//! What a verb answers, and how it is written in each form that can be asked for.

use std::cell::Cell;
use std::io::{self, Write};
use std::ops::ControlFlow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::{Error as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use serde_json::ser::Formatter;
use serde_json::value::{RawValue, to_raw_value};

use crate::cli::Format;
use crate::format::json_writer::Harmless;
use crate::system::env::Env;
use crate::system::in_order::in_order;
use crate::view::ui::{Styles, Ui};

/// The version of the JSON contract (docs/json.md). Additive change is a minor version.
const FORMAT_VERSION: &str = "1.0";

/// What a verb answers.
pub(crate) trait Answer {
    /// Whether the last line of ndjson says how many items there were.
    const COUNTS_ITEMS: bool = false;

    /// Returns the kind of the answer, and its fields in the one object of `--json`.
    ///
    /// The first list among them holds the items: ndjson has a header, a line for each of them, and a summary of the
    /// fields that follow the list.
    fn object(&self) -> (&'static str, impl Serialize);

    /// Returns the same for ndjson, where its items are written in another form.
    fn lines(&self) -> (&'static str, impl Serialize) {
        self.object()
    }

    /// Writes the answer for people.
    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()>;

    /// Writes what `--quiet` leaves of that: of a change that was made one line and what failed, of anything else all.
    fn brief(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        self.table(out, env, styles)
    }
}

impl Ui {
    /// Prints an answer in the form that was asked for.
    pub(crate) fn answer(
        &mut self,
        format: impl Into<Format>,
        env: &Env,
        answer: &(impl Answer + ?Sized),
    ) -> io::Result<()> {
        let styles = self.styles;
        match format.into() {
            Format::Table if self.is_quiet() => answer.brief(self.data(), env, &styles)?,
            format => write(self.data(), format, env, &styles, answer)?,
        }
        self.flush()
    }
}

fn write<A: Answer + ?Sized>(
    out: &mut impl Write,
    format: Format,
    env: &Env,
    styles: &Styles,
    answer: &A,
) -> io::Result<()> {
    match format {
        Format::Table => answer.table(out, env, styles),
        Format::Json => {
            let (kind, fields) = answer.object();
            write_object(out, kind, fields)
        }
        Format::Ndjson => {
            let out = &mut Harmless(out);
            let (kind, fields) = answer.lines();
            let is_muted = Cell::new(false);
            let lines = Lines::new(A::COUNTS_ITEMS, &is_muted);
            let mut to = serde_json::Serializer::with_formatter(Muted { out: &mut *out, is_muted: &is_muted }, lines);
            Document::new(kind, fields).serialize(&mut to)?;
            writeln!(out)
        }
    }
}

/// Every answer begins alike.
#[derive(Debug, Serialize)]
struct Document<T> {
    format_version: &'static str,
    kind: &'static str,
    #[serde(flatten)]
    fields: T,
}

impl<T> Document<T> {
    fn new(kind: &'static str, fields: T) -> Self {
        Self { format_version: FORMAT_VERSION, kind, fields }
    }
}

/// Adds to the schema of an answer's fields what every answer begins with.
#[cfg(debug_assertions)]
pub(crate) fn document_schema(kind: &str, mut schema: Schema) -> Schema {
    let text = |description: &str| serde_json::json!({ "description": description, "type": "string" });
    let schema_fields = schema.ensure_object();
    if let Some(properties) = schema_fields.get_mut("properties").and_then(|value| value.as_object_mut()) {
        properties.insert("format_version".to_owned(), text("The version of the contract."));
        properties.insert("kind".to_owned(), text(kind));
    }
    if let Some(required) = schema_fields.get_mut("required").and_then(|value| value.as_array_mut()) {
        required.splice(0..0, ["format_version".into(), "kind".into()]);
    }
    schema
}

/// Writes one object, on a line.
pub(crate) fn write_object(out: &mut impl Write, kind: &'static str, fields: impl Serialize) -> io::Result<()> {
    write_line(out, &Document::new(kind, fields))
}

/// Writes the first line of an ndjson answer whose items come one after the other.
pub(crate) fn write_header(out: &mut impl Write, kind: &'static str) -> io::Result<()> {
    #[derive(Serialize)]
    struct Nothing {}
    write_object(out, kind, Nothing {})
}

/// Writes an object up to the beginning of its list, whose items are written as they come.
pub(crate) fn begin_list(out: &mut impl Write, kind: &str, list: &str) -> io::Result<()> {
    write!(out, r#"{{"format_version":"{FORMAT_VERSION}","kind":"{kind}","{list}":["#)
}

/// Writes the last line of such an answer.
pub(crate) fn write_summary(out: &mut impl Write, fields: impl Serialize) -> io::Result<()> {
    #[derive(Serialize)]
    struct Summary<T> {
        kind: &'static str,
        #[serde(flatten)]
        fields: T,
    }
    write_line(out, &Summary { kind: "summary", fields })
}

/// Writes a value as one line of JSON.
pub(crate) fn write_line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(Harmless(&mut *out), value)?;
    writeln!(out)
}

/// The items of an answer, which all threads put in words, and which are written as they come, so that many need little memory.
pub(crate) struct List<'a, T> {
    count: usize,
    item: Box<dyn Fn(usize) -> T + Sync + 'a>,
}

impl<'a, T> List<'a, T> {
    /// Makes an item of each of these.
    pub(crate) fn of<S: Sync>(items: &'a [S], item: impl Fn(&'a S) -> T + Sync + 'a) -> Self {
        Self::counted(items.len(), move |at| item(&items[at]))
    }

    /// Makes a list of `count` items.
    pub(crate) fn counted(count: usize, item: impl Fn(usize) -> T + Sync + 'a) -> Self {
        Self { count, item: Box::new(item) }
    }
}

impl<T: Serialize> Serialize for List<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        /// How many one thread puts in words at a time; fewer are not worth another one.
        const CHUNK: usize = 32;
        /// How many of these may wait to be written.
        const AHEAD: usize = 16;
        if self.count <= CHUNK {
            return to.collect_seq((0..self.count).map(&self.item));
        }
        let mut list = to.serialize_seq(Some(self.count))?;
        let items = |chunk: usize| -> Vec<serde_json::Result<Box<RawValue>>> {
            let start = chunk * CHUNK;
            (start..self.count.min(start + CHUNK)).map(|at| to_raw_value(&(self.item)(at))).collect()
        };
        in_order(
            self.count.div_ceil(CHUNK),
            AHEAD,
            items,
            || (),
            |items| {
                let mut items = items.into_iter();
                items.try_for_each(|item| list.serialize_element(&item.map_err(S::Error::custom)?))?;
                Ok::<_, S::Error>(ControlFlow::Continue(()))
            },
        )?;
        list.end()
    }
}

impl<T: JsonSchema> JsonSchema for List<'_, T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        Vec::<T>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<T>::json_schema(generator)
    }
}

/// Divides the one object into lines while it is written: a header of its first two fields, the items of its first
/// list, and a summary of what follows that.
struct Lines<'a> {
    is_muted: &'a Cell<bool>,
    counts: bool,
    /// How many objects and lists are open.
    depth: usize,
    part: Part,
    fields: usize,
    items: usize,
    /// The name of the field that is written, and whether it is still being written.
    name: String,
    is_name: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Header,
    Items,
    Summary,
}

impl<'a> Lines<'a> {
    fn new(counts: bool, is_muted: &'a Cell<bool>) -> Self {
        Self {
            is_muted,
            counts,
            depth: 0,
            part: Part::Header,
            fields: 0,
            items: 0,
            name: String::new(),
            is_name: false,
        }
    }

    fn is_at_item(&self) -> bool {
        self.part == Part::Items && self.depth == 2
    }
}

impl Formatter for Lines<'_> {
    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        out.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth -= 1;
        out.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if self.depth == 1 {
            self.fields += 1;
            self.is_muted.set(self.part == Part::Header && self.fields > 2);
            self.is_name = true;
            self.name.clear();
        }
        if first { Ok(()) } else { out.write_all(b",") }
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.is_name = false;
        Ok(())
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        if self.is_name {
            self.name.push_str(fragment);
        }
        out.write_all(fragment.as_bytes())
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        if (self.part, self.depth) == (Part::Header, 2) {
            self.part = Part::Items;
            self.is_muted.set(false);
            return out.write_all(b"}\n");
        }
        out.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        let ends_items = self.is_at_item();
        self.depth -= 1;
        if !ends_items {
            return out.write_all(b"]");
        }
        self.part = Part::Summary;
        out.write_all(br#"{"kind":"summary""#)?;
        if self.counts { write!(out, r#","{}":{}"#, self.name, self.items) } else { Ok(()) }
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if first || self.is_at_item() { Ok(()) } else { out.write_all(b",") }
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        if !self.is_at_item() {
            return Ok(());
        }
        self.items += 1;
        out.write_all(b"\n")
    }
}

/// Writes nothing while it is muted.
struct Muted<'a, W> {
    out: W,
    is_muted: &'a Cell<bool>,
}

impl<W: Write> Write for Muted<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_muted.get() { Ok(bytes.len()) } else { self.out.write(bytes) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Numbers(usize);

    impl Answer for Numbers {
        const COUNTS_ITEMS: bool = true;

        fn object(&self) -> (&'static str, impl Serialize) {
            #[derive(Serialize)]
            struct Fields<'a> {
                dir: &'a str,
                of: serde_json::Value,
                numbers: List<'a, serde_json::Value>,
                #[serde(flatten)]
                rest: serde_json::Value,
            }
            let numbers = List::counted(self.0, |at| json!({ "number": at, "list": [at, [at]] }));
            ("numbers", Fields { dir: "/x", of: json!({ "a": 1 }), numbers, rest: json!({ "more": [1, { "b": 2 }] }) })
        }

        fn table(&self, out: &mut impl Write, _: &Env, _: &Styles) -> io::Result<()> {
            writeln!(out, "{}", self.0)
        }
    }

    fn written(format: Format, count: usize) -> String {
        let mut out = Vec::new();
        let env = crate::system::env::tests::fixed();
        write(&mut out, format, &env, &Styles::default(), &Numbers(count)).expect("written");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn an_object_is_divided_into_a_header_its_items_and_a_summary() {
        assert_eq!(
            written(Format::Ndjson, 2),
            concat!(
                "{\"format_version\":\"1.0\",\"kind\":\"numbers\"}\n",
                "{\"list\":[0,[0]],\"number\":0}\n",
                "{\"list\":[1,[1]],\"number\":1}\n",
                "{\"kind\":\"summary\",\"numbers\":2,\"more\":[1,{\"b\":2}]}\n",
            )
        );
        assert!(written(Format::Ndjson, 0).ends_with("{\"kind\":\"summary\",\"numbers\":0,\"more\":[1,{\"b\":2}]}\n"));
    }

    #[test]
    fn many_items_come_in_order_and_each_once() {
        for count in [1, 64, 65, 4096, 4097, 10_000] {
            let object: serde_json::Value = serde_json::from_str(&written(Format::Json, count)).expect("JSON");
            let numbers = object["numbers"].as_array().expect("a list");
            assert!(numbers.iter().map(|item| item["number"].as_u64()).eq((0..count as u64).map(Some)));
            let text = written(Format::Ndjson, count);
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(lines.len(), count + 2);
            let items: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            assert_eq!(lines[1..=count], items);
        }
    }
}
