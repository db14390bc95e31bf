//! Leo's `.agent_session.json` with the directory that Leo itself forgets.
//!
//! Leo stores the id of a session of Claude Code with an app, and later looks for it under the app's directory, though
//! Claude Code filed it under the directory that Leo ran in. `cwd` is that directory. The other keys are Leo's own.

use std::path::Path;

use indexmap::IndexMap;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::value::RawValue;

use crate::format::json::object_lines;

/// The values to write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PointerEntry<'a> {
    /// The session of Claude Code, a UUID.
    pub session_id: &'a str,
    /// The app's directory.
    pub app_dir: &'a Path,
    /// The directory that Claude Code ran in.
    pub cwd: &'a Path,
    /// Leo's own notes, an object; `None` keeps the old ones.
    pub context: Option<&'a RawValue>,
}

/// Returns the file's contents; every key of `old` that is not set here survives byte for byte, in its place.
///
/// An `old` that is not a JSON object is ignored. Returns `None` for a directory that is not UTF-8.
pub(crate) fn render(entry: &PointerEntry<'_>, old: Option<&[u8]>, now: Timestamp, zone: &TimeZone) -> Option<String> {
    let string = |text: &str| serde_json::value::to_raw_value(text).ok();
    let mut fields: IndexMap<String, Box<RawValue>> =
        old.and_then(|old| serde_json::from_slice(old).ok()).unwrap_or_default();
    // Leo writes its local time without a zone.
    let timestamp = now.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%.6f").to_string();
    fields.insert("session_id".to_owned(), string(entry.session_id)?);
    fields.insert("app_path".to_owned(), string(entry.app_dir.to_str()?)?);
    fields.insert("timestamp".to_owned(), string(&timestamp)?);
    match entry.context {
        Some(context) => drop(fields.insert("context".to_owned(), context.to_owned())),
        None => drop(fields.entry("context".to_owned()).or_insert(RawValue::from_string("{}".to_owned()).ok()?)),
    }
    fields.insert("cwd".to_owned(), string(entry.cwd.to_str()?)?);
    object_lines(&fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(context: Option<&str>, old: Option<&str>) -> String {
        let context = context.map(|text| serde_json::from_str::<Box<RawValue>>(text).expect("JSON"));
        let entry = PointerEntry {
            session_id: "9c0e4a52-8d0f-4b6e-8f53-0a3b5c7d9e11",
            app_dir: Path::new("/workspace/app/Demo/app"),
            cwd: Path::new("/workspace/app"),
            context: context.as_deref(),
        };
        let now = "2026-02-01T10:00:00.123456Z".parse().expect("a time");
        render(&entry, old.map(str::as_bytes), now, &TimeZone::UTC).expect("a text")
    }

    #[test]
    fn new_pointer_has_leo_keys_and_directory() {
        let expected = r#"{
  "session_id": "9c0e4a52-8d0f-4b6e-8f53-0a3b5c7d9e11",
  "app_path": "/workspace/app/Demo/app",
  "timestamp": "2026-02-01T10:00:00.123456",
  "context": {"app_name":  "Demo"},
  "cwd": "/workspace/app"
}"#;
        assert_eq!(rendered(Some(r#"{"app_name":  "Demo"}"#), None), expected);
        assert!(rendered(None, None).contains("\"context\": {},"));
        assert_eq!(rendered(Some("{\"app_name\":  \"Demo\"}"), Some("[1")), expected);
    }

    #[test]
    fn saved_pointer_keeps_unknown_keys() {
        let old = r#"{"session_id": "old", "reprompter_context": {"task_history": [ {"n": 1.10} ]}, "context": {"a":1}, "x": "é"}"#;
        let text = rendered(None, Some(old));
        assert!(text.contains("\"reprompter_context\": {\"task_history\": [ {\"n\": 1.10} ]},"), "{text}");
        assert!(text.contains("\"context\": {\"a\":1},"), "{text}");
        assert!(text.contains("\"x\": \"é\","), "{text}");
        assert!(text.starts_with("{\n  \"session_id\": \"9c0e4a52-"), "{text}");
        let again = rendered(Some("{}"), Some(&text));
        assert!(again.contains("\"context\": {},") && again.contains("1.10"), "{again}");
    }
}
