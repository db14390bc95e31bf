//! Tasks of Roo Code's extension and of its command line. Known from its code, never measured.

use serde_json::json;

use crate::contract::{Details, Kind, ResumePlan, Session};
use crate::fixtures::{Roo, id, put};
use crate::world::World;

const EDITOR: &str = if cfg!(target_os = "macos") {
    "Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline"
} else {
    ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline"
};

fn listed(world: &World) -> Vec<Session> {
    world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions()
}

#[test]
fn list_show_and_resume_read_command_line_task() {
    let world = World::new();
    let app = world.dir("app");
    let task = Roo::task(id(1)).in_dir(&app).turn("count the files", "I look.").message("ask", "command", "ls");
    let task = task.message("say", "command_output", "a b").message("say", "user_feedback", "go on");
    world.add(task.message("ask", "completion_result", "Two.").message("ask", "resume_completed_task", ""));
    let session = listed(&world).remove(0);
    assert_eq!((session.agent.to_string().as_str(), session.kind), ("roo", Kind::Main));
    assert_eq!((session.title.as_deref(), session.first_prompt.as_deref()), (None, Some("count the files")));
    assert_eq!((session.prompts, session.replies), (Some(2), Some(2)));
    assert_eq!((session.launch_path(), session.launch_source()), (app.to_str(), Some("session")));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:07:00Z"));
    let shown = world.rejoin(["show", &id(1), "--transcript"]).code(0).stdout();
    assert!(shown.contains("count the files") && shown.contains("→ a b") && shown.contains("Two."), "{shown}");
    assert!(world.rejoin(["search", "look"]).code(0).stdout().contains(&id(1)));
    world.install("roo", "");
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert_eq!(
        (plan.resume.argv, plan.resume.dir.as_deref()),
        (vec!["roo".into(), "--session-id".into(), id(1)], app.to_str())
    );
    assert!(world.rejoin(["resume", &id(1), "--prompt", "x"]).code(7).stderr().contains("takes no prompt"));
}

#[test]
fn resume_opens_editor_task_with_its_directory() {
    let world = World::new();
    let app = world.dir("app");
    world.add(Roo::task(id(1)).below(EDITOR).in_dir(&app).turn("count the files", "Two."));
    world.install("code", "");
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert_eq!((plan.resume.argv, plan.resume.dir.as_deref()), (vec!["code".into(), ".".into()], app.to_str()));
    let stderr = world.rejoin(["resume", &id(1), "--print"]).code(0).stderr();
    assert!(stderr.contains("click History in Roo Code's panel, and then the task \"count the files\""), "{stderr}");
}

#[test]
fn resume_takes_directory_of_early_task_from_prompt() {
    let world = World::new();
    let app = world.dir("app");
    for (n, words) in [(1, "Current Working Directory"), (2, "Current Workspace Directory")] {
        let task = world.add(Roo::task(id(n)).below(EDITOR).without_item().turn("count the files", "Two."));
        let environment = format!("<environment_details>\n# {words} ({}) Files\na b\n", app.display());
        let prompt = json!([{"role": "user", "content": [{"type": "text", "text": environment}]}]);
        put(&task.join("api_conversation_history.json"), prompt.to_string());
        let plan: ResumePlan = world.rejoin(["resume", &id(n), "--json"]).plan();
        assert_eq!(plan.resume.dir.as_deref(), app.to_str());
    }
}

#[test]
fn odd_tasks_have_health_codes() {
    let world = World::new();
    world.add(Roo::task(id(1)).in_dir("/nowhere/app").turn("a", "b"));
    world.add(Roo::task(id(2)).without_item().turn("a", "b"));
    let torn = world.add(Roo::task(id(3)).turn("a", "b"));
    let text = std::fs::read_to_string(torn.join("ui_messages.json")).expect("a file");
    put(&torn.join("ui_messages.json"), &text[..text.len() - 20]);
    world.add(Roo::task(id(4)).message("say", "hologram", "a"));
    world.add(Roo::task(id(5)));
    world.add(Roo::task(id(8)).without_item());
    world.add(Roo::task(id(6)).item("parentTaskId", id(1)).turn("look around", "Done."));
    world.add(Roo::task("1769940000000").turn("a", "b"));
    let sessions = listed(&world);
    let of = |id: &str| sessions.iter().find(|session| session.id == id).expect("a session");
    let facts = |n: u32| (of(&id(n)).kind, of(&id(n)).health.join(" "));
    assert_eq!(facts(1), (Kind::Main, "missing-directory".into()));
    assert_eq!(facts(2), (Kind::Main, "unknown-directory".into()));
    assert_eq!(facts(3), (Kind::Main, "invalid-content".into()));
    assert_eq!(facts(4), (Kind::Main, "unknown-format".into()));
    // The title is the first prompt in `history_item.json`.
    assert_eq!(facts(5), (Kind::Main, "cannot-open".into()));
    assert_eq!(facts(8).0, Kind::Empty);
    assert_eq!((facts(6), of(&id(6)).parent_id.clone()), ((Kind::Subagent, String::new()), Some(id(1))));
    let details: Details = world.rejoin(["show", &id(2), "--json"]).code(0).json();
    assert_eq!(details.session.launch_path(), None);
    assert_eq!(of("1769940000000").created_at.as_deref(), Some("2026-02-01T10:00:00Z"));
    let refused = world.rejoin(["resume", "1769940000000", "--print"]).code(7).stderr();
    assert!(refused.contains("by a UUID only"), "{refused}");
}
