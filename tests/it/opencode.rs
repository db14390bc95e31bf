//! OpenCode's sessions: its database while it is written, damaged, older and newer, and the directory of files before
//! it.

use std::collections::BTreeSet;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::contract::{Agent, Details, DoctorReport, Kind, Liveness, ResumePlan, Session, SessionList};
use crate::fixtures::{Fixture as _, OpenCode, open_opencode, opencode_db, opencode_id, put};
use crate::world::{NOW, World};

fn listed(world: &World) -> Vec<Session> {
    world.rejoin(["list", "--all", "--json"]).code(0).stderr_eq("").sessions()
}

fn names_beside(path: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(path.parent().expect("a directory")).expect("a listing");
    entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name")).collect()
}

#[test]
fn show_reads_a_session_from_the_database() {
    let world = World::new();
    let tool = json!({"type": "tool", "tool": "bash", "state": {"input": {"command": "ls"}, "output": "a b", "status": "completed"}});
    world.add(
        OpenCode::session(opencode_id(1))
            .title("Parser")
            .turn("\"fix the parser\"", "Looking.")
            .message(json!({"role": "assistant"}), vec![json!({"type": "step-start"}), tool])
            .message(
                json!({"role": "assistant", "error": {"name": "APIError"}}),
                vec![json!({"type": "text", "text": "half"})],
            )
            .message(json!({"role": "assistant"}), vec![json!({"type": "text", "text": ""})])
            .message(
                json!({"role": "user"}),
                vec![json!({"type": "text", "text": "the file", "synthetic": true}), json!({"type": "compaction"})],
            ),
    );
    let details: Details = world.rejoin(["show", &opencode_id(1), "--messages", "9", "--json"]).code(0).json();
    let session = &details.session;
    assert_eq!((session.agent, session.kind, session.liveness), (Agent::OPENCODE, Kind::Main, Liveness::Idle));
    assert_eq!(session.title.as_deref(), Some("Parser"));
    assert_eq!(session.first_prompt.as_deref(), Some("\"fix the parser\""));
    assert_eq!((session.prompts, session.replies), (Some(1), Some(2)));
    assert_eq!((session.launch_path(), session.model.as_deref()), (Some("/home/ana/app"), Some("model-o")));
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00Z"));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:06:00Z"));
    assert!(session.size_bytes > Some(200), "{:?}", session.size_bytes);
    // A list does not count the messages; unknown is not 0.
    let listed = world.rejoin(["list", "--json"]).code(0).sessions().remove(0);
    assert_eq!((listed.size_bytes, listed.copies[0].size_bytes), (None, None));
    world.rejoin(["list", "--fields", "size_bytes"]).code(0).stdout_eq("\n");
    let texts: Vec<&str> = details.messages.iter().flatten().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, ["\"fix the parser\"", "Looking.", "bash {\"command\":\"ls\"}", "→ a b", "APIError", "half"]);
}

#[test]
fn kind_follows_from_parent_archive_title_and_content() {
    let world = World::new();
    let session = |n: u32| OpenCode::session(opencode_id(n)).turn("a", "b");
    world.add(session(1));
    world.add(session(2).made_by(&opencode_id(1)));
    world.add(session(3).archived());
    world.add(session(4).title("Parser (fork #1)"));
    world.add(OpenCode::session(opencode_id(5)));
    // The program was killed before the reply.
    world.add(OpenCode::session(opencode_id(6)).prompt("c").message(json!({"role": "assistant"}), vec![]));
    let mut kinds: Vec<_> =
        listed(&world).into_iter().map(|session| (session.id, session.kind, session.parent_id)).collect();
    kinds.sort_by(|a, b| a.0.cmp(&b.0));
    let expected = [
        (1, Kind::Main, None),
        (2, Kind::Subagent, Some(opencode_id(1))),
        (3, Kind::Archived, None),
        (4, Kind::Fork, None),
        (5, Kind::Empty, None),
        (6, Kind::Main, None),
    ];
    assert_eq!(kinds, expected.map(|(n, kind, parent)| (opencode_id(n), kind, parent)));
}

#[test]
fn recently_written_session_may_be_in_use() {
    let world = World::new();
    let path = world.add(OpenCode::session(opencode_id(1)).turn("a", "b"));
    let now: jiff::Timestamp = NOW.parse().expect("a time");
    for (seconds, liveness) in [(119, Liveness::Maybe), (121, Liveness::Idle), (-5, Liveness::Idle)] {
        let at = now.as_millisecond() - seconds * 1000;
        open_opencode(&path).execute("UPDATE session SET time_updated = ?1", [at]).expect("a row");
        assert_eq!(listed(&world)[0].liveness, liveness, "{seconds} s");
    }
}

#[test]
fn list_shows_sessions_of_every_project_id() {
    let world = World::new();
    world.add(OpenCode::session(opencode_id(1)).of_project("0a1b2c").turn("a", "b"));
    world.add(OpenCode::session(opencode_id(2)).of_project("global").turn("c", "d"));
    assert_eq!(listed(&world).len(), 2);
}

#[test]
fn resume_passes_full_id_in_recorded_directory() {
    let world = World::new();
    world.install("opencode", "");
    let app = world.dir("app");
    world.add(OpenCode::session(opencode_id(1)).in_dir(&app).turn("a", "b"));
    let id = opencode_id(1);
    let plan: ResumePlan = world.rejoin(["resume", "ses_e001", "--json"]).plan();
    assert_eq!(plan.resume.argv, ["opencode", "--session", &id]);
    assert_eq!(plan.resume.dir.as_deref(), app.to_str());
    for (prompt, last) in [("go on", &["go on"][..]), ("-v", &["--", "-v"])] {
        world.rejoin(["resume", &id, &format!("--prompt={prompt}")]).code(0);
        let launch = world.launched().expect("a launch");
        assert_eq!(launch.argv, [&["opencode", "run", "--session", &id], last].concat());
        assert_eq!(launch.cwd, app);
        // With an unchanged PWD, `run --session` hangs.
        assert_eq!(launch.variable("PWD"), app.to_str());
    }
}

#[test]
fn resume_passes_channel_database_to_program() {
    let world = World::new();
    world.install("opencode", "");
    let app = world.dir("app");
    let path = world.add(OpenCode::session(opencode_id(1)).in_dir(&app).in_database("opencode-dev.db").turn("a", "b"));
    world.rejoin(["resume", &opencode_id(1)]).code(0);
    assert_eq!(world.launched().expect("a launch").variable("OPENCODE_DB"), path.to_str());

    // The program's own variable names another database, which must not replace the default one.
    let other = world.dir("other").join("mine.db");
    OpenCode::session(opencode_id(2)).in_dir(&app).turn("c", "d").insert(&open_opencode(&other));
    world.add(OpenCode::session(opencode_id(3)).in_dir(&app).turn("e", "f"));
    let sessions = world.with("OPENCODE_DB", &other).rejoin(["list", "--json"]).code(0).sessions();
    assert_eq!(sessions.len(), 3);
    world.with("OPENCODE_DB", &other).rejoin(["resume", &opencode_id(2)]).code(0);
    assert_eq!(world.launched().expect("a launch").variable("OPENCODE_DB"), other.to_str());
    world.with("OPENCODE_DB", &other).rejoin(["resume", &opencode_id(3)]).code(0);
    let usual = opencode_db(&world.home());
    assert_eq!(
        world.launched().expect("a launch").variable("OPENCODE_DB"),
        usual.to_str(),
        "as the build may be another's"
    );

    std::fs::remove_file(path).expect("no other channel");
    world.with("OPENCODE_DB", &other).rejoin(["resume", &opencode_id(3)]).code(0);
    assert_eq!(world.launched().expect("a launch").variable("OPENCODE_DB"), None);
}

#[test]
fn environment_variable_moves_data_directory() {
    let world = World::new();
    let data = world.dir("data");
    let path = data.join("opencode/opencode.db");
    OpenCode::session(opencode_id(1)).turn("a", "b").insert(&open_opencode(&path));
    world.add(OpenCode::session(opencode_id(2)).turn("c", "d"));
    let sessions = world.with("XDG_DATA_HOME", &data).rejoin(["list", "--json"]).code(0).sessions();
    assert_eq!(sessions.len(), 2);
    let plan: ResumePlan = world.with("XDG_DATA_HOME", &data).rejoin(["resume", &opencode_id(2), "--json"]).json();
    assert_eq!(plan.resume.unset, ["XDG_DATA_HOME"]);
}

#[test]
fn list_reads_sessions_from_wal_unchanged() {
    let world = World::new();
    let path = opencode_db(&world.home());
    let connection = open_opencode(&path);
    OpenCode::session(opencode_id(1)).turn("a", "b").insert(&connection);
    let before = names_beside(&path);
    assert_eq!(before.len(), 3, "{before:?}");
    assert_eq!(listed(&world).len(), 1);
    // Like after a killed process, and like a backup without the shared memory.
    let other = World::new();
    let copy = opencode_db(&other.home());
    for suffix in ["", "-wal"] {
        let name = format!("opencode.db{suffix}");
        put(&copy.with_file_name(&name), std::fs::read(path.with_file_name(&name)).expect("a file"));
    }
    assert_eq!(listed(&other).len(), 1);
    assert_eq!(names_beside(&copy).len(), 2);
    drop(connection);
    assert_eq!(listed(&world).len(), 1);
    assert_eq!(names_beside(&path), BTreeSet::from(["opencode.db".to_owned()]));
}

/// Stops a thread, also if a test fails.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn list_does_not_block_a_constant_writer() {
    let world = World::new();
    let path = world.add(OpenCode::session(opencode_id(0)).turn("a", "b"));
    let is_done = AtomicBool::new(false);
    let write = |n: u32| {
        // Opened again each time, so that the log and the shared memory appear and disappear.
        let connection = open_opencode(&path);
        connection.busy_timeout(Duration::ZERO).expect("no patience");
        OpenCode::session(opencode_id(n % 40)).turn("a", &"b".repeat(3000)).insert(&connection);
    };
    std::thread::scope(|scope| {
        // A failure must stop the writer, too, or the test would hang.
        let stop = StopOnDrop(&is_done);
        let writer = scope.spawn(|| {
            let mut rounds = 0;
            while !is_done.load(Ordering::Relaxed) {
                write(rounds);
                rounds += 1;
                // No agent writes faster than this.
                std::thread::sleep(Duration::from_millis(1));
            }
            rounds
        });
        for _ in 0..100 {
            let list: SessionList = world.rejoin(["list", "--all", "--json"]).code(0).stderr_eq("").json();
            assert!(!list.sessions.is_empty() && list.problems.is_empty(), "{:?}", list.problems);
        }
        drop(stop);
        assert!(writer.join().expect("a writer that nobody blocks") > 10);
    });
    write(0);
    assert_eq!(names_beside(&path), BTreeSet::from(["opencode.db".to_owned()]));
}

#[test]
fn list_waits_for_unfinished_shared_memory() {
    let world = World::new();
    let path = opencode_db(&world.home());
    let connection = open_opencode(&path);
    OpenCode::session(opencode_id(0)).turn("a", "b").insert(&connection);
    let memory = path.with_file_name("opencode.db-shm");
    // Kept open: closing the file would release the writer's lock.
    let file = std::fs::File::options().read(true).write(true).open(&memory).expect("shared memory");
    let mut whole = [0; 136];
    file.read_exact_at(&mut whole, 0).expect("shared memory");
    file.write_all_at(&[0; 96], 0).expect("no header yet");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // The amount that was moved from the log changes all the time, so that rejoin finally reads under locks.
            let begin = Instant::now();
            for n in (0_u32..).take_while(|_| begin.elapsed() < Duration::from_millis(200)) {
                file.write_all_at(&n.to_ne_bytes(), 128).expect("a change");
            }
            std::thread::sleep(Duration::from_millis(100));
            file.write_all_at(&whole, 0).expect("a header");
        });
        let list: SessionList = world.rejoin(["list", "--all", "--json"]).code(0).stderr_eq("").json();
        assert_eq!((list.sessions.len(), list.problems.len()), (1, 0));
    });
    drop(connection);
}

#[test]
fn list_tolerates_missing_columns() {
    let world = World::new();
    let path = world.add(OpenCode::session(opencode_id(1)).title("Parser").turn("a", "b"));
    let connection = open_opencode(&path);
    for column in ["model", "time_archived", "parent_id", "title"] {
        connection.execute_batch(&format!("ALTER TABLE session DROP COLUMN {column}")).expect("a table without it");
        drop(listed(&world));
    }
    let sessions = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).sessions();
    assert_eq!((sessions[0].title.as_deref(), sessions[0].first_prompt.as_deref()), (None, Some("a")));
    assert_eq!((sessions[0].replies, sessions[0].model.as_deref()), (Some(1), Some("model-o")));
    assert_eq!(sessions[0].launch_path(), Some("/home/ana/app"));
    connection.execute_batch("ALTER TABLE session DROP COLUMN directory").expect("a table without it");
    assert!(listed(&world)[0].launch_dir.is_none());
}

#[test]
fn list_tolerates_values_of_other_types() {
    let world = World::new();
    let path = world.add(OpenCode::session(opencode_id(1)).turn("a", "b").turn("c", "d"));
    let connection = open_opencode(&path);
    for value in
        ["7", "1.5", "x'ff00'", "''", "'{'", "'null'", "'[1]'", "'\"x\"'", "'{\"role\":7,\"type\":[],\"text\":{}}'"]
    {
        for column in ["directory", "title", "model", "time_created", "time_updated", "time_archived", "parent_id"] {
            connection
                .execute_batch(&format!("SAVEPOINT s; UPDATE session SET {column} = {value}; RELEASE s"))
                .expect("a row");
        }
        for table in ["message", "part"] {
            connection.execute_batch(&format!("UPDATE {table} SET data = {value}")).expect("rows");
        }
        let answer = world.rejoin(["list", "--all", "--counts", "--json"]).code(0);
        assert_eq!(answer.sessions().len(), 1, "{value}");
        world.rejoin(["show", &opencode_id(1), "--transcript"]).code(0);
    }
}

#[test]
fn id_that_looks_like_option_is_a_problem() {
    let world = World::new();
    for id in ["ses_-x", "ses_../x"] {
        let path = world.add(OpenCode::session(id));
        let sql = "UPDATE session SET id = substr(id, 5)";
        open_opencode(&path).execute_batch(sql).expect("a row");
    }
    let list: SessionList = world.rejoin(["list", "--all", "--json"]).code(0).json();
    assert!(list.sessions.is_empty());
    assert!(list.problems[0].reason.contains("has an id that no agent creates"), "{:?}", list.problems);
}

#[test]
fn list_reports_unreadable_database() {
    let world = World::new();
    let path = opencode_db(&world.home());
    OpenCode::session(opencode_id(9)).turn("from the tree", "b").write_tree(&world.home());
    let problem = |contents: &dyn Fn()| -> String {
        let _ = std::fs::remove_file(&path);
        contents();
        let list: SessionList = world.rejoin(["list", "--all", "--json"]).code(0).json();
        assert_eq!(list.sessions.len(), 1, "the tree is still there");
        assert_eq!(list.problems[0].path, path.to_str().expect("a path"));
        list.problems[0].reason.clone()
    };
    let make = |sql: &str| drop(rusqlite::Connection::open(&path).and_then(|db| db.execute_batch(sql)));
    let unknown = "so it is of a version that rejoin does not know";
    assert!(problem(&|| make("CREATE TABLE chat (id)")).ends_with(unknown));
    assert!(problem(&|| make("CREATE TABLE session (uuid)")).ends_with(unknown));
    assert!(
        problem(&|| put(&path, "no database, but as long as the header of one would be ".repeat(30)))
            .contains("not an SQLite")
    );
    assert!(problem(&|| put(&path, b"SQLite format 3\0")).contains("not an SQLite"));
    assert!(
        problem(&|| std::os::unix::fs::symlink("/dev/zero", &path).expect("a link")).contains("not a regular file")
    );
}

#[test]
fn version_2_reads_new_tables_and_unimported_rows() {
    let world = World::new();
    world.add(OpenCode::session(opencode_id(1)).title("stale").turn("a", "b"));
    let path = world.add(OpenCode::session(opencode_id(2)).turn("c", "d"));
    let connection = open_opencode(&path);
    connection
        .execute_batch(
            "CREATE TABLE session_v2 AS SELECT *, NULL AS fork_session_id FROM session LIMIT 1;
             UPDATE session_v2 SET title = 'fresh';
             INSERT INTO session_v2 SELECT 'ses_fork', project_id, NULL, slug, directory, title, version, model,
                time_created, time_updated, NULL, NULL, id FROM session_v2;
             CREATE TABLE session_message (id text, session_id text, type text, seq integer, time_created integer, data text);",
        )
        .expect("tables");
    let sql = "INSERT INTO session_message VALUES ('m' || ?2, ?1, ?3, ?2, 1769940000000, ?4)";
    let messages = [
        ("user", json!({"text": "a new prompt"})),
        ("model-switched", json!({"model": {"id": "model-n"}})),
        (
            "assistant",
            json!({"content": [{"type": "text", "text": "yes"}, {"type": "tool", "name": "bash", "state":
                {"status": "completed", "content": [{"type": "text", "text": "avocet.txt"}]}}]}),
        ),
        ("shell", json!({"command": "make spoonbill", "output": {"output": "spoonbill made", "size": 14}})),
        ("compaction", json!({"status": "completed", "summary": "a flamingo", "recent": ""})),
    ];
    for (seq, (kind, data)) in (0_i64..).zip(&messages) {
        connection.execute(sql, rusqlite::params![opencode_id(1), seq, kind, data.to_string()]).expect("a row");
    }
    let mut sessions = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions();
    sessions.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(sessions.len(), 3);
    assert_eq!(
        (sessions[0].title.as_deref(), sessions[0].first_prompt.as_deref()),
        (Some("fresh"), Some("a new prompt"))
    );
    assert_eq!((sessions[0].prompts, sessions[0].replies), (Some(1), Some(1)));
    assert_eq!((sessions[1].first_prompt.as_deref(), sessions[1].replies), (Some("c"), Some(1)));
    assert_eq!(sessions[2].parent_id, Some(opencode_id(1)));
    let shown = world.rejoin(["show", &opencode_id(1), "--transcript"]).code(0).stdout();
    let texts = ["→ avocet.txt", "! make spoonbill", "→ spoonbill made", "a flamingo"];
    assert!(texts.iter().all(|text| shown.contains(text)), "{shown}");
    for word in ["avocet", "spoonbill", "flamingo"] {
        world.rejoin(["search", word]).code(0);
    }
}

/// Imports a session into the tables of version 2, as OpenCode 2 does once.
fn import(connection: &rusqlite::Connection, id: &str) {
    connection
        .execute_batch(
            "CREATE TABLE IF NOT EXISTS session_v2 AS SELECT *, NULL AS fork_session_id FROM session WHERE 0;
             CREATE TABLE IF NOT EXISTS session_message (id text, session_id text, type text, seq integer, time_created integer,
                data text);
             CREATE TABLE IF NOT EXISTS kv (key text, value text, time_updated integer);",
        )
        .expect("tables");
    connection.execute("INSERT INTO session_v2 SELECT *, NULL FROM session WHERE id = ?1", [id]).expect("a session");
    let sql = "
        INSERT INTO session_message
        SELECT m.id, m.session_id, m.data->>'role', row_number() OVER (ORDER BY m.time_created), m.time_created,
            CASE m.data->>'role' WHEN 'user' THEN json_object('text', said.text)
            ELSE json_object('content', json_array(json_object('type', 'text', 'text', said.text))) END
        FROM message m JOIN (SELECT message_id, max(data->>'text') AS text FROM part GROUP BY message_id) said
            ON said.message_id = m.id
        WHERE m.session_id = ?1";
    connection.execute(sql, [id]).expect("messages");
}

/// Notes that the import is in a phase, two and a half minutes after the sessions began.
fn note_import(connection: &rusqlite::Connection, phase: &str) {
    connection.execute("DELETE FROM kv", []).expect("no row");
    let at = "2026-02-01T10:02:30Z".parse::<jiff::Timestamp>().expect("a time").as_millisecond();
    let value = json!({"phase": phase}).to_string();
    connection
        .execute("INSERT INTO kv VALUES ('migration.v1-v2', ?1, ?2)", rusqlite::params![value, at])
        .expect("a row");
}

#[test]
fn show_finds_messages_added_by_version_1() {
    let world = World::new();
    let app = world.dir("app");
    let session =
        |n: u32| OpenCode::session(opencode_id(n)).in_dir(&app).title("Shop").turn("plan the shop", "Planned.");
    let path = world.add(session(1));
    world.add(session(2));
    let connection = open_opencode(&path);
    [1, 2].iter().for_each(|n| import(&connection, &opencode_id(*n)));
    note_import(&connection, "completed");
    session(2).turn("now the cart", "Cart planned.").insert(&connection);
    session(3).turn("only in one", "Yes.").insert(&connection);

    let mut sessions = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).sessions();
    sessions.sort_by(|a, b| a.id.cmp(&b.id));
    let facts: Vec<_> = sessions.iter().map(|session| (session.prompts, session.health.join(" "))).collect();
    let unlisted = "unlisted".to_owned();
    assert_eq!(facts, [(Some(1), String::new()), (Some(2), unlisted.clone()), (Some(2), unlisted)]);
    assert_eq!(sessions[1].active_at.as_deref(), Some("2026-02-01T10:03:00Z"), "of its last message");
    let found = world.rejoin(["search", "cart"]).code(0).stdout();
    assert!(found.contains("now the cart") && found.contains("Cart planned."), "{found}");
    let shown = world.rejoin(["show", &opencode_id(2)]).code(0).stdout();
    assert!(shown.contains("version 1 of its agent added 2 messages after version 2 had imported it"), "{shown}");
    let details: Details = world.rejoin(["show", &opencode_id(2), "--messages", "9", "--json"]).code(0).json();
    let texts: Vec<&str> = details.messages.iter().flatten().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, ["plan the shop", "Planned.", "now the cart", "Cart planned."]);
    let told = world.rejoin(["doctor", "--check", "unlisted", "--all-findings"]).code(4).stdout();
    let command = format!("npx opencode-ai@1 --session {}", opencode_id(3));
    assert!(told.contains(&command) && told.contains("version 1 of its agent added 2 messages"), "{told}");
    assert!(!told.contains(&opencode_id(1)), "{told}");

    // Until the import is completed, version 2 may still import missing sessions.
    note_import(&connection, "sessions");
    let sessions = world.rejoin(["list", "--all", "--json"]).code(0).sessions();
    assert!(sessions.iter().all(|session| session.health.is_empty()), "{sessions:#?}");
    let found = world.rejoin(["search", "cart"]).code(0).stdout();
    assert!(found.contains("now the cart"), "{found}");
}

#[test]
fn session_missing_in_v2_resumes_with_v1() {
    let world = World::new();
    let app = world.dir("app");
    let path = world.add(OpenCode::session(opencode_id(1)).in_dir(&app).turn("a", "b"));
    let connection = open_opencode(&path);
    import(&connection, &opencode_id(1));
    note_import(&connection, "completed");
    OpenCode::session(opencode_id(2)).in_dir(&app).turn("only in one", "Yes.").insert(&connection);
    let id = opencode_id(2);
    let command = format!("npx opencode-ai@1 --session {id}");
    // The files of a program from another source do not contain its version.
    world.install("opencode", "");
    let printed = world.rejoin(["resume", &id, "--print"]).code(0).stderr();
    assert!(printed.contains("only OpenCode 1 has it") && printed.contains(&command), "{printed}");
    world.install_npm("opencode", "opencode-ai", "2.0.7", "");
    let refused = world.rejoin(["resume", &id]).code(7).stderr();
    assert!(refused.contains("OpenCode 2.0.7 does not have it") && refused.contains(&command), "{refused}");
    assert!(world.launched().is_none());
    world.rejoin(["resume", &opencode_id(1), "--print"]).code(0).stderr_eq("");
    world.install_npm("opencode", "opencode-ai", "1.18.34", "");
    let allowed = world.rejoin(["resume", &id]).code(0).stderr();
    assert!(!allowed.contains("OpenCode 1"), "{allowed}");
    assert_eq!(world.launched().expect("a launch").argv, ["opencode", "--session", &id]);
}

#[test]
fn list_reads_file_tree_for_sessions_without_rows() {
    let world = World::new();
    let session = |n: u32| OpenCode::session(opencode_id(n)).title("Old").turn("fix it", "Done.").turn("more", "ok");
    session(1).write_tree(&world.home());
    let child = session(2).made_by(&opencode_id(1)).write_tree(&world.home());
    session(3).write_tree(&world.home());
    world.add(OpenCode::session(opencode_id(3)).title("Taken over").turn("fix it", "Done."));
    let torn = OpenCode::session(opencode_id(4)).write_tree(&world.home());
    put(&torn, "{\"id\":");
    let mut sessions = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions();
    sessions.sort_by(|a, b| a.id.cmp(&b.id));
    let titles: Vec<Option<&str>> = sessions.iter().map(|session| session.title.as_deref()).collect();
    assert_eq!(titles, [Some("Old"), Some("Old"), Some("Taken over"), None]);
    assert_eq!((sessions[0].prompts, sessions[0].replies), (Some(2), Some(2)));
    assert_eq!(sessions[0].first_prompt.as_deref(), Some("fix it"));
    assert_eq!(sessions[0].launch_path(), Some("/home/ana/app"));
    assert_eq!(sessions[0].active_at.as_deref(), Some("2026-02-01T10:04:00Z"));
    assert_eq!((sessions[1].kind, sessions[1].parent_id.clone()), (Kind::Subagent, Some(opencode_id(1))));
    assert!(sessions.iter().all(|session| session.copies.len() == 1));
    assert!(sessions[3].health.iter().any(|health| health == "invalid-content"), "{:?}", sessions[3].health);
    let shown = world.rejoin(["show", child.to_str().expect("a path"), "--transcript"]).code(0).stdout();
    assert!(shown.contains("fix it") && shown.contains("Done."), "{shown}");
}

#[test]
fn path_of_shared_database_is_ambiguous() {
    let world = World::new();
    OpenCode::session(opencode_id(1)).turn("a", "b").write_to(&world.home());
    let path = world.add(OpenCode::session(opencode_id(2)).turn("c", "d"));
    let answer = world.rejoin(["show", path.to_str().expect("a path")]).code(6);
    assert!(answer.stderr().contains("holds 2 sessions"), "{}", answer.stderr());
}

#[test]
fn resume_refuses_missing_recorded_directory() {
    let world = World::new();
    world.install("opencode", "");
    let (old, new, id) = (world.root().join("app"), world.dir("new"), opencode_id(1));
    world.add(OpenCode::session(&id).in_dir(&old).turn("a", "b"));
    let paths = [&old, &new].map(|path| path.to_str().expect("a path"));
    world.rejoin(["move", paths[0], paths[1], "--yes"]).code(0);
    let listed: serde_json::Value = world.rejoin(["list", "--json"]).code(0).json();
    assert_eq!(listed["sessions"][0]["resumable"], false, "{listed}");
    for args in [vec!["resume", &id], vec!["resume", &id, "--in", paths[1]]] {
        let refused = world.rejoin(args).code(7).stderr();
        let commands = [format!("opencode export {id} > ~/{id}.json"), format!("opencode import ~/{id}.json")];
        assert!(commands.iter().all(|command| refused.contains(command)) && refused.contains(paths[0]), "{refused}");
    }
    assert!(world.launched().is_none());
    world.dir("app");
    world.rejoin(["resume", &id]).code(0);
    assert_eq!(world.launched().expect("a launch").cwd, new);
}

#[test]
fn prompt_runs_only_in_recorded_directory() {
    let world = World::new();
    world.install("opencode", "");
    let (old, new) = (world.dir("app"), world.dir("new"));
    let id = opencode_id(1);
    world.add(OpenCode::session(&id).in_dir(&old).turn("a", "b"));
    let link = world.root().join("link");
    std::os::unix::fs::symlink(&old, &link).expect("a link");
    world.rejoin(["resume", &id, "--in", link.to_str().expect("a path"), "--prompt", "x"]).code(0);
    let paths = [&old, &new].map(|path| path.to_str().expect("a path"));
    world.rejoin(["move", paths[0], paths[1], "--yes"]).code(0);
    // The terminal interface continues in the new directory; a single prompt would be answered but never end.
    world.rejoin(["resume", &id]).code(0);
    assert_eq!(world.launched().expect("a launch").cwd, new);
    let refused = world.rejoin(["resume", &id, "--prompt", "x"]).code(7).stderr();
    for words in
        [&format!("opencode export {id} > ~/{id}.json"), &format!("opencode import ~/{id}.json"), "leave out --prompt"]
    {
        assert!(refused.contains(words), "{refused}");
    }
    // In a named home, the commands search in that home, too.
    let home = world.home();
    let home = home.to_str().expect("a path");
    let answer = world.rejoin(["--home", home, "resume", &id, "--prompt", "x"]).code(7).stderr();
    assert!(answer.contains(&format!("env HOME={home} opencode export {id}")), "{answer}");
    let plan: ResumePlan = world.rejoin(["resume", &id, "--prompt", "x", "--json"]).plan();
    assert_eq!(plan.refusals.iter().map(|refusal| refusal.code.as_str()).collect::<Vec<_>>(), ["would-not-end"]);
}

#[test]
fn list_reports_messages_of_unknown_roles() {
    let world = World::new();
    for number in [1, 2] {
        world.add(OpenCode::session(opencode_id(number)).title("Parser").turn("fix the parser", "Looking."));
    }
    let connection = open_opencode(&opencode_db(&world.home()));
    let rename = "UPDATE message SET data = replace(replace(data, '\"user\"', '\"human\"'), '\"assistant\"', '\"ai\"')";
    connection.execute(&format!("{rename} WHERE session_id = '{}'", opencode_id(1)), []).expect("an update");
    let sessions = listed(&world);
    let of = |number| sessions.iter().find(|session| session.id == opencode_id(number)).expect("a session");
    assert!(of(1).health.contains(&"unknown-format".to_owned()) && of(1).prompts.is_none(), "{:?}", of(1));
    assert!(of(1).kind == Kind::Main && !of(2).health.contains(&"unknown-format".to_owned()), "{:?}", of(2));
    let plan = ["cleanup", "--any-age", "--allow-all", "--via-agent", "--dry-run"];
    let plan = world.rejoin(plan).code_is_one_of(&[0, 3]).stdout();
    assert!(!plan.contains(&format!("remove  {}", opencode_id(1))) && plan.contains("unknown format"), "{plan}");
}

#[test]
fn doctor_names_database_of_copy_and_removes_empty_one() {
    let world = World::new();
    let app = world.dir("app");
    let session = |n: u32| OpenCode::session(opencode_id(n)).in_dir(&app);
    world.add(session(1).turn("a", "b"));
    world.add(session(2));
    let second = world.add(session(1).in_database("opencode-stable.db").turn("a", "b"));
    let connection = open_opencode(&second);
    session(2).insert(&connection);
    drop(connection);
    let found = |code: &str| world.rejoin(["doctor", "--check", code, "--json"]).json::<DoctorReport>().findings;
    for finding in found("duplicate-session") {
        let expected = format!("Copy 2 is in {}, which", second.display());
        assert!(finding.evidence.contains(&expected), "{}", finding.evidence);
    }
    let empty = found("empty-session");
    let [finding] = &empty[..] else { panic!("{empty:?}") };
    let commands: Vec<&str> = finding.remedies.iter().map(|remedy| remedy.command.as_str()).collect();
    let delete = format!("rejoin delete opencode:{} --via-agent", opencode_id(2));
    assert_eq!(commands, [&delete, "rejoin cleanup --empty --any-age --via-agent"]);
    for command in commands {
        let words: Vec<&str> = command.split(' ').skip(1).chain(["--dry-run", "--json"]).collect();
        let planned: serde_json::Value = world.rejoin(words).code(0).json();
        assert_eq!(planned["items"].as_array().map(Vec::len), Some(1), "{command}: {planned}");
    }
}
