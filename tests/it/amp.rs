//! Threads of Amp that its clients stored in files. Known from other programs' code, never measured.

use serde_json::json;

use crate::contract::{Kind, ResumePlan, Session};
use crate::fixtures::{Amp, id, put};
use crate::world::World;

fn listed(world: &World) -> Vec<Session> {
    world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions()
}

fn thread(n: u32) -> String {
    format!("T-{}", id(n))
}

#[test]
fn list_show_and_resume_read_thread() {
    let world = World::new();
    let app = world.dir("my app");
    let uri = format!("file://{}", app.to_str().expect("a path in UTF-8").replace(' ', "%20"));
    let call = json!({"type": "tool_use", "id": "t", "name": "Read", "input": {"path": "a"}});
    let result =
        json!({"type": "tool_result", "toolUseID": "t", "run": {"status": "done", "result": {"output": "a b"}}});
    let session =
        Amp::thread(&id(1)).field("title", "Files").field("env", json!({"initial": {"trees": [{"uri": uri}]}}));
    let session = session.turn("count the files", "I look.").message(json!({"role": "assistant", "content": [call]}));
    world.add(session.message(json!({"role": "user", "content": [result]})));
    let session = listed(&world).remove(0);
    assert_eq!(
        (session.agent.to_string().as_str(), session.id.as_str(), session.kind),
        ("amp", &*thread(1), Kind::Main)
    );
    assert_eq!((session.title.as_deref(), session.first_prompt.as_deref()), (Some("Files"), Some("count the files")));
    assert_eq!((session.prompts, session.replies, session.model.as_deref()), (Some(1), Some(2), Some("model-a")));
    assert_eq!((session.launch_path(), session.launch_source()), (app.to_str(), Some("session")));
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00Z"));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:01:00Z"));
    let shown = world.rejoin(["show", &thread(1), "--transcript"]).code(0).stdout();
    assert!(shown.contains("→ a b") && shown.contains("Read"), "{shown}");
    world.install("amp", "");
    let plan: ResumePlan = world.rejoin(["resume", &thread(1), "--json"]).plan();
    assert_eq!(plan.resume.argv, ["amp", "threads", "continue", &thread(1)]);
    let stderr = world.rejoin(["resume", &thread(1), "--print"]).code(0).stderr();
    assert!(stderr.contains("on its server"), "{stderr}");
}

#[test]
fn odd_threads_have_health_codes() {
    let world = World::new();
    world.add(Amp::thread(&id(1)).field("env", json!({"initial": {"cwd": "/nowhere/app"}})).turn("a", "b"));
    world.add(Amp::thread(&id(2)).field("env", json!({"initial": {"trees": []}})).turn("a", "b"));
    let torn = world.add(Amp::thread(&id(3)).turn("a", "b"));
    let text = std::fs::read_to_string(&torn).expect("a thread");
    put(&torn, &text[..text.len() - 20]);
    world.add(Amp::thread(&id(4)).message(json!({"role": "oracle", "content": [{"type": "vision", "text": "a"}]})));
    world.add(Amp::thread(&id(5)));
    put(&world.home().join(".local/share/amp/threads/notes.json"), "{}");
    let sessions = listed(&world);
    assert_eq!(sessions.len(), 5);
    let facts = |n: u32| {
        let session = sessions.iter().find(|session| session.id == thread(n)).expect("a session");
        (session.kind, session.health.join(" "))
    };
    assert_eq!(facts(1), (Kind::Main, "missing-directory".into()));
    assert_eq!(facts(2), (Kind::Main, "unknown-directory".into()));
    assert_eq!(facts(3).1, "invalid-content");
    assert_eq!(facts(4), (Kind::Main, "unknown-format".into()));
    assert_eq!(facts(5), (Kind::Empty, "empty-session".into()));
}
