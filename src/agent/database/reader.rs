//! Reads a database row by row, so that a damaged page or a value of the wrong type hides only its own rows.

use std::cell::Cell;
use std::collections::{HashMap, HashSet, VecDeque};

use jiff::Timestamp;

use super::Schema;
use crate::agent::engine::SessionEnd;
use crate::format::sqlite::{Db, DbRow, PreparedQuery, QueryError};
use crate::format::turn::{Turn, instant};
use crate::session::branches::{Branches, Node, Parent, Part, hash};
use crate::session::{Fact, SessionCopy};

/// Maximum number of ranges that are searched for rows between damaged pages.
const MAX_PROBES: usize = 4096;

/// The message about a damaged database; one constant, so that it is reported once.
pub(super) const DAMAGED: &str = "it is damaged in places; what can still be read is listed";

/// The queries for one kind of database.
pub(in crate::agent) struct Queries<'db> {
    /// The tables that hold sessions; if several hold one id, the first counts.
    pub(in crate::agent) tables: Vec<SessionTable<'db>>,
    /// A warning about the version of the database.
    pub(in crate::agent) warning: Option<String>,
    /// The messages with which the second table continues sessions of the first one, if they are known.
    pub(in crate::agent) older: Option<Older<'db>>,
}

impl<'db> Queries<'db> {
    /// Prepares the queries of a database with one table of sessions.
    pub(in crate::agent) fn of_table(
        db: &'db Db,
        sql: &TableSql<'_>,
        warning: Option<String>,
    ) -> Result<Self, QueryError> {
        Ok(Self { tables: vec![SessionTable::new(db, sql)?], warning, older: None })
    }
}

/// The second table, of an older version that was used after a newer one had imported its sessions into the first
/// table.
pub(in crate::agent) struct Older<'db> {
    /// The rows of the messages that the older version added to the session `?1` after the import.
    pub(in crate::agent) later: PreparedQuery<'db>,
    /// Marks a session, given the number of its table, and the number of prompts and replies that were added later.
    pub(in crate::agent) judge: fn(&mut SessionCopy, usize, u64),
}

/// The names from which the queries of a table of sessions are built.
pub(in crate::agent) struct TableSql<'a> {
    /// The table of sessions, whose ids are in `id`.
    pub(in crate::agent) sessions: &'a str,
    /// The columns of a session: its id, its parent, then the others that [`Schema::fill`] reads.
    pub(in crate::agent) columns: &'a [&'a str],
    /// Expressions that are read after these columns.
    pub(in crate::agent) computed: &'a [String],
    /// The table of messages, whose sessions are in `session_id`.
    pub(in crate::agent) messages: &'a str,
    /// The columns that order messages.
    pub(in crate::agent) order: &'a [&'a str],
    /// The query for all rows of the message in the row `?1`.
    pub(in crate::agent) turn: String,
    /// Tables and columns to sum for the size of the session.
    pub(in crate::agent) sizes: &'a [(&'a str, &'a str)],
    /// The column of a message's time, in seconds or milliseconds.
    pub(in crate::agent) time: &'a str,
    /// Set if a session's own row has the time of its last use.
    pub(in crate::agent) says_last_use: bool,
    /// The query for the row of the first message that was rolled back in the session `?1`, and 1 if a part of it was
    /// kept.
    pub(in crate::agent) taken_back: Option<String>,
}

/// The queries of a table of sessions.
pub(in crate::agent) struct SessionTable<'db> {
    /// Row, id and parent of the sessions in the rows from `?1` to `?2`.
    rows: PreparedQuery<'db>,
    rows_backwards: PreparedQuery<'db>,
    /// Every id in the index, if there is one.
    index: PreparedQuery<'db>,
    index_backwards: PreparedQuery<'db>,
    session: PreparedQuery<'db>,
    session_in_row: PreparedQuery<'db>,
    /// The rows of the messages of the session `?1`, at most `?2`.
    keys: PreparedQuery<'db>,
    keys_backwards: PreparedQuery<'db>,
    turn: PreparedQuery<'db>,
    sizes: Vec<PreparedQuery<'db>>,
    newest: Option<PreparedQuery<'db>>,
    taken_back: Option<PreparedQuery<'db>>,
    says_last_use: bool,
}

impl<'db> SessionTable<'db> {
    pub(in crate::agent) fn new(db: &'db Db, sql: &TableSql<'_>) -> Result<Self, QueryError> {
        let TableSql { sessions, messages, order, turn, sizes, time, .. } = sql;
        let parent = db.column_list(sessions, "", &sql.columns[1..2])?;
        let columns = [&[db.column_list(sessions, "", sql.columns)?], sql.computed].concat().join(", ");
        let rows = |direction: &str| {
            db.prepare(&format!(
                "SELECT rowid, id, {parent} FROM {sessions} \
                 WHERE rowid BETWEEN CAST(?1 AS INTEGER) AND CAST(?2 AS INTEGER) ORDER BY rowid {direction}"
            ))
        };
        let keys = |direction: &str| {
            let order: Vec<String> = order.iter().map(|column| format!("{column} {direction}")).collect();
            db.prepare(&format!(
                "SELECT rowid FROM {messages} WHERE session_id = ?1 ORDER BY {} LIMIT CAST(?2 AS INTEGER)",
                order.join(", ")
            ))
        };
        let of_session = |what: &str, table: &str| format!("SELECT {what} FROM {table} WHERE session_id = ?1");
        let size =
            |(table, column): &(&str, &str)| db.prepare(&of_session(&format!("sum(octet_length({column}))"), table));
        Ok(Self {
            rows: rows("ASC")?,
            rows_backwards: rows("DESC")?,
            index: db.prepare(&format!("SELECT id FROM {sessions} ORDER BY id ASC"))?,
            index_backwards: db.prepare(&format!("SELECT id FROM {sessions} ORDER BY id DESC"))?,
            session: db.prepare(&format!("SELECT {columns} FROM {sessions} WHERE id = ?1"))?,
            session_in_row: db
                .prepare(&format!("SELECT {columns} FROM {sessions} WHERE rowid = CAST(?1 AS INTEGER)"))?,
            keys: keys("ASC")?,
            keys_backwards: keys("DESC")?,
            turn: db.prepare(turn)?,
            sizes: sizes.iter().map(size).collect::<Result<_, _>>()?,
            newest: if db.columns(messages)?.contains(*time) {
                Some(db.prepare(&of_session(&newest(time), messages))?)
            } else {
                None
            },
            taken_back: sql.taken_back.as_deref().map(|sql| db.prepare(sql)).transpose()?,
            says_last_use: sql.says_last_use,
        })
    }

    /// Finds every session that can still be read: from both ends up to the damage, then between the damaged pages.
    fn ids(&mut self, is_damaged: &mut bool) -> Result<Vec<SessionRow>, QueryError> {
        let mut found = SessionRows::default();
        let mut open = VecDeque::from([(i64::MIN, i64::MAX)]);
        for _ in 0..MAX_PROBES {
            let Some((from, to)) = open.pop_front() else { break };
            let range = [from.to_string(), to.to_string()];
            let range = [range[0].as_str(), range[1].as_str()];
            let (mut first, mut last) = (None, None);
            if is_whole(self.rows.rows(&range, |row| first = found.add(row).or(first)))? {
                continue;
            }
            *is_damaged = true;
            if is_whole(self.rows_backwards.rows(&range, |row| last = found.add(row).or(last)))? {
                continue;
            }
            let (from, to) =
                (first.map_or(from, |row| row.saturating_add(1)), last.map_or(to, |row| row.saturating_sub(1)));
            if from < to {
                let middle = from.midpoint(to);
                open.extend([(from, middle), (middle + 1, to)]);
            }
        }
        *is_damaged |= found.seen.is_some();
        let mut list = found.list;
        list.sort_unstable_by_key(|id| id.row);
        if *is_damaged {
            self.add_from_index(&mut list)?;
        }
        Ok(list)
    }

    /// Adds the sessions that are found only through the index.
    fn add_from_index(&mut self, list: &mut Vec<SessionRow>) -> Result<(), QueryError> {
        let mut known: HashSet<String> = list.iter().map(|id| id.id.clone()).collect();
        let mut others = Vec::new();
        for query in [&mut self.index, &mut self.index_backwards] {
            let see = |row: &DbRow<'_>| others.extend(row.text(0).filter(|id| known.insert(id.clone())));
            is_whole(query.rows(&[], see))?;
        }
        for id in others {
            let mut parent = None;
            let looked = self.session.rows(&[&id], |row| parent = Some(row.filled(1)));
            is_whole(looked)?;
            list.extend(parent.map(|parent| SessionRow { row: None, id, parent }));
        }
        Ok(())
    }
}

/// Returns the SQL for the newest time in a column, in milliseconds; seconds are recognised by the limit of
/// [`crate::format::turn::instant`].
fn newest(column: &str) -> String {
    format!("max(CAST(CASE WHEN {column} > 10000000000 THEN {column} ELSE {column} * 1000 END AS INTEGER))")
}

/// The rows of a table of sessions, each once, even if a damaged tree contains it several times.
#[derive(Default)]
struct SessionRows {
    list: Vec<SessionRow>,
    /// The rows seen; `None` while they are in ascending order.
    seen: Option<HashSet<i64>>,
}

impl SessionRows {
    /// Adds a row, and returns its number.
    fn add(&mut self, row: &DbRow<'_>) -> Option<i64> {
        let at = row.int(0)?;
        if self.seen.is_none() && self.list.last().is_some_and(|last| last.row >= Some(at)) {
            self.seen = Some(self.list.iter().filter_map(|id| id.row).collect());
        }
        if self.seen.as_mut().is_none_or(|seen| seen.insert(at)) {
            self.list.extend(row.text(1).map(|id| SessionRow { row: Some(at), id, parent: row.filled(2) }));
        }
        Some(at)
    }
}

/// A session's row.
pub(super) struct SessionRow {
    row: Option<i64>,
    pub(super) id: String,
    pub(super) parent: Option<String>,
}

/// Returns whether a query read all rows; false if it met damage. Other errors are returned.
fn is_whole(looked: Result<(), QueryError>) -> Result<bool, QueryError> {
    match looked {
        Ok(()) => Ok(true),
        Err(error) if error.is_damage() => Ok(false),
        Err(error) => Err(error),
    }
}

/// A database that is being read.
pub(super) struct DatabaseReader<'db> {
    pub(super) schema: &'db dyn Schema,
    queries: Queries<'db>,
    /// The query of [`Schema::parents`].
    parents: Option<PreparedQuery<'db>>,
    /// The query of [`Schema::last_message`].
    last_message: Option<PreparedQuery<'db>>,
    /// The row of each session per table, to find it without an index.
    rows: Option<Vec<HashMap<String, i64>>>,
    /// Set if something was unreadable since the flag was cleared.
    pub(super) is_damaged: bool,
}

impl<'db> DatabaseReader<'db> {
    pub(super) fn new(schema: &'db dyn Schema, db: &'db Db) -> Result<Self, QueryError> {
        let queries = schema.queries(db)?;
        let parents = schema.parents(db)?.map(|sql| db.prepare(&sql)).transpose()?;
        let last_message = schema.last_message(db)?.map(|sql| db.prepare(&sql)).transpose()?;
        Ok(Self { schema, queries, parents, last_message, rows: None, is_damaged: false })
    }

    pub(super) fn warning(&mut self) -> Option<String> {
        self.queries.warning.take()
    }

    /// Returns every session once.
    pub(super) fn ids(&mut self) -> Result<Vec<SessionRow>, QueryError> {
        let mut found: Vec<SessionRow> = Vec::new();
        let mut known: HashSet<String> = HashSet::new();
        let several = self.queries.tables.len() > 1;
        for table in &mut self.queries.tables {
            let mut is_damaged = false;
            let mut ids = table.ids(&mut is_damaged)?;
            self.is_damaged |= is_damaged;
            // An undamaged table has no duplicate ids.
            if several || is_damaged {
                ids.retain(|id| known.insert(id.id.clone()));
            }
            found.append(&mut ids);
        }
        Ok(found)
    }

    /// Passes the row of a session to `see`, and returns its table.
    pub(super) fn session(
        &mut self,
        id: &str,
        searches: bool,
        see: &mut dyn FnMut(&DbRow<'_>),
    ) -> Result<Option<usize>, QueryError> {
        for at in 0..self.queries.tables.len() {
            let is_there = Cell::new(false);
            let mut see = |row: &DbRow<'_>| {
                if !is_there.replace(true) {
                    see(row);
                }
            };
            let looked = is_whole(self.queries.tables[at].session.rows(&[id], &mut see))?;
            self.is_damaged |= !looked;
            // A damaged index may not find the row.
            if !is_there.get()
                && (!looked || searches)
                && let Some(row) = self.rows()?[at].get(id).copied()
            {
                let looked = self.queries.tables[at].session_in_row.rows(&[&row.to_string()], &mut see);
                self.is_damaged |= !is_whole(looked)?;
            }
            if is_there.get() {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    fn rows(&mut self) -> Result<&[HashMap<String, i64>], QueryError> {
        if self.rows.is_none() {
            let mut rows = Vec::new();
            for table in &mut self.queries.tables {
                let ids = table.ids(&mut self.is_damaged)?;
                rows.push(ids.into_iter().filter_map(|id| Some((id.id, id.row?))).collect());
            }
            self.rows = Some(rows);
        }
        Ok(self.rows.as_deref().unwrap_or_default())
    }

    /// Returns the rows of the messages of a session, in order: all of them, or the first few. The rows are listed
    /// before they are read, so that each is read once, whatever the ordering columns contain.
    pub(super) fn keys(&mut self, table: usize, id: &str, limit: Option<u32>) -> Result<Vec<i64>, QueryError> {
        let table = &mut self.queries.tables[table];
        let most = limit.map_or(-1, i64::from).to_string();
        let mut keys = Vec::new();
        if is_whole(table.keys.rows(&[id, &most], |row| keys.extend(row.int(0))))? {
            return Ok(keys);
        }
        self.is_damaged = true;
        if limit.is_none() {
            let mut known: HashSet<i64> = HashSet::new();
            keys.retain(|key| known.insert(*key));
            let mut last = Vec::new();
            is_whole(table.keys_backwards.rows(&[id, &most], |row| {
                last.extend(row.int(0).filter(|key| known.insert(*key)));
            }))?;
            keys.extend(last.into_iter().rev());
        }
        Ok(keys)
    }

    /// Returns the tables and rows of all messages of a session; those that an older version added come last.
    pub(super) fn all_keys(&mut self, table: usize, id: &str) -> Result<Vec<(usize, i64)>, QueryError> {
        let mut keys: Vec<(usize, i64)> = self.keys(table, id, None)?.into_iter().map(|key| (table, key)).collect();
        keys.extend(self.later(table, id)?.into_iter().map(|key| (table + 1, key)));
        Ok(keys)
    }

    /// Returns the row of the first message that was rolled back in a session, and whether a part of it was kept.
    pub(super) fn taken_back(&mut self, table: usize, id: &str) -> Result<Option<(i64, bool)>, QueryError> {
        let Some(query) = &mut self.queries.tables[table].taken_back else { return Ok(None) };
        let mut first = None;
        let looked = query.rows(&[id], |row| first = row.int(0).map(|key| (key, row.int(1) == Some(1))));
        self.is_damaged |= !is_whole(looked)?;
        Ok(first)
    }

    /// Returns whether a session may have several branches; to know, its messages must be listed.
    pub(super) fn may_branch(&mut self, table: usize, id: &str) -> Result<bool, QueryError> {
        Ok(self.parents.is_some() || self.taken_back(table, id)?.is_some())
    }

    /// Divides the messages of [`DatabaseReader::all_keys`].
    pub(super) fn branches(&mut self, table: usize, id: &str, keys: &[(usize, i64)]) -> Result<Branches, QueryError> {
        if let Some(query) = &mut self.parents {
            let lines: HashMap<i64, usize> = keys.iter().enumerate().map(|(line, (_, key))| (*key, line)).collect();
            let (mut nodes, mut leaf) = (Vec::new(), None);
            let looked = query.rows(&[id], |row| {
                let Some(line) = row.int(0).and_then(|key| lines.get(&key).copied()) else { return };
                let node = |at: usize| row.text(at).map(|id| hash(&id));
                let parent = node(2).map_or(Parent::None, Parent::Record);
                nodes.push(Node { line, id: node(1), parent, part: Part::Message });
                leaf = leaf.or(Some(line).filter(|_| row.int(3) == Some(1)));
            });
            self.is_damaged |= !is_whole(looked)?;
            nodes.sort_unstable_by_key(|node| node.line);
            let last = nodes.last().map(|node| node.line);
            return Ok(Branches::divide(&nodes, leaf.or(last), keys.len()));
        }
        let from = self
            .taken_back(table, id)?
            .and_then(|(key, is_kept)| Some(keys.iter().position(|one| *one == (table, key))? + usize::from(is_kept)));
        Ok(from.map_or_else(Branches::default, |from| Branches::without_end(from, keys.len())))
    }

    fn later(&mut self, table: usize, id: &str) -> Result<Vec<i64>, QueryError> {
        let mut keys = Vec::new();
        if let Some(older) = self.queries.older.as_mut().filter(|_| table == 0) {
            self.is_damaged |= !is_whole(older.later.rows(&[id], |row| keys.extend(row.int(0))))?;
        }
        Ok(keys)
    }

    /// Compares a session with its rows of an older version.
    pub(super) fn judge(&mut self, table: usize, copy: &mut SessionCopy) -> Result<(), QueryError> {
        let Some(judge) = self.queries.older.as_ref().map(|older| older.judge) else { return Ok(()) };
        let mut added = 0;
        for key in self.later(table, &copy.place.id)? {
            let Some(turn) = self.turn(table + 1, key)?.filter(|turn| turn.is_reply() || turn.prompt().is_some())
            else {
                continue;
            };
            added += 1;
            if let Some(at) = turn.at.filter(|at| copy.active_at.as_ref().is_none_or(|active| active.value < *at)) {
                copy.active_at = Some(Fact::new(at, "message"));
            }
        }
        judge(copy, table, added);
        Ok(())
    }

    /// Reads a message; `None` if it is unreadable or gone.
    pub(super) fn turn(&mut self, table: usize, key: i64) -> Result<Option<Turn>, QueryError> {
        let mut turn = None;
        let looked = self.queries.tables[table].turn.rows(&[&key.to_string()], |row| self.schema.add(row, &mut turn));
        self.is_damaged |= !is_whole(looked)?;
        Ok(turn)
    }

    /// Returns the last messages of a session.
    pub(super) fn end(&mut self, id: &str) -> Result<SessionEnd, QueryError> {
        let Some(table) = self.session(id, false, &mut |_| ())? else { return Ok(SessionEnd::default()) };
        let mut last = None;
        is_whole(self.queries.tables[table].keys_backwards.rows(&[id, "1"], |row| last = row.int(0)))?;
        let turn = last.map(|key| self.turn(table, key)).transpose()?.flatten();
        let is_error = turn.is_some_and(|turn| turn.messages.last().is_some_and(|message| message.is_error));
        Ok(SessionEnd { is_error, is_rewound: self.may_branch(table, id)? })
    }

    /// Returns the last use of a session by its messages; `None` if its own row has the time.
    pub(super) fn last_use(&mut self, table: usize, id: &str) -> Result<Option<Timestamp>, QueryError> {
        if let Some(query) = &mut self.last_message {
            let mut last = None;
            self.is_damaged |= !is_whole(query.rows(&[id], |row| last = row.int(0).and_then(instant)))?;
            return Ok(last);
        }
        if self.queries.tables[table].says_last_use { Ok(None) } else { self.newest_in(table, id) }
    }

    /// Returns the newest time in the messages of a session in any table: those of an older version may still grow.
    pub(super) fn newest(&mut self, id: &str) -> Result<Option<Timestamp>, QueryError> {
        let mut newest = None;
        for table in 0..self.queries.tables.len() {
            newest = newest.max(self.newest_in(table, id)?);
        }
        Ok(newest)
    }

    fn newest_in(&mut self, table: usize, id: &str) -> Result<Option<Timestamp>, QueryError> {
        let Some(query) = &mut self.queries.tables[table].newest else { return Ok(None) };
        let mut newest = None;
        self.is_damaged |= !is_whole(query.rows(&[id], |row| newest = row.int(0)))?;
        Ok(newest.and_then(|at| Timestamp::from_millisecond(at).ok()).filter(|at| *at > Timestamp::UNIX_EPOCH))
    }

    /// Returns the size of a session's messages in bytes.
    pub(super) fn size(&mut self, table: usize, id: &str) -> Result<u64, QueryError> {
        let mut size = 0_u64;
        for query in &mut self.queries.tables[table].sizes {
            let looked = query.rows(&[id], |row| {
                let bytes = row.int(0).and_then(|bytes| bytes.try_into().ok());
                size = size.saturating_add(bytes.unwrap_or(0));
            });
            self.is_damaged |= !is_whole(looked)?;
        }
        Ok(size)
    }
}
