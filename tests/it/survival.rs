//! Under every failure and interference, every old byte is still in some file, and the answer agrees with the disk. The
//! program runs on a real file system, next to a real agent or under `strace`.
#![expect(clippy::disallowed_macros, reason = "these tests say what they tried, and what they left out")]

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::fixtures::{Amplifier, Claude, Codex, age_tree, id, put};
use crate::undo::other_file_system_than;
use crate::world::{Answer, World, stride, tries_every_case};

const APP: &str = "/usr/bin";

/// The system calls that fail, each from its N-th call on.
const CALLS: [&str; 8] = ["renameat2", "renameat", "linkat", "unlinkat", "mkdirat", "fsync", "write", "utimensat"];

/// Creates a home in which every command changes something.
fn world() -> World {
    let world = World::on_disk();
    put(&world.home().join(".claude/settings.json"), r#"{"cleanupPeriodDays": 3650}"#);
    for (n, at) in [(1, "2025-11-01T10:00:00Z"), (2, "2026-02-20T10:00:00Z"), (3, "2026-02-21T10:00:00Z")] {
        let session = Claude::session(id(n)).in_dir(APP).at(at).turn("x", &format!("reply {n}"));
        world.add(session.subagent("agent-a1", "look", &format!("seen by {n}")).side_file("tool-results/a.txt", "a"));
        put(&world.home().join(".claude/file-history").join(id(n)).join("a@v1"), format!("old {n}"));
    }
    let whole = Claude::session(id(4)).in_dir(APP).turn("a", "b").turn("c", "d");
    world.add(whole);
    world.add(Claude::session(id(4)).in_dir(APP).turn("a", "b").filed_under("-somewhere-else"));
    world.add(Amplifier::session(id(5)).file("session-info.json", r#"{"kept": 1"#).in_dir(APP).turn("x", "y"));
    world.add(Amplifier::session(id(6)).in_dir(APP).turn("x", "z"));
    world.add(Codex::session(id(7)).in_dir(APP).turn("p", "q"));
    age_tree(&world.home());
    world
}

/// A tested change: the commands before it, and its arguments.
pub(crate) struct Change {
    before: &'static [&'static [&'static str]],
    pub(crate) args: &'static [&'static str],
    /// Set if the change deletes permanently.
    purges: bool,
}

const ONE: &str = "00000001-aaaa-4aaa-8aaa-000000000001";
const FOUR: &str = "00000004-aaaa-4aaa-8aaa-000000000004";

/// Every verb that changes something.
pub(crate) const CHANGES: [Change; 18] = [
    Change { before: &[], args: &["doctor", "--fix"], purges: false },
    Change { before: &[], args: &["delete", FOUR, "--copy", "2"], purges: false },
    Change { before: &[], args: &["cleanup", "--older-than", "30d", "--yes"], purges: false },
    Change { before: &[], args: &["cleanup", "--older-than", "30d", "--archive", "--yes"], purges: false },
    Change { before: &[], args: &["cleanup", "--older-than", "30d", "--permanent", "--yes"], purges: true },
    Change { before: &[], args: &["delete", ONE, "--yes"], purges: false },
    Change { before: &[], args: &["delete", ONE, "--permanent", "--yes"], purges: true },
    Change { before: &[], args: &["backfill", "--every"], purges: false },
    Change { before: &[], args: &["archive", "--every"], purges: false },
    Change { before: &[&["archive", ONE], &["delete", ONE, "--yes"]], args: &["restore", ONE], purges: false },
    Change { before: &[&["delete", ONE, "--yes"]], args: &["undo"], purges: false },
    Change { before: &[&["delete", ONE, "--yes"]], args: &["restore", ONE], purges: false },
    Change { before: &[&["delete", ONE, "--yes"]], args: &["undo", "--purge", "--every", "--yes"], purges: true },
    Change { before: &[], args: &["hook", "install"], purges: false },
    Change { before: &[], args: &["pin", ONE], purges: false },
    Change { before: &[&["pin", ONE]], args: &["pin", "--remove", ONE], purges: false },
    // Only the last undo is the tested change.
    Change {
        before: &[&["hook", "install"], &["undo", "--purge", "--every", "--yes"]],
        args: &["hook", "uninstall"],
        purges: false,
    },
    Change { before: &[], args: &["move", APP, "/usr/lib", "--session", ONE, "--yes"], purges: false },
];

/// Returns the contents of every file except rejoin's own.
fn contents(world: &World) -> BTreeSet<Vec<u8>> {
    let own = world.home().join(".local");
    let trash = own.join("state/rejoin/trash");
    let entries = walkdir::WalkDir::new(world.root()).into_iter().filter_map(Result::ok);
    let files = entries.filter(|entry| entry.file_type().is_file());
    let files = files.filter(|entry| !entry.path().starts_with(&own) || entry.path().starts_with(&trash));
    files.map(|entry| std::fs::read(entry.path()).expect("a file that can be read")).collect()
}

/// Returns the contents of every file below a directory.
fn contents_below(dir: &Path) -> BTreeSet<Vec<u8>> {
    let entries = walkdir::WalkDir::new(dir).into_iter().filter_map(Result::ok);
    let files = entries.filter(|entry| entry.file_type().is_file());
    files.map(|entry| std::fs::read(entry.path()).expect("a file that can be read")).collect()
}

/// Returns the number of contents that are lost; an agent may have appended to them.
fn missing(world: &World, before: &BTreeSet<Vec<u8>>) -> usize {
    let now = contents(world);
    // In sorted order, a text is followed by the texts that begin with it.
    let is_there = |was: &Vec<u8>| now.range(was.clone()..).next().is_some_and(|is| is.starts_with(was));
    before.iter().filter(|was| !is_there(was)).count()
}

/// Checks that nothing is lost, that the next runs can handle the result, and that they lose nothing either.
#[track_caller]
fn assert_all_is_there(world: &World, before: &BTreeSet<Vec<u8>>, purges: bool, answer: &Answer, when: &str) {
    let output = format!("{when}\n{}\n{}", answer.stdout(), answer.stderr());
    assert!(!matches!(answer.exit(), Some(101 | 134 | 139)), "a panic: {output}");
    let lost = missing(world, before);
    assert!(purges || lost == 0, "{lost} contents are lost: {output}");
    // A request is always answered; if nothing can be written, the exit status shows the failure.
    let is_said = !answer.stdout().is_empty() || !answer.stderr().is_empty() || answer.exit() != Some(0);
    assert!(lost == 0 || is_said, "{output}");
    for args in [
        &["undo", "--list"][..],
        &["undo", "--purge", "--every", "--dry-run"],
        &["pin", "--remove", ONE],
        &["undo"],
        &["list", "--all"],
    ] {
        let next = world.rejoin(args);
        assert!(!matches!(next.exit(), None | Some(101 | 134 | 139)), "{args:?} after {output}\n{}", next.stderr());
    }
    assert_eq!(missing(world, before), lost, "recovering lost something: {output}");
}

pub(crate) fn prepared(change: &Change) -> (World, BTreeSet<Vec<u8>>) {
    let world = world();
    for args in change.before {
        world.rejoin(*args).code(0);
    }
    let before = contents(&world);
    (world, before)
}

/// Returns whether this machine lets a test inject faults.
pub(crate) fn has_strace() -> bool {
    let probe = ["-f", "--seccomp-bpf", "-qq", "-e", "trace=mkdirat", "-e", "inject=mkdirat:error=EIO", "true"];
    let is_there =
        std::process::Command::new("strace").args(probe).output().is_ok_and(|answer| answer.status.success());
    if !is_there {
        eprintln!("skipped: there is no strace that can inject faults");
    }
    is_there
}

#[test]
fn permanently_failing_system_call_loses_nothing() {
    if !has_strace() {
        return;
    }
    let mut tried = 0;
    for (number, change) in CHANGES.iter().enumerate() {
        for (at, call) in CALLS.into_iter().enumerate() {
            for nth in 1..=12 {
                // The sample tests one of five pairs of a verb and a call, at one moment.
                let is_sampled = (number + at).is_multiple_of(5) && nth == 1 + (number * 5 + at * 3) % 7;
                if !tries_every_case() && !is_sampled {
                    continue;
                }
                let (world, before) = prepared(change);
                let inject = format!("inject={call}:error=EIO:when={nth}+");
                let trace = format!("trace={call}");
                let (answer, _) = world.from(world.root()).under_strace(&[&trace, &inject], change.args);
                let when = format!("{:?} with {inject}", change.args);
                assert_all_is_there(&world, &before, change.purges, &answer, &when);
                tried += 1;
            }
        }
    }
    println!("{tried} runs");
}

/// An agent that continues a session: when one of its files disappears, it writes to all of them.
struct Racer {
    files: Vec<PathBuf>,
    written: Vec<String>,
}

impl Racer {
    /// Writes until `stop` is set; every written line is counted.
    fn race(&mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            if self.files.iter().all(|path| path.exists()) || self.written.len() > 200 {
                continue;
            }
            for (at, path) in self.files.iter().enumerate() {
                let line = format!("the agent's own line {} in {at}", self.written.len());
                let parent = path.parent().expect("a directory");
                let opened: std::io::Result<File> = std::fs::create_dir_all(parent)
                    .and_then(|()| OpenOptions::new().append(true).create(true).open(path));
                if opened.and_then(|mut file| writeln!(file, "{line}")).is_ok() {
                    self.written.push(line);
                }
            }
        }
    }
}

/// Returns whether a line is in any file below a directory.
fn holds(root: &Path, line: &str) -> bool {
    let entries = walkdir::WalkDir::new(root).into_iter().filter_map(Result::ok);
    let mut files = entries.filter(|entry| entry.file_type().is_file());
    files.any(|entry| std::fs::read_to_string(entry.path()).is_ok_and(|text| text.lines().any(|at| at == line)))
}

#[test]
fn agent_writing_during_a_removal_loses_nothing() {
    let races = std::env::var("REJOIN_RACES")
        .ok()
        .and_then(|races| races.parse().ok())
        .unwrap_or(if tries_every_case() { 60 } else { 20 });
    let mut met = 0;
    for race in 0..races {
        let (world, before) = prepared(&CHANGES[5]);
        let project = world.home().join(".claude/projects/-usr-bin");
        let side = project.join(ONE).join("subagents/agent-a1.jsonl");
        let files = if race % 3 == 0 {
            vec![project.join(format!("{ONE}.jsonl"))]
        } else {
            vec![project.join(format!("{ONE}.jsonl")), side]
        };
        let mut racer = Racer { files, written: Vec::new() };
        let stop = AtomicBool::new(false);
        let args = if race % 2 == 0 { CHANGES[5].args } else { CHANGES[2].args };
        let answer = std::thread::scope(|scope| {
            scope.spawn(|| racer.race(&stop));
            let answer = world.rejoin(args);
            stop.store(true, Ordering::Relaxed);
            answer
        });
        met += usize::from(!racer.written.is_empty());
        let when = format!("race {race}");
        assert_all_is_there(&world, &before, false, &answer, &when);
        for line in &racer.written {
            assert!(holds(world.root(), line), "{when}: {line:?} is lost\n{}\n{}", answer.stdout(), answer.stderr());
        }
    }
    println!("{races} races, in {met} of which the agent came in between");
    assert!(met > races / 4, "the agent hardly ever came in between: {met} of {races}");
}

#[test]
fn reversed_removal_does_not_overwrite_new_data() {
    let Some(elsewhere) = other_file_system_than(World::on_disk().root()).filter(|_| has_strace()) else { return };
    let mut met = 0;
    // One failed sync is enough to reverse a removal; if all syncs fail, that is impossible, too.
    for (nth, and_later) in ["", "+"].into_iter().flat_map(|later| (1..=16).map(move |nth| (nth, later))) {
        let (world, before) = prepared(&CHANGES[5]);
        let project = world.home().join(".claude/projects/-usr-bin");
        let files = vec![project.join(format!("{ONE}.jsonl")), project.join(ONE).join("subagents/agent-a1.jsonl")];
        let mut racer = Racer { files, written: Vec::new() };
        let stop = AtomicBool::new(false);
        let inject = format!("inject=fsync:error=EIO:when={nth}{and_later}");
        let answer = std::thread::scope(|scope| {
            scope.spawn(|| racer.race(&stop));
            let call = world.from(world.root()).with("XDG_STATE_HOME", elsewhere.path());
            let (answer, _) = call.under_strace(&["trace=fsync", &inject], CHANGES[5].args);
            stop.store(true, Ordering::Relaxed);
            answer
        });
        met += usize::from(!racer.written.is_empty());
        for line in &racer.written {
            let is_there = holds(world.root(), line) || holds(elsewhere.path(), line);
            assert!(is_there, "{inject}: {line:?} is lost\n{}\n{}", answer.stdout(), answer.stderr());
        }
        let (mut now, kept) = (contents(&world), contents_below(elsewhere.path()));
        now.extend(kept);
        for was in &before {
            let is_there = now.range(was.clone()..).next().is_some_and(|is| is.starts_with(was));
            assert!(is_there, "{inject}: {:?} is lost\n{}", String::from_utf8_lossy(was), answer.stderr());
        }
        std::fs::remove_dir_all(elsewhere.path().join("rejoin")).expect("its state");
    }
    assert!(met > 0, "the agent never came in between");
}

#[test]
fn removal_across_file_systems_keeps_new_data() {
    let Some(elsewhere) = other_file_system_than(World::on_disk().root()).filter(|_| has_strace()) else { return };
    let (world, _) = prepared(&CHANGES[5]);
    let transcript = world.home().join(".claude/projects/-usr-bin").join(format!("{ONE}.jsonl"));
    let whole = std::fs::read(&transcript).expect("a transcript");
    let slow = ["trace=rename,renameat,renameat2", "inject=rename,renameat,renameat2:delay_enter=100000"];
    let (stop, added, anew) = (AtomicBool::new(false), "what the agent added", "what the agent wrote anew");
    let (answer, has_written) = std::thread::scope(|scope| {
        let agent = scope.spawn(|| {
            // The copy is complete while the original is still in its place.
            let has_copy = || contents_below(elsewhere.path()).contains(&whole);
            while !has_copy() && !stop.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            let opened = OpenOptions::new().append(true).open(&transcript);
            writeln!(opened.expect("the transcript"), "{added}").expect("a line");
            while transcript.exists() && !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
            let is_gone = !transcript.exists();
            if is_gone {
                std::fs::write(&transcript, format!("{anew}\n")).expect("a transcript");
            }
            is_gone
        });
        let call = world.from(world.root()).with("XDG_STATE_HOME", elsewhere.path());
        let (answer, _) = call.under_strace(&slow, CHANGES[5].args);
        stop.store(true, Ordering::Relaxed);
        (answer, agent.join().expect("an agent"))
    });
    for line in [added].into_iter().chain(has_written.then_some(anew)) {
        let is_there = holds(world.root(), line) || holds(elsewhere.path(), line);
        assert!(is_there, "{line:?} is lost\n{}\n{}", answer.stdout(), answer.stderr());
    }
}

#[test]
fn directory_swapped_for_link_redirects_no_removal() {
    if !has_strace() {
        return;
    }
    for swapped in ["tool-results/deep", "tool-results"] {
        let world = World::on_disk();
        let session = Claude::session(id(1)).in_dir(APP).turn("x", "y");
        let names = ["a.txt", "b.txt", "c.txt", "d.txt"];
        let deep = |name: &str| format!("tool-results/deep/{name}");
        world.add(names.iter().fold(session, |session, name| session.side_file(&deep(name), "a")));
        age_tree(&world.home());
        world.rejoin(["delete", ONE, "--yes"]).code(0);
        let trash = world.home().join(".local/state/rejoin/trash");
        // The trash may be renamed before it is emptied.
        let begun = || {
            let mut entries = walkdir::WalkDir::new(&trash).into_iter().filter_map(Result::ok);
            let deep = entries.find(|entry| entry.path().ends_with("tool-results/deep"))?.into_path();
            let left = names.iter().filter(|name| deep.join(name).exists()).count();
            (0 < left && left < names.len()).then(|| deep.ancestors().nth(2).expect("the side directory").to_owned())
        };
        let outside = world.dir("outside");
        names.iter().for_each(|name| {
            put(&outside.join(name), "mine");
            put(&outside.join("deep").join(name), "mine");
        });
        let slow = ["trace=unlinkat,unlink", "inject=unlinkat,unlink:delay_enter=60000"];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let wait = || std::thread::sleep(std::time::Duration::from_millis(1));
                let side = (0..10_000).find_map(|_| {
                    begun().or_else(|| {
                        wait();
                        None
                    })
                });
                let side = side.expect("a removal that has begun");
                std::fs::rename(side.join(swapped), world.root().join("aside")).expect("a directory out of the way");
                std::os::unix::fs::symlink(&outside, side.join(swapped)).expect("a link");
            });
            world.from(world.root()).under_strace(&slow, &["undo", "--purge", "--every", "--yes"]);
        });
        for name in names {
            for path in [outside.join(name), outside.join("deep").join(name)] {
                assert!(path.exists(), "{swapped} was swapped, and {} was removed", path.display());
            }
        }
    }
}

#[test]
fn failed_purge_leaves_reported_and_restorable_files() {
    if !has_strace() {
        return;
    }
    for args in
        [&["delete", ONE, "--permanent", "--yes"][..], &["cleanup", "--older-than", "30d", "--permanent", "--yes"]]
    {
        let (world, before) = prepared(&CHANGES[5]);
        let failing = ["trace=unlinkat,unlink,rmdir", "inject=unlinkat,unlink,rmdir:error=EIO"];
        let (answer, _) = world.from(world.root()).under_strace(&failing, args);
        let output = format!("{}{}", answer.stdout(), answer.stderr());
        assert_eq!(missing(&world, &before), 0, "{output}");
        assert!(!output.contains("session deleted permanently") && output.contains("in the trash"), "{output}");
        world.rejoin(["undo"]).code(0);
        assert!(world.home().join(".claude/projects/-usr-bin").join(format!("{ONE}.jsonl")).is_file(), "{output}");
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn reported_results_match_the_disk() {
    for point in (1..24).step_by(stride(4)) {
        let (world, before) = prepared(&CHANGES[6]);
        let fault = format!("5:{point}");
        let answer = world.with("REJOIN_FAULT", &fault).rejoin(["delete", ONE, "--permanent", "--yes", "--json"]);
        let stdout: Value = serde_json::from_str(&answer.stdout()).unwrap_or_default();
        let is_there = missing(&world, &before) == 0;
        if answer.exit() == Some(0) {
            assert!(!is_there, "{fault}: it says that all is deleted, but it is there: {stdout}");
        }
        assert_all_is_there(&world, &before, true, &answer, &fault);
    }
}

#[test]
fn every_scenario_changes_something_without_faults() {
    for change in &CHANGES {
        let (world, before) = prepared(change);
        let own = |world: &World| crate::picture::picture(&world.home());
        let then = own(&world);
        let answer = world.rejoin(change.args).code_is_one_of(&[0, 4]);
        assert_ne!(then, own(&world), "{:?}", change.args);
        assert_all_is_there(&world, &before, change.purges, &answer, &format!("{:?}", change.args));
        assert_eq!(missing(&world, &before) > 0, change.purges, "{:?}", change.args);
    }
}
