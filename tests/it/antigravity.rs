//! Conversations of Antigravity CLI. Known from other programs' code, never measured.

use crate::contract::{Details, Kind, ResumePlan, Session};
use crate::fixtures::{Antigravity, antigravity_field as field, id, put};
use crate::world::World;

fn listed(world: &World) -> Vec<Session> {
    world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions()
}

#[test]
fn list_show_and_resume_read_conversation() {
    let world = World::new();
    let app = world.dir("app");
    let call = field(7, [field(1, "c"), field(2, "view_file"), field(3, "{\"path\":\"a\"}")].concat());
    let result = field(140, field(2, field(1, "a b")));
    let session = Antigravity::conversation(id(1)).in_dir(&app).titled("Files").turn("count the files", "I look.");
    world.add(session.step(15, field(20, call)).step(132, result).step(98, field(111, "x")));
    let session = listed(&world).remove(0);
    assert_eq!((session.agent.to_string().as_str(), session.kind), ("antigravity", Kind::Main));
    assert_eq!((session.title.as_deref(), session.first_prompt.as_deref()), (Some("Files"), Some("count the files")));
    assert_eq!((session.prompts, session.replies), (Some(1), Some(2)));
    assert_eq!((session.launch_path(), session.launch_source()), (app.to_str(), Some("session")));
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00.5Z"));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:04:00.5Z"));
    let shown = world.rejoin(["show", &id(1), "--transcript"]).code(0).stdout();
    assert!(shown.contains("view_file {\"path\":\"a\"}") && shown.contains("→ a b"), "{shown}");
    assert!(world.rejoin(["search", "files"]).code(0).stdout().contains(&id(1)));
    world.install("agy", "");
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert_eq!(plan.resume.argv, ["agy", "--conversation", &id(1)]);
    assert_eq!(plan.resume.dir.as_deref(), app.to_str());
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--prompt", "go on", "--json"]).plan();
    assert_eq!(plan.resume.argv, ["agy", "--conversation", &id(1), "--print", "go on"]);
}

#[test]
fn odd_conversations_have_health_codes() {
    let world = World::new();
    let root = world.home().join(".gemini/antigravity-cli");
    world.add(Antigravity::conversation(id(1)).in_dir("/nowhere/app").turn("a", "b"));
    world.add(Antigravity::conversation(id(2)).without_history().turn("a", "b"));
    world.add(Antigravity::conversation(id(3)).step(77, field(99, "a")));
    world.add(Antigravity::conversation(id(4)));
    world.add(Antigravity::conversation(id(5)).step(14, [0x9a, 0x01, 0xff]).turn("a", "b"));
    put(&root.join("conversations").join(format!("{}.pb", id(6))), [7; 64]);
    put(&root.join("conversations").join(format!("{}.pb", id(1))), [7; 64]);
    let history = std::fs::read_to_string(root.join("history.jsonl")).expect("a list of prompts");
    put(&root.join("history.jsonl"), history + "{\"display\":\"cut o");
    let sessions = listed(&world);
    assert_eq!(sessions.len(), 6);
    let of = |n: u32| sessions.iter().find(|session| session.id == id(n)).expect("a session");
    let facts = |n: u32| (of(n).kind, of(n).health.join(" "));
    assert_eq!(facts(1), (Kind::Main, "missing-directory".into()));
    assert_eq!(facts(2), (Kind::Main, "unknown-directory".into()));
    assert_eq!(facts(3), (Kind::Main, "unknown-format".into()));
    assert_eq!(facts(4), (Kind::Empty, "empty-session".into()));
    assert_eq!((facts(5), of(5).prompts), ((Kind::Main, String::new()), Some(1)));
    assert_eq!(facts(6).0, Kind::Main);
    assert!(facts(6).1.contains("unknown-format"), "{:?}", facts(6));
    let details: Details = world.rejoin(["show", &id(6), "--json"]).code(0).json();
    assert!(details.notes.iter().any(|note| note.contains("encrypted")), "{:?}", details.notes);
}

#[test]
fn damaged_database_hides_no_other_conversation() {
    let world = World::new();
    world.add(Antigravity::conversation(id(1)).turn("a", "b"));
    put(&world.home().join(".gemini/antigravity-cli/conversations").join(format!("{}.db", id(2))), [7; 4096]);
    let list: crate::contract::SessionList = world.rejoin(["list", "--all", "--json"]).code(0).json();
    assert_eq!((list.sessions.len(), list.problems.len()), (1, 1));
}
