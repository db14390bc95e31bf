//! Crush: a read-only database in the `.crush` of each project. Its registry names the databases; others are in the
//! directories of other sessions.
//!
//! Facts: charmbracelet/crush 37f36e93; not measured, because the program was not available.

pub(super) mod records;

pub(super) mod about;

use std::ffi::OsStr;

use foldhash::{HashSet, HashSetExt as _};

use super::{AgentManaged, as_last_argument};
use crate::agent::database::{self, Database, MAX_BYTES, Queries, Schema, TableSql};
use crate::agent::prelude::*;
use crate::agent::reading::with_parents;
use crate::format::sqlite::{Db, DbRow, QueryError};
use crate::format::text;
use crate::format::turn::instant;
use records::Project;

/// The day of the newest known migration; the number of a migration begins with its day.
const NEWEST: i64 = 20_260_127;
const MAX_REGISTRY: u64 = 16 * 1024 * 1024;
/// Titles of a session that neither the user nor a model has named: those of the interface and of the agent, by
/// charmbracelet/crush internal/agent/agent.go 004515c4.
const UNTITLED: [&str; 2] = ["New Session", "Untitled Session"];
const REGISTRY: &str = "projects.json";
const FILE: &str = "crush.db";

const SESSION: &[&str] = &["id", "parent_session_id", "title", "created_at", "updated_at"];

const AGENT_MANAGED: AgentManaged = AgentManaged::of_sessions(&["crush", "session", "delete"], false);

const DATABASE: Database = Database { schema: &CrushSchema, agent_managed: &AGENT_MANAGED, locate };

/// Implements [`Agent`](super::Agent) for Crush.
pub(super) struct Crush;

/// The only schema of Crush.
struct CrushSchema;

impl Schema for CrushSchema {
    fn queries<'db>(&self, db: &'db Db) -> Result<Queries<'db>, QueryError> {
        db.require("sessions", &["id"])?;
        db.require("messages", &["session_id", "role", "parts", "created_at"])?;
        let of_message = db.column_list("messages", "", &["is_summary_message", "model"])?;
        let sql = TableSql {
            sessions: "sessions",
            columns: SESSION,
            computed: &[],
            messages: "messages",
            order: &["created_at", "rowid"],
            turn: format!(
                "SELECT created_at, role, CASE WHEN octet_length(parts) <= {MAX_BYTES} THEN parts END, {of_message} \
                 FROM messages WHERE rowid = CAST(?1 AS INTEGER)"
            ),
            sizes: &[("messages", "parts")],
            time: "created_at",
            says_last_use: true,
            taken_back: None,
        };
        let version =
            database::version(db, "goose_db_version", "version_id").filter(|version| day_of(*version) > NEWEST);
        Queries::of_table(db, &sql, version.map(|version| {
            format!("its migration {version} is newer than those of {NEWEST}, the newest that rejoin knows; the sessions that it could read are listed")
        }))
    }

    fn fill(&self, row: &DbRow<'_>, copy: &mut SessionCopy) {
        let title = row.filled(2).filter(|title| !UNTITLED.contains(&title.as_str()));
        copy.title = title.map(|title| Fact::new(title, "title"));
        copy.created_at = row.int(3).and_then(instant).map(|at| Fact::new(at, "created_at"));
        copy.active_at = row.int(4).and_then(instant).map(|at| Fact::new(at, "updated_at"));
        copy.active_at = copy.active_at.take().or_else(|| copy.created_at.clone());
        copy.kind = if copy.place.is_subagent { SessionKind::Subagent } else { SessionKind::Main };
        // The database contains no directory; its location determines the directory.
        let dir = copy.place.project.as_deref().map(str::to_owned);
        copy.set_dir(dir.as_deref(), "the directory of its database");
    }

    fn add(&self, row: &DbRow<'_>, turn: &mut Option<Turn>) {
        let is_summary = row.int(3).is_some_and(|flag| flag != 0);
        let (role, parts) = (row.text(1).unwrap_or_default(), row.text(2).unwrap_or_default());
        let mut new_turn = records::turn(&role, &parts, row.int(0), is_summary);
        new_turn.model = row.filled(4);
        *turn = Some(new_turn);
    }
}

/// Returns the day of a migration, which is numbered by day or by second.
fn day_of(version: i64) -> i64 {
    let digits = version.checked_ilog10().unwrap_or_default() + 1;
    version / 10_i64.pow(digits.saturating_sub(8))
}

impl Reading for Crush {
    fn usual_stores(&self, env: &Env) -> Vec<Store> {
        database::stores_by(AgentKind::Crush, "crush", ("CRUSH_GLOBAL_DATA", None), env)
    }

    fn engine(&self) -> &'static dyn Engine {
        &DATABASE
    }

    fn locate_in(&self, asked: &[&Path], worked_in: &HashSet<&OsStr>, env: &Env) -> Found {
        let mut found = Found::default();
        let Some(store) = self.stores(env).into_iter().next().map(Arc::new) else { return found };
        // Crush uses the nearest `.crush`, here or in a parent directory.
        for dir in with_parents(asked, worked_in, env) {
            let database = dir.join(".crush").join(FILE);
            if reach::symlink_metadata(&database).is_ok_and(|metadata| metadata.is_symlink()) {
                // The link may be part of a cloned repository, and point to one of the user's files.
                found.problem(&database, "it is a link in a project, which is not followed");
                continue;
            }
            in_project(&store, &Project { dir: dir.to_owned(), data_dir: dir.join(".crush") }, None, &mut found);
        }
        found
    }

    fn notes_on(&self, _store: &Store, places: &[&Located], counts: bool, env: &Env) -> StoreNotes {
        let mut notes = database::notes(places, counts, &CrushSchema, env);
        let mut registered = None;
        for (path, copies) in &mut notes.copies {
            let registered = registered.get_or_insert_with(|| self.registered(env));
            let data_dir = path.parent().and_then(|dir| reach::canonicalize(dir).ok());
            // The author of the directory may have written its database too.
            if data_dir.is_none_or(|dir| !registered.contains(&dir)) {
                for copy in copies {
                    copy.health.insert(Health::Planted);
                }
            }
        }
        notes
    }

    fn recorded_usage(&self, copy: &SessionCopy) -> Result<Usage, PathError> {
        // The cost of a sub-agent is added to that of its parent at its end.
        let is_own = copy.kind != SessionKind::Subagent;
        let cost = if is_own { database::cost(&copy.place, "sessions", &["cost"])? } else { None };
        Ok(Usage::from_cost(cost))
    }
}

impl Resuming for Crush {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        let mut argv = vec!["crush".to_owned()];
        argv.extend(prompt.map(|_| "run".to_owned()));
        argv.extend(["--session".to_owned(), copy.place.id.clone()]);
        let data_dir = copy.place.path.parent();
        if let Some(data_dir) =
            data_dir.filter(|dir| records::dir_above(dir) != copy.launch_dir.as_ref().map(|it| &*it.value))
        {
            // Without the option, Crush would use the `.crush` of the current directory.
            let Some(data_dir) = data_dir.to_str() else {
                return Err("the directory of its database is not UTF-8, so it cannot be named".into());
            };
            argv.extend(["--data-dir".to_owned(), data_dir.to_owned()]);
        }
        Ok(Command { argv, last: as_last_argument(prompt), unset: Vec::new(), then_type: None })
    }
}

impl Moving for Crush {
    fn is_filed_under(&self, project: &str, dir: &Path) -> Option<bool> {
        Some(Path::new(project) == dir)
    }

    fn relocation<'a>(&'a self, _moving: &StoreMove<'a>) -> Result<Relocation<'a>, Unable> {
        let why = "Crush keeps it in a directory of the project, which goes where the project goes: move that, or \
                   run `crush` in the new place once";
        Ok(Relocation::of_each(move |_, _| Err(why.into())))
    }
}

impl Housekeeping for Crush {}

impl Crush {
    /// Returns the data directories in Crush's registry, with their links resolved.
    fn registered(&self, env: &Env) -> HashSet<PathBuf> {
        let projects = self.stores(env).into_iter().flat_map(|store| projects(&store, &mut Found::default()));
        projects.filter_map(|project| reach::canonicalize(&project.data_dir).ok()).collect()
    }
}

/// Reads the registry of a store.
fn projects(store: &Store, found: &mut Found) -> Vec<Project> {
    let path = store.root.join(REGISTRY);
    let Some(bytes) = read_or_report(&path, MAX_REGISTRY, &mut found.problems) else { return Vec::new() };
    match records::projects(&bytes) {
        Ok((projects, unknown)) => {
            if unknown > 0 {
                found.problem(&path, format!("{} without a directory", text::count(unknown, "project")));
            }
            projects
        }
        Err(error) => {
            found.problem(&path, format!("it is not JSON as Crush writes it: {error}"));
            Vec::new()
        }
    }
}

/// Finds the sessions of the databases that the registry names.
fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
    let mut found = Found::default();
    let projects = projects(store, &mut found);
    let mut seen = HashSet::new();
    for project in projects {
        if seen.insert(project.data_dir.clone()) {
            in_project(store, &project, only, &mut found);
        }
    }
    found
}

/// Finds the sessions of one database, and files them under its project directory.
fn in_project(store: &Arc<Store>, project: &Project, only: Option<&str>, found: &mut Found) {
    let path = project.data_dir.join(FILE);
    if !is_there(&path) {
        return;
    }
    let before = found.places.len();
    database::locate(store, &path, &CrushSchema, only, found);
    let name: Option<Arc<str>> = project.dir.to_str().map(Arc::from);
    found.places[before..].iter_mut().for_each(|place| place.project.clone_from(&name));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison_orders_migration_versions_by_day() {
        assert_eq!((day_of(20_260_127), day_of(20_260_127_000_000), day_of(0), day_of(17)), (NEWEST, NEWEST, 0, 17));
        assert!(day_of(20_270_101_120_000) > NEWEST && day_of(20_250_424_200_609) < NEWEST);
    }
}
