//! Messages as `transcript.jsonl` of Amplifier holds them.
//!
//! The rules are those of amplifier-foundation d0d96f70 (`serialization.py`) and amplifier-distro
//! (`transcript_persistence.py`): the whole file is written anew, since a compaction may change earlier messages.

use std::borrow::Cow;
use std::fmt;
use std::io::{BufRead, Read};

use indexmap::IndexMap;
use serde::de::{Deserializer as _, Error as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::format::json_text::{decoded, elements, members};

/// The file's name in a session's directory.
pub(crate) const FILE_NAME: &str = "transcript.jsonl";
/// A message's parts are kept down to this depth, as Amplifier does.
const MAX_DEPTH: usize = 50;
/// The longest message that is taken.
const MAX_MESSAGE: u64 = 256 * 1024 * 1024;

/// How many messages there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Those that were written.
    pub messages: u64,
    /// Those that have a role that is never written.
    pub left_out: u64,
    /// Those that are no objects, where they may be passed over.
    pub unusable: u64,
}

/// Why messages cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unusable {
    /// There is nothing; an empty list would be `[]`.
    #[error("standard input is empty; an empty list of messages is []")]
    Empty,
    /// The list is not JSON.
    #[error("the list of messages is not JSON: {0}")]
    NotJson(serde_json::Error),
    /// A line is not JSON.
    #[error("line {line} is not JSON: {error}")]
    BadLine {
        /// Which one, from 1.
        line: u64,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// A message is something else than an object.
    #[error("message {0} is not an object")]
    NotAnObject(u64),
    /// A message is longer than this program takes.
    #[error("line {0} is longer than {MAX_MESSAGE} bytes")]
    TooLong(u64),
    /// The messages cannot be read.
    #[error("cannot read the messages: {0}")]
    Read(std::io::Error),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] crate::error::PathError),
}

/// What takes the lines, one call each.
pub(crate) type Sink<'a> = dyn FnMut(&[u8]) -> Result<(), crate::error::PathError> + 'a;

/// Turns messages into lines, one at a time.
pub(crate) struct Writer<'a> {
    sink: &'a mut Sink<'a>,
    /// Whether a message that is no object is passed over, as Amplifier does, instead of refused.
    is_lenient: bool,
    counts: Counts,
    line: Vec<u8>,
}

impl fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("counts", &self.counts).finish_non_exhaustive()
    }
}

impl<'a> Writer<'a> {
    /// Makes a writer that hands its lines to `sink`.
    pub(crate) fn new(sink: &'a mut Sink<'a>, is_lenient: bool) -> Self {
        Self { sink, is_lenient, counts: Counts::default(), line: Vec::new() }
    }

    /// Writes what a reader gives: one list of messages, or a message a line.
    ///
    /// One message is held at a time. Input that breaks off is an error, so that half a conversation does not
    /// replace a whole one.
    pub(crate) fn read(mut self, input: &mut dyn BufRead) -> Result<Counts, Unusable> {
        match first_byte(input).map_err(Unusable::Read)? {
            None => return Err(Unusable::Empty),
            Some(b'[') => self.read_list(input)?,
            Some(_) => self.read_lines(input)?,
        }
        Ok(self.counts)
    }

    /// Writes the messages of a list that is well-formed JSON already.
    pub(crate) fn list(mut self, list: &RawValue) -> Result<Counts, Unusable> {
        let text = list.get();
        for element in elements(text, 0) {
            self.message(&text[element])?;
        }
        Ok(self.counts)
    }

    fn read_list(&mut self, input: &mut dyn BufRead) -> Result<(), Unusable> {
        let mut failure = None;
        let mut deserializer = serde_json::Deserializer::from_reader(input);
        let outcome = deserializer.deserialize_seq(List { writer: self, failure: &mut failure });
        if let Some(failure) = failure {
            return Err(failure);
        }
        outcome.and_then(|()| deserializer.end()).map_err(|error| match error.io_error_kind() {
            Some(kind) => Unusable::Read(kind.into()),
            None => Unusable::NotJson(error),
        })
    }

    fn read_lines(&mut self, input: &mut dyn BufRead) -> Result<(), Unusable> {
        let mut text = Vec::new();
        for line in 1.. {
            text.clear();
            let mut rest = Read::take(&mut *input, MAX_MESSAGE + 1);
            if rest.read_until(b'\n', &mut text).map_err(Unusable::Read)? == 0 {
                break;
            }
            if text.len() as u64 > MAX_MESSAGE {
                return Err(Unusable::TooLong(line));
            }
            if text.trim_ascii().is_empty() {
                continue;
            }
            let message: &RawValue =
                serde_json::from_slice(&text).map_err(|error| Unusable::BadLine { line, error })?;
            self.message(message.get())?;
        }
        Ok(())
    }

    /// Writes one message.
    fn message(&mut self, json: &str) -> Result<(), Unusable> {
        let fields = fields(json);
        if !json.starts_with('{') {
            if !self.is_lenient {
                let Counts { messages, left_out, unusable } = self.counts;
                return Err(Unusable::NotAnObject(messages + left_out + unusable + 1));
            }
            self.counts.unusable += 1;
            return Ok(());
        }
        let role = fields.get("role").filter(|role| role.starts_with('"')).map(|role| decoded(role));
        if matches!(role.as_deref(), Some("system" | "developer")) {
            self.counts.left_out += 1;
            return Ok(());
        }
        self.line.clear();
        write_message(&fields, &mut self.line);
        self.line.push(b'\n');
        (self.sink)(&self.line)?;
        self.counts.messages += 1;
        Ok(())
    }
}

/// Skips white space and a byte order mark, and returns the byte that comes then.
fn first_byte(input: &mut dyn BufRead) -> std::io::Result<Option<u8>> {
    loop {
        let bytes = input.fill_buf()?;
        let blanks =
            bytes.iter().take_while(|byte| byte.is_ascii_whitespace() || b"\xef\xbb\xbf".contains(byte)).count();
        let (is_end, first) = (bytes.is_empty(), bytes.get(blanks).copied());
        input.consume(blanks);
        if is_end || first.is_some() {
            return Ok(first);
        }
    }
}

struct List<'w, 'a> {
    writer: &'w mut Writer<'a>,
    failure: &'w mut Option<Unusable>,
}

impl<'de> Visitor<'de> for List<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(message) = list.next_element::<Box<RawValue>>()? {
            if let Err(failure) = self.writer.message(message.get()) {
                *self.failure = Some(failure);
                return Err(A::Error::custom("a message cannot be written"));
            }
        }
        Ok(())
    }
}

/// Returns the members of an object; of two equal keys the last counts, as in Python.
fn fields(json: &str) -> IndexMap<Cow<'_, str>, &str> {
    members(json, 0).into_iter().map(|member| (member.key, &json[member.value])).collect()
}

/// Writes a message as Amplifier does.
///
/// The raw blocks of a provider are left out, of its thinking the text stays. `null` is left out everywhere but in
/// `content`, where it says that there is a call and no text.
fn write_message(fields: &IndexMap<Cow<'_, str>, &str>, out: &mut Vec<u8>) {
    let mut object = Object::begin(out);
    for (key, json) in fields {
        match key.as_ref() {
            "content_blocks" => {}
            "thinking_block" => {
                let text = self::fields(json).get("text").copied();
                if let Some(text) = text.filter(|_| !fields.contains_key("thinking_text")) {
                    object.member("thinking_text", text, 1);
                }
            }
            "content" if *json == "null" => object.null("content"),
            key => object.member(key, json, 1),
        }
    }
    object.end();
}

/// An object in the making, in the spacing of Python's `json.dumps`.
struct Object<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> Object<'a> {
    fn begin(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        let start = out.len();
        Self { out, start }
    }

    /// Adds a member unless its value is nothing.
    fn member(&mut self, key: &str, json: &str, depth: usize) {
        if is_nothing(json, depth) {
            return;
        }
        self.key(key);
        write_value(json, depth, self.out);
    }

    fn null(&mut self, key: &str) {
        self.key(key);
        self.out.extend_from_slice(b"null");
    }

    fn key(&mut self, key: &str) {
        if self.out.len() > self.start {
            self.out.extend_from_slice(b", ");
        }
        write_text(key, self.out);
        self.out.extend_from_slice(b": ");
    }

    fn end(self) {
        self.out.push(b'}');
    }
}

fn is_nothing(json: &str, depth: usize) -> bool {
    json == "null" || depth > MAX_DEPTH
}

/// Writes a value: numbers as they were, text raw, nothing left out but `null`.
fn write_value(json: &str, depth: usize, out: &mut Vec<u8>) {
    match json.as_bytes().first() {
        Some(b'{') => {
            let mut object = Object::begin(out);
            for (key, json) in fields(json) {
                object.member(&key, json, depth + 1);
            }
            object.end();
        }
        Some(b'[') => {
            out.push(b'[');
            let start = out.len();
            for element in elements(json, 0).into_iter().map(|at| &json[at]) {
                if !is_nothing(element, depth + 1) {
                    if out.len() > start {
                        out.extend_from_slice(b", ");
                    }
                    write_value(element, depth + 1, out);
                }
            }
            out.push(b']');
        }
        Some(b'"') => write_string(json, out),
        _ => out.extend_from_slice(json.as_bytes()),
    }
}

/// Writes a string that is given as JSON; half a surrogate pair, which no text can hold, stays escaped.
fn write_string(json: &str, out: &mut Vec<u8>) {
    if !json.contains('\\') {
        out.extend_from_slice(json.as_bytes());
        return;
    }
    match serde_json::from_str::<String>(json) {
        Ok(text) => write_text(&text, out),
        Err(_) => out.extend_from_slice(json.as_bytes()),
    }
}

/// Writes text as a JSON string, every character that may stand raw raw.
fn write_text(text: &str, out: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(out, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(input: &str, is_lenient: bool) -> Result<(String, Counts), Unusable> {
        let mut text = Vec::new();
        let mut sink = |line: &[u8]| {
            text.extend_from_slice(line);
            Ok(())
        };
        let counts = Writer::new(&mut sink, is_lenient).read(&mut input.as_bytes())?;
        Ok((String::from_utf8(text).expect("UTF-8"), counts))
    }

    fn text(input: &str) -> String {
        written(input, false).expect("lines").0
    }

    #[test]
    fn a_list_and_lines_give_the_same_file() {
        let expected = "{\"role\": \"user\", \"content\": \"hi\"}\n{\"role\": \"tool\", \"tool_call_id\": \"c\", \"content\": \"a\"}\n";
        assert_eq!(
            text(r#" [{"role":"user","content":"hi"}, {"role":"tool","tool_call_id":"c","content":"a"}] "#),
            expected
        );
        assert_eq!(text(expected), expected);
        assert_eq!(text(&expected.replace('\n', "\r\n\r\n")), expected);
        assert_eq!(text(&format!("\u{feff}{}", expected.trim_end())), expected);
    }

    #[test]
    fn system_and_developer_are_left_out_and_an_empty_list_is_an_empty_file() {
        let (text, counts) = written(
            r#"[{"role":"system","content":"x"},{"role":"d\u0065veloper"},{"role":"user","content":"hi"},{"role":7},{}]"#,
            false,
        )
        .expect("lines");
        assert_eq!(text, "{\"role\": \"user\", \"content\": \"hi\"}\n{\"role\": 7}\n{}\n");
        assert_eq!(counts, Counts { messages: 3, left_out: 2, unusable: 0 });
        assert_eq!(written("[]", false).expect("lines").0, "");
    }

    #[test]
    fn text_stands_raw_and_numbers_stay_as_they_were() {
        let input = r#"[{"content":"\u65e5\u672c \ud83d\udd27 \u2028 \/ \u001b \"q\" \\ \t","n":1.10,"big":12345678901234567890123}]"#;
        let expected = "{\"content\": \"日本 🔧 \u{2028} / \\u001b \\\"q\\\" \\\\ \\t\", \"n\": 1.10, \"big\": 12345678901234567890123}\n";
        assert_eq!(text(input), expected);
        assert_eq!(text(r#"[{"content":"\ud800 x"}]"#), "{\"content\": \"\\ud800 x\"}\n");
    }

    #[test]
    fn null_is_left_out_everywhere_but_in_content() {
        assert_eq!(
            text(
                r#"[{"role":"assistant","content":null,"name":null,"tool_calls":[null,{"id":"c","x":null,"arguments":{"a":null,"b":[]}}]}]"#
            ),
            "{\"role\": \"assistant\", \"content\": null, \"tool_calls\": [{\"id\": \"c\", \"arguments\": {\"b\": []}}]}\n"
        );
        assert_eq!(text(r#"[{"role":"assistant"}]"#), "{\"role\": \"assistant\"}\n");
    }

    #[test]
    fn of_thinking_the_text_stays_and_raw_blocks_are_left_out() {
        assert_eq!(
            text(
                r#"[{"role":"assistant","thinking_block":{"type":"thinking","text":"hm","sig":"x"},"content_blocks":[1],"content":"a"}]"#
            ),
            "{\"role\": \"assistant\", \"thinking_text\": \"hm\", \"content\": \"a\"}\n"
        );
        assert_eq!(text(r#"[{"thinking_block":{"sig":"x"},"role":"user"}]"#), "{\"role\": \"user\"}\n");
        assert_eq!(text(r#"[{"thinking_block":7}]"#), "{}\n");
    }

    #[test]
    fn what_lies_too_deep_is_left_out_instead_of_overflowing_the_stack() {
        let deep = |levels: usize| format!("[{{\"x\":{}1{}}}]", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(text(&deep(49)), format!("{{\"x\": {}1{}}}\n", "[".repeat(49), "]".repeat(49)));
        assert_eq!(text(&deep(100_000)), format!("{{\"x\": {}{}}}\n", "[".repeat(50), "]".repeat(50)));
    }

    #[test]
    fn of_two_equal_keys_the_last_counts() {
        assert_eq!(
            text(r#"[{"role":"user","content":"a","content":"b"}]"#),
            "{\"role\": \"user\", \"content\": \"b\"}\n"
        );
    }

    #[test]
    fn input_that_breaks_off_or_is_no_message_is_refused() {
        let refused = |input: &str| written(input, false).expect_err("a refusal").to_string();
        assert!(refused(" \n").starts_with("standard input is empty"));
        assert!(refused("[{\"role\":\"user\"}").starts_with("the list of messages is not JSON"));
        assert!(refused("[{\"role\":\"user\"}] x").starts_with("the list of messages is not JSON"));
        assert!(refused("[{\"role\":}]").starts_with("the list of messages is not JSON"));
        assert!(refused("{\"role\":\"user\"}\n{\"rol").starts_with("line 2 is not JSON"));
        assert!(refused("hello").starts_with("line 1 is not JSON"));
        assert_eq!(refused("[{},\"x\"]"), "message 2 is not an object");
        assert_eq!(refused("{}\n[]\n"), "message 2 is not an object");
        let (text, counts) = written("[{},\"x\",[],null]", true).expect("lines");
        assert_eq!((text.as_str(), counts.unusable), ("{}\n", 3));
        assert!(written("{}\n{", true).is_err());
    }
}
