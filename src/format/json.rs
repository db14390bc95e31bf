//! Helpers for foreign JSON: fields of any type, times in several formats.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use indexmap::IndexMap;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use memchr::memmem;
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::format::json_text;
use crate::session::usage::Cost;

/// A field that should be a string; any other value counts as absent and does not invalidate the record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text<'a>(Option<Cow<'a, str>>);

impl<'a> Text<'a> {
    /// Returns the string, if it is one.
    pub(crate) fn get(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Returns the string if it is one and is not blank.
    pub(crate) fn filled(&self) -> Option<&str> {
        self.get().filter(|text| !text.trim().is_empty())
    }

    /// Returns the string, owned only if necessary.
    pub(crate) fn into_inner(self) -> Option<Cow<'a, str>> {
        self.0
    }

    /// Parses the string as a time, if it is one.
    pub(crate) fn instant(&self) -> Option<Timestamp> {
        self.get().and_then(instant)
    }
}

impl<'a, T: Into<Cow<'a, str>>> From<T> for Text<'a> {
    fn from(text: T) -> Self {
        Self(Some(text.into()))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer).map_err(de::Error::custom)?;
        Ok(Self(json_text::string(raw.get().as_bytes())))
    }
}

/// A field that should be `true`; anything else counts as `false`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flag(pub bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer).map_err(de::Error::custom)?;
        Ok(Self(raw.get() == "true"))
    }
}

/// The reason why an input is not one JSON object.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotAnObject {
    /// The input is empty.
    #[error("standard input is empty")]
    Empty,
    /// It is not JSON.
    #[error("standard input is not JSON")]
    NotJson(#[from] serde_json::Error),
    /// It is JSON, but not an object.
    #[error("standard input is not a JSON object")]
    Other,
}

/// Parses an input that is one object. A list is refused: serde would take it for the fields in their order.
pub(crate) fn object<'a, T: Deserialize<'a>>(input: &'a [u8]) -> Result<T, NotAnObject> {
    match input.first() {
        None => Err(NotAnObject::Empty),
        Some(b'{') => Ok(serde_json::from_slice(input)?),
        Some(_) => serde_json::from_slice::<&RawValue>(input).map_err(Into::into).and(Err(NotAnObject::Other)),
    }
}

/// Parses an object inside another one; any other value counts as an object without fields.
pub(crate) fn inner<'a, T: Default + Deserialize<'a>>(raw: Option<&'a RawValue>) -> T {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

/// Parses a line or a file that is an object, or the complete object after a torn one (see [`last_object`]). A list is
/// refused: serde would take it for the fields in their order.
pub(crate) fn record<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    whole_record(bytes).or_else(|| whole_record(last_object(bytes)?))
}

/// Parses a line that is exactly one object.
pub(crate) fn whole_record<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    bytes.trim_ascii_start().starts_with(b"{").then(|| serde_json::from_slice(bytes).ok()).flatten()
}

/// Returns the complete object at the end of a line that begins with a torn one: a record written after a crash, when
/// no newline ended the line that the crash cut.
pub(crate) fn last_object(line: &[u8]) -> Option<&[u8]> {
    /// Maximum number of positions tried, and of bytes of a line.
    const TRIED: usize = 256;
    const LONGEST: usize = 1024 * 1024;
    if line.len() > LONGEST || !line.trim_ascii_end().ends_with(b"}") {
        return None;
    }
    // An object after one of these bytes is a part of the torn object, which may be cut right after it.
    let is_part = |at: usize| matches!(line[..at].trim_ascii_end().last(), None | Some(b':' | b',' | b'['));
    let starts = memmem::find_iter(line, b"{\"").filter(|at| !is_part(*at)).take(TRIED);
    starts.map(|at| &line[at..]).find(|rest| serde_json::from_slice::<IgnoredAny>(rest).is_ok())
}

/// Returns one member of an object; `None` for any other value.
pub(crate) fn member<'a>(raw: Option<&'a RawValue>, name: &str) -> Option<&'a RawValue> {
    let [member] = members(raw, [name]);
    member
}

/// Returns some members of an object in one pass; all are `None` for any other value.
pub(crate) fn members<'a, const N: usize>(raw: Option<&'a RawValue>, names: [&str; N]) -> [Option<&'a RawValue>; N] {
    struct NamedMembers<'n, const N: usize>([&'n str; N]);
    impl<'de, const N: usize> Visitor<'de> for NamedMembers<'_, N> {
        type Value = [Option<&'de RawValue>; N];

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut found = [None; N];
            while let Some(key) = map.next_key::<Text<'de>>()? {
                let value = map.next_value()?;
                if let Some(at) = self.0.iter().position(|name| key.get() == Some(*name)) {
                    found[at] = value;
                }
            }
            Ok(found)
        }
    }
    let read = raw.map(|raw| serde_json::Deserializer::from_str(raw.get()).deserialize_map(NamedMembers(names)));
    read.and_then(Result::ok).unwrap_or([None; N])
}

/// Returns a string member of an object.
pub(crate) fn text_in<'a>(raw: Option<&'a RawValue>, name: &str) -> Text<'a> {
    inner(member(raw, name))
}

/// Returns string members of an object.
pub(crate) fn texts_in<'a, const N: usize>(raw: Option<&'a RawValue>, names: [&str; N]) -> [Text<'a>; N] {
    members(raw, names).map(inner)
}

/// Parses a list of any values; any other value counts as an empty list.
pub(crate) fn list(raw: Option<&RawValue>) -> Vec<&RawValue> {
    inner(raw)
}

/// Writes an object with one member per line, indented by two spaces, and every value verbatim.
///
/// A pretty printer would re-indent foreign values and change their numbers.
pub(crate) fn object_lines(fields: &IndexMap<String, Box<RawValue>>) -> Option<String> {
    let lines: Option<Vec<String>> = fields
        .iter()
        .map(|(key, value)| Some(format!("  {}: {}", serde_json::to_string(key).ok()?, value.get())))
        .collect();
    Some(format!("{{\n{}\n}}", lines?.join(",\n")))
}

/// Parses a number; `None` for any other value.
pub(crate) fn number<T: FromStr>(raw: Option<&RawValue>) -> Option<T> {
    raw?.get().parse().ok()
}

/// Parses an RFC 3339 time with an offset or `Z`.
pub(crate) fn instant(text: &str) -> Option<Timestamp> {
    text.trim().parse().ok()
}

/// Parses a number as a time: units since 1970, of which `per_second` make a second.
pub(crate) fn epoch(value: Option<&RawValue>, per_second: u32) -> Option<Timestamp> {
    let number: f64 = value?.get().parse().ok()?;
    let micros = number / f64::from(per_second) * 1e6;
    // The cast clamps a number beyond the calendar to the largest integer, which is not a valid time.
    #[expect(clippy::cast_possible_truncation, reason = "what does not fit is no time")]
    Timestamp::from_microsecond(micros.round() as i64).ok()
}

/// Parses a cost that is a number of US dollars; a string is ignored.
pub(crate) fn dollars(value: Option<&RawValue>) -> Option<Cost> {
    Cost::from_dollars(value?.get().parse().ok()?)
}

/// Parses a time that may lack a zone, in which case it is in the writer's local zone.
pub(crate) fn local_instant(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    instant(text).or_else(|| {
        let civil: DateTime = text.trim().parse().ok()?;
        civil.to_zoned(zone.clone()).ok().map(|zoned| zoned.timestamp())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct NamedFlag<'a> {
        #[serde(borrow, default)]
        name: Text<'a>,
        #[serde(default)]
        flag: Flag,
    }

    #[test]
    fn field_of_unexpected_type_leaves_record_readable() {
        for other in ["null", "1", "-1", "1.5", "true", "[1,{}]", r#"{"a":[]}"#] {
            let text = format!(r#"{{"name":{other},"flag":{other}}}"#);
            let record: NamedFlag<'_> = serde_json::from_str(&text).expect("a record");
            assert_eq!(record.name.get(), None, "{other}");
            assert_eq!(record.flag.0, other == "true");
        }
        let record: NamedFlag<'_> = serde_json::from_str(r#"{"name":"a\tb"}"#).expect("a record");
        assert_eq!(record.name.get(), Some("a\tb"));
    }

    #[test]
    fn last_object_follows_a_torn_one() {
        let found =
            |line: &str| last_object(line.as_bytes()).map(|object| String::from_utf8_lossy(object).into_owned());
        let whole = r#"{"type":"user","message":{"role":"user"}}"#;
        for half in [r#"{"type":"us"#, r#"{"type""#, r#"{"a":{"b":1}"#, r#"{"a":1"#, "{"] {
            assert_eq!(found(&format!("{half}{whole}")).as_deref(), Some(whole), "{half}");
        }
        for other in [
            whole,
            r#"{"type":"user","message":{"role":"user"}"#,
            r#"{"list":[{"a":1}, {"b":2}"#,
            r#"[{"a":1}"#,
            "{\"a",
        ] {
            assert_eq!(found(other), None, "a part of a record is not a record: {other}");
        }
    }

    #[test]
    fn parser_accepts_several_time_formats() {
        let expected: Timestamp = "2026-02-01T10:00:00.123456Z".parse().expect("a time");
        for text in
            ["2026-02-01T10:00:00.123456Z", "2026-02-01T11:00:00.123456+01:00", " 2026-02-01T10:00:00.123456+00:00\n"]
        {
            assert_eq!(instant(text), Some(expected));
        }
        assert_eq!(instant("2026-02-01T10:00:00.123456"), None);
        assert_eq!(local_instant("2026-02-01T10:00:00.123456", &TimeZone::UTC), Some(expected));
        assert_eq!(local_instant("yesterday", &TimeZone::UTC), None);
    }

    #[test]
    fn numeric_timestamps_keep_microseconds() {
        let at = |text: &str, per_second| {
            let raw = RawValue::from_string(text.to_owned()).expect("JSON");
            epoch(Some(&raw), per_second).map(|at| at.to_string())
        };
        assert_eq!(at("1769940000.1234562", 1).as_deref(), Some("2026-02-01T10:00:00.123456Z"));
        assert_eq!(at("1769940000123", 1000).as_deref(), Some("2026-02-01T10:00:00.123Z"));
        for other in ["\"1769940000\"", "1e300", "-1e300", "null", "[]", "true"] {
            assert_eq!(at(other, 1), None, "{other}");
        }
        assert_eq!(epoch(None, 1), None);
    }
}
