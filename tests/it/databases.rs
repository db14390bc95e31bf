//! Databases that are damaged, or have values that no agent writes: the readable rows are listed.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::contract::{Details, DoctorReport, Kind, SessionList};
use crate::fixtures::{Crush, Goose, OpenCode, goose_db, id, opencode_db, opencode_id, register_crush};
use crate::world::{Answer, World};

/// Runs the program, which must exit by itself.
fn ended(world: &World, args: &[&str]) -> Answer {
    let program = env!("CARGO_BIN_EXE_rejoin");
    world.from(world.dir("elsewhere")).run("timeout", [&["20", program], args].concat())
}

/// Returns a number that is the same for every run with a seed.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

#[test]
fn show_prints_message_with_any_timestamp_once() {
    let world = World::new();
    let app = world.dir("app");
    let ids = [opencode_id(1), id(2), "20260201_1".to_owned()];
    world.add(OpenCode::session(&ids[0]).in_dir(&app).turn("find the needle", "found").turn("and", "again"));
    Crush::session(&ids[1]).turn("find the needle", "found").turn("and", "again").write_in(&app.join(".crush"));
    register_crush(&world.home(), &[(&app, &app.join(".crush"))]);
    world.add(Goose::session(&ids[2]).in_dir(&app).turn("find the needle", "found").turn("and", "again"));
    let dbs = [opencode_db(&world.home()), app.join(".crush/crush.db"), goose_db(&world.home())];
    let columns = [("message", "time_created"), ("messages", "created_at"), ("messages", "created_timestamp")];
    for value in ["'x'", "x'00ff'", "1e300", "-9223372036854775808", "9223372036854775807", "''"] {
        for (path, (table, column)) in dbs.iter().zip(columns) {
            let connection = Connection::open(path).expect("a database");
            connection.execute_batch(&format!("UPDATE {table} SET {column} = {value}")).expect("a change");
        }
        let listed = ended(&world, &["list", "--counts", "--json"]).code(0).stderr_eq("").sessions();
        let counts: Vec<_> = listed.iter().map(|session| (session.prompts, session.replies)).collect();
        assert_eq!(counts, [(Some(2), Some(2)); 3], "{value}");
        let found = ended(&world, &["search", "needle"]).code(0).stdout();
        assert_eq!(found.lines().count(), 3, "{value}: {found}");
        for id in &ids {
            let shown = ended(&world, &["show", id, "--transcript"]).code(0).stdout();
            assert_eq!(shown.matches("again").count(), 1, "{value}: {shown}");
        }
    }
}

/// Returns the rows of each session that SQLite's own reader still returns for its id.
fn readable(path: &Path, table: &str, columns: &str, ids: &[String]) -> Vec<String> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let uri = format!("file:{}?immutable=1", path.display());
    let can_read = |id: &&String| {
        let connection = Connection::open_with_flags(&uri, flags).ok()?;
        let sql = format!("SELECT rowid, {columns} FROM {table} WHERE id = ?1");
        let row: i64 = connection.query_row(&sql, [id], |row| row.get(0)).ok()?;
        // An index may still have an id that the damage changed in the table.
        let sql = format!("SELECT id FROM {table} WHERE rowid = ?1");
        connection.query_row(&sql, [row], |row| row.get::<_, String>(0)).ok().filter(|found| found == *id)
    };
    ids.iter().filter(|id| can_read(id).is_some()).cloned().collect()
}

/// Damages one page of a database, except the first, which has the schema.
fn damage(path: &Path, sound: &[u8], seed: u64) {
    const PAGE: usize = 4096;
    let mut state = seed;
    let mut bytes = sound.to_vec();
    let pages = u64::try_from(bytes.len() / PAGE).expect("a small database");
    let page = usize::try_from(1 + next(&mut state) % (pages - 1)).expect("a page");
    let page = &mut bytes[page * PAGE..][..PAGE];
    match seed % 4 {
        0 => page.fill(0),
        1 => page.fill_with(|| next(&mut state).to_le_bytes()[0]),
        2 => page[..12].fill_with(|| next(&mut state).to_le_bytes()[0]),
        _ => {
            for _ in 0..8 {
                let at = usize::try_from(next(&mut state)).expect("a place") % PAGE;
                page[at] ^= 1 << (next(&mut state) % 8);
            }
        }
    }
    std::fs::write(path, bytes).expect("a damaged database");
}

#[test]
fn damaged_page_hides_only_its_rows() {
    let world = World::new();
    let app = world.dir("app");
    let text = "words ".repeat(300);
    let ids: [Vec<String>; 3] = [
        (0..20).map(opencode_id).collect(),
        (0..20).map(|n| format!("2026020{}_{n}", n % 10)).collect(),
        (0..20).map(id).collect(),
    ];
    for (n, ((one, two), three)) in ids[0].iter().zip(&ids[1]).zip(&ids[2]).enumerate() {
        let title = format!("session {n} {}", "title ".repeat(100));
        world.add(OpenCode::session(one).in_dir(&app).title(&title).turn(&text, &text).turn("b", "c"));
        world.add(Goose::session(two).in_dir(&app).column("name", &title).turn(&text, &text).turn("b", "c"));
        Crush::session(three).turn(&text, &text).turn("b", "c").write_in(&app.join(".crush"));
    }
    register_crush(&world.home(), &[(&app, &app.join(".crush"))]);
    let dbs: [(PathBuf, &str, &str); 3] = [
        (opencode_db(&world.home()), "session", "id, parent_id, title, time_updated"),
        (goose_db(&world.home()), "sessions", "id, parent_session_id, name, updated_at"),
        (app.join(".crush/crush.db"), "sessions", "id, parent_session_id, title, updated_at"),
    ];
    let sound: Vec<Vec<u8>> = dbs.iter().map(|(path, ..)| std::fs::read(path).expect("a database")).collect();
    let mut hidden = 0;
    for seed in 0..40 {
        for ((path, ..), sound) in dbs.iter().zip(&sound) {
            damage(path, sound, seed);
        }
        let list: SessionList = ended(&world, &["list", "--all", "--counts", "--json"]).code(0).json();
        let empty = list.sessions.iter().find(|session| session.kind == Kind::Empty);
        assert!(empty.is_none(), "seed {seed}: unreadable messages count as none: {empty:?}");
        for ((path, table, columns), ids) in dbs.iter().zip(&ids) {
            let listed: Vec<&String> =
                list.sessions.iter().map(|session| &session.id).filter(|id| ids.contains(id)).collect();
            for id in readable(path, table, columns, ids) {
                assert!(listed.contains(&&id), "seed {seed}: {id} of {} is hidden", path.display());
            }
            let of_path = list.problems.iter().filter(|problem| Path::new(&problem.path) == path);
            let reasons: Vec<&str> = of_path.map(|problem| problem.reason.as_str()).collect();
            // A damaged id equals that of another session.
            let count = list.sessions.iter().filter(|session| Path::new(&session.copies[0].path) == path).count();
            hidden += 20_usize.saturating_sub(count);
            assert!(count >= 20 || !reasons.is_empty(), "seed {seed}: nothing is said of {}", path.display());
            assert!(
                reasons.iter().filter(|reason| reason.contains("damaged")).count() <= 1,
                "seed {seed}: {reasons:?}"
            );
        }
    }
    assert!(hidden > 0, "no page that was damaged held a session");
}

#[test]
fn commands_report_unreadable_message() {
    let world = World::new();
    let app = world.dir("app");
    let long = "x".repeat(20_000);
    world.add(Goose::session("20260201_1").in_dir(&app).turn("first", "one").turn(&long, "two").turn("last", "three"));
    world.add(Goose::session("20260201_2").in_dir(&app).turn("another", "session"));
    let path = goose_db(&world.home());
    let mut bytes = std::fs::read(&path).expect("a database");
    // An overflow page of a long value begins with the number of the next page.
    let page = bytes.chunks(4096).position(|page| page[4..].iter().all(|byte| *byte == b'x')).expect("a full page");
    bytes[page * 4096..][..4].fill(0xff);
    std::fs::write(&path, bytes).expect("a damaged database");

    let list: SessionList = world.rejoin(["list", "--counts", "--json"]).code(0).json();
    assert_eq!(list.sessions.len(), 2);
    assert_eq!(list.problems.len(), 1, "{:?}", list.problems);
    let other = list.sessions.iter().find(|session| session.id == "20260201_2").expect("the other session");
    assert_eq!((other.prompts, other.health.len()), (Some(1), 0));
    let details: Details = world.rejoin(["show", "20260201_1", "--json"]).code(0).json();
    assert_eq!((details.session.prompts, details.session.replies), (Some(2), Some(3)));
    assert_eq!(details.session.health, ["bad-lines"]);
    let shown = world.rejoin(["show", "20260201_1", "--transcript"]).code(3);
    assert!(shown.stdout().contains("first") && shown.stdout().contains("three"), "{}", shown.stdout());
    assert!(shown.stderr().contains("it is damaged, and some messages could not be read"), "{}", shown.stderr());
    let found = world.rejoin(["search", "three"]).code(0);
    assert_eq!(found.stdout().lines().count(), 1, "{}", found.stdout());
    assert_eq!(found.stderr().lines().count(), 1, "{}", found.stderr());
}

#[test]
fn doctor_offers_recovery_of_damaged_database() {
    let world = World::new();
    for n in 1..200 {
        world.add(Goose::session(&format!("20260201_{n}")).in_dir("/usr/bin").turn("first", &"x".repeat(500)));
    }
    let path = goose_db(&world.home());
    let mut bytes = std::fs::read(&path).expect("a database");
    // A leaf of the table of sessions.
    let id = bytes
        .windows(13)
        .position(|bytes| bytes == b"20260201_100/")
        .or_else(|| bytes.windows(12).position(|bytes| bytes == b"20260201_100"));
    let page = id.expect("the session") / 4096;
    bytes[page * 4096..][..4096].fill(0xff);
    std::fs::write(&path, bytes).expect("a damaged database");
    let report: DoctorReport = world.rejoin(["doctor", "--check", "unreadable", "--json"]).code(4).json();
    let [finding] = &report.findings[..] else { panic!("{:?}", report.findings) };
    let commands: Vec<&str> = finding.remedies.iter().map(|remedy| remedy.command.as_str()).collect();
    let [export, recover, dump] = commands[..] else { panic!("{commands:?}") };
    assert_eq!(export, "rejoin export --every --agent goose --output goose-sessions");
    assert!(recover.contains(" .recover | ") && dump.contains(" .dump | "), "{commands:?}");
    let out = world.dir("goose-sessions");
    world.rejoin(["export", "--every", "--agent", "goose", "--output", out.to_str().expect("a path")]);
    let exported = std::fs::read_dir(&out).expect("a listing").count();
    assert!((100..=200).contains(&exported), "{exported}");
}
