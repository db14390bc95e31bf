//! `rewind --slim`: a new session with all text of one that is too large to open, without images and long results.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cannot_open::grow;
use crate::contract::changes::{Change, ChangeResult};
use crate::contract::{Details, DoctorReport, Role};
use crate::fixtures::{Claude, Codex, Copilot, Gptme, Pi, age, id};
use crate::picture::{differences, picture};
use crate::world::World;

/// Returns 3 MB in base64.
fn image() -> String {
    "QUJD".repeat(1_000_000)
}

/// Returns a result of a tool of 2 MB.
fn result() -> String {
    "a line of a log\n".repeat(125_000)
}

/// Returns a prompt of 40 KB with text that must be kept.
fn words(name: &str) -> String {
    format!("{name} {}", "a word and ".repeat(4_000))
}

/// Writes a session of each agent with three prompts, three replies, an image in the first prompt, and a long result.
fn large(world: &World) -> Vec<(&'static str, PathBuf)> {
    let (image, result, url) = (image(), result(), format!("data:image/png;base64,{}", image()));
    let block = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": image}});
    let prompt = json!({"role": "user", "content": [{"type": "text", "text": words("first")}, block]});
    let call = json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cat log"}});
    let output = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": result}]});
    let claude = Claude::session(id(1))
        .in_dir("/usr/bin")
        .chained()
        .message("user", &prompt, &json!({}))
        .reply_block("m1", &call)
        .message("user", &output, &json!({"toolUseResult": {"stdout": result, "stderr": ""}}))
        .reply("one")
        .turn(&words("second"), "two")
        .turn("third", &words("three"));
    let part = json!({"type": "input_image", "image_url": url});
    let content = json!([{"type": "input_text", "text": words("first")}, part]);
    let codex = Codex::session(id(2))
        .in_dir("/usr/bin")
        .record("response_item", json!({"type": "message", "role": "user", "content": content}))
        .record("event_msg", json!({"type": "user_message", "message": words("first"), "images": [url]}))
        .tool("cat log", &result)
        .reply("one")
        .turn(&words("second"), "two")
        .turn("third", &words("three"));
    let copilot = Copilot::session(id(3))
        .in_dir("/usr/bin")
        .prompt(&words("first"))
        .call("cat log", &result)
        .reply("one")
        .turn(&words("second"), "two")
        .turn("third", &words("three"));
    let content =
        json!([{"type": "text", "text": words("first")}, {"type": "image", "data": image, "mimeType": "image/png"}]);
    let answer = json!({"role": "toolResult", "toolCallId": "t1", "toolName": "bash", "content": [{"type": "text", "text": result}]});
    let pi = Pi::session(id(4))
        .in_dir("/usr/bin")
        .message(&json!({"role": "user", "content": content}))
        .message(&answer)
        .reply("one")
        .turn(&words("second"), "two")
        .turn("third", &words("three"));
    vec![
        ("claude", world.add(claude)),
        ("codex", world.add(codex)),
        ("copilot", world.add(copilot)),
        ("pi", world.add(pi)),
    ]
}

/// Returns the prompts and replies that a resume sends, without the lines that replace removed parts.
fn said(world: &World, selector: &str) -> Vec<(Role, String)> {
    let shown: Details = world.rejoin(["show", selector, "--transcript", "--json"]).code(0).json();
    let messages = shown.messages.expect("messages").into_iter();
    let messages = messages.filter(|message| matches!(message.role, Role::User | Role::Assistant));
    let own =
        |text: String| text.lines().filter(|line| !line.contains("removed by `rejoin")).collect::<Vec<_>>().join("\n");
    let texts = messages.map(|message| (message.role, own(message.text).trim().to_owned()));
    texts.filter(|(_, text)| !text.is_empty()).collect()
}

fn size_of(path: &Path) -> u64 {
    let files =
        walkdir::WalkDir::new(path).into_iter().filter_map(Result::ok).filter(|entry| entry.file_type().is_file());
    files.map(|entry| entry.metadata().expect("metadata").len()).sum()
}

#[test]
fn slim_keeps_every_word_and_the_old_session() {
    let world = World::with_agents();
    ["codex", "copilot", "pi"].iter().for_each(|agent| _ = world.install(agent, ""));
    for (agent, path) in large(&world) {
        let [old] = <[_; 1]>::try_from(world.rejoin(["list", "--agent", agent, "--json"]).sessions()).expect("one");
        let selector = format!("{agent}:{}", old.id);
        let (before, words) = (picture(&path), said(&world, &selector));
        let plan: Change = world.rejoin(["rewind", &selector, "--slim", "--dry-run", "--json"]).code(0).json();
        assert_eq!(world.rejoin(["list", "--agent", agent, "--json"]).sessions().len(), 1, "{agent}");
        let done: Change = world.rejoin(["rewind", &selector, "--slim", "--json"]).code(0).json();
        assert_eq!((done.items[0].result, done.ids()), (ChangeResult::Done, plan.ids()), "{agent}");
        let new = format!("{agent}:{}", done.items[0].id.clone().expect("an id"));
        let made = PathBuf::from(world.rejoin(["show", &new, "--path"]).code(0).stdout().trim());
        let made = if path.is_dir() && !made.is_dir() { made.parent().expect("a directory").to_owned() } else { made };
        assert!(size_of(&made) < size_of(&path) / 4, "{agent}: {} of {}", size_of(&made), size_of(&path));
        assert!(differences(&before, &picture(&path)).is_empty(), "{agent}");

        let slim = said(&world, &new);
        for (new, old) in slim.iter().zip(&words) {
            let at = new.1.chars().zip(old.1.chars()).take_while(|(a, b)| a == b).count();
            let end = |text: &str| text.chars().skip(at).take(80).collect::<String>();
            assert!(new == old, "{agent}: {:?} is not {:?}", end(&new.1), end(&old.1));
        }
        assert_eq!((words.len(), slim.len()), (6, 6), "{agent}");

        // The new session resumes in the same directory, and undo removes it.
        let resumed: Value = world.rejoin(["resume", &new, "--json"]).code(0).json();
        assert_eq!(resumed["launch_dir"]["path"], "/usr/bin", "{agent}: {resumed}");
        let again = world.rejoin(["rewind", &selector, "--slim"]).code(7).stderr();
        assert!(again.contains("made before"), "{agent}: {again}");
        world.rejoin(["undo", "--yes"]).code(0);
        assert!(!made.exists(), "{agent}");
    }
}

#[test]
fn slim_accepts_session_that_grew() {
    let world = World::with_agents();
    world.install("pi", "");
    let (_, path) = large(&world).pop().expect("a session of Pi");
    let slim = || -> Change { world.rejoin(["rewind", "pi:00000004", "--slim", "--json"]).code(0).json() };
    let first = slim();
    let text = std::fs::read_to_string(&path).expect("a log");
    let record = json!({"type": "message", "id": "later001", "parentId": null, "timestamp": "2026-02-01T10:00:00Z",
                        "message": {"role": "user", "content": "one more"}});
    std::fs::write(&path, format!("{text}{record}\n")).expect("a log");
    age(&path);
    let second = slim();
    assert_ne!(first.ids(), second.ids());
}

#[test]
fn slim_refuses_session_with_reason() {
    let world = World::with_agents();
    world.add(Claude::session(id(1)).in_dir("/usr/bin").turn(&words("first"), "one"));
    let stderr = world.rejoin(["rewind", &id(1), "--slim"]).code(7).stderr();
    assert!(
        stderr.contains("nothing to leave out: no image, file or result of a tool is larger than 16 KiB"),
        "{stderr}"
    );
    world.add(Gptme::session("large").turn("x", "y"));
    let stderr = world.rejoin(["rewind", "gptme:large", "--slim"]).code(7).stderr();
    assert!(stderr.contains("cannot write a smaller session of gptme") && stderr.contains("rejoin export"), "{stderr}");
    world.rejoin(["rewind", &id(1), "--slim", "--to", "1"]).code(2);
    let image = json!({"type": "input_image", "image_url": format!("data:image/png;base64,{}", image())});
    let message = json!({"type": "message", "role": "user", "content": [image]});
    world.add(Codex::session(id(2)).in_dir("/usr/bin").fork_of(&id(9)).record("response_item", message).turn("x", "y"));
    let stderr = world.rejoin(["rewind", &id(2), "--slim"]).code(7).stderr();
    assert!(stderr.contains("the session is a fork or a sub-agent's") && stderr.contains("rejoin export"), "{stderr}");
}

#[test]
fn commands_offer_slim_for_large_session() {
    let world = World::with_agents();
    let path = world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("first", "one"));
    let mut text = std::fs::read_to_string(&path).expect("a transcript");
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": image()}});
    for number in 0..26 {
        let line = json!({"type": "user", "uuid": format!("i{number}"), "parentUuid": null, "sessionId": id(1), "cwd": "/usr/bin",
                          "message": {"role": "user", "content": [image]}, "timestamp": "2026-02-01T10:00:00Z"});
        text.push_str(&format!("{line}\n"));
    }
    std::fs::write(&path, text).expect("a transcript");
    age(&path);
    let command = format!("rejoin rewind claude:{} --slim", id(1));
    let shown = world.rejoin(["show", &id(1)]).code(0).stdout();
    assert!(shown.contains(&format!("`{command}`")), "{shown}");
    let report: DoctorReport = world.rejoin(["doctor", "--check", "large-session", "--json"]).code(0).json();
    assert_eq!(report.findings.len(), 1);
    assert!(format!("{report:?}").contains(&command), "{report:?}");
    // The new session replaces the large one in the report.
    world.rejoin(["rewind", &id(1), "--slim"]).code(0);
    let report: DoctorReport = world.rejoin(["doctor", "--check", "large-session", "--json"]).code(0).json();
    assert!(report.findings.is_empty(), "{report:?}");
    assert!(!world.rejoin(["show", &id(1)]).code(0).stdout().contains("--slim"));

    // An agent refuses a log that is longer than the longest string of Node.js.
    let world = World::with_agents();
    grow(&world);
    let [session] = <[_; 1]>::try_from(world.rejoin(["list", "--json"]).sessions()).expect("one session");
    let command = format!("rejoin rewind copilot:{} --slim", session.id);
    let refused = world.rejoin(["resume", &session.id]).code(7).stderr();
    assert!(refused.contains(&format!("run `{command}` for a session without")), "{refused}");
    let report: DoctorReport = world.rejoin(["doctor", "--check", "cannot-open", "--json"]).code(4).json();
    assert!(format!("{report:?}").contains(&command), "{report:?}");
}
