//! Shortens a line of JSON that is too long to hold: it keeps the words, and leaves out encoded data such as images.
//!
//! A string keeps its text around a run of base64 or hexadecimal digits. Once the line is at its limit, each further
//! string keeps only its start. Valid JSON stays valid.

use memchr::memchr2;
use sha2::{Digest as _, Sha256};

/// Number of consecutive characters of encoded data, or of bytes of numbers in a list, from which they are left out.
const RUN: usize = 1024;
/// Number of bytes that a string keeps after the limit: enough for ids, times and types.
const SHORT: usize = 256;
/// Number of bytes that a line of any limit may have of names and short strings.
const ROOM: usize = 64 * 1024;
/// Values of `escape`: after the backslash, and before the four digits of `\u`.
const BACKSLASH: u8 = 5;
const DIGITS: u8 = 4;
/// The ends of the notes in place of encoded data, and of text.
const OF_DATA: &str = " bytes left out by rejoin]";
pub(super) const OF_TEXT: &str = " bytes of text left out by rejoin]";

/// Offsets in a shortened line, and the offsets of the same bytes in the line of the file.
pub(super) type Offsets = Vec<(usize, u64)>;

/// The kind of bytes that are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OmittedBytes {
    Data,
    Text,
    Numbers,
}

/// Shortens one line, which it receives in parts.
#[derive(Debug, Default)]
pub(super) struct Condenser {
    limit: usize,
    line: Vec<u8>,
    offsets: Offsets,
    digest: Sha256,
    /// Number of bytes seen, kept, kept of the current string, and left out of it.
    seen: u64,
    kept: usize,
    kept_of_text: usize,
    left_out: u64,
    cut: Option<OmittedBytes>,
    is_text: bool,
    /// The part of an escape that follows.
    escape: u8,
    /// Set after the first half of a surrogate pair.
    is_half: bool,
    /// Length of the run of encoded data or numbers so far.
    run: usize,
}

impl Condenser {
    pub(super) fn new(limit: usize) -> Self {
        // Reserve the maximum: untouched pages use no memory, and a growing buffer would be copied.
        Self { limit, line: Vec::with_capacity(limit + limit / 2 + ROOM), ..Self::default() }
    }

    /// Adds the next bytes of the line.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let (mut start, mut at) = (0, 0);
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            if self.kept > self.limit + self.limit / 2 + ROOM {
                // Not even the names and brackets fit, so that the rest of the line is lost.
                self.push_bytes(&bytes[start..at], self.cut.is_some());
                (self.cut, start) = (Some(OmittedBytes::Text), at);
                break;
            }
            let before = self.cut;
            let skipped = match before.filter(|_| self.is_text && self.escape == 0) {
                Some(OmittedBytes::Text) => memchr2(b'"', b'\\', rest).unwrap_or(rest.len()),
                Some(_) => data_length(rest),
                None => 0,
            };
            at += skipped;
            let Some(byte) = bytes.get(at) else { break };
            self.next_byte(*byte);
            if before.is_some() != self.cut.is_some() {
                self.push_bytes(&bytes[start..at], before.is_some());
                start = at;
                if let Some(before) = before {
                    self.write_note(before, *byte);
                }
            }
            at += 1;
        }
        self.push_bytes(&bytes[start..], self.cut.is_some());
    }

    /// Returns the shortened line, its offsets, and a digest of the bytes that were left out.
    pub(super) fn finish(self) -> (Vec<u8>, Offsets, [u8; 32]) {
        (self.line, self.offsets, self.digest.finalize().into())
    }

    fn push_bytes(&mut self, bytes: &[u8], is_cut: bool) {
        self.seen += bytes.len() as u64;
        if is_cut {
            self.left_out += bytes.len() as u64;
            self.digest.update(bytes);
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    /// Ends a cut before `next`.
    fn write_note(&mut self, cut: OmittedBytes, next: u8) {
        let left_out = std::mem::take(&mut self.left_out);
        let note = match cut {
            OmittedBytes::Data => format!("[{left_out}{OF_DATA}"),
            OmittedBytes::Text => format!("[{left_out}{OF_TEXT}"),
            OmittedBytes::Numbers if matches!(next, b']' | b'}') => String::new(),
            OmittedBytes::Numbers => ",".to_owned(),
        };
        self.line.extend_from_slice(note.as_bytes());
        self.offsets.push((self.line.len(), self.seen));
    }

    /// Decides whether the next byte is kept.
    fn next_byte(&mut self, byte: u8) {
        if self.is_text {
            self.see_text(byte);
        } else {
            self.see_plain(byte);
        }
        if self.cut.is_none() {
            self.kept += 1;
            self.kept_of_text += 1;
        }
    }

    fn see_text(&mut self, byte: u8) {
        let before = self.escape;
        self.escape = match (before, byte) {
            (0, b'\\') => BACKSLASH,
            (BACKSLASH, b'u') => DIGITS,
            (0 | BACKSLASH, _) => 0,
            (left, _) => left - 1,
        };
        if before == 0 && byte == b'"' {
            (self.is_text, self.run, self.cut) = (false, 0, None);
            return;
        }
        let is_data = before == 0 && IS_DATA[usize::from(byte)];
        self.run = if is_data { self.run + 1 } else { 0 };
        let is_full = self.kept >= self.limit && self.kept_of_text >= SHORT;
        // Neither a character nor a surrogate pair is split.
        let can_begin = before == 0 && byte & 0xc0 != 0x80 && !self.is_half;
        self.cut = match self.cut {
            None | Some(OmittedBytes::Data) if is_full && can_begin => Some(OmittedBytes::Text),
            None if self.run > RUN => Some(OmittedBytes::Data),
            Some(OmittedBytes::Data) if !is_data => None,
            cut => cut,
        };
        self.is_half = match before {
            0 => self.is_half && byte == b'\\',
            BACKSLASH => self.is_half && byte == b'u',
            DIGITS => byte.eq_ignore_ascii_case(&b'd'),
            3 => self.is_half && matches!(byte, b'8' | b'9' | b'a' | b'A' | b'b' | b'B'),
            _ => self.is_half,
        };
    }

    fn see_plain(&mut self, byte: u8) {
        if byte == b'"' {
            (self.is_text, self.is_half, self.run, self.kept_of_text, self.cut) = (true, false, 0, 0, None);
            return;
        }
        let is_number = byte.is_ascii_digit() || b",.-+eE ".contains(&byte);
        self.run = if is_number { self.run + 1 } else { 0 };
        self.cut = match self.cut {
            None if self.run > RUN && byte == b',' => Some(OmittedBytes::Numbers),
            Some(_) if !is_number => None,
            cut => cut,
        };
    }
}

/// Returns the number of leading bytes that occur in base64 or hexadecimal data.
fn data_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    while at < bytes.len() && IS_DATA[usize::from(bytes[at])] {
        at += 1;
    }
    at
}

/// The bytes that occur in base64 or hexadecimal data: a table, because an image has millions of them.
static IS_DATA: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_');
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// Shortens a line that arrives in parts of `part` bytes.
    fn condensed(line: &[u8], limit: usize, part: usize) -> (Vec<u8>, Offsets, [u8; 32]) {
        let mut condenser = Condenser::new(limit);
        line.chunks(part).for_each(|part| condenser.push(part));
        condenser.finish()
    }

    fn text(line: &str, limit: usize) -> String {
        String::from_utf8(condensed(line.as_bytes(), limit, 7).0).expect("UTF-8")
    }

    #[test]
    fn condense_replaces_base64_and_keeps_text() {
        let data = "Aa0+/_-=".repeat(1000);
        let line = json!({"a": format!("before {data} after"), "uuid": "x".repeat(RUN), "data": data}).to_string();
        let kept = &data[..RUN];
        let note = format!("[{}{OF_DATA}", data.len() - RUN);
        let expected = json!({"a": format!("before {kept}{note} after"), "uuid": "x".repeat(RUN), "data": format!("{kept}{note}")});
        assert_eq!(text(&line, 1 << 20), expected.to_string());
    }

    #[test]
    fn long_text_keeps_its_start() {
        let line =
            json!({"a": "word ".repeat(1000), "b": "é".repeat(1000), "c": "2026-02-01", "d": [1, null]}).to_string();
        let short = text(&line, 2000);
        let value: Value = serde_json::from_str(&short).expect("JSON");
        assert!(value["a"].as_str().is_some_and(|a| a.starts_with("word word") && a.ends_with(OF_TEXT)), "{short}");
        assert!(value["b"].as_str().is_some_and(|b| b.starts_with("éé") && b.ends_with(OF_TEXT)), "{short}");
        assert_eq!((&value["c"], &value["d"]), (&json!("2026-02-01"), &json!([1, null])));
        assert!(short.len() < 2800, "{}", short.len());
    }

    #[test]
    fn condense_shortens_list_of_numbers() {
        let numbers = vec!["127"; 3000].join(",");
        for (end, expected) in [("]", json!(127)), (",\"x\"]", json!("x")), (",null]", json!(null))] {
            let line = format!("{{\"data\":[{numbers}{end},\"id\":\"u\"}}");
            let short = text(&line, 100);
            let value: Value = serde_json::from_str(&short).expect("JSON");
            assert_eq!(
                (&value["id"], value["data"].as_array().and_then(|list| list.last())),
                (&json!("u"), Some(&expected))
            );
            assert!(short.len() < RUN + 60);
        }
    }

    #[test]
    fn condense_splits_no_surrogate_pair() {
        for shift in 0..13 {
            let line = format!("{{\"a\":\"{}{}\"}}", "x".repeat(shift), r"\ud83d\ude00".repeat(300));
            let short = text(&line, 100);
            let value: Value = serde_json::from_str(&short).expect("no lone half");
            assert!(value["a"].as_str().is_some_and(|a| a.ends_with(OF_TEXT)));
        }
    }

    #[test]
    fn line_of_many_members_stays_within_limit() {
        let line = format!("{{{}\"z\":0}}", (0..50_000).map(|n| format!("\"{n}\":0,")).collect::<String>());
        assert!(text(&line, 1000).len() <= 1501 + ROOM);
    }

    #[test]
    fn digest_covers_omitted_bytes() {
        let line = |data: &str| format!("{{\"data\":\"{}{data}\"}}", "A".repeat(2 * RUN));
        let of = |data, part| condensed(line(data).as_bytes(), 100, part);
        assert_eq!(of("AB", 3), of("AB", 1000));
        let [(a, _, one), (b, _, other)] = [of("AB", 3), of("AC", 3)];
        assert_eq!(a, b);
        assert_ne!(one, other);
    }

    proptest! {
        #[test]
        fn condensed_line_is_valid_json_with_correct_offsets(
            texts in prop::collection::vec(("[ -~é\\\\\"\n\u{1f680}]{0,40}", 0..3000_usize), 1..6),
            limit in 0..6000_usize,
            part in 1..5000_usize,
        ) {
            let texts: Vec<String> = texts.iter().map(|(text, data)| format!("{text}{}{text}", "Qz9".repeat(*data))).collect();
            let line = serde_json::to_string(&json!({"texts": texts, "last": true})).expect("JSON");
            let (short, offsets, _) = condensed(line.as_bytes(), limit, part);
            let value: Value = serde_json::from_slice(&short).expect("JSON");
            prop_assert_eq!(&value["last"], &json!(true));
            prop_assert!(short.len() <= line.len() + offsets.len() * 60);
            for (at, of_file) in offsets {
                let of_file = usize::try_from(of_file).expect("a small number");
                prop_assert!(line.as_bytes()[of_file..].starts_with(&short[at..short.len().min(at + 1)]));
            }
        }
    }
}
