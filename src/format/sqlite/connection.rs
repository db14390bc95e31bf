//! A read connection that bounds the time and memory that a hostile database can take.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, Statement, params_from_iter};

use super::{OpenMode, OwnedValue, QueryError, SqlValue};
use crate::format::json_text::lossy;

/// Maximum time to wait for a lock.
const BUSY: Duration = Duration::from_secs(2);

/// Maximum size in bytes of a title, a directory or a time; longer values count as absent.
const MAX_FIELD: u32 = 1024 * 1024;

/// Limits on the steps of SQLite, per database and per byte of it: enough to read everything a few times. Without a
/// limit, pages that link to each other in a cycle would be read forever.
const STEPS: u64 = 20_000_000;
const STEPS_PER_BYTE: u64 = 32;
const STEPS_AT_ONCE: i32 = 1000;

/// A database, opened for reading.
#[derive(Debug)]
pub(crate) struct Db(Connection);

impl Db {
    pub(super) fn open(path: &Path, way: OpenMode) -> Result<Self, QueryError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let vfs = if way == OpenMode::Locked { c"unix" } else { c"unix-none" };
        let mut connection = Connection::open_with_flags_and_vfs(uri(path, way), flags, vfs)?;
        connection.busy_timeout(BUSY)?;
        // The schema is untrusted: views and triggers must not call functions.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        // Only the owner moves the log into the database.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        let size = [path.to_owned(), super::with_suffix(path, "-wal")];
        let size: u64 = size.iter().filter_map(|path| path.metadata().ok()).map(|metadata| metadata.len()).sum();
        let mut rest = STEPS.saturating_add(size.saturating_mul(STEPS_PER_BYTE));
        let is_spent = move || {
            rest = rest.saturating_sub(u64::from(STEPS_AT_ONCE.unsigned_abs()));
            rest == 0
        };
        connection.progress_handler(STEPS_AT_ONCE, Some(is_spent))?;
        if way == OpenMode::WithLog {
            // Set before the first read, this makes SQLite keep the index of the log in private memory. This VFS has no
            // locks, so no other process is locked out.
            connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        }
        Ok(Self(connection))
    }

    /// Opens the log and starts the snapshot in which everything is read.
    pub(super) fn begin(&self) -> Result<(), QueryError> {
        Ok(self.0.execute_batch("BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1")?)
    }

    /// Returns the names of a table's columns; empty if there is no such table.
    pub(crate) fn columns(&self, table: &str) -> Result<HashSet<String>, QueryError> {
        let sql = "SELECT info.name FROM sqlite_schema, pragma_table_info(sqlite_schema.name) AS info \
                   WHERE sqlite_schema.type = 'table' AND sqlite_schema.name = ?1";
        let mut statement = self.0.prepare(sql)?;
        let names = statement.query_map([table], |row| row.get(0))?;
        Ok(names.collect::<Result<_, _>>()?)
    }

    /// Checks that a table has these columns, without which it cannot be interpreted.
    pub(crate) fn require(&self, table: &str, columns: &[&str]) -> Result<(), QueryError> {
        let known = self.columns(table)?;
        if known.is_empty() {
            return Err(QueryError::Unknown(format!("it has no table {table}")));
        }
        match columns.iter().find(|column| !known.contains(**column)) {
            Some(missing) => Err(QueryError::Unknown(format!("its table {table} has no column {missing}"))),
            None => Ok(()),
        }
    }

    /// Returns a column list for a query, each column with a prefix such as `t.`; a missing column becomes `NULL`.
    pub(crate) fn column_list(&self, table: &str, prefix: &str, columns: &[&str]) -> Result<String, QueryError> {
        let known = self.columns(table)?;
        let column = |name: &&str| {
            if known.contains(*name) {
                format!("CASE WHEN octet_length({prefix}\"{name}\") <= {MAX_FIELD} THEN {prefix}\"{name}\" END")
            } else {
                "NULL".to_owned()
            }
        };
        Ok(columns.iter().map(column).collect::<Vec<_>>().join(", "))
    }

    /// Calls `see` with each row of a query.
    pub(crate) fn query(&self, sql: &str, values: &[&str], see: impl FnMut(&DbRow<'_>)) -> Result<(), QueryError> {
        self.prepare(sql)?.rows(values, see)
    }

    /// Prepares a query that is run repeatedly.
    pub(crate) fn prepare(&self, sql: &str) -> Result<PreparedQuery<'_>, QueryError> {
        Ok(PreparedQuery(self.0.prepare(sql)?))
    }
}

/// A prepared query.
#[derive(Debug)]
pub(crate) struct PreparedQuery<'a>(Statement<'a>);

impl PreparedQuery<'_> {
    /// Calls `see` with each row for these values.
    pub(crate) fn rows(&mut self, values: &[&str], mut see: impl FnMut(&DbRow<'_>)) -> Result<(), QueryError> {
        let mut rows = self.0.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            see(&DbRow(row));
        }
        Ok(())
    }
}

/// Returns a path as an SQLite URI, with every special byte percent-encoded.
fn uri(path: &Path, way: OpenMode) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => uri.push(char::from(*byte)),
            // Writing to a string cannot fail.
            _ => drop(write!(uri, "%{byte:02X}")),
        }
    }
    uri + match way {
        OpenMode::Alone => "?immutable=1",
        OpenMode::WithLog => "",
        OpenMode::Locked => "?readonly_shm=1",
    }
}

/// One row of an answer; a value of another type than requested counts as absent.
#[derive(Debug)]
pub(crate) struct DbRow<'a>(&'a rusqlite::Row<'a>);

impl DbRow<'_> {
    /// Returns a text; bytes that are not UTF-8 are replaced.
    pub(crate) fn text(&self, at: usize) -> Option<String> {
        match self.0.get_ref(at).ok()? {
            ValueRef::Text(bytes) => Some(lossy(bytes).into_owned()),
            _ => None,
        }
    }

    /// Returns a value as it is stored; `Null` if there is none.
    pub(crate) fn value(&self, at: usize) -> SqlValue<'_> {
        match self.0.get_ref(at) {
            Ok(ValueRef::Integer(number)) => SqlValue::Integer(number),
            Ok(ValueRef::Real(number)) => SqlValue::Real(number),
            Ok(ValueRef::Text(bytes)) => SqlValue::Text(bytes),
            Ok(ValueRef::Blob(bytes)) => SqlValue::Blob(bytes),
            Ok(ValueRef::Null) | Err(_) => SqlValue::Null,
        }
    }

    /// Returns a text that is not blank.
    pub(crate) fn filled(&self, at: usize) -> Option<String> {
        self.text(at).filter(|text| !text.trim().is_empty())
    }

    /// Returns an integer, which a writer may have stored as another type.
    pub(crate) fn int(&self, at: usize) -> Option<i64> {
        match self.0.get_ref(at).ok()? {
            ValueRef::Integer(value) => Some(value),
            #[expect(clippy::cast_possible_truncation, reason = "a number out of range becomes the nearest in it")]
            ValueRef::Real(value) if value.is_finite() => Some(value as i64),
            ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok()?.trim().parse().ok(),
            _ => None,
        }
    }
}

/// A new database in a private directory of rejoin.
#[derive(Debug)]
pub(crate) struct NewDb {
    connection: Connection,
    /// The statements that insert a row into the current table, with its row number and without.
    insert: [String; 2],
    indexed: Vec<(String, String)>,
}

impl NewDb {
    /// Creates a database at a free path.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(|error| failed(&error))?;
        // A temporary database needs no durability.
        let settings = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN";
        connection.execute_batch(settings).map_err(|error| failed(&error))?;
        Ok(Self { connection, insert: Default::default(), indexed: Vec::new() })
    }

    /// Creates a table whose columns have no type, so that values are stored unchanged.
    pub(super) fn make_table(&mut self, table: &str, columns: &[String]) -> io::Result<()> {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let names = columns.iter().map(|column| quoted(column)).collect::<Vec<_>>().join(", ");
        let table = quoted(table);
        self.connection.execute_batch(&format!("CREATE TABLE {table} ({names})")).map_err(|error| failed(&error))?;
        let number = ["rowid", "_rowid_", "oid"]
            .into_iter()
            .find(|name| !columns.iter().any(|column| column.eq_ignore_ascii_case(name)))
            .unwrap_or_default();
        let places = vec!["?"; columns.len()].join(", ");
        self.insert = [
            format!("INSERT INTO {table} ({number}, {names}) VALUES (?, {places})"),
            format!("INSERT INTO {table} ({names}) VALUES ({places})"),
        ];
        // The columns that readers search.
        let keys = columns.iter().filter(|column| *column == "id" || column.ends_with("_id"));
        self.indexed.extend(keys.map(|column| (table.clone(), quoted(column))));
        Ok(())
    }

    /// Inserts a row into the table that was created last.
    pub(super) fn insert(&mut self, rowid: Option<i64>, values: Vec<OwnedValue>) -> io::Result<()> {
        let sql = &self.insert[usize::from(rowid.is_none())];
        let mut statement = self.connection.prepare(sql).map_err(|error| failed(&error))?;
        let values = rowid.map(OwnedValue::Integer).into_iter().chain(values);
        statement.execute(params_from_iter(values)).map_err(|error| failed(&error))?;
        Ok(())
    }

    /// Creates the indexes and commits.
    pub(super) fn finish(self) -> io::Result<()> {
        for (at, (table, column)) in self.indexed.iter().enumerate() {
            let sql = format!("CREATE INDEX index_{at} ON {table} ({column})");
            self.connection.execute_batch(&sql).map_err(|error| failed(&error))?;
        }
        self.connection.execute_batch("COMMIT").map_err(|error| failed(&error))
    }
}

fn failed(error: &rusqlite::Error) -> io::Error {
    io::Error::other(super::explain(error))
}

impl rusqlite::ToSql for OwnedValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(bytes) => ValueRef::Text(bytes),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
