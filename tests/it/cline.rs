//! Cline CLI's sessions: two files per session, sub-agents in the folder of their parent, and a resume only at a
//! terminal.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::archive::{APP, archive_and_restore};
use crate::contract::{Details, Kind, Liveness, ResumePlan, Session, SessionList};
use crate::fixtures::put;
use crate::undo::delete_and_undo;
use crate::world::World;

const ID: &str = "1769940000000_river";

pub(crate) fn typed(text: &str) -> Value {
    let text = format!("<user_input mode=\"act\">{text}</user_input>");
    json!({"role": "user", "content": [{"type": "text", "text": text}], "ts": 1_769_940_000_000_u64})
}

pub(crate) fn reply(text: &str) -> Value {
    let info = json!({"id": "model-c", "provider": "p"});
    json!({"role": "assistant", "content": [{"type": "text", "text": text}], "ts": 1_769_940_060_000_u64, "modelInfo": info})
}

fn messages(list: &[Value]) -> String {
    let document = json!({"version": 1, "updated_at": "2026-02-01T10:02:00.000Z", "messages": list});
    serde_json::to_string_pretty(&document).expect("JSON")
}

fn folder(world: &World, id: &str) -> PathBuf {
    world.home().join(".cline/data/sessions").join(id)
}

/// Writes a session with additional fields in its file.
pub(crate) fn add(world: &World, id: &str, fields: &Value, list: &[Value]) -> PathBuf {
    let folder = folder(world, id);
    let mut meta = json!({
        "version": 1, "session_id": id, "started_at": "2026-02-01T10:00:00.000Z", "status": "completed", "pid": 4_194_305,
        "model": "model-a", "cwd": APP, "prompt": "raw", "messages_path": folder.join(format!("{id}.messages.json")),
    });
    meta.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
    put(&folder.join(format!("{id}.json")), serde_json::to_string_pretty(&meta).expect("JSON"));
    put(&folder.join(format!("{id}.messages.json")), messages(list));
    folder
}

pub(crate) fn add_subagent(folder: &Path) {
    let task = json!({"role": "user", "content": [{"type": "text", "text": "count the files"}]});
    put(&folder.join("agent_1769940001000_abcdef.messages.json"), messages(&[task, reply("three")]));
}

fn listed(world: &World) -> Vec<Session> {
    world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions()
}

#[test]
fn list_reads_both_files_of_a_session() {
    let world = World::new();
    let metadata = json!({"title": "Parser", "prompt": "fix the parser", "git": {"branch": "main"}});
    let call = json!({"role": "assistant", "content": [{"type": "tool_use", "name": "run_commands", "input": {"commands": ["ls"]}}]});
    let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "a b"}]});
    let error =
        json!({"role": "assistant", "content": [{"type": "text", "text": "400"}], "metadata": {"displayOnly": true}});
    add(
        &world,
        ID,
        &json!({"metadata": metadata}),
        &[typed("fix the parser"), call, result, reply("Done."), typed("more"), error],
    );
    let details: Details = world.rejoin(["show", ID, "--transcript", "--json"]).code(0).json();
    let session = details.session;
    assert_eq!((session.title.as_deref(), session.first_prompt.as_deref()), (Some("Parser"), Some("fix the parser")));
    assert_eq!((session.prompts, session.replies), (Some(2), Some(2)), "an error of the API is no reply");
    assert_eq!((session.launch_path(), session.launch_source()), (Some(APP), Some("session")));
    assert_eq!((session.git_branch.as_deref(), session.model.as_deref()), (Some("main"), Some("model-c")));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:02:00Z"));
    assert_eq!((session.kind, session.liveness, session.health), (Kind::Main, Liveness::Idle, Vec::new()));
    let texts: Vec<String> = details.messages.expect("messages").into_iter().map(|message| message.text).collect();
    assert_eq!(texts, ["fix the parser", r#"run_commands {"commands":["ls"]}"#, "→ a b", "Done.", "more", "400"]);
}

#[test]
fn first_line_of_prompt_is_not_title() {
    let world = World::new();
    let metadata = json!({"title": "one", "prompt": "one\ntwo"});
    add(&world, ID, &json!({"metadata": metadata}), &[typed("one\ntwo"), reply("ok")]);
    assert_eq!(listed(&world)[0].title, None);
}

#[test]
fn session_killed_before_first_reply_has_prompt() {
    let world = World::new();
    add(&world, ID, &json!({"prompt": "<user_input mode=\"act\">look</user_input>", "status": "cancelled"}), &[]);
    let details: Details = world.rejoin(["show", ID, "--transcript", "--json"]).code(0).json();
    assert_eq!((details.session.kind, details.session.first_prompt.as_deref()), (Kind::Main, Some("look")));
    assert_eq!((details.session.prompts, details.session.replies), (Some(1), Some(0)));
    assert_eq!(details.messages.expect("messages")[0].text, "look");
}

#[test]
fn sub_agent_belongs_to_folder_of_parent() {
    let world = World::new();
    add_subagent(&add(&world, ID, &json!({}), &[typed("look"), reply("ok")]));
    let sub = format!("{ID}__agent_1769940001000_abcdef");
    let sessions = listed(&world);
    let session = sessions.iter().find(|session| session.id == sub).expect("the sub-agent");
    assert_eq!((session.kind, session.parent_id.as_deref()), (Kind::Subagent, Some(ID)));
    assert_eq!((session.start_dir.as_deref(), session.replies), (Some(APP), Some(1)));
    world.rejoin(["show", &sub]).code(0);
    let refused = world.rejoin(["resume", &sub]).code(7);
    assert!(refused.stderr().contains("resume its parent session"), "{}", refused.stderr());
    delete_and_undo(&world, ID);
    archive_and_restore(&world, ID, 4);
}

#[test]
fn delete_notes_the_stale_entry_in_clines_list() {
    let world = World::new();
    for id in [ID, "1769940000002_bbbbb", "1769940000003_ccccc"] {
        add(&world, id, &json!({}), &[typed("look"), reply("ok")]);
    }
    let stderr = world.rejoin(["delete", ID, "--dry-run"]).code_is_one_of(&[0, 4]).stderr();
    assert!(!stderr.contains("still lists"), "{stderr}");
    let stderr = world.rejoin(["delete", ID, "--yes"]).code(0).stderr();
    let command = format!("`cline history delete --session-id {ID}`");
    assert!(stderr.contains("Cline CLI still lists removed sessions") && stderr.contains(&command), "{stderr}");
    let texts =
        world.rejoin(["cleanup", "--older-than", "1d", "--keep-last", "0", "--allow-all", "--yes"]).code(0).stderr();
    assert_eq!(texts.matches("`cline history delete --session-id ID`").count(), 1, "{texts}");
}

#[test]
fn resume_needs_terminal_and_uses_recorded_directory() {
    let world = World::new();
    world.install("cline", "");
    let dir = world.dir("app");
    add(&world, ID, &json!({"cwd": dir}), &[typed("look"), reply("ok")]);
    let plan: ResumePlan = world.rejoin(["resume", ID, "--json"]).plan();
    assert_eq!(
        (plan.resume.argv, plan.resume.dir.as_deref()),
        (["cline", "--id", ID].map(str::to_owned).to_vec(), dir.to_str())
    );
    let refused = world.rejoin(["resume", ID, "--prompt", "go on"]).code(7);
    assert!(refused.stderr().contains("resumes in a terminal only"), "{}", refused.stderr());
    assert!(world.launched().is_none());
    world.rejoin(["resume", ID]).code(0);
    assert_eq!(world.launched().expect("a launch").cwd, dir);
}

#[test]
fn resume_refuses_a_file_of_another_conversation() {
    let world = World::new();
    world.install("cline", "");
    let elsewhere = format!("/home/ana/.cline/data/sessions/{ID}/{ID}.messages.json");
    add(&world, ID, &json!({"messages_path": elsewhere}), &[typed("look"), reply("ok")]);
    let refused = world.rejoin(["resume", ID]).code(7);
    assert!(refused.stderr().contains(&format!("takes its conversation from {elsewhere}")), "{}", refused.stderr());
    assert!(world.launched().is_none());
}

#[test]
fn status_with_running_process_means_maybe_in_use() {
    let own = std::process::id();
    let own = json!(own);
    for (status, pid, expected) in [
        ("running", json!(null), Liveness::Maybe),
        ("running", own.clone(), Liveness::Maybe),
        ("idle", own.clone(), Liveness::Maybe),
        ("completed", own, Liveness::Idle),
        ("running", json!(4_194_305), Liveness::Idle),
    ] {
        let world = World::new();
        add(&world, ID, &json!({"status": status, "pid": pid}), &[typed("look"), reply("ok")]);
        assert_eq!(listed(&world)[0].liveness, expected, "{status} {pid}");
    }
}

#[test]
fn environment_variable_selects_the_store() {
    let world = World::new();
    let data = world.dir("data");
    let folder = add(&world, ID, &json!({}), &[typed("look"), reply("ok")]);
    std::fs::create_dir_all(data.join("sessions")).expect("a directory");
    std::fs::rename(folder, data.join("sessions").join(ID)).expect("a move");
    let list: SessionList = world.with("CLINE_DATA_DIR", &data).rejoin(["list", "--json"]).code(0).json();
    assert_eq!(list.sessions.len(), 1);
    let resume = list.sessions[0].resume.as_ref().expect("a command");
    assert_eq!(resume.set.get("CLINE_DATA_DIR").map(String::as_str), data.to_str());
}

#[test]
fn damaged_session_hides_no_other() {
    let world = World::new();
    let path = |n: u32| folder(&world, &format!("176994000000{n}_x")).join(format!("176994000000{n}_x.messages.json"));
    for n in 1..=4 {
        add(&world, &format!("176994000000{n}_x"), &json!({}), &[typed("look"), reply("ok")]);
    }
    let text = std::fs::read_to_string(path(1)).expect("a file");
    put(&path(1), &text[..text.len() / 2]);
    put(&path(2).with_file_name("1769940000002_x.json"), "{");
    std::fs::remove_file(path(3)).expect("a removed file");
    std::fs::create_dir_all(folder(&world, "1769940000005_x")).expect("an empty folder");
    let list: SessionList = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).json();
    let health: Vec<_> =
        list.sessions.iter().map(|it| (it.id.as_str(), it.health.len(), it.first_prompt.is_some())).collect();
    for n in 1..=3 {
        assert!(health.contains(&(&format!("176994000000{n}_x"), 1, true)) || n == 2, "{health:?}");
    }
    assert!(health.contains(&("1769940000002_x", 2, true)), "neither its file nor a directory: {health:?}");
    assert!(health.contains(&("1769940000004_x", 0, true)), "{health:?}");
    assert_eq!((health.len(), list.problems.len()), (4, 0));
}
