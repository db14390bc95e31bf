//! Parses single-level YAML: `key: value` lines, as Copilot CLI writes them into `workspace.yaml`.
//!
//! Such a file has about ten keys, and strings are its most complex values. A YAML crate would add a parser of anchors,
//! tags and documents, and would return nothing for a file with one bad line.

use std::collections::BTreeMap;
use std::ops::Range;

/// Parses the keys of the first column with their values as text; unreadable lines are skipped.
///
/// Strings may be plain, quoted in either way, or blocks (`|`, `>`); nested lists and maps are not parsed.
pub(crate) fn read(text: &str) -> BTreeMap<&str, String> {
    let mut values = BTreeMap::new();
    let mut lines = text.lines().map(|line| line.trim_end_matches(['\r', '\0'])).peekable();
    while let Some(line) = lines.next() {
        let Some((key, first)) = split(line) else { continue };
        let mut rest = Vec::new();
        while let Some(line) = lines.next_if(|line| line.is_empty() || line.starts_with([' ', '\t'])) {
            rest.push(line.trim());
        }
        values.insert(key, value(first.trim(), &rest));
    }
    values.retain(|_, value| !matches!(value.as_str(), "" | "~" | "null"));
    values
}

/// Returns the range of the line of a key, without its end, if the value is on that line.
pub(crate) fn line_of(text: &str, key: &str) -> Option<Range<usize>> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if split(line.trim_end_matches(['\n', '\r'])).is_some_and(|(found, _)| found == key) {
            return Some(at..at + line.trim_end_matches(['\n', '\r']).len());
        }
        at += line.len();
    }
    None
}

/// Formats a path as a value: plain, like the client, or quoted if a plain value would be ambiguous.
pub(crate) fn word(path: &str) -> String {
    let is_plain = path.starts_with('/')
        && !path.contains(": ")
        && !path.contains(" #")
        && !path.ends_with([' ', ':'])
        && !path.chars().any(char::is_control);
    if is_plain { path.to_owned() } else { serde_json::Value::from(path).to_string() }
}

/// Splits a line of the first column at its colon.
fn split(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.split_once(':')?;
    let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    (is_key && (rest.is_empty() || rest.starts_with([' ', '\t']))).then_some((key, rest))
}

fn value(first: &str, rest: &[&str]) -> String {
    let joined = |separator: &str| rest.join(separator).trim_end().to_owned();
    match first.as_bytes().first() {
        Some(b'|') => joined("\n"),
        Some(b'>') => joined(" "),
        Some(quote @ (b'"' | b'\'')) => {
            let whole = [&[first], rest].concat().join(" ");
            if *quote == b'"' { double_quoted(&whole[1..]) } else { single_quoted(&whole[1..]) }
        }
        _ => {
            let plain = first.split_once(" #").map_or(first, |(text, _)| text.trim_end());
            [&[plain], rest].concat().join(" ").trim().to_owned()
        }
    }
}

/// Parses up to the closing quote; two quotes represent one.
fn single_quoted(text: &str) -> String {
    let mut value = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\'' && chars.next_if_eq(&'\'').is_none() {
            break;
        }
        value.push(c);
    }
    value
}

/// Parses up to the closing quote, with the escapes of YAML.
fn double_quoted(text: &str) -> String {
    let mut value = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => match chars.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some('r') => value.push('\r'),
                Some('0') => value.push('\0'),
                Some('a') => value.push('\u{7}'),
                Some('b') => value.push('\u{8}'),
                Some('e') => value.push('\u{1b}'),
                Some('f') => value.push('\u{c}'),
                Some('v') => value.push('\u{b}'),
                Some('N') => value.push('\u{85}'),
                Some('_') => value.push('\u{a0}'),
                Some('L') => value.push('\u{2028}'),
                Some('P') => value.push('\u{2029}'),
                Some('x') => value.extend(code_point(&mut chars, 2)),
                Some('u') => value.extend(code_point(&mut chars, 4)),
                Some('U') => value.extend(code_point(&mut chars, 8)),
                Some(other) => value.push(other),
                None => break,
            },
            c => value.push(c),
        }
    }
    value
}

fn code_point(chars: &mut std::str::Chars<'_>, digits: usize) -> Option<char> {
    let text: String = chars.by_ref().take(digits).collect();
    u32::from_str_radix(&text, 16).ok().and_then(char::from_u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn single_value(text: &str) -> Option<String> {
        read(text).remove("name")
    }

    #[test]
    fn path_round_trips_through_yaml() {
        for path in
            ["/w/has space", "/w/it's", "/w/a: b", "/w/a #b", "/w/end ", "/w/line\nbreak", "/w/ünï\"q\"", "/w/a:"]
        {
            assert_eq!(single_value(&format!("id: x\nname: {}\nz: y\n", word(path))).as_deref(), Some(path));
        }
        let text = "id: x\r\nname: a\r\n";
        assert_eq!(line_of(text, "name").map(|at| &text[at]), Some("name: a"));
        assert_eq!(line_of(text, "cwd"), None);
    }

    #[test]
    fn parser_accepts_every_yaml_string_style() {
        for (text, expected) in [
            ("name: Fix the parser", "Fix the parser"),
            ("name: C:\\x and \"y\"  \r\n", "C:\\x and \"y\""),
            ("name: plain # a remark", "plain"),
            ("name: issue#7", "issue#7"),
            ("name: 'it''s: here' # a remark", "it's: here"),
            ("name: \"a\\nb\\t\\\"c\\\" \\u00e9\\x41\\U0001F680\"", "a\nb\t\"c\" éA🚀"),
            ("name: |-\n  one\n  two: 2\n\nid: x", "one\ntwo: 2"),
            ("name: >-\n  one\n  two\nid: x", "one two"),
            ("name: one\n  two\nid: x", "one two"),
            ("name: \"one\n  two\"", "one two"),
            ("name:\n  one", "one"),
        ] {
            assert_eq!(single_value(text).as_deref(), Some(expected), "{text:?}");
        }
    }

    #[test]
    fn parser_skips_null_values_and_bad_lines() {
        for text in ["", "name:", "name: ~", "name: null", "name: ''", "name", " name: x", "na me: x", "name:x"] {
            assert_eq!(single_value(text), None, "{text:?}");
        }
        let values = read("---\n# remark\n- list\n{\nid: a\n\u{0}\u{0}\ncwd: /x\nname: \"open");
        assert_eq!(values.get("id").map(String::as_str), Some("a"));
        assert_eq!(values.get("cwd").map(String::as_str), Some("/x"));
        assert_eq!(values.get("name").map(String::as_str), Some("open"));
        for text in ["name: \"\\", "name: \"\\u12", "name: \"\\ud800x", "name: '", "name: |", "name: \""] {
            let _ = single_value(text);
        }
    }
}
