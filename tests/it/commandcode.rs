//! Command Code's sessions.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::contract::{Details, DoctorReport, Kind, ResumePlan};
use crate::fixtures::{age_tree, lines, put};
use crate::world::World;

const ID: &str = "00000001-aaaa-4aaa-8aaa-000000000001";

pub(crate) fn header(dir: &Path) -> Value {
    json!({"type": "session", "version": 3, "id": ID, "timestamp": "2026-02-01T10:00:00.000Z", "cwd": dir})
}

/// Returns a record that follows the record of the minute before.
fn message(minute: u32, role: &str, content: &Value, meta: &Value) -> Value {
    let parent = minute.checked_sub(1).map(|before| format!("m{before}"));
    json!({
        "type": "message", "id": format!("m{minute}"), "parentId": parent, "model": "sample",
        "timestamp": format!("2026-02-01T10:{minute:02}:00.000Z"),
        "message": {"role": role, "content": content, "meta": meta},
    })
}

pub(crate) fn said(minute: u32, role: &str, text: &str) -> Value {
    message(minute, role, &json!([{"type": "text", "text": text}]), &json!({"source": "user"}))
}

/// Names the project of a directory of lowercase letters and digits.
fn project_of(home: &Path, dir: &Path) -> PathBuf {
    let words: Vec<String> = dir
        .to_str()
        .expect("a path in UTF-8")
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    home.join(".commandcode/projects").join(words.join("-"))
}

pub(crate) fn write(world: &World, dir: &Path, records: &[Value]) -> PathBuf {
    let path = project_of(&world.home(), dir).join(format!("{ID}.jsonl"));
    put(&path, lines(records));
    age_tree(&world.home());
    path
}

#[test]
fn tool_results_and_injected_messages_are_not_prompts() {
    let world = World::new();
    let dir = Path::new("/usr/bin");
    let records = [
        header(dir),
        message(0, "user", &json!([{"type": "text", "text": "a skill"}]), &json!({"isMeta": true})),
        said(1, "user", "count the files"),
        message(
            2,
            "assistant",
            &json!([{"type": "tool_use", "id": "t", "name": "shell", "input": {"command": "ls"}}]),
            &json!({}),
        ),
        message(3, "user", &json!([{"type": "tool_result", "tool_use_id": "t", "content": "a b"}]), &json!({})),
        said(4, "assistant", "Two."),
        json!({"type": "effort_change", "id": "m5", "parentId": "m4", "timestamp": "2026-02-01T10:05:00.000Z", "effort": "high"}),
        message(6, "user", &json!([{"type": "text", "text": "wake up"}]), &json!({"isAutomated": true})),
    ];
    let path = write(&world, dir, &records);
    put(&path.with_extension("meta.json"), json!({"title": "Counting", "gitBranch": "main"}).to_string());
    let details: Details = world.rejoin(["show", ID, "--messages", "9", "--json"]).code(0).stderr_eq("").json();
    let session = &details.session;
    assert_eq!(
        (session.title.as_deref(), session.first_prompt.as_deref()),
        (Some("Counting"), Some("count the files"))
    );
    assert_eq!((session.kind, session.prompts, session.replies), (Kind::Main, Some(1), Some(2)));
    assert_eq!((session.model.as_deref(), session.launch_path()), (Some("sample"), Some("/usr/bin")));
    let shown = world.rejoin(["show", ID, "--transcript"]).code(0).stdout();
    assert!(shown.contains("→ a b") && shown.contains("Two."), "{shown}");

    world.install("command-code", "");
    let plan: ResumePlan = world.rejoin(["resume", ID, "--prompt", "-x", "--json"]).plan();
    assert_eq!(plan.resume.argv, ["command-code", "--resume", ID, "--print=-x"]);
}

#[test]
fn api_error_is_not_a_prompt() {
    let world = World::new();
    let error = "Error: 400 Invalid_request_error too many images\n\nType \"continue\" to try again.";
    let refused =
        |minute| message(minute, "user", &json!([{"type": "text", "text": error}]), &json!({"messageId": "x"}));
    let records = [
        header(Path::new("/usr/bin")),
        said(0, "user", "Error: in what order?"),
        said(1, "assistant", "By name."),
        said(2, "user", "look at these"),
        refused(3),
        said(4, "user", "continue"),
        refused(5),
    ];
    write(&world, Path::new("/usr/bin"), &records);
    let shown: Details = world.rejoin(["show", ID, "--transcript", "--json"]).code(0).json();
    assert_eq!((shown.session.prompts, shown.session.replies), (Some(3), Some(1)));
    let errors: Vec<bool> = shown.messages.expect("messages").iter().map(|message| message.error).collect();
    assert_eq!(errors, [false, false, false, true, false, true]);
    let report: DoctorReport = world.rejoin(["doctor", "--check", "stuck-session", "--json"]).json();
    assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
    assert!(report.findings[0].evidence.contains("The last 2 replies"), "{}", report.findings[0].evidence);
}

#[test]
fn delete_removes_files_of_session() {
    let world = World::new();
    let path = write(
        &world,
        Path::new("/usr/bin"),
        &[header(Path::new("/usr/bin")), said(0, "user", "a"), said(1, "assistant", "b")],
    );
    put(&path.with_extension("checkpoints.jsonl"), "{}\n");
    let history = world.home().join(".commandcode/file-history").join(ID).join("one");
    put(&history, "x");
    assert_eq!(
        world.rejoin(["list", "--all", "--json"]).code(0).sessions().len(),
        1,
        "its other files are not sessions"
    );
    let new = world.dir("newplace");
    world.rejoin(["move", "/usr/bin", new.to_str().expect("a path"), "--yes"]).code(0);
    let moved = project_of(&world.home(), &new).join(format!("{ID}.jsonl"));
    assert!(moved.exists() && moved.with_extension("checkpoints.jsonl").exists() && !path.exists());
    let refused =
        world.rejoin(["move", new.to_str().expect("a path"), world.dir("ünnamed").to_str().expect("a path"), "--yes"]);
    assert!(refused.code_is_one_of(&[3]).stdout().contains("is not known to rejoin"));
    world.rejoin(["delete", ID, "--yes"]).code(0);
    assert!(!moved.exists() && !moved.with_extension("checkpoints.jsonl").exists() && !history.exists());
}

#[test]
fn doctor_ends_a_torn_line() {
    let world = World::new();
    let dir = Path::new("/usr/bin");
    let path = write(&world, dir, &[header(dir), said(0, "user", "a"), said(1, "assistant", "b")]);
    let whole = fs::read_to_string(&path).expect("a transcript");
    put(&path, format!("{whole}{{\"type\":\"mess"));
    age_tree(&world.home());
    world.rejoin(["doctor", "--check", "torn-transcript", "--fix", "--yes"]).code(0);
    assert_eq!(fs::read_to_string(&path).expect("a transcript"), format!("{whole}{{\"type\":\"mess\n"));
}

#[test]
fn file_of_older_version_is_not_empty() {
    let world = World::new();
    let old =
        json!({"role": "user", "content": "hello", "timestamp": "2026-02-01T10:00:00Z", "metadata": {"version": 2}});
    write(&world, Path::new("/usr/bin"), &[old]);
    let sessions = world.rejoin(["list", "--all", "--json"]).code(0).sessions();
    assert!(sessions[0].health.iter().any(|health| health == "unknown-format"), "{:?}", sessions[0].health);
}
