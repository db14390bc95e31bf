//! Amplifier's conversation is saved after each tool and turn, and the agent always continues.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::world::World;

#[expect(clippy::needless_pass_by_value, reason = "messages are made where the event is")]
fn event(name: &str, dir: &Path, messages: Value) -> String {
    json!({"event": name, "session_dir": dir, "messages": messages, "data": {"tool": "bash"}}).to_string()
}

/// Sends an event and returns standard error.
#[track_caller]
fn send(world: &World, input: impl AsRef<[u8]> + Send) -> String {
    let answer = world.from(world.root()).fed(["hook", "amplifier"], input).code(0);
    assert_eq!(answer.stdout(), "{\"action\":\"continue\"}\n");
    answer.stderr()
}

fn identity(path: &Path) -> (u64, std::time::SystemTime) {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = path.metadata().expect("metadata");
    (metadata.ino(), metadata.modified().expect("a time"))
}

#[test]
fn hook_saves_growing_and_shrinking_transcript() {
    let world = World::new();
    let dir: PathBuf = world.root().join("made/for/it");
    let transcript = dir.join("transcript.jsonl");
    let read = || std::fs::read_to_string(&transcript).expect("a transcript");
    let mut messages = vec![
        json!({"role": "system", "content": "be good"}),
        json!({"role": "user", "content": "list files"}),
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "tool": "bash", "arguments": {}}]}),
        json!({"role": "tool", "tool_call_id": "c1", "content": "日本.txt"}),
    ];
    assert_eq!(send(&world, event("tool:post", &dir, json!(messages))), "");
    let lines: Vec<Value> = read().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines, messages[1..], "everything but the system's is there");
    assert!(read().contains("日本.txt"));

    let before = identity(&transcript);
    assert_eq!(send(&world, event("orchestrator:complete", &dir, json!(messages))), "");
    assert_eq!(identity(&transcript), before, "nothing changed, so nothing was written");

    messages.push(json!({"role": "assistant", "content": "One file."}));
    send(&world, event("orchestrator:complete", &dir, json!(messages)));
    assert_eq!(read().lines().count(), 4);

    // A compaction shortens the list.
    let compacted = json!([{"role": "user", "content": "summary"}, messages[4]]);
    send(&world, event("tool:post", &dir, compacted));
    assert_eq!(read().lines().count(), 2);

    // Equal numbers of messages do not mean equal conversations.
    send(&world, event("tool:post", &dir, json!([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}])));
    assert!(read().contains("\"b\""));

    send(&world, event("tool:post", &dir, json!([])));
    assert_eq!(read(), "");
    assert_eq!(dir.read_dir().expect("a listing").count(), 1, "no temporary file is left");
}

#[test]
fn hook_never_stops_the_agent() {
    let world = World::new();
    let dir = world.dir("session");
    let good = json!([{"role": "user", "content": "kept"}]);
    send(&world, event("tool:post", &dir, good.clone()));
    let transcript = dir.join("transcript.jsonl");
    let before = std::fs::read(&transcript).expect("a transcript");
    let file = world.root().join("file");
    std::fs::write(&file, "x").expect("a file");
    let elsewhere = |dir: Value| json!({"event": "tool:post", "session_dir": dir, "messages": good}).to_string();
    for input in [
        String::new(),
        "hello".to_owned(),
        "[]".to_owned(),
        "{}".to_owned(),
        event("tool:post", &dir, Value::Null),
        event("tool:post", &dir, json!({"role": "user"})),
        event("tool:post", Path::new("relative"), good.clone()),
        event("tool:post", &file.join("below"), good.clone()),
        elsewhere(json!(7)),
        elsewhere(json!("/a\u{0}b")),
        event("tool:post", &dir, good.clone()).trim_end_matches('}').to_owned(),
    ] {
        let stderr = send(&world, &input);
        assert!(stderr.starts_with("warning: ") && stderr.lines().count() == 1, "{input}: {stderr}");
        assert_eq!(std::fs::read(&transcript).expect("a transcript"), before, "{input}");
    }
    assert_eq!(send(&world, event("prompt:submit", &dir, json!([]))), "", "another event is no mistake");
    assert_eq!(std::fs::read(&transcript).expect("a transcript"), before);

    // Messages that are not objects are skipped, as in Amplifier.
    assert_eq!(send(&world, event("tool:post", &dir, json!(["x", good[0], null]))), "");
    assert_eq!(std::fs::read(&transcript).expect("a transcript"), before);

    // A link is not followed for writing.
    let target = world.root().join("target");
    std::fs::write(&target, "kept").expect("a file");
    std::fs::remove_file(&transcript).expect("a transcript to remove");
    std::os::unix::fs::symlink(&target, &transcript).expect("a link");
    assert!(send(&world, event("tool:post", &dir, good)).contains("symbolic link"));
    assert_eq!(std::fs::read(&target).expect("a file"), b"kept");
}

#[test]
fn hook_keeps_mode_and_owner_of_transcript() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let dir = world.dir("session");
    let mode = || dir.join("transcript.jsonl").metadata().expect("metadata").permissions().mode() & 0o777;
    send(&world, event("tool:post", &dir, json!([{"role": "user", "content": "a"}])));
    assert_eq!(mode(), 0o600);
    let requested = PermissionsExt::from_mode(0o640);
    std::fs::set_permissions(dir.join("transcript.jsonl"), requested).expect("a mode");
    send(&world, event("tool:post", &dir, json!([{"role": "user", "content": "b"}])));
    assert_eq!(mode(), 0o640);
}
