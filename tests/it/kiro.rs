//! Sessions of Kiro CLI in both layouts. Known from other programs' code, never measured.

use serde_json::json;

use crate::contract::{Kind, ResumePlan, Session};
use crate::fixtures::{Kiro, age_tree, id, put};
use crate::world::World;

fn listed(world: &World) -> Vec<Session> {
    world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions()
}

#[test]
fn list_show_and_resume_read_first_layout() {
    let world = World::new();
    let app = world.dir("app");
    let call = json!({"kind": "toolUse", "data": {"toolUseId": "t", "name": "shell", "input": {"command": "ls"}}});
    let result =
        json!({"kind": "toolResult", "data": {"content": [{"kind": "text", "data": "a b"}], "status": "success"}});
    let thinking = json!({"kind": "thinking", "data": {"modelId": "m", "text": "hm"}});
    let session =
        Kiro::session(id(1)).file("cwd", app.to_str()).file("title", "Files").turn("count the files", "I look.");
    world.add(session.record("AssistantMessage", &[thinking, call]).record("ToolResults", &[result]));
    let session = listed(&world).remove(0);
    assert_eq!((session.agent.to_string().as_str(), session.kind), ("kiro", Kind::Main));
    assert_eq!((session.title.as_deref(), session.first_prompt.as_deref()), (Some("Files"), Some("count the files")));
    assert_eq!((session.prompts, session.replies, session.model.as_deref()), (Some(1), Some(2), Some("model-k")));
    assert_eq!((session.launch_path(), session.launch_source()), (app.to_str(), Some("session")));
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00.123456Z"));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:01:00.123456Z"));
    let shown = world.rejoin(["show", &id(1), "--transcript"]).code(0).stdout();
    assert!(shown.contains("→ a b") && shown.contains("shell") && !shown.contains("hm"), "{shown}");
    world.install("kiro-cli", "");
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert_eq!(plan.resume.argv, ["kiro-cli", "chat", "--resume-id", &id(1)]);
    assert_eq!(plan.resume.dir.as_deref(), app.to_str());
    assert!(world.rejoin(["resume", &id(1), "--prompt", "x"]).code(7).stderr().contains("resume it without --prompt"));
}

#[test]
fn list_and_show_read_second_layout() {
    let world = World::new();
    let session =
        Kiro::folder(&id(1)).turn("count the files", "Two.").payload(&json!({"type": "tool_call", "args": {"a": 1}}));
    let session = session.payload(&json!({"type": "session_metadata", "key": "contextUsage", "value": {}}));
    world.add(session.payload(&json!({"type": "turn_end"})));
    let session = listed(&world).remove(0);
    assert_eq!((session.id.as_str(), session.kind), (format!("sess_{}", id(1)).as_str(), Kind::Main));
    assert_eq!((session.prompts, session.replies, session.model.as_deref()), (Some(1), Some(1), Some("model-k")));
    assert_eq!((session.launch_path(), session.active_at.as_deref()), (Some("/usr/bin"), Some("2026-02-01T10:01:00Z")));
    assert!(world.rejoin(["search", "files"]).code(0).stdout().contains(&id(1)));
    let refused = world.rejoin(["resume", &session.id, "--print"]).code(7).stderr();
    assert!(refused.contains("by its id") && refused.contains("type /chat there"), "{refused}");
}

#[test]
fn list_has_sessions_that_kiro_1_migrated() {
    let world = World::new();
    let log = world.add(Kiro::folder(&id(1)).turn("count the files", "Two."));
    let new = log.parent().expect("a directory");
    let migrated = new.with_file_name(id(2));
    std::fs::create_dir(&migrated).expect("a directory");
    std::fs::copy(&log, migrated.join("messages.jsonl")).expect("a file");
    put(&migrated.join("session.json"), json!({"title": "Quay", "workspacePaths": ["/usr/bin"]}).to_string());
    // A folder with the name of a UUID may be anything.
    put(&new.with_file_name(id(3)).join("notes.txt"), "x");
    let prompts = new.ancestors().nth(2).expect("a path").join(format!("cli/sess_{}.history", id(1)));
    put(&prompts, "count the files\n");
    age_tree(&world.home());
    let sessions = listed(&world);
    let mut ids: Vec<&str> = sessions.iter().map(|session| session.id.as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [id(2), format!("sess_{}", id(1))]);
    let session = sessions.iter().find(|session| session.id == id(2)).expect("a session");
    assert_eq!((session.title.as_deref(), session.launch_path()), (Some("Quay"), Some("/usr/bin")));
    assert!(world.rejoin(["search", "files"]).code(0).stdout().contains(&id(2)));
    world.rejoin(["resume", &id(2), "--print"]).code(7);
}

#[test]
fn sub_agent_without_parent_is_of_a_script() {
    let world = World::new();
    let made = |n| Kiro::session(id(n)).file("session_created_reason", "subagent").turn("look around", "Done.");
    world.add(made(1));
    world.add(made(2).file("parent_session_id", id(3)));
    let sessions = listed(&world);
    let kind = |n| sessions.iter().find(|session| session.id == id(n)).map(|session| session.kind);
    assert_eq!((kind(1), kind(2)), (Some(Kind::Exec), Some(Kind::Subagent)));
}

#[test]
fn odd_sessions_have_health_codes() {
    let world = World::new();
    world.add(Kiro::session(id(1)).file("cwd", "/nowhere/app").turn("a", "b"));
    world.add(Kiro::folder(&id(2)).file("workspacePaths", json!(["/usr/bin", "/usr/lib"])).turn("a", "b"));
    let torn = world.add(Kiro::session(id(3)).turn("a", "b").turn("c", "d"));
    let text = std::fs::read_to_string(&torn).expect("a log");
    put(&torn, &text[..text.len() - 20]);
    world.add(Kiro::session(id(4)).record("Hologram", &[json!({"kind": "text", "data": "a"})]));
    world.add(Kiro::folder(&id(5)).payload(&json!({"type": "turn_end"})));
    let child = Kiro::session(id(6)).file("parent_session_id", id(1)).file("session_created_reason", "subagent");
    world.add(child.turn("look around", "Done."));
    let untitled = world.add(Kiro::session(id(7)).turn("a", "b"));
    std::fs::remove_file(untitled.with_extension("json")).expect("a file");
    let sessions = listed(&world);
    let of = |n: u32| sessions.iter().find(|session| session.id.ends_with(&id(n))).expect("a session");
    let facts = |n: u32| (of(n).kind, of(n).health.join(" "));
    assert_eq!(facts(1), (Kind::Main, "missing-directory".into()));
    assert_eq!(facts(2), (Kind::Main, "unknown-directory".into()));
    assert_eq!(facts(3), (Kind::Main, "torn-transcript".into()));
    assert_eq!(facts(4), (Kind::Main, "unknown-format".into()));
    assert_eq!(facts(5), (Kind::Empty, "empty-session".into()));
    assert_eq!((facts(6), of(6).parent_id.clone()), ((Kind::Subagent, String::new()), Some(id(1))));
    assert_eq!(facts(7), (Kind::Main, "unknown-directory".into()));
}
