//! `session-info.json`: the working directory of an Amplifier session, next to its transcript.
//!
//! Written by amplifier-distro's bridge (ramparte/amplifier-distro 82c8fea) and by rejoin: exactly `working_dir` and
//! `created_at`, two-space indent. A repair keeps unknown keys of a file byte for byte.

use indexmap::IndexMap;

use crate::agent::prelude::*;
use crate::format::json::{instant, object_lines};

/// The file's name in a session's directory.
pub(crate) const FILE_NAME: &str = "session-info.json";
/// Maximum size; the file contains two short strings, so a larger one is a different file.
pub(crate) const MAX_BYTES: u64 = 1024 * 1024;

/// The contents of a valid `session-info.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionInfo {
    /// The launch directory.
    pub working_dir: PathBuf,
    /// The time of the session's creation, if the file contains it.
    pub created_at: Option<Timestamp>,
}

/// The reason why a `session-info.json` cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnusableSessionInfo {
    /// The file is not a JSON object.
    #[error("it is not a JSON object")]
    Corrupt,
    /// The key is missing.
    #[error("it has no working_dir")]
    NoWorkingDir,
    /// The value is not a string.
    #[error("its working_dir is not a string")]
    NotAString,
    /// The value is an empty string.
    #[error("its working_dir is empty")]
    Empty,
    /// The value is not an absolute path, so it does not identify a directory.
    #[error("its working_dir is not an absolute path")]
    Relative,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawSessionInfo<'a> {
    working_dir: Option<&'a RawValue>,
    created_at: Text<'a>,
}

/// Parses the contents; `expand` expands `~`.
pub(crate) fn parse(bytes: &[u8], expand: impl Fn(&Path) -> PathBuf) -> Result<SessionInfo, UnusableSessionInfo> {
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Err(UnusableSessionInfo::Corrupt);
    }
    let raw: RawSessionInfo<'_> = serde_json::from_slice(bytes).map_err(|_| UnusableSessionInfo::Corrupt)?;
    let value = raw.working_dir.ok_or(UnusableSessionInfo::NoWorkingDir)?;
    let text: String = serde_json::from_str(value.get()).map_err(|_| UnusableSessionInfo::NotAString)?;
    if text.trim().is_empty() {
        return Err(UnusableSessionInfo::Empty);
    }
    let working_dir = expand(Path::new(&text));
    // A Windows path is absolute too, though not on this system.
    if working_dir.is_relative() && !text.contains(":\\") {
        return Err(UnusableSessionInfo::Relative);
    }
    Ok(SessionInfo { working_dir, created_at: raw.created_at.get().and_then(instant) })
}

/// Returns the contents of the file: the two fields, then the other keys of `old`.
///
/// Returns `None` for a directory that JSON cannot represent because it is not UTF-8.
pub(crate) fn render(working_dir: &Path, created_at: Timestamp, old: Option<&[u8]>) -> Option<String> {
    let string = |text: &str| serde_json::value::to_raw_value(text).ok();
    let mut fields: IndexMap<String, Box<RawValue>> = IndexMap::new();
    fields.insert("working_dir".to_owned(), string(working_dir.to_str()?)?);
    fields.insert("created_at".to_owned(), string(&created_at_text(created_at))?);
    if let Some(old) = old.and_then(|old| serde_json::from_slice::<IndexMap<String, Box<RawValue>>>(old).ok()) {
        let keeps_created = old.get("created_at").is_some_and(|value| {
            serde_json::from_str::<String>(value.get()).is_ok_and(|text| instant(&text).is_some())
        });
        for (key, value) in old {
            if key != "working_dir" && (key != "created_at" || keeps_created) {
                fields.insert(key, value);
            }
        }
    }
    object_lines(&fields)
}

/// Formats a time like Amplifier: microseconds and a numeric offset.
fn created_at_text(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_plain(text: &str) -> Result<SessionInfo, UnusableSessionInfo> {
        parse(text.as_bytes(), |path| {
            path.strip_prefix("~").map_or(path.to_owned(), |rest| Path::new("/home/ana").join(rest))
        })
    }

    #[test]
    fn parser_names_the_problem_of_unusable_file() {
        let cases = [
            ("", UnusableSessionInfo::Corrupt),
            ("{", UnusableSessionInfo::Corrupt),
            ("[]", UnusableSessionInfo::Corrupt),
            ("\"x\"", UnusableSessionInfo::Corrupt),
            ("{}", UnusableSessionInfo::NoWorkingDir),
            (r#"{"working_dir": null}"#, UnusableSessionInfo::NoWorkingDir),
            (r#"{"working_dir": 7}"#, UnusableSessionInfo::NotAString),
            (r#"{"working_dir": ["/x"]}"#, UnusableSessionInfo::NotAString),
            (r#"{"working_dir": ""}"#, UnusableSessionInfo::Empty),
            (r#"{"working_dir": " "}"#, UnusableSessionInfo::Empty),
            (r#"{"working_dir": "x/y"}"#, UnusableSessionInfo::Relative),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_plain(text), Err(expected), "{text}");
        }
    }

    #[test]
    fn parser_expands_tilde_and_needs_no_time() {
        let info = parse_plain(r#"{"working_dir": "~/x y"}"#).expect("an info");
        assert_eq!(info, SessionInfo { working_dir: PathBuf::from("/home/ana/x y"), created_at: None });
    }

    #[test]
    fn render_writes_two_indented_fields() {
        let at = "2026-02-18T15:00:00Z".parse().expect("a time");
        let text = render(Path::new("/home/u/it's \"my\" prøject"), at, None).expect("a text");
        let expected = "{\n  \"working_dir\": \"/home/u/it's \\\"my\\\" prøject\",\n  \"created_at\": \"2026-02-18T15:00:00.000000+00:00\"\n}";
        assert_eq!(text, expected);
        assert_eq!(parse_plain(&text).expect("an info").working_dir, Path::new("/home/u/it's \"my\" prøject"));
    }

    #[test]
    fn render_keeps_unknown_keys_and_valid_creation_time() {
        let at = "2026-02-18T15:00:00Z".parse().expect("a time");
        let old = br#"{"working_dir": "", "n": 1.10, "big": 12345678901234567890123, "created_at": "2025-01-01T00:00:00+00:00", "o": {"a":  1}}"#;
        let text = render(Path::new("/x"), at, Some(old)).expect("a text");
        for kept in ["\"n\": 1.10", "12345678901234567890123", "2025-01-01T00:00:00+00:00", "{\"a\":  1}"] {
            assert!(text.contains(kept), "{text}");
        }
        let old = br#"{"created_at": 5}"#;
        assert!(render(Path::new("/x"), at, Some(old)).expect("a text").contains("2026-02-18T15"));
    }
}
