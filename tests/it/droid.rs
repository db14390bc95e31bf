//! Factory Droid's sessions.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::contract::{Details, Kind, Liveness, ResumePlan};
use crate::fixtures::{age_tree, lines, put};
use crate::world::World;

const ID: &str = "00000001-aaaa-4aaa-8aaa-000000000001";

/// Returns the first record of a session, with additional fields.
fn start(dir: &Path, more: &Value) -> Value {
    let mut record =
        json!({"type": "session_start", "id": ID, "title": "New Session", "owner": "ana", "version": 2, "cwd": dir});
    record.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    record
}

/// Returns a message, `minute` minutes after ten o'clock.
fn message(minute: u32, message: &Value) -> Value {
    json!({"type": "message", "id": format!("m-{minute}"), "timestamp": format!("2026-02-01T10:{minute:02}:00.000Z"), "message": message})
}

fn typed(minute: u32, text: &str) -> Value {
    message(minute, &json!({"role": "user", "content": [{"type": "text", "text": text}]}))
}

/// Writes a session in a folder of the store, and returns its file.
fn write(home: &Path, folder: &str, id: &str, records: &[Value]) -> PathBuf {
    let path = home.join(".factory/sessions").join(folder).join(format!("{id}.jsonl"));
    put(&path, lines(records));
    age_tree(home);
    path
}

#[test]
fn show_reads_the_files_of_a_session() {
    let world = World::new();
    let (app, part) = (world.dir("app"), world.dir("app/part"));
    let records = [
        start(&app, &json!({"title": "Looking", "lastCwd": part})),
        message(0, &json!({"role": "user", "visibility": "llm_only", "content": [{"type": "text", "text": "a date"}]})),
        typed(1, "<system-reminder>x</system-reminder>"),
        typed(2, "look"),
        message(
            3,
            &json!({"role": "assistant", "modelId": "sample", "content": [
                {"type": "thinking", "thinking": "well"},
                {"type": "tool_use", "id": "1", "name": "LS", "input": {"path": "."}},
            ]}),
        ),
        message(4, &json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "x"}]})),
        message(5, &json!({"role": "assistant", "modelId": "sample", "content": [{"type": "text", "text": "Done."}]})),
        json!({"type": "agent_turn_outcome", "turnId": "m-2", "reason": "completed", "resultKind": "text"}),
    ];
    write(&world.home(), "-w-app", ID, &records);
    let details: Details = world.rejoin(["show", ID, "--messages", "9", "--json"]).code(0).stderr_eq("").json();
    let session = &details.session;
    assert_eq!((session.kind, session.title.as_deref()), (Kind::Main, Some("Looking")));
    assert_eq!((session.prompts, session.replies), (Some(1), Some(2)));
    assert_eq!((session.launch_path(), session.first_prompt.as_deref()), (part.to_str(), Some("look")));
    assert_eq!(session.start_dir.as_deref(), app.to_str());
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:05:00Z"));
    let messages = details.messages.expect("messages");
    let texts: Vec<&str> = messages.iter().map(|message| message.text.as_str()).collect();
    let reminder = "<system-reminder>x</system-reminder>";
    assert_eq!(texts, ["a date", reminder, "look", "LS {\"path\":\".\"}", "→ x", "Done."]);
}

#[test]
fn kind_follows_from_first_record_folder_and_settings() {
    let world = World::new();
    let app = world.dir("app");
    let make = |folder: &str, id: &str, more: Value, settings: Value| {
        let path = write(&world.home(), folder, id, &[start(&app, &more), typed(1, "look")]);
        put(&path.with_extension("settings.json"), settings.to_string());
        age_tree(&world.home());
    };
    let tag = |name: &str| json!({"tags": [{"name": name}]});
    make("-w-app", "a-plain", json!({}), json!({}));
    make("-w-app", "b-fork", json!({"parent": "a-plain"}), json!({}));
    make("-w-app", "c-part", json!({"callingSessionId": "a-plain"}), json!({}));
    make("-w-app", "d-worker", json!({"decompSessionType": "worker"}), json!({}));
    make("-w-app", "e-exec", json!({}), tag("exec"));
    make("-w-app", "f-aside", json!({}), json!({"archivedAt": "2026-02-02T10:00:00Z"}));
    make("btw", "g-question", json!({"parent": "a-plain"}), tag("btw-fork"));
    make("", "h-old", json!({}), json!({}));
    write(&world.home(), "-w-app", "i-unused", &[start(&app, &json!({}))]);
    // The file is not in a folder of a project, where Droid searches.
    write(&world.home(), "other", "j-nothing", &[start(&app, &json!({})), typed(1, "look")]);
    let mut listed = world.rejoin(["list", "--all", "--json"]).code(0).stderr_eq("").sessions();
    listed.sort_by(|a, b| a.id.cmp(&b.id));
    let kinds: Vec<(&str, Kind)> = listed.iter().map(|session| (session.id.as_str(), session.kind)).collect();
    let expected = [
        ("a-plain", Kind::Main),
        ("b-fork", Kind::Fork),
        ("c-part", Kind::Subagent),
        ("d-worker", Kind::Subagent),
        ("e-exec", Kind::Exec),
        ("f-aside", Kind::Archived),
        ("g-question", Kind::Subagent),
        ("h-old", Kind::Main),
        ("i-unused", Kind::Empty),
    ];
    assert_eq!(kinds, expected);
    assert!(listed.iter().all(|session| session.title.is_none()), "they have no names");
    for (id, kind) in expected {
        assert_eq!(world.rejoin(["show", id, "--json"]).code(0).json::<Details>().session.kind, kind, "{id}");
    }
}

#[test]
fn resume_starts_only_in_the_last_directory() {
    let world = World::new();
    world.install("droid", "");
    let (app, other) = (world.dir("app"), world.dir("other"));
    write(&world.home(), "-w-app", ID, &[start(&app, &json!({})), typed(1, "look")]);
    let plan: ResumePlan = world.rejoin(["resume", ID, "--json"]).plan();
    let argv: Vec<String> = ["droid", "--resume", ID].map(str::to_owned).to_vec();
    assert_eq!((plan.resume.argv, plan.resume.dir.as_deref()), (argv, app.to_str()));
    world.from(&other).rejoin(["resume", ID, "--prompt", "go on"]).code(0);
    let launch = world.launched().expect("a launch");
    let argv: Vec<String> = ["droid", "exec", "--session-id", ID, "go on"].map(str::to_owned).to_vec();
    assert_eq!((launch.argv, launch.cwd), (argv, app.clone()));
    let refused = world.from(&other).rejoin(["resume", ID, "--in", ".", "--prompt", "x"]).code(7).stderr();
    assert!(refused.contains("wherever it is started"), "{refused}");
    // If its directory is missing, the session continues in the directory where it is started.
    std::fs::remove_dir(&app).expect("a directory");
    world.from(&other).rejoin(["resume", ID, "--in", ".", "--prompt", "x"]).code(0);
    assert_eq!(world.launched().expect("a launch").cwd, other);
}

#[test]
fn delete_and_undo_include_settings_of_session() {
    let world = World::new();
    let app = world.dir("app");
    let path = write(&world.home(), "-w-app", ID, &[start(&app, &json!({})), typed(1, "look")]);
    let beside = path.with_extension("settings.json");
    put(&beside, r#"{"tags": [], "model": "sample"}"#);
    let before = [&path, &beside].map(|path| std::fs::read(path).expect("a file"));
    world.rejoin(["delete", ID, "--yes"]).code(0);
    assert!(!path.exists() && !beside.exists());
    world.rejoin(["undo", "--yes"]).code(0);
    assert_eq!([&path, &beside].map(|path| std::fs::read(path).expect("a file")), before);
}

#[test]
fn session_may_be_in_use_after_turn() {
    let world = World::new();
    let app = world.dir("app");
    let outcome = json!({"type": "agent_turn_outcome", "turnId": "m-1", "reason": "completed", "resultKind": "text"});
    write(&world.home(), "-w-app", ID, &[start(&app, &json!({})), typed(1, "look"), outcome]);
    let soon = world.with("REJOIN_NOW", "2026-02-01T10:02:00Z");
    let listed = soon.rejoin(["list", "--agent", "droid", "--all", "--json"]).code(0).sessions();
    assert_eq!(listed[0].liveness, Liveness::Maybe, "an open Droid after a turn was never measured");
}
