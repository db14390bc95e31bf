//! Databases while their owners write, end and are killed.

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
