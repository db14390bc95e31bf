//! Finds the members of a JSON object and skips their values without parsing them.
//!
//! Most bytes of a record are texts that no caller needs. If an object is not trivially well-formed, nothing is found
//! and the caller falls back to the parser. Skipped texts are not validated, so [`members`] accepts a record with an
//! error inside of one, which a full parse or [`sound_members`] rejects.

mod quotes;
mod raw;
mod values;

use std::ops::ControlFlow;

use quotes::{Quotes, QuotesBack, SkippedTexts};
pub(crate) use raw::Raw;
use values::{blank, blank_before, name, plain_before, string_before, token, token_before, value};

/// Calls `see` with each member of an object; `None` if the bytes are not plainly an object, or if a name is escaped.
pub(crate) fn members<'a>(bytes: &'a [u8], see: impl FnMut(&'a [u8], Raw<'a>)) -> Option<()> {
    members_with(bytes, SkippedTexts::Ends, see)
}

/// Returns members of an object; `None` as for [`members`], and if one of them occurs twice.
pub(crate) fn single_members<'a, const N: usize>(bytes: &'a [u8], names: [&str; N]) -> Option<[Raw<'a>; N]> {
    let (mut found, mut is_plain) = ([Raw::default(); N], true);
    members(bytes, |name, value| {
        if let Some(at) = names.iter().position(|known| known.as_bytes() == name) {
            is_plain &= std::mem::replace(&mut found[at], value).0.is_none();
        }
    })?;
    is_plain.then_some(found)
}

/// Calls `see` with each member of an object that a parser which ignores all values would accept; `None` if only a
/// parser can decide that.
pub(crate) fn sound_members<'a>(bytes: &'a [u8], see: impl FnMut(&'a [u8], Raw<'a>)) -> Option<()> {
    members_with(bytes, SkippedTexts::Sound, see)
}

fn members_with<'a>(bytes: &'a [u8], texts: SkippedTexts, mut see: impl FnMut(&'a [u8], Raw<'a>)) -> Option<()> {
    let mut at = token(bytes, 0, b'{')?;
    if token(bytes, at, b'}').is_some_and(|end| blank(bytes, end) == bytes.len()) {
        return Some(());
    }
    let mut quotes = Quotes::new(bytes, texts);
    loop {
        let (name, start) = name(bytes, at, &mut quotes)?;
        if texts == SkippedTexts::Sound && !name.is_ascii() {
            return None;
        }
        let end = value(bytes, start, &mut quotes)?;
        see(name, Raw(Some(&bytes[start..end])));
        match token(bytes, end, b',') {
            Some(next) => at = next,
            None => return token(bytes, end, b'}').filter(|end| blank(bytes, *end) == bytes.len()).map(drop),
        }
    }
}

/// Calls `see` with each element of a list; `None` if the bytes are not plainly a list.
pub(crate) fn elements<'a>(bytes: &'a [u8], mut see: impl FnMut(Raw<'a>)) -> Option<()> {
    let mut at = token(bytes, 0, b'[')?;
    if token(bytes, at, b']').is_some_and(|end| blank(bytes, end) == bytes.len()) {
        return Some(());
    }
    let mut quotes = Quotes::new(bytes, SkippedTexts::Ends);
    loop {
        let start = blank(bytes, at);
        let end = value(bytes, start, &mut quotes)?;
        see(Raw(Some(&bytes[start..end])));
        match token(bytes, end, b',') {
            Some(next) => at = next,
            None => return token(bytes, end, b']').filter(|end| blank(bytes, *end) == bytes.len()).map(drop),
        }
    }
}

/// Calls `see` with the members before the first list or object in an object, and after the last one, so that most of a
/// long record is not even skimmed. Returns the name of the first list or object, and the bytes from its value on.
/// `None` if the bytes are not plainly an object with a list or object in it.
pub(crate) fn ends<'a>(bytes: &'a [u8], mut see: impl FnMut(&'a [u8], Raw<'a>)) -> Option<(&'a [u8], &'a [u8])> {
    let (name, rest) = start(bytes, &mut |name, value| {
        see(name, value);
        ControlFlow::Continue(())
    })?;
    let stop = token_before(rest, rest.len(), b'}')?;
    last_members(&rest[..stop], |name, value| {
        see(name, value);
        ControlFlow::Continue(())
    })?;
    Some((name, rest))
}

/// Calls `see` with the last members of an object without its closing brace, the last one first, back to the last list
/// or object, or until `see` breaks; `None` if these are not plainly members.
pub(crate) fn last_members<'a>(
    bytes: &'a [u8],
    mut see: impl FnMut(&'a [u8], Raw<'a>) -> ControlFlow<()>,
) -> Option<()> {
    let mut stop = bytes.len();
    let mut quotes = QuotesBack::new(bytes);
    loop {
        stop = blank_before(bytes, stop);
        let start = match bytes[..stop].last()? {
            b'}' | b']' => return Some(()),
            b'"' => string_before(bytes, stop, &mut quotes)?,
            _ => plain_before(bytes, stop)?,
        };
        let name_stop = blank_before(bytes, token_before(bytes, start, b':')?);
        let name_start = string_before(bytes, name_stop, &mut quotes)?;
        if see(&bytes[name_start + 1..name_stop - 1], Raw(Some(&bytes[start..stop]))).is_break() {
            return Some(());
        }
        stop = token_before(bytes, name_start, b',')?;
    }
}

/// Returns the first member of this name before the first list or object in an object. The bytes may continue after the
/// object.
pub(crate) fn member_near_start<'a>(bytes: &'a [u8], name: &str) -> Raw<'a> {
    let mut found = Raw::default();
    start(bytes, &mut |key, value| {
        if key != name.as_bytes() {
            return ControlFlow::Continue(());
        }
        found = value;
        ControlFlow::Break(())
    });
    found
}

/// Returns the name of the first list or object in an object, and the bytes from its value on.
pub(crate) fn first_nested(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    start(bytes, &mut |_, _| ControlFlow::Continue(()))
}

/// Calls `see` with the members before the first list or object in an object, until it breaks. Returns the name of that
/// list or object, and the bytes from its value on.
fn start<'a>(
    bytes: &'a [u8],
    see: &mut impl FnMut(&'a [u8], Raw<'a>) -> ControlFlow<()>,
) -> Option<(&'a [u8], &'a [u8])> {
    let mut at = token(bytes, 0, b'{')?;
    let mut quotes = Quotes::new(bytes, SkippedTexts::Ends);
    loop {
        let (name, start) = name(bytes, at, &mut quotes)?;
        if matches!(bytes.get(start), Some(b'{' | b'[')) {
            return Some((name, &bytes[start..]));
        }
        let end = value(bytes, start, &mut quotes)?;
        if see(name, Raw(Some(&bytes[start..end]))).is_break() {
            return None;
        }
        at = token(bytes, end, b',')?;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::IgnoredAny;
    use serde_json::{Map, Value};

    use super::*;

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i32>().prop_map(Value::from),
            any::<i16>().prop_map(|number| Value::from(f64::from(number) / 4.0)),
            r#"[ -~\\"\n\u{e9}\u{1f680}]{0,12}"#.prop_map(Value::String),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let names = prop::collection::vec((name(), inner.clone()), 0..4);
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(Value::Array),
                names.prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    fn name() -> impl Strategy<Value = String> {
        "[a-z{}\u{e9}]{0,3}"
    }

    fn skimmed(bytes: &[u8]) -> Option<Map<String, Value>> {
        let mut found = Map::new();
        members(bytes, |name, value| {
            let name = String::from_utf8(name.to_vec()).expect("a name");
            let value: Value = value.read();
            found.insert(name, value);
        })?;
        Some(found)
    }

    proptest! {
        #[test]
        fn skimmed_members_equal_parsed_members(
            object in prop::collection::vec((name(), json()), 0..6),
            is_spaced: bool,
            cut: prop::sample::Index,
        ) {
            let object: Map<String, Value> = object.into_iter().collect();
            let text = if is_spaced { serde_json::to_string_pretty(&object) } else { serde_json::to_string(&object) };
            let text = text.expect("JSON");
            prop_assert_eq!(skimmed(text.as_bytes()), Some(object.clone()));
            // A truncated object is rejected.
            prop_assert_eq!(skimmed(&text.as_bytes()[..cut.index(text.len())]), None);
            members(text.as_bytes(), |name, value| {
                let name = std::str::from_utf8(name).expect("a name");
                let expected = object[name].as_str().map(str::to_owned);
                let text = value.text().expect("a text or none");
                assert_eq!(text.get().map(str::to_owned), expected);
                assert_eq!(value.flag().0, object[name] == Value::Bool(true));
            });
            let is_plain = !is_spaced && object.keys().all(|name| name.is_ascii());
            prop_assert_eq!(sound_members(text.as_bytes(), |_, _| ()).is_some(), is_plain || object.is_empty());
            let list = serde_json::to_string(&object.values().collect::<Vec<_>>()).expect("JSON");
            let mut values: Vec<Value> = Vec::new();
            prop_assert_eq!(elements(list.as_bytes(), |value| values.push(value.read())), Some(()));
            prop_assert!(values.iter().eq(object.values()));
            prop_assert_eq!(elements(&list.as_bytes()[..cut.index(list.len())], |_| ()), None);
            let mut found = Map::new();
            let has_ends = ends(text.as_bytes(), |name, value| {
                found.insert(std::str::from_utf8(name).expect("a name").to_owned(), value.read());
            });
            let is_nested = |value: &Value| value.is_array() || value.is_object();
            prop_assert_eq!(has_ends.is_some(), object.values().any(is_nested));
            if let Some(first) = object.values().position(is_nested) {
                let last = object.values().rev().position(is_nested).map_or(0, |last| object.len() - last);
                let mut expected = object.clone();
                let mut at = 0;
                expected.retain(|_, _| {
                    at += 1;
                    at <= first || at > last
                });
                prop_assert_eq!(found, expected);
            }
            let text = format!(r#"{{"x":{text}}}"#);
            members(text.as_bytes(), |_, value| {
                for name in object.keys() {
                    for found in [value.text_in(name), value.text_near_ends(name)] {
                        assert_eq!(found.get(), object[name].as_str());
                    }
                }
            });
        }
    }

    proptest! {
        #[test]
        fn sound_members_accepts_only_objects_valid_for_parser(
            object in prop::collection::vec((name(), json()), 0..4),
            places in prop::collection::vec((any::<prop::sample::Index>(), 0..4_u8, r#"[ -~]|\\[a-z"\\]|\\u[0-9a-g]{4}|\n|\u{e9}"#), 0..3),
        ) {
            let object: Map<String, Value> = object.into_iter().collect();
            let mut text = serde_json::to_string(&object).expect("JSON").into_bytes();
            for (place, length, put) in places {
                let at = place.index(text.len());
                let end = text.len().min(at + usize::from(length));
                text.splice(at..end, put.into_bytes());
            }
            if sound_members(&text, |_, _| ()).is_some() {
                let parsed = serde_json::from_slice::<IgnoredAny>(&text);
                prop_assert!(parsed.is_ok(), "{}", String::from_utf8_lossy(&text));
            }
        }
    }

    #[test]
    fn skim_falls_back_to_parser_for_unusual_object() {
        for text in [
            "",
            "{",
            "null",
            "[]",
            r#""x""#,
            "{}x",
            "{}{}",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            r#"{,"a":1}"#,
            r#"{"a":nonsense}"#,
            r#"{"a":[}"#,
            r#"{"a":{"b":1]}"#,
            r#"{"a":[1;2]}"#,
            r#"{"a":[1 2]}"#,
            r#"{"a":[1,]}"#,
            r#"{"a":[,]}"#,
            r#"{"a":[nonsense]}"#,
            r#"{"a":[{"b"}]}"#,
            r#"{"a":[{"b":1,}]}"#,
            r#"{"a":[01]}"#,
            r#"{"a":[1:2]}"#,
            r#"{"a":"x}"#,
            r#"{a:1}"#,
            r#"{"\u0061":1}"#,
            r#"{"a":1 "b":2}"#,
            r#"{"a":-x}"#,
        ] {
            assert!(members(text.as_bytes(), |_, _| ()).is_none(), "{text}");
        }
        let deep = format!(r#"{{"a":{}1{}}}"#, "[".repeat(65), "]".repeat(65));
        assert!(members(deep.as_bytes(), |_, _| ()).is_none());
        assert!(members(b" { } ", |_, _| ()).is_some());
    }
}
