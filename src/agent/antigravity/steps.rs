//! The steps of a conversation: rows of SQLite whose payload is a message of protobuf.

use crate::agent::database::MAX_BYTES;
use crate::agent::prelude::*;
use crate::format::content::call;
use crate::format::protobuf;
use crate::format::sqlite::{Db, DbRow, QueryError, SqlValue};

/// The types of the steps that are read; `AntigravityStep` has the payload of each in a field with another number.
const USER_INPUT: i64 = 14;
const RESPONSE: i64 = 15;
const GENERIC_TOOL: i64 = 132;

/// The parsed fields of a step.
#[derive(Default)]
pub(super) struct AntigravityStep {
    pub at: Option<Timestamp>,
    /// `None` for a step of another type.
    pub turn: Option<Turn>,
}

/// Calls `see` with the steps of a conversation in the order of `direction`, at most `limit`.
pub(super) fn each_step(
    db: &Db,
    direction: &'static str,
    limit: u32,
    see: &mut dyn FnMut(AntigravityStep),
) -> Result<(), QueryError> {
    db.require("steps", &["idx", "step_type", "step_payload"])?;
    let metadata = db.column_list("steps", "", &["metadata"])?;
    let sql = format!(
        "SELECT step_type, CASE WHEN octet_length(step_payload) <= {MAX_BYTES} THEN step_payload END, {metadata} \
         FROM steps ORDER BY idx {direction} LIMIT {limit}"
    );
    db.query(&sql, &[], |row| see(step(row)))
}

fn step(row: &DbRow<'_>) -> AntigravityStep {
    let blob = |at: usize| match row.value(at) {
        SqlValue::Blob(bytes) => bytes,
        _ => &[],
    };
    let at = time(blob(2));
    AntigravityStep { at, turn: row.int(0).and_then(|kind| turn(kind, blob(1), at)) }
}

/// Returns the time in the metadata of a step.
fn time(metadata: &[u8]) -> Option<Timestamp> {
    let time = protobuf::bytes(metadata, &[1])?;
    let seconds = i64::try_from(protobuf::number(time, 1)?).ok()?;
    let nanoseconds = i32::try_from(protobuf::number(time, 2).unwrap_or_default()).ok()?;
    Timestamp::new(seconds, nanoseconds).ok()
}

fn turn(kind: i64, payload: &[u8], at: Option<Timestamp>) -> Option<Turn> {
    let role = match kind {
        USER_INPUT => Role::User,
        RESPONSE => Role::Assistant,
        GENERIC_TOOL => Role::Tool,
        _ => return None,
    };
    let mut turn = Turn::new(role, at);
    match kind {
        USER_INPUT => {
            let typed = protobuf::text(payload, &[19, 2]).or_else(|| protobuf::text(payload, &[19, 1]));
            turn.add_text(typed.unwrap_or_default());
        }
        RESPONSE => {
            let response = protobuf::bytes(payload, &[20]).unwrap_or_default();
            turn.add_text(protobuf::text(response, &[1]).unwrap_or_default());
            for tool in protobuf::all_fields(response, 7) {
                turn.tool(call(protobuf::text(tool, &[2]), protobuf::text(tool, &[3])));
            }
        }
        _ => turn.tool(format!("→ {}", protobuf::text(payload, &[140, 2, 1]).unwrap_or_default())),
    }
    Some(turn)
}
