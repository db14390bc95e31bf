//! Hermes: `state.db` in its home and in that of each profile, which are only read.
//!
//! Facts: Hermes 0.19.0, schema 22, measured; profiles, sub-agents and compression by its code.

mod records;

pub(super) mod about;
mod chain;

use super::{AgentManaged, stores};
use crate::agent::command::as_option;
use crate::agent::database::{self, Database, MAX_BYTES, Queries, Schema, TableSql};
use crate::agent::prelude::*;
use crate::format::shell;
use crate::format::sqlite::{Db, DbRow, QueryError};
use crate::format::turn::instant;
use crate::session::obstacle::Obstacle;
use records::{HermesColumns, HermesOrigin};

/// The variable that selects another home.
const VARIABLE: &str = "HERMES_HOME";
/// The newest known schema.
const NEWEST: i64 = 22;
/// Maximum size of `active_profile`, which contains a name.
const MAX_NAME: u64 = 4096;

/// The note on a compressed session, before the id of the other one.
const CONTINUED: &str = "Hermes compressed it, and resumes the newest session that continues it";

/// The detail of the directory to which Hermes changes by itself (0.19.0, cli.py, `_restore_session_cwd`).
const OWN_DIR: &str = "cwd in the database";

const SESSION: &[&str] = &[
    "id",
    "parent_session_id",
    "cwd",
    "title",
    "model",
    "model_config",
    "started_at",
    "archived",
    "git_branch",
    "end_reason",
    "source",
    "chat_id",
];

const AGENT_MANAGED: AgentManaged = AgentManaged::of_sessions(&["hermes", "sessions", "delete", "--yes"], true);

const DATABASE: Database = Database { schema: &HermesSchema, agent_managed: &AGENT_MANAGED, locate };

/// Implements [`Agent`](super::Agent) for Hermes.
pub(super) struct Hermes;

/// The only schema of Hermes.
struct HermesSchema;

impl Schema for HermesSchema {
    fn queries<'db>(&self, db: &'db Db) -> Result<Queries<'db>, QueryError> {
        db.require("sessions", &["id"])?;
        db.require("messages", &["id", "session_id", "role", "content", "timestamp"])?;
        let of_message = db.column_list("messages", "", &["role", "active", "compacted"])?;
        let has_calls = db.columns("messages")?.contains("tool_calls");
        let bounded = |column: &str| format!("CASE WHEN octet_length({column}) <= {MAX_BYTES} THEN {column} END");
        let calls = if has_calls { bounded("tool_calls") } else { "NULL".to_owned() };
        let sizes = [("messages", "content"), ("messages", "tool_calls")];
        let sql = TableSql {
            sessions: "sessions",
            columns: SESSION,
            computed: &chain::columns(db)?,
            messages: "messages",
            order: &["id"],
            turn: format!(
                "SELECT {of_message}, {}, {calls}, CAST(timestamp * 1000 AS INTEGER) FROM messages \
                 WHERE rowid = CAST(?1 AS INTEGER)",
                bounded("content")
            ),
            sizes: &sizes[..1 + usize::from(has_calls)],
            time: "timestamp",
            says_last_use: false,
            taken_back: None,
        };
        Queries::of_table(db, &sql, database::newer_schema(db, NEWEST))
    }

    fn fill(&self, row: &DbRow<'_>, copy: &mut SessionCopy) {
        match row.filled(2) {
            Some(dir) => copy.set_dir(Some(&dir), OWN_DIR),
            None => copy.set_dir(row.filled(12).as_deref(), "cwd in the database, of the session that it continues"),
        }
        copy.title = row.filled(3).map(|title| Fact::new(title, "title"));
        copy.model = row.filled(4).map(|model| Fact::new(model, "session"));
        copy.created_at = row.int(6).and_then(instant).map(|at| Fact::new(at, "started_at"));
        copy.active_at = copy.created_at.clone();
        copy.git_branch = row.filled(8).map(|branch| Fact::new(branch, "session"));
        let origin = records::origin(&row.text(5).unwrap_or_default());
        copy.kind = match &origin {
            HermesOrigin::Delegate(_) => SessionKind::Subagent,
            _ if row.int(7).is_some_and(|archived| archived != 0) => SessionKind::Archived,
            HermesOrigin::Branch(_) => SessionKind::Fork,
            // A program started it, and Hermes lists no session with the source "tool".
            HermesOrigin::Own if matches!(row.text(10).as_deref(), Some("cron" | "tool")) => SessionKind::Exec,
            // The gateway continues a chat of Telegram and the like; `hermes --continue` takes none.
            HermesOrigin::Own if row.filled(11).is_some() => SessionKind::Exec,
            HermesOrigin::Own => SessionKind::Main,
        };
        copy.parent_id = row.filled(1).or(match origin {
            HermesOrigin::Branch(parent) | HermesOrigin::Delegate(parent) => Some(parent),
            HermesOrigin::Own => None,
        });
        let other = |column: usize| row.filled(column).filter(|id| *id != copy.place.id);
        let (tip, opened) = (other(13), other(14));
        if let Some(opened) = opened.filter(|opened| Some(opened) != tip.as_ref()) {
            let why = format!("Hermes opens {opened} instead, a later conversation that names this one as its parent");
            let own = shell::selector(AgentKind::Hermes, &copy.place.id);
            let hint = format!(
                "run `rejoin resume {}` for that one, or `rejoin resume {own} --with AGENT` to go on with this one in a new session",
                shell::selector(AgentKind::Hermes, &opened)
            );
            copy.obstruct(Obstacle { hint: Some(hint), ..Obstacle::new(why) });
        } else if let Some(tip) = tip {
            copy.notes.push(format!("{CONTINUED}, {tip}"));
        }
    }

    fn add(&self, row: &DbRow<'_>, turn: &mut Option<Turn>) {
        // Messages that a compression removed from the context are still part of the conversation.
        let is_rewound = row.int(1) == Some(0) && row.int(2).unwrap_or_default() == 0;
        let columns = HermesColumns {
            role: row.text(0),
            content: row.text(3),
            tool_calls: row.text(4),
            is_rewound,
            at: row.int(5),
        };
        *turn = Some(records::turn(&columns));
    }
}

impl Reading for Hermes {
    fn usual_stores(&self, env: &Env) -> Vec<Store> {
        let mut stores = stores::selected_stores(AgentKind::Hermes, env);
        // A profile of the default home is found in the default home.
        let profiles = env.home.join(".hermes/profiles");
        stores.retain(|store| store.root.parent() != Some(&profiles));
        stores
    }

    fn engine(&self) -> &'static dyn Engine {
        &DATABASE
    }

    fn recorded_usage(&self, copy: &SessionCopy) -> Result<Usage, PathError> {
        // The billed cost, if it is known, or else the estimate by the prices of the model.
        let columns = ["actual_cost_usd", "estimated_cost_usd"];
        Ok(Usage::from_cost(database::cost(&copy.place, "sessions", &columns)?))
    }
}

impl Resuming for Hermes {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        let has_other =
            has_other_profile(&copy.place.store).map_err(|error| format!("the active profile is unknown: {error}"))?;
        let profile: &[&str] = if has_other { &["-p", "default"] } else { &[] };
        // With `-z`, Hermes would ignore the id and start a new session.
        let chat: &[&str] = if prompt.is_some() { &["chat", "-Q"] } else { &[] };
        let words = [&["hermes"], profile, chat, &["--resume", &copy.place.id]].concat();
        Ok(Command::new(&words, as_option(prompt, "-q", "--query")))
    }

    fn check_start(&self, copy: &SessionCopy, dir: &Path) -> Result<(), Unable> {
        // A continuation without its own directory stays where it is started.
        let has_own = copy.evidence.iter().any(|evidence| evidence.detail == OWN_DIR);
        if has_own { refuse_other_dir(copy, dir, &brief_elsewhere(copy)) } else { Ok(()) }
    }

    fn warning(&self, copy: &SessionCopy, _env: &Env) -> Option<String> {
        let is_archived = copy.kind == SessionKind::Archived;
        let closed =
            || is_archived.then(|| "it stays closed, so Hermes still leaves it out of its own list".to_owned());
        copy.notes.iter().find(|note| note.starts_with(CONTINUED)).cloned().or_else(closed)
    }
}

impl Moving for Hermes {
    fn relocation<'a>(&'a self, _moving: &StoreMove<'a>) -> Result<Relocation<'a>, Unable> {
        Ok(relocate_unless_back(brief_elsewhere))
    }
}

impl Housekeeping for Hermes {}

/// Finds the sessions in the database of a home and in those of its profiles, which are homes too.
fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
    let mut found = Found::default();
    database::locate(store, &store.root.join("state.db"), &HermesSchema, only, &mut found);
    let mut profiles = found.dirs(&store.root.join("profiles"));
    profiles.sort();
    for home in profiles {
        let mut named = Store::clone(store);
        named.set.insert(VARIABLE.into(), home.clone().into_os_string());
        named.unset.retain(|name| *name != VARIABLE);
        named.is_default = false;
        database::locate(&Arc::new(named), &home.join("state.db"), &HermesSchema, only, &mut found);
    }
    // Branches and continuations after a compression have a parent too.
    for place in &mut found.places {
        (place.parent_id, place.is_subagent) = (None, false);
    }
    found
}

/// Returns whether Hermes would start with the home of an active profile instead of that of the store: also if the variable
/// names a root, but not if it names the home of a profile (hermes_cli/main.py of 0.19.0).
fn has_other_profile(store: &Store) -> Result<bool, PathError> {
    let home = store.set.get(VARIABLE).map(Path::new);
    if home.and_then(Path::parent).is_some_and(|dir| dir.ends_with("profiles")) {
        return Ok(false);
    }
    let bytes = fsio::read_if_present(&store.root.join("active_profile"), MAX_NAME)?.unwrap_or_default();
    let name = String::from_utf8_lossy(&bytes).trim().to_owned();
    // Only a profile with its own home needs the variable.
    let is_name = !name.is_empty() && !name.contains(['/', '\0']) && !name.starts_with('.');
    Ok(is_name && name != "default" && reach::is_dir(&store.root.join("profiles").join(&name)) == Some(true))
}
