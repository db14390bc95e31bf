//! OpenCode: `opencode.db` in its data directory, only ever read, and the JSON tree that it used before.
//!
//! Facts: OpenCode 1.18.33, measured; anomalyco/opencode 063e8306 for what came before and after.

pub(super) mod records;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Agent, Command, Found, ReadContext, StoreNotes, as_last_argument};
use crate::agent::database::{self, MAX_BYTES, Queries, Schema, Table, TableSql};
use crate::agent::opencode::records as format;
use crate::error::PathError;
use crate::format::sqlite::{Db, QueryError, Row};
use crate::format::turn::{Turn, instant};
use crate::session::{AgentKind, Belongings, Copy, Fact, Located, Message, SessionKind, Store};
use crate::system::env::Env;

pub(super) mod about;
mod tree;

/// Names another database, absolute or below the data directory.
const VARIABLE: &str = "OPENCODE_DB";

const SESSION: [&str; 9] = [
    "id",
    "parent_id",
    "directory",
    "title",
    "model",
    "time_created",
    "time_updated",
    "time_archived",
    "fork_session_id",
];

/// The agent.
pub(super) struct OpenCode;

/// Its tables since 1.2 (`session`, `message`, `part`), and those that version 2 puts beside them.
struct Tables;

impl Schema for Tables {
    fn queries<'db>(&self, db: &'db Db) -> Result<Queries<'db>, QueryError> {
        let mut tables = Vec::new();
        // Version 2 leaves the old rows of a session that it took over as they were, so its own tables come first.
        let has_second = !db.columns("session_v2")?.is_empty();
        if has_second {
            db.require("session_v2", &["id"])?;
            db.require("session_message", &["session_id", "type", "seq", "data"])?;
            let sql = TableSql {
                sessions: "session_v2",
                columns: &SESSION,
                messages: "session_message",
                order: &["seq", "rowid"],
                turn: format!(
                    "SELECT {}, type, {}, NULL FROM session_message WHERE rowid = CAST(?1 AS INTEGER)",
                    db.column_list("session_message", "", &["time_created"])?,
                    bounded("data")
                ),
                sizes: &[("session_message", "data")],
            };
            tables.push(Table::new(db, &sql)?);
        }
        let has_first = !db.columns("session")?.is_empty() && !db.columns("message")?.is_empty();
        if has_first || !has_second {
            db.require("session", &["id"])?;
            db.require("message", &["id", "session_id", "time_created", "data"])?;
            db.require("part", &["id", "message_id", "data"])?;
            let sizes = [("message", "data"), ("part", "data")];
            let sql = TableSql {
                sessions: "session",
                columns: &SESSION,
                messages: "message",
                order: &["time_created", "id"],
                turn: format!(
                    "SELECT m.time_created, NULL, {}, {} FROM message AS m LEFT JOIN part AS p ON p.message_id = m.id \
                     WHERE m.rowid = CAST(?1 AS INTEGER) ORDER BY p.id",
                    bounded("m.data"),
                    bounded("p.data")
                ),
                sizes: &sizes[..1 + usize::from(db.columns("part")?.contains("session_id"))],
            };
            tables.push(Table::new(db, &sql)?);
        }
        Ok(Queries { tables, warning: None })
    }

    fn fill(&self, row: &Row<'_>, copy: &mut Copy) {
        database::set_dir(copy, row.text(2), "directory in the database");
        copy.model = row.text(4).as_deref().and_then(format::model_id).map(|model| Fact::new(model, "session"));
        let [created, updated, archived] = [5, 6, 7].map(|at| row.int(at));
        describe(copy, row.filled(3), [created, updated, archived]);
        if let Some(origin) = row.filled(8) {
            copy.kind = if copy.kind == SessionKind::Main { SessionKind::Fork } else { copy.kind };
            copy.parent_id.get_or_insert(origin);
        }
    }

    fn add(&self, row: &Row<'_>, turn: &mut Option<Turn>) {
        let turn = turn.get_or_insert_with(|| {
            let (kind, data) = (row.text(1), row.text(2).unwrap_or_default());
            format::turn(row.int(0), kind.as_deref(), &data)
        });
        if let Some(part) = row.text(3) {
            format::add_part(turn, &part);
        }
    }
}

fn bounded(column: &str) -> String {
    format!("CASE WHEN octet_length({column}) <= {MAX_BYTES} THEN {column} END")
}

/// Notes title, times (in milliseconds) and what these make of a session.
fn describe(copy: &mut Copy, title: Option<String>, [created, updated, archived]: [Option<i64>; 3]) {
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

/// Returns whether a title is one that `--fork` makes, which is all that a fork shows of where it came from.
fn is_forks_title(title: &str) -> bool {
    let number = title.trim_end().strip_suffix(')').and_then(|title| title.rsplit_once(" (fork #"));
    number.is_some_and(|(_, number)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

impl Agent for OpenCode {
    fn stores(&self, env: &Env) -> Vec<Store> {
        let mut stores = database::stores(AgentKind::OpenCode, "opencode", env);
        // Another database than the usual one is a store of its own, whose root is that file.
        let chosen = env.agent_variable(VARIABLE).filter(|name| *name != ":memory:");
        let chosen = chosen.zip(stores.first()).map(|(name, store)| store.root.join(name));
        stores.iter_mut().for_each(|store| store.unset.push(VARIABLE));
        if let Some(root) = chosen.filter(|root| is_other_database(root, &stores)) {
            stores.iter_mut().for_each(|store| store.is_default = false);
            stores.insert(0, Store::named(AgentKind::OpenCode, &root, VARIABLE, &root));
        }
        stores
    }

    fn locate(&self, store: &Arc<Store>) -> Found {
        locate(store, None)
    }

    fn locate_id(&self, store: &Arc<Store>, id: &str) -> Found {
        locate(store, Some(id))
    }

    fn notes_on(&self, _store: &Store, places: &[&Located], counts: bool, env: &Env) -> StoreNotes {
        let in_databases: Vec<&Located> = places.iter().copied().filter(|place| !tree::is_in(place)).collect();
        database::notes(&in_databases, counts, &Tables, env)
    }

    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<Copy, PathError> {
        if tree::is_in(&place) { tree::read(place, context) } else { database::read(&place, context) }
    }

    fn count(&self, copy: &mut Copy) -> Result<(), PathError> {
        if tree::is_in(&copy.place) { tree::count(copy) } else { database::count(&Tables, copy) }
    }

    fn transcript(&self, _place: &Located) -> Option<PathBuf> {
        None
    }

    fn written(&self, place: &Located) -> Vec<PathBuf> {
        if tree::is_in(place) { vec![place.path.to_path_buf()] } else { Vec::new() }
    }

    fn belongings(&self, place: &Located) -> Result<Belongings, String> {
        if tree::is_in(place) {
            return Ok(tree::belongings(place));
        }
        Err(format!("it is in OpenCode's database, so only OpenCode removes it: opencode session delete {}", place.id))
    }

    fn messages(&self, copy: &Copy, see: &mut dyn FnMut(Message) -> ControlFlow<()>) -> Result<(), PathError> {
        if tree::is_in(&copy.place) {
            return tree::messages(&copy.place, see);
        }
        database::messages(&Tables, &copy.place, see)
    }

    fn command(&self, copy: &Copy, prompt: Option<&str>) -> Result<Command, String> {
        // From another directory `run` answers and saves, but never ends; launched in the session's own it does.
        let verb = prompt.map(|_| "run");
        let words = ["opencode"].into_iter().chain(verb).chain(["--session", &copy.place.id]);
        let argv = words.map(str::to_owned).collect();
        Ok(Command { argv, last: as_last_argument(prompt), unset: Vec::new(), then_type: None })
    }
}

/// Returns whether a database that was named is not the usual one.
fn is_other_database(path: &Path, stores: &[Store]) -> bool {
    stores.iter().all(|store| path != store.root.join("opencode.db"))
}

/// Finds the sessions of the databases of a store, and those of its tree that are in none of them.
fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
    let mut found = Found::default();
    if store.root.extension().is_some_and(|extension| extension == "db") && store.root.is_file() {
        database::locate(store, &store.root, &Tables, only, &mut found);
        return found;
    }
    database::locate(store, &store.root.join("opencode.db"), &Tables, only, &mut found);
    // Other channels than the release keep one each, which the program finds only if it is named.
    let is_of_a_channel = |name: &OsStr| {
        let name = name.to_str().and_then(|name| name.strip_prefix("opencode-")?.strip_suffix(".db"));
        name.is_some_and(|channel| !channel.is_empty())
    };
    let mut channels: Vec<PathBuf> = found
        .entries(&store.root)
        .into_iter()
        .filter(|(entry, kind)| kind.is_file() && is_of_a_channel(&entry.file_name()))
        .map(|(entry, _)| entry.path())
        .collect();
    channels.sort();
    for path in channels {
        let mut named = Store::clone(store);
        named.set.insert(VARIABLE, path.clone().into_os_string());
        named.unset.retain(|name| *name != VARIABLE);
        named.is_default = false;
        database::locate(&Arc::new(named), &path, &Tables, only, &mut found);
    }
    // The files were left where they were when their sessions were taken into the database.
    let known: HashSet<String> = found.places.iter().map(|place| place.id.clone()).collect();
    let mut in_tree = tree::locate(store, only);
    in_tree.places.retain(|place| !known.contains(&place.id));
    found.extend(in_tree);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_title_that_the_fork_makes_is_a_forks() {
        assert!(is_forks_title("Say hello (fork #1)") && is_forks_title("a (fork #1) (fork #12)"));
        for other in ["", "Say hello", "(fork #)", "a (fork #x)", "a (fork #1) b", "why (fork #1"] {
            assert!(!is_forks_title(other), "{other}");
        }
    }
}
