//! Converts the rows of a session into the form that `export` prints and `import` reads.
//!
//! Facts: the code of OpenCode 1.18.33, measured with it and with Kilo 7.7.9. These commands leave out to-do lists and
//! events.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;
use serde_json::value::to_raw_value;

use crate::agent::prelude::*;
use crate::format::sqlite::{self, Db, DbRow, QueryError, SqlValue};

/// The columns of a session, in the order in which [`info`] reads them.
const COLUMNS: &[&str] = &[
    "id",
    "slug",
    "project_id",
    "workspace_id",
    "directory",
    "path",
    "parent_id",
    "title",
    "agent",
    "version",
    "model",
    "metadata",
    "permission",
    "revert",
    "summary_additions",
    "summary_deletions",
    "summary_files",
    "summary_diffs",
    "share_url",
    "cost",
    "tokens_input",
    "tokens_output",
    "tokens_reasoning",
    "tokens_cache_read",
    "tokens_cache_write",
    "time_created",
    "time_updated",
    "time_compacting",
    "time_archived",
];

/// A JSON object whose values stay as they are written.
type RawObject = BTreeMap<String, Box<RawValue>>;

#[derive(Serialize)]
struct Transfer {
    info: RawObject,
    messages: Vec<TransferMessage>,
}

#[derive(Serialize)]
struct TransferMessage {
    info: RawObject,
    parts: Vec<RawObject>,
}

/// Writes a session from a database with its rows.
pub(super) fn write(place: &Located, out: &mut dyn Write) -> Result<(), PathError> {
    let transfer = sqlite::read(&place.path, |db| transfer(db, &place.id))?;
    let written = serde_json::to_writer_pretty(&mut *out, &transfer).map_err(std::io::Error::from);
    written.and_then(|()| out.write_all(b"\n")).map_err(|error| PathError::new("write", &place.path, error))
}

fn transfer(db: &Db, id: &str) -> Result<Transfer, QueryError> {
    db.require("session", &["id", "directory"])?;
    db.require("message", &["id", "session_id", "time_created", "data"])?;
    db.require("part", &["id", "message_id", "data"])?;
    let known = db.columns("session")?;
    let columns = COLUMNS.iter().map(|column| if known.contains(*column) { *column } else { "NULL" });
    let columns: Vec<&str> = columns.collect();
    let mut found = None;
    db.query(&format!("SELECT {} FROM session WHERE id = ?1", columns.join(", ")), &[id], |row| {
        found = Some(info(row));
    })?;
    let info = found.ok_or_else(|| QueryError::Unknown("its table session does not have it".to_owned()))?;
    let mut messages = Vec::new();
    let sql = "SELECT id, data FROM message WHERE session_id = ?1 ORDER BY time_created, id";
    db.query(sql, &[id], |row| {
        let message = row.text(0).unwrap_or_default();
        messages.push((object(row.text(1), &[("id", &message), ("sessionID", id)]), message));
    })?;
    let mut of_message = db.prepare("SELECT id, data FROM part WHERE message_id = ?1 ORDER BY id")?;
    let mut whole = Vec::with_capacity(messages.len());
    for (info, message) in messages {
        let mut parts = Vec::new();
        of_message.rows(&[&message], |row| {
            let part = row.text(0).unwrap_or_default();
            parts.push(object(row.text(1), &[("id", &part), ("sessionID", id), ("messageID", &message)]));
        })?;
        whole.push(TransferMessage { info, parts });
    }
    Ok(Transfer { info, messages: whole })
}

/// Parses an object, and adds these members to it.
fn object(data: Option<String>, names: &[(&str, &str)]) -> RawObject {
    let mut object: RawObject = data.and_then(|data| serde_json::from_str(&data).ok()).unwrap_or_default();
    names.iter().for_each(|(name, value)| set_member(&mut object, name, Some(value)));
    object
}

fn set_member(object: &mut RawObject, name: &str, value: Option<impl Serialize>) {
    let raw = value.and_then(|value| to_raw_value(&value).ok());
    object.extend(raw.map(|raw| (name.to_owned(), raw)));
}

/// Converts the row of a session into the form that the program exports.
fn info(row: &DbRow<'_>) -> RawObject {
    let mut info = RawObject::new();
    for (name, at) in [("id", 0), ("slug", 1), ("projectID", 2), ("workspaceID", 3), ("directory", 4), ("path", 5)] {
        set_member(&mut info, name, row.text(at));
    }
    for (name, at) in [("parentID", 6), ("title", 7), ("agent", 8), ("version", 9)] {
        set_member(&mut info, name, row.text(at));
    }
    for (name, at) in [("model", 10), ("metadata", 11), ("permission", 12), ("revert", 13)] {
        set_member(&mut info, name, row.text(at).and_then(|json| RawValue::from_string(json).ok()));
    }
    let numbers = |names: &[(&str, usize)]| {
        let mut object = RawObject::new();
        names.iter().for_each(|(name, at)| set_member(&mut object, name, number(row, *at)));
        object
    };
    if (14..17).any(|at| number(row, at).is_some()) {
        let mut summary = RawObject::new();
        for (name, at) in [("additions", 14), ("deletions", 15), ("files", 16)] {
            set_member(&mut summary, name, number(row, at).or_else(|| to_raw_value(&0).ok()));
        }
        set_member(&mut summary, "diffs", row.text(17).and_then(|json| RawValue::from_string(json).ok()));
        set_member(&mut info, "summary", Some(summary));
    }
    set_member(&mut info, "share", row.filled(18).map(|url| BTreeMap::from([("url", url)])));
    set_member(&mut info, "cost", number(row, 19));
    let mut tokens = numbers(&[("input", 20), ("output", 21), ("reasoning", 22)]);
    if !tokens.is_empty() {
        set_member(&mut tokens, "cache", Some(numbers(&[("read", 23), ("write", 24)])));
        set_member(&mut info, "tokens", Some(tokens));
    }
    let time = numbers(&[("created", 25), ("updated", 26), ("compacting", 27), ("archived", 28)]);
    set_member(&mut info, "time", Some(time));
    info
}

fn number(row: &DbRow<'_>, at: usize) -> Option<Box<RawValue>> {
    match row.value(at) {
        SqlValue::Integer(number) => to_raw_value(&number).ok(),
        SqlValue::Real(number) if number.is_finite() => to_raw_value(&number).ok(),
        _ => None,
    }
}
