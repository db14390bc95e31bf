//! Tasks of Cline's editor extension.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::contract::{Details, Kind, ResumePlan, SessionList};
use crate::fixtures::{age_tree, put};
use crate::world::World;

const ID: &str = "1769940000000";
const EXTENSION: &str = "User/globalStorage/saoudrizwan.claude-dev";

pub(crate) fn storage(home: &Path, editor: &str) -> PathBuf {
    let config = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".config" };
    home.join(config).join(editor).join(EXTENSION)
}

/// Returns a message at this minute after ten o'clock.
pub(crate) fn message(minute: u64, kind: &str, what: &str, text: &str) -> Value {
    json!({"ts": 1_769_940_000_000 + 60_000 * minute, "type": kind, kind: what, "text": text, "partial": false})
}

/// Writes a task, and returns its folder.
pub(crate) fn write(root: &Path, id: &str, dir: &Path, messages: &[Value]) -> PathBuf {
    let folder = root.join("tasks").join(id);
    put(&folder.join("ui_messages.json"), json!(messages).to_string());
    let environment = format!("<environment_details>\n# Current Working Directory ({}) Files\n", dir.display());
    let prompt = json!({"role": "user", "content": [{"type": "text", "text": "<task>x</task>"}, {"type": "text", "text": environment}]});
    put(&folder.join("api_conversation_history.json"), json!([prompt]).to_string());
    age_tree(root);
    folder
}

fn talk() -> Vec<Value> {
    vec![
        message(0, "say", "task", "count the files"),
        message(0, "say", "api_req_started", "{}"),
        message(1, "say", "text", "I look."),
        message(2, "ask", "command", "ls"),
        message(2, "say", "command_output", "a b"),
        message(3, "ask", "followup", r#"{"question":"All of them?","options":[]}"#),
        message(4, "say", "user_feedback", "yes"),
        message(5, "say", "completion_result", "Two."),
    ]
}

#[test]
fn show_search_and_resume_handle_editor_task() {
    let world = World::new();
    let app = world.dir("app");
    write(&storage(&world.home(), "Code"), ID, &app, &talk());
    write(&world.home().join(".cursor-server/data").join(EXTENSION), "1769940000001", &app, &talk()[..3]);
    let details: Details = world.rejoin(["show", ID, "--messages", "9", "--json"]).code(0).stderr_eq("").json();
    let session = &details.session;
    assert_eq!((session.kind, session.first_prompt.as_deref()), (Kind::Main, Some("count the files")));
    assert_eq!((session.prompts, session.replies), (Some(2), Some(3)));
    assert_eq!(session.launch_path(), app.to_str());
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00Z"));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:05:00Z"));
    let shown = world.rejoin(["show", ID, "--transcript"]).code(0).stdout();
    assert!(shown.contains("All of them?") && shown.contains("→ a b") && !shown.contains("options"), "{shown}");
    assert!(world.rejoin(["search", "Two."]).code(0).stdout().contains(ID));
    world.rejoin(["export", ID, "--format", "markdown"]).code(0);

    for (program, id) in [("code", ID), ("cursor", "1769940000001")] {
        world.install(program, "");
        let answer = world.rejoin(["resume", id, "--print"]).code(0).stderr();
        assert!(answer.contains("click History in Cline's panel, and then the task \"count the files\""), "{answer}");
        let plan: ResumePlan = world.rejoin(["resume", id, "--json"]).plan();
        assert_eq!(
            (plan.resume.argv, plan.resume.dir.as_deref()),
            (vec![program.to_owned(), ".".to_owned()], app.to_str())
        );
    }
    assert!(world.rejoin(["resume", ID, "--prompt", "x"]).code(7).stderr().contains("in the editor only"));
}

#[test]
fn task_list_gives_the_directory() {
    let world = World::new();
    let (app, other) = (world.dir("app"), world.dir("other"));
    let root = storage(&world.home(), "VSCodium");
    write(&root, ID, &other, &talk());
    let task = json!([{"id": ID, "ts": 1, "task": "count the files", "cwdOnTaskInitialization": app}]);
    put(&root.join("state/taskHistory.json"), task.to_string());
    assert_eq!(world.rejoin(["list", "--json"]).code(0).sessions()[0].launch_path(), app.to_str());
}

#[test]
fn prompt_of_early_task_is_its_first_text() {
    let world = World::new();
    let root = storage(&world.home(), "Code");
    let talk = [message(0, "say", "text", "light the lamp"), message(1, "say", "text", "Lit.")];
    write(&root, ID, &world.dir("app"), &talk);
    let session = world.rejoin(["show", ID, "--json"]).code(0).json::<Details>().session;
    assert_eq!(session.first_prompt.as_deref(), Some("light the lamp"));
    assert_eq!((session.prompts, session.replies), (Some(1), Some(1)));
    // The list has the prompt of a task whose messages have none.
    write(&root, "1769940000001", &world.dir("app"), &[message(0, "say", "api_req_started", "{}"), talk[1].clone()]);
    let list = json!([{"id": "1769940000001", "task": "paint the quay"}, {"id": ID, "task": "other"}]);
    put(&root.join("state/taskHistory.json"), list.to_string());
    let titles = world.rejoin(["list"]).code(0).stdout();
    assert!(titles.contains("paint the quay") && titles.contains("light the lamp"), "{titles}");
}

#[test]
fn list_reports_damaged_task_list() {
    let world = World::new();
    let root = storage(&world.home(), "VSCodium");
    write(&root, ID, &world.dir("app"), &talk());
    put(&root.join("state/taskHistory.json"), [0; 300]);
    let list: SessionList = world.rejoin(["list", "--json"]).code(0).json();
    assert_eq!((list.sessions.len(), list.problems.len()), (1, 1));
    assert!(list.problems[0].reason.contains("History of Cline's extension"), "{:?}", list.problems);
}

#[test]
fn archive_delete_and_restore_handle_task() {
    let world = World::new();
    let (app, archive) = (world.dir("app"), world.dir("archive"));
    let folder = write(&storage(&world.home(), "Code - Insiders"), ID, &app, &talk());
    let archive = archive.to_str().expect("a path");
    world.rejoin(["archive", ID, "--archive-dir", archive]).code(0);
    world.rejoin(["delete", ID, "--yes"]).code(0);
    assert!(!folder.exists());
    world.rejoin(["restore", ID, "--archive-dir", archive]).code(0);
    assert!(folder.join("ui_messages.json").exists() && folder.join("api_conversation_history.json").exists());
}

#[test]
fn task_with_unknown_messages_is_not_empty() {
    let world = World::new();
    let folder =
        write(&storage(&world.home(), "Cursor"), ID, &world.dir("app"), &[json!({"kind": "task", "body": "hello"})]);
    let health = || world.rejoin(["list", "--all", "--json"]).code(0).sessions().remove(0).health;
    assert!(health().contains(&"unknown-format".to_owned()), "{:?}", health());
    put(&folder.join("ui_messages.json"), "[]");
    put(&folder.join("api_conversation_history.json"), "[]");
    age_tree(&folder);
    assert!(health().contains(&"empty-session".to_owned()), "{:?}", health());
}
