//! Reads snapshots of other programs' databases while their owners continue to write.
//!
//! A plain read-only connection is not enough. It creates missing `-wal` and `-shm` files and leaves them, rebuilds an
//! unused `-shm`, and keeps the owner from cleaning up if the owner ends at that moment. So a database is read without
//! locks and without its shared memory, with its log indexed in our own memory, and checked before and after: if a
//! change meanwhile was visible, the result is dropped and the read is repeated. Only a database that changes all the
//! time is read under SQLite's own locks. Measured with SQLite 3.53; file formats: sqlite.org/walformat.html.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use crate::error::PathError;
use crate::system::{fsio, links};
use connection::NewDb;
pub(crate) use connection::{Db, DbRow, PreparedQuery};

#[cfg_attr(not(feature = "sqlite"), path = "absent.rs")]
mod connection;
pub(crate) mod rows;
#[cfg(all(test, feature = "sqlite"))]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests;

/// Maximum number of reads of a database that changes during each read, and how many of these are without locks.
const TRIES: usize = 300;
const TRIES_WITHOUT_LOCKS: usize = 30;
const TRIES_WITHOUT_PAUSE: usize = 5;

/// Pause between two tries, after the first few, for the writer to finish.
const PAUSE: Duration = Duration::from_millis(5);

/// The beginning of each message about a damaged database.
pub(crate) const DAMAGED: &str = "it is damaged";

/// Locked exclusively while SQLite's locks are used: the system releases all locks of a process on a file as soon as
/// any part of the process closes that file.
static LOCKS: RwLock<()> = RwLock::new(());

/// A value in a row, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(all(not(feature = "sqlite"), not(test)), expect(dead_code, reason = "no row is read that could hold one"))]
pub(crate) enum SqlValue<'a> {
    Null,
    Integer(i64),
    Real(f64),
    /// Text that may be invalid UTF-8.
    Text(&'a [u8]),
    Blob(&'a [u8]),
}

/// An owned value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum OwnedValue {
    /// Nothing.
    Null,
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// A text, which may be invalid UTF-8.
    Text(Vec<u8>),
    /// Bytes.
    Blob(Vec<u8>),
}

/// The reason why a query failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QueryError {
    /// The database lacks a table or column that rejoin needs to interpret it.
    #[error("{0}, so it is of a version that rejoin does not know")]
    Unknown(String),
    /// This build has no SQLite.
    #[error("rejoin was built without SQLite")]
    #[cfg(not(feature = "sqlite"))]
    BuiltWithout,
    /// An error from SQLite.
    #[error("{}", explain(.0))]
    #[cfg(feature = "sqlite")]
    Sqlite(#[from] rusqlite::Error),
}

impl QueryError {
    /// Returns whether another process kept the database locked for the maximum waiting time.
    fn is_lock(&self) -> bool {
        #[cfg(feature = "sqlite")]
        if let Self::Sqlite(error) = self {
            use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
            return matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked));
        }
        false
    }

    /// Returns whether a part of the database is unreadable, though the rest may be sound.
    pub(crate) fn is_damage(&self) -> bool {
        !matches!(self, Self::Unknown(_)) && !self.is_lock() && !self.is_refused_write()
    }

    /// Returns whether the read would have required a write: the owner is just creating the shared memory, or never
    /// will.
    fn is_refused_write(&self) -> bool {
        #[cfg(feature = "sqlite")]
        if let Self::Sqlite(error) = self {
            use rusqlite::ErrorCode::{CannotOpen, ReadOnly};
            return matches!(error.sqlite_error_code(), Some(ReadOnly | CannotOpen));
        }
        false
    }
}

/// Reads a snapshot of another program's database. Leaves no file behind and blocks no other process.
///
/// `look` is called again if the database changed during the read, so it must start over each time.
///
/// # Errors
///
/// The file cannot be opened, is not a database, is damaged, has an unknown schema, or stays locked.
pub(crate) fn read<T>(path: &Path, mut look: impl FnMut(&Db) -> Result<T, QueryError>) -> Result<T, PathError> {
    let mut found = None;
    read_opened(path, &Db::open, &mut |db| {
        // The result of an earlier try takes memory.
        drop(found.take());
        found = Some(look(db)?);
        Ok(())
    })?;
    found.ok_or_else(|| PathError::new("read", path, io::Error::other("it was not read")))
}

/// Calls `look` until the database did not change during the call.
fn read_opened(
    path: &Path,
    open: &dyn Fn(&Path, OpenMode) -> Result<Db, QueryError>,
    look: &mut dyn FnMut(&Db) -> Result<(), QueryError>,
) -> Result<(), PathError> {
    let fail = |why: String| PathError::new("read", path, io::Error::other(why));
    let mut real = None;
    for attempt in 0..TRIES {
        if attempt > TRIES_WITHOUT_PAUSE {
            std::thread::sleep(PAUSE);
        }
        let is_restless = attempt >= TRIES_WITHOUT_LOCKS;
        let path = real.as_deref().unwrap_or(path);
        let others = LOCKS.read().unwrap_or_else(PoisonError::into_inner);
        let before = Footprint::read_from(path)?;
        if real.is_none() && path.is_symlink() {
            // The log is next to the file itself, not next to a link to it.
            real = Some(links::follow(path).map_err(|error| PathError::new("read", path, error))?.0);
            continue;
        }
        let way = before.way(is_restless);
        let (_others, _own) = match way {
            OpenMode::Locked => {
                drop(others);
                (None, Some(LOCKS.write().unwrap_or_else(PoisonError::into_inner)))
            }
            _ => (Some(others), None),
        };
        let db = open(path, way);
        // SQLite creates a log that it does not find, so check for one right before the read. In mode `Alone` the size
        // is fixed at opening: a file that grew since would seem damaged.
        let opened = Footprint::read_from(path)?;
        let is_as_opened = if way == OpenMode::Locked { opened.way(is_restless) == way } else { opened == before };
        if !is_as_opened {
            continue;
        }
        let found = db.and_then(|db| db.begin().and_then(|()| look(&db)));
        let is_settled = Footprint::read_from(path)? == opened;
        match found {
            // Everything read under locks is one snapshot, whatever else has changed.
            Ok(()) if is_settled || way == OpenMode::Locked => return Ok(()),
            // Half-initialized shared memory looks the same before and after, and is complete a moment later.
            Err(error) if is_restless && attempt + 1 < TRIES && error.is_refused_write() => {}
            // Without a change the next try would fail too; with one, the log may have been removed before it was
            // opened.
            Err(error) if is_settled || error.is_lock() => return Err(fail(error.to_string())),
            _ => {}
        }
    }
    Err(fail("it is changed too fast to be read".to_owned()))
}

/// The mode in which a database is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenMode {
    /// As an immutable file: the database has no log.
    Alone,
    /// Opens the database with its log, which is indexed in private memory.
    WithLog,
    /// As a reader with locks, but without creating or changing shared memory.
    Locked,
}

/// The properties of a database that a change affects.
#[derive(PartialEq, Eq)]
struct Footprint {
    /// Device, inode, size, and time of modification.
    file: [i128; 4],
    /// The first bytes, which include the change counter.
    header: Vec<u8>,
    /// Inode and first bytes of the log; these change when the log restarts, not when it grows.
    log: Option<(u64, Vec<u8>)>,
    /// The part of the log that was moved into the database, from the shared memory.
    moved: Option<Vec<u8>>,
    /// Set if a change with a rollback journal has not ended.
    has_journal: bool,
}

impl Footprint {
    fn read_from(path: &Path) -> Result<Self, PathError> {
        let (file, metadata) = fsio::open_regular(path)?;
        let header = |file: &std::fs::File, len: usize, at: u64| {
            let mut bytes = vec![0; len];
            let count = file.read_at(&mut bytes, at).unwrap_or_default();
            bytes.truncate(count);
            bytes
        };
        // A missing file is fine, but SQLite must not open a link or a FIFO.
        let companion = |suffix: &str| match fsio::open_regular(&with_suffix(path, suffix)) {
            Ok(opened) => Ok(Some(opened)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        let modified = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
        // nBackfill and nBackfillAttempted; the read marks in between do not matter.
        let moved = companion("-shm")?.map(|(memory, _)| [header(&memory, 4, 96), header(&memory, 4, 128)].concat());
        let has_journal =
            companion("-journal")?.is_some_and(|(file, _)| header(&file, 1, 0).iter().any(|byte| *byte != 0));
        let log = companion("-wal")?.map(|(log, metadata)| (metadata.ino(), header(&log, 32, 0)));
        Ok(Self {
            file: [metadata.dev().into(), metadata.ino().into(), metadata.size().into(), modified],
            header: header(&file, 100, 0),
            log,
            moved,
            has_journal,
        })
    }

    /// Returns the mode to read the database in, without locks if possible.
    fn way(&self, is_restless: bool) -> OpenMode {
        if self.has_journal {
            // Only the locks show whether the journal belongs to a change in progress. Nothing is created for them
            // here.
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

/// Describes an SQLite error code.
#[cfg(feature = "sqlite")]
fn explain(error: &rusqlite::Error) -> String {
    use rusqlite::ErrorCode;
    let words = crate::error::reason(&io::Error::other(error.to_string()));
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => "it is not an SQLite database".to_owned(),
        Some(ErrorCode::DatabaseCorrupt) => format!("{DAMAGED}: {words}"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "another process keeps it locked".to_owned(),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen) => {
            format!("it cannot be read without changing it: {words}")
        }
        _ => words,
    }
}
