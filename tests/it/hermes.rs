//! Hermes's sessions.

use rusqlite::types::Value as Sql;
use serde_json::json;

use crate::contract::{Agent, Details, Kind, Liveness, ResumePlan, Session, SessionList};
use crate::fixtures::{Hermes, hermes_db, hermes_id, open_hermes, put};
use crate::world::{NOW, World};

fn listed(world: &World) -> Vec<Session> {
    world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions()
}

#[test]
fn show_reads_a_session_from_the_database() {
    let world = World::new();
    let call = json!([{"id": "c", "type": "function", "function": {"name": "terminal", "arguments": "{\"command\": \"ls\"}"}}]);
    world.add(
        Hermes::session(hermes_id(1))
            .text("title", "Parser")
            .prompt("fix the\n\"parser\"")
            .message("assistant", "Looking.", Some(call))
            .message("tool", "{\"output\": \"a b\"}", None)
            .message("assistant", "", None)
            .turn("thanks", "Welcome."),
    );
    let details: Details = world.rejoin(["show", &hermes_id(1), "--messages", "9", "--json"]).code(0).json();
    let session = &details.session;
    assert_eq!((session.agent, session.kind, session.liveness), (Agent::HERMES, Kind::Main, Liveness::Idle));
    assert_eq!(session.title.as_deref(), Some("Parser"));
    assert_eq!(session.first_prompt.as_deref(), Some("fix the\n\"parser\""));
    assert_eq!((session.prompts, session.replies), (Some(2), Some(2)));
    assert_eq!((session.launch_path(), session.model.as_deref()), (Some("/home/ana/app"), Some("model-h")));
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00Z"));
    // Only the messages have the time of the last use.
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:06:00.125Z"));
    let texts: Vec<&str> = details.messages.iter().flatten().map(|message| message.text.as_str()).collect();
    let messages = ["fix the\n\"parser\"", "Looking.", "terminal {\"command\": \"ls\"}", "→ {\"output\": \"a b\"}"];
    assert_eq!(texts, [&messages[..], &["thanks", "Welcome."]].concat());
}

#[test]
fn kind_and_parent_follow_from_columns() {
    let of_delegate = json!({"_delegate_from": hermes_id(1)}).to_string();
    let session = || Hermes::session(hermes_id(2)).turn("a", "b");
    let parent = Some(hermes_id(1));
    let cases = [
        (session(), Kind::Main, None),
        (session().branch_of(&hermes_id(1)), Kind::Fork, parent.clone()),
        (session().text("model_config", &of_delegate), Kind::Subagent, parent.clone()),
        // A compressed conversation continues in another row.
        (session().text("parent_session_id", &hermes_id(1)), Kind::Main, parent),
        (session().column("archived", Sql::Integer(1)), Kind::Archived, None),
        (session().text("source", "cron"), Kind::Exec, None),
        (session().text("source", "tool"), Kind::Exec, None),
        (session().text("source", "telegram").text("chat_id", "1"), Kind::Exec, None),
        (session().text("model_config", "{"), Kind::Main, None),
        (Hermes::session(hermes_id(2)), Kind::Empty, None),
        (Hermes::session(hermes_id(2)).prompt("killed before the answer"), Kind::Main, None),
    ];
    for (session, kind, parent) in cases {
        let world = World::new();
        world.add(session);
        let session = listed(&world).remove(0);
        assert_eq!((session.kind, session.parent_id), (kind, parent));
    }
}

#[test]
fn list_counts_compacted_but_not_rewound_messages() {
    let world = World::new();
    world.add(Hermes::session(hermes_id(1)).prompt("taken back").inactive(false).turn("a", "b"));
    world.add(Hermes::session(hermes_id(2)).prompt("compacted").inactive(true).turn("a", "b"));
    let sessions = listed(&world);
    let known = |n: u32| sessions.iter().find(|session| session.id == hermes_id(n)).expect("a session");
    assert_eq!((known(1).first_prompt.as_deref(), known(1).prompts), (Some("a"), Some(1)));
    assert_eq!((known(2).first_prompt.as_deref(), known(2).prompts), (Some("compacted"), Some(2)));
}

#[test]
fn resume_passes_full_id() {
    let world = World::new();
    world.install("hermes", "");
    let app = world.dir("app");
    world.add(Hermes::session(hermes_id(1)).in_dir(&app).turn("a", "b"));
    let id = hermes_id(1);
    let plan: ResumePlan = world.rejoin(["resume", &id, "--json"]).plan();
    assert_eq!(plan.resume.argv, ["hermes", "--resume", &id]);
    for (prompt, last) in [("go on", &["-q", "go on"][..]), ("-v", &["--query=-v"])] {
        world.rejoin(["resume", &id, &format!("--prompt={prompt}")]).code(0);
        let launch = world.launched().expect("a launch");
        assert_eq!(launch.argv, [&["hermes", "chat", "-Q", "--resume", &id], last].concat());
        assert_eq!(launch.cwd, app);
    }
}

#[test]
fn resume_refuses_session_for_which_hermes_opens_another() {
    let world = World::new();
    world.install("hermes", "");
    let app = world.dir("app");
    let session = |n: u32| Hermes::session(hermes_id(n)).in_dir(&app).turn("a", "b");
    let child = |n: u32, parent: u32| session(n).text("parent_session_id", &hermes_id(parent));
    // A reset of the gateway began 2 after 1; 4 continues the compressed 3, and 5 is a branch of 3.
    world.add(session(1).text("end_reason", "session_reset"));
    world.add(child(2, 1));
    world.add(session(3).text("end_reason", "compression").column("ended_at", Sql::Real(0.0)));
    world.add(child(4, 3));
    world.add(session(5).branch_of(&hermes_id(3)));
    let refused = world.rejoin(["resume", &hermes_id(1), "--print"]).code(7).stderr();
    assert!(refused.contains(&format!("Hermes opens {} instead", hermes_id(2))), "{refused}");
    assert!(refused.contains(&format!("`rejoin resume hermes:{}`", hermes_id(2))), "{refused}");
    for n in [2, 3, 4] {
        world.rejoin(["resume", &hermes_id(n), "--print"]).code(0);
    }
    // Hermes changes to the recorded directory, wherever it is started.
    let other = world.dir("other");
    let refused = world.from(&other).rejoin(["resume", &hermes_id(2), "--in", ".", "--print"]).code(7).stderr();
    assert!(refused.contains(&format!("Hermes continues in {}, wherever it is started", app.display())), "{refused}");
}

#[test]
fn branch_without_directory_needs_in_option() {
    let world = World::new();
    world.install("hermes", "");
    let app = world.dir("app");
    world.add(Hermes::session(hermes_id(1)).in_dir(&app).turn("a", "b"));
    world.add(Hermes::session(hermes_id(2)).branch_of(&hermes_id(1)).text("title", "A #2").turn("a", "b"));
    let refused = world.rejoin(["resume", &hermes_id(2), "--prompt", "x"]).code(7).stderr();
    assert!(refused.contains("the directory of session") && refused.contains("--in ."), "{refused}");
    world.from(&app).rejoin(["resume", &hermes_id(2), "--in", ".", "--prompt", "x"]).code(0);
    assert_eq!(world.launched().expect("a launch").cwd, app);
}

#[test]
fn resume_warns_that_session_stays_archived() {
    let world = World::new();
    world.install("hermes", "");
    let session = Hermes::session(hermes_id(1)).in_dir(world.dir("app")).turn("a", "b");
    world.add(session.column("archived", Sql::Integer(1)));
    let answer = world.rejoin(["resume", &hermes_id(1), "--prompt", "x"]).code(0).stderr();
    assert!(answer.contains("it stays closed"), "{answer}");
}

#[test]
fn each_profile_is_a_separate_store() {
    let world = World::new();
    world.install("hermes", "");
    let app = world.dir("app");
    world.add(Hermes::session(hermes_id(1)).in_dir(&app).turn("a", "b"));
    let profile = world.home().join(".hermes/profiles/work");
    Hermes::session(hermes_id(2)).in_dir(&app).turn("a", "b").insert(&open_hermes(&profile.join("state.db")));
    assert_eq!(listed(&world).len(), 2);
    let variable = |world: &World| world.launched().expect("a launch").variable("HERMES_HOME").map(str::to_owned);
    let home_of_profile = profile.to_str().map(str::to_owned);
    for (n, home) in [(1, None), (2, home_of_profile.clone())] {
        world.rejoin(["resume", &hermes_id(n), "--prompt", "x"]).code(0);
        assert_eq!(variable(&world), home);
    }
    // A name without a home selects the default one.
    let active = world.home().join(".hermes/active_profile");
    for name in ["default\n", "", "../work"] {
        put(&active, name);
        world.rejoin(["resume", &hermes_id(1), "--prompt", "x"]).code(0);
    }
    // An unreadable file may name any profile.
    std::fs::remove_file(&active).expect("a file");
    std::fs::create_dir(&active).expect("a directory");
    let refused = world.rejoin(["resume", &hermes_id(1), "--prompt", "x"]).code(7).stderr();
    assert!(refused.contains("the active profile is unknown"), "{refused}");
    std::fs::remove_dir(&active).expect("a directory");
    put(&active, "work\n");
    // Without the option, Hermes would start with the home of the profile, and an empty session.
    world.rejoin(["resume", &hermes_id(1), "--prompt", "x"]).code(0);
    let launched = world.launched().expect("a launch");
    assert_eq!(launched.argv[..5], ["hermes", "-p", "default", "chat", "-Q"]);
    world.rejoin(["resume", &hermes_id(2), "--prompt", "x"]).code(0);
    assert_eq!(variable(&world), home_of_profile);
    // A variable that names the profile does not change the result, and no session is listed twice.
    let sessions = world.with("HERMES_HOME", &profile).rejoin(["list", "--all", "--json"]).code(0).sessions();
    assert!(sessions.len() == 2 && sessions.iter().all(|session| session.copies.len() == 1));
}

#[test]
fn environment_variable_moves_the_store() {
    let world = World::new();
    let root = world.dir("elsewhere/hermes");
    world.add(Hermes::session(hermes_id(1)).turn("a", "b"));
    Hermes::session(hermes_id(2)).turn("c", "d").insert(&open_hermes(&root.join("state.db")));
    let plan = |id: &str| -> ResumePlan { world.with("HERMES_HOME", &root).rejoin(["resume", id, "--json"]).json() };
    assert_eq!(plan(&hermes_id(2)).resume.set.get("HERMES_HOME").map(String::as_str), root.to_str());
    assert_eq!(plan(&hermes_id(1)).resume.unset, ["HERMES_HOME"]);
    // A profile is active in that root, which Hermes would use in place of it.
    std::fs::create_dir_all(root.join("profiles/work")).expect("a profile");
    put(&root.join("active_profile"), "work");
    assert_eq!(plan(&hermes_id(2)).resume.argv, ["hermes", "-p", "default", "--resume", &hermes_id(2)]);
}

#[test]
fn list_reads_sessions_from_wal() {
    let world = World::new();
    let path = hermes_db(&world.home());
    // Kept open, so that the log is not moved into the database.
    let connection = open_hermes(&path);
    Hermes::session(hermes_id(1)).turn("a", "b").insert(&connection);
    assert_eq!(listed(&world)[0].liveness, Liveness::Idle);
    let now: jiff::Timestamp = NOW.parse().expect("a time");
    connection.execute("UPDATE messages SET timestamp = ?1", [now.as_second() - 60]).expect("rows");
    assert_eq!(listed(&world)[0].liveness, Liveness::Maybe);
}

#[test]
fn odd_row_or_newer_schema_hides_no_session() {
    let world = World::new();
    let path = world.add(Hermes::session(hermes_id(1)).turn("a", "b"));
    world.add(Hermes::session(hermes_id(2)).turn("c", "d"));
    let connection = open_hermes(&path);
    for value in ["7", "1.5e300", "x'ff00'", "''", "'{'", "'[1]'"] {
        for column in
            ["cwd", "title", "model", "model_config", "started_at", "archived", "parent_session_id", "end_reason"]
        {
            let sql = format!("UPDATE sessions SET {column} = {value} WHERE id = '{}'", hermes_id(1));
            connection.execute_batch(&sql).expect("a row");
        }
        let sql =
            format!("UPDATE messages SET content = {value}, tool_calls = {value}, timestamp = {value} WHERE id = 1");
        connection.execute_batch(&sql).expect("a row");
        let sessions = listed(&world);
        assert_eq!(sessions.len(), 2, "{value}");
        let sound = sessions.iter().find(|session| session.id == hermes_id(2)).expect("the other");
        assert_eq!(sound.first_prompt.as_deref(), Some("c"));
        world.rejoin(["show", &hermes_id(1), "--transcript"]).code(0);
    }
    connection.execute_batch("UPDATE schema_version SET version = 23").expect("a version");
    let list: SessionList = world.rejoin(["list", "--all", "--json"]).code(0).json();
    assert_eq!(list.sessions.len(), 2);
    assert!(list.problems[0].reason.starts_with("its schema 23 is newer than 22"), "{:?}", list.problems);
}

#[test]
fn continuation_after_compression_has_parents_directory() {
    let world = World::new();
    world.install("hermes", "");
    let app = world.dir("app");
    let ended = |n| Hermes::session(hermes_id(n)).text("end_reason", "compression");
    let later =
        |session: Hermes, parent| session.text("parent_session_id", &hermes_id(parent)).column("cwd", Sql::Null);
    world.add(ended(1).in_dir(&app).turn("build the crane", "built"));
    world.add(Hermes::session(hermes_id(2)).in_dir(&app).turn("a question", "ok").turn("another", "ok"));
    world.add(later(ended(3), 1).turn("summary", "ok").turn("paint it", "red"));
    world.add(later(Hermes::session(hermes_id(4)), 3).turn("summary", "ok").turn("a ladder", "ok").turn("more", "ok"));
    // None of these continues the conversation.
    world.add(later(Hermes::session(hermes_id(5)), 1).branch_of(&hermes_id(1)).turn("a branch", "ok"));
    world.add(later(Hermes::session(hermes_id(6)), 1).text("source", "tool").turn("of a tool", "ok"));
    world.add(later(Hermes::session(hermes_id(7)), 2).turn("of a continued session", "ok"));
    // A damaged setting, an end without a continuation, and a circle.
    world.add(later(Hermes::session(hermes_id(8)), 9).text("model_config", "{").turn("x", "y"));
    world.add(ended(9).in_dir("/usr").turn("x", "y"));
    world.add(later(ended(10), 11).turn("x", "y"));
    world.add(later(ended(11), 10).turn("x", "y"));
    let sessions = listed(&world);
    let dir = |n: u32| {
        let session = sessions.iter().find(|session| session.id == hermes_id(n)).expect("a session");
        session.launch_path().map(str::to_owned)
    };
    let app_path = app.to_str().map(str::to_owned);
    assert_eq!([1, 3, 4].map(dir), [1, 3, 4].map(|_| app_path.clone()));
    assert_eq!([5, 6, 7, 10, 11].map(dir), [const { None }; 5]);
    assert_eq!(dir(8).as_deref(), Some("/usr"));
    let here = world.from(&app).rejoin(["list", "--here", "--json"]).code(0).sessions();
    assert_eq!(here[0].id, hermes_id(4), "the newest part is the newest session there");
    for asked in [".", "latest"] {
        let printed = world.from(&app).rejoin(["resume", asked, "--print"]).code(0).stdout();
        assert!(printed.contains(&format!("hermes --resume {}", hermes_id(4))), "{printed}");
    }
    let tip = format!("resumes the newest session that continues it, {}", hermes_id(4));
    for part in [1, 3] {
        let details: Details = world.rejoin(["show", &hermes_id(part), "--json"]).code(0).json();
        assert!(details.notes.iter().any(|note| note.contains(&tip)), "{part}: {:?}", details.notes);
        let warned = world.rejoin(["resume", &hermes_id(part), "--print"]).code(0).stderr();
        assert!(warned.contains(&tip), "{warned}");
    }
    let details: Details = world.rejoin(["show", &hermes_id(4), "--json"]).code(0).json();
    let evidence = details.evidence.iter().map(|evidence| evidence.detail.as_str()).collect::<Vec<_>>();
    assert_eq!(evidence, ["cwd in the database, of the session that it continues"]);
    let details: Details = world.rejoin(["show", &hermes_id(2), "--json"]).code(0).json();
    let opened =
        format!("Hermes opens {} instead, a later conversation that names this one as its parent", hermes_id(7));
    assert_eq!(details.notes, [opened]);
}
