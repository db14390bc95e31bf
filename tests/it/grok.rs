//! Grok Build's sessions.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::contract::{Details, DoctorReport, Kind, Liveness, ResumePlan};
use crate::fixtures::{age_tree, lines, put};
use crate::world::World;

const ID: &str = "00000001-aaaa-4aaa-8aaa-000000000001";
const START: u64 = 1_769_940_000;

/// Writes a thread of three turns that was rewound to its first one and continued in a segment. Returns its rollouts.
fn update(minute: u64, update: &Value) -> Value {
    json!({"timestamp": START + 60 * minute, "method": "session/update", "params": {"sessionId": ID, "update": update}})
}

fn said(minute: u64, kind: &str, text: &str, meta: &Value) -> Value {
    update(minute, &json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}, "_meta": meta}))
}

fn prompt(minute: u64, index: u64, text: &str) -> Value {
    said(minute, "user_message_chunk", text, &json!({"modelId": "sample", "promptIndex": index}))
}

fn reply(minute: u64, text: &str) -> Value {
    said(minute, "agent_message_chunk", text, &json!({}))
}

/// Writes a session, and returns its folder.
fn write(home: &Path, dir: &str, id: &str, summary: &Value, updates: &[Value]) -> PathBuf {
    let folder = home.join(".grok/sessions").join(dir.replace('/', "%2F")).join(id);
    let mut whole = json!({"info": {"id": id, "cwd": dir}, "session_summary": "", "created_at": "2026-02-01T10:00:00Z",
        "updated_at": "2026-02-01T10:00:00Z", "num_messages": 1, "current_model_id": "sample"});
    whole.as_object_mut().expect("an object").extend(summary.as_object().expect("an object").clone());
    put(&folder.join("summary.json"), whole.to_string());
    put(&folder.join("updates.jsonl"), lines(updates));
    age_tree(home);
    folder
}

#[test]
fn list_combines_log_and_summary() {
    let world = World::new();
    let updates = [
        prompt(0, 0, "count the files"),
        update(
            1,
            &json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "shell", "rawInput": {"command": "ls"}}),
        ),
        update(1, &json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "in_progress"})),
        update(
            1,
            &json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed",
            "content": [{"type": "content", "content": {"type": "text", "text": "a b"}}]}),
        ),
        reply(2, "Two."),
        said(3, "user_message_chunk", "a task has ended", &json!({"promptIndex": 1, "hideFromScrollback": true})),
        reply(4, "Good."),
    ];
    let summary =
        json!({"generated_title": "Counting", "head_branch": "main", "last_active_at": "2026-02-01T10:04:00Z"});
    write(&world.home(), "/usr/bin", ID, &summary, &updates);
    let details: Details = world.rejoin(["show", ID, "--messages", "9", "--json"]).code(0).stderr_eq("").json();
    let session = &details.session;
    assert_eq!((session.kind, session.title.as_deref()), (Kind::Main, Some("Counting")));
    assert_eq!((session.prompts, session.replies), (Some(1), Some(2)));
    assert_eq!((session.launch_path(), session.active_at.as_deref()), (Some("/usr/bin"), Some("2026-02-01T10:04:00Z")));
    let shown = world.rejoin(["show", ID, "--transcript"]).code(0).stdout();
    assert!(shown.contains(r#"shell {"command":"ls"}"#) && shown.contains("→ a b"), "{shown}");
    world.install("grok", "");
    let plan: ResumePlan = world.rejoin(["resume", ID, "--prompt", "-x", "--json"]).plan();
    assert_eq!(plan.resume.argv, ["grok", "--resume", ID, "--single=-x"]);
}

#[test]
fn show_omits_rewound_turns() {
    let world = World::new();
    let marker =
        json!({"sessionUpdate": "rewind_marker", "target_prompt_index": 1, "created_at": "2026-02-01T10:04:00Z"});
    let updates = [
        prompt(0, 0, "first"),
        reply(1, "one"),
        prompt(2, 1, "a dead end"),
        reply(3, "nothing"),
        json!({"timestamp": START + 240, "method": "_x.ai/session/update", "params": {"sessionId": ID, "update": marker}}),
        prompt(5, 1, "second"),
        reply(6, "two"),
    ];
    write(&world.home(), "/usr/bin", ID, &json!({}), &updates);
    let shown = world.rejoin(["show", ID, "--transcript"]).code(0).stdout();
    assert!(shown.contains("second") && shown.contains("first") && !shown.contains("a dead end"), "{shown}");
    let details: Details = world.rejoin(["show", ID, "--json"]).code(0).json();
    assert_eq!((details.session.prompts, details.session.replies), (Some(2), Some(2)));
}

#[test]
fn list_distinguishes_subagents_forks_and_summaryless_sessions() {
    let world = World::new();
    let home = world.home();
    let talk = [prompt(0, 0, "a"), reply(1, "b")];
    let id = |n: u32| format!("0000000{n}-aaaa-4aaa-8aaa-000000000001");
    write(&home, "/usr/bin", &id(1), &json!({}), &talk);
    write(&home, "/usr/bin", &id(2), &json!({"session_kind": "subagent", "parent_session_id": id(1)}), &talk);
    write(&home, "/usr/bin", &id(3), &json!({"session_kind": "fork", "parent_session_id": id(1)}), &talk);
    let bare = write(&home, "/usr/bin", &id(4), &json!({}), &talk);
    std::fs::remove_file(bare.join("summary.json")).expect("a file");
    put(&home.join(".grok/sessions/%2Fusr%2Fbin").join(id(5)).join("images/a.png"), "x");
    let sessions = world.rejoin(["list", "--all", "--json"]).code(0).sessions();
    let kind = |n| sessions.iter().find(|session| session.id == id(n)).map(|session| session.kind);
    assert_eq!([1, 2, 3, 5].map(kind), [Some(Kind::Main), Some(Kind::Subagent), Some(Kind::Fork), None]);
    assert!(
        world.rejoin(["resume", &id(4), "--in", "/usr/bin", "--print"]).code(7).stderr().contains("no summary.json")
    );
}

#[test]
fn registered_process_means_maybe_in_use() {
    let world = World::new();
    write(&world.home(), "/usr/bin", ID, &json!({}), &[prompt(0, 0, "a"), reply(1, "b")]);
    let of = || world.rejoin(["list", "--json"]).code(0).sessions().remove(0).liveness;
    assert!(matches!(of(), Liveness::Idle), "{:?}", of());
    let active =
        json!([{"session_id": ID, "pid": std::process::id(), "cwd": "/usr/bin", "opened_at": "2026-02-01T10:00:00Z"}]);
    put(&world.home().join(".grok/active_sessions.json"), active.to_string());
    assert!(!matches!(of(), Liveness::Idle));
}

#[test]
fn sessions_expire_only_by_the_config_file() {
    let world = World::new();
    write(
        &world.home(),
        "/usr/bin",
        "01a226a4-9f73-7613-bd25-f806128d80e1",
        &json!({}),
        &[prompt(0, 0, "count"), reply(1, "Two.")],
    );
    for (text, expected) in
        [("", 0), ("cleanup_ttl_days = 0", 0), ("cleanup_ttl_days = 30", 1), ("cleanup_ttl_days = 90", 0), ("=", 0)]
    {
        put(&world.home().join(".grok/config.toml"), format!("[storage]\n{text}\n"));
        let report: DoctorReport = world.rejoin(["doctor", "--json"]).code_is_one_of(&[0, 4]).json();
        let due: Vec<_> = report.findings.iter().filter(|found| found.code == "expires-soon").collect();
        assert_eq!(due.len(), expected, "{text}: {due:?}");
        assert!(due.iter().all(|found| found.evidence.contains("storage.cleanup_ttl_days")), "{due:?}");
    }
    put(&world.home().join(".grok/config.toml"), "");
    for (version, expected) in [("1.0.24", 1), ("1.0.41", 0), ("next", 0)] {
        let program = world.install(&format!("grok-{version}"), "");
        let link = program.with_file_name("grok");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&program, &link).expect("a link");
        let report: DoctorReport = world.rejoin(["doctor", "--json"]).code_is_one_of(&[0, 4]).json();
        assert_eq!(report.findings.iter().filter(|found| found.code == "expires-soon").count(), expected, "{version}");
    }
}

#[test]
fn session_with_only_model_history_is_not_empty() {
    let world = World::new();
    let folder = write(&world.home(), "/usr/bin", ID, &json!({}), &[]);
    let of = || world.rejoin(["list", "--all", "--json"]).code(0).sessions().remove(0).health;
    put(&folder.join("chat_history.jsonl"), lines(&[json!({"type": "system", "content": "help"})]));
    assert!(of().contains(&"empty-session".to_owned()), "{:?}", of());
    put(
        &folder.join("chat_history.jsonl"),
        lines(&[json!({"type": "user", "content": [{"type": "text", "text": "hi"}]})]),
    );
    assert!(of().contains(&"unknown-format".to_owned()), "{:?}", of());
}
