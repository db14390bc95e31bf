//! Edits that replace pieces of a file and keep every other byte.

use std::ops::Range;

use crate::format::json_text;

pub(crate) use changes::plan::Edit;

/// Applies edits to bytes in memory; the edits must be in order.
pub(crate) fn apply(bytes: &[u8], edits: &[Edit]) -> Vec<u8> {
    let (mut edited, mut kept) = (Vec::with_capacity(bytes.len()), 0);
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
    for Edit { at, removed, inserted } in edits {
        edited.extend_from_slice(&bytes[kept..place(*at).max(kept)]);
        edited.extend_from_slice(inserted);
        kept = place(at + removed).max(kept);
    }
    edited.extend_from_slice(&bytes[kept..]);
    edited
}

/// Edits the string at this path of keys in a JSON document with `change`. `None` if there is no such string, or
/// `change` returns `None`.
pub(crate) fn json_string(text: &str, keys: &[&str], change: &dyn Fn(&str) -> Option<String>) -> Option<Edit> {
    let value = json_value(text, keys)?;
    let is_string = text[value.clone()].starts_with('"');
    let new = change(&json_text::decoded(&text[value.clone()])).filter(|_| is_string)?;
    Some(Edit::replace(value, serde_json::to_string(&new).ok()?))
}

/// Returns the range of the value at this path of keys. If keys are equal, the last one wins, as in most parsers.
pub(crate) fn json_value(text: &str, keys: &[&str]) -> Option<Range<usize>> {
    let mut value = json_text::check(text).ok()?;
    for key in keys {
        value = json_text::members(text, value.start).into_iter().rev().find(|member| member.key == *key)?.value;
    }
    Some(value)
}

/// Returns the edit that adds a member to the object that begins at `start`: before all other members, in the same
/// layout. `value` is JSON.
pub(crate) fn json_member(text: &str, start: usize, key: &str, value: &str) -> Edit {
    let member = format!("{}: {value}", serde_json::Value::from(key));
    added(text, start, json_text::members(text, start).first().map(|first| first.span.start), &member)
}

/// Returns the edit that adds an element to the list that begins at `start`: before all others, in the same layout.
pub(crate) fn json_element(text: &str, start: usize, element: &str) -> Edit {
    added(text, start, json_text::elements(text, start).first().map(|first| first.start), element)
}

fn added(text: &str, start: usize, first: Option<usize>, what: &str) -> Edit {
    let Some(first) = first else { return Edit::replace(start + 1..start + 1, what) };
    let between = &text[start + 1..first];
    let between = if between.is_empty() { " " } else { between };
    Edit::replace(first..first, format!("{what},{between}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_keeps_all_other_bytes() {
        let text = "{ \"a\" : {\"dir\":\"/x\\/y\", \"n\": 1.10 }, \"dir\":\"/z\"}";
        let edit = json_string(text, &["a", "dir"], &|dir| (dir == "/x/y").then(|| "/new \"q\"".to_owned()));
        let edited = apply(text.as_bytes(), &[edit.expect("an edit")]);
        let expected = "{ \"a\" : {\"dir\":\"/new \\\"q\\\"\", \"n\": 1.10 }, \"dir\":\"/z\"}";
        assert_eq!(String::from_utf8(edited).expect("text"), expected);
        assert_eq!(json_string(text, &["a", "n"], &|_| Some(String::new())), None, "a number is left alone");
        assert_eq!(json_string(text, &["b"], &|_| Some(String::new())), None);
    }

    #[test]
    fn added_members_and_elements_follow_the_existing_layout() {
        let add = |text: &str| {
            let edit = json_member(text, 0, "/a \"b\"", "\"x\"");
            String::from_utf8(apply(text.as_bytes(), &[edit])).expect("text")
        };
        assert_eq!(add("{\n  \"c\": 1\n}"), "{\n  \"/a \\\"b\\\"\": \"x\",\n  \"c\": 1\n}");
        assert_eq!(add("{\"c\":1}"), "{\"/a \\\"b\\\"\": \"x\", \"c\":1}");
        assert_eq!(add("{}"), "{\"/a \\\"b\\\"\": \"x\"}");
        let list = "[\n  {\"p\": 1}\n]";
        let edited = apply(list.as_bytes(), &[json_element(list, 0, "{\"p\": 2}")]);
        assert_eq!(edited, b"[\n  {\"p\": 2},\n  {\"p\": 1}\n]");
    }

    #[test]
    fn edits_apply_in_order_and_append_at_end() {
        let edits = [Edit::replace(0..1, "A"), Edit::replace(2..2, "x"), Edit::replace(3..3, "end")];
        assert_eq!(apply(b"abc", &edits), b"Abxcend");
        assert_eq!(apply(b"abc", &[Edit::replace(9..12, "!").moved(1)]), b"abc!", "what is no more is not removed");
    }
}
