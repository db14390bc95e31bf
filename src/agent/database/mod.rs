//! Shared code of the agents that store their sessions in a database. All rows for a listing are read in a few passes
//! over the file, instead of opening the file for each session.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::engine::{Engine, SessionEnd};
use super::{AgentManaged, Found, Observers, ReadContext, StoreNotes, decide_launch_dir, judge_by_age};
use crate::agent::ids::is_argument;
use crate::error::PathError;
use crate::format::sqlite::{self, Db, DbRow, QueryError, SqlValue};
use crate::format::turn::Turn;
use crate::session::branches::{BranchFilter, Branches};
use crate::session::usage::Cost;
use crate::session::{AgentKind, Fact, Health, Located, SessionCopy, SessionKind, Store, Visitor};
use crate::system::env::Env;
use crate::system::parallel;
use reader::{DAMAGED, DatabaseReader};
pub(super) use reader::{Older, Queries, SessionTable, TableSql};
pub(super) use tally::MessageTally;
use tally::tally;

mod reader;
mod tally;

/// Values of more bytes than this, mostly images, are not read.
pub(super) const MAX_BYTES: u32 = 8 * 1024 * 1024;
/// Number of messages in memory at a time. Reading also stops after `PAGE_BYTES`.
const PAGE: usize = 100;
const PAGE_BYTES: usize = 4 * 1024 * 1024;
/// Minimum sessions per connection, because opening a connection is slow.
const SMALLEST_SHARE: usize = 256;

/// The layout of one kind of database.
pub(super) trait Schema: Sync {
    /// Checks the tables of a database and prepares the queries; fails with the missing table or column.
    fn queries<'db>(&self, db: &'db Db) -> Result<Queries<'db>, QueryError>;

    /// Sets the fields of a session copy from its database row.
    fn fill(&self, row: &DbRow<'_>, copy: &mut SessionCopy);

    /// Returns a note on the messages that were rolled back, for an agent with [`TableSql::taken_back`].
    fn way_to_branches(&self) -> Option<&'static str> {
        None
    }

    /// Returns the query for the messages of the session `?1`, if they form a tree: row, id, parent, and 1 for the end
    /// of the active branch; without such an end, the last message is the end.
    fn parents(&self, _db: &Db) -> Result<Option<String>, QueryError> {
        Ok(None)
    }

    /// Returns the query for the time of the last message of the session `?1`, if that is the session's last use and not
    /// the time in its row.
    fn last_message(&self, _db: &Db) -> Result<Option<String>, QueryError> {
        Ok(None)
    }

    /// Begins a message with its first row, or adds a further row to it.
    fn add(&self, row: &DbRow<'_>, turn: &mut Option<Turn>);
}

/// The engine of agents that keep sessions as rows of databases.
pub(super) struct Database {
    pub schema: &'static dyn Schema,
    pub agent_managed: &'static AgentManaged,
    /// Finds all sessions of a store, or the one with an id.
    pub locate: fn(&Arc<Store>, Option<&str>) -> Found,
}

impl Engine for Database {
    fn locate(&self, store: &Arc<Store>, only: Option<&str>) -> Found {
        (self.locate)(store, only)
    }

    fn notes_on(&self, places: &[&Located], counts: bool, env: &Env) -> Option<StoreNotes> {
        Some(notes(places, counts, self.schema, env))
    }

    fn agent_managed(&self) -> Option<&'static AgentManaged> {
        Some(self.agent_managed)
    }

    /// Returns the copy in the notes.
    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
        let copies = context.notes.copies.get(&*place.path).map_or(&[][..], Vec::as_slice);
        let at = copies.binary_search_by(|copy| copy.place.id.cmp(&place.id));
        at.map(|at| copies[at].clone()).map_err(|_| {
            let why = std::io::Error::other("one of its sessions could not be read");
            PathError::new("read", &place.path, why)
        })
    }

    fn branches(&self, copy: &SessionCopy) -> Result<Branches, PathError> {
        sqlite::read(&copy.place.path, |db| {
            let mut reader = DatabaseReader::new(self.schema, db)?;
            let Some(table) = reader.session(&copy.place.id, true, &mut |_| ())? else {
                return Ok(Branches::default());
            };
            // Most sessions have one branch, and need no list of their messages.
            if reader.may_branch(table, &copy.place.id)? {
                Ok(MessageRows::read(&mut reader, &copy.place.id)?.branches)
            } else {
                Ok(Branches::default())
            }
        })
    }

    /// Passes the readable messages to `see`, in batches; fails afterwards if some are unreadable.
    fn messages_on(&self, copy: &SessionCopy, requested: BranchFilter, see: &mut Visitor<'_>) -> Result<(), PathError> {
        let place = &copy.place;
        // Opening a database is slow, and most sessions fit in the first batch.
        let (keys, mut batch) = sqlite::read(&place.path, |db| {
            let mut reader = DatabaseReader::new(self.schema, db)?;
            let MessageRows { keys, branches } = MessageRows::read(&mut reader, &place.id)?;
            let keys = keys.into_iter().enumerate().filter(|(at, _)| branches.has(*at, requested));
            let keys: Vec<_> = keys.map(|(at, key)| (branches.other(at), key)).collect();
            let batch = Batch::read(reader, &keys)?;
            Ok((keys, batch))
        })?;
        let (mut rest, mut is_damaged) = (keys.as_slice(), false);
        loop {
            rest = &rest[batch.turns.len()..];
            is_damaged |= batch.is_damaged;
            for (branch, turn) in batch.turns {
                let messages = turn.into_iter().flat_map(|turn| turn.messages);
                if messages.map(|message| message.on_branch(branch)).try_for_each(&mut *see).is_break() {
                    return Ok(());
                }
            }
            if rest.is_empty() {
                break;
            }
            batch = sqlite::read(&place.path, |db| Batch::read(DatabaseReader::new(self.schema, db)?, rest))?;
        }
        if is_damaged {
            let why = std::io::Error::other("it is damaged, and some messages could not be read");
            return Err(PathError::new("read", &place.path, why));
        }
        Ok(())
    }

    fn session_ends(&self, path: &Path, ids: &[&str]) -> Result<Vec<SessionEnd>, PathError> {
        sqlite::read(path, |db| {
            let mut reader = DatabaseReader::new(self.schema, db)?;
            ids.iter().map(|id| reader.end(id)).collect()
        })
    }

    fn newest_messages(&self, path: &Path, ids: &[&str]) -> Result<Vec<Option<Timestamp>>, PathError> {
        let (newest, is_damaged) = sqlite::read(path, |db| {
            let mut reader = DatabaseReader::new(self.schema, db)?;
            let newest = ids.iter().map(|id| reader.newest(id)).collect::<Result<_, _>>()?;
            Ok((newest, reader.is_damaged))
        })?;
        if is_damaged { Err(PathError::new("read", path, std::io::Error::other(DAMAGED))) } else { Ok(newest) }
    }

    /// Counts prompts and replies, unless that was done when the session was read.
    fn observe(&self, copy: &mut SessionCopy, _observers: &mut Observers) -> Result<(), PathError> {
        if copy.prompts.is_some() {
            return Ok(());
        }
        let id = copy.place.id.clone();
        let tally = sqlite::read(&copy.place.path, |db| {
            let mut reader = DatabaseReader::new(self.schema, db)?;
            Ok(match reader.session(&id, true, &mut |_| ())? {
                Some(table) => tally(&mut reader, table, &id)?,
                None => MessageTally::of_missing(reader.is_damaged),
            })
        })?;
        copy.mark_if(tally.is_damaged, Health::BadLines);
        tally.note_in(copy);
        Ok(())
    }
}

/// The rows of a session's messages.
#[derive(Default)]
struct MessageRows {
    /// The table and the row of each message.
    keys: Vec<(usize, i64)>,
    branches: Branches,
}

impl MessageRows {
    fn read(reader: &mut DatabaseReader<'_>, id: &str) -> Result<Self, QueryError> {
        let Some(table) = reader.session(id, true, &mut |_| ())? else { return Ok(Self::default()) };
        let keys = reader.all_keys(table, id)?;
        let branches = reader.branches(table, id, &keys)?;
        Ok(Self { keys, branches })
    }
}

/// Messages that are in memory at a time.
struct Batch {
    /// The messages, each with its branch; `None` in place of an unreadable one.
    turns: Vec<(Option<u16>, Option<Turn>)>,
    is_damaged: bool,
}

impl Batch {
    /// Reads the first messages of these rows.
    fn read(mut reader: DatabaseReader<'_>, keys: &[(Option<u16>, (usize, i64))]) -> Result<Self, QueryError> {
        let (mut turns, mut bytes) = (Vec::new(), 0);
        for (branch, (table, key)) in keys.iter().take(PAGE) {
            let turn = reader.turn(*table, *key)?;
            bytes += turn.iter().flat_map(|turn| &turn.messages).map(|message| message.text.len()).sum::<usize>();
            turns.push((*branch, turn));
            if bytes > PAGE_BYTES {
                break;
            }
        }
        Ok(Self { turns, is_damaged: reader.is_damaged })
    }
}

/// Returns the stores of an agent that keeps its data according to the XDG standard: its directory below
/// `$XDG_DATA_HOME`, and below the default path.
pub(super) fn stores(kind: AgentKind, name: &str, env: &Env) -> Vec<Store> {
    let usual = env.home.join(".local/share");
    let chosen = env.agent_variable("XDG_DATA_HOME").map(PathBuf::from).filter(|dir| *dir != usual);
    let usual =
        Store { is_default: chosen.is_none(), unset: vec!["XDG_DATA_HOME"], ..Store::usual(kind, usual.join(name)) };
    chosen.map(|dir| Store::usual(kind, dir.join(name))).into_iter().chain([usual]).collect()
}

/// Returns the store that an environment variable names, in a directory below its value, and those of [`stores`].
pub(super) fn stores_by(
    kind: AgentKind,
    name: &str,
    (variable, below): (&'static str, Option<&str>),
    env: &Env,
) -> Vec<Store> {
    let mut stores = stores(kind, name, env);
    stores.iter_mut().for_each(|store| store.unset.push(variable));
    if let Some(dir) = env.agent_variable(variable).map(|dir| env.absolute(Path::new(dir))) {
        stores.iter_mut().for_each(|store| store.is_default = false);
        let root: PathBuf = dir.iter().chain(below.map(OsStr::new)).collect();
        stores.insert(0, Store::named(kind, root, variable, &dir));
    }
    stores
}

/// Like [`cost_in`], for a database that is not open yet.
pub(super) fn cost(place: &Located, table: &str, columns: &[&str]) -> Result<Option<Cost>, PathError> {
    sqlite::read(&place.path, |db| cost_in(db, place, table, columns))
}

/// Returns the cost in the row of a session, in US dollars: the first of these columns that has one. Columns that the
/// version lacks, and texts, have no cost.
pub(super) fn cost_in(db: &Db, place: &Located, table: &str, columns: &[&str]) -> Result<Option<Cost>, QueryError> {
    let known = db.columns(table)?;
    let columns: Vec<&str> = columns.iter().copied().filter(|column| known.contains(*column)).collect();
    let mut cost = None;
    if !columns.is_empty() {
        let sql = format!("SELECT {} FROM {table} WHERE id = ?1", columns.join(", "));
        db.query(&sql, &[&place.id], |row| {
            cost = (0..columns.len()).find_map(|at| match row.value(at) {
                SqlValue::Real(dollars) => Cost::from_dollars(dollars),
                SqlValue::Integer(dollars) => Cost::from_dollars(f64::from(i32::try_from(dollars).ok()?)),
                _ => None,
            });
        })?;
    }
    Ok(cost)
}

/// Returns the highest number in the column of a database's versions; `None` if it cannot be read.
pub(super) fn version(db: &Db, table: &str, column: &str) -> Option<i64> {
    let mut version = None;
    if db.columns(table).ok()?.contains(column) {
        db.query(&format!("SELECT max({column}) FROM {table}"), &[], |row| version = row.int(0)).ok()?;
    }
    version
}

/// Returns a warning if the schema is newer than the newest known one.
pub(super) fn newer_schema(db: &Db, newest: i64) -> Option<String> {
    let version = version(db, "schema_version", "version").filter(|version| *version > newest)?;
    Some(format!(
        "its schema {version} is newer than {newest}, the newest that rejoin knows; the sessions that it could read are listed"
    ))
}

/// Finds all sessions in a database, or the requested one; a missing database has none.
pub(super) fn locate(store: &Arc<Store>, path: &Path, schema: &dyn Schema, only: Option<&str>, found: &mut Found) {
    let read = sqlite::read(path, |db| {
        let mut reader = DatabaseReader::new(schema, db)?;
        let mut rows = Vec::new();
        match only {
            Some(id) => {
                let mut see = |row: &DbRow<'_>| rows.extend(row.text(0).map(|id| (id, row.filled(1))));
                reader.session(id, false, &mut see)?;
            }
            None => rows.extend(reader.ids()?.into_iter().map(|id| (id.id, id.parent))),
        }
        Ok((rows, reader.is_damaged, reader.warning()))
    });
    match read {
        Ok((rows, is_damaged, warning)) => {
            found.places.reserve(rows.len());
            for (id, parent_id) in rows {
                if is_argument(&id) {
                    let is_subagent = parent_id.is_some();
                    found.places.push(Located { parent_id, is_subagent, ..Located::new(store, id, path) });
                } else {
                    found.problem(path, "one of its sessions has an id that no agent creates");
                }
            }
            if is_damaged {
                found.problem(path, DAMAGED);
            }
            if let Some(warning) = warning {
                found.problem(path, warning);
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => found.problem(path, error.reason()),
    }
}

/// Reads the requested sessions of a store, and with `counts` all their messages.
pub(super) fn notes(places: &[&Located], counts: bool, schema: &'static dyn Schema, env: &Env) -> StoreNotes {
    let mut notes = StoreNotes::default();
    let mut by_file: BTreeMap<&Path, Vec<&Located>> = BTreeMap::new();
    places.iter().for_each(|place| by_file.entry(&place.path).or_default().push(place));
    for (path, places) in by_file {
        let share = places.len().div_ceil(rayon::current_num_threads()).max(SMALLEST_SHARE);
        let read = |places: &[&Located]| {
            sqlite::read(path, |db| copies(schema, DatabaseReader::new(schema, db)?, places, counts))
        };
        let read: Result<Vec<(Vec<SessionCopy>, bool)>, PathError> =
            parallel::map(places.chunks(share), read).into_iter().collect();
        match read {
            Ok(parts) => {
                let mut copies = Vec::with_capacity(places.len());
                let mut is_damaged = false;
                for (mut part, is_part_damaged) in parts {
                    copies.append(&mut part);
                    is_damaged |= is_part_damaged;
                }
                if is_damaged {
                    notes.problem(path, DAMAGED);
                }
                copies.iter_mut().for_each(|copy| judge_liveness(copy, env.clock.now));
                copies.sort_unstable_by(|a, b| a.place.id.cmp(&b.place.id));
                notes.copies.insert(path.to_owned(), copies);
            }
            Err(error) => notes.problem(path, error.reason()),
        }
    }
    notes
}

/// Reads sessions, and returns whether some of them could not be read completely.
fn copies(
    schema: &dyn Schema,
    mut reader: DatabaseReader<'_>,
    places: &[&Located],
    counts: bool,
) -> Result<(Vec<SessionCopy>, bool), QueryError> {
    let mut copies = Vec::with_capacity(places.len());
    let mut is_damaged = false;
    for place in places {
        let mut copy = SessionCopy { is_size_known: false, ..SessionCopy::new((*place).clone()) };
        let Some(table) = reader.session(&place.id, true, &mut |row| schema.fill(row, &mut copy))? else { continue };
        is_damaged |= std::mem::take(&mut reader.is_damaged);
        if let Some(newest) = reader.last_use(table, &place.id)? {
            copy.active_at = Some(Fact::new(newest, "message"));
        }
        look_for_the_prompt(&mut reader, table, &mut copy)?;
        reader.judge(table, &mut copy)?;
        // Without a prompt, the messages may be in an unknown format.
        if counts || copy.first_prompt.is_none() && copy.kind != SessionKind::Empty {
            let tally = tally(&mut reader, table, &place.id)?;
            if counts { tally.note_in(&mut copy) } else { tally.note_format(&mut copy) }
        }
        if std::mem::take(&mut reader.is_damaged) {
            is_damaged = true;
            copy.health.insert(Health::BadLines);
        }
        decide_launch_dir(&mut copy);
        copies.push(copy);
    }
    Ok((copies, is_damaged | reader.is_damaged))
}

/// Finds the first prompt among the first messages, and marks a session without messages as empty.
fn look_for_the_prompt(
    reader: &mut DatabaseReader<'_>,
    table: usize,
    copy: &mut SessionCopy,
) -> Result<(), QueryError> {
    // The prompt is nearly always the very first message.
    let mut done = 0;
    for limit in [1, 40] {
        let keys = reader.keys(table, &copy.place.id, Some(limit))?;
        if keys.is_empty() && !reader.is_damaged {
            copy.be_empty();
        }
        for key in keys.iter().skip(done) {
            let turn = reader.turn(table, *key)?;
            if let Some(prompt) = turn.as_ref().and_then(Turn::prompt) {
                copy.first_prompt = Some(Fact::new(prompt.to_owned(), "database"));
                return Ok(());
            }
        }
        if keys.is_empty() {
            break;
        }
        done = keys.len();
    }
    Ok(())
}

/// Decides by the time of the last write whether a session may be in use.
pub(super) fn judge_liveness(copy: &mut SessionCopy, now: Timestamp) {
    let last = copy.active_at.as_ref().map(|at| at.value);
    judge_by_age(copy, last, now);
}
