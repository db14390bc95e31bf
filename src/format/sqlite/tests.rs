//! Reads databases while their owners write, end and are killed.

use std::cell::Cell;
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

/// Copies a database in the state that a killed process leaves.
fn left_by_a_kill(path: &Path, suffixes: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    let copy = dir.path().join("copy.db");
    for suffix in suffixes {
        std::fs::copy(with_suffix(path, suffix), with_suffix(&copy, suffix)).expect("a copy");
    }
    (dir, copy)
}

#[test]
fn reading_an_unused_database_changes_no_file() {
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
fn query_reads_wal_of_running_or_killed_writer() {
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
fn query_ignores_empty_wal() {
    let (_dir, path, connection) = database("WAL");
    drop(connection);
    std::fs::write(with_suffix(&path, "-wal"), "").expect("a log");
    let before = picture(path.parent().expect("a directory"));
    assert_eq!(ids(&path), Ok(vec!["one".to_owned()]));
    assert_eq!(picture(path.parent().expect("a directory")), before);
}

#[test]
fn reader_ignores_and_never_blocks_uncommitted_change() {
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
fn query_retries_read_after_checkpoint() {
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
fn query_reopens_database_that_grows_meanwhile() {
    for mode in ["DELETE", "WAL"] {
        let (_dir, path, connection) = database(mode);
        let opened = Cell::new(0);
        let open = |path: &Path, way: OpenMode| {
            let db = Db::open(path, way);
            opened.set(opened.get() + 1);
            if opened.get() == 1 {
                insert(&connection, &"long ".repeat(10_000));
                connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("a checkpoint");
            }
            db
        };
        let mut count = 0;
        let mut look = |db: &Db| {
            count = 0;
            db.query("SELECT id FROM t", &[], |_| count += 1)
        };
        read_opened(&path, &open, &mut look).expect("an answer");
        assert_eq!(count, 2, "{mode}");
        assert_eq!(opened.get(), 2, "{mode}");
    }
}

#[test]
fn query_locks_constantly_changing_database() {
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
fn query_neither_blocks_nor_misreads_constant_writer() {
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
    /// Signals the writer to stop, also when the test fails.
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
            // Opened and closed each time, so that the log and the shared memory appear and disappear.
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
fn writer_can_remove_wal_during_read() {
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
fn damaged_or_foreign_file_error_has_reason() {
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
        // The damage may be in a part that is not read; only a panic is a failure.
        let _ = ids(&path);
        std::fs::write(&path, &damaged[..damaged.len() / 3]).expect("a file");
        assert!(ids(&path).is_err(), "cut off, and {with:#x} at {at}");
    }
}

#[test]
fn link_uses_wal_of_its_target() {
    let (_dir, path, connection) = database("WAL");
    let elsewhere = tempfile::tempdir().expect("a directory");
    let link = elsewhere.path().join("link.db");
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    insert(&connection, "only in the log");
    assert_eq!(ids(&link), ids(&path));
    drop(connection);
    let made = std::process::Command::new("mkfifo").arg(with_suffix(&path, "-wal")).status();
    assert!(made.expect("mkfifo").success());
    assert!(ids(&path).is_err_and(|why| why.contains("not a regular file")));
}

#[test]
fn query_reads_locked_database_or_reports_lock() {
    let (_dir, path, connection) = database("DELETE");
    connection.pragma_update(None, "cache_size", 2).expect("a pragma");
    connection.execute_batch("BEGIN EXCLUSIVE").expect("a transaction");
    (0..400).for_each(|n| insert(&connection, &format!("{n:0>200}")));
    assert_eq!(ids(&path), Err("another process keeps it locked".to_owned()));
}

#[test]
fn error_names_missing_required_column() {
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

/// A database whose session `s` has values of every type in several tables, next to another session.
fn sessions() -> (tempfile::TempDir, PathBuf, Connection) {
    let (dir, path, connection) = database("WAL");
    let tables = "
        CREATE TABLE project (id TEXT PRIMARY KEY, name TEXT);
        CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT REFERENCES session(id), project_id TEXT REFERENCES project(id),
            cost REAL, flag);
        CREATE TABLE message (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, data, twice AS (data || data));
        CREATE TABLE part (id TEXT PRIMARY KEY, message_id INTEGER REFERENCES message(id), data BLOB) WITHOUT ROWID;
        CREATE TABLE older (message_id INTEGER, data);
        CREATE TABLE \"odd \"\"name\" (session_id TEXT, rowid TEXT, \"a \"\"b\" ANY);
        CREATE TABLE secret (id TEXT, token TEXT);
        CREATE VIRTUAL TABLE words USING fts5(session_id, text);
        INSERT INTO project VALUES ('p', 'ours'), ('q', 'theirs');
        INSERT INTO session VALUES ('s', NULL, 'p', 0.1, x'00ff'), ('other', 's', 'q', 1e300, NULL);
        INSERT INTO message (id, session_id, data) VALUES (7, 's', 'it''s\n\u{1b}[1m'), (8, 'other', 'not yours'),
            (9, 's', 9007199254740993), (10, 's', -0.0), (11, 's', CAST(x'80ff' AS TEXT)), (12, 's', 9e999),
            (13, 's', -9223372036854775808), (14, 's', x''), (15, 's', '');
        INSERT INTO part VALUES ('b', 7, x'000102'), ('a', 7, 'text'), ('c', 8, 'not yours');
        INSERT INTO older VALUES (9, 'old'), (8, 'not yours');
        INSERT INTO \"odd \"\"name\" VALUES ('s', 'r', 1), ('other', 'not yours', 2);
        INSERT INTO secret VALUES ('s', 'not yours');
        INSERT INTO words VALUES ('s', 'made again by its owner');";
    connection.execute_batch(tables).expect("tables");
    (dir, path, connection)
}

const OWNED: rows::Owned =
    rows::Owned { sessions: &["session"], names: &["session_id"], through: &[("older", "message_id", "message")] };

fn captured(path: &Path, id: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let found = read(path, |db| {
        lines.clear();
        rows::SessionTables::find_in(db, &OWNED)?.capture(id, &mut |line| {
            lines.push(String::from_utf8(line.to_owned()).expect("a text"));
            Ok(())
        })
    });
    assert!(matches!(found.expect("rows"), rows::CapturedRows::Whole));
    lines
}

/// The rows alone, each with its table.
fn contents(lines: &[String], with_numbers: bool) -> Vec<String> {
    let mut table = String::new();
    let mut contents = Vec::new();
    for line in &lines[1..] {
        let record: serde_json::Value = serde_json::from_str(line).expect("a record");
        match record.get("table") {
            Some(name) => table = name.to_string(),
            None if with_numbers => contents.push(format!("{table} {line}")),
            None => contents.push(format!("{table} {}", line.split_once(',').expect("a row").1)),
        }
    }
    contents
}

#[test]
fn capture_keeps_every_value_of_one_session_only() {
    let (dir, path, connection) = sessions();
    let before = picture(dir.path());
    let lines = captured(&path, "s");
    assert_eq!(picture(dir.path()), before, "reading changes nothing");
    let all = lines.concat();
    assert_eq!(contents(&lines, true).len(), 1 + 1 + 8 + 2 + 1 + 1, "{all}");
    assert!(!all.contains("not yours") && !all.contains("theirs"), "{all}");
    assert!(all.contains("CREATE TABLE") && all.contains("9007199254740993"), "{all}");

    // The captured rows can be rebuilt into a database, with every value of the same type.
    let copy = dir.path().join("copy.db");
    rows::rebuild(lines.concat().as_bytes(), &copy).expect("a database");
    let rebuilt = Connection::open(&copy).expect("a database");
    let values = |connection: &Connection, sql: &str| -> Vec<String> {
        let mut query = connection.prepare(sql).expect("a query");
        let found = query.query_map([], |row| row.get(0)).expect("rows");
        found.map(|value| value.expect("a value")).collect()
    };
    for sql in [
        "SELECT rowid || typeof(data) || hex(data) || CASE typeof(data) WHEN 'real' THEN quote(data) ELSE '' END FROM message WHERE session_id = 's' ORDER BY rowid",
        "SELECT id || typeof(data) || quote(data) FROM part WHERE message_id = 7 ORDER BY id",
        "SELECT typeof(cost) || quote(cost) || typeof(flag) || quote(flag) FROM session WHERE id = 's'",
    ] {
        let expected = values(&connection, sql);
        assert!(!expected.is_empty());
        assert_eq!(values(&rebuilt, sql), expected, "{sql}");
    }

    // The statements restore the session if it is missing, and change nothing if it is not.
    let mut script = Vec::new();
    rows::script(lines.concat().as_bytes(), &mut script).expect("a script");
    let script = String::from_utf8(script).expect("a text").replace(".bail on\n", "");
    assert!(connection.execute_batch(&script).is_err());
    connection.execute_batch("ROLLBACK").expect("no change");
    assert_eq!(captured(&path, "s"), lines);
    let gone = "PRAGMA foreign_keys = OFF;
        DELETE FROM part WHERE message_id IN (SELECT id FROM message WHERE session_id = 's');
        DELETE FROM older WHERE message_id = 9; DELETE FROM message WHERE session_id = 's';
        DELETE FROM \"odd \"\"name\" WHERE session_id = 's'; DELETE FROM session WHERE id = 's';
        PRAGMA foreign_keys = ON;";
    connection.execute_batch(gone).expect("no session");
    let look = read(&path, |db| rows::SessionTables::find_in(db, &OWNED)?.capture("s", &mut |_| Ok(())));
    assert!(matches!(look.expect("rows"), rows::CapturedRows::Missing));
    connection.execute_batch(&script).expect("a session");
    assert_eq!(contents(&captured(&path, "s"), false), contents(&lines, false));
}

#[test]
fn capture_fails_on_damaged_row() {
    let (_dir, path, connection) = sessions();
    connection.execute_batch("BEGIN").expect("a transaction");
    for at in 100..2000 {
        connection
            .execute("INSERT INTO message (id, session_id, data) VALUES (?1, 's', ?2)", (at, "x".repeat(400)))
            .expect("a row");
    }
    connection.execute_batch("COMMIT").expect("rows");
    connection.pragma_update(None, "wal_checkpoint", "TRUNCATE").expect("no log");
    drop(connection);
    let mut bytes = std::fs::read(&path).expect("a database");
    let page = bytes.len() / 4096 / 2;
    bytes[page * 4096..(page + 1) * 4096].fill(0);
    std::fs::write(&path, bytes).expect("damage");
    let look = read(&path, |db| rows::SessionTables::find_in(db, &OWNED)?.capture("s", &mut |_| Ok(())));
    assert!(look.expect_err("damage").reason().contains("damaged"));
}
