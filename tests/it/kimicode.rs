//! Kimi Code's sessions.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::contract::{Details, Kind, ResumePlan};
use crate::fixtures::{age_to, age_tree, id, lines, put};
use crate::world::World;

const ID: &str = "session_00000001-aaaa-4aaa-8aaa-000000000001";
/// The time of the first record, in milliseconds.
const START: i64 = 1_769_940_000_000;

/// Returns a record of the log, `minute` minutes after the first.
fn record(minute: i64, kind: &str, key: &str, value: &Value) -> Value {
    json!({"type": kind, "agentId": "main", key: value, "time": START + minute * 60_000})
}

fn typed(minute: i64, text: &str, origin: &str) -> Value {
    let content = json!([{"type": "text", "text": text}]);
    record(
        minute,
        "context.append_message",
        "message",
        &json!({"role": "user", "content": content, "origin": {"kind": origin}}),
    )
}

fn step(minute: i64, event: &Value) -> Value {
    record(minute, "context.append_loop_event", "event", event)
}

fn said(minute: i64, step_id: &str, text: &str) -> Value {
    step(minute, &json!({"type": "content.part", "stepUuid": step_id, "part": {"type": "text", "text": text}}))
}

/// Writes a session, and returns its directory.
fn write(home: &Path, id: &str, dir: &Path, state: &Value, log: &[Value]) -> PathBuf {
    let path = home.join(".kimi-code/sessions/wd_app_0123456789ab").join(id);
    let mut own =
        json!({"id": id, "version": 2, "cwd": dir, "createdAt": START, "updatedAt": START, "archived": false});
    own.as_object_mut().expect("an object").extend(state.as_object().expect("an object").clone());
    put(&path.join("state.json"), own.to_string());
    if !log.is_empty() {
        put(&path.join("agents/main/wire.jsonl"), lines(log));
    }
    age_tree(home);
    path
}

#[test]
fn show_reads_the_files_of_a_session() {
    let world = World::new();
    let app = world.dir("app");
    let log = [
        json!({"type": "metadata", "protocol_version": "1.5", "created_at": START}),
        record(0, "turn.prompt", "input", &json!([{"type": "text", "text": "look"}])),
        typed(0, "look", "user"),
        typed(0, "<system-reminder>a date</system-reminder>", "injection"),
        said(1, "a", "Let me"),
        said(1, "a", " see."),
        step(1, &json!({"type": "tool.call", "stepUuid": "a", "name": "Bash", "args": {"command": "ls"}})),
        step(2, &json!({"type": "tool.result", "toolCallId": "1", "result": {"output": "x\n"}})),
        said(3, "b", "Done."),
        record(4, "prompt.completed", "reason", &json!("completed")),
    ];
    write(&world.home(), ID, &app, &json!({"title": "Looking"}), &log);
    let details: Details = world.rejoin(["show", ID, "--messages", "9", "--json"]).code(0).stderr_eq("").json();
    let session = &details.session;
    assert_eq!((session.kind, session.title.as_deref()), (Kind::Main, Some("Looking")));
    assert_eq!((session.prompts, session.replies), (Some(1), Some(2)));
    assert_eq!((session.launch_path(), session.first_prompt.as_deref()), (app.to_str(), Some("look")));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:04:00Z"));
    let messages = details.messages.expect("messages");
    let texts: Vec<&str> = messages.iter().map(|message| message.text.as_str()).collect();
    let reminder = "<system-reminder>a date</system-reminder>";
    assert_eq!(texts, ["look", reminder, "Let me", " see.", "Bash {\"command\":\"ls\"}", "→ x", "Done."]);
}

#[test]
fn list_distinguishes_killed_archived_and_unused_sessions() {
    let world = World::new();
    let app = world.dir("app");
    let asked = [typed(0, "look", "user")];
    let ids = ["session_a", "session_b", "session_c", "session_d"];
    write(&world.home(), ids[0], &app, &json!({}), &asked);
    write(&world.home(), ids[1], &app, &json!({"archived": true}), &asked);
    write(&world.home(), ids[2], &app, &json!({}), &[]);
    let torn = write(&world.home(), ids[3], &app, &json!({}), &asked).join("agents/main/wire.jsonl");
    put(&torn, [lines(&asked), "{\"type\":\"cont".to_owned()].concat());
    // Files of the agent's index are not sessions.
    put(&world.home().join(".kimi-code/sessions/.index-dirty/session_a.1"), "");
    let mut listed = world.rejoin(["list", "--all", "--json"]).code(0).stderr_eq("").sessions();
    listed.sort_by(|a, b| a.id.cmp(&b.id));
    let kinds: Vec<Kind> = listed.iter().map(|session| session.kind).collect();
    assert_eq!(kinds, [Kind::Main, Kind::Archived, Kind::Empty, Kind::Main]);
    assert_eq!(listed[3].health, ["torn-transcript"]);
}

#[test]
fn resume_needs_directory_and_warns_of_older_program() {
    let world = World::new();
    let (app, other) = (world.dir("app"), world.dir("other"));
    let path = write(&world.home(), ID, &app, &json!({}), &[typed(0, "look", "user")]);
    world.install("kimi", &format!("echo '{{}}' >> '{}'", path.join("agents/main/wire.jsonl").display()));
    let plan: ResumePlan = world.rejoin(["resume", ID, "--json"]).plan();
    assert_eq!(
        (plan.resume.argv, plan.resume.dir.as_deref()),
        (vec!["kimi".into(), "--session".into(), ID.into()], app.to_str())
    );
    let answer = world.rejoin(["resume", ID, "--prompt", "go on"]).code(0);
    assert!(!answer.stderr().contains("Kimi CLI"), "{}", answer.stderr());
    let launch = world.launched().expect("a launch");
    assert_eq!(
        (launch.argv, launch.cwd),
        (vec!["kimi".into(), "--session".into(), ID.into(), "-p".into(), "go on".into()], app)
    );
    let refused = world.from(&other).rejoin(["resume", ID, "--in", ".", "--prompt", "x"]).code(7).stderr();
    assert!(refused.contains("refuses anywhere else"), "{refused}");
    std::fs::create_dir(world.home().join(".kimi")).expect("a directory");
    let warned = world.rejoin(["resume", ID, "--prompt", "go on"]).code(0).stderr();
    assert!(warned.contains("Kimi CLI, whose sessions are here too"), "{warned}");
    world.install("kimi", "");
    let silent = world.rejoin(["resume", ID, "--prompt", "go on"]).code(1).stderr();
    assert!(silent.contains("added nothing to session"), "{silent}");
}

#[test]
fn resume_distinguishes_program_from_kimi_cli() {
    let world = World::new();
    let app = world.dir("app");
    write(&world.home(), ID, &app, &json!({}), &[typed(0, "look", "user")]);
    std::fs::create_dir(world.home().join(".kimi")).expect("a directory");
    world.install_npm("kimi", "@moonshot-ai/kimi-code", "2.1.0", "");
    let answer = world.rejoin(["resume", ID, "--prompt", "go on"]).code(0).stderr();
    assert!(!answer.contains("Kimi CLI"), "{answer}");
    world.install_python("kimi", "kimi_cli", "1.45.0", "");
    let refused = world.rejoin(["resume", ID, "--prompt", "go on"]).code(7).stderr();
    assert!(refused.contains("`kimi` is Kimi CLI 1.45.0, which does not know it"), "{refused}");
}

#[test]
fn list_shows_prompt_of_skill() {
    let world = World::new();
    let origin =
        json!({"kind": "skill_activation", "trigger": "user-slash", "skillName": "plan", "skillArgs": "the lock"});
    let content = json!([{"type": "text", "text": "<skill name=\"plan\">Plan it.</skill>"}]);
    let message = json!({"role": "user", "content": content, "origin": origin});
    write(
        &world.home(),
        ID,
        Path::new("/usr/bin"),
        &json!({}),
        &[record(0, "context.append_message", "message", &message)],
    );
    let session = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).sessions().remove(0);
    assert_eq!(
        (session.kind, session.first_prompt.as_deref(), session.prompts),
        (Kind::Main, Some("/plan the lock"), Some(1))
    );
}

/// Writes a session as `kimi migrate` does.
fn import(world: &World, old: &str, dir: &Path) -> String {
    let id = format!("ses_{old}");
    let custom = json!({"imported_from_kimi_cli": true, "kimi_cli_session_id": old, "imported_at": "2026-02-20T10:00:00.000Z",
        "kimi_cli_source_path": format!("/home/ana/.kimi/sessions/0b66e4fcb1074b0cf2a0e42c410f3efb/{old}")});
    let message = |role: &str, text: &str, calls: Value| {
        let content = json!([{"type": "text", "text": text}]);
        json!({"type": "context.append_message", "message": {"role": role, "content": content, "toolCalls": calls}})
    };
    let call = json!([{"type": "function", "id": "c", "function": {"name": "Shell", "arguments": "{}"}}]);
    let log = [
        json!({"type": "metadata", "protocol_version": "1.0", "created_at": START}),
        record(0, "turn.prompt", "input", &json!([{"type": "text", "text": "look"}])),
        message("user", "look", json!([])),
        message("user", "<system>put in</system>", json!([])),
        message("assistant", "I will.", call),
        message("tool", "a b", json!([])),
        message("assistant", "Done.", json!([])),
        message("assistant", "Done.", json!([])),
        record(0, "turn.ended", "reason", &json!("completed")),
    ];
    write(&world.home(), &id, dir, &json!({"title": "Looking", "custom": custom}), &log);
    id
}

#[test]
fn imported_session_is_a_separate_session() {
    let world = World::new();
    world.install_npm("kimi", "@moonshot-ai/kimi-code", "2.1.0", "");
    let app = world.dir("app");
    for old in ["00000001-aaaa-4aaa-8aaa-000000000001", "nosuch", "two words"] {
        let id = import(&world, old, &app);
        let name = format!("kimicode:{id}");
        let details: Details = world.rejoin(["show", &name, "--messages", "9", "--json"]).code(0).stderr_eq("").json();
        let session = &details.session;
        assert_eq!((session.kind, session.title.as_deref(), session.id.as_str()), (Kind::Main, Some("Looking"), &*id));
        assert_eq!((session.prompts, session.replies, session.parent_id.as_deref()), (Some(1), Some(3), None));
        assert_eq!((session.launch_path(), session.first_prompt.as_deref()), (app.to_str(), Some("look")));
        // The times are those of the old file.
        let old_time = Some("2026-02-01T10:00:00Z");
        assert_eq!((session.created_at.as_deref(), session.active_at.as_deref()), (old_time, old_time));
        let texts: Vec<String> = details.messages.expect("messages").into_iter().map(|message| message.text).collect();
        let injected = "<system>put in</system>";
        assert_eq!(texts, ["look", injected, "I will.", "Shell {}", "→ a b", "Done.", "Done."]);
        let shown = world.rejoin(["show", &name]).code(0).stdout();
        assert!(shown.contains(&format!("imported from Kimi CLI's session {old} at 2026-02-20T10:00:00Z")), "{shown}");
        world.rejoin(["resume", &name, "--prompt", "go on"]).code(0);
        let launch = world.launched().expect("a launch");
        assert_eq!(
            (launch.argv, launch.cwd),
            (["kimi", "--session", &id, "-p", "go on"].map(str::to_owned).to_vec(), app.clone())
        );
    }
    let found = world.rejoin(["search", "I will"]).code(0).stdout();
    assert!(found.contains("ses_nosuch"), "{found}");
}

#[test]
fn move_changes_only_directory_in_state_file() {
    let world = World::new();
    let app = world.dir("app");
    let path =
        write(&world.home(), ID, &app, &json!({"custom": {"a": 1.10}}), &[typed(0, "look", "user")]).join("state.json");
    let before = std::fs::read_to_string(&path).expect("a state");
    let new = world.root().join("new app");
    std::fs::rename(&app, &new).expect("a move");
    world.rejoin(["move".as_ref(), app.as_os_str(), new.as_os_str(), "--yes".as_ref()]).code(0);
    let after = std::fs::read_to_string(&path).expect("a state");
    assert_eq!(after, before.replace(app.to_str().expect("a path"), new.to_str().expect("a path")));
    let plan: ResumePlan = world.rejoin(["resume", ID, "--json"]).plan();
    assert_eq!(plan.resume.dir.as_deref(), new.to_str());
}

#[test]
fn resume_finds_directory_of_versions_before_2() {
    let world = World::new();
    let app = world.dir("app");
    let none = json!({"cwd": null});
    let states = [none.clone(), json!({"cwd": "", "workDir": app}), json!({"cwd": null, "custom": {"cwd": app}})];
    let ids = [1, 2, 3, 4].map(|n| format!("session_{}", id(n)));
    for (id, state) in ids.iter().zip([&none].into_iter().chain(&states)) {
        write(&world.home(), id, &app, state, &[typed(0, "look", "user")]);
    }
    let listed = json!({"sessionId": ids[0], "sessionDir": "x", "workDir": app}).to_string() + "\n";
    put(&world.home().join(".kimi-code/session_index.jsonl"), listed);
    let dir_of = |id: &str| world.rejoin(["resume", id, "--json"]).plan().resume.dir;
    let dirs = ids.each_ref().map(|id| dir_of(id));
    assert_eq!(dirs.each_ref().map(Option::as_deref), [app.to_str(), None, app.to_str(), app.to_str()]);

    let new = world.root().join("new app");
    std::fs::rename(&app, &new).expect("a move");
    world.rejoin(["move".as_ref(), app.as_os_str(), new.as_os_str(), "--yes".as_ref()]);
    for id in &ids[2..] {
        assert_eq!(dir_of(id).as_deref(), new.to_str());
    }
}

#[test]
fn show_reads_state_and_times_of_early_versions() {
    let world = World::new();
    let app = world.dir("app");
    let times =
        json!({"createdAt": "2026-01-02T09:00:00.000Z", "updatedAt": "2026-01-02T09:10:00.000Z", "title": "Quay"});
    let mut log = typed(0, "look", "user");
    log.as_object_mut().expect("an object").remove("time");
    let path = write(&world.home(), ID, &app, &times, &[log]);
    std::fs::create_dir(path.join("session-meta")).expect("a directory");
    std::fs::rename(path.join("state.json"), path.join("session-meta/state.json")).expect("a move");
    age_to(&path.join("agents/main/wire.jsonl"), "2026-02-01T10:00:00Z".parse().expect("a time"));
    let session = world.rejoin(["show", ID, "--json"]).code(0).json::<Details>().session;
    assert_eq!((session.title.as_deref(), session.launch_path()), (Some("Quay"), app.to_str()));
    assert_eq!(session.created_at.as_deref(), Some("2026-01-02T09:00:00Z"));
    assert_eq!(session.active_at.as_deref(), Some("2026-01-02T09:10:00Z"));
    assert_eq!(session.health, [""; 0]);
    world.rejoin(["resume", ID, "--print"]).code(0);
}

#[test]
fn resume_refuses_session_without_valid_state() {
    let world = World::new();
    let app = world.dir("app");
    let state = write(&world.home(), ID, &app, &json!({}), &[typed(0, "look", "user")]).join("state.json");
    for contents in [Some(""), Some(r#"{"cwd":"/sr"#), None] {
        match contents {
            Some(contents) => put(&state, contents),
            None => std::fs::remove_file(&state).expect("a file"),
        }
        let details: Details = world.rejoin(["show", ID, "--json"]).code(0).json();
        let health = details.session.health;
        assert!(health.contains(&"cannot-open".to_owned()), "{contents:?}: {health:?}");
        assert_eq!(details.session.launch_dir.map(|dir| dir.path), None, "{contents:?}");
        for args in [&["resume", ID][..], &["resume", ID, "--in", "."]] {
            let refused = world.from(&app).rejoin(args).code(7).stderr();
            assert!(refused.contains("its state.json"), "{args:?}: {refused}");
        }
    }
}

#[test]
fn resume_refuses_log_that_agent_would_cut() {
    let world = World::new();
    world.install("kimi", "");
    let log = |second: &str| {
        [typed(0, "look", "user"), said(1, "s1", "Looked."), typed(2, second, "user"), said(3, "s2", "Done.")]
    };
    let dir = world.dir("app");
    let path =
        write(&world.home(), ID, &dir, &json!({"title": "Look"}), &log("continue")).join("agents/main/wire.jsonl");
    let whole = std::fs::read_to_string(&path).expect("a log");
    let second = whole.lines().nth(1).expect("a line");
    let damaged = whole.replacen(second, &format!("{second}\n{}", &second[..40]), 1);
    put(&path, &damaged);
    age_tree(&world.home());
    let refused = world.rejoin(["resume", ID, "--print"]).code(7).stderr();
    let effect = "line 3 of its transcript is not a record, and kimicode then drops that line and everything after it";
    assert!(refused.contains(effect), "{refused}");
    assert!(refused.contains("rejoin doctor --fix --check bad-lines"), "{refused}");
    world.rejoin(["doctor", "--fix", "--check", "bad-lines", "--yes"]).code(0);
    assert_eq!(std::fs::read_to_string(&path).expect("a log"), whole);
    world.rejoin(["resume", ID, "--print"]).code(0);
    world.rejoin(["undo", "--yes"]).code(0);
    assert_eq!(std::fs::read_to_string(&path).expect("a log"), damaged);
    // Kimi Code would write the next record on this line.
    put(&path, whole.trim_end());
    age_tree(&world.home());
    let refused = world.rejoin(["resume", ID, "--print"]).code(7).stderr();
    assert!(refused.contains("the last record of its transcript has no newline"), "{refused}");
    world.rejoin(["doctor", "--fix", "--check", "torn-transcript", "--yes"]).code(0);
    assert_eq!(std::fs::read_to_string(&path).expect("a log"), whole);
    world.rejoin(["resume", ID, "--print"]).code(0);
}
