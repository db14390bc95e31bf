//! Letta Code's conversations: numbered in each home, with invented times, and directories that are only in a text.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::archive::{APP, archive_and_restore};
use crate::contract::{Details, Kind, ResumePlan, Session, SessionList};
use crate::fixtures::{age_tree, lines, put};
use crate::undo::delete_and_undo;
use crate::world::World;

const AGENT: &str = "agent-local-1";

fn backend(world: &World) -> PathBuf {
    world.home().join(".letta/lc-local-backend")
}

fn folder(world: &World, name: &str) -> PathBuf {
    backend(world).join("conversations").join(URL_SAFE_NO_PAD.encode(name))
}

fn reminder(dir: &str, branch: Option<&str>) -> String {
    let repository = branch.map_or_else(|| "No".to_owned(), |branch| format!("Yes (branch: {branch})"));
    format!(
        "<system-reminder>\n- **Current working directory**: {dir}\n- **Git repository**: {repository}\n</system-reminder>"
    )
}

fn typed(texts: &[&str]) -> Value {
    let parts: Vec<Value> = texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
    json!({"role": "user", "timestamp": 1_767_225_603_000_u64, "content": parts})
}

pub(crate) fn reply(text: &str) -> Value {
    json!({"role": "assistant", "content": [{"type": "text", "text": text}], "model": "model-l", "stopReason": "stop"})
}

pub(crate) fn add(world: &World, n: u32, more: &Value, records: &[Value]) -> PathBuf {
    let id = format!("local-conv-{n}");
    let folder = folder(world, &format!("conversation:{id}"));
    let mut conversation = json!({"id": id, "agent_id": AGENT, "archived": false, "created_at": "2026-01-01T00:00:01.000Z",
        "updated_at": "2026-01-01T00:00:09.000Z", "summary": null});
    conversation.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    put(&folder.join("conversation.json"), conversation.to_string());
    put(
        &folder.join("manifest.json"),
        json!({"schema_version": 1, "created_at": "2026-02-01T09:00:00.000Z"}).to_string(),
    );
    put(&folder.join("messages.jsonl"), lines(records));
    put(&folder.join("system-prompt.json"), "{}");
    put(&agent_file(world), json!({"id": AGENT}).to_string());
    folder
}

fn agent_file(world: &World) -> PathBuf {
    backend(world).join("agents").join(format!("{}.json", URL_SAFE_NO_PAD.encode(AGENT)))
}

fn turn(world: &World, n: u32) -> PathBuf {
    add(world, n, &json!({}), &[typed(&[&reminder(APP, None), "look"]), reply("ok")])
}

fn listed(world: &World) -> Vec<Session> {
    world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions()
}

#[test]
fn list_reads_prompts_and_start_directories() {
    let world = World::new();
    let (first, last) = (world.dir("first").display().to_string(), world.dir("last").display().to_string());
    let call = json!({"role": "assistant", "content": [{"type": "toolCall", "id": "c", "name": "Bash", "arguments": {"command": "ls"}}]});
    let result = json!({"role": "toolResult", "toolCallId": "c", "content": [{"type": "text", "text": "a b"}]});
    let records = [
        typed(&[&reminder(&first, Some("main")), "<system-reminder>x", "fix it"]),
        call,
        result,
        reply("Done."),
        typed(&[&reminder(&last, Some("next")), "more"]),
        reply("Yes."),
        typed(&["and more"]),
    ];
    add(&world, 1, &json!({"summary": "Parser"}), &records);
    let details: Details = world.rejoin(["show", "local-conv-1", "--transcript", "--json"]).code(0).json();
    let session = details.session;
    assert_eq!((session.title.as_deref(), session.first_prompt.as_deref()), (Some("Parser"), Some("fix it")));
    assert_eq!((session.prompts, session.replies), (Some(3), Some(3)));
    assert_eq!((session.start_dir.as_deref(), session.last_dir.as_deref()), (Some(&*first), Some(&*last)));
    assert_eq!((session.launch_path(), session.git_branch.as_deref()), (Some(&*last), Some("next")));
    let texts: Vec<String> = details.messages.expect("messages").into_iter().map(|message| message.text).collect();
    assert_eq!(texts, ["fix it", r#"Bash {"command":"ls"}"#, "→ a b", "Done.", "more", "Yes.", "and more"]);
}

#[test]
fn list_uses_file_times() {
    let world = World::new();
    turn(&world, 1);
    let session = listed(&world).remove(0);
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T09:00:00Z"));
    assert_eq!(
        (session.active_at.as_deref(), session.active_source.as_deref()),
        (Some("2026-02-01T10:00:00Z"), Some("mtime"))
    );
}

#[test]
fn list_finds_last_start_before_long_conversation() {
    let world = World::new();
    let mut records = vec![typed(&[&reminder("/home/ana/first", None), "a"]), typed(&[&reminder(APP, None), "b"])];
    records.extend((0..20).map(|_| reply(&"x".repeat(16 * 1024))));
    add(&world, 1, &json!({}), &records);
    let session = listed(&world).remove(0);
    assert_eq!((session.start_dir.as_deref(), session.launch_path()), (Some("/home/ana/first"), Some(APP)));
}

#[test]
fn resume_passes_id_if_agent_exists() {
    let world = World::new();
    world.install("letta", "");
    turn(&world, 1);
    let plan: ResumePlan = world.rejoin(["resume", "local-conv-1", "--json"]).plan();
    assert_eq!(plan.resume.argv, ["letta", "--backend", "local", "--conversation", "local-conv-1"]);
    world.rejoin(["resume", "local-conv-1", "--prompt", "go on"]).code(0);
    let launch = world.launched().expect("a launch");
    assert_eq!((launch.argv[5..].to_vec(), launch.cwd), (vec!["-p".to_owned(), "go on".to_owned()], APP.into()));
    std::fs::remove_file(agent_file(&world)).expect("a removed file");
    let refused = world.rejoin(["resume", "local-conv-1"]).code(7);
    assert!(refused.stderr().contains("the agent that it belongs to is gone"), "{}", refused.stderr());
}

#[test]
fn default_conversation_of_agent_is_a_session() {
    let world = World::new();
    world.install("letta", "");
    turn(&world, 1);
    let main = folder(&world, &format!("default:{AGENT}"));
    let copy = |from: &str, to: &PathBuf| std::fs::copy(folder(&world, "conversation:local-conv-1").join(from), to);
    std::fs::create_dir_all(&main).expect("a directory");
    put(&main.join("messages.jsonl"), "\n");
    for name in ["conversation.json", "manifest.json"] {
        copy(name, &main.join(name)).expect("a file");
    }
    // The conversation that an agent gets at its creation is not used yet.
    assert_eq!(listed(&world).len(), 1);
    put(&main.join("messages.jsonl"), lines(&[typed(&[&reminder(APP, None), "paint the quay"]), reply("Painted.")]));
    age_tree(&world.home());
    let plan: ResumePlan = world.rejoin(["resume", AGENT, "--json"]).plan();
    assert_eq!(plan.resume.argv, ["letta", "--backend", "local", "--agent", AGENT, "--conversation", "default"]);
    assert!(world.rejoin(["search", "quay"]).code(0).stdout().contains("paint the quay"));
    delete_and_undo(&world, AGENT);
    put(&agent_file(&world), json!({"id": AGENT, "tags": ["origin:letta-code", "role:subagent"]}).to_string());
    let kinds: Vec<Kind> = listed(&world).iter().map(|session| session.kind).collect();
    assert!(kinds.contains(&Kind::Main) && kinds.contains(&Kind::Subagent), "{kinds:?}");
}

#[test]
fn same_ids_of_two_backends_are_not_copies() {
    let world = World::new();
    turn(&world, 1);
    let other = world.dir("other");
    let list: SessionList =
        world.with("LETTA_LOCAL_BACKEND_DIR", &other).rejoin(["list", "--all", "--json"]).code(0).json();
    assert_eq!(list.sessions.len(), 0);
    std::fs::rename(backend(&world).join("conversations"), other.join("conversations")).expect("a move");
    turn(&world, 1);
    let list: SessionList =
        world.with("LETTA_LOCAL_BACKEND_DIR", &other).rejoin(["list", "--all", "--json"]).code(0).json();
    assert_eq!((list.sessions.len(), list.sessions[0].copies.len()), (1, 1));
    let resume = list.sessions[0].resume.as_ref().expect("a command");
    assert_eq!(resume.set.get("LETTA_LOCAL_BACKEND_DIR").map(String::as_str), other.to_str());
}

#[test]
fn list_shows_archived_and_omits_empty_default() {
    let world = World::new();
    add(&world, 1, &json!({"archived": true}), &[typed(&[&reminder(APP, None), "look"]), reply("ok")]);
    put(&folder(&world, "default:agent-local-1").join("messages.jsonl"), "\n");
    let sessions = listed(&world);
    assert_eq!((sessions.len(), sessions[0].kind), (1, Kind::Archived));
}

/// Wraps messages in Pi's entries, as schema 2 does; the first is written at ten, each next one a minute later.
fn entries(n: u32, header_dir: &str, messages: &[Value]) -> Vec<Value> {
    let id = format!("local-conv-{n}");
    let header =
        json!({"type": "session", "version": 3, "id": id, "timestamp": "2026-02-01T10:00:00.000Z", "cwd": header_dir});
    let entry = |(at, message): (usize, &Value)| {
        let parent = at.checked_sub(1).map(|at| format!("e{at}"));
        json!({"type": "message", "id": format!("e{at}"), "parentId": parent, "timestamp": format!("2026-02-01T10:0{at}:00.000Z"),
            "message": message})
    };
    std::iter::once(header).chain(messages.iter().enumerate().map(entry)).collect()
}

/// Writes a conversation of schema 2, with additional fields in its manifest.
fn add_entries(world: &World, n: u32, manifest: &Value, records: &[Value]) -> PathBuf {
    let folder = add(world, n, &json!({}), records);
    let mut own = json!({"schema_version": 2, "message_format": "pi-session-entry-jsonl", "provider_stack": "pi-ai",
        "created_at": "2026-02-01T09:59:00.000Z"});
    own.as_object_mut().expect("an object").extend(manifest.as_object().expect("an object").clone());
    put(&folder.join("manifest.json"), own.to_string());
    folder
}

/// Returns the manifest after `letta local-backend migrate-transcripts`.
fn migrated() -> Value {
    let at = "2026-02-20T09:00:00.000Z";
    json!({"created_at": at, "migrated_at": at, "migrated_from": "versioned-pi-ai-message-jsonl"})
}

#[test]
fn reader_treats_pi_entries_like_messages() {
    let world = World::new();
    let last = world.dir("last").display().to_string();
    let call = json!({"role": "assistant", "content": [{"type": "toolCall", "id": "c", "name": "Bash", "arguments": {"command": "ls"}}]});
    let result = json!({"role": "toolResult", "toolCallId": "c", "content": [{"type": "text", "text": "a b"}]});
    let messages = [
        typed(&[&reminder("/home/ana/first", Some("main")), "fix it"]),
        call,
        result,
        reply("Done."),
        typed(&[&reminder(&last, Some("next")), "more"]),
        reply("Yes."),
    ];
    let mut records = entries(1, "/home/ana/header", &messages);
    let summary = json!({"role": "user", "content": [{"type": "text", "text": "x"}], "id": "s"});
    records.push(json!({"type": "compaction", "id": "e9", "parentId": "e5", "summary": "so far", "message": summary}));
    add_entries(&world, 1, &json!({}), &records);
    let details: Details = world.rejoin(["show", "local-conv-1", "--transcript", "--json"]).code(0).json();
    let session = details.session;
    assert_eq!((session.kind, session.first_prompt.as_deref()), (Kind::Main, Some("fix it")));
    assert_eq!((session.prompts, session.replies), (Some(2), Some(3)));
    assert_eq!((session.start_dir.as_deref(), session.launch_path()), (Some("/home/ana/first"), Some(&*last)));
    assert_eq!((session.git_branch.as_deref(), session.model.as_deref()), (Some("next"), Some("model-l")));
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T09:59:00Z"));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:05:00Z"));
    assert_eq!(session.active_source.as_deref(), Some("transcript"));
    let messages = details.messages.expect("messages");
    assert_eq!(messages[0].at.as_deref(), Some("2026-02-01T10:00:00Z"));
    let texts: Vec<String> = messages.into_iter().map(|message| message.text).collect();
    assert_eq!(texts, ["fix it", r#"Bash {"command":"ls"}"#, "→ a b", "Done.", "more", "Yes.", "so far"]);
}

#[test]
fn header_directory_is_only_a_fallback() {
    let world = World::new();
    let messages = [typed(&["look"]), reply("ok")];
    add_entries(&world, 1, &json!({}), &entries(1, APP, &messages));
    // A migration writes the directory in which it runs.
    add_entries(&world, 2, &migrated(), &entries(2, "/usr/lib", &messages));
    add_entries(
        &world,
        3,
        &migrated(),
        &entries(3, "/usr/lib", &[typed(&[&reminder(APP, None), "look"]), reply("ok")]),
    );
    let sessions = listed(&world);
    let dir = |n: u32| {
        let id = format!("local-conv-{n}");
        let session = sessions.iter().find(|session| session.id == id).expect("a session");
        (session.launch_path(), session.launch_source(), session.start_dir.as_deref())
    };
    assert_eq!(dir(1), (Some(APP), Some("header"), Some(APP)));
    assert_eq!(dir(2), (None, None, None));
    assert_eq!(dir(3), (Some(APP), Some("transcript"), Some(APP)));
}

#[test]
fn migrated_session_uses_provider_timestamp() {
    let world = World::new();
    let mut reply_entry = reply("ok");
    // The time is 2026-02-10T10:00:00Z; the entry has an invented one.
    reply_entry["timestamp"] = json!(1_770_717_600_000_u64);
    let before = [typed(&[&reminder(APP, None), "look"]), reply_entry, typed(&["more"])];
    let mut records = entries(1, "/usr/lib", &before);
    for (second, record) in records.iter_mut().enumerate() {
        record["timestamp"] = json!(format!("2026-01-01T00:00:0{second}.000Z"));
    }
    add_entries(&world, 1, &migrated(), &records);
    let session = listed(&world).remove(0);
    assert_eq!((session.created_at.as_deref(), session.active_at.as_deref()), (None, Some("2026-02-10T10:00:00Z")));
    records[3]["timestamp"] = json!("2026-02-21T10:00:00.000Z");
    add_entries(&world, 1, &migrated(), &records);
    let session = listed(&world).remove(0);
    assert_eq!(session.active_at.as_deref(), Some("2026-02-21T10:00:00Z"), "written after it");
}

#[test]
fn backup_of_migration_belongs_to_session() {
    let world = World::new();
    let messages = [typed(&[&reminder(APP, None), "look"]), reply("ok")];
    let folder = add_entries(&world, 1, &migrated(), &entries(1, "/usr/lib", &messages));
    let before = listed(&world)[0].size_bytes;
    put(&folder.join("messages.jsonl.pre-pi-backup-20260220-090000"), lines(&messages));
    assert!(listed(&world)[0].size_bytes > before);
    delete_and_undo(&world, "local-conv-1");
    archive_and_restore(&world, "local-conv-1", 7);
}

#[test]
fn rewritten_message_counts_once() {
    let world = World::new();
    let with_id = |mut message: Value, id: &str| {
        message["id"] = json!(id);
        message
    };
    let messages = [
        with_id(typed(&[&reminder(APP, None), "look"]), "ui-msg-1"),
        with_id(reply("o"), "ui-msg-2"),
        with_id(reply("ok"), "ui-msg-2"),
    ];
    add_entries(&world, 1, &json!({}), &entries(1, APP, &messages));
    let details: Details = world.rejoin(["show", "local-conv-1", "--transcript", "--json"]).code(0).json();
    assert_eq!((details.session.prompts, details.session.replies), (Some(1), Some(1)));
    let texts: Vec<String> = details.messages.expect("messages").into_iter().map(|message| message.text).collect();
    assert_eq!(texts, ["look", "ok"]);
}

#[test]
fn session_of_unknown_format_is_not_empty() {
    let world = World::new();
    let unknown = json!({"schema_version": 3, "message_format": "next-jsonl"});
    let folder = add_entries(&world, 1, &unknown, &[json!({"kind": "said", "who": "user", "text": "look"})]);
    // The first and last lines are in an unknown format.
    put(&folder.join("messages.jsonl"), "said: look");
    add(&world, 2, &json!({}), &[json!({"id": "a", "role": "user", "parts": [{"type": "text", "text": "look"}]})]);
    for n in [1, 2] {
        let sessions = listed(&world);
        let session = sessions.iter().find(|session| session.id == format!("local-conv-{n}")).expect("a session");
        let expected = if n == 1 { "unsupported-version" } else { "invalid-content" };
        assert_eq!(session.kind, Kind::Main);
        assert!(session.health.contains(&expected.to_owned()), "{:?}", session.health);
        assert!(!session.health.contains(&"empty-session".to_owned()), "{:?}", session.health);
    }
    let planned = world.rejoin(["cleanup", "--empty", "--any-age", "--dry-run", "--json"]).code(0).stdout();
    assert!(!planned.contains("local-conv"), "{planned}");
    let shown = world.rejoin(["show", "local-conv-1"]).code(0).stdout();
    assert!(shown.contains("names a format that rejoin does not know (schema 3, next-jsonl)"), "{shown}");
    let messages = world.rejoin(["show", "local-conv-1", "--transcript"]).stderr();
    assert!(messages.contains("messages may be missing"), "{messages}");
    turn(&world, 3);
    world.install("letta", "");
    world.rejoin(["resume", "local-conv-3"]).code(0);
    world.rejoin(["doctor", "--fix", "--check", "torn-transcript", "--yes"]);
    assert_eq!(std::fs::read_to_string(folder.join("messages.jsonl")).expect("a file"), "said: look");
}

#[test]
fn delete_and_undo_include_agent_of_session() {
    let world = World::new();
    turn(&world, 1);
    delete_and_undo(&world, "local-conv-1");
    archive_and_restore(&world, "local-conv-1", 6);
}

#[test]
fn resume_refuses_session_with_cut_off_line() {
    let world = World::new();
    world.install("letta", "");
    turn(&world, 1);
    let path = turn(&world, 2).join("messages.jsonl");
    let whole = std::fs::read_to_string(&path).expect("a file");
    let cut_off = format!("{whole}{{\"id\":\"ui-msg-9\",\"ro");
    put(&path, &cut_off);
    let command = "rejoin doctor --fix --check torn-transcript";
    let refused = world.rejoin(["resume", "local-conv-1", "--prompt", "go on"]).code(7).stderr();
    assert!(refused.contains(command), "the other one is what it fails on: {refused}");
    let found = world.rejoin(["doctor", "--json"]).code(4).stdout();
    assert!(found.contains(command) && found.contains("fails on every session of this store"), "{found}");
    world.rejoin(["doctor", "--fix", "--check", "torn-transcript", "--yes"]).code(0);
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), whole);
    world.rejoin(["resume", "local-conv-1", "--prompt", "go on"]).code(0);
    world.rejoin(["undo", "--yes"]).code(0);
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), cut_off);
    // A whole record without a newline gets one, before the next record is written on the same line.
    put(&path, whole.trim_end());
    world.rejoin(["doctor", "--fix", "--check", "torn-transcript", "--yes"]).code(0);
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), whole);
}

#[test]
fn damaged_conversation_hides_no_other() {
    let world = World::new();
    let path = |n: u32, name: &str| folder(&world, &format!("conversation:local-conv-{n}")).join(name);
    for n in 1..=5 {
        turn(&world, n);
    }
    put(&path(1, "conversation.json"), "{");
    put(&path(1, "manifest.json"), "7");
    let text = std::fs::read_to_string(path(2, "messages.jsonl")).expect("a file");
    put(&path(2, "messages.jsonl"), &text[..text.len() - 20]);
    std::fs::remove_file(path(3, "messages.jsonl")).expect("a removed file");
    put(&path(4, "messages.jsonl"), format!("\0\n[]\n{text}"));
    put(&backend(&world).join("conversations/not base64").join("messages.jsonl"), &text);
    let list: SessionList = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).json();
    let health = |n: u32| {
        let id = format!("local-conv-{n}");
        list.sessions.iter().find(|session| session.id == id).map(|session| session.health.join(" "))
    };
    assert_eq!(health(1).as_deref(), Some(""), "its messages tell enough");
    assert_eq!(health(2).as_deref(), Some("torn-transcript"));
    assert_eq!(health(3).as_deref(), Some("empty-session invalid-content"));
    assert_eq!(health(4).as_deref(), Some("bad-lines"));
    assert_eq!(health(5).as_deref(), Some(""));
    assert_eq!((list.sessions.len(), list.problems.len()), (5, 0));
}
