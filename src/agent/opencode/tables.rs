//! The tables of OpenCode and its forks.
//!
//! Facts: OpenCode 1.18.33 and Kilo 7.7.9, measured; anomalyco/opencode 063e8306 for version 2.

use crate::agent::about;
use crate::agent::database::{MAX_BYTES, Queries, Schema, SessionTable, TableSql};
use crate::agent::opencode::{generations, records as format};
use crate::agent::prelude::*;
use crate::format::sqlite::{Db, DbRow, QueryError};
use crate::format::turn::instant;
use crate::session::KeptBy;

const SESSION: &[&str] = &[
    "id",
    "parent_id",
    "directory",
    "title",
    "model",
    "time_created",
    "time_updated",
    "time_archived",
    "fork_session_id",
    "share_url",
];

/// The tables since 1.2 (`session`, `message`, `part`), and those that version 2 adds.
pub(in crate::agent) struct OpenCodeTables;

impl Schema for OpenCodeTables {
    fn queries<'db>(&self, db: &'db Db) -> Result<Queries<'db>, QueryError> {
        let mut tables = Vec::new();
        // Version 2 keeps the old rows of an imported session, so its own tables come first.
        let has_second = !db.columns("session_v2")?.is_empty();
        if has_second {
            db.require("session_v2", &["id"])?;
            db.require("session_message", &["session_id", "type", "seq", "data"])?;
            let sql = TableSql {
                sessions: "session_v2",
                columns: SESSION,
                computed: &[],
                messages: "session_message",
                order: &["seq", "rowid"],
                turn: format!(
                    "SELECT {}, type, {}, NULL FROM session_message WHERE rowid = CAST(?1 AS INTEGER)",
                    db.column_list("session_message", "", &["time_created"])?,
                    bounded("data")
                ),
                sizes: &[("session_message", "data")],
                time: "time_created",
                says_last_use: true,
                taken_back: taken_back(db, "session_v2", "session_message")?,
            };
            tables.push(SessionTable::new(db, &sql)?);
        }
        let has_first = !db.columns("session")?.is_empty() && !db.columns("message")?.is_empty();
        if has_first || !has_second {
            db.require("session", &["id"])?;
            db.require("message", &["id", "session_id", "time_created", "data"])?;
            db.require("part", &["id", "message_id", "data"])?;
            let sizes = [("message", "data"), ("part", "data")];
            let sql = TableSql {
                sessions: "session",
                columns: SESSION,
                computed: &[],
                messages: "message",
                order: &["time_created", "id"],
                turn: format!(
                    "SELECT m.time_created, NULL, {}, {} FROM message AS m LEFT JOIN part AS p ON p.message_id = m.id \
                     WHERE m.rowid = CAST(?1 AS INTEGER) ORDER BY p.id",
                    bounded("m.data"),
                    bounded("p.data")
                ),
                sizes: &sizes[..1 + usize::from(db.columns("part")?.contains("session_id"))],
                time: "time_created",
                says_last_use: true,
                taken_back: taken_back(db, "session", "message")?,
            };
            tables.push(SessionTable::new(db, &sql)?);
        }
        let older = if has_first && has_second { generations::older(db)? } else { None };
        Ok(Queries { tables, warning: None, older })
    }

    fn fill(&self, row: &DbRow<'_>, copy: &mut SessionCopy) {
        copy.set_dir(row.text(2).as_deref(), "directory in the database");
        copy.model = row.text(4).as_deref().and_then(format::model_id).map(|model| Fact::new(model, "session"));
        let [created, updated, archived] = [5, 6, 7].map(|at| row.int(at));
        describe(copy, row.filled(3), [created, updated, archived]);
        copy.kept_by = row.filled(9).map(|url| Box::new(shared(&url, copy)));
        if let Some(origin) = row.filled(8) {
            copy.kind = if copy.kind == SessionKind::Main { SessionKind::Fork } else { copy.kind };
            copy.parent_id.get_or_insert(origin);
        }
    }

    /// Measured on 1.18.34.
    fn way_to_branches(&self) -> Option<&'static str> {
        Some("its agent deletes them at the next prompt, and /redo brings them back")
    }

    fn add(&self, row: &DbRow<'_>, turn: &mut Option<Turn>) {
        let turn = turn.get_or_insert_with(|| {
            let (kind, data) = (row.text(1), row.text(2).unwrap_or_default());
            format::turn(row.int(0), kind.as_deref(), &data)
        });
        if let Some(part) = row.text(3) {
            format::add_part(turn, &part);
        }
    }
}

/// Returns the query for [`TableSql::taken_back`]: `/undo` writes `{"messageID": …}` into `session.revert`, and with a
/// `partID` keeps the parts before that one.
fn taken_back(db: &Db, sessions: &str, messages: &str) -> Result<Option<String>, QueryError> {
    if !db.columns(sessions)?.contains("revert") || !db.columns(messages)?.contains("id") {
        return Ok(None);
    }
    let member = |name: &str| format!("CASE WHEN json_valid(s.revert) THEN json_extract(s.revert, '$.{name}') END");
    Ok(Some(format!(
        "SELECT m.rowid, {} IS NOT NULL FROM {sessions} AS s JOIN {messages} AS m ON m.session_id = s.id AND m.id = {} WHERE s.id = ?1",
        member("partID"),
        member("messageID")
    )))
}

/// Returns the reason to keep a shared session: the key that takes the share down goes with its rows (anomalyco/opencode
/// #32062).
pub(super) fn shared(url: &str, copy: &SessionCopy) -> KeptBy {
    let program = about(copy.place.agent()).program.unwrap_or_default();
    let end = format!("type /unshare in `{program} --session {}`", copy.place.id);
    KeptBy::new("shared", end).with(format!("at {url}"))
}

fn bounded(column: &str) -> String {
    format!("CASE WHEN octet_length({column}) <= {MAX_BYTES} THEN {column} END")
}

/// Sets the title and the times (in milliseconds) of a session, and the properties that follow from them.
pub(super) fn describe(copy: &mut SessionCopy, title: Option<String>, [created, updated, archived]: [Option<i64>; 3]) {
    let is_fork = title.as_deref().is_some_and(is_forks_title);
    copy.title = title.map(|title| Fact::new(title, "title"));
    copy.created_at = created.and_then(instant).map(|at| Fact::new(at, "time_created"));
    copy.active_at = updated.and_then(instant).map(|at| Fact::new(at, "time_updated"));
    copy.active_at = copy.active_at.take().or_else(|| copy.created_at.clone());
    copy.kind = if copy.place.is_subagent {
        SessionKind::Subagent
    } else if archived.is_some_and(|at| at > 0) {
        SessionKind::Archived
    } else if is_fork {
        SessionKind::Fork
    } else {
        SessionKind::Main
    };
}

/// Checks whether a title has the form that `--fork` creates, the only trace of a fork's origin.
fn is_forks_title(title: &str) -> bool {
    let number = title.trim_end().strip_suffix(')').and_then(|title| title.rsplit_once(" (fork #"));
    number.is_some_and(|(_, number)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_suffix_identifies_fork() {
        assert!(is_forks_title("Say hello (fork #1)") && is_forks_title("a (fork #1) (fork #12)"));
        for other in ["", "Say hello", "(fork #)", "a (fork #x)", "a (fork #1) b", "why (fork #1"] {
            assert!(!is_forks_title(other), "{other}");
        }
    }
}
