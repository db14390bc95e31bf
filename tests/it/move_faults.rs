//! A move that is interrupted, or that fails on the disk, loses nothing and is reversed.

use std::path::{Path, PathBuf};

use crate::contract::changes::RunList;
use crate::faults::{failing_at_every_point, killed_at_every_point};
use crate::fixtures::{Amplifier, Claude, age_tree, claude_slug, id};
use crate::picture::{Picture, picture_of_stores};
use crate::undo::assert_same;
use crate::world::World;

/// Creates sessions of one directory that need each kind of step.
fn world() -> (World, [PathBuf; 2]) {
    let world = World::new();
    let (old, new) = (world.root().join("work/app"), world.dir("work/new"));
    let claude = Claude::session(id(1)).in_dir(&old).turn("x", "y");
    world.add(claude.subagent("agent-a1", "look", "ok"));
    world.add(Amplifier::session(id(2)).in_dir(&old).turn("x", "y"));
    age_tree(&world.home());
    (world, [old, new])
}

fn args(dirs: &[PathBuf; 2]) -> Vec<&str> {
    let paths = dirs.iter().map(|path| path.to_str().expect("a path in UTF-8"));
    ["move"].into_iter().chain(paths).chain(["--yes"]).collect()
}

fn stores(world: &World) -> Picture {
    picture_of_stores(&world.home())
}

/// Asserts that every old file's bytes are somewhere below the home, at least in the trash.
#[track_caller]
fn nothing_is_lost(world: &World, before: &Picture, when: &str) {
    let now = crate::picture::picture(&world.home());
    for (path, (_, _, _, bytes)) in before {
        let is_there = now.values().any(|(_, _, _, found)| found == bytes);
        assert!(is_there, "{when}: {} is lost", path.display());
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn undo_reverses_killed_move_for_repeat() {
    killed_at_every_point(30, |fault, point| {
        let (world, dirs) = world();
        let before = stores(&world);
        let was_killed = world.with("REJOIN_FAULT", fault).rejoin(args(&dirs)).was_killed();
        nothing_is_lost(&world, &before, fault);
        // The next change recovers an unfinished move; a finished one can be undone.
        let report = world.rejoin(["undo"]);
        if report.exit() == Some(0) {
            assert_same(&before, &stores(&world), &format!("undone after {fault}"));
        }
        if point % 9 == 0 {
            world.rejoin(args(&dirs)).code(0);
            assert_eq!(moved(&world, &dirs[1]), 2, "{fault}");
        }
        was_killed
    });
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn move_on_full_or_broken_disk_loses_nothing() {
    for (kind, lasting) in [("ENOSPC", true), ("EIO", false)] {
        let is_killed = |fault: &str| {
            let (world, dirs) = world();
            world.with("REJOIN_FAULT", fault).rejoin(args(&dirs)).was_killed()
        };
        failing_at_every_point(kind, lasting, is_killed, |fault| {
            let (world, dirs) = world();
            let before = stores(&world);
            world.with("REJOIN_FAULT", fault).rejoin(args(&dirs));
            nothing_is_lost(&world, &before, fault);
            world.rejoin(["undo"]);
            assert_same(&before, &stores(&world), &format!("undone after {fault}"));
        });
    }
}

/// Returns the number of sessions that are launched in a directory.
fn moved(world: &World, dir: &Path) -> usize {
    let listed = world.rejoin(["list"]).code(0).stdout();
    listed.lines().filter(|line| line.contains(&*dir.to_string_lossy())).count()
}

#[test]
#[expect(clippy::disallowed_macros, reason = "a skipped test says so")]
fn move_from_read_only_file_system_fails_cleanly() {
    let (world, dirs) = world();
    let project = world.home().join(".claude/projects").join(claude_slug(&dirs[0]));
    let mounted = "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" && shift && exec \"$@\"";
    let words = ["-m", "sh", "-c", mounted, "sh", project.to_str().expect("a path"), env!("CARGO_BIN_EXE_rejoin")];
    let before = stores(&world);
    let words: Vec<&str> = words.into_iter().chain(args(&dirs)).collect();
    let answer = world.from(world.root()).run("unshare", words);
    if answer.exit() != Some(3) && answer.stdout().is_empty() {
        println!("skipped: nothing can be mounted here: {}", answer.stderr());
        return;
    }
    let stdout = answer.code(3).stdout();
    assert!(stdout.contains("read-only file system") && !stdout.contains("and it could not be"), "{stdout}");
    let copies = stores(&world).into_keys().filter(|path| path.ends_with(format!("{}.jsonl", id(1))));
    assert_eq!(copies.count(), 1, "{stdout}");
    let runs: RunList = world.rejoin(["undo", "--list", "--json"]).code(0).json();
    assert!(runs.runs.iter().all(|run| run.stuck == 0), "{runs:?}");
    world.rejoin(["undo"]).code(0);
    assert_same(&before, &stores(&world), "after an undo");
}
