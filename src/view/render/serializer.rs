//! The serializer of answers: one object, or its lines of ndjson.
//!
//! Each type of writer or formatter would compile the JSON of every answer again, so there is one of each.

use std::cell::Cell;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

/// The part of an answer that is being written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AnswerPart {
    /// One object, not in lines.
    Whole,
    Header,
    Items,
    Summary,
}

/// Writes a value as one line of JSON.
pub(super) fn write_line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    write(out, value, AnswerPart::Whole, false)
}

/// Writes an object in lines. With `counts`, the last line has the number of items.
pub(super) fn write_lines(out: &mut dyn Write, object: &impl Serialize, counts: bool) -> io::Result<()> {
    write(out, object, AnswerPart::Header, counts)
}

fn write(out: &mut dyn Write, value: &impl Serialize, part: AnswerPart, counts: bool) -> io::Result<()> {
    let is_muted = Cell::new(false);
    let mut buffer = AnswerBuffer { bytes: Vec::new(), out: Some(out), is_muted: &is_muted };
    let formatter = AnswerFormatter::new(part, counts, &is_muted);
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut buffer, formatter))?;
    buffer.bytes.push(b'\n');
    buffer.pass_on()
}

/// Items as JSON, one after the other.
#[derive(Default)]
pub(super) struct JsonItems {
    json: Vec<u8>,
    /// End offset of each.
    ends: Vec<usize>,
}

impl JsonItems {
    pub(super) fn serialize(items: impl Iterator<Item = impl Serialize>) -> serde_json::Result<Self> {
        let is_muted = Cell::new(false);
        let mut buffer = AnswerBuffer { bytes: Vec::new(), out: None, is_muted: &is_muted };
        let mut ends = Vec::new();
        for item in items {
            let formatter = AnswerFormatter::new(AnswerPart::Whole, false, &is_muted);
            item.serialize(&mut serde_json::Serializer::with_formatter(&mut buffer, formatter))?;
            ends.push(buffer.bytes.len());
        }
        Ok(Self { json: buffer.bytes, ends })
    }

    pub(super) fn items(&self) -> impl Iterator<Item = &[u8]> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.json[start..*end])
    }
}

/// JSON on its way to a stream. Nearly half of a serializer's writes are a single quote, colon or comma, and a call
/// costs more than copying them.
struct AnswerBuffer<'a> {
    bytes: Vec<u8>,
    /// The stream to which full buffers go; without one, the buffer keeps everything.
    out: Option<&'a mut dyn Write>,
    /// Set while writes are dropped.
    is_muted: &'a Cell<bool>,
}

impl AnswerBuffer<'_> {
    /// Writes the buffer to the stream. Each write of a serializer is whole characters, so the buffer is, too.
    fn pass_on(&mut self) -> io::Result<()> {
        let Some(out) = &mut self.out else { return Ok(()) };
        out.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }
}

impl Write for AnswerBuffer<'_> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        const FULL: usize = 16 << 10;
        match bytes {
            _ if self.is_muted.get() => {}
            [byte] => self.bytes.push(*byte),
            _ => self.bytes.extend_from_slice(bytes),
        }
        if self.bytes.len() < FULL { Ok(()) } else { self.pass_on() }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pass_on()
    }
}

/// Writes JSON in as few bytes as possible, and byte arrays verbatim: they are items that are already JSON.
///
/// Unless the object is written as a whole, it is divided into lines: a header of its first two fields, the items of its
/// first list, and a summary of the following fields.
struct AnswerFormatter<'a> {
    is_muted: &'a Cell<bool>,
    counts: bool,
    /// Number of open objects and lists.
    depth: usize,
    part: AnswerPart,
    fields: usize,
    items: usize,
    /// The name of the current field, and whether it is still being written.
    name: String,
    is_name: bool,
}

impl<'a> AnswerFormatter<'a> {
    fn new(part: AnswerPart, counts: bool, is_muted: &'a Cell<bool>) -> Self {
        Self { is_muted, counts, depth: 0, part, fields: 0, items: 0, name: String::new(), is_name: false }
    }

    fn is_at_item(&self) -> bool {
        self.part == AnswerPart::Items && self.depth == 2
    }
}

impl Formatter for AnswerFormatter<'_> {
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
            self.is_muted.set(self.part == AnswerPart::Header && self.fields > 2);
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

    fn write_byte_array<W: ?Sized + Write>(&mut self, out: &mut W, json: &[u8]) -> io::Result<()> {
        out.write_all(json)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        if (self.part, self.depth) == (AnswerPart::Header, 2) {
            self.part = AnswerPart::Items;
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
        self.part = AnswerPart::Summary;
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
