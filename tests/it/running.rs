//! `list --running`: sessions in use, with the process of each, its start and its state.

use std::fs::File;
use std::path::Path;

use serde_json::{Value, json};

use crate::codex::{Holder, lock};
use crate::contract::{Liveness, Process, Session, State};
use crate::fixtures::{Amplifier, Claude, Codex, Copilot, Qwen, id, put};
use crate::omp;
use crate::picker::leaves;
use crate::terminal::Seat;
use crate::world::{World, start_of};

fn running(world: &World) -> Vec<Session> {
    world.rejoin(["list", "--running", "--json"]).code(0).sessions()
}

fn only(world: &World) -> Process {
    let mut sessions = running(world);
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    sessions.remove(0).process.expect("a process")
}

/// Registers this process as a client of Claude Code, with more fields.
fn register(world: &World, session: &str, more: &Value) {
    let pid = std::process::id();
    let mut registration = json!({"pid": pid, "sessionId": session, "procStart": start_of(pid)});
    registration.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    put(&world.home().join(format!(".claude/sessions/{session}.json")), registration.to_string());
}

fn is_by_this_process(process: &Process) -> bool {
    let start: jiff::Timestamp = process.started_at.as_ref().expect("a start").parse().expect("a time");
    let age = jiff::Timestamp::now().as_second() - start.as_second();
    process.pid == Some(std::process::id()) && (-2..7200).contains(&age)
}

#[test]
fn claude_status_separates_working_from_waiting() {
    let world = World::new();
    let app = world.dir("app");
    world.add(Claude::session(id(1)).in_dir(&app).turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(&app).turn("idle", "y"));
    assert!(running(&world).is_empty());
    // The last message is a reply, so it decides only if there is no status.
    for (more, expected) in [
        (json!({"status": "busy"}), State::Working),
        (json!({"status": "idle"}), State::Waiting),
        (json!({"status": "shell"}), State::Unknown),
        (json!({"status": ""}), State::Unknown),
        (json!({"status": {"is": "busy"}}), State::Unknown),
        (json!({}), State::Waiting),
    ] {
        register(&world, &id(1), &more);
        let process = only(&world);
        assert_eq!(process.state, expected, "{more}");
        assert!(is_by_this_process(&process), "{process:?}");
    }
    let sessions = world.rejoin(["list", "--json"]).code(0).sessions();
    let states: Vec<_> = sessions.iter().map(|session| session.process.as_ref().map(|process| process.state)).collect();
    assert_eq!(states, [Some(State::Waiting), None], "every list in JSON has it");
}

#[test]
fn list_shows_unproven_process_with_recorded_state() {
    let world = World::new();
    world.add(Claude::session(id(1)).turn("x", "y"));
    for (more, expected) in
        [(json!({"procStart": null, "status": "busy"}), State::Working), (json!({"procStart": null}), State::Unknown)]
    {
        register(&world, &id(1), &more);
        let session = running(&world).remove(0);
        assert_eq!(session.liveness, Liveness::Maybe);
        let process = session.process.expect("a process");
        assert_eq!((process.pid, process.started_at, process.state), (None, None, expected));
    }
}

#[test]
fn codex_waits_after_answer_and_works_after_prompt() {
    let world = World::new();
    let waiting = Codex::session(id(1)).in_dir(world.dir("app")).turn("one", "1");
    let _holder = Holder::of(&lock(&world, &id(1)));
    for (session, expected) in [
        (waiting.clone(), State::Waiting),
        (waiting.clone().prompt("two"), State::Working),
        (waiting.prompt("two").tool("ls", "a.txt"), State::Working),
    ] {
        world.add(session);
        let process = only(&world);
        assert_eq!(process.state, expected);
        assert!(is_by_this_process(&process), "{process:?}");
    }
}

#[test]
fn qwen_code_works_after_prompt_until_answer() {
    let world = World::new();
    let pid = std::process::id();
    put(&world.home().join(".qwen/sessions/1.json"), json!({"pid": pid, "sessionId": id(1)}).to_string());
    world.add(Qwen::session(id(1)).turn("x", "y"));
    // Without the start time, the process may be another one with the same id.
    assert_eq!((running(&world)[0].liveness, only(&world).state), (Liveness::Maybe, State::Unknown));
    if cfg!(target_os = "linux") {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("a boot");
        let start = format!("{}:{}", boot.trim(), start_of(pid));
        let registration = json!({"pid": pid, "sessionId": id(1), "procStart": start});
        put(&world.home().join(".qwen/sessions/1.json"), registration.to_string());
        assert_eq!(only(&world).state, State::Waiting);
        world.add(Qwen::session(id(1)).turn("x", "y").prompt("z"));
        assert_eq!(only(&world).state, State::Working);
    }
}

#[test]
fn copilot_cli_works_after_prompt_until_answer() {
    let world = World::new();
    let pid = std::process::id();
    let session = || Copilot::session(id(1)).in_dir(world.dir("app")).turn("a", "b").used_by(pid);
    let dir = world.add(session());
    let hold = File::open(dir.join(format!("inuse.{pid}.hold"))).expect("a file");
    hold.lock().expect("a lock");
    assert_eq!(only(&world).state, State::Waiting);
    // Only this file changes; the lock does not.
    let other = World::new();
    let after = other.add(session().prompt("c")).join("events.jsonl");
    std::fs::copy(after, dir.join("events.jsonl")).expect("a file");
    let process = only(&world);
    assert_eq!(process.state, State::Working);
    assert!(is_by_this_process(&process), "{process:?}");
    hold.unlock().expect("an end");
    assert!(running(&world).is_empty());
}

#[test]
fn list_finds_process_with_open_file_without_lock() {
    let world = World::new().with_processes();
    let old = world.add(Codex::session(id(1)).in_old_words().in_dir(world.dir("app")).turn("one", "1"));
    let ours = omp::add(&world, "-app", &id(2), &omp::turn(&id(2), "/usr"));
    omp::add(&world, "-app", &id(3), &omp::turn(&id(3), "/usr"));
    let open = |path: &Path| File::options().append(true).open(path).expect("a file");
    let files = [open(&old), open(&ours)];
    let states: Vec<_> = running(&world)
        .into_iter()
        .map(|session| {
            let process = session.process.expect("a process");
            assert!(is_by_this_process(&process), "{process:?}");
            (session.id, process.state)
        })
        .collect();
    assert_eq!(states, [(id(1), State::Waiting), (id(2), State::Waiting)]);
    assert!(world.rejoin(["list", "--json"]).code(0).sessions().iter().all(|session| session.process.is_none()));
    let marked = |columns| {
        let table = world.on_terminal(columns, ["list", "--color", "never"]).code(0).stdout();
        let is_live = |word: &str| word.trim_end_matches(',') == "live" || (word.starts_with('L') && word.len() <= 3);
        table.lines().filter(|row| row.split_whitespace().any(is_live)).count()
    };
    assert_eq!([60, 80, 120, 200].map(marked), [2; 4], "the rows of a plain list have the same marks");
    drop(files);
    assert!(running(&world).is_empty());
    assert_eq!(marked(120), 0);
}

#[test]
fn open_file_outranks_recent_record() {
    let world = World::new().with_processes();
    let path = omp::add(&world, "-app", &id(1), &omp::turn(&id(1), "/usr"));
    let a_minute_later = || {
        let answer = world.with("REJOIN_NOW", "2026-02-01T10:03:00Z").rejoin(["list", "--running", "--json"]);
        answer.code(0).sessions().remove(0)
    };
    assert_eq!(a_minute_later().liveness, Liveness::Maybe);
    let _open = File::options().append(true).open(path).expect("a file");
    let session = a_minute_later();
    assert_eq!(session.liveness, Liveness::Live);
    assert!(is_by_this_process(&session.process.expect("a process")));
}

#[test]
fn recent_record_means_maybe_without_state() {
    let world = World::new();
    let event = r#"{"ts": "2026-03-01T11:59:30.000+00:00", "event": "llm:request", "data": {}}"#;
    let session = Amplifier::session(id(1)).in_dir(world.dir("app")).turn("x", "y");
    world.add(session.file("events.jsonl", format!("{event}\n")));
    let process = only(&world);
    assert_eq!((process.pid, process.started_at, process.state), (None, None, State::Unknown));
}

#[test]
fn running_list_respects_words_and_filters() {
    let world = World::new();
    let _holder = Holder::of(&lock(&world, &id(1)));
    world.add(Codex::session(id(1)).in_dir(world.dir("app")).turn("one", "1"));
    world.add(Claude::session(id(2)).in_dir(world.dir("other")).turn("two", "2"));
    register(&world, &id(2), &json!({"status": "idle"}));
    let ids = |args: &[&str]| {
        let answer = world.rejoin([&["list", "--running", "--fields", "id"], args].concat()).code(0).stdout();
        answer.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(ids(&[]).len(), 2);
    assert_eq!(ids(&["--agent", "codex"]), [id(1)]);
    assert_eq!(ids(&["two"]), [id(2)]);
    assert_eq!(ids(&["is:live", "--limit", "1"]).len(), 1);
    assert!(ids(&["three"]).is_empty());
    world.rejoin(["list", "--running", "--archived"]).code(2);
}

#[test]
fn is_live_finds_transcript_open_for_writing() {
    let world = World::new().with_processes();
    let path = world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("one", "1"));
    world.add(Claude::session(id(2)).in_dir("/usr/bin").turn("two", "2"));
    let ids = |word: &str| world.rejoin(["list", "--fields", "id", "--", word]).code(0).stdout();
    assert_eq!(ids("is:live"), "");
    let open = File::options().append(true).open(&path).expect("a transcript");
    assert_eq!(ids("is:live"), format!("{}\n", id(1)));
    assert_eq!(ids("-is:live"), format!("{}\n", id(2)));
    drop(open);
}

#[test]
fn picker_and_show_describe_the_process() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("Compare lists", "y"));
    register(&world, &id(1), &json!({"status": "idle"}));
    // The process started after the current time of this world.
    let holder = format!("process {}, started 2", std::process::id());
    let shown = world.rejoin(["show", &id(1)]).code(0).stdout();
    let line = shown.lines().find(|line| line.contains(&format!("yes, by {holder}")));
    assert!(line.is_some_and(|line| line.ends_with(", waits for you")), "{shown}");
    let mut command = world.from(world.dir("elsewhere")).command(env!("CARGO_BIN_EXE_rejoin"));
    command.arg("resume");
    let mut seat = Seat::run(&command, 120, 24);
    seat.shows(&format!("in use by {holder}"));
    seat.types("is:live waits");
    seat.shows("Compare lists  live, waits for you");
    seat.shows("1 of 1 session");
    leaves(seat, "\x1b", 130);
}

#[test]
fn terminal_shows_state_start_and_process() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("Compare lists", "y"));
    world.add(Claude::session(id(2)).in_dir("/usr/bin").turn("Sort lists", "y"));
    register(&world, &id(1), &json!({"status": "busy"}));
    let shown = world.on_terminal(100, ["list", "--running", "--color", "never"]).code(0).stdout();
    let lines: Vec<&str> = shown.lines().collect();
    let words = |line: &str| line.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(lines[0]), ["AGENT", "ID", "TITLE", "DIRECTORY", "ACTIVE", "STATE", "SINCE", "PID"], "{shown}");
    let row = words(lines[1]);
    assert_eq!(row.last(), Some(&std::process::id().to_string()), "{shown}");
    assert!(row.contains(&"working".to_owned()) && lines[1].contains("Compare lists"), "{shown}");
    assert!(!shown.contains("Sort lists") && !shown.contains("Marks:"), "{shown}");
    for columns in [60, 72, 80] {
        let shown = world.on_terminal(columns, ["list", "--running", "--color", "never"]).code(0).stdout();
        for head in ["TITLE", "STATE", "SINCE", "PID"] {
            assert!(shown.contains(head), "{columns} {head}: {shown}");
        }
    }
    let narrow = world.on_terminal(40, ["list", "--running"]).code(0).stdout();
    assert!(narrow.contains("working") && narrow.contains("PID") && !narrow.contains("DIRECTORY"), "{narrow}");
}

#[test]
fn piped_list_has_state_start_and_process() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr/bin").turn("Compare lists", "y"));
    register(&world, &id(1), &json!({"status": "idle"}));
    let line = world.rejoin(["list", "--running"]).code(0).stdout();
    let fields: Vec<&str> = line.trim_end().split('\t').collect();
    assert_eq!((fields.len(), fields[0], fields[5]), (8, "claude", "waiting"), "{line}");
    assert!(fields[6].parse::<jiff::Timestamp>().is_ok(), "{line}");
    assert_eq!(fields[7], std::process::id().to_string());
    let csv = world.rejoin(["list", "--fields", "state,since,pid", "--format", "csv"]).code(0).stdout();
    assert_eq!(csv, format!("state,since,pid\nwaiting,{},{}\n", fields[6], fields[7]));
}

#[test]
fn running_list_reports_when_empty() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr").turn("x", "y"));
    let answer = world.on_terminal(100, ["list", "--running"]).code(0).stdout_eq("");
    assert_eq!(answer.stderr(), "No session is in use, as far as the agents show it.\n");
}
