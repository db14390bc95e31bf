//! Hostile text in every field of every agent: no command passes it to a terminal, to the lines of a pipe or to a
//! shell.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::fixtures::{
    Amplifier, Claude, Codex, Copilot, Gemini, Gptme, Jido, Kimi, Leo, OldVibe, OpenHands, Pi, Qwen, Vibe, id,
    openhands_id, put,
};
use crate::world::{Answer, World};

/// Escape codes in both encodings, characters that reorder or hide text, other control characters, and a line that
/// imitates this program.
const HOSTILE: &str =
    "nice\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}[2J\u{9b}31m\u{85}\u{7f}\r\u{202e}txt.exe\u{200b}\u{feff}\u{e0041}\nFORGED\tx";
/// The codes of the styles that answers have.
const OWN_CODES: [&str; 4] = ["0", "1", "2", "38;5;163"];

fn is_hostile(c: char) -> bool {
    let reorders = matches!(c, '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    reorders || (c.is_control() && !matches!(c, '\n' | '\t'))
}

/// Checks that text has only lines, tabs and own colours, and that none of its lines is foreign.
#[track_caller]
fn assert_tame(what: &dyn std::fmt::Debug, text: &str) {
    let mut plain = text.to_owned();
    for code in OWN_CODES {
        plain = plain.replace(&format!("\u{1b}[{code}m"), "");
    }
    if let Some(at) = plain.find(is_hostile) {
        let around: String = plain[at..].chars().take(40).collect();
        panic!("{what:?}: {around:?} in\n{plain:?}");
    }
    assert!(plain.lines().all(|line| !line.starts_with("FORGED")), "{what:?}: {plain}");
}

#[track_caller]
fn assert_answer_is_tame(args: &[&str], answer: &Answer) {
    assert!(answer.exit().is_some_and(|code| code < 100 || code == 127), "{args:?} {:?}", answer.exit());
    assert_tame(&(args, "stdout"), &answer.stdout());
    assert_tame(&(args, "stderr"), &answer.stderr());
}

/// Adds a session of every agent with hostile text in every field, in a directory with a hostile name; returns that
/// directory.
fn fill(world: &World) -> PathBuf {
    let dir = world.dir(&format!("h\u{1b}[31m{HOSTILE}"));
    let h = HOSTILE;
    world.add(Claude::session(id(1)).in_dir(&dir).branch(h).title(h).turn(h, h).subagent("agent-a1", h, h));
    // Two different copies, so that they are compared and the choice is explained.
    world.add(Claude::session(id(2)).in_dir(&dir).ai_title(h).turn(h, h).turn("more", "ok"));
    world.add(Claude::session(id(2)).in_dir(&dir).filed_under("-elsewhere").turn(h, "other"));
    world.add(Claude::session(id(3)).in_dir(format!("/gone/{h}")).turn(h, h).torn());
    let amplifier = Amplifier::session(id(4)).in_dir(&dir).named(h).metadata("model", json!(h));
    world.add(amplifier.metadata("bundle", json!(h)).turn(h, h));
    world.add(Amplifier::session(id(5)).in_dir(&dir).session_info(format!("/other/{h}")).turn(h, h));
    world.add(Codex::session(id(6)).in_dir(&dir).meta("originator", json!(h)).turn(h, h).tool(h, h));
    world.add(Copilot::session(id(7)).in_dir(&dir).turn(h, h).call(h, h));
    world.add(Gemini::session(id(8)).in_dir(&dir).turn(h, h).summary(h));
    world.add(Gptme::session(format!("h{}", id(1))).in_dir(&dir).named(h).turn(h, h));
    world.add(Jido::session(id(9)).in_dir(&dir).key("name", json!("\u{1b}[2J\u{9b}31m\nFORGED")));
    world.add(Kimi::session(id(10)).in_dir(&dir).state("custom_title", json!(h)).turn(h, h));
    world.add(OpenHands::session(openhands_id(1)).in_dir(&dir).turn(h, h).call(h, h));
    world.add(Pi::session(id(11)).in_dir(&dir).named(h).turn(h, h));
    world.add(Qwen::session(id(12)).in_dir(&dir).branch(h).title(h).turn(h, h));
    world.add(Vibe::session(id(13)).in_dir(&dir).meta("title", json!(h)).turn(h, h));
    world.add(OldVibe::session(id(14)).in_dir(&dir).named(h).turn(h, h));
    world.add(Leo::pointer(&dir, h));
    world.add(Leo::pointer(world.dir("app"), &id(1)));
    fill_databases(world, &dir);
    let home = world.home();
    // Names of files that prevent others, and a settings.json that cannot be read.
    put(&home.join(".claude/projects").join(format!("-{}", h.replace('/', "-"))).join("bad\u{1b}[2J.jsonl"), "{");
    put(&dir.join(".claude/settings.json"), format!("{{\"{}\": [", h.replace('\n', " ")));
    put(&home.join(".claude/projects/-x/cat/sessions").join(format!("{}.cwd", id(1))), format!("/x/{h}"));
    dir
}

#[cfg(feature = "sqlite")]
fn fill_databases(world: &World, dir: &Path) {
    use crate::fixtures::{Crush, Goose, Hermes, OpenCode, hermes_id, opencode_id, register_crush};
    let h = HOSTILE;
    world.add(OpenCode::session(opencode_id(1)).in_dir(dir).title(h).turn(h, h));
    world.add(OpenCode::of_kilo(opencode_id(2)).in_dir(dir).title(h).turn(h, h));
    world.add(Hermes::session(hermes_id(1)).in_dir(dir).text("title", h).text("model_config", h).turn(h, h));
    world.add(Goose::session("20260201_1").in_dir(dir).column("description", h).turn(h, h));
    Crush::session(id(31)).turn(h, h).write_in(&dir.join(".crush"));
    register_crush(&world.home(), &[(dir, &dir.join(".crush"))]);
}

#[cfg(not(feature = "sqlite"))]
fn fill_databases(_world: &World, _dir: &Path) {}

/// All commands that read, and those that change something but keep the sessions.
const VERBS: [&[&str]; 49] = [
    &["list"],
    &["list", "--all", "--counts"],
    &["list", "--all", "--json"],
    &["list", "--format", "ndjson"],
    &["search", "nice"],
    &["search", "nice", "--json"],
    &["search", HOSTILE],
    &["show", "00000001"],
    &["show", "00000001", "--transcript"],
    &["show", "00000001", "--messages", "3", "--json"],
    &["show", "00000002"],
    &["show", HOSTILE],
    &["resume", "00000001"],
    &["resume", "00000001", "--print"],
    &["resume", "00000001", "--json"],
    &["resume", "00000003"],
    &["resume", "00000005"],
    &["resume", HOSTILE],
    &["resume", "00000001", "--in", HOSTILE],
    &["resume", "--last-launch"],
    &["resume", "--last-launch", "--json"],
    &["backfill", "--every", "--dry-run"],
    &["backfill", "--every", "--dry-run", "--json"],
    &["backfill", "--every"],
    &["doctor"],
    &["doctor", "--json"],
    &["doctor", "--fix", "--dry-run"],
    &["delete", "00000002", "--copy", "2", "--dry-run"],
    &["cleanup", "--older-than", "1d", "--dry-run"],
    &["cleanup", "--older-than", "1d", "--dry-run", "--json"],
    &["delete", "00000001", "--dry-run"],
    &["delete", HOSTILE, "--dry-run"],
    &["pin", "00000001"],
    &["pin", "--list"],
    &["pin", "--remove", "00000001"],
    &["archive", "--every", "--dry-run"],
    &["archive", "--every"],
    &["archive", "--verify"],
    &["list", "--archived"],
    &["list", "--archived", "--json"],
    &["show", "--archived", "00000001"],
    &["search", "--archived", "nice"],
    &["restore", "00000001", "--dry-run"],
    &["restore", HOSTILE],
    &["undo", HOSTILE],
    &["undo", "20260301-120000", HOSTILE],
    &["list", "--agent", HOSTILE],
    &[HOSTILE],
    &["help", HOSTILE],
];

/// Commands that remove and restore sessions, one after the other.
const CHANGES: [&[&str]; 11] = [
    &["delete", "00000001", "--yes"],
    &["undo", "--list"],
    &["undo", "--dry-run"],
    &["restore", "00000001", "--dry-run"],
    &["undo"],
    &["doctor", "--fix"],
    &["delete", "00000002", "--copy", "2"],
    &["cleanup", "--older-than", "1d", "--yes"],
    &["undo", "--list", "--json"],
    &["undo"],
    &["undo", "--purge", "--every", "--yes"],
];

#[test]
fn no_command_prints_hostile_text_unescaped() {
    let world = World::new();
    let dir = fill(&world);
    // A launch as an earlier version logged it.
    let launch = json!({"at": "2026-03-01T11:00:00Z", "agent": "claude", "id": HOSTILE, "path": HOSTILE, "dir": HOSTILE, "argv": ["claude", HOSTILE]});
    put(&world.home().join(".local/state/rejoin/launches.jsonl"), format!("{launch}\n"));
    for args in VERBS {
        let args: Vec<&str> = args.to_vec();
        assert_answer_is_tame(&args, &world.rejoin(&args));
        assert_answer_is_tame(&args, &world.on_terminal(100, &args));
    }
    for args in [
        &["list", "--here"][..],
        &["hook", "status"],
        &["hook", "install", "--scope", "project"],
        &["save", "leo", "--app-dir", ".", "--session-id", &id(1)],
        &["save", "leo", "--app-dir", ".", "--session-id", HOSTILE],
        &["save", "session-info", "--session-dir", "new", "--working-dir", "."],
        &["save", "transcript", "--session-dir", "new"],
        &["save", "jido"],
    ] {
        assert_answer_is_tame(args, &world.from(&dir).fed(args, HOSTILE));
    }
    for event in [json!({"hook_event_name": HOSTILE}), json!({"hook_event_name": "CwdChanged", "session_id": HOSTILE})]
    {
        assert_answer_is_tame(&["hook", "claude"], &world.from(&dir).fed(["hook", "claude"], event.to_string()));
    }
    for args in CHANGES {
        assert_answer_is_tame(args, &world.on_terminal(100, args));
        // Others may have written the contents of a journal.
        let runs = world.home().join(".local/state/rejoin/runs");
        for run in std::fs::read_dir(&runs).into_iter().flatten().map(|entry| entry.expect("an entry").path()) {
            let text = std::fs::read_to_string(&run).expect("a journal");
            let verb = serde_json::to_string(HOSTILE).expect("JSON");
            let text = ["delete", "cleanup", "doctor --fix"]
                .iter()
                .fold(text, |text, old| text.replace(&format!("\"verb\":\"{old}\""), &format!("\"verb\":{verb}")));
            std::fs::write(&run, text).expect("a journal");
        }
    }
}

#[test]
fn json_escapes_hostile_text_without_changing_it() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/h").title(HOSTILE).turn(HOSTILE, HOSTILE));
    let answer = world.rejoin(["list", "--json"]).code(0);
    assert!(!answer.stdout().contains(is_hostile), "{:?}", answer.stdout());
    assert_eq!(answer.sessions()[0].title.as_deref(), Some(HOSTILE));
    let lines = world.rejoin(["show", "latest", "--transcript", "--format", "ndjson"]).code(0).stdout();
    assert!(!lines.contains(is_hostile), "{lines:?}");
}

/// The shells for which `--print` writes commands, each with the options that run a line.
const SHELLS: [(&str, &[&str]); 6] = [
    ("sh", &["-c"]),
    ("dash", &["-c"]),
    ("bash", &["--norc", "-c"]),
    ("zsh", &["-f", "-c"]),
    ("fish", &["--no-config", "-c"]),
    ("pwsh", &["-NoProfile", "-NonInteractive", "-Command"]),
];

#[test]
#[expect(clippy::disallowed_macros, reason = "whoever runs the tests should know that a shell was passed over")]
fn print_gives_a_safe_command_for_every_shell() {
    for name in
        ["it's here", "a\\';touch PWNED #", "$(touch PWNED)`touch PWNED`", "\u{2019};touch PWNED;\u{201c}'\"", "-x y"]
    {
        let world = World::with_agents();
        let dir = world.dir(name);
        world.add(Claude::session(id(1)).in_dir(&dir).turn("x", "y"));
        let line = world.rejoin(["resume", &id(1), "--print", "--", name]).code(0).stdout();
        for (shell, options) in SHELLS {
            let is_there = ["/usr/bin", "/bin"].iter().any(|dir| Path::new(dir).join(shell).exists());
            if !is_there {
                println!("skipped: there is no {shell} here");
                continue;
            }
            let args: Vec<&str> = options.iter().copied().chain([line.trim_end()]).collect();
            let answer = world.from(world.root()).run(shell, &args);
            let made = walkdir::WalkDir::new(world.root()).into_iter().filter_map(Result::ok);
            assert!(made.into_iter().all(|entry| entry.file_name() != "PWNED"), "{shell}: {line}");
            if shell == "pwsh" {
                continue;
            }
            let launch = world.launched().unwrap_or_else(|| panic!("{shell}: {line}{}", answer.stderr()));
            assert_eq!(launch.cwd, dir, "{shell}: {line}");
            assert_eq!(launch.argv, ["claude", "--resume", &id(1), name], "{shell}: {line}");
        }
    }
}

#[test]
fn print_refuses_unprintable_command() {
    for name in ["a\u{1b}[2Jb", "a\u{9b}2Jb", "a\u{202e}b"] {
        let world = World::with_agents();
        let dir = world.dir(name);
        world.add(Claude::session(id(1)).in_dir(&dir).turn("x", "y"));
        world.rejoin(["resume", &id(1), "--print"]).code(7).stdout_eq("").stderr_eq(snapbox::str![[r#"
error: the command cannot be printed: a part of it holds control characters or is not UTF-8
hint: run it with `rejoin resume [..]`, or read it with `rejoin resume [..] --json`

"#]]);
        world.rejoin(["resume", &id(1)]).code(0);
        assert_eq!(world.launched().expect("a launch").cwd, dir);
    }
}

/// JavaScript writes half a character if a text is cut within one, and a killed agent may leave incomplete
/// UTF-8.
#[test]
fn show_prints_message_with_lone_surrogate() {
    let world = World::new();
    let claude =
        world.add(Claude::session(id(1)).in_dir("/usr").turn("alpha", "beta").turn("gamma HALF tail", "delta"));
    let codex = world.add(Codex::session(id(2)).in_dir("/usr").turn("gamma HALF tail", "delta").turn("alpha", "beta"));
    let pi = world.add(Pi::session(id(3)).in_dir("/usr").turn("gamma HALF tail", "delta"));
    for path in [claude, codex, pi] {
        let text = std::fs::read_to_string(&path).expect("a transcript").replace("HALF", "\\ud83d");
        std::fs::write(path, text).expect("a transcript");
    }
    for session in world.rejoin(["list", "--counts", "--json"]).code(0).sessions() {
        let turns = if session.id == id(3) { 1 } else { 2 };
        assert_eq!((session.prompts, session.replies), (Some(turns), Some(turns)), "{}", session.id);
        assert_eq!(session.health.len(), 0, "{}: {:?}", session.id, session.health);
        let shown = world.rejoin(["show", &session.id, "--transcript"]).code(0).stdout();
        assert!(shown.contains("gamma \u{fffd} tail"), "{shown}");
    }
    let found = world.rejoin(["search", "gamma", "--json"]).code(0).json::<crate::contract::search::Search>();
    assert_eq!(found.sessions.len(), 3);
}
