//! Scripts: their input is complete, and a reader may stop early.

use std::io::Read as _;
use std::process::Stdio;

use serde_json::Value;

use crate::contract::{ErrorKind, ListKind, SessionList, Version};
use crate::fixtures::{Amplifier, Claude, id};
use crate::world::World;

#[test]
fn script_reads_the_ids_from_json() {
    let world = World::new();
    world.add(Amplifier::session(id(1)).at("2026-02-01T10:00:00Z").turn("one", "1"));
    world.add(Claude::session(id(2)).at("2026-02-03T10:00:00Z").turn("two", "2"));
    world.add(Amplifier::session(id(3)).at("2026-02-02T10:00:00Z").turn("three", "3"));
    // As `jq -r '.sessions[].id'` does it.
    let answer: Value = serde_json::from_str(&world.rejoin(["list", "--json"]).code(0).stdout()).expect("JSON");
    let ids: Vec<&str> =
        answer["sessions"].as_array().expect("an array").iter().filter_map(|s| s["id"].as_str()).collect();
    assert_eq!(ids, [id(2), id(3), id(1)], "newest activity first, ids in full");
}

#[test]
fn closed_pipe_after_one_line_is_success() {
    let world = World::new();
    let prompt = "a prompt of some length, so that a pipe cannot hold the whole answer. ".repeat(4);
    for n in 1..=2000 {
        world.add(Claude::session(id(n)).prompt(&prompt));
    }
    for args in [&["list"][..], &["list", "--json"], &["list", "--format", "ndjson"]] {
        leaves_early(&world, args);
    }
}

#[test]
fn closed_pipe_during_transcript_is_success() {
    let world = World::new();
    world.add((0..3000).fold(Claude::session(id(1)), |session, _| session.turn("why?", &"because ".repeat(10))));
    leaves_early(&world, &["show", "latest", "--transcript"]);
}

/// Reads a few bytes of an answer and closes the pipe.
pub(crate) fn leaves_early(world: &World, args: &[&str]) {
    let mut command = world.from(world.home()).command(env!("CARGO_BIN_EXE_rejoin"));
    let command = command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("a running program");
    let mut first = [0; 64];
    let mut stdout = child.stdout.take().expect("a pipe");
    stdout.read_exact(&mut first).expect("the beginning of an answer");
    drop(stdout);
    let mut text = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut text).expect("text");
    assert_eq!(text, "", "{args:?}");
    assert_eq!(child.wait().expect("an end").code(), Some(0), "{args:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn full_disk_error_names_standard_output() {
    let world = World::new();
    world.add(Claude::session(id(1)).turn("x", "y"));
    for args in [&["list"][..], &["show", "latest"], &["help", "words"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("a device");
        let output = world.from(world.home()).command(env!("CARGO_BIN_EXE_rejoin")).args(args).stdout(full).output();
        let output = output.expect("a run");
        let error = "error: cannot write to standard output: no space left on device\n";
        assert_eq!(String::from_utf8_lossy(&output.stderr), error, "{args:?}");
        assert_eq!(output.status.code(), Some(1), "{args:?}");
    }
}

#[test]
fn empty_home_gives_complete_json() {
    let world = World::new();
    let list: SessionList = world.rejoin(["list", "--json"]).code(0).stderr_eq("").json();
    assert_eq!((list.format_version, list.kind), (Version::One, ListKind::SessionList));
    assert!(list.sessions.is_empty() && list.dangling_pointers.is_empty() && list.problems.is_empty());
    assert_eq!((list.hidden, list.beyond_limit), (0, 0));
    world.rejoin(["list"]).code(0).stdout_eq("").stderr_eq("");
    let lines = world.rejoin(["list", "--format", "ndjson"]).code(0).stdout();
    assert_eq!(lines.lines().count(), 2, "a header and a summary");
}

#[test]
fn missing_home_is_an_error() {
    let world = World::new();
    let missing = world.root().join("no such home");
    let home = missing.to_str().expect("a path");
    let message = format!("cannot use {home} as a home directory: no such file or directory");

    let answer = world.rejoin(["--home", home, "list"]).code(1).stdout_eq("");
    assert!(answer.stderr().starts_with(&format!("error: {message}\n")), "{}", answer.stderr());

    let error = world.rejoin(["--home", home, "list", "--json"]).code(1).stdout_eq("").error();
    assert_eq!((error.kind, error.exit), (ErrorKind::Error, 1));
    assert_eq!(error.message, message);
    assert!(error.hint.is_some());

    let answer = world.with("HOME", &missing).rejoin(["list"]).code(1);
    assert!(answer.stderr().contains(&format!("the home directory {home} does not exist")), "{}", answer.stderr());
    for args in [&["help", "words"][..], &["help", "list"], &["completions", "bash"]] {
        let answer = world.with("HOME", &missing).rejoin(args).code(0).stderr_eq("");
        assert!(!answer.stdout().is_empty(), "{args:?}");
    }
}

#[test]
fn file_as_home_is_an_error() {
    let world = World::new();
    let file = world.root().join("file");
    crate::fixtures::put(&file, "");
    let answer = world.rejoin(["--home", file.to_str().expect("a path"), "list"]).code(1);
    assert!(answer.stderr().contains("it is not a directory"), "{}", answer.stderr());
}

#[test]
fn usage_error_exits_with_2_and_reason() {
    let world = World::new();
    for (args, word) in [
        (&["list", "--agent", "nobody"][..], "nobody"),
        (&["list", "--since", "soon"], "soon"),
        (&["list", "--older-than=-3d"], "-3d"),
        (&["list", "--format", "xml"], "xml"),
        (&["list", "--here", "--dir", "/x"], "--dir"),
        (&["show", ""], "empty"),
        (&["show"], "SESSION"),
        (&["resume", "x", "--json", "--print"], "--print"),
        (&["backfill"], "SESSION"),
        (&["frobnicate"], "frobnicate"),
        (&["help", "frobnicate"], "frobnicate"),
    ] {
        let answer = world.rejoin(args).code(2).stdout_eq("");
        assert!(answer.stderr().contains(word), "{args:?}: {}", answer.stderr());
    }
}

#[test]
fn help_documents_exit_codes() {
    let world = World::new();
    world.rejoin(["help", "exit-codes"]).code(0).stdout_eq(snapbox::str![[r#"
The exit codes of rejoin:

    0  done; an empty list is success
    1  failed, or you answered no and nothing was changed
    2  wrong usage, a mistake in the config file, or a removal without --yes and without a terminal to ask on
    3  partly done: some items failed or were refused, or a host did not answer; the rest were done
    4  `doctor` found an error or a warning, `archive --verify` found damage, or `cleanup --dry-run --exit-code` found something to do
    5  no such session
    6  ambiguous: several sessions match, or the evidence cannot rank several copies; the candidates are listed
    7  refused: the launch directory is unknown, gone or not trusted; the session is live elsewhere, was resumed too often, or cannot be resumed or removed; a cleanup looks like a mistake, or a plan has changed
  101  a bug in rejoin ended it: please report it
  126  the agent's program cannot be run
  127  the agent's program is not found
  130  interrupted

A successful `rejoin resume` becomes the agent, so its status is the agent's.
With --wait, an agent that a signal killed gives 128 and the signal's number.

"#]]);
    let page = crate::manual::page("rejoin-resume");
    for code in
        ["\n0\n", "\n1\n", "\n2\n", "\n3\n", "\n5\n", "\n6\n", "\n7\n", "\n101\n", "\n126\n", "\n127\n", "\n130\n"]
    {
        assert!(page.contains(code), "{code:?} is not in the man page");
    }
}

#[test]
fn closed_pipe_during_json_is_success() {
    let world = World::new();
    world.add((0..3000).fold(Claude::session(id(1)), |session, _| session.turn("why?", &"because ".repeat(10))));
    leaves_early(&world, &["show", "latest", "--transcript", "--json"]);
    leaves_early(&world, &["show", "latest", "--transcript", "--format", "ndjson"]);
}
