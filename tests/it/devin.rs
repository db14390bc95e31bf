//! Sessions of Devin CLI. Known from other programs' code, never measured.

use rusqlite::types::Value as Sql;
use serde_json::json;

use crate::contract::{Kind, ResumePlan, Session, SessionList};
use crate::fixtures::{Devin, age_tree, devin_db};
use crate::world::World;

fn listed(world: &World) -> Vec<Session> {
    world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions()
}

fn text(text: &str) -> Sql {
    Sql::Text(text.to_owned())
}

#[test]
fn list_show_and_resume_read_session() {
    let world = World::new();
    let app = world.dir("app");
    let call = json!([{"id": "c", "function": {"name": "exec", "arguments": "{\"command\":\"ls\"}"}}]);
    let session =
        Devin::session("quiet-river").in_dir(&app).column("title", text("Files")).turn("count the files", "I look.");
    let session = session.message(json!({"role": "assistant", "content": "", "thinking": "hm", "tool_calls": call}));
    world.add(session.message(json!({"role": "tool", "tool_call_id": "c", "content": "a b"})));
    let session = listed(&world).remove(0);
    assert_eq!((session.agent.to_string().as_str(), session.kind), ("devin", Kind::Main));
    assert_eq!((session.title.as_deref(), session.first_prompt.as_deref()), (Some("Files"), Some("count the files")));
    assert_eq!((session.prompts, session.replies, session.model.as_deref()), (Some(1), Some(2), Some("model-d")));
    assert_eq!((session.launch_path(), session.launch_source()), (app.to_str(), Some("session")));
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00Z"));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:03:00Z"));
    let shown = world.rejoin(["show", "quiet-river", "--transcript"]).code(0).stdout();
    assert!(shown.contains("exec {\"command\":\"ls\"}") && shown.contains("→ a b") && !shown.contains("hm"), "{shown}");
    world.install("devin", "");
    let plan: ResumePlan = world.rejoin(["resume", "quiet-river", "--json"]).plan();
    assert_eq!(plan.resume.argv, ["devin", "--resume", "quiet-river"]);
    assert_eq!(plan.resume.dir.as_deref(), app.to_str());
    assert!(world.rejoin(["resume", "quiet-river", "--prompt", "x"]).code(7).stderr().contains("without --prompt"));
}

/// Sets the parent of a message, by their numbers from 0.
fn set_parent(world: &World, node: u32, parent: u32) {
    let connection = rusqlite::Connection::open(devin_db(&world.home())).expect("a database");
    let sql = "UPDATE message_nodes SET parent_node_id = ?1 WHERE node_id = ?2";
    connection.execute(sql, [parent, node]).expect("a row");
    drop(connection);
    age_tree(&world.home());
}

#[test]
fn show_follows_the_main_chain() {
    for (tip, shown) in [(Sql::Integer(3), ["green", "thanks", "red"]), (Sql::Integer(99), ["red", "", "green"])] {
        let world = World::new();
        let session = Devin::session("ketch").in_dir("/usr/bin").column("main_chain_id", tip);
        let session = session.turn("paint the quay", "green").message(json!({"role": "user", "content": "thanks"}));
        let session = session.message(json!({"role": "assistant", "content": "welcome"}));
        // The last message is another reply to the first prompt.
        world.add(session.message(json!({"role": "assistant", "content": "red"})));
        set_parent(&world, 4, 0);
        let [active, also, other] = shown;
        let text = world.rejoin(["show", "ketch", "--transcript"]).code(0).stdout();
        assert!(text.contains(active) && text.contains(also) && !text.contains(other), "{text}");
        let branches = world.rejoin(["show", "ketch", "--branches"]).code(0).stdout();
        assert!(branches.contains("branch 2") && !branches.contains("branch 3"), "{branches}");
        assert!(world.rejoin(["search", other]).code(0).stdout().contains("ketch"));
    }
}

#[test]
fn resume_starts_devin_next_for_its_store() {
    let world = World::new();
    let app = world.dir("app");
    world.add(Devin::session("river").in_dir(&app).turn("count the files", "Two."));
    let store = devin_db(&world.home()).parent().expect("a directory").to_owned();
    std::fs::rename(&store, store.with_file_name("cli-next")).expect("a move");
    world.install("devin-next", "");
    let plan: ResumePlan = world.rejoin(["resume", "river", "--json"]).plan();
    assert_eq!(
        (plan.resume.argv, plan.refusals.len()),
        (vec!["devin-next".into(), "--resume".into(), "river".into()], 0)
    );
}

#[test]
fn resume_latest_passes_over_hidden_session() {
    let world = World::new();
    let app = world.dir("app");
    world.add(Devin::session("river").in_dir(&app).turn("count the files", "Two."));
    let hidden = Devin::session("punt").in_dir(&app).column("hidden", Sql::Integer(1));
    world.add(hidden.column("last_activity_at", Sql::Integer(1_769_950_000)).turn("a", "b"));
    let plan: ResumePlan = world.rejoin(["resume", "latest", "--json"]).plan();
    assert_eq!(plan.id.as_deref(), Some("river"));
}

#[test]
fn odd_sessions_have_health_codes() {
    let world = World::new();
    world.add(Devin::session("gone").in_dir("/nowhere/app").turn("a", "b"));
    world.add(Devin::session("nowhere").column("working_directory", Sql::Null).turn("a", "b"));
    world.add(Devin::session("hidden").column("hidden", Sql::Integer(1)).turn("a", "b"));
    world.add(Devin::session("unknown").message(json!({"role": "oracle", "vision": "a"})));
    world.add(Devin::session("empty"));
    world.add(Devin::session("late").column("last_activity_at", Sql::Integer(1_769_950_000)));
    let connection = rusqlite::Connection::open(devin_db(&world.home())).expect("a database");
    let half = "INSERT INTO message_nodes (session_id, chat_message, created_at) VALUES ('hidden', '{\"role\":\"us', 1769940500)";
    connection.execute(half, []).expect("a row");
    drop(connection);
    let sessions = listed(&world);
    let of = |id: &str| sessions.iter().find(|session| session.id == id).expect("a session");
    let facts = |id: &str| (of(id).kind, of(id).health.join(" "));
    assert_eq!(facts("gone"), (Kind::Main, "missing-directory".into()));
    assert_eq!(facts("nowhere"), (Kind::Main, "unknown-directory".into()));
    assert_eq!((facts("hidden").0, of("hidden").prompts), (Kind::Archived, Some(1)));
    assert_eq!(facts("unknown"), (Kind::Main, "unknown-format".into()));
    assert_eq!(facts("empty"), (Kind::Empty, "empty-session".into()));
    assert_eq!(of("late").active_at.as_deref(), Some("2026-02-01T12:46:40Z"));
}

#[test]
fn list_reports_unknown_schema() {
    let world = World::new();
    world.add(Devin::session("river").turn("a", "b"));
    let connection = rusqlite::Connection::open(devin_db(&world.home())).expect("a database");
    connection.execute_batch("ALTER TABLE message_nodes RENAME TO messages").expect("a table");
    drop(connection);
    let list: SessionList = world.rejoin(["list", "--all", "--json"]).code(0).json();
    assert!(
        list.sessions.is_empty() && list.problems[0].reason.contains("no table message_nodes"),
        "{:?}",
        list.problems
    );
}
