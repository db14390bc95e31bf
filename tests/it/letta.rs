//! Letta Code's conversations: numbered in each home, with invented times, and directories that only a text tells.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::archive::{APP, comes_back};
use crate::contract::{Details, Kind, ResumePlan, Session, SessionList};
use crate::fixtures::{lines, put};
use crate::undo::goes_and_comes_back;
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

fn reply(text: &str) -> Value {
    json!({"role": "assistant", "content": [{"type": "text", "text": text}], "model": "model-l", "stopReason": "stop"})
}

fn add(world: &World, n: u32, more: &Value, records: &[Value]) -> PathBuf {
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
fn a_conversation_is_listed_with_what_was_typed_and_where_each_start_was() {
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
fn its_times_are_those_of_its_files() {
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
fn the_last_start_is_found_however_much_was_said_since() {
    let world = World::new();
    let mut records = vec![typed(&[&reminder("/home/ana/first", None), "a"]), typed(&[&reminder(APP, None), "b"])];
    records.extend((0..20).map(|_| reply(&"x".repeat(16 * 1024))));
    add(&world, 1, &json!({}), &records);
    let session = listed(&world).remove(0);
    assert_eq!((session.start_dir.as_deref(), session.launch_path()), (Some("/home/ana/first"), Some(APP)));
}

#[test]
fn it_is_resumed_by_its_id_as_long_as_its_agent_is_there() {
    let world = World::new();
    world.install("letta", "");
    turn(&world, 1);
    let plan: ResumePlan = world.rejoin(["resume", "local-conv-1", "--json"]).code(0).json();
    assert_eq!(plan.resume.argv, ["letta", "--backend", "local", "--conversation", "local-conv-1"]);
    world.rejoin(["resume", "local-conv-1", "--prompt", "go on"]).code(0);
    let launch = world.launched().expect("a launch");
    assert_eq!((launch.argv[5..].to_vec(), launch.cwd), (vec!["-p".to_owned(), "go on".to_owned()], APP.into()));
    std::fs::remove_file(agent_file(&world)).expect("a file that goes");
    let refused = world.rejoin(["resume", "local-conv-1"]).code(7);
    assert!(refused.stderr().contains("the agent that it belongs to is gone"), "{}", refused.stderr());
}

#[test]
fn ids_of_two_backends_are_never_taken_for_copies() {
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
fn what_is_archived_says_so_and_the_conversation_that_an_agent_begins_with_is_none() {
    let world = World::new();
    add(&world, 1, &json!({"archived": true}), &[typed(&[&reminder(APP, None), "look"]), reply("ok")]);
    put(&folder(&world, "default:agent-local-1").join("messages.jsonl"), "\n");
    let sessions = listed(&world);
    assert_eq!((sessions.len(), sessions[0].kind), (1, Kind::Archived));
}

#[test]
fn it_goes_and_comes_back_with_its_agent() {
    let world = World::new();
    turn(&world, 1);
    goes_and_comes_back(&world, "local-conv-1");
    comes_back(&world, "local-conv-1", 6);
}

#[test]
fn a_line_that_was_cut_off_goes_before_any_conversation_is_resumed() {
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
    // A whole record without an end gets one, before the next is written on the same line.
    put(&path, whole.trim_end());
    world.rejoin(["doctor", "--fix", "--check", "torn-transcript", "--yes"]).code(0);
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), whole);
}

#[test]
fn what_is_damaged_hides_nothing_else() {
    let world = World::new();
    let path = |n: u32, name: &str| folder(&world, &format!("conversation:local-conv-{n}")).join(name);
    for n in 1..=5 {
        turn(&world, n);
    }
    put(&path(1, "conversation.json"), "{");
    put(&path(1, "manifest.json"), "7");
    let text = std::fs::read_to_string(path(2, "messages.jsonl")).expect("a file");
    put(&path(2, "messages.jsonl"), &text[..text.len() - 20]);
    std::fs::remove_file(path(3, "messages.jsonl")).expect("a file that goes");
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
