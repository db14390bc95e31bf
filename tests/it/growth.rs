//! With four times the sessions, commands use about four times the processor time, which other programs hardly affect.
#![cfg(target_os = "linux")]

use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use crate::fixtures::{Claude, Codex, id, put};
use crate::fuzz::{has_ended, ticks_of};
use crate::world::World;

/// Returns the processor time of a run, in hundredths of a second.
fn ticks(world: &World, args: &[&str]) -> u64 {
    let mut command = world.from(world.root()).command(env!("CARGO_BIN_EXE_rejoin"));
    let mut child =
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a program");
    while !has_ended(child.id()) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let ticks = ticks_of(child.id());
    let code = child.wait().expect("an end").code();
    // Doctor ends with 4 if it finds anything, and resume with 6 if the user has to choose.
    assert!(matches!(code, Some(0 | 4 | 6)), "{args:?} ended with {code:?}");
    ticks
}

/// Compares runs in a small world and in a large one, which is four times as large.
#[track_caller]
fn grows_as_much(world: impl Fn(usize) -> World, count: usize, runs: &[&[&str]]) {
    let (small, large) = (world(count), world(4 * count));
    for args in runs {
        // Quadratic work takes sixteen times as long in every try; a busy machine only in some.
        let times = || (ticks(&small, args).max(3), ticks(&large, args));
        let tries: Vec<_> = (0..3).map(|_| times()).take_while(|(few, many)| *many > 7 * few).collect();
        assert!(tries.len() < 3, "{args:?}: hundredths of a second for a quarter and for the whole: {tries:?}");
    }
}

#[test]
fn time_grows_linearly_with_sub_agents() {
    let world = |count| {
        let world = World::new();
        let path = world.add(Claude::session(id(1)).turn("x", "y").subagent("agent-a0", "look", "ok"));
        let first = path.with_extension("").join("subagents/agent-a0.jsonl");
        let text = std::fs::read_to_string(&first).expect("a transcript");
        for n in 1..count {
            put(&first.with_file_name(format!("agent-a{n}.jsonl")), text.replace("agent-a0", &format!("agent-a{n}")));
        }
        world
    };
    grows_as_much(world, 750, &[&["delete", &id(1), "--dry-run"], &["show", &id(1)]]);
}

#[test]
fn time_grows_linearly_with_forks() {
    let world = |count| {
        let world = World::new();
        for n in 0..count {
            let base = json!({"thread_id": id(0), "end_ordinal_exclusive": 5, "end_byte_offset": 100});
            let session = Codex::session(id(n as u32)).in_dir("/usr/bin");
            let session = if n == 0 { session } else { session.fork_of(&id(0)).meta("history_base", base) };
            world.add(session.turn("x", "y"));
        }
        world
    };
    grows_as_much(world, 400, &[&["list"]]);
}

#[test]
fn time_grows_linearly_with_copies_of_an_id() {
    let world = |count| {
        let world = World::new();
        for n in 0..count {
            world.add(Claude::session(id(1)).turn("x", "y").filed_under(format!("-p{n}")));
        }
        world
    };
    let runs: [&[&str]; 6] = [
        &["list", "--all"],
        &["show", &id(1)],
        &["resume", &id(1), "--print", "--in", "."],
        &["delete", &id(1), "--copy", "2", "--dry-run"],
        &["delete", &id(1), "--dry-run"],
        &["doctor", "--fix", "--dry-run"],
    ];
    grows_as_much(world, 500, &runs);
}

#[test]
fn time_grows_linearly_with_differing_copies() {
    let world = |count| {
        let world = World::new();
        for n in 0..count {
            world.add(Claude::session(id(1)).turn("x", &format!("y{n}")).filed_under(format!("-p{n}")));
        }
        world
    };
    grows_as_much(world, 300, &[&["doctor"], &["resume", &id(1), "--print"]]);
}

#[test]
fn time_grows_linearly_with_misfiled_sessions() {
    let world = |count: usize| {
        let world = World::new();
        for n in 0..count {
            let dir = if n % 2 == 0 { "/usr/bin" } else { "/usr/lib" };
            world.add(Claude::session(id(n as u32)).in_dir(dir).turn("x", "y").filed_under("-usr-bin"));
        }
        world
    };
    grows_as_much(world, 1_000, &[&["doctor"]]);
}

#[test]
fn time_grows_linearly_with_worktrees_and_missing_directories() {
    let world = |count: usize| {
        let world = World::new();
        let repository = world.dir("repo");
        let git = repository.join(".git");
        let mut packed = String::new();
        for n in 0..4 * count {
            let listed = git.join(format!("worktrees/w{n}"));
            put(&listed.join("gitdir"), format!("{}\n", world.root().join(format!("trees/w{n}/.git")).display()));
            put(&listed.join("HEAD"), format!("ref: refs/heads/b{n}\n"));
            packed += &format!("0123456789012345678901234567890123456789 refs/heads/b{n}\n");
        }
        put(&git.join("packed-refs"), packed);
        world.add(Claude::session(id(0)).in_dir(&repository).turn("x", "y"));
        for n in 1..=count {
            let dir = ["repo/gone", "trees/w", "elsewhere/gone"][n % 3];
            world.add(Claude::session(id(n as u32)).in_dir(world.root().join(format!("{dir}{n}"))).turn("x", "y"));
        }
        world
    };
    grows_as_much(world, 200, &[&["doctor"], &["move", "--detect"]]);
}

#[test]
fn time_grows_linearly_with_hook_handlers() {
    let world = |command: fn(usize) -> String| {
        move |count: usize| {
            let world = World::new();
            let handler = |n| json!({"hooks": [{"type": "command", "command": command(n)}]});
            let handlers: Vec<_> = (0..count).map(handler).collect();
            let settings = json!({"hooks": {"PreCompact": handlers, "SessionEnd": handlers}});
            put(&world.home().join(".claude/settings.json"), serde_json::to_string_pretty(&settings).expect("JSON"));
            world
        }
    };
    grows_as_much(world(|n| format!("echo {n}")), 500, &[&["hook", "install", "--dry-run"]]);
    let runs: [&[&str]; 2] = [&["hook", "install", "--dry-run"], &["hook", "uninstall", "--dry-run"]];
    grows_as_much(world(|n| format!("/old/{n}/rejoin hook claude")), 500, &runs);
}
