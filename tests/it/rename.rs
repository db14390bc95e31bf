//! `rename`: for agents that read a new title, and a refusal with the reason for all others.

use serde_json::Value;
use snapbox::str;

use crate::contract::changes::{Change, ChangeResult};
use crate::fixtures::{Amplifier, Claude, Codex, Gptme, Kimi, age_tree, id, put};
use crate::picture::picture_of_stores;
use crate::world::{World, start_of};

fn title(world: &World) -> Option<String> {
    world.rejoin(["list", "--all", "--json"]).code(0).sessions()[0].title.clone()
}

#[test]
fn rename_appends_claude_record_that_undo_removes() {
    let world = World::new();
    let path = world.add(Claude::session(id(1)).in_dir("/usr").title("before").turn("x", "y"));
    let before = picture_of_stores(&world.home());
    let text = std::fs::read_to_string(&path).expect("a transcript");
    let modified = path.metadata().and_then(|metadata| metadata.modified()).expect("a time");
    world.rejoin(["rename", &id(1), "Say \"hi\"", "--dry-run"]).code(0);
    assert_eq!(picture_of_stores(&world.home()), before, "a dry run writes nothing");
    world.rejoin(["rename", &id(1), "Say \"hi\""]).code(0).stdout_eq(str![[r#"
renamed  claude 00000001-aaaa-4aaa-8aaa-000000000001  Say "hi"
      ~/.claude/projects/-usr/00000001-aaaa-4aaa-8aaa-000000000001.jsonl  (replaced, the old version goes to the trash)
1 session renamed.
`rejoin undo 20260301-120000` undoes this.

"#]]);
    assert_eq!(title(&world).as_deref(), Some("Say \"hi\""));
    let renamed = std::fs::read_to_string(&path).expect("a transcript");
    let record = renamed.strip_prefix(&text).expect("everything else is as it was");
    assert_eq!(
        record,
        format!("{{\"customTitle\":\"Say \\\"hi\\\"\",\"sessionId\":\"{}\",\"type\":\"custom-title\"}}\n", id(1))
    );
    assert_eq!(path.metadata().and_then(|metadata| metadata.modified()).expect("a time"), modified);
    let undone = world.rejoin(["undo"]).code(0).stdout();
    assert!(undone.contains("000000000001  before\n"), "{undone}");
    assert_eq!(picture_of_stores(&world.home()), before);
}

#[test]
fn refused_undo_of_rename_suggests_the_old_title() {
    let world = World::new();
    let path = world.add(Claude::session(id(1)).in_dir("/usr").title("It was").turn("x", "y"));
    world.rejoin(["rename", &id(1), "Another"]).code(0);
    let text = std::fs::read_to_string(&path).expect("a transcript");
    put(&path, text.clone() + text.lines().next().expect("a record") + "\n");
    age_tree(&world.home());
    let stdout = world.rejoin(["undo", "--yes"]).code(7).stdout();
    let command = format!("`rejoin rename claude:{} 'It was'` gives it the old title.", id(1));
    assert!(stdout.contains(&command) && !stdout.contains("When the reason"), "{stdout}");
    world.rejoin(["rename", &format!("claude:{}", id(1)), "It was"]).code(0);
}

#[test]
fn rename_keeps_every_other_byte_of_kimi_state() {
    let world = World::new();
    let dir = world.add(Kimi::session(id(1)).in_dir("/usr").turn("x", "y"));
    let state = dir.join("state.json");
    put(&state, "{\n \"version\": 1,  \"custom_title\": \"x\", \"todos\": [1.10] }\n");
    let before = picture_of_stores(&world.home());
    world.rejoin(["rename", &id(1), "Another"]).code(0);
    let text = std::fs::read_to_string(&state).expect("a state");
    assert_eq!(text, "{\n \"version\": 1,  \"custom_title\": \"Another\", \"todos\": [1.10] }\n");
    assert_eq!(title(&world).as_deref(), Some("Another"));
    world.rejoin(["undo"]).code(0);
    assert_eq!(picture_of_stores(&world.home()), before);
    put(&state, "{}");
    let error = world.rejoin(["rename", &id(1), "Another", "--json"]).code(7).error();
    assert!(error.code == "not-renamable" && error.message.contains("has no title yet"), "{error:?}");
}

#[test]
fn rename_refuses_a_title_hidden_by_the_agent() {
    let world = World::new();
    world.add(Amplifier::session(id(1)).in_dir("/usr").turn("x", "y"));
    world.add(Codex::session(id(2)).in_dir("/usr").turn("x", "y"));
    world.add(Gptme::session("two-rivers").in_dir("/usr").turn("x", "y"));
    world.add(Claude::session(id(4)).in_dir("/usr").turn("x", "y").subagent("agent-a1", "look", "ok"));
    let before = picture_of_stores(&world.home());
    let why = |session: &str| world.rejoin(["rename", session, "New"]).code(7).stdout_eq("").stderr();
    assert!(why(&id(1)).contains("rejoin cannot rename Amplifier sessions; rename it in Amplifier"));
    assert!(why(&id(2)).contains("codex keeps titles in a database"));
    assert!(why("two-rivers").contains("`gptme-util chats rename two-rivers New`"), "{}", why("two-rivers"));
    assert!(why("agent-a1").contains("it is a sub-agent"));
    for wrong in ["", "  ", "two\nlines", "esc\x1b[2J", &"x".repeat(300)] {
        world.rejoin(["rename", &id(4), wrong]).code(2);
    }
    assert_eq!(picture_of_stores(&world.home()), before);
}

#[test]
fn rename_refuses_session_in_use() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr").turn("x", "y"));
    let pid = std::process::id();
    let live = serde_json::json!({"pid": pid, "sessionId": id(1), "cwd": "/usr", "procStart": start_of(pid)});
    put(&world.home().join(format!(".claude/sessions/{pid}.json")), live.to_string());
    let error = world.rejoin(["rename", &id(1), "New"]).code(7).stderr();
    assert!(error.contains(&format!("it is in use by process {pid}")), "{error}");
}

#[test]
fn rename_has_the_plan_of_every_change() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr").turn("x", "y"));
    let plan: Change = world.rejoin(["rename", &id(1), "New", "--dry-run", "--json"]).code(0).json();
    assert_eq!(
        (plan.verb.as_str(), plan.items[0].code.as_str(), plan.items[0].reason.as_deref()),
        ("rename", "title", Some("New"))
    );
    assert_eq!(plan.items[0].result, ChangeResult::Planned);
    world.rejoin(["rename", &id(1), "Other", "--apply", plan.fingerprint()]).code(7);
    let done: Change = world.rejoin(["rename", &id(1), "New", "--apply", plan.fingerprint(), "--json"]).code(0).json();
    assert_eq!(done.items[0].result, ChangeResult::Done);
    let shown: Value = world.rejoin(["show", &id(1), "--json"]).code(0).json();
    assert_eq!(shown["session"]["title"].as_str().or(shown["title"].as_str()), Some("New"));
}
