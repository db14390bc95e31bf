//! Ndjson: the one object of `--json` in lines.

use std::cell::Cell;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

use super::items::Compact;

/// Writes an object in lines. With `counts`, the last line has the number of items.
pub(super) fn write(out: &mut impl Write, object: &impl Serialize, counts: bool) -> io::Result<()> {
    let is_muted = Cell::new(false);
    let lines = NdjsonWriter::new(counts, &is_muted);
    let mut to = serde_json::Serializer::with_formatter(Muted { out: &mut *out, is_muted: &is_muted }, lines);
    object.serialize(&mut to)?;
    writeln!(out)
}

/// Divides the one object into lines while it is written: a header of its first two fields, the items of its first
/// list, and a summary of the following fields.
struct NdjsonWriter<'a> {
    is_muted: &'a Cell<bool>,
    counts: bool,
    /// Number of open objects and lists.
    depth: usize,
    part: NdjsonPart,
    fields: usize,
    items: usize,
    /// The name of the current field, and whether it is still being written.
    name: String,
    is_name: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NdjsonPart {
    Header,
    Items,
    Summary,
}

impl<'a> NdjsonWriter<'a> {
    fn new(counts: bool, is_muted: &'a Cell<bool>) -> Self {
        Self {
            is_muted,
            counts,
            depth: 0,
            part: NdjsonPart::Header,
            fields: 0,
            items: 0,
            name: String::new(),
            is_name: false,
        }
    }

    fn is_at_item(&self) -> bool {
        self.part == NdjsonPart::Items && self.depth == 2
    }
}

impl Formatter for NdjsonWriter<'_> {
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
            self.is_muted.set(self.part == NdjsonPart::Header && self.fields > 2);
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
        Compact.write_byte_array(out, json)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        if (self.part, self.depth) == (NdjsonPart::Header, 2) {
            self.part = NdjsonPart::Items;
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
        self.part = NdjsonPart::Summary;
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

/// Drops what is written while it is muted.
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
