//! Parses a JidoCode session file and validates it like JidoCode.
//!
//! The rules are those of agentjido/jido_code 03efe8eb (`lib/jido_code/session/persistence/`): the same checks in the
//! same order, so the first error here is the reason that JidoCode itself would give. The signature is checked
//! separately, in [`crate::agent::jido::signature`], because that needs a key of the machine.

use std::borrow::Cow;

use crate::agent::prelude::*;
pub(crate) use error::{LoadError, Reason};
use json::{collect, list, object, present};
pub(in crate::agent::jido) use json::{document, fields, string, walk};

mod error;
mod json;
#[cfg(test)]
mod tests;

/// Maximum size in bytes of a file that JidoCode loads.
pub(crate) const MAX_FILE_BYTES: u64 = 10 * 1024 * 1024;

/// The newest schema that JidoCode supports.
const SCHEMA_VERSION: u64 = 1;

const DEFAULT_MODEL: &str = "claude-3-5-sonnet-20241022";

/// A session that JidoCode would load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JidoSession {
    /// The id in the file. JidoCode deletes by this id, so it matters if the file name contains another one.
    pub id: String,
    /// The name that the user set.
    pub name: String,
    /// The directory of the project, as written: it may not exist, and may be relative.
    pub project_path: String,
    /// The model, or JidoCode's default; `None` if the value is not a string.
    pub model: Option<String>,
    /// The conversation, the oldest message first.
    pub messages: Vec<Message>,
    /// Set if the document has a signature, which is not verified here. JidoCode accepts a file without one as a legacy one; a
    /// value that is not a string never verifies.
    pub is_signed: bool,
}

/// Parses a session file, or returns the reason why JidoCode would refuse it.
///
/// Unknown keys are skipped unread: a lone surrogate or a number beyond any double is not detected there, though
/// JidoCode refuses it.
pub(crate) fn parse(bytes: &[u8]) -> Result<JidoSession, LoadError> {
    parse_document(document(bytes)?)
}

/// Like [`parse`], for the object in the file.
pub(super) fn parse_document(document: &str) -> Result<JidoSession, LoadError> {
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
    required_time("created_at", created_at)?;
    required_time("updated_at", updated_at)?;

    let [provider, model] = fields(config, ["provider", "model"])?;
    let [language, history, signature] = fields(document, ["language", "prompt_history", "signature"])?;
    // Unused members, which are parsed because JidoCode refuses a file with an error in them.
    let unused = [provider, language, signature, Some(closed_at)];
    unused.into_iter().flatten().try_for_each(|json| text(json).map(drop))?;
    walk(history.and_then(list).unwrap_or("[]"), |_, json| text(json).map(drop))?;
    Ok(JidoSession {
        id,
        name,
        project_path,
        model: model.map_or_else(|| Ok(Some(DEFAULT_MODEL.to_owned())), text)?,
        messages,
        is_signed: signature.is_some_and(|json| json != "null"),
    })
}

fn message(index: usize, json: &str) -> Result<Message, LoadError> {
    const REQUIRED: [&str; 4] = ["id", "role", "content", "timestamp"];
    let refuse = |reason| LoadError::InvalidMessage { index, reason };
    let json = object(json).ok_or_else(|| refuse(Reason::NotAMap))?;
    let [id, role, content, timestamp] =
        present(fields(json, REQUIRED)?, REQUIRED).map_err(|missing| refuse(Reason::MissingFields(missing)))?;
    text(id)?.ok_or_else(|| refuse(Reason::InvalidId))?;
    let role = match text(role)?.ok_or_else(|| refuse(Reason::InvalidRole))?.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        "tool" => Role::Tool,
        _ => return Err(refuse(Reason::UnknownRole)),
    };
    let content = text(content)?.ok_or_else(|| refuse(Reason::InvalidContent))?;
    let timestamp = time(timestamp)?.ok_or_else(|| refuse(Reason::InvalidTimestamp))?;
    Ok(Message::new(role, content, Some(timestamp)))
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

/// Parses a time by the rules of Elixir's `DateTime.from_iso8601/1`.
///
/// They are narrower than jiff's: full seconds, no 60th, an offset, capital `T` and `Z`, no `-00:00`. They are wider in
/// the fraction, which may have any length and is truncated to microseconds.
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

/// Returns whether `text` matches `shape`, in which `0` matches a digit, `+` a sign, and `T` itself or a space.
fn is_shaped(text: &str, shape: &str) -> bool {
    text.len() == shape.len()
        && text.bytes().zip(shape.bytes()).all(|(byte, shape)| match shape {
            b'0' => byte.is_ascii_digit(),
            b'+' => byte == b'+' || byte == b'-',
            b'T' => byte == b'T' || byte == b' ',
            mark => byte == mark,
        })
}

fn text(json: &str) -> Result<Option<String>, LoadError> {
    Ok(string(json)?.map(Cow::into_owned))
}

fn time(json: &str) -> Result<Option<Timestamp>, LoadError> {
    Ok(string(json)?.as_deref().and_then(instant))
}

fn required_time(field: &'static str, json: &str) -> Result<(), LoadError> {
    let reason = match json {
        "null" => "missing_timestamp",
        _ => "invalid_timestamp",
    };
    time(json)?.map(drop).ok_or(LoadError::InvalidTimestamp { field, reason })
}

/// Parses an integer of at least 1. A number with a fraction or an exponent is a float to JidoCode, whatever its value.
fn positive(json: &str) -> Option<u64> {
    let is_positive = json != "0" && json.bytes().all(|digit| digit.is_ascii_digit());
    is_positive.then(|| json.parse().unwrap_or(u64::MAX))
}
