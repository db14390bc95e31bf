//! What a JidoCode session file says, judged as JidoCode judges it when it loads one.
//!
//! The rules are those of agentjido/jido_code 03efe8eb (`lib/jido_code/session/persistence/`): the same checks in the
//! same order, so the first complaint here is the reason JidoCode itself would give. The signature is checked apart,
//! in [`crate::agent::jido::signature`], because that needs a key of the machine.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The size of the largest file that JidoCode loads.
pub(crate) const MAX_FILE_BYTES: u64 = 10 * 1024 * 1024;

/// The newest schema that JidoCode knows.
const SCHEMA_VERSION: u64 = 1;

const DEFAULT_MODEL: &str = "claude-3-5-sonnet-20241022";

/// A session that JidoCode would load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JidoSession {
    /// The id in the file. JidoCode deletes by this id, so it matters when the file name says another.
    pub id: String,
    /// The name that the user gave.
    pub name: String,
    /// The directory of the project, as written: it may not exist, and may not be absolute.
    pub project_path: String,
    /// The model, or JidoCode's default; `None` if the file says something that is not a string.
    pub model: Option<String>,
    /// When the session began.
    pub created_at: Timestamp,
    /// When the session last changed.
    pub updated_at: Timestamp,
    /// When the session was closed and this file written; `None` if that is not a time, which JidoCode tolerates.
    pub closed_at: Option<Timestamp>,
    /// The conversation, oldest first.
    pub messages: Vec<JidoMessage>,
    /// The signature, unverified. `None` means that JidoCode takes the file for a legacy one and accepts it; one
    /// that is not a string is given as its JSON, and never verifies.
    pub signature: Option<String>,
}

/// A message of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JidoMessage {
    /// Who speaks.
    pub role: JidoRole,
    /// The text.
    pub content: String,
    /// When it was said.
    pub timestamp: Timestamp,
}

/// Who speaks in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JidoRole {
    /// The person.
    User,
    /// The model.
    Assistant,
    /// JidoCode.
    System,
    /// A tool, answering the model.
    Tool,
}

/// Why JidoCode refuses to load a file; in parentheses, the name that JidoCode itself has for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum LoadError {
    /// The file is larger than [`MAX_FILE_BYTES`].
    #[error("JidoCode refuses it: larger than 10 MiB (file_too_large)")]
    FileTooLarge,
    /// The file is not JSON.
    #[error("JidoCode refuses it: not JSON: {0} (invalid_json)")]
    InvalidJson(String),
    /// The signature does not fit the contents.
    #[error("JidoCode refuses it: the signature does not match (signature_verification_failed)")]
    SignatureVerificationFailed,
    /// The JSON is not an object.
    #[error("JidoCode refuses it: not an object (not_a_map)")]
    NotAMap,
    /// Keys are absent.
    #[error("JidoCode refuses it: missing fields: {} (missing_fields)", .0.join(", "))]
    MissingFields(Vec<&'static str>),
    /// The version is not a whole number from 1.
    #[error("JidoCode refuses it: the version is not a positive integer (invalid_version)")]
    InvalidVersion,
    /// The id is not a string.
    #[error("JidoCode refuses it: the id is not a string (invalid_id)")]
    InvalidId,
    /// The name is not a string.
    #[error("JidoCode refuses it: the name is not a string (invalid_name)")]
    InvalidName,
    /// The project path is not a string.
    #[error("JidoCode refuses it: the project path is not a string (invalid_project_path)")]
    InvalidProjectPath,
    /// The config is not an object.
    #[error("JidoCode refuses it: the config is not an object (invalid_config)")]
    InvalidConfig,
    /// The conversation is not a list.
    #[error("JidoCode refuses it: the conversation is not a list (invalid_conversation)")]
    InvalidConversation,
    /// The todos are not a list.
    #[error("JidoCode refuses it: the todos are not a list (invalid_todos)")]
    InvalidTodos,
    /// The version is newer than any that JidoCode knows.
    #[error("JidoCode refuses it: the version is newer than {SCHEMA_VERSION} (unsupported_version)")]
    UnsupportedVersion,
    /// A message of the conversation is wrong.
    #[error("JidoCode refuses it: message {}: {reason} (invalid_message)", .index + 1)]
    InvalidMessage {
        /// Which one, from 0.
        index: usize,
        /// What is wrong with it.
        reason: Reason,
    },
    /// A task is wrong.
    #[error("JidoCode refuses it: todo {}: {reason} (invalid_todo)", .index + 1)]
    InvalidTodo {
        /// Which one, from 0.
        index: usize,
        /// What is wrong with it.
        reason: Reason,
    },
    /// `created_at` or `updated_at` is not a time.
    #[error("JidoCode refuses it: {field} is not an ISO 8601 time with an offset ({reason})")]
    InvalidTimestamp {
        /// The key.
        field: &'static str,
        /// JidoCode's word for it: a `null` has one of its own.
        reason: &'static str,
    },
}

/// What is wrong with a message or a task, in JidoCode's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("not_a_map")]
    NotAMap,
    #[error("missing_fields: {}", .0.join(", "))]
    MissingFields(Vec<&'static str>),
    #[error("invalid_id")]
    InvalidId,
    #[error("invalid_role")]
    InvalidRole,
    #[error("unknown_role")]
    UnknownRole,
    #[error("invalid_content")]
    InvalidContent,
    #[error("invalid_timestamp")]
    InvalidTimestamp,
    #[error("invalid_status")]
    InvalidStatus,
    #[error("unknown_status")]
    UnknownStatus,
    #[error("invalid_active_form")]
    InvalidActiveForm,
}

impl LoadError {
    /// Returns a stable name for programs.
    pub fn code(&self) -> &'static str {
        self.into()
    }
}

/// Reads a session file, or says why JidoCode would not.
///
/// Unknown keys are skipped unread: half a surrogate pair or a number beyond any double goes unnoticed there, though
/// JidoCode stumbles over it.
pub(crate) fn parse(bytes: &[u8]) -> Result<JidoSession, LoadError> {
    const REQUIRED: [&str; 10] = [
        "version",
        "id",
        "name",
        "project_path",
        "config",
        "created_at",
        "updated_at",
        "closed_at",
        "conversation",
        "todos",
    ];
    let document = document(bytes)?;
    let [version, id, name, project_path, config, created_at, updated_at, closed_at, conversation, todos] =
        present(fields(document, REQUIRED)?, REQUIRED).map_err(LoadError::MissingFields)?;

    let version = positive(version).ok_or(LoadError::InvalidVersion)?;
    let id = text(id)?.ok_or(LoadError::InvalidId)?;
    let name = text(name)?.ok_or(LoadError::InvalidName)?;
    let project_path = text(project_path)?.ok_or(LoadError::InvalidProjectPath)?;
    let config = object(config).ok_or(LoadError::InvalidConfig)?;
    let conversation = list(conversation).ok_or(LoadError::InvalidConversation)?;
    let todos = list(todos).ok_or(LoadError::InvalidTodos)?;
    if version > SCHEMA_VERSION {
        return Err(LoadError::UnsupportedVersion);
    }
    let messages = collect(conversation, message)?;
    collect(todos, todo)?;
    let created_at = required_time("created_at", created_at)?;
    let updated_at = required_time("updated_at", updated_at)?;

    let [provider, model] = fields(config, ["provider", "model"])?;
    let [language, history, signature] = fields(document, ["language", "prompt_history", "signature"])?;
    // Nothing here needs these, but they are read as JidoCode reads them: an error in them is one.
    [provider, language].into_iter().flatten().try_for_each(|json| text(json).map(drop))?;
    walk(history.and_then(list).unwrap_or("[]"), |_, json| text(json).map(drop))?;
    Ok(JidoSession {
        id,
        name,
        project_path,
        model: model.map_or_else(|| Ok(Some(DEFAULT_MODEL.to_owned())), text)?,
        created_at,
        updated_at,
        closed_at: time(closed_at)?,
        messages,
        signature: match signature.filter(|json| *json != "null") {
            Some(json) => text(json)?.or_else(|| Some(json.to_owned())),
            None => None,
        },
    })
}

fn message(index: usize, json: &str) -> Result<JidoMessage, LoadError> {
    const REQUIRED: [&str; 4] = ["id", "role", "content", "timestamp"];
    let refuse = |reason| LoadError::InvalidMessage { index, reason };
    let json = object(json).ok_or_else(|| refuse(Reason::NotAMap))?;
    let [id, role, content, timestamp] =
        present(fields(json, REQUIRED)?, REQUIRED).map_err(|missing| refuse(Reason::MissingFields(missing)))?;
    text(id)?.ok_or_else(|| refuse(Reason::InvalidId))?;
    Ok(JidoMessage {
        role: match text(role)?.ok_or_else(|| refuse(Reason::InvalidRole))?.as_str() {
            "user" => JidoRole::User,
            "assistant" => JidoRole::Assistant,
            "system" => JidoRole::System,
            "tool" => JidoRole::Tool,
            _ => return Err(refuse(Reason::UnknownRole)),
        },
        content: text(content)?.ok_or_else(|| refuse(Reason::InvalidContent))?,
        timestamp: time(timestamp)?.ok_or_else(|| refuse(Reason::InvalidTimestamp))?,
    })
}

fn todo(index: usize, json: &str) -> Result<(), LoadError> {
    const REQUIRED: [&str; 3] = ["content", "status", "active_form"];
    let refuse = |reason| LoadError::InvalidTodo { index, reason };
    let json = object(json).ok_or_else(|| refuse(Reason::NotAMap))?;
    let [content, status, active_form] =
        present(fields(json, REQUIRED)?, REQUIRED).map_err(|missing| refuse(Reason::MissingFields(missing)))?;
    text(content)?.ok_or_else(|| refuse(Reason::InvalidContent))?;
    let status = text(status)?.ok_or_else(|| refuse(Reason::InvalidStatus))?;
    if !["pending", "in_progress", "completed"].contains(&status.as_str()) {
        return Err(refuse(Reason::UnknownStatus));
    }
    text(active_form)?.map(drop).ok_or_else(|| refuse(Reason::InvalidActiveForm))
}

/// Returns whether `text` is an id that JidoCode takes: a UUID of version 4, in either case.
pub(crate) fn is_session_id(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 36
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            14 => *byte == b'4',
            19 => matches!(byte, b'8' | b'9' | b'a' | b'b' | b'A' | b'B'),
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Reads a time by the rules of Elixir's `DateTime.from_iso8601/1`.
///
/// They are narrower than jiff's: full seconds, no 60th, an offset, capital `T` and `Z`, no `-00:00`. They are wider in
/// the fraction, which may be of any length and is cut to microseconds.
pub(crate) fn instant(text: &str) -> Option<Timestamp> {
    let (clock, rest) = text.split_at_checked(19)?;
    if !is_shaped(clock, "0000-00-00T00:00:00") || clock.ends_with("60") {
        return None;
    }
    let (fraction, offset) = match rest.strip_prefix(['.', ',']) {
        Some(rest) => rest.split_at(rest.find(|digit: char| !digit.is_ascii_digit())?),
        None => ("0", rest),
    };
    let is_signed = ["+00", "+0000", "+00:00"].iter().any(|shape| is_shaped(offset, shape))
        && offset != "-00:00"
        && offset[1..3] < *"24";
    if fraction.is_empty() || !(is_signed || offset == "Z") {
        return None;
    }
    let micros = &fraction[..fraction.len().min(6)];
    format!("{clock}.{micros}{offset}").parse().ok()
}

/// Returns whether `text` looks like `shape`, where `0` matches a digit, `+` a sign, and `T` itself or a space.
fn is_shaped(text: &str, shape: &str) -> bool {
    text.len() == shape.len()
        && text.bytes().zip(shape.bytes()).all(|(byte, shape)| match shape {
            b'0' => byte.is_ascii_digit(),
            b'+' => byte == b'+' || byte == b'-',
            b'T' => byte == b'T' || byte == b' ',
            mark => byte == mark,
        })
}

/// Returns the one object that the file must be. Like all values here it stays a slice of the file until it is needed.
pub(super) fn document(bytes: &[u8]) -> Result<&str, LoadError> {
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(LoadError::FileTooLarge);
    }
    let text = str::from_utf8(bytes).map_err(|err| LoadError::InvalidJson(err.to_string()))?;
    let raw: &RawValue = serde_json::from_str(text).map_err(|err| LoadError::InvalidJson(err.to_string()))?;
    object(raw.get()).ok_or(LoadError::NotAMap)
}

/// Visits the members of an object, or with empty keys the elements of a list, in the order of the file.
///
/// One at a time, so that a hostile list of millions of zeros costs no memory beyond the file. A value is a slice of the
/// file, found well-formed when the file was read.
pub(super) fn walk<'a, E: From<LoadError>>(
    json: &'a str,
    visit: impl FnMut(Cow<'a, str>, &'a str) -> Result<(), E>,
) -> Result<(), E> {
    let mut failure = None;
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let walked = deserializer.deserialize_any(Walk { visit, failure: &mut failure });
    match failure {
        Some(failure) => Err(failure),
        None => walked.map_err(|_| unpaired_surrogate().into()),
    }
}

struct Walk<'f, V, E> {
    visit: V,
    failure: &'f mut Option<E>,
}

impl<V, E> Walk<'_, V, E> {
    fn step<'a, S: Error>(&mut self, key: Cow<'a, str>, value: &'a str) -> Result<(), S>
    where
        V: FnMut(Cow<'a, str>, &'a str) -> Result<(), E>,
    {
        (self.visit)(key, value).map_err(|failure| {
            *self.failure = Some(failure);
            S::custom("the visitor has seen enough")
        })
    }
}

impl<'a, V, E> Visitor<'a> for Walk<'_, V, E>
where
    V: FnMut(Cow<'a, str>, &'a str) -> Result<(), E>,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }
    fn visit_seq<A: SeqAccess<'a>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(value) = list.next_element::<&RawValue>()? {
            self.step(Cow::Borrowed(""), value.get())?;
        }
        Ok(())
    }
    fn visit_map<A: MapAccess<'a>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some((Text(key), value)) = map.next_entry::<_, &RawValue>()? {
            self.step(key, value.get())?;
        }
        Ok(())
    }
}

/// A string that is borrowed from the file if it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Returns the string that a JSON value is, if it is one.
pub(super) fn string(json: &str) -> Result<Option<Cow<'_, str>>, LoadError> {
    if !json.starts_with('"') {
        return Ok(None);
    }
    match serde_json::from_str(json) {
        Ok(Text(text)) => Ok(Some(text)),
        Err(_) => Err(unpaired_surrogate()),
    }
}

/// The one thing that can be wrong with JSON that was found well-formed before.
fn unpaired_surrogate() -> LoadError {
    LoadError::InvalidJson("a string holds half of a surrogate pair".to_owned())
}

/// Picks some members of an object. Of two with the same key the first counts, as in Jason (its issue 33).
fn fields<'a, const N: usize>(object: &'a str, names: [&str; N]) -> Result<[Option<&'a str>; N], LoadError> {
    let mut found = [None; N];
    walk(object, |key, value| {
        if let Some(at) = names.iter().position(|name| *name == key) {
            found[at].get_or_insert(value);
        }
        Ok::<_, LoadError>(())
    })?;
    Ok(found)
}

/// Returns all of `found`, or the names of those that are absent. A `null` is not absent.
fn present<'a, const N: usize>(
    found: [Option<&'a str>; N],
    names: [&'static str; N],
) -> Result<[&'a str; N], Vec<&'static str>> {
    let values: Vec<_> = found.into_iter().flatten().collect();
    values.try_into().map_err(|_| {
        let absent = names.into_iter().zip(found).filter(|(_, value)| value.is_none());
        absent.map(|(name, _)| name).collect()
    })
}

fn collect<T>(list: &str, item: impl Fn(usize, &str) -> Result<T, LoadError>) -> Result<Vec<T>, LoadError> {
    let mut items = Vec::new();
    walk(list, |_, json| item(items.len(), json).map(|item| items.push(item)))?;
    Ok(items)
}

fn text(json: &str) -> Result<Option<String>, LoadError> {
    Ok(string(json)?.map(Cow::into_owned))
}

fn time(json: &str) -> Result<Option<Timestamp>, LoadError> {
    Ok(string(json)?.as_deref().and_then(instant))
}

fn required_time(field: &'static str, json: &str) -> Result<Timestamp, LoadError> {
    let reason = match json {
        "null" => "missing_timestamp",
        _ => "invalid_timestamp",
    };
    time(json)?.ok_or(LoadError::InvalidTimestamp { field, reason })
}

fn object(json: &str) -> Option<&str> {
    json.starts_with('{').then_some(json)
}

fn list(json: &str) -> Option<&str> {
    json.starts_with('[').then_some(json)
}

/// Reads an integer from 1. One with a fraction or an exponent is a float to JidoCode, whatever its value.
fn positive(json: &str) -> Option<u64> {
    let is_positive = json != "0" && json.bytes().all(|digit| digit.is_ascii_digit());
    is_positive.then(|| json.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn good() -> Value {
        json!({
            "version": 1,
            "id": "3f2b8c1e-6f0d-4c2a-9b7e-5a1d2c3e4f50",
            "name": "demo",
            "project_path": "/tmp/demo",
            "config": {"provider": "openai", "model": "m1", "temperature": 0.7, "max_tokens": 4096},
            "language": "rust",
            "created_at": "2026-01-02T03:04:05.000000Z",
            "updated_at": "2026-01-02T03:05:05.000000Z",
            "closed_at": "2026-01-02T03:06:05.000000Z",
            "conversation": [
                {"id": "0011", "role": "user", "content": "hi é\n", "timestamp": "2026-01-02T03:04:06Z"},
                {"id": "0012", "role": "tool", "content": "", "timestamp": "2026-01-02T04:04:07+01:00",
                 "usage": {"input_tokens": 1, "output_tokens": 2, "total_cost": 0.1}}
            ],
            "todos": [{"content": "Run tests", "status": "in_progress", "active_form": "Running tests"}],
            "prompt_history": ["hi", 7, "earlier"],
            "signature": "KrSm="
        })
    }

    /// Parses the good session with one value, at a JSON pointer, replaced; `None` removes it.
    fn changed(pointer: &str, value: Option<Value>) -> Result<JidoSession, LoadError> {
        let mut session = good();
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        match (session.pointer_mut(parent).expect("a parent"), value) {
            (Value::Object(parent), Some(value)) => drop(parent.insert(key.to_owned(), value)),
            (Value::Object(parent), None) => drop(parent.remove(key).expect("a member")),
            (parent, value) => parent[key.parse::<usize>().expect("an index")] = json!(value),
        }
        parse(session.to_string().as_bytes())
    }

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn a_good_session_is_read_in_full() {
        let session = parse(good().to_string().as_bytes()).expect("a session");
        assert_eq!(session.name, "demo");
        assert_eq!(session.id, "3f2b8c1e-6f0d-4c2a-9b7e-5a1d2c3e4f50");
        assert_eq!(session.project_path, "/tmp/demo");
        assert_eq!(session.model.as_deref(), Some("m1"));
        assert_eq!(session.created_at, at("2026-01-02T03:04:05Z"));
        assert_eq!(session.updated_at, at("2026-01-02T03:05:05Z"));
        assert_eq!(session.closed_at, Some(at("2026-01-02T03:06:05Z")));
        assert_eq!(session.messages.len(), 2);
        assert_eq!(session.messages[0].content, "hi é\n");
        assert_eq!(session.messages[1].role, JidoRole::Tool);
        assert_eq!(session.messages[1].timestamp, at("2026-01-02T03:04:07Z"));
        assert_eq!(session.signature.as_deref(), Some("KrSm="));
    }

    #[test]
    fn what_jido_code_tolerates_is_tolerated() {
        let session = changed("/closed_at", Some(json!("soon"))).expect("a session");
        assert_eq!(session.closed_at, None);
        let session = changed("/closed_at", Some(Value::Null)).expect("a session");
        assert_eq!(session.closed_at, None);
        let session = changed("/config", Some(json!({"provider": null}))).expect("a session");
        assert_eq!(session.model.as_deref(), Some(DEFAULT_MODEL));
        for absent in ["/config/provider", "/language", "/prompt_history"] {
            assert!(changed(absent, None).is_ok(), "{absent}");
        }
        assert_eq!(changed("/signature", None).expect("a session").signature, None);
        assert_eq!(changed("/signature", Some(Value::Null)).expect("a session").signature, None);
        let odd = changed("/signature", Some(json!(12))).expect("a session");
        assert_eq!(odd.signature.as_deref(), Some("12"));
        let odd = [("/prompt_history", json!("hi")), ("/language", json!(1)), ("/id", json!("../x"))];
        for (pointer, value) in odd {
            assert!(changed(pointer, Some(value)).is_ok(), "{pointer}");
        }
    }

    #[test]
    fn each_refusal_names_the_reason_of_jido_code() {
        let table = [
            ("/version", json!("1"), "invalid-version"),
            ("/version", json!(1.0), "invalid-version"),
            ("/version", json!(0), "invalid-version"),
            ("/version", json!(-1), "invalid-version"),
            ("/version", json!(2), "unsupported-version"),
            ("/version", json!(u64::MAX), "unsupported-version"),
            ("/id", json!(7), "invalid-id"),
            ("/name", Value::Null, "invalid-name"),
            ("/project_path", json!([]), "invalid-project-path"),
            ("/config", json!([]), "invalid-config"),
            ("/conversation", json!({}), "invalid-conversation"),
            ("/todos", json!("[]"), "invalid-todos"),
            ("/conversation/1", json!(1), "invalid-message"),
            ("/todos/0", Value::Null, "invalid-todo"),
            ("/created_at", json!(1), "invalid-timestamp"),
            ("/updated_at", json!("2026-01-02"), "invalid-timestamp"),
        ];
        for (pointer, value, code) in table {
            let refusal = changed(pointer, Some(value)).expect_err(pointer);
            assert_eq!(refusal.code(), code, "{pointer}");
            let name = format!("({})", code.replace('-', "_"));
            assert!(refusal.to_string().ends_with(&name), "{refusal}");
        }
        let refusal = changed("/created_at", Some(Value::Null)).expect_err("a refusal");
        assert!(refusal.to_string().ends_with("(missing_timestamp)"));
    }

    #[test]
    fn a_wrong_message_or_todo_is_pointed_at() {
        let few = json!({"role": "user"});
        let table = [
            ("/conversation/1", json!(1), "message 2: not_a_map"),
            ("/conversation/0", few, "missing_fields: id, content, timestamp"),
            ("/conversation/0/id", json!(1), "message 1: invalid_id"),
            ("/conversation/0/role", json!(1), "invalid_role"),
            ("/conversation/0/role", json!("root"), "unknown_role"),
            ("/conversation/0/content", json!([]), "invalid_content"),
            ("/conversation/0/timestamp", json!("now"), "invalid_timestamp"),
            ("/todos/0", json!([]), "todo 1: not_a_map"),
            ("/todos/0", json!({"status": 1}), "missing_fields: content, active_form"),
            ("/todos/0/content", json!(1), "invalid_content"),
            ("/todos/0/status", json!(1), "invalid_status"),
            ("/todos/0/status", json!("done"), "unknown_status"),
            ("/todos/0/active_form", json!(1), "invalid_active_form"),
        ];
        for (pointer, value, words) in table {
            let refusal = changed(pointer, Some(value)).expect_err(pointer).to_string();
            assert!(refusal.contains(words), "{refusal}");
        }
    }

    #[test]
    fn the_version_is_judged_before_the_contents_but_after_their_types() {
        let text = good().to_string().replace("\"version\":1", "\"version\":2");
        let refused = |from, to| parse(text.replace(from, to).as_bytes()).expect_err("a refusal");
        assert_eq!(refused("\"role\":\"user\"", "\"role\":0").code(), "unsupported-version");
        assert_eq!(refused("\"name\":\"demo\"", "\"name\":0").code(), "invalid-name");
    }

    #[test]
    fn all_missing_fields_are_listed_in_the_order_of_jido_code() {
        let refusal = parse(br#"{"todos":null,"id":1,"name":"","closed_at":1}"#).expect_err("a refusal");
        assert_eq!(refusal.code(), "missing-fields");
        assert_eq!(
            refusal.to_string(),
            "JidoCode refuses it: missing fields: version, project_path, config, created_at, updated_at, conversation \
             (missing_fields)"
        );
    }

    #[test]
    fn what_is_not_an_object_or_not_json_is_refused() {
        let table: [(&[u8], &str); 8] = [
            (b"[1]", "not-a-map"),
            (b" null ", "not-a-map"),
            (b"", "invalid-json"),
            (b"{", "invalid-json"),
            (b"{} {}", "invalid-json"),
            (b"{\"id\": \"\xff\"}", "invalid-json"),
            (b"\xef\xbb\xbf{}", "invalid-json"),
            (br#"{"\ud800": 1}"#, "invalid-json"),
        ];
        for (bytes, code) in table {
            assert_eq!(parse(bytes).expect_err("a refusal").code(), code, "{bytes:?}");
        }
    }

    #[test]
    fn of_two_equal_keys_the_first_counts() {
        let text = good().to_string().replacen('{', r#"{"name":"first","na\u006de":3,"#, 1);
        assert_eq!(parse(text.as_bytes()).expect("a session").name, "first");
    }

    #[test]
    fn ten_mebibytes_are_allowed_and_one_byte_more_is_not() {
        let mut bytes = good().to_string().into_bytes();
        bytes.resize(10_485_760, b' ');
        assert!(parse(&bytes).is_ok());
        bytes.push(b' ');
        assert_eq!(parse(&bytes), Err(LoadError::FileTooLarge));
    }

    #[test]
    fn deep_nesting_in_an_unknown_field_is_skipped_without_a_crash() {
        let deep = format!("{{\"deep\":{}{},", "[".repeat(1_000_000), "]".repeat(1_000_000));
        let text = good().to_string().replacen('{', &deep, 1);
        assert!(parse(text.as_bytes()).is_ok());
    }

    #[test]
    fn only_version_four_uuids_are_session_ids() {
        for id in ["550e8400-e29b-41d4-a716-446655440000", "550E8400-E29B-41D4-BFFF-446655440000"] {
            assert!(is_session_id(id), "{id}");
        }
        for other in [
            "",
            "550e8400-e29b-11d4-a716-446655440000",
            "550e8400-e29b-41d4-c716-446655440000",
            "550e8400-e29b-41d4-a716-44665544000",
            "550e8400-e29b-41d4-a716-446655440000\n",
            "550e8400+e29b-41d4-a716-446655440000",
            "../../../-e29b-41d4-a716-446655440000",
        ] {
            assert!(!is_session_id(other), "{other}");
        }
    }

    #[test]
    fn times_are_taken_as_elixir_takes_them() {
        // The answers of DateTime.from_iso8601/1 in Elixir 1.14.
        let table = [
            ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
            ("2026-01-02 03:04:05Z", "2026-01-02T03:04:05Z"),
            ("2026-01-02T03:04:05.123456789123Z", "2026-01-02T03:04:05.123456Z"),
            ("2026-01-02T03:04:05,5Z", "2026-01-02T03:04:05.5Z"),
            ("2026-01-02T03:04:05+02", "2026-01-02T01:04:05Z"),
            ("2026-01-02T03:04:05+0530", "2026-01-01T21:34:05Z"),
            ("2026-01-02T03:04:05-02:00", "2026-01-02T05:04:05Z"),
            ("2026-01-02T03:04:05+23:59", "2026-01-01T03:05:05Z"),
            ("2026-01-02T03:04:05-0000", "2026-01-02T03:04:05Z"),
        ];
        for (text, utc) in table {
            assert_eq!(instant(text), Some(at(utc)), "{text}");
        }
        for text in [
            "",
            "2026-01-02",
            "2026-01-02T03:04Z",
            "2026-01-02T03:04:05",
            "2026-01-02T03:04:05.Z",
            "2026-01-02T03:04:05.5",
            "2026-01-02t03:04:05Z",
            "2026-01-02T03:04:05z",
            "2026-01-02T03:04:05-00:00",
            "2026-01-02T03:04:05+24:00",
            "2026-01-02T03:04:05Z[UTC]",
            "2026-01-02T03:04:60Z",
            "2026-01-02T24:00:00Z",
            "2026-02-30T03:04:05Z",
            "20260102T030405Z",
            " 2026-01-02T03:04:05Z",
            "2026-01-02T03:04:05é",
        ] {
            assert_eq!(instant(text), None, "{text}");
        }
    }
}
