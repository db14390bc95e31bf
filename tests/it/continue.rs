//! Continue CLI's sessions: one document each, an index next to them, and a resume of the last modified one.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::archive::{APP, archive_and_restore};
use crate::contract::{Details, Kind, ResumePlan, Session, SessionList};
use crate::fixtures::{id, ordered, put};
use crate::undo::delete_and_undo;
use crate::world::World;

fn said(role: &str, content: &str) -> Value {
    json!({"message": {"role": role, "content": content, "usage": {"model": "model-c"}}, "contextItems": []})
}

fn path(world: &World, id: &str) -> PathBuf {
    world.home().join(".continue/sessions").join(format!("{id}.json"))
}

fn add(world: &World, id: &str, title: &str, dir: &str, history: &[Value]) -> PathBuf {
    // The fields are in the order of the program.
    let fields = [
        ("sessionId", json!(id)),
        ("title", json!(title)),
        ("workspaceDirectory", json!(dir)),
        ("history", json!(history)),
    ];
    let path = path(world, id);
    put(&path, ordered(&fields));
    path
}

fn turn(world: &World, n: u32) -> PathBuf {
    add(world, &id(n), "Untitled Session", APP, &[said("user", "look"), said("assistant", "ok")])
}

fn add_index(world: &World, ids: &[String]) {
    let entry =
        |id| json!({"sessionId": id, "title": "Untitled Session", "dateCreated": "1769940000000", "messageCount": 1});
    put(&path(world, "sessions"), json!(ids.iter().map(entry).collect::<Vec<_>>()).to_string());
}

/// Sets a modification time that is a little later for each call.
fn touch(path: &Path, seconds: u64) {
    let file = std::fs::File::options().write(true).open(path).expect("a file");
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_769_990_000 + seconds)).expect("a time");
}

fn listed(world: &World) -> Vec<Session> {
    world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions()
}

#[test]
fn list_reads_directory_of_editor_session() {
    let world = World::new();
    let dir = world.dir("my dir");
    let uri = format!("file://{}", dir.display()).replace(' ', "%20");
    let remote = "vscode-remote://ssh-remote%2Bdevbox/home/ana/proj";
    for (n, dir) in [(1, uri.as_str()), (2, dir.to_str().expect("a path")), (3, remote)] {
        add(&world, &id(n), "Untitled Session", dir, &[said("user", "look"), said("assistant", "ok")]);
    }
    let here = world.from(&dir).rejoin(["list", "--here", "--json"]).code(0).sessions();
    let mut ids: Vec<String> = here.into_iter().map(|session| session.id).collect();
    ids.sort_unstable();
    assert_eq!(ids, [id(1), id(2)]);
    let details: Details = world.rejoin(["show", &id(3), "--json"]).code(0).json();
    assert_eq!((details.session.launch_path(), details.session.health.join(" ")), (None, "unknown-directory".into()));
}

#[test]
fn list_ignores_title_of_unnamed_session() {
    let world = World::new();
    for (n, title) in [(1, "Untitled Session"), (2, "New Session"), (3, "New Session of mine")] {
        add(&world, &id(n), title, APP, &[said("user", "look")]);
        let sessions = listed(&world);
        let session = sessions.iter().find(|session| session.id == id(n)).expect("a session");
        let expected = Some(title).filter(|title| title.ends_with("mine"));
        assert_eq!((session.title.as_deref(), session.first_prompt.as_deref()), (expected, Some("look")));
    }
}

#[test]
fn list_reads_the_session_file_and_the_index() {
    let world = World::new();
    let call =
        json!({"id": "c", "type": "function", "function": {"name": "Bash", "arguments": "{\"command\":\"ls\"}"}});
    let called = json!({"message": {"role": "assistant", "content": "", "toolCalls": [call]},
        "toolCallStates": [{"toolCallId": "c", "status": "done", "output": [{"content": "a b"}]}]});
    add(&world, &id(1), "Parser", APP, &[said("user", "fix it"), called, said("assistant", "Done.")]);
    add_index(&world, &[id(1)]);
    let details: Details = world.rejoin(["show", &id(1), "--transcript", "--json"]).code(0).json();
    let session = details.session;
    assert_eq!((session.title.as_deref(), session.first_prompt.as_deref()), (Some("Parser"), Some("fix it")));
    assert_eq!((session.prompts, session.replies), (Some(1), Some(2)));
    assert_eq!((session.launch_path(), session.model.as_deref()), (Some(APP), Some("model-c")));
    assert_eq!(session.created_at.as_deref(), Some("2026-02-01T10:00:00Z"));
    assert_eq!(session.active_source.as_deref(), Some("mtime"), "there is no time inside");
    let texts: Vec<String> = details.messages.expect("messages").into_iter().map(|message| message.text).collect();
    assert_eq!(texts, ["fix it", r#"Bash {"command":"ls"}"#, "→ a b", "Done."]);
}

#[test]
fn list_shows_unnamed_and_killed_sessions() {
    let world = World::new();
    add(&world, &id(1), "Untitled Session", APP, &[said("user", "look")]);
    let session = listed(&world).remove(0);
    assert_eq!((session.title, session.kind), (None, Kind::Main));
    assert_eq!((session.prompts, session.replies), (Some(1), Some(0)));
}

#[test]
fn resume_accepts_only_last_changed_session() {
    let world = World::new();
    world.install("cn", "");
    let dir = world.dir("app");
    let first =
        add(&world, &id(1), "Parser", dir.to_str().expect("a path"), &[said("user", "a"), said("assistant", "b")]);
    let second = turn(&world, 2);
    add_index(&world, &[id(1), id(2)]);
    touch(&second, 1);
    let refused = world.rejoin(["resume", &id(1)]).code(7);
    assert!(
        refused.stderr().contains(&format!("which {}.json was; run `touch {}`", id(2), first.display())),
        "{}",
        refused.stderr()
    );
    assert!(refused.stderr().contains(&format!("`cn --fork {}`", id(1))), "{}", refused.stderr());
    world.rejoin(["resume", &id(1), "--print"]).code(7);
    touch(&first, 1);
    world.rejoin(["resume", &id(1)]).code(7);
    assert!(world.launched().is_none(), "two changed at the same time");

    touch(&first, 2);
    touch(&path(&world, "sessions"), 3);
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert_eq!((plan.resume.argv, plan.refusals.len()), (vec!["cn".to_owned(), "--resume".to_owned()], 0));
    world.rejoin(["resume", &id(1), "--prompt", "go on"]).code(0);
    let launch = world.launched().expect("a launch");
    assert_eq!((launch.argv, launch.cwd), (["cn", "--resume", "-p", "go on"].map(str::to_owned).to_vec(), dir));
}

#[test]
fn archive_delete_and_restore_handle_session() {
    let world = World::new();
    turn(&world, 1);
    add_index(&world, &[id(1)]);
    delete_and_undo(&world, &id(1));
    archive_and_restore(&world, &id(1), 2);
}

#[test]
fn damaged_session_hides_no_other() {
    let world = World::new();
    for n in 1..=4 {
        turn(&world, n);
    }
    let text = std::fs::read_to_string(path(&world, &id(1))).expect("a file");
    put(&path(&world, &id(1)), &text[..text.len() - 40]);
    put(&path(&world, &id(2)), text.replace(&id(1), &id(9)));
    put(&path(&world, &id(3)), "");
    put(&path(&world, &format!("{}-copy", id(4))), text);
    put(&path(&world, "sessions"), "[{");
    let list: SessionList = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).json();
    let health =
        |n: u32| list.sessions.iter().find(|session| session.id == id(n)).map(|session| session.health.join(" "));
    assert_eq!(health(1).as_deref(), Some("invalid-content"));
    assert_eq!(health(2).as_deref(), Some("invalid-content"), "its file says that it is another");
    assert!(health(3).is_some_and(|health| health.contains("empty-session")));
    assert_eq!(health(4).as_deref(), Some(""));
    assert_eq!((list.sessions.len(), list.problems.len()), (4, 1), "the index: {:?}", list.problems);
    for n in [1, 2] {
        world.rejoin(["resume", &id(n), "--in", APP]).code(7);
    }
}
