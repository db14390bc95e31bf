//! `show` of a transcript that is slow to read.

use std::fs::{self, File};
use std::io::Write as _;

use serde_json::{Value, json};

use crate::fixtures::{Claude, id};
use crate::world::World;

/// Larger than the largest transcript that is counted by default.
const HOLE: u64 = 80 * 1024 * 1024;

#[test]
fn show_reads_only_end_of_long_transcript() {
    let world = World::new();
    let path = world.add(Claude::session(id(1)).turn("begin", "yes").turn("go on", "sure"));
    let longer = Claude::session(id(1)).turn("begin", "yes").turn("go on", "sure").turn("is it done?", "it is");
    let longer = fs::read_to_string(world.add(longer.filed_under("-elsewhere"))).expect("a transcript");
    let end = longer.strip_prefix(&fs::read_to_string(&path).expect("a transcript")).expect("the same beginning");
    fs::remove_dir_all(world.home().join(".claude/projects/-elsewhere")).expect("no second copy");
    let mut file = File::options().append(true).open(&path).expect("a transcript");
    let length = file.metadata().expect("metadata").len();
    // A hole takes no space on the disk, and is a line without contents.
    file.set_len(length + HOLE).and_then(|()| write!(file, "\n{end}")).expect("a longer transcript");

    let shown: Value = world.rejoin(["show", &id(1), "--messages", "2", "--json"]).code(0).json();
    let texts: Vec<&Value> =
        shown["messages"].as_array().expect("messages").iter().map(|message| &message["text"]).collect();
    assert_eq!(texts, [&json!("is it done?"), &json!("it is")]);
    assert_eq!((&shown["session"]["prompts"], &shown["session"]["replies"]), (&Value::Null, &Value::Null));
    let page = world.rejoin(["show", &id(1)]).code(0).stdout();
    let counts = format!("rejoin show --counts claude:{}", id(1));
    assert!(page.contains(&format!("not counted, because that takes long; `{counts}` counts them")), "{page}");

    let counted: Value = world.rejoin(["show", "--counts", &id(1), "--json"]).code(0).json();
    assert_eq!((&counted["session"]["prompts"], &counted["session"]["replies"]), (&json!(3), &json!(3)));
    // Finds also more messages than the end of the file contains.
    let all: Value = world.rejoin(["show", &id(1), "--messages", "6", "--json"]).code(0).json();
    assert_eq!(all["messages"].as_array().expect("messages").len(), 6, "the hole has none");
}

#[test]
fn show_prints_agreeing_directory_once() {
    let world = World::new();
    let (app, other) = (world.dir("app"), world.dir("other"));
    world.add(Claude::session(id(1)).in_dir(&app).turn("x", "y"));
    let shown = world.rejoin(["show", &id(1)]).code(0).stdout();
    assert_eq!(shown.matches(&format!("{}  (", app.display())).count(), 1, "{shown}");
    assert!(shown.contains("; every record agrees)") && !shown.contains("started in"), "{shown}");
    let json: Value = world.rejoin(["show", &id(1), "--json"]).code(0).json();
    assert_eq!(json["session"]["start_dir"], json["session"]["last_dir"]);
    world.add(Claude::session(id(2)).in_dir(&app).turn("x", "y").cd(&other).turn("more", "z"));
    let shown = world.rejoin(["show", &id(2)]).code(0).stdout();
    assert!(shown.contains("started in") && shown.contains("last in"), "{shown}");
}

#[test]
fn show_does_not_suggest_itself() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(world.dir("app")).turn("x", "y").filed_under("-elsewhere"));
    let shown = world.rejoin(["show", &id(1)]).code(0).stdout();
    assert!(shown.contains("refused: ") && shown.contains("--trust`"), "{shown}");
    assert!(!shown.contains("check it with"), "{shown}");
    assert!(world.rejoin(["resume", &id(1)]).code(7).stderr().contains("check it with `rejoin show"));
}
