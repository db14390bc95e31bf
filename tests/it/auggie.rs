//! Auggie's sessions.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::contract::{Details, Kind, ResumePlan};
use crate::fixtures::{age_tree, put};
use crate::world::World;

const ID: &str = "00000001-aaaa-4aaa-8aaa-000000000001";

/// Returns an exchange: the question in a directory, and the answer.
fn exchange(dir: &Path, asked: &str, answered: &str) -> Value {
    let workspace = json!({"workspace_folders": [{"repository_root": dir, "folder_root": dir}]});
    let request = json!([{"type": 0, "text_node": {"content": asked}}, {"type": 4, "ide_state_node": workspace}]);
    let response = json!([{"type": 0, "content": answered}]);
    let exchange = json!({"request_message": asked, "response_text": answered, "request_nodes": request, "response_nodes": response});
    json!({"exchange": exchange, "completed": true, "finishedAt": "2026-02-01T10:05:00.000Z"})
}

/// Writes a session as Auggie does, in lines, with fields after its conversation.
fn write(home: &Path, id: &str, history: &[Value], behind: &[(&str, &str)]) -> PathBuf {
    let path = home.join(format!(".augment/sessions/{id}.json"));
    let mut members = vec![
        ("sessionId", json!(id)),
        ("created", json!("2026-02-01T10:00:00.000Z")),
        ("modified", json!("2026-02-01T10:05:00.000Z")),
        ("chatHistory", json!(history)),
        ("agentState", json!({"userGuidelines": "", "title": "not this one"})),
    ];
    members.extend(behind.iter().map(|(key, value)| (*key, json!(value))));
    let text = |value: &Value| serde_json::to_string_pretty(value).expect("JSON").replace('\n', "\n  ");
    let lines: Vec<String> = members.iter().map(|(key, value)| format!("  \"{key}\": {}", text(value))).collect();
    put(&path, format!("{{\n{}\n}}", lines.join(",\n")));
    age_tree(home);
    path
}

#[test]
fn show_reads_a_session_file() {
    let world = World::new();
    let (app, other) = (world.dir("app"), world.dir("other"));
    let history = [exchange(&app, "look", "Done."), exchange(&other, "again", "Done, too.")];
    write(&world.home(), ID, &history, &[("title", "Looking")]);
    let details: Details = world.rejoin(["show", ID, "--messages", "9", "--json"]).code(0).stderr_eq("").json();
    let session = &details.session;
    assert_eq!((session.kind, session.title.as_deref()), (Kind::Main, Some("Looking")));
    assert_eq!((session.prompts, session.replies), (Some(2), Some(2)));
    assert_eq!((session.launch_path(), session.first_prompt.as_deref()), (app.to_str(), Some("look")));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:05:00Z"));
    let messages = details.messages.expect("messages");
    let texts: Vec<&str> = messages.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, ["look", "Done.", "again", "Done, too."]);
}

#[test]
fn list_reads_fields_after_long_conversation() {
    let world = World::new();
    let app = world.dir("app");
    let long = "\n  \"title\": \"what was said is no title\",\n".repeat(4000);
    let history = [exchange(&app, "look", "Done."), exchange(&app, "again", &long)];
    let behind = [("title", "Looking"), ("customTitle", "Mine")];
    write(&world.home(), ID, &history, &behind);
    let made = [("title", "A part"), ("parentConversationId", ID)];
    write(&world.home(), "b-part", &history, &made);
    let mut listed = world.rejoin(["list", "--all", "--json"]).code(0).stderr_eq("").sessions();
    listed.sort_by(|a, b| a.id.cmp(&b.id));
    assert!(listed[0].size_bytes > Some(64 * 1024), "{:?}", listed[0].size_bytes);
    let told: Vec<_> = listed.iter().map(|session| (session.kind, session.title.as_deref())).collect();
    assert_eq!(told, [(Kind::Main, Some("Mine")), (Kind::Subagent, Some("A part"))]);
    assert_eq!(listed[1].parent_id.as_deref(), Some(ID));
}

#[test]
fn backups_belong_to_their_session() {
    let world = World::new();
    let app = world.dir("app");
    let history = [exchange(&app, "look", "Done.")];
    let names = [ID.to_owned(), format!("{ID}-backup1"), format!("{ID}-backup12")];
    let paths = names.map(|name| write(&world.home(), &name, &history, &[]));
    let kept = write(&world.home(), &format!("{ID}-backups"), &history, &[]);
    let listed = world.rejoin(["list", "--all", "--json"]).code(0).stderr_eq("").sessions();
    assert_eq!(listed.len(), 2);
    let before = paths.each_ref().map(|path| std::fs::read(path).expect("a file"));
    world.rejoin(["delete", ID, "--yes"]).code(0);
    assert!(paths.iter().all(|path| !path.exists()) && kept.exists());
    world.rejoin(["undo", "--yes"]).code(0);
    assert_eq!(paths.each_ref().map(|path| std::fs::read(path).expect("a file")), before);
}

#[test]
fn resume_starts_in_workspace_with_or_without_prompt() {
    let world = World::new();
    world.install("auggie", "");
    let (app, other) = (world.dir("app"), world.dir("other"));
    write(&world.home(), ID, &[exchange(&app, "look", "Done.")], &[]);
    let plan: ResumePlan = world.rejoin(["resume", ID, "--json"]).plan();
    let argv: Vec<String> = ["auggie", "--resume", ID].map(str::to_owned).to_vec();
    assert_eq!((plan.resume.argv, plan.resume.dir.as_deref()), (argv, app.to_str()));
    for (prompt, option) in [("go on", &["-i", "go on"][..]), ("-go", &["--instruction=-go"])] {
        world.from(&other).rejoin(["resume", ID, "--no-limit", &format!("--prompt={prompt}")]).code(0);
        let launch = world.launched().expect("a launch");
        let argv: Vec<&str> = ["auggie", "--resume", ID, "--print"].iter().chain(option).copied().collect();
        assert_eq!((launch.argv, &launch.cwd), (argv.into_iter().map(str::to_owned).collect(), &app));
    }
}
