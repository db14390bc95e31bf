//! Databases of other programs: read as they are at one moment, while their owners go on writing.
//!
//! A plain read-only connection is not enough. It makes `-wal` and `-shm` where there are none and leaves them, rebuilds
//! a `-shm` that nobody uses, and keeps the owner from tidying up if it ends in that moment. So a database is read
//! without locks and without its shared memory, its log indexed in our own, and looked at before and after: if it was
//! changed meanwhile in a way that could be seen, what was read is dropped and read again. Only a database that changes
//! all the time is read under SQLite's own locks. Measured with SQLite 3.53; file formats: sqlite.org/walformat.html.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use crate::error::PathError;
use crate::system::fsio;

/// How often a database that is changed while it is read is read again, and how often of these without locks.
const TRIES: usize = 300;
const TRIES_WITHOUT_LOCKS: usize = 30;
const TRIES_WITHOUT_PAUSE: usize = 5;

/// How long its writer gets between two tries, after the first few.
const PAUSE: Duration = Duration::from_millis(5);

/// Held for writing while SQLite's locks are: the system gives all locks of a process on a file back as soon as any
/// part of the process closes that file.
static LOCKS: RwLock<()> = RwLock::new(());

/// Why a query gave nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QueryError {
    /// The database lacks what this program needs to understand it.
    #[error("{0}, so it is of a version that rejoin does not know")]
    Unknown(String),
    /// Nothing can be opened.
    #[error("rejoin was built without SQLite")]
    #[cfg(not(feature = "sqlite"))]
    BuiltWithout,
    /// SQLite's own word.
    #[error("{}", explain(.0))]
    #[cfg(feature = "sqlite")]
    Sqlite(#[from] rusqlite::Error),
}

impl QueryError {
    /// Returns whether somebody else kept the database locked for as long as a reader waits.
    fn is_lock(&self) -> bool {
        #[cfg(feature = "sqlite")]
        if let Self::Sqlite(error) = self {
            use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
            return matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked));
        }
        false
    }

    /// Returns whether a part of the database cannot be read, though the rest may be sound.
    pub(crate) fn is_damage(&self) -> bool {
        !matches!(self, Self::Unknown(_)) && !self.is_lock() && !self.is_refused_write()
    }

    /// Returns whether a reader would have had to write: its owner is just making the shared memory, or never will.
    fn is_refused_write(&self) -> bool {
        #[cfg(feature = "sqlite")]
        if let Self::Sqlite(error) = self {
            use rusqlite::ErrorCode::{CannotOpen, ReadOnly};
            return matches!(error.sqlite_error_code(), Some(ReadOnly | CannotOpen));
        }
        false
    }
}

/// Reads a database of another program at one moment; leaves no file behind and blocks nobody.
///
/// `look` is called again if the database was changed while it looked, so it must begin afresh each time.
///
/// # Errors
///
/// The file cannot be opened, is no database, is damaged, is of an unknown shape, or stays locked.
pub(crate) fn read<T>(path: &Path, mut look: impl FnMut(&Db) -> Result<T, QueryError>) -> Result<T, PathError> {
    let fail = |why: String| PathError::new("read", path, io::Error::other(why));
    for attempt in 0..TRIES {
        let is_restless = attempt >= TRIES_WITHOUT_LOCKS;
        let others = LOCKS.read().unwrap_or_else(PoisonError::into_inner);
        let way = Footprint::of(path)?.way(is_restless);
        let (_others, _own) = match way {
            OpenMode::Locked => {
                drop(others);
                (None, Some(LOCKS.write().unwrap_or_else(PoisonError::into_inner)))
            }
            _ => (Some(others), None),
        };
        let db = Db::open(path, way);
        // SQLite makes a log that it does not find, so what it is told to find is looked at right before.
        let before = Footprint::of(path)?;
        if before.way(is_restless) != way {
            continue;
        }
        let found = db.and_then(|db| db.begin().and_then(|()| look(&db)));
        let is_settled = Footprint::of(path)? == before;
        match found {
            // What is read under locks belongs together, whatever else has changed.
            Ok(found) if is_settled || way == OpenMode::Locked => return Ok(found),
            // Shared memory that is half made looks the same before and after, and is whole a moment later.
            Err(error) if is_restless && attempt + 1 < TRIES && error.is_refused_write() => {}
            // Without a change the next try would fail too; with one, the log may have gone before it was opened.
            Err(error) if is_settled || error.is_lock() => return Err(fail(error.to_string())),
            _ => {}
        }
        if attempt >= TRIES_WITHOUT_PAUSE {
            std::thread::sleep(PAUSE);
        }
    }
    Err(fail("it is changed too fast to be read".to_owned()))
}

/// How a database is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenMode {
    /// As a file that nobody changes: it has no log.
    Alone,
    /// With its log, which is indexed in memory of our own.
    WithLog,
    /// As any reader does, but never as one that makes or changes shared memory.
    Locked,
}

/// What can be seen of a database when it is changed.
#[derive(PartialEq, Eq)]
struct Footprint {
    /// Device, inode, size, and time of modification.
    file: [i128; 4],
    /// Its first bytes, among them the counter of changes.
    header: Vec<u8>,
    /// The log's inode and first bytes; these change when the log is begun anew, not when it grows.
    log: Option<(u64, Vec<u8>)>,
    /// How much of the log was moved into the database, from the shared memory.
    moved: Option<Vec<u8>>,
    /// Whether a change that began in the old way, with a journal, has not ended.
    has_journal: bool,
}

impl Footprint {
    fn of(path: &Path) -> Result<Self, PathError> {
        let (file, metadata) = fsio::open_regular(path)?;
        let header = |file: &std::fs::File, len: usize, at: u64| {
            let mut bytes = vec![0; len];
            let count = file.read_at(&mut bytes, at).unwrap_or_default();
            bytes.truncate(count);
            bytes
        };
        // One that is missing is none, but a link or a FIFO must not get into SQLite's hands.
        let beside = |suffix: &str| match fsio::open_regular(&with_suffix(path, suffix)) {
            Ok(opened) => Ok(Some(opened)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        let modified = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
        // nBackfill and nBackfillAttempted; the marks of readers in between do not matter.
        let moved = beside("-shm")?.map(|(memory, _)| [header(&memory, 4, 96), header(&memory, 4, 128)].concat());
        let has_journal =
            beside("-journal")?.is_some_and(|(file, _)| header(&file, 1, 0).iter().any(|byte| *byte != 0));
        let log = beside("-wal")?.map(|(log, metadata)| (metadata.ino(), header(&log, 32, 0)));
        Ok(Self {
            file: [metadata.dev().into(), metadata.ino().into(), metadata.size().into(), modified],
            header: header(&file, 100, 0),
            log,
            moved,
            has_journal,
        })
    }

    /// Returns how to read it, without locks as far as that goes.
    fn way(&self, is_restless: bool) -> OpenMode {
        if self.has_journal {
            // Only the locks tell whether the journal is that of a change under way; nothing is made for them here.
            OpenMode::Locked
        } else if is_restless && self.log.is_some() && self.moved.is_some() {
            OpenMode::Locked
        } else if self.log.is_some() {
            OpenMode::WithLog
        } else {
            OpenMode::Alone
        }
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

pub(crate) use connection::{Db, Query, Row};

#[cfg(feature = "sqlite")]
mod connection {
    use std::fmt::Write as _;
    use std::os::unix::ffi::OsStrExt as _;

    use rusqlite::config::DbConfig;
    use rusqlite::types::ValueRef;
    use rusqlite::{Connection, OpenFlags, Statement, params_from_iter};

    use super::{Duration, HashSet, OpenMode, Path, QueryError};

    /// How long a reader waits for a lock.
    const BUSY: Duration = Duration::from_secs(2);

    /// A title, a directory or a time that takes more bytes is none.
    const MAX_FIELD: u32 = 1024 * 1024;

    /// SQLite may take so many steps for a database, and so many for each byte of it: enough to read all of it a few
    /// times over. A tree whose pages lead to each other again and again would otherwise be walked for ever.
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
            // What is in the file is no program: neither its views nor its triggers get to call anything.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
            // The log is its owner's to move into the database.
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
                // Set before the first read, this makes SQLite keep the index of the log in its own memory; this VFS
                // has no locks, so nobody is locked out.
                connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
            }
            Ok(Self(connection))
        }

        /// Opens the log and fixes the moment to which all that is read belongs.
        pub(super) fn begin(&self) -> Result<(), QueryError> {
            Ok(self.0.execute_batch("BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1")?)
        }

        /// Returns the names of a table's columns; none when there is no such table.
        pub(crate) fn columns(&self, table: &str) -> Result<HashSet<String>, QueryError> {
            let sql = "SELECT info.name FROM sqlite_schema, pragma_table_info(sqlite_schema.name) AS info \
                       WHERE sqlite_schema.type = 'table' AND sqlite_schema.name = ?1";
            let mut statement = self.0.prepare(sql)?;
            let names = statement.query_map([table], |row| row.get(0))?;
            Ok(names.collect::<Result<_, _>>()?)
        }

        /// Checks that a table has these columns, without which nothing can be said.
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

        /// Returns columns for a query, each with a prefix such as `t.`; one that the table lacks is `NULL`.
        pub(crate) fn column_list(&self, table: &str, prefix: &str, columns: &[&str]) -> Result<String, QueryError> {
            let known = self.columns(table)?;
            let column = |name: &&str| match known.contains(*name) {
                true => {
                    format!("CASE WHEN octet_length({prefix}\"{name}\") <= {MAX_FIELD} THEN {prefix}\"{name}\" END")
                }
                false => "NULL".to_owned(),
            };
            Ok(columns.iter().map(column).collect::<Vec<_>>().join(", "))
        }

        /// Shows the rows that a query gives.
        pub(crate) fn query(&self, sql: &str, values: &[&str], see: impl FnMut(&Row<'_>)) -> Result<(), QueryError> {
            self.prepare(sql)?.rows(values, see)
        }

        /// Makes a query that is asked many times.
        pub(crate) fn prepare(&self, sql: &str) -> Result<Query<'_>, QueryError> {
            Ok(Query(self.0.prepare(sql)?))
        }
    }

    /// A query, made once and asked with values.
    #[derive(Debug)]
    pub(crate) struct Query<'a>(Statement<'a>);

    impl Query<'_> {
        /// Shows the rows that it gives for these values.
        pub(crate) fn rows(&mut self, values: &[&str], mut see: impl FnMut(&Row<'_>)) -> Result<(), QueryError> {
            let mut rows = self.0.query(params_from_iter(values))?;
            while let Some(row) = rows.next()? {
                see(&Row(row));
            }
            Ok(())
        }
    }

    /// Returns a path as SQLite's URI, in which every byte that could mean something else is spelt out.
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

    /// One row of an answer; a value of another type than the wanted one counts as absent.
    #[derive(Debug)]
    pub(crate) struct Row<'a>(&'a rusqlite::Row<'a>);

    impl Row<'_> {
        /// Returns a text, whose bytes that are no UTF-8 are replaced.
        pub(crate) fn text(&self, at: usize) -> Option<String> {
            match self.0.get_ref(at).ok()? {
                ValueRef::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
                _ => None,
            }
        }

        /// Returns a text that is not blank.
        pub(crate) fn filled(&self, at: usize) -> Option<String> {
            self.text(at).filter(|text| !text.trim().is_empty())
        }

        /// Returns a whole number, which a writer may have stored as another type.
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
}

/// Says in words what SQLite reports as a code.
#[cfg(feature = "sqlite")]
fn explain(error: &rusqlite::Error) -> String {
    use rusqlite::ErrorCode;
    let words = crate::error::reason(&io::Error::other(error.to_string()));
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => "it is not an SQLite database".to_owned(),
        Some(ErrorCode::DatabaseCorrupt) => format!("it is damaged: {words}"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "another process keeps it locked".to_owned(),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen) => {
            format!("it cannot be read without changing it: {words}")
        }
        _ => words,
    }
}

/// Stands in for SQLite where rejoin was built without it: nothing can be opened.
#[cfg(not(feature = "sqlite"))]
mod connection {
    use std::convert::Infallible;
    use std::marker::PhantomData;

    use super::{HashSet, OpenMode, Path, QueryError};

    /// A database; there is none.
    #[derive(Debug)]
    pub struct Db(Infallible);

    /// A row; there is none.
    #[derive(Debug)]
    pub struct Row<'a>(Infallible, PhantomData<&'a ()>);

    impl Db {
        pub(super) fn open(_: &Path, _: OpenMode) -> Result<Self, QueryError> {
            Err(QueryError::BuiltWithout)
        }

        pub(super) fn begin(&self) -> Result<(), QueryError> {
            match self.0 {}
        }

        /// Returns the names of a table's columns.
        pub fn columns(&self, _: &str) -> Result<HashSet<String>, QueryError> {
            match self.0 {}
        }

        /// Checks that a table has these columns.
        pub fn require(&self, _: &str, _: &[&str]) -> Result<(), QueryError> {
            match self.0 {}
        }

        /// Shows columns of the rows of a table.
        pub fn select(
            &self,
            _: &str,
            _: &[&str],
            _: &str,
            _: &[&str],
            _: impl FnMut(&Row<'_>),
        ) -> Result<(), QueryError> {
            match self.0 {}
        }

        /// Returns columns for a query.
        pub fn column_list(&self, _: &str, _: &str, _: &[&str]) -> Result<String, QueryError> {
            match self.0 {}
        }

        /// Shows the rows that a query gives.
        pub fn query(&self, _: &str, _: &[&str], _: impl FnMut(&Row<'_>)) -> Result<(), QueryError> {
            match self.0 {}
        }

        /// Makes a query that is asked many times.
        pub fn prepare(&self, _: &str) -> Result<Query<'_>, QueryError> {
            match self.0 {}
        }
    }

    /// A query; there is none.
    #[derive(Debug)]
    pub struct Query<'a>(Infallible, PhantomData<&'a ()>);

    impl Query<'_> {
        /// Shows the rows that it gives.
        pub fn rows(&mut self, _: &[&str], _: impl FnMut(&Row<'_>)) -> Result<(), QueryError> {
            match self.0 {}
        }
    }

    impl Row<'_> {
        /// Returns a text.
        pub fn text(&self, _: usize) -> Option<String> {
            match self.0 {}
        }

        /// Returns a text that is not blank.
        pub fn filled(&self, _: usize) -> Option<String> {
            match self.0 {}
        }

        /// Returns a whole number.
        pub fn int(&self, _: usize) -> Option<i64> {
            match self.0 {}
        }
    }
}

#[cfg(all(test, feature = "sqlite"))]
#[expect(clippy::disallowed_methods, reason = "tests lay out the files that they look at")]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicBool, Ordering};

    use rusqlite::Connection;

    use super::*;

    /// A directory with a database of one table, in a journal mode.
    fn database(mode: &str) -> (tempfile::TempDir, PathBuf, Connection) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a b%3f#?.db");
        let connection = Connection::open(&path).expect("a database");
        connection.pragma_update(None, "journal_mode", mode).expect("a mode");
        connection.execute_batch("CREATE TABLE t (id TEXT, n); INSERT INTO t VALUES ('one', 1)").expect("a table");
        (dir, path, connection)
    }

    fn insert(connection: &Connection, id: &str) {
        connection.execute("INSERT INTO t VALUES (?1, 2)", [id]).expect("a row");
    }

    fn ids(path: &Path) -> Result<Vec<String>, String> {
        let look = |db: &Db| {
            let mut ids = Vec::new();
            db.query("SELECT id FROM t ORDER BY rowid", &[], |row| ids.extend(row.text(0)))?;
            Ok(ids)
        };
        read(path, look).map_err(|error| error.reason())
    }

    /// Names, modification times and contents of all files in a directory.
    fn picture(dir: &Path) -> BTreeMap<OsString, (std::time::SystemTime, Vec<u8>)> {
        let entries = std::fs::read_dir(dir).expect("a listing").map(|entry| entry.expect("an entry"));
        entries
            .map(|entry| {
                let modified = entry.metadata().and_then(|metadata| metadata.modified()).expect("a time");
                (entry.file_name(), (modified, std::fs::read(entry.path()).expect("contents")))
            })
            .collect()
    }

    /// Copies a database as a process that was killed leaves it.
    fn left_by_a_kill(path: &Path, suffixes: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("a directory");
        let copy = dir.path().join("copy.db");
        for suffix in suffixes {
            std::fs::copy(with_suffix(path, suffix), with_suffix(&copy, suffix)).expect("a copy");
        }
        (dir, copy)
    }

    #[test]
    fn reading_a_database_that_nobody_has_open_changes_no_file() {
        for mode in ["WAL", "DELETE", "PERSIST", "TRUNCATE"] {
            let (dir, path, connection) = database(mode);
            insert(&connection, "two");
            drop(connection);
            let before = picture(dir.path());
            assert_eq!(ids(&path), Ok(vec!["one".to_owned(), "two".to_owned()]), "{mode}");
            assert_eq!(picture(dir.path()), before, "{mode}");
        }
    }

    #[test]
    fn a_log_is_read_whether_its_writer_runs_or_was_killed_and_no_file_is_changed() {
        let (dir, path, connection) = database("WAL");
        insert(&connection, "two");
        for (_kept, dir, path) in [
            (None, dir.path().to_owned(), path.clone()),
            {
                let (kept, path) = left_by_a_kill(&path, &["", "-wal", "-shm"]);
                (Some(kept), path.parent().expect("a directory").to_owned(), path)
            },
            {
                let (kept, path) = left_by_a_kill(&path, &["", "-wal"]);
                (Some(kept), path.parent().expect("a directory").to_owned(), path)
            },
        ] {
            let before = picture(&dir);
            assert_eq!(ids(&path), Ok(vec!["one".to_owned(), "two".to_owned()]));
            assert_eq!(picture(&dir), before);
        }
        insert(&connection, "three");
        assert_eq!(ids(&path).map(|ids| ids.len()), Ok(3), "a reader does not keep what it saw before");
    }

    #[test]
    fn a_log_without_any_record_does_no_harm() {
        let (_dir, path, connection) = database("WAL");
        drop(connection);
        std::fs::write(with_suffix(&path, "-wal"), "").expect("a log");
        let before = picture(path.parent().expect("a directory"));
        assert_eq!(ids(&path), Ok(vec!["one".to_owned()]));
        assert_eq!(picture(path.parent().expect("a directory")), before);
    }

    #[test]
    fn a_change_that_is_not_committed_is_neither_seen_nor_held_up() {
        for mode in ["WAL", "DELETE"] {
            let (_dir, path, connection) = database(mode);
            connection.execute_batch("BEGIN IMMEDIATE").expect("a transaction");
            insert(&connection, "two");
            assert_eq!(ids(&path), Ok(vec!["one".to_owned()]), "{mode}");
            connection.busy_timeout(Duration::ZERO).expect("no patience");
            connection.execute_batch("COMMIT").expect("a commit");
            assert_eq!(ids(&path).map(|ids| ids.len()), Ok(2), "{mode}");
        }
    }

    #[test]
    fn what_was_read_while_the_log_was_moved_is_read_again() {
        let (_dir, path, connection) = database("WAL");
        let mut looks = 0;
        let count = read(&path, |db| {
            let mut count = 0;
            db.query("SELECT n FROM t", &[], |_| count += 1)?;
            looks += 1;
            if looks == 1 {
                insert(&connection, "two");
                connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("a checkpoint");
            }
            Ok(count)
        });
        assert_eq!((count.expect("an answer"), looks), (2, 2));
    }

    #[test]
    fn what_changes_each_time_it_is_read_is_read_under_locks_in_the_end() {
        let (_dir, path, connection) = database("WAL");
        let mut looks = 0;
        let count = read(&path, |db| {
            let mut count = 0;
            looks += 1;
            insert(&connection, "again");
            connection.query_row("PRAGMA wal_checkpoint", [], |_| Ok(())).expect("a checkpoint");
            db.query("SELECT n FROM t", &[], |_| count += 1)?;
            Ok(count)
        });
        assert_eq!((count.expect("an answer"), looks), (TRIES_WITHOUT_LOCKS + 1, TRIES_WITHOUT_LOCKS + 1));
    }

    #[test]
    fn a_writer_that_never_rests_is_neither_blocked_nor_misread() {
        let (dir, path, connection) = database("WAL");
        connection.execute_batch("CREATE TABLE pair (a, b, filling); INSERT INTO pair VALUES (0, 0, '')").expect("ok");
        drop(connection);
        let write = |rows: std::ops::Range<i64>| {
            let writer = Connection::open(&path).expect("a database");
            writer.busy_timeout(Duration::ZERO).expect("no patience");
            writer.pragma_update(None, "wal_autocheckpoint", 4).expect("a pragma");
            for n in rows {
                let sql = "UPDATE pair SET a = ?1, b = ?1, filling = zeroblob(9000)";
                writer.execute(sql, [n]).expect("a writer that nobody blocks");
            }
        };
        /// Tells the writer to end, also when the test fails.
        struct StopOnDrop<'a>(&'a AtomicBool);
        impl Drop for StopOnDrop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _stop = StopOnDrop(&is_done);
            scope.spawn(|| {
                // Opened and closed each time, so that log and shared memory come and go.
                let mut rounds = (0..).take_while(|_| !is_done.load(Ordering::Relaxed));
                rounds.by_ref().for_each(|n| write(n * 20..n * 20 + 20));
            });
            for _ in 0..200 {
                let pair = read(&path, |db| {
                    let mut pair = (None, Some(-1));
                    db.query("SELECT a, b FROM pair", &[], |row| pair = (row.int(0), row.int(1)))?;
                    Ok(pair)
                });
                let (a, b) = pair.expect("an answer");
                assert_eq!(a, b);
            }
        });
        write(0..1);
        let names: Vec<OsString> = picture(dir.path()).into_keys().collect();
        assert_eq!(names, [path.file_name().expect("a name")], "the writer can tidy up");
    }

    #[test]
    fn a_writer_that_ends_while_it_is_read_tidies_up_as_if_it_were_alone() {
        let (dir, path, connection) = database("WAL");
        let mut writer = Some(connection);
        let count = read(&path, |db| {
            let mut count = 0;
            db.query("SELECT id FROM t", &[], |_| count += 1)?;
            drop(writer.take());
            Ok(count)
        });
        assert_eq!(count.expect("an answer"), 1);
        let names: Vec<OsString> = picture(dir.path()).into_keys().collect();
        assert_eq!(names, [path.file_name().expect("a name")]);
    }

    #[test]
    fn what_is_no_sound_database_is_an_error_with_a_reason() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x.db");
        assert_eq!(ids(&path), Err("no such file or directory".to_owned()));
        std::fs::write(&path, "not a database, but long enough to be taken for one ".repeat(40)).expect("a file");
        assert_eq!(ids(&path), Err("it is not an SQLite database".to_owned()));
        std::fs::write(&path, "").expect("a file");
        assert!(ids(&path).is_err_and(|why| why.contains("no such table")));

        let (_dir, path, connection) = database("DELETE");
        connection.execute_batch("CREATE INDEX i ON t (n); BEGIN").expect("an index");
        (0..2000).for_each(|n| insert(&connection, &format!("{n:0>200}")));
        connection.execute_batch("COMMIT").expect("rows");
        drop(connection);
        let bytes = std::fs::read(&path).expect("contents");
        for (at, with) in [(4096, 0_u8), (4096, 0xff), (100, 0xff), (8192, 0x0d), (18, 9)] {
            let mut damaged = bytes.clone();
            damaged[at..at + 80].fill(with);
            std::fs::write(&path, &damaged).expect("a file");
            // Damage may hit what is not read; what must not happen is a panic.
            let _ = ids(&path);
            std::fs::write(&path, &damaged[..damaged.len() / 3]).expect("a file");
            assert!(ids(&path).is_err(), "cut off, and {with:#x} at {at}");
        }
    }

    #[test]
    fn neither_a_link_nor_a_fifo_gets_into_the_hands_of_sqlite() {
        let (dir, path, connection) = database("WAL");
        drop(connection);
        let link = dir.path().join("link.db");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        assert!(ids(&link).is_err_and(|why| why.contains("symbolic link")));
        let made = std::process::Command::new("mkfifo").arg(with_suffix(&path, "-wal")).status();
        assert!(made.expect("mkfifo").success());
        assert!(ids(&path).is_err_and(|why| why.contains("not a regular file")));
    }

    #[test]
    fn a_locked_database_is_read_or_said_to_be_locked() {
        let (_dir, path, connection) = database("DELETE");
        connection.pragma_update(None, "cache_size", 2).expect("a pragma");
        connection.execute_batch("BEGIN EXCLUSIVE").expect("a transaction");
        (0..400).for_each(|n| insert(&connection, &format!("{n:0>200}")));
        assert_eq!(ids(&path), Err("another process keeps it locked".to_owned()));
    }

    #[test]
    fn a_missing_column_is_null_and_a_needed_one_is_named() {
        let (_dir, path, _connection) = database("WAL");
        let found = read(&path, |db| {
            let mut found = Vec::new();
            let sql = format!("SELECT {} FROM t WHERE id = ?1", db.column_list("t", "", &["gone", "n"])?);
            db.query(&sql, &["one"], |row| found.push((row.text(0), row.int(1))))?;
            Ok(found)
        });
        assert_eq!(found.expect("rows"), [(None, Some(1))]);
        for (table, columns, why) in
            [("t", &["id", "gone"][..], "its table t has no column gone"), ("u", &["id"], "it has no table u")]
        {
            let error = read(&path, |db| db.require(table, columns)).expect_err("an error");
            assert_eq!(error.reason(), format!("{why}, so it is of a version that rejoin does not know"));
        }
    }
}
