//! Goose's sessions.

use serde_json::json;

use crate::contract::{Agent, Details, Kind, ResumePlan, Session, SessionList};
use crate::fixtures::{Goose, goose_db, open_goose, put};
use crate::world::World;

#[test]
fn show_reads_a_session_from_the_database() {
    let world = World::new();
    let call = json!([{"type": "text", "text": "Looking."},
        {"type": "toolRequest", "id": "1", "toolCall": {"status": "success", "value": {"name": "shell", "arguments": {"command": "ls"}}}}]);
    let answer = json!([{"type": "toolResponse", "id": "1", "toolResult": {"status": "success", "value": {"content": [{"type": "text", "text": "a b"}]}}}]);
    let older = json!([{"type": "toolResponse", "id": "1", "toolResult": {"status": "success", "value": [{"type": "text", "text": "c d"}]}}]);
    world.add(
        Goose::session("20260201_1")
            .column("name", "Parser")
            .message("user", json!([{"type": "text", "text": "fix the parser"}]))
            .message("assistant", call)
            .message("user", answer)
            .message("user", older)
            .unseen("user", "a summary of all this")
            .turn("thanks", "Welcome."),
    );
    let details: Details = world.rejoin(["show", "20260201_1", "--messages", "9", "--json"]).code(0).json();
    let session = &details.session;
    assert_eq!((session.agent, session.kind), (Agent::GOOSE, Kind::Main));
    assert_eq!((session.title.as_deref(), session.first_prompt.as_deref()), (Some("Parser"), Some("fix the parser")));
    assert_eq!((session.prompts, session.replies), (Some(2), Some(2)));
    assert_eq!((session.launch_path(), session.model.as_deref()), (Some("/home/ana/app"), Some("model-g")));
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00Z"));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:06:00Z"));
    let messages = details.messages.expect("messages");
    let texts: Vec<&str> = messages.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "fix the parser",
            "Looking.",
            "shell {\"command\":\"ls\"}",
            "→ a b",
            "→ c d",
            "a summary of all this",
            "thanks",
            "Welcome."
        ]
    );
    // Times in seconds and in milliseconds are mixed.
    assert_eq!(messages[0].at.as_deref(), Some("2026-02-01T10:00:00Z"));
    assert_eq!(messages[1].at.as_deref(), Some("2026-02-01T10:01:00Z"));
}

#[test]
fn opening_a_session_does_not_make_it_the_latest() {
    let world = World::new();
    let app = world.dir("app");
    world.add(Goose::session("20260201_1").in_dir(&app).turn("a", "b").turn("c", "d"));
    world.add(Goose::session("20260201_2").in_dir(&app).column("updated_at", "2026-02-03 10:00:00").turn("a", "b"));
    let plan: ResumePlan = world.rejoin(["resume", "latest", "--json"]).plan();
    assert_eq!(plan.id.as_deref(), Some("20260201_1"));
}

#[test]
fn kind_and_title_follow_from_columns() {
    let cases = [
        (vec![("session_type", "user")], Kind::Main, None),
        (vec![("session_type", "sub_agent"), ("parent_session_id", "20260201_9")], Kind::Subagent, None),
        (vec![("session_type", "scheduled"), ("description", "Nightly")], Kind::Exec, Some("Nightly")),
        (vec![("session_type", "hidden")], Kind::Archived, None),
        (vec![("session_type", "gateway")], Kind::Exec, None),
        (vec![("name", "CLI Session")], Kind::Main, None),
        (vec![("name", "New session 3"), ("description", "Described")], Kind::Main, Some("Described")),
        (vec![("name", "CLI Session"), ("user_set_name", "1")], Kind::Main, Some("CLI Session")),
        (vec![("session_type", "terminal"), ("archived_at", "2026-02-02 10:00:00")], Kind::Archived, None),
        (
            vec![("session_type", "something new"), ("name", "Named"), ("description", "Described")],
            Kind::Main,
            Some("Named"),
        ),
    ];
    for (columns, kind, title) in cases {
        let world = World::new();
        let session = Goose::session("20260201_1").turn("a", "b");
        world.add(columns.into_iter().fold(session, |session, (name, value)| session.column(name, value)));
        let session = world.rejoin(["list", "--all", "--json"]).code(0).sessions().remove(0);
        assert_eq!((session.kind, session.title.as_deref()), (kind, title));
    }
}

#[test]
fn resume_passes_full_id_in_working_directory() {
    let world = World::new();
    world.install("goose", "");
    let app = world.dir("app");
    world.add(Goose::session("20260201_1").in_dir(&app).turn("a", "b"));
    world.add(Goose::session("20260201_12").in_dir(&app).turn("a", "b"));
    let plan: ResumePlan = world.rejoin(["resume", "20260201_1", "--json"]).plan();
    assert_eq!(plan.resume.argv, ["goose", "session", "--resume", "--session-id", "20260201_1"]);
    assert_eq!(plan.resume.dir.as_deref(), app.to_str());
    for (prompt, last) in [("go on", &["-t", "go on"][..]), ("-v", &["--text=-v"])] {
        world.rejoin(["resume", "20260201_1", &format!("--prompt={prompt}")]).code(0);
        let launch = world.launched().expect("a launch");
        assert_eq!(launch.argv, [&["goose", "run", "--resume", "--session-id", "20260201_1"], last].concat());
        assert_eq!(launch.cwd, app);
    }
}

#[test]
fn environment_variable_moves_the_store() {
    let world = World::new();
    let root = world.dir("elsewhere/goose");
    world.add(Goose::session("20260201_1").turn("a", "b"));
    let moved = root.join("data/sessions/sessions.db");
    put(&moved, std::fs::read(goose_db(&world.home())).expect("a database"));
    open_goose(&moved).execute_batch("UPDATE sessions SET id = '20260201_2'").expect("a row");
    let plan =
        |id: &str| -> ResumePlan { world.with("GOOSE_PATH_ROOT", &root).rejoin(["resume", id, "--json"]).json() };
    assert_eq!(plan("20260201_2").resume.set.get("GOOSE_PATH_ROOT").map(String::as_str), root.to_str());
    assert_eq!(plan("20260201_1").resume.unset, ["GOOSE_PATH_ROOT"]);
}

#[test]
fn list_reports_newer_schema() {
    let world = World::new();
    let path = world.add(Goose::session("20260201_1").turn("a", "b"));
    open_goose(&path).execute_batch("INSERT INTO schema_version VALUES (18)").expect("a version");
    let list: SessionList = world.rejoin(["list", "--json"]).code(0).json();
    assert_eq!(list.sessions.len(), 1);
    assert!(list.problems[0].reason.starts_with("its schema 18 is newer than 17"), "{:?}", list.problems);
    open_goose(&path).execute_batch("DROP TABLE messages; DROP TABLE schema_version").expect("a database");
    let list: SessionList = world.rejoin(["list", "--json"]).code(0).json();
    assert!(list.sessions.is_empty());
    assert!(list.problems[0].reason.starts_with("it has no table messages"), "{:?}", list.problems);
}

#[test]
fn list_reads_old_database_without_new_columns() {
    let world = World::new();
    let path = world.add(Goose::session("20260201_1").turn("a", "b"));
    let connection = open_goose(&path);
    for column in ["archived_at", "parent_session_id", "model_config_json", "session_type", "name"] {
        connection.execute_batch(&format!("ALTER TABLE sessions DROP COLUMN {column}")).expect("a table without it");
    }
    connection.execute_batch("ALTER TABLE messages DROP COLUMN metadata_json").expect("a table without it");
    let sessions = world.rejoin(["list", "--counts", "--json"]).code(0).stderr_eq("").sessions();
    assert_eq!((sessions[0].kind, sessions[0].prompts, sessions[0].replies), (Kind::Main, Some(1), Some(1)));
    assert_eq!(sessions[0].launch_path(), Some("/home/ana/app"));
}

/// Writes a session as Goose did before 1.10, and returns its file.
fn write_old(world: &World, id: &str, dir: &std::path::Path, talk: &[&str]) -> std::path::PathBuf {
    let metadata =
        json!({"working_dir": dir, "description": "Old work", "message_count": talk.len(), "total_tokens": 10});
    let message = |(at, text): (usize, &&str)| {
        let role = if at.is_multiple_of(2) { "user" } else { "assistant" };
        json!({"role": role, "created": 1_769_940_000 + at, "content": [{"type": "text", "text": text}]})
    };
    let lines: Vec<String> =
        std::iter::once(metadata).chain(talk.iter().enumerate().map(message)).map(|line| format!("{line}\n")).collect();
    let path = goose_db(&world.home()).with_file_name(format!("{id}.jsonl"));
    put(&path, lines.concat());
    path
}

fn listed(world: &World) -> Vec<Session> {
    let mut sessions = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).sessions();
    sessions.sort_by(|a, b| a.id.cmp(&b.id));
    sessions
}

#[test]
fn list_shows_old_session_files_until_import() {
    let world = World::new();
    world.install("goose", "");
    let app = world.dir("app");
    write_old(&world, "20250801_101500", &app, &["imported later", "Done."]);
    let path = write_old(&world, "20250802_111500", &app, &["build the zeppelin", "Done.", "and the mast", "Built."]);
    let sessions = listed(&world);
    assert_eq!(sessions.len(), 2);
    let old = &sessions[1];
    assert_eq!((old.title.as_deref(), old.first_prompt.as_deref()), (Some("Old work"), Some("build the zeppelin")));
    assert_eq!((old.prompts, old.replies, old.launch_path()), (Some(2), Some(2), app.to_str()));
    assert_eq!(old.created_at.as_deref(), Some("2026-02-01T10:00:00Z"));
    assert_eq!(old.active_at.as_deref(), Some("2026-02-01T10:00:03Z"));
    assert_eq!(old.health, [] as [&str; 0]);
    // The next start creates the database, and imports both.
    let printed = world.rejoin(["resume", "20250802_111500", "--print"]).code(0);
    assert!(
        printed.stdout().ends_with("goose session --resume --session-id 20250802_111500\n"),
        "{}",
        printed.stdout()
    );
    assert!(printed.stderr().contains("Goose 1.10 or later"), "{}", printed.stderr());

    world.add(Goose::session("20250801_101500").in_dir(&app).turn("imported later", "Done."));
    let sessions = listed(&world);
    assert_eq!(sessions.len(), 2);
    assert_eq!(sessions[0].health, [] as [&str; 0]);
    assert_eq!(sessions[1].health, ["unlisted"]);
    let found = world.rejoin(["search", "mast"]).code(0).stdout();
    assert!(found.contains("20250802_111500"), "{found}");
    let page = world.rejoin(["export", "20250802_111500", "--format", "markdown"]).code(0).stdout();
    assert!(page.contains("and the mast"), "{page}");
    let refused = world.rejoin(["resume", "20250802_111500"]).code(7).stderr();
    assert!(refused.contains("that does not hold this one"), "{refused}");
    assert!(world.launched().is_none());
    let told = world.rejoin(["doctor", "--check", "unlisted", "--all-findings"]).code(4).stdout();
    assert!(told.contains("rejoin export goose:20250802_111500"), "{told}");
    world.rejoin(["export", "goose:20250802_111500"]).code(0);
    world.rejoin(["delete", "20250802_111500", "--yes"]).code(0);
    assert!(!path.exists());
}

#[test]
fn old_file_with_unknown_line_is_not_empty() {
    let world = World::new();
    let app = world.dir("app");
    write_old(&world, "20250801_000000", &app, &[]);
    let newer = write_old(&world, "20250802_000000", &app, &[]);
    let text = std::fs::read_to_string(&newer).expect("a file");
    put(&newer, format!("{text}{{\"speaker\":\"user\",\"said\":\"hello\"}}\n"));
    put(&goose_db(&world.home()).with_file_name("my own name.jsonl"), "{}\n");
    let list: SessionList = world.rejoin(["list", "--all", "--json"]).code(0).json();
    let kinds: Vec<Kind> = list.sessions.iter().map(|session| session.kind).collect();
    assert_eq!(list.sessions.iter().filter(|session| session.health == ["unknown-format"]).count(), 1);
    assert!(kinds.contains(&Kind::Empty) && kinds.contains(&Kind::Main), "{kinds:?}");
    assert!(list.problems[0].reason.contains("cannot be an id"), "{:?}", list.problems);
}
