//! Finds byte positions in a JSON text, for edits that must keep every other byte.
//!
//! The text must be well-formed, checked by [`check`] or as a raw value.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr;
use serde_json::value::RawValue;

/// A member of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member<'a> {
    /// The key; a key with a lone surrogate, which no string can hold, is left as written.
    pub key: Cow<'a, str>,
    /// From the first quote of the key to the end of the value.
    pub span: Range<usize>,
    /// The value.
    pub value: Range<usize>,
}

/// Checks that a text is one JSON value and returns its range.
pub(crate) fn check(text: &str) -> Result<Range<usize>, serde_json::Error> {
    let _: &RawValue = serde_json::from_str(text)?;
    let start = skip_blanks(text.as_bytes(), 0);
    Ok(start..value_end(text, start))
}

/// Returns the members of the object that begins at `start`, in order; empty if there is no object.
pub(crate) fn members(text: &str, start: usize) -> Vec<Member<'_>> {
    let bytes = text.as_bytes();
    let mut members = Vec::new();
    if bytes.get(start) != Some(&b'{') {
        return members;
    }
    let mut at = skip_blanks(bytes, start + 1);
    while bytes.get(at) == Some(&b'"') {
        let key_end = value_end(text, at);
        let value = skip_blanks(bytes, skip_blanks(bytes, key_end) + 1);
        let end = value_end(text, value);
        members.push(Member { key: decoded(&text[at..key_end]), span: at..end, value: value..end });
        at = skip_blanks(bytes, skip_blanks(bytes, end) + 1);
    }
    members
}

/// Returns the elements of the list that begins at `start`; empty if there is no list.
pub(crate) fn elements(text: &str, start: usize) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut elements = Vec::new();
    if bytes.get(start) != Some(&b'[') {
        return elements;
    }
    let mut at = skip_blanks(bytes, start + 1);
    while at < bytes.len() && bytes[at] != b']' {
        let end = value_end(text, at);
        elements.push(at..end);
        at = skip_blanks(bytes, end);
        if bytes.get(at) != Some(&b',') {
            break;
        }
        at = skip_blanks(bytes, at + 1);
    }
    elements
}

/// Decodes a JSON string with its quotes; one with a lone surrogate, which no string can hold, is left as written.
pub(crate) fn decoded(json: &str) -> Cow<'_, str> {
    let inner = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(json);
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    serde_json::from_str(json).map_or(Cow::Borrowed(inner), Cow::Owned)
}

/// Returns bytes as text; those that are not UTF-8 are replaced.
///
/// Nearly every text is UTF-8, and checking that first is several times as fast as the conversion, which handles characters one by one.
pub(crate) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Decodes a JSON string with its quotes, to show it; `None` if it is something else, or not valid.
///
/// Bytes that are not UTF-8, and escapes such as `\ud83d` that are one half of a character, become U+FFFD, as in JavaScript.
/// Agents write them when they cut a text.
pub(crate) fn string(json: &[u8]) -> Option<Cow<'_, str>> {
    let inner = json.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if memchr(b'\\', inner).is_none() {
        return Some(lossy(inner));
    }
    let text = unescaped(inner).or_else(|| serde_json::from_slice(json).ok());
    let text = text.or_else(|| serde_json::from_str(&without_lone_surrogates(&String::from_utf8_lossy(json))).ok());
    text.map(Cow::Owned)
}

/// Decodes the two-byte escapes of a string; `None` if there are other escapes, or the string is invalid.
fn unescaped(mut rest: &[u8]) -> Option<String> {
    let mut text = Vec::with_capacity(rest.len());
    loop {
        let (plain, escaped) = rest.split_at(memchr(b'\\', rest).unwrap_or(rest.len()));
        if plain.iter().any(|byte| *byte < b' ') {
            return None;
        }
        text.extend_from_slice(plain);
        let (sign, behind) = match escaped {
            [] => return String::from_utf8(text).ok(),
            [_] => return None,
            [_, sign, behind @ ..] => (sign, behind),
        };
        text.push(match sign {
            b'"' | b'\\' | b'/' => *sign,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            _ => return None,
        });
        rest = behind;
    }
}

/// Returns whether a JSON text has a lone surrogate escape such as `\ud83d`.
pub(crate) fn has_lone_surrogate(json: &[u8]) -> bool {
    lone_surrogate(json, 0).is_some()
}

/// Replaces lone surrogate escapes by `\ufffd`.
fn without_lone_surrogates(json: &str) -> String {
    let (mut text, mut done) = (String::with_capacity(json.len()), 0);
    while let Some(at) = lone_surrogate(json.as_bytes(), done) {
        text.extend([&json[done..at], "\\ufffd"]);
        done = at + 6;
    }
    text + &json[done..]
}

/// Returns the first lone surrogate escape from `at`, which is not within an escape.
fn lone_surrogate(json: &[u8], mut at: usize) -> Option<usize> {
    let unit = |at: usize| -> Option<u16> {
        let digits = json.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    while let Some(found) = memchr(b'\\', &json[at..]) {
        at += found;
        match (unit(at), unit(at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at += 12,
            (Some(0xd800..=0xdfff), _) => return Some(at),
            _ => at = (at + 2).min(json.len()),
        }
    }
    None
}

/// Returns the first position from `at` that is not JSON white space.
pub(crate) fn skip_blanks(bytes: &[u8], at: usize) -> usize {
    let blanks = bytes.get(at..).unwrap_or_default().iter();
    at + blanks.take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count()
}

/// Returns the end of the value that begins at `start`; the end of the text if it is not well-formed.
fn value_end(text: &str, start: usize) -> usize {
    let values = text.get(start..).map(|rest| serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>());
    values.and_then(|mut values| values.next()?.ok()).map_or(text.len(), |value| start + value.get().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_elements_have_correct_ranges() {
        let text = " {\"a\" : [1 , \"x]\\\"\",{} ],\n\"b\\u0063\":-1.5e3 , \"\\ud800\":true}\n";
        let root = check(text).expect("JSON");
        assert_eq!(root, 1..text.len() - 1);
        let members = members(text, root.start);
        let keys: Vec<&str> = members.iter().map(|member| member.key.as_ref()).collect();
        assert_eq!(keys, ["a", "bc", "\\ud800"]);
        assert_eq!(&text[members[1].span.clone()], "\"b\\u0063\":-1.5e3");
        assert_eq!(&text[members[2].value.clone()], "true");
        let elements: Vec<&str> = elements(text, members[0].value.start).into_iter().map(|at| &text[at]).collect();
        assert_eq!(elements, ["1", "\"x]\\\"\"", "{}"]);
    }

    #[test]
    fn parser_detects_lone_surrogate() {
        for text in [r#""\ud83d""#, r#""\ude00""#, r#""\ud83d\ud83d\ude00""#, r#"["\\","\uDBFFx"]"#, r#"\ud83d"#] {
            assert!(has_lone_surrogate(text.as_bytes()), "{text}");
        }
        for text in [r#""\ud83d\ude00""#, r#""\\ud83d""#, r#""\u00e9 \n \""#, r#""\uD83D\uDE00\""#, r"\ud83", "", r"\"]
        {
            assert!(!has_lone_surrogate(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn parser_decodes_invalid_unicode_lossily() {
        for (json, text) in [
            (&br#""plain""#[..], "plain"),
            (br#""a\"\n\u00e9""#, "a\"\n\u{e9}"),
            (br#""\ud83d\ude00 \ud83d tail""#, "\u{1f600} \u{fffd} tail"),
            (br#""\\\ude00\ud83d""#, "\\\u{fffd}\u{fffd}"),
            (b"\"cut \xf0\x9f tail\"", "cut \u{fffd} tail"),
            (b"\"\\n \xff \\udfff\"", "\n \u{fffd} \u{fffd}"),
        ] {
            assert_eq!(string(json).as_deref(), Some(text), "{}", String::from_utf8_lossy(json));
        }
        for json in [&b"1"[..], b"null", b"\"", b"\"\\x\"", b"\"\\"] {
            assert_eq!(string(json), None, "{}", String::from_utf8_lossy(json));
        }
    }

    #[test]
    fn empty_containers_and_other_types_have_no_parts() {
        for text in ["{}", "[ ]", "{ \n}", "7", "null", "\"[1]\""] {
            let root = check(text).expect("JSON");
            assert_eq!(root, 0..text.len());
            assert!(members(text, 0).is_empty() && elements(text, 0).is_empty(), "{text}");
        }
        assert!(check("{} {}").is_err());
        assert!(check("{/* no */}").is_err());
    }
}
