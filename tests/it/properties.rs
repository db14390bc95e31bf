//! Properties that hold for every directory, with any name.

use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::fixtures::{Amplifier, Claude, id, put};
use crate::world::World;

/// Returns a runner of few cases, because each runs the program: the default number divided by `part`. The parts of
/// names are chosen so that every special case occurs often.
fn cases(part: u32) -> TestRunner {
    let default = Config::default();
    TestRunner::new(Config { cases: default.cases / part, failure_persistence: None, ..default })
}

/// The name of a directory.
fn name() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        3 => "[a-zA-Z0-9_.-]{1,8}",
        3 => "[ '\"$`\\\\;&|<>*?#!~(){}%-]{1,4}",
        2 => prop::sample::select(vec!["ü", "日本", "🚀", "e\u{301}", "\u{a0}", "\u{202e}", "\n", "\t", "\u{1b}", "--", "a-b"]).prop_map(str::to_owned),
        1 => "[a-z]{60}",
    ];
    prop::collection::vec(part, 1..4)
        .prop_map(|parts| parts.concat())
        .prop_filter("names of this or the parent directory", |name| name != "." && name != "..")
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..4).prop_map(|names| names.join("/"))
}

/// Returns whether a file system accepts the project's name.
fn fits(dir: &Path) -> bool {
    dir.as_os_str().len() < 250
}

#[test]
fn list_shows_exactly_the_recorded_directory() {
    let outcome = cases(32).run(&prop::collection::vec(path(), 4), |paths| {
        let world = World::new();
        let dirs: Vec<String> = paths.iter().map(|path| format!("/no/such/{path}")).collect();
        for (n, dir) in (1..).zip(&dirs) {
            world.add(Claude::session(id(n)).in_dir(dir).turn("x", "y"));
            if fits(Path::new(dir)) {
                world.add(Amplifier::session(id(n)).in_dir(dir).turn("x", "y"));
            }
        }
        let listed = world.rejoin(["list", "--json"]).code(0).stderr_eq("").sessions();
        prop_assert!(listed.len() >= dirs.len());
        for session in listed {
            let n = usize::from_str_radix(&session.id[..8], 16).expect("a number");
            prop_assert_eq!(session.launch_path(), Some(dirs[n - 1].as_str()));
            prop_assert!(!session.health.contains(&"misfiled-session".to_owned()));
        }
        let lines = world.rejoin(["list"]).code(0).stdout();
        prop_assert!(lines.lines().all(|line| line.matches('\t').count() == 6));
        Ok(())
    });
    outcome.expect("every directory is kept");
}

#[test]
fn printed_command_enters_any_directory() {
    let outcome = cases(32).run(&path(), |path| {
        let world = World::with_agents();
        let dir = world.dir(&path);
        world.add(Claude::session(id(1)).in_dir(&dir).turn("x", "y"));
        if fits(&dir) {
            world.add(Amplifier::session(id(2)).in_dir(&dir).turn("x", "y"));
        }
        for session in world.rejoin(["list", "--json"]).code(0).sessions() {
            let answer = world.rejoin(["resume", &session.id, "--print"]);
            if answer.exit() == Some(7) {
                prop_assert!(answer.stderr().contains("cannot be printed"), "{}", answer.stderr());
                prop_assert!(path.contains(|c: char| c.is_control() || !c.is_ascii()), "{:?}", path);
                continue;
            }
            let line = answer.code(0).stdout();
            world.from(world.root()).run("sh", ["-c", line.strip_suffix('\n').expect("a line")]).code(0);
            let printed = world.launched().expect("a launch by the shell");
            world.rejoin(["resume", &session.id]).code(0);
            let launched = world.launched().expect("a launch");
            prop_assert_eq!(&printed.cwd, &dir);
            prop_assert_eq!(&launched.cwd, &dir);
            prop_assert_eq!(&printed.argv, &launched.argv);
            prop_assert_eq!(launched.variable("PWD"), dir.to_str());
        }
        Ok(())
    });
    outcome.expect("every directory is reached");
}

#[test]
fn backfill_normalizes_directory_with_dots() {
    let outcome = cases(64).run(&(name(), name()), |(first, second)| {
        let world = World::with_agents();
        let dir = world.dir(&first);
        let dotted = dir.join(".").join("..").join(&first);
        let session =
            world.add(Amplifier::session(id(1)).in_dir(&dir).metadata("working_dir", second.into()).turn("x", "y"));
        world.rejoin(["backfill".as_ref(), id(1).as_ref(), "--in".as_ref(), dotted.as_os_str()]).code(0);
        let text = std::fs::read_to_string(session.join("session-info.json")).expect("a file");
        let info: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        prop_assert_eq!(info["working_dir"].as_str(), dir.to_str());
        world.rejoin(["resume", &id(1)]).code(0);
        prop_assert_eq!(world.launched().expect("a launch").cwd, dir);
        Ok(())
    });
    outcome.expect("every directory is found again");
}

#[test]
fn list_survives_arbitrary_bytes() {
    let junk = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..400),
        "(\\{\"[a-z]{1,9}\":(null|7|\"x\"|\\{\\}|\\[\\])\\}\n?){0,9}".prop_map(String::into_bytes),
    ];
    let outcome = cases(32).run(&prop::collection::vec(junk, 5), |junk| {
        let world = World::new();
        world.add(Claude::session(id(1)).turn("sound", "x"));
        let project = world.home().join(".claude/projects/-home-ana-app");
        put(&project.join(format!("{}.jsonl", id(2))), &junk[0]);
        put(&world.home().join(".claude/sessions/5.json"), &junk[1]);
        let session = Amplifier::session(id(3)).file("metadata.json", &junk[2]).file("transcript.jsonl", &junk[3]);
        world.add(session.file("events.jsonl", &junk[4]).file("session-info.json", &junk[0]));
        let listed = world.rejoin(["list", "--all", "--counts", "--json"]).code(0).sessions();
        prop_assert_eq!(listed.len(), 3);
        for session in listed {
            world.rejoin(["show", &session.id, "--transcript"]).code(0);
        }
        Ok(())
    });
    outcome.expect("every listing ends well");
}

/// A record of Claude Code whose parent is the record `back` before it, or a line that is not a record of a
/// conversation.
#[derive(Clone, Debug)]
enum Line {
    Prompt { back: usize, text: String },
    Reply { back: usize, text: String },
    Error { back: usize },
    Leaf { back: usize },
    Other(&'static str),
}

fn line() -> impl Strategy<Value = Line> {
    let other = [
        "",
        "{\"type\":\"user\"",
        "null",
        "{\"type\":\"unheard-of\",\"uuid\":\"x\"}",
        "\u{0}\u{1}",
        "{\"type\":\"system\"}",
    ];
    prop_oneof![
        4 => (0..6_usize, "[a-z \u{202e}é\"\\\\]{0,12}").prop_map(|(back, text)| Line::Prompt { back, text }),
        4 => (0..3_usize, "[a-z \n]{0,12}").prop_map(|(back, text)| Line::Reply { back, text }),
        1 => (0..2_usize).prop_map(|back| Line::Error { back }),
        1 => (0..6_usize).prop_map(|back| Line::Leaf { back }),
        1 => prop::sample::select(other.to_vec()).prop_map(Line::Other),
    ]
}

/// Writes a transcript of these lines, with a half line at its end if it is torn.
fn transcript(lines: &[Line], is_torn: bool) -> String {
    let mut uuids: Vec<String> = Vec::new();
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        let uuid = format!("00000000-0000-4000-8000-{at:012}");
        let parent = |back: &usize| uuids.iter().rev().nth(*back).cloned();
        let time = format!("2026-02-01T10:{:02}:00.000Z", at % 60);
        let record = |kind: &str, parent: Option<String>, content: serde_json::Value, is_error: bool| {
            serde_json::json!({"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": id(1), "cwd": "/usr/bin",
                "timestamp": time, "isApiErrorMessage": is_error, "message": {"id": uuid, "role": kind, "content": content}})
        };
        let block = |text: &str| serde_json::json!([{"type": "text", "text": text}]);
        let (line, is_record) = match line {
            Line::Prompt { back, text } => {
                (record("user", parent(back), text.as_str().into(), false).to_string(), true)
            }
            Line::Reply { back, text } => (record("assistant", parent(back), block(text), false).to_string(), true),
            Line::Error { back } => {
                (record("assistant", parent(back), block("API Error: 400 invalid request"), true).to_string(), true)
            }
            Line::Leaf { back } => {
                let leaf = serde_json::json!({"type": "last-prompt", "leafUuid": parent(back), "sessionId": id(1)});
                (leaf.to_string(), false)
            }
            Line::Other(other) => ((*other).to_owned(), false),
        };
        if is_record {
            uuids.push(uuid.clone());
        }
        text.push_str(&line);
        text.push('\n');
    }
    text.push_str(if is_torn { "{\"type\":\"user\",\"mess" } else { "" });
    text
}

#[test]
fn no_derived_session_changes_the_original() {
    let cases_of = (prop::collection::vec(line(), 0..24), any::<bool>(), 0..12_usize, 1..4_usize);
    let outcome = cases(32).run(&cases_of, |(lines, is_torn, to, branch)| {
        let world = World::with_agents();
        world.install("codex", "");
        let path = world.home().join(".claude/projects/-usr-bin").join(format!("{}.jsonl", id(1)));
        put(&path, transcript(&lines, is_torn));
        let before = std::fs::read(&path).expect("a transcript");
        let modified = path.metadata().and_then(|file| file.modified()).expect("a time");
        let (to, branch) = (to.to_string(), branch.to_string());
        for args in [
            &["show", &id(1), "--branches"] as &[&str],
            &["show", &id(1), "--transcript", "--branch", &branch],
            &["show", &id(1), "--transcript", "--all-branches"],
            &["export", &id(1), "--all-branches"],
            &["search", "a", "--all"],
            &["rewind", &id(1), "--to", &to, "--dry-run"],
            &["rewind", &id(1), "--to", &to],
            &["rewind", &id(1), "--branch", &branch],
            &["rewind", &id(1)],
            &["resume", &id(1), "--with", "codex", "--print"],
            &["resume", &id(1), "--with", "codex", "--prompt", "go"],
            &["doctor"],
        ] {
            let answer = world.rejoin(args);
            prop_assert!(answer.exit().is_some_and(|code| code <= 7), "{args:?}: {:?}", answer.exit());
            prop_assert!(!answer.stderr().contains("a bug in rejoin"), "{args:?}: {}", answer.stderr());
            prop_assert!(std::fs::read(&path).expect("a transcript") == before, "{args:?}");
            prop_assert_eq!(path.metadata().and_then(|file| file.modified()).expect("a time"), modified);
        }
        Ok(())
    });
    outcome.expect("no byte is changed");
}
