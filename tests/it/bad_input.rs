//! Broken, huge or hostile files cause one warning each; all other sessions are listed in little memory.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::fixtures::link;
use crate::fixtures::{Amplifier, Claude, Kimi, age, claude_slug, id, put};
use crate::world::{MAX_KIB, World, tries_every_case};

/// Returns the size of the largest files: 2 GiB, or 256 MiB in the sample, which still exceeds the memory limit.
fn huge() -> u64 {
    if tries_every_case() { 2 << 30 } else { 256 << 20 }
}

/// Appends a hole and then a line.
fn grow(path: &Path, len: u64, line: &str) {
    let mut file = File::options().write(true).open(path).expect("a file");
    file.seek(SeekFrom::Start(len)).expect("a place behind the end");
    file.write_all(line.as_bytes()).expect("the end of the file");
    drop(file);
    age(path);
}

/// Appends one record that is complete and valid JSON, of 200 MiB, or of 96 MiB in the sample.
fn append_long_record(path: &Path) {
    let mut file = File::options().append(true).open(path).expect("a file");
    file.write_all(br#"{"type":"user","message":{"role":"user","content":""#).expect("a beginning");
    let part = vec![b'x'; 1024 * 1024];
    (0..if tries_every_case() { 200 } else { 96 }).for_each(|_| file.write_all(&part).expect("a part"));
    file.write_all(b"\"}}\n").expect("an end");
    drop(file);
    age(path);
}

const HOSTILE: &str = "nice\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}[2J\u{9b}31m\r\u{202e}txt.exe\u{200b}\nline two\ttabbed\u{0}";

/// Fills a home with every kind of broken file. Returns the ids that must still be listed, and the paths that warnings
/// may name.
fn fill(world: &World) -> (Vec<String>, Vec<PathBuf>) {
    let home = world.home();
    let (amplifier, claude) = (home.join(".amplifier/projects"), home.join(".claude/projects"));
    let mut bad = Vec::new();

    // Valid sessions before, between and after the others.
    world.add(Amplifier::session(id(1)).in_dir("/a/first").turn("sound", "yes"));
    world.add(Claude::session(id(2)).in_dir("/a/first").turn("sound", "yes"));
    world.add(Claude::session(id(3)).in_dir("/z/last").turn("sound", "yes"));

    // Corrupt JSON in each of the small files, and in each line of a transcript.
    world.add(Amplifier::session(id(4)).in_dir("/c").file("metadata.json", "{\"name\": \u{0}").turn("corrupt", "x"));
    world
        .add(Amplifier::session(id(5)).in_dir("/c").file("session-info.json", [0xff, 0xfe, b'{']).turn("corrupt", "x"));
    world.add(
        Amplifier::session(id(6)).in_dir("/c").file("transcript.jsonl", "{]\n\u{0}\u{0}\n").file("events.jsonl", "[["),
    );
    put(&home.join(".amplifier/server/slack-sessions.json"), "[{]");
    put(&home.join(".claude/sessions/7.json"), "{\"pid\":");
    put(&home.join(".claude/projects/-c").join(format!("{}.jsonl", id(7))), "no json\n{\n\n[1,2]\n7\n");
    bad.extend([home.join(".amplifier/server/slack-sessions.json"), home.join(".claude/sessions/7.json")]);
    bad.extend([amplifier.join("-c"), claude.join("-c")]);

    // FIFOs in place of files: opening one would block forever.
    let fifos = [
        claude.join("-c").join(format!("{}.jsonl", id(8))),
        world
            .add(Amplifier::session(id(9)).in_dir("/fifo").without("transcript.jsonl").turn("a", "b"))
            .join("transcript.jsonl"),
        world
            .add(Amplifier::session(id(10)).in_dir("/fifo").events_only().without("events.jsonl"))
            .join("metadata.json"),
        home.join(".claude/sessions/8.json"),
        home.join(".amplifier/server/teams-sessions.json"),
    ];
    let made = Command::new("mkfifo").args(&fifos).status().expect("mkfifo");
    assert!(made.success());
    bad.extend(fifos.iter().cloned());
    bad.push(amplifier.join("-fifo"));

    // Circular links, and links out of the store.
    link(&claude, &claude.join("-loop"));
    link(&claude.join("-loop2"), &claude.join("-loop2"));
    link(Path::new("/etc/passwd"), &claude.join("-c").join(format!("{}.jsonl", id(11))));
    let side = world
        .add(Claude::session(id(12)).in_dir("/l").turn("links", "x").subagent("agent-a", "x", "y"))
        .with_extension("");
    link(&side, &side.join("subagents/again"));
    link(&amplifier, &amplifier.join("-c/sessions").join(id(13)));
    bad.extend([claude.join("-loop"), claude.join("-loop2"), claude.join("-c"), side, amplifier.join("-c")]);

    // A file far above the limit.
    let largest = world.add(Claude::session(id(14)).in_dir("/big").turn("huge", "x"));
    let last = std::fs::read_to_string(&largest).expect("a transcript");
    grow(&largest, huge(), &format!("\n{last}"));
    append_long_record(&world.add(Claude::session(id(15)).in_dir("/big").turn("long line", "x")));
    let session = world.add(Amplifier::session(id(16)).in_dir("/big").turn("huge log", "x"));
    grow(&session.join("events.jsonl"), huge(), "\n");
    grow(&session.join("transcript.jsonl"), 256 << 20, "\n");
    let session = Amplifier::session(id(17)).in_dir("/big").file("session-info.json", "{");
    let session = world.add(session.turn("huge info", "x"));
    grow(&session.join("session-info.json"), huge() / 2, "}");
    bad.extend([claude.join("-big"), amplifier.join("-big")]);

    // Names that are not valid text.
    let name = OsStr::from_bytes(b"caf\xe9.jsonl");
    put(&claude.join("-c").join(name), "{}\n");
    put(&claude.join(OsStr::from_bytes(b"-caf\xe9")).join(format!("{}.jsonl", id(18))), "{}\n");
    put(&amplifier.join("-c/sessions").join(OsStr::from_bytes(b"caf\xe9")).join("metadata.json"), "{}\n");
    bad.push(claude.join("-caf\u{fffd}"));

    // Text that a terminal interprets.
    world.add(Claude::session(id(19)).in_dir("/h\u{1b}[31m").title(HOSTILE).turn(HOSTILE, HOSTILE));
    world.add(Amplifier::session(id(20)).in_dir("/h").named(HOSTILE).turn(HOSTILE, HOSTILE));

    if !rustix::process::geteuid().is_root() {
        let closed = world.add(Claude::session(id(21)).in_dir("/closed").turn("x", "y"));
        let closed = closed.parent().expect("a directory").to_owned();
        std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o000)).expect("a mode");
        bad.push(closed);
    }
    let listed = [1, 2, 3, 4, 5, 12, 14, 15, 16, 17, 19, 20].map(id).to_vec();
    (listed, bad)
}

fn open_again(world: &World) {
    let closed = world.home().join(".claude/projects").join(claude_slug("/closed"));
    if closed.exists() {
        std::fs::set_permissions(closed, PermissionsExt::from_mode(0o755)).expect("a mode");
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "needs names and memory figures of Linux")]
fn commands_survive_every_kind_of_damage() {
    let world = World::new();
    let (sound, bad) = fill(&world);
    for args in [&["list"][..], &["list", "--all", "--counts"]] {
        let (lines, peak) = world.measured(args);
        let lines = lines.code(0);
        assert!((1..MAX_KIB).contains(&peak), "{args:?} took {peak} KiB");
        let stderr = lines.stderr();
        let printed = lines.stdout();
        for id in &sound {
            assert_eq!(printed.matches(&format!("\t{id}\t")).count(), 1, "{id} in {args:?}\n{printed}\n{stderr}");
        }
        assert!(!printed.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}', '\u{200b}', '\r', '\u{0}']), "{printed:?}");
        let tabs = if args.contains(&"--counts") { 8 } else { 6 };
        assert!(printed.lines().all(|line| line.matches('\t').count() == tabs), "{printed}");
        assert!(!stderr.contains(['\u{1b}', '\u{7}']), "{stderr:?}");
        let mut warned: Vec<&str> = stderr.lines().collect();
        for line in &warned {
            assert!(line.starts_with("warning: cannot read "), "{line}");
            assert!(bad.iter().any(|path| line.contains(&*path.to_string_lossy())), "nothing is wrong here: {line}");
        }
        warned.sort_unstable();
        let count = warned.len();
        warned.dedup();
        assert_eq!(warned.len(), count, "a warning is repeated:\n{stderr}");
    }
    let list = world.rejoin(["list", "--json"]).code(0);
    let ids: Vec<String> = list.sessions().into_iter().map(|session| session.id).collect();
    assert!(sound.iter().all(|id| ids.contains(id)), "{ids:?}");
    let lines = world.rejoin(["list", "--format", "ndjson"]).code(0).stdout();
    assert!(lines.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    let (found, peak) = world.measured(["search", "a", "--all", "--matches", "1000"]);
    assert!((1..MAX_KIB).contains(&peak), "{peak} KiB");
    let printed = found.code(0).stdout();
    assert!(!printed.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}', '\u{200b}', '\r', '\u{0}']), "{printed:?}");
    assert!(printed.lines().count() > 3, "{printed}");
    assert!(printed.lines().all(|line| line.matches('\t').count() == 4), "{printed}");
    open_again(&world);
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "reads memory figures of Linux")]
fn show_streams_huge_transcript_in_little_memory() {
    let world = World::new();
    let path = world.add(Claude::session(id(1)).in_dir("/big").turn("the first prompt", "x"));
    let records = std::fs::read_to_string(&path).expect("a transcript");
    grow(
        &path,
        huge(),
        &format!(
            "\n{}",
            records.replace("the first prompt", "the last prompt").replace(&format!("{}-", id(1)), "new-")
        ),
    );
    let (answer, peak) = world.measured(["show", "latest", "--messages", "2"]);
    let printed = answer.code(0).stdout();
    assert!(printed.contains("the first prompt") && printed.contains("the last prompt"), "{printed}");
    assert!((1..MAX_KIB).contains(&peak), "{peak} KiB");
}

#[test]
fn all_output_escapes_hostile_text() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/h\u{1b}[31m").title(HOSTILE).turn(HOSTILE, HOSTILE));
    let app = world.dir("app");
    world.add(crate::fixtures::Leo::pointer(&app, "\u{1b}[2J"));
    for args in [
        &["list"][..],
        &["show", "latest"],
        &["show", "latest", "--transcript"],
        &["show", "latest", "--messages", "5"],
        &["resume", "latest"],
        &["show", "\u{1b}[2Jnone"],
        &["resume", app.to_str().expect("a path")],
    ] {
        let answer = world.rejoin(args);
        for text in [answer.stdout(), answer.stderr()] {
            assert!(
                !text.contains(['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}', '\u{200b}', '\u{0}']),
                "{args:?}: {text:?}"
            );
        }
    }
    let sessions = world.rejoin(["list", "--json"]).code(0).sessions();
    assert_eq!(sessions[0].title.as_deref(), Some(HOSTILE), "JSON keeps the text as it is");
}

#[test]
fn row_is_one_line_with_any_title() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/h").title(HOSTILE).turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir("/h").title(&"very long ".repeat(100)).turn("x", "y"));
    world.add(Claude::session(id(3)).in_dir(format!("/{}", "d/".repeat(150))).title("宽字符🚀").turn("x", "y"));
    for columns in [80, 200] {
        let printed = world.on_terminal(columns, ["list"]).code(0).stdout();
        assert_eq!(printed.lines().count(), 4, "{columns} columns:\n{printed}");
        assert!(!printed.contains(['\u{7}', '\u{9b}', '\u{202e}', '\u{200b}', '\u{0}']), "{printed:?}");
        assert!(!printed.contains("\u{1b}]52") && !printed.contains("\u{1b}[2J"), "{printed:?}");
    }
}

#[test]
fn file_instead_of_store_affects_no_other_agent() {
    let world = World::new();
    put(&world.home().join(".amplifier"), "not a directory");
    put(&world.home().join(".claude/sessions"), "not a directory");
    world.add(Claude::session(id(1)).turn("sound", "yes"));
    assert_eq!(world.rejoin(["list", "--json"]).code(0).sessions().len(), 1);
}

#[test]
fn reader_skips_records_of_unexpected_types() {
    let world = World::new();
    let odd = [
        json!({"cwd": 7, "timestamp": {}, "gitBranch": [], "uuid": null, "isSidechain": "yes", "message": "text"}),
        json!({"cwd": null, "timestamp": "yesterday", "message": {"content": {"type": "text"}}}),
        json!({"message": {"content": [null, 7, "x", {"type": 5}, {"type": "text", "text": {}}]}}),
    ];
    let session = odd.iter().fold(Claude::session(id(1)).turn("sound", "yes"), |session, record| {
        session.record("user", record).record("assistant", record).record("custom-title", &json!({"customTitle": 7}))
    });
    world.add(session);
    let sessions = world.rejoin(["list", "--counts", "--json"]).code(0).stderr_eq("").sessions();
    assert_eq!(sessions[0].first_prompt.as_deref(), Some("sound"));
    assert_eq!(sessions[0].title, None);
    assert_eq!(sessions[0].last_dir.as_deref(), Some("/home/ana/app"));
}

#[test]
fn extreme_clocks_break_no_command() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("a", "b"));
    let commands = [
        &["list"][..],
        &["list", "--since", "3d"],
        &["stats"],
        &["stats", "--by", "day"],
        &["agents"],
        &["doctor"],
        &["doctor", "--expiring", "4000000"],
        &["archive", "--expiring", "7", "--dry-run"],
        &["archive", "--expiring", "4000000", "--dry-run"],
        &["cleanup", "--older-than", "1d", "--dry-run"],
        &["delete", &id(1), "--yes", "--lock-timeout", "1000000000y"],
        &["undo"],
        &["hook", "status"],
        &["resume", &id(1), "--print"],
        &["search", "a"],
        &["show", &id(1)],
    ]
    .map(|args| args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>());
    for now in ["9999-12-30T22:00:00Z", "1970-01-01T00:00:00Z", "-009999-01-02T01:59:59Z"] {
        for args in &commands {
            let answer = world.with("REJOIN_NOW", now).rejoin(args);
            assert!(answer.exit().is_some_and(|code| code < 100), "{now} {args:?}: {}", answer.stderr());
            assert!(!answer.stderr().contains("panicked"), "{now} {args:?}: {}", answer.stderr());
        }
    }
}

#[test]
fn move_refuses_overlong_name_without_traces() {
    let world = World::new();
    let from = world.dir("app");
    world.add(Amplifier::session(id(1)).in_dir(&from).session_info(&from).turn("a", "b"));
    world.add(Claude::session(id(2)).in_dir(&from).turn("a", "b"));
    // One name that is too long, and a path of many parts that an agent joins to one name.
    for (to, is_possible) in [("x".repeat(300), false), ([&*"x".repeat(100); 3].join("/"), true)] {
        let map = format!("{}={}/{to}", from.display(), world.root().display());
        for how in ["--dry-run", "--yes"] {
            let answer = world.rejoin(["move", "--map", &map, how]);
            let output = answer.stdout() + &answer.stderr();
            assert!(output.contains("longer than 255 bytes"), "{output}");
            assert!(output.contains(&format!("claude {}", id(2))), "{output}");
            assert_eq!(
                output.contains("moved  claude") || output.contains("would move  claude"),
                is_possible,
                "{output}"
            );
        }
        if is_possible {
            world.rejoin(["undo"]).code(0);
        }
        assert!(world.rejoin(["doctor", "--check", "interrupted-run"]).code(0).stdout().contains("No problems found"));
        let names = walkdir::WalkDir::new(world.home()).into_iter().map(|entry| entry.expect("an entry"));
        assert!(!names.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with(".rejoin")));
    }
}

#[test]
fn time_zone_file_must_be_regular_and_finite() {
    let world = World::new();
    world.add(Claude::session(id(1)).at("2026-02-01T22:00:00Z").turn("a", "b"));
    let list = |zone: &str| {
        let words = "mkfifo zone 2>/dev/null; TZ=$1 timeout 20 \"$0\" list --since 2026-02-02 --fields id";
        world.from(world.root()).run("sh", ["-c", words, env!("CARGO_BIN_EXE_rejoin"), zone])
    };
    let fifo = world.root().join("zone").display().to_string();
    let colon = format!(":{fifo}");
    for (zone, path) in [(&*fifo, "[ROOT]/zone"), (&colon, "[ROOT]/zone"), ("/dev", "/dev"), ("/dev/null", "/dev/null")]
    {
        let expected = format!(
            "error: TZ is {path}, which is not the file of a time zone\n\
             hint: set TZ to a name such as Europe/Berlin, or unset it\n"
        );
        list(zone).code(2).stderr_eq(expected);
    }
    // A relative value is a name, whatever is in the current directory.
    for zone in ["zone", "./zone", ":zone", "UTC", "", "\u{1}"] {
        list(zone).code(0).stdout_eq("");
    }
    for zone in ["Asia/Tokyo", ":Asia/Tokyo", "JST-9", "/usr/share/zoneinfo/Asia/Tokyo"] {
        list(zone).code(0).stdout_eq(format!("{}\n", id(1)));
    }
}

#[test]
fn error_names_file_of_unreadable_session() {
    let world = World::new();
    let wire = world.add(Kimi::session(id(1)).turn("x", "y")).join("wire.jsonl");
    std::fs::remove_file(&wire).expect("a removal");
    std::fs::create_dir(&wire).expect("a directory");
    // This problem comes first.
    let circle = world.home().join(".claude/projects/-circle");
    world.dir("home/.claude/projects");
    link(&circle, &circle);
    assert!(world.rejoin(["list"]).code(0).stderr().contains("-circle"));
    let error = world.rejoin(["show", "00000001"]).code(1).stderr();
    let expected = format!("error: cannot read session {}: cannot read {}: ", id(1), wire.display());
    assert!(error.starts_with(&expected), "{error}");
}
