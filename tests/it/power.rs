//! The order in which data reaches the disk, so that a loss of power at any moment leaves a change consistent: `strace`
//! shows the order in which the real program writes, renames and syncs. The explorer has the same rules on a disk in
//! memory.

use std::path::Path;

use crate::fixtures::{Amplifier, Claude, age_tree, id, put};
use crate::survival::{CHANGES, has_strace, prepared};
use crate::undo::other_file_system;
use crate::world::World;

/// A successful call: its name, and its arguments with the path of each handle in angle brackets.
#[derive(Debug)]
struct Call {
    name: String,
    arguments: String,
}

impl Call {
    /// Returns whether the call syncs a path with this end.
    fn syncs(&self, end: &str) -> bool {
        self.name == "fsync" && self.arguments.contains(&format!("{end}>"))
    }

    /// Returns whether the call renames or removes an entry.
    fn renames(&self) -> bool {
        self.name.starts_with("rename") || self.name.starts_with("link")
    }
}

/// Creates a world with two sessions: one with files next to it and below, and one without a session-info.json.
fn world() -> World {
    let world = World::new();
    let app = world.dir("app");
    let session = Claude::session(id(1)).in_dir(&app).turn("one", "1");
    world.add(session.subagent("agent-a1", "look", "ok").side_file("tool-results/deep/a.txt", "a"));
    let broken = Amplifier::session(id(2)).file("session-info.json", r#"{"kept": 1"#);
    world.add(broken.in_dir(&app).turn("two", "2"));
    put(&world.home().join(".claude/settings.json"), r#"{"cleanupPeriodDays": 3650}"#);
    age_tree(&world.home());
    world
}

/// Runs the program and returns its system calls.
fn traced(world: &World, state: Option<&Path>, args: &[&str]) -> Vec<Call> {
    let calls = "trace=fsync,renameat2,renameat,rename,linkat,link,unlinkat,unlink,rmdir,write";
    let call = world.from(world.root());
    let call = match state {
        Some(state) => call.with("XDG_STATE_HOME", state),
        None => call,
    };
    let (answer, text) = call.under_strace(&[calls], args);
    answer.code_is_one_of(&[0, 4]);
    let parsed = text.lines().filter(|line| !line.contains("= -1 ")).filter_map(|line| {
        let (_, call) = line.split_once(' ')?;
        let (name, arguments) = call.trim_start().split_once('(')?;
        Some(Call { name: name.to_owned(), arguments: arguments.to_owned() })
    });
    parsed.collect()
}

/// Returns the index of the first matching call, from an index on.
#[track_caller]
fn first(calls: &[Call], from: usize, what: &str, is_it: impl Fn(&Call) -> bool) -> usize {
    let found = calls.iter().skip(from).position(is_it);
    from + found.unwrap_or_else(|| panic!("{what}: there is no such call after the {from}th in {calls:#?}"))
}

#[test]
fn run_syncs_journal_before_first_change() {
    if !has_strace() {
        return;
    }
    let world = world();
    let calls = traced(&world, None, &["delete", &id(1), "--yes"]);
    let change =
        first(&calls, 0, "a change of the store", |call| call.renames() && call.arguments.contains("/.claude/"));
    let planned =
        first(&calls, 0, "the plan", |call| call.name == "write" && call.arguments.contains(r#"\"event\":\"item\""#));
    for (what, end) in [("its bytes", ".jsonl"), ("its name", "rejoin/runs"), ("the name of its trash", "rejoin/trash")]
    {
        let synced = first(&calls, planned, what, |call| call.syncs(end));
        assert!(synced < change, "{what} came on the disk after the first change: {calls:#?}");
    }
    let last = calls.iter().rposition(|call| call.renames() && call.arguments.contains("/.claude/")).expect("a change");
    let answer_at = first(&calls, last, "the answer", |call| call.name == "write" && call.arguments.starts_with("1<"));
    let is_trash = |call: &Call| {
        call.name == "fsync" && call.arguments.contains("/rejoin/trash/") && !call.arguments.contains("/0-")
    };
    assert!(first(&calls, last, "the trash", is_trash) < answer_at, "{calls:#?}");
    assert!(first(&calls, last, "the place that it left", |call| call.syncs("-app")) < answer_at, "{calls:#?}");
}

#[test]
fn run_syncs_journal_record_before_rename() {
    if !has_strace() {
        return;
    }
    let world = world();
    let calls = traced(&world, None, &["doctor", "--fix"]);
    let made =
        first(&calls, 0, "a note", |call| call.name == "write" && call.arguments.contains(r#"\"event\":\"made\""#));
    let synced =
        first(&calls, made, "the note on the disk", |call| call.syncs(".jsonl") && call.arguments.contains("/runs/"));
    let named = first(&calls, 0, "the file", |call| call.renames() && call.arguments.contains("session-info.json\""));
    assert!(synced < named, "{calls:#?}");
}

#[test]
fn run_syncs_copy_before_it_removes_original() {
    let Some(elsewhere) = other_file_system().filter(|_| has_strace()) else { return };
    let world = world();
    let calls = traced(&world, Some(elsewhere.path()), &["delete", &id(1), "--yes"]);
    // After that, only the original is removed, deepest entries first.
    let removes = |call: &Call| ["unlinkat", "unlink", "rmdir"].contains(&&*call.name);
    let gone = first(&calls, 0, "a removal", |call| {
        removes(call) && call.arguments.contains("tool-results") && !call.arguments.contains("/rejoin/trash/")
    });
    for dir in ["tool-results", "tool-results/deep", "subagents"] {
        let is_it = |call: &Call| call.syncs(dir) && call.arguments.contains("/rejoin/trash/");
        let synced = first(&calls, 0, dir, is_it);
        assert!(synced < gone, "{dir} of the copy came on the disk after the original had gone: {calls:#?}");
    }
}

/// Returns the temporary path of a file that is renamed, and its final path.
fn placed(call: &Call) -> Option<[String; 2]> {
    if !call.renames() {
        return None;
    }
    // A handle precedes each name that does not begin at the root.
    let pieces: Vec<&str> = call.arguments.split('"').collect();
    let path = |at: usize| {
        let (before, name) = (pieces.get(at - 1)?, pieces.get(at)?);
        let dir = before.rsplit_once('<').and_then(|(_, dir)| dir.split_once('>')).map_or("", |(dir, _)| dir);
        Some(if name.starts_with('/') { (*name).to_owned() } else { format!("{dir}/{name}") })
    };
    Some([path(1)?, path(3)?])
}

#[test]
fn run_syncs_file_before_and_after_rename() {
    if !has_strace() {
        return;
    }
    let mut checked = 0;
    for change in &CHANGES {
        let (world, _) = prepared(change);
        let calls = traced(&world, None, change.args);
        for (at, call) in calls.iter().enumerate() {
            let Some([made, place]) = placed(call) else { continue };
            let (before, after) = calls.split_at(at);
            let written =
                before.iter().rposition(|call| call.name == "write" && call.arguments.contains(&format!("<{made}>")));
            if let Some(written) = written {
                let is_synced = before[written..].iter().any(|call| call.syncs(&made));
                assert!(
                    is_synced,
                    "{:?}: {place} got its name before its bytes were on the disk: {calls:#?}",
                    change.args
                );
                checked += 1;
            }
            let dir = Path::new(&place).parent().expect("a directory").to_str().expect("a path");
            assert!(
                after.iter().any(|call| call.syncs(dir)),
                "{:?}: the name {place} is not on the disk: {calls:#?}",
                change.args
            );
        }
    }
    assert!(checked >= 20, "{checked} files were written");
}
