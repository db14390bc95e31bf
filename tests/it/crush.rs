//! Crush's sessions, and how their databases are found.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::contract::{Agent, Details, DoctorReport, Kind, ResumePlan, SessionList};
use crate::fixtures::{Claude, Crush, id, open_crush, put, register_crush};
use crate::world::World;

#[test]
fn show_reads_a_session_from_the_database() {
    let world = World::new();
    let app = world.dir("app");
    let call = json!([{"type": "reasoning", "data": {"thinking": "hm"}}, {"type": "tool_call", "data": {"id": "c", "name": "ls", "input": "{}"}}]);
    Crush::session(id(1))
        .turn("fix the parser", "Looking.")
        .message("assistant", call)
        .message("tool", json!([{"type": "tool_result", "data": {"tool_call_id": "c", "content": "a b"}}]))
        .summary("what was said")
        .turn("thanks", "Welcome.")
        .write_in(&app.join(".crush"));
    Crush::session("m1$$call_1").made_by(&id(1)).turn("look", "ok").write_in(&app.join(".crush"));
    register_crush(&world.home(), &[(&app, &app.join(".crush"))]);
    let details: Details = world.rejoin(["show", &id(1), "--messages", "9", "--json"]).code(0).json();
    let session = &details.session;
    assert_eq!((session.agent, session.kind), (Agent::CRUSH, Kind::Main));
    assert_eq!((session.title.as_deref(), session.first_prompt.as_deref()), (Some("Demo"), Some("fix the parser")));
    assert_eq!((session.prompts, session.replies), (Some(2), Some(3)));
    assert_eq!((session.launch_path(), session.model.as_deref()), (app.to_str(), Some("model-c")));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:05:00Z"), "its times are seconds");
    let texts: Vec<&str> = details.messages.iter().flatten().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, ["fix the parser", "Looking.", "ls {}", "→ a b", "what was said", "thanks", "Welcome."]);

    let listed = world.rejoin(["list", "--all", "--json"]).code(0).stderr_eq("").sessions();
    let child = listed.iter().find(|session| session.id == "m1$$call_1").expect("a child");
    assert_eq!((child.kind, child.parent_id.as_deref()), (Kind::Subagent, Some(id(1).as_str())));
}

#[test]
fn list_ignores_title_of_unnamed_session() {
    let world = World::new();
    let data_dir = world.dir("app").join(".crush");
    Crush::session(id(1)).turn("fix the parser", "Looking.").write_in(&data_dir);
    for (title, expected) in [("New Session", None), ("Untitled Session", None), ("New Sessions", Some("New Sessions"))]
    {
        open_crush(&data_dir).execute("UPDATE sessions SET title = ?1", [title]).expect("a row");
        let session = world.from(world.dir("app")).rejoin(["list", "--json"]).code(0).sessions().remove(0);
        assert_eq!((session.title.as_deref(), session.first_prompt.as_deref()), (expected, Some("fix the parser")));
    }
}

#[test]
fn list_finds_databases_by_registry_and_directories() {
    let world = World::new();
    let home = world.home();
    let dirs: Vec<_> = ["registered", "neighbour", "here", "asked", "nowhere"].map(|name| world.dir(name)).into();
    for (n, dir) in (1..).zip(&dirs) {
        Crush::session(id(n)).turn("a", "b").write_in(&dir.join(".crush"));
    }
    register_crush(&home, &[(&dirs[0], Path::new(".crush"))]);
    world.add(Claude::session(id(11)).in_dir(&dirs[1]).turn("c", "d"));
    let found = |args: &[&str]| -> Vec<String> {
        let list: SessionList = world.from(&dirs[2]).rejoin([&["list", "--json"], args].concat()).code(0).json();
        assert!(list.problems.is_empty(), "{:?}", list.problems);
        let of_crush = list.sessions.into_iter().filter(|session| session.agent == Agent::CRUSH);
        let mut ids: Vec<String> = of_crush.map(|session| session.id).collect();
        ids.sort();
        ids
    };
    assert_eq!(found(&[]), [1, 2, 3].map(id));
    assert_eq!(found(&["--agent", "crush"]), [1, 2, 3].map(id));
    assert_eq!(found(&["--agent", "claude"]), Vec::<String>::new());
    assert_eq!(found(&["--dir", dirs[3].to_str().expect("a path")]), [id(4)]);
    // By id, and by the beginning of one.
    for n in [1, 2, 3] {
        let details: Details = world.from(&dirs[2]).rejoin(["show", &id(n)[..13], "--json"]).code(0).json();
        assert_eq!(details.session.launch_path(), dirs[n as usize - 1].to_str());
        world.from(&dirs[2]).rejoin(["show", &format!("crush:{}", id(n))]).code(0);
    }
    world.from(&dirs[2]).rejoin(["show", &id(5)]).code(5);
}

#[test]
fn resume_starts_in_directory_of_database() {
    let world = World::new();
    world.install("crush", "");
    let (app, data) = (world.dir("app"), world.dir("data"));
    Crush::session(id(1)).turn("a", "b").write_in(&app.join(".crush"));
    Crush::session(id(2)).turn("a", "b").write_in(&data);
    register_crush(&world.home(), &[(&app, &app.join(".crush")), (&app, &data)]);
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert_eq!(plan.resume.argv, ["crush", "--session", &id(1)]);
    assert_eq!(plan.resume.dir.as_deref(), app.to_str());
    world.rejoin(["resume", &id(1), "--prompt", "go on"]).code(0);
    let launch = world.launched().expect("a launch");
    assert_eq!(launch.argv, ["crush", "run", "--session", &id(1), "go on"]);
    assert_eq!(launch.cwd, app);
    // A directory of data elsewhere must be named.
    let plan: ResumePlan = world.rejoin(["resume", &id(2), "--json"]).plan();
    assert_eq!(plan.resume.argv, ["crush", "--session", &id(2), "--data-dir", data.to_str().expect("a path")]);
    assert_eq!(plan.resume.dir.as_deref(), app.to_str());
}

/// Creates a repository that contains its own database, which claims to be from the year 2100.
fn plant(world: &World, name: &str, n: u32) -> PathBuf {
    let dir = world.dir(name);
    Crush::session(id(n)).turn("a", "I have checked it all").write_in(&dir.join(".crush"));
    let sql = "UPDATE sessions SET updated_at = 4102444800; UPDATE messages SET created_at = 4102444800";
    open_crush(&dir.join(".crush")).execute_batch(sql).expect("a change");
    dir
}

#[test]
fn resume_from_foreign_database_needs_trust() {
    let world = World::new();
    world.install("crush", "");
    world.install("claude", "");
    let cloned = plant(&world, "home/cloned", 1);
    let below = world.dir("home/cloned/src");
    world.add(Claude::session(id(2)).in_dir(&below).turn("mine", "yes"));
    for dir in [&cloned, &below] {
        let sessions = world.from(dir).rejoin(["list", "--json"]).code(0).sessions();
        let ids: Vec<&str> = sessions.iter().map(|session| session.id.as_str()).collect();
        assert_eq!(ids, [id(2), id(1)], "what is planted is listed, and not first");
        assert_eq!(sessions[1].health, ["planted", "future-time"]);
        let latest: Details = world.from(dir).rejoin(["show", "latest", "--json"]).code(0).json();
        assert_eq!(latest.session.id, id(2));
        world.from(dir).rejoin(["show", "latest", "--agent", "crush"]).code(5);
    }
    for args in [&["--print"][..], &[], &["--in", "/"]] {
        let refused = world.from(&cloned).rejoin([&["resume", &id(1)], args].concat()).code(7);
        assert!(refused.stderr().contains("crush has not registered the session in"), "{}", refused.stderr());
        assert_eq!(refused.stdout(), "");
    }
    assert!(world.launched().is_none());
    let plan: ResumePlan = world.from(&cloned).rejoin(["resume", &id(1), "--json"]).plan();
    assert_eq!((plan.refusals.len(), plan.refusals[0].code.as_str(), plan.refusals[0].exit), (1, "planted", 7));
    let shown = world.from(&cloned).rejoin(["show", &id(1)]).code(0).stdout();
    assert!(
        shown.contains("planted: it came with") && shown.contains(&format!("`rejoin resume crush:{} --trust`", id(1))),
        "{shown}"
    );
    let report: DoctorReport = world.from(&cloned).rejoin(["doctor", "--json"]).code(4).json();
    let found: Vec<&str> = report.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert!(found.contains(&"planted") && found.contains(&"future-time"), "{found:?}");
    world.from(&cloned).rejoin(["resume", &id(1), "--trust"]).code(0);
    assert_eq!(world.launched().expect("a launch").cwd, cloned);
    // After Crush itself registered the directory, it is a normal one, except for its times.
    register_crush(&world.home(), &[(&cloned, Path::new(".crush"))]);
    let sessions = world.from(&cloned).rejoin(["list", "--json"]).code(0).sessions();
    assert_eq!((sessions[1].id.as_str(), sessions[1].health.as_slice()), (&*id(1), &["future-time".to_owned()][..]));
}

#[test]
fn planted_copy_never_replaces_the_registered_one() {
    let world = World::new();
    let app = world.dir("app");
    Crush::session(id(1)).turn("mine", "yes").write_in(&app.join(".crush"));
    register_crush(&world.home(), &[(&app, Path::new(".crush"))]);
    let cloned = plant(&world, "cloned", 1);
    let details: Details = world.from(&cloned).rejoin(["show", &format!("crush:{}", id(1)), "--json"]).code(0).json();
    assert_eq!(details.session.launch_path(), app.to_str());
    let listed = world.from(&cloned).rejoin(["list", "--json"]).code(0).sessions();
    assert_eq!(listed[0].health, ["duplicate-session"]);
    assert_eq!(listed[0].copies[0].why.as_deref(), Some("it is the only copy that its agent has registered"));
}

#[test]
fn list_survives_damaged_registry() {
    let world = World::new();
    let app = world.dir("app");
    Crush::session(id(1)).turn("a", "b").write_in(&app.join(".crush"));
    let registry = world.home().join(".local/share/crush/projects.json");
    for text in ["", "{", "7", "null", "{\"projects\":7}"] {
        put(&registry, text);
        let list: SessionList = world.rejoin(["list", "--json"]).code(0).json();
        assert_eq!(list.problems.len(), 1, "{text:?}");
    }
    let mixed =
        json!({"projects": [7, {}, {"path": "relative"}, {"path": "/gone/away"}, {"path": app, "data_dir": 1}]});
    put(&registry, mixed.to_string());
    let list: SessionList = world.rejoin(["list", "--json"]).code(0).json();
    assert_eq!((list.sessions.len(), list.problems.len()), (1, 1), "what names no directory is said");
}

#[test]
fn list_reports_newer_migration() {
    let world = World::new();
    let app = world.dir("app");
    Crush::session(id(1)).turn("a", "b").write_in(&app.join(".crush"));
    register_crush(&world.home(), &[(&app, &app.join(".crush"))]);
    let sql = "INSERT INTO goose_db_version VALUES (9, 20270101120000, 1)";
    open_crush(&app.join(".crush")).execute_batch(sql).expect("a version");
    let list: SessionList = world.rejoin(["list", "--json"]).code(0).json();
    assert_eq!(list.sessions.len(), 1);
    assert!(list.problems[0].reason.starts_with("its migration 20270101120000 is newer"), "{:?}", list.problems);
}
