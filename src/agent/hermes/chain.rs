//! The rows in which Hermes continues a session after a compression: each is a child of the one before.
//!
//! Facts: Hermes 0.19.0, `SessionDB.get_compression_tip` and `resolve_resume_session_id` (hermes_state.py), which its resume follows
//! (hermes_cli/main.py), and conversation_compression.py, which gives a continuation no `cwd`; later versions copy the parent's.

use crate::format::sqlite::{Db, QueryError};

/// The columns that the queries need.
const COLUMNS: [&str; 7] =
    ["parent_session_id", "cwd", "model_config", "source", "end_reason", "ended_at", "started_at"];

/// Returns the SQL for the directory of the session that a row continues, for the id of the newest row that continues a
/// compressed one, and for that of the row which a resume opens: from the newest continuation on, Hermes follows the newest
/// child, also one that a reset of its gateway began, to the last row with messages.
pub(super) fn columns(db: &Db) -> Result<[String; 3], QueryError> {
    let known = db.columns("sessions")?;
    if COLUMNS.iter().any(|column| !known.contains(*column)) {
        return Ok(["NULL"; 3].map(str::to_owned));
    }
    let dir = format!(
        "(WITH RECURSIVE chain(id, parent, cwd, steps) AS (\
         SELECT own.id, own.parent_session_id, nullif(own.cwd, ''), 0 FROM sessions own WHERE own.id = sessions.id \
         UNION ALL SELECT above.id, above.parent_session_id, nullif(above.cwd, ''), steps + 1 \
         FROM chain JOIN sessions own ON own.id = chain.id \
         JOIN sessions above ON above.id = chain.parent WHERE chain.cwd IS NULL AND steps < 100 \
         AND above.end_reason = 'compression' AND {}) \
         SELECT cwd FROM chain WHERE cwd IS NOT NULL LIMIT 1)",
        continues("own")
    );
    let tip = format!(
        "CASE WHEN end_reason = 'compression' THEN (WITH RECURSIVE chain(id, steps) AS (\
         SELECT sessions.id, 0 UNION ALL SELECT (SELECT child.id \
         FROM sessions child WHERE child.parent_session_id = above.id AND {} \
         ORDER BY CASE WHEN child.end_reason = 'compression' THEN 0 WHEN child.ended_at IS NULL THEN 1 ELSE 2 END, \
         coalesce((SELECT max(timestamp) FROM messages WHERE session_id = child.id), child.started_at) DESC, \
         child.started_at DESC, child.id DESC LIMIT 1), steps + 1 \
         FROM chain JOIN sessions above ON above.id = chain.id WHERE above.end_reason = 'compression' AND steps < 100) \
         SELECT id FROM chain WHERE id IS NOT NULL ORDER BY steps DESC LIMIT 1) END",
        continues("child")
    );
    let opened = format!(
        "(WITH RECURSIVE walk(id, steps) AS (SELECT coalesce({tip}, sessions.id), 0 UNION ALL SELECT (SELECT child.id \
         FROM sessions child WHERE child.parent_session_id = walk.id AND child.id <> sessions.id AND {} \
         ORDER BY child.started_at DESC, child.id DESC LIMIT 1), steps + 1 FROM walk WHERE walk.id IS NOT NULL AND steps < 32) \
         SELECT id FROM walk WHERE EXISTS (SELECT 1 FROM messages WHERE session_id = walk.id) ORDER BY steps DESC LIMIT 1)",
        continues("child")
    );
    Ok([dir, tip, opened])
}

/// Returns the SQL that excludes branches, sub-agents and the sessions of tools. A damaged setting names no other session.
fn continues(child: &str) -> String {
    let other = |name: &str| format!("json_extract({child}.model_config, '$.{name}')");
    format!(
        "CASE WHEN json_valid({child}.model_config) THEN coalesce({}, {}) END IS NULL AND coalesce({child}.source, '') <> 'tool'",
        other("_branched_from"),
        other("_delegate_from")
    )
}
