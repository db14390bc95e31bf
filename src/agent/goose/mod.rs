//! Goose: `sessions/sessions.db` in its data directory, which is only read, and the files of older versions.
//!
//! Facts: aaif-goose/goose 017176d0, schema 17; not measured, because the program was not available.

pub(super) mod records;

pub(super) mod about;
mod files;

use super::AgentManaged;
use super::lines::{Lines, Log};
use crate::agent::command::as_option;
use crate::agent::database::{self, Database, MAX_BYTES, Queries, Schema, TableSql};
use crate::agent::prelude::*;
use crate::format::json::local_instant;
use crate::format::shell;
use crate::format::sqlite::{Db, DbRow, QueryError};
use files::GooseLog;

/// The newest known schema.
const NEWEST: i64 = 17;

const SESSION: &[&str] = &[
    "id",
    "parent_session_id",
    "name",
    "description",
    "session_type",
    "working_dir",
    "created_at",
    "updated_at",
    "model_config_json",
    "archived_at",
    "schedule_id",
    "user_set_name",
];

const AGENT_MANAGED: AgentManaged = AgentManaged::of_sessions(&["goose", "session", "remove", "--session-id"], false);

const DATABASE: Database = Database { schema: &GooseSchema, agent_managed: &AGENT_MANAGED, locate };

/// Implements [`Agent`](super::Agent) for Goose.
pub(super) struct Goose;

/// The only schema of Goose.
struct GooseSchema;

impl Schema for GooseSchema {
    fn queries<'db>(&self, db: &'db Db) -> Result<Queries<'db>, QueryError> {
        db.require("sessions", &["id"])?;
        db.require("messages", &["id", "session_id", "role", "content_json"])?;
        let of_message = db.column_list("messages", "", &["created_timestamp", "metadata_json"])?;
        let sql = TableSql {
            sessions: "sessions",
            columns: SESSION,
            computed: &[],
            messages: "messages",
            order: &["id", "rowid"],
            turn: format!(
                "SELECT role, CASE WHEN octet_length(content_json) <= {MAX_BYTES} THEN content_json END, {of_message} \
                 FROM messages WHERE rowid = CAST(?1 AS INTEGER)"
            ),
            sizes: &[("messages", "content_json")],
            time: "created_timestamp",
            says_last_use: true,
            taken_back: None,
        };
        Queries::of_table(db, &sql, database::newer_schema(db, NEWEST))
    }

    /// A resume without a prompt sets `updated_at`, too; Goose's own list is in the order of the last messages.
    fn last_message(&self, db: &Db) -> Result<Option<String>, QueryError> {
        let sql = "SELECT created_timestamp FROM messages WHERE session_id = ?1 ORDER BY id DESC LIMIT 1";
        Ok(db.columns("messages")?.contains("created_timestamp").then(|| sql.to_owned()))
    }

    fn fill(&self, row: &DbRow<'_>, copy: &mut SessionCopy) {
        let is_user_set = row.int(11) != Some(0);
        let title = |at, source| {
            let title = row.filled(at).filter(|title| is_user_set || !records::is_default_name(title));
            title.map(|title| Fact::new(title, source))
        };
        copy.title = title(2, "name").or_else(|| title(3, "description"));
        copy.set_dir(row.text(5).as_deref(), "working_dir in the database");
        let time = |at, source| {
            let text: String = row.text(at)?;
            local_instant(&text, &TimeZone::UTC).map(|at| Fact::new(at, source))
        };
        copy.created_at = time(6, "created_at");
        copy.active_at = time(7, "updated_at").or_else(|| copy.created_at.clone());
        copy.model = row.text(8).as_deref().and_then(records::model).map(|model| Fact::new(model, "model_config"));
        copy.kind = match row.text(4).as_deref() {
            _ if copy.place.is_subagent => SessionKind::Subagent,
            Some("sub_agent") => SessionKind::Subagent,
            // Goose's own list omits hidden and archived sessions.
            Some("hidden") => SessionKind::Archived,
            _ if row.filled(9).is_some() => SessionKind::Archived,
            // Messages of a chat program, which Goose's own list leaves out.
            Some("scheduled" | "gateway") => SessionKind::Exec,
            _ => SessionKind::Main,
        };
    }

    fn add(&self, row: &DbRow<'_>, turn: &mut Option<Turn>) {
        let (role, content) = (row.text(0).unwrap_or_default(), row.text(1).unwrap_or_default());
        *turn = Some(records::turn(&role, &content, row.int(2), row.text(3).as_deref()));
    }
}

impl Reading for Goose {
    fn usual_stores(&self, env: &Env) -> Vec<Store> {
        database::stores_by(AgentKind::Goose, "goose", ("GOOSE_PATH_ROOT", Some("data")), env)
    }

    fn engine(&self) -> &'static dyn Engine {
        &DATABASE
    }

    fn older_engine(&self, place: &Located) -> Option<&'static dyn Engine> {
        files::is_in(place).then_some(&Lines(GooseLog))
    }

    fn recorded_usage(&self, copy: &SessionCopy) -> Result<Usage, PathError> {
        let is_row = !files::is_in(&copy.place);
        let cost = if is_row { database::cost(&copy.place, "sessions", &["accumulated_cost"])? } else { None };
        Ok(Usage::from_cost(cost))
    }

    fn is_silent(&self, record: &[u8]) -> bool {
        files::is_metadata(record)
    }
}

impl Resuming for Goose {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        if copy.health.contains(Health::Unlisted) {
            return Err("Goose imports the files of versions before 1.10 only when it creates sessions.db, and that does not hold this one".into());
        }
        let verb = if prompt.is_some() { "run" } else { "session" };
        Ok(Command::new(
            &["goose", verb, "--resume", "--session-id", &copy.place.id],
            as_option(prompt, "-t", "--text"),
        ))
    }

    fn warning(&self, copy: &SessionCopy, _env: &Env) -> Option<String> {
        files::is_in(&copy.place).then(|| {
            "only Goose 1.10 or later knows this command; at its first start it imports the files of older versions"
                .to_owned()
        })
    }

    fn help_unlisted(&self, copy: &SessionCopy) -> Option<(String, &'static str)> {
        let name = shell::selector(AgentKind::Goose, &copy.place.id);
        Some((format!("rejoin export {name}"), "writes the conversation as a page, to continue in a new session"))
    }
}

impl Moving for Goose {}

impl Housekeeping for Goose {}

/// Finds the sessions of the database, and the files that Goose has not imported.
fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
    let mut found = Found::default();
    database::locate(store, &path_in(store), &GooseSchema, only, &mut found);
    found.extend_with_others(<GooseLog as Log>::locate(store, only));
    found
}

fn path_in(store: &Store) -> PathBuf {
    store.root.join("sessions/sessions.db")
}
