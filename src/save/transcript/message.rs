//! Formats one message like Amplifier: the fields that it leaves out, and Python's spacing.

use std::borrow::Cow;

use indexmap::IndexMap;

use crate::format::json_text::{elements, members};

/// Maximum depth of a message's parts; deeper ones are left out, as in Amplifier.
const MAX_DEPTH: usize = 50;

/// Returns the members of an object; if two keys are equal, the last one wins, as in Python.
pub(super) fn fields(json: &str) -> IndexMap<Cow<'_, str>, &str> {
    members(json, 0).into_iter().map(|member| (member.key, &json[member.value])).collect()
}

/// Writes a message as Amplifier does.
///
/// The raw blocks of a provider are left out, and only the text of its thinking stays. `null` is left out everywhere
/// except in `content`, where it means a call without text.
pub(super) fn write_message(fields: &IndexMap<Cow<'_, str>, &str>, out: &mut Vec<u8>) {
    let mut object = PythonObject::begin(out);
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

/// An incomplete object, in the spacing of Python's `json.dumps`.
struct PythonObject<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
}

impl<'a> PythonObject<'a> {
    fn begin(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        let start = out.len();
        Self { out, start }
    }

    /// Adds a member unless its value is dropped.
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

/// Writes a value: numbers unchanged, text unescaped, and only `null` left out.
fn write_value(json: &str, depth: usize, out: &mut Vec<u8>) {
    match json.as_bytes().first() {
        Some(b'{') => {
            let mut object = PythonObject::begin(out);
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

/// Writes a string that is given as JSON; half a surrogate pair, which a text cannot contain, stays escaped.
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

/// Writes text as a JSON string with as few escapes as possible.
fn write_text(text: &str, out: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(out, text);
}
