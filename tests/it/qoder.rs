//! Qoder CLI's sessions.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::contract::{Details, DoctorReport, Kind, ResumePlan};
use crate::fixtures::{age_tree, claude_slug, lines, put};
use crate::world::World;

const ID: &str = "00000001-aaaa-4aaa-8aaa-000000000001";

/// Returns a message at this minute after ten o'clock.
fn message(dir: &Path, minute: u32, kind: &str, content: &Value) -> Value {
    json!({
        "type": kind, "message": {"id": format!("m-{minute}"), "role": kind, "model": "sample", "content": content},
        "uuid": format!("{minute:08x}-bbbb-4aaa-8aaa-000000000001"), "parentUuid": null, "isSidechain": false, "cwd": dir,
        "sessionId": ID, "userType": "external", "entrypoint": "cli", "version": "1.1.52",
        "timestamp": format!("2026-02-01T10:{minute:02}:00.000Z"),
    })
}

fn said(dir: &Path, minute: u32, kind: &str, text: &str) -> Value {
    message(dir, minute, kind, &json!([{"type": "text", "text": text}]))
}

fn path_of(root: &Path, dir: &Path) -> PathBuf {
    root.join("projects").join(claude_slug(dir)).join(format!("{ID}.jsonl"))
}

#[test]
fn show_reads_titles_tools_and_subagents() {
    let world = World::new();
    let app = world.dir("app");
    let records = [
        said(&app, 0, "user", "count the files"),
        json!({"type": "runtime-config", "sessionId": ID, "timestamp": 1}),
        message(
            &app,
            1,
            "assistant",
            &json!([{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]),
        ),
        message(&app, 2, "user", &json!([{"type": "tool_result", "tool_use_id": "t", "content": "a b"}])),
        said(&app, 3, "assistant", "Two."),
        json!({"type": "custom-title", "sessionId": ID, "customTitle": "Counting"}),
    ];
    let path = path_of(&world.home().join(".qoder"), &app);
    put(&path, lines(&records));
    let subagent = path.with_extension("").join("subagents/agent-abc.jsonl");
    put(&subagent, lines(&[said(&app, 2, "user", "a task"), said(&app, 2, "assistant", "done")]));
    age_tree(&world.home());

    let details: Details = world.rejoin(["show", ID, "--messages", "9", "--json"]).code(0).stderr_eq("").json();
    let session = &details.session;
    assert_eq!((session.kind, session.title.as_deref()), (Kind::Main, Some("Counting")));
    assert_eq!((session.prompts, session.replies), (Some(1), Some(2)));
    assert_eq!(session.launch_path(), app.to_str());
    let shown = world.rejoin(["show", ID, "--transcript"]).code(0).stdout();
    assert!(shown.contains("Bash") && shown.contains("Two."), "{shown}");
    let all = world.rejoin(["list", "--all", "--json"]).code(0).sessions();
    assert!(all.iter().any(|session| session.id == "agent-abc" && session.kind == Kind::Subagent));

    world.install("qodercli", "");
    let plan: ResumePlan = world.rejoin(["resume", ID, "--prompt", "-x", "--json"]).plan();
    assert_eq!(plan.resume.argv, ["qodercli", "-p", "--resume", ID, "--", "-x"]);
    world.rejoin(["delete", ID, "--yes"]).code(0);
    assert!(!path.exists() && !subagent.exists());
}

#[test]
fn environment_variable_selects_store_for_resume() {
    let world = World::new();
    let (app, root) = (world.dir("app"), world.dir("elsewhere"));
    put(&path_of(&root, &app), lines(&[said(&app, 0, "user", "a"), said(&app, 1, "assistant", "b")]));
    assert_eq!(world.rejoin(["list", "--json"]).code(0).sessions().len(), 0);
    let printed = world.from(&app).with("QODER_CONFIG_DIR", &root).rejoin(["resume", ID, "--print"]).code(0).stdout();
    assert!(printed.contains("QODER_CONFIG_DIR="), "{printed}");
}

#[test]
fn session_with_unknown_records_is_not_empty() {
    let world = World::new();
    let app = world.dir("app");
    let path = path_of(&world.home().join(".qoder"), &app);
    for (kind, expected) in [("token-stats", "empty-session"), ("turn", "unknown-format")] {
        put(&path, lines(&[json!({"type": kind, "sessionId": ID, "cwd": app, "text": "hello"})]));
        age_tree(&world.home());
        let sessions = world.rejoin(["list", "--all", "--json"]).code(0).sessions();
        assert!(sessions[0].health.iter().any(|health| health == expected), "{kind}: {:?}", sessions[0].health);
    }
}

#[test]
fn doctor_reports_expiry_only_if_enabled() {
    let world = World::new();
    let app = world.dir("app");
    let path = path_of(&world.home().join(".qoder"), &app);
    put(&path, lines(&[said(&app, 0, "user", "a"), said(&app, 1, "assistant", "b")]));
    age_tree(&world.home());
    let settings = world.home().join(".qoder/settings.json");
    for (enabled, expected) in [(false, 0), (true, 1)] {
        put(&settings, json!({"general": {"sessionRetention": {"enabled": enabled, "maxAge": "4d"}}}).to_string());
        let report: DoctorReport = world.rejoin(["doctor", "--json"]).code_is_one_of(&[0, 4]).json();
        let due = report.findings.iter().filter(|found| found.code.contains("overdue") || found.code.contains("expir"));
        assert_eq!(due.count(), expected, "{enabled}: {:?}", report.findings);
    }
}
