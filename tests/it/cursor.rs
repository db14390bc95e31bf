//! Chats of Cursor CLI. Known from published findings, never measured.

use serde_json::json;

use crate::contract::{Details, Kind, ResumePlan, Session};
use crate::fixtures::{Cursor, id, put};
use crate::world::World;

fn listed(world: &World) -> Vec<Session> {
    world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions()
}

#[test]
fn list_show_and_resume_read_chat() {
    let world = World::new();
    let app = world.dir("app");
    let call = json!({"type": "tool_use", "name": "Shell", "input": {"command": "ls"}});
    let call = json!({"role": "assistant", "message": {"content": [call]}});
    world.add(Cursor::chat(id(1)).in_dir(&app).meta("title", "Files").turn("count the files", "Two.").line(call));
    let session = listed(&world).remove(0);
    assert_eq!((session.agent.to_string().as_str(), session.kind), ("cursor", Kind::Main));
    assert_eq!((session.title.as_deref(), session.first_prompt.as_deref()), (Some("Files"), Some("count the files")));
    assert_eq!((session.prompts, session.replies, session.model.as_deref()), (Some(1), Some(2), Some("model-u")));
    assert_eq!((session.launch_path(), session.launch_source()), (app.to_str(), Some("session")));
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00Z"));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:01:00Z"));
    let shown = world.rejoin(["show", &id(1), "--transcript"]).code(0).stdout();
    assert!(shown.contains("count the files") && shown.contains("Shell") && !shown.contains("<user_query>"), "{shown}");
    assert!(world.rejoin(["search", "files"]).code(0).stdout().contains(&id(1)));
    world.install("cursor-agent", "");
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert_eq!(plan.resume.argv, ["cursor-agent", "--resume", &id(1)]);
    assert_eq!(plan.resume.dir.as_deref(), app.to_str());
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--prompt", "-x", "--json"]).plan();
    assert_eq!(plan.resume.argv, ["cursor-agent", "-p", "--resume", &id(1), "--", "-x"]);
}

#[test]
fn transcript_outside_of_workspace_is_read() {
    let world = World::new();
    let app = world.dir("app");
    let log = world.add(Cursor::chat(id(1)).in_dir(&app).turn("audit the lighthouse", "Audited."));
    let name = log.file_name().expect("a name").to_owned();
    let folder = world.home().join(".cursor/projects/agent-transcripts").join(id(1));
    std::fs::create_dir_all(&folder).expect("a directory");
    std::fs::rename(&log, folder.join(name)).expect("a move");
    let session = listed(&world).remove(0);
    assert_eq!((session.first_prompt.as_deref(), session.launch_path()), (Some("audit the lighthouse"), app.to_str()));
    assert_eq!(session.health, [""; 0]);
}

#[test]
fn odd_chats_have_health_codes() {
    let world = World::new();
    world.add(Cursor::chat(id(1)).in_dir("/nowhere/app").turn("a", "b"));
    world.add(Cursor::chat(id(2)).without_chat().turn("a", "b"));
    world.add(Cursor::chat(id(3)).without_transcript());
    let torn = world.add(Cursor::chat(id(4)).turn("a", "b").turn("c", "d"));
    let text = std::fs::read_to_string(&torn).expect("a transcript");
    put(&torn, &text[..text.len() - 20]);
    world.add(Cursor::chat(id(5)).line(json!({"role": "oracle", "vision": "a"})));
    world.add(Cursor::chat(id(6)).line(json!({"type": "turn_ended", "status": "success"})));
    world.add(Cursor::chat(id(7)).meta("cwd", 7).turn("a", "b"));
    let sessions = listed(&world);
    let of = |n: u32| sessions.iter().find(|session| session.id == id(n)).expect("a session");
    let facts = |n: u32| (of(n).kind, of(n).health.join(" "));
    assert_eq!(facts(1), (Kind::Main, "missing-directory".into()));
    assert_eq!(facts(2), (Kind::Main, "unknown-directory".into()));
    assert_eq!(facts(3), (Kind::Main, "unknown-format".into()));
    assert_eq!(facts(4), (Kind::Main, "torn-transcript".into()));
    assert_eq!(facts(5), (Kind::Main, "unknown-format".into()));
    assert_eq!(facts(6), (Kind::Empty, "empty-session".into()));
    assert_eq!(facts(7), (Kind::Main, "unknown-directory".into()));
    let details: Details = world.rejoin(["show", &id(3), "--json"]).code(0).json();
    assert!(details.notes.iter().any(|note| note.contains("store.db is not read")), "{:?}", details.notes);
    // A transcript alone may belong to the editor.
    let refused = world.rejoin(["resume", &id(2), "--print", "--in", "/usr/bin"]).code(7).stderr();
    assert!(refused.contains("Cursor's editor may have written it"), "{refused}");
    let doctor = world.rejoin(["doctor", "--check", "unknown-directory", "--all-findings"]).code(4).stdout();
    let offers = |n: u32| doctor.contains(&format!("rejoin resume cursor:{} --in .", id(n)));
    assert_eq!([2, 7].map(offers), [false, true], "{doctor}");
    world.install("cursor-agent", "");
    assert!(world.rejoin(["resume", &id(3), "--print"]).code(0).stdout().contains("--resume"));
}

#[test]
fn sub_agent_belongs_to_its_chat() {
    let world = World::new();
    world.add(Cursor::chat(id(1)).turn("a", "b"));
    world.add(Cursor::chat(id(2)).subagent_of(&id(1)).turn("look around", "Done."));
    let sessions = listed(&world);
    let child = sessions.iter().find(|session| session.id == id(2)).expect("a sub-agent");
    assert_eq!((child.kind, child.parent_id.as_deref()), (Kind::Subagent, Some(id(1).as_str())));
    assert_eq!(sessions.len(), 2);
    // It also has its own chat.
    let app = world.dir("app");
    world.add(Cursor::chat(id(2)).in_dir(&app).meta("isSubagent", true).without_transcript());
    let sessions = listed(&world);
    let child = sessions.iter().find(|session| session.id == id(2)).expect("a sub-agent");
    assert_eq!((sessions.len(), child.copies.len(), child.launch_path()), (2, 1, app.to_str()));
}
