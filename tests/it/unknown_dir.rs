//! Sessions whose directory no record names: no command guesses one.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::agent_rules;
use crate::agents::NEEDS_SQLITE;
use crate::contract::{Details, Session};
use crate::fixtures::{Amplifier, Claude, age_tree, id, lines, put, sign_here};
use crate::ordinary;
use crate::picture::picture;
use crate::world::World;

/// The directory of ordinary sessions.
const DIR: &str = "/usr/bin";

/// Agents whose sessions are inside their directories, and one without sessions.
const HAS_DIR: [&str; 3] = ["aider", "crush", "leo"];

/// Agents that cannot continue the session in another directory: Kimi CLI finds it only through its list of
/// directories.
const REFUSES_OPTION: [&str; 1] = ["kimi"];

/// Removes a directory from all records in the files of a home.
fn forget(home: &Path, dir: &str) {
    for entry in walkdir::WalkDir::new(home).into_iter().map(|entry| entry.expect("an entry")) {
        let path = entry.path();
        if !entry.file_type().is_file() {
            continue;
        }
        let bytes = std::fs::read(path).expect("a file");
        let Ok(text) = String::from_utf8(bytes) else {
            #[cfg(feature = "sqlite")]
            forget_in_database(path, dir);
            continue;
        };
        let text = text.replace(dir, "");
        let is_signed = path.starts_with(home.join(".jido_code/sessions"));
        std::fs::write(path, if is_signed { sign_here(text.as_bytes()) } else { text.into_bytes() }).expect("a file");
    }
    age_tree(home);
}

#[cfg(feature = "sqlite")]
fn forget_in_database(path: &Path, dir: &str) {
    let connection = rusqlite::Connection::open(path).expect("a database");
    let sql = "SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'";
    let columns: Vec<(String, String)> = connection
        .prepare(sql)
        .and_then(|mut query| query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect())
        .expect("columns");
    for (table, column) in columns {
        let sql =
            format!("UPDATE \"{table}\" SET \"{column}\" = replace(\"{column}\", ?1, '') WHERE \"{column}\" LIKE ?2");
        connection.execute(&sql, [dir, &format!("%{dir}%")]).expect("an update");
    }
}

/// Returns directories of callers: the session's, one of the same name, and the home.
fn callers(world: &World) -> [PathBuf; 3] {
    [DIR.into(), world.dir("other/bin"), world.home()]
}

fn only(sessions: Vec<Session>) -> Session {
    let [session] = <[Session; 1]>::try_from(sessions).expect("one session");
    session
}

#[test]
fn unrecorded_directory_of_every_agent_stays_unknown() {
    agent_rules::hold("a session that records no directory gets none", agent_rules::GUIDE, |agent| {
        let mut faults: Vec<String> = Vec::new();
        let can_be_read = cfg!(feature = "sqlite") || !NEEDS_SQLITE.contains(&agent);
        let world = World::with_agents();
        if !can_be_read || HAS_DIR.contains(&agent) || !ordinary::write(agent, &world) {
            return;
        }
        forget(&world.home(), DIR);
        let mut fault = |what: &str, detail: String| faults.push(format!("{agent}: {what}: {detail}"));
        let before = picture(&world.home());
        for caller in callers(&world) {
            let call = || world.from(&caller);
            let listed = only(call().rejoin(["list", "--all", "--json"]).sessions());
            let shown: Details = call().rejoin(["show", &listed.id, "--json"]).code(0).json();
            for (verb, session) in [("list", &listed), ("show", &shown.session)] {
                if session.launch_dir.is_some() || !session.health.contains(&"unknown-directory".to_owned()) {
                    fault(verb, format!("from {}: {:?}, {:?}", caller.display(), session.launch_dir, session.health));
                }
            }
            for args in [&["--print"][..], &["--json"], &[]] {
                let args = [&["resume", &listed.id], args].concat();
                let resumed = call().rejoin(&args);
                if resumed.exit() != Some(7) || resumed.stdout().contains("\"launch_dir\":{") {
                    fault(&args.join(" "), format!("from {}: {}", caller.display(), resumed.stdout()));
                }
            }
        }
        let session = only(world.rejoin(["list", "--all", "--json"]).sessions());
        let named = world.rejoin(["resume", &session.id, "--in", DIR, "--print"]);
        let is_refused = named.exit() == Some(7) && REFUSES_OPTION.contains(&agent);
        if !is_refused && !named.stdout().contains(DIR) {
            fault("--in", named.stderr());
        }
        if before != picture(&world.home()) {
            fault("all", "something has changed".to_owned());
        }
        assert!(faults.is_empty(), "{}", faults.join(", "));
    });
}

#[test]
fn resume_writes_no_directory_of_the_caller() {
    let world = World::with_agents();
    world.add(Amplifier::session(id(1)).in_dir(DIR).turn("a", "b"));
    forget(&world.home(), DIR);
    let before = picture(&world.home());
    world.from(DIR).rejoin(["resume", &id(1)]).code(7);
    assert!(before == picture(&world.home()));
}

#[test]
fn sessions_of_named_project_give_no_evidence() {
    let world = World::new();
    // The user chose the name of this project, so it may contain sessions of any directory.
    let named = world.home().join(".claude/projects/shared");
    let lost = world.add(Claude::session(id(1)).in_dir(DIR).turn("a", "b"));
    let other = world.add(Claude::session(id(2)).in_dir("/usr/lib").turn("c", "d"));
    std::fs::create_dir_all(&named).expect("a directory");
    for path in [&lost, &other] {
        std::fs::rename(path, named.join(path.file_name().expect("a name"))).expect("a move");
    }
    let droid = world.home().join(".factory/sessions/-usr-bin");
    let start =
        |id: &str, cwd: &str| json!({"type": "session_start", "id": id, "title": "t", "version": 2, "cwd": cwd});
    let entry = json!({"type": "message", "id": "m", "timestamp": "2026-02-01T10:00:00Z", "message": {"role": "user", "content": "x"}});
    put(&droid.join(format!("{}.jsonl", id(3))), lines(&[start(&id(3), ""), entry.clone()]));
    put(&droid.join(format!("{}.jsonl", id(4))), lines(&[start(&id(4), "/usr/lib"), entry]));
    forget(&world.home(), DIR);
    for (n, expected) in [(1, None), (2, Some("/usr/lib")), (3, None), (4, Some("/usr/lib"))] {
        let shown: Details = world.rejoin(["show", &id(n), "--json"]).code(0).json();
        assert_eq!(shown.session.launch_path(), expected, "{n}");
    }
}
