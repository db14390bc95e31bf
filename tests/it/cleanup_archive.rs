//! `cleanup --archive`: removed sessions are archived first, whatever happens in between.

use std::path::Path;

use crate::cleanup::{stores, world};
use crate::contract::archive::{List, Verify};
use crate::contract::changes::{Change, Cleanup, Guard, Undo};
use crate::faults::killed_at_every_point;
use crate::fixtures::{Claude, age_tree, id, make_fifo, put};
use crate::picture::Picture;
use crate::undo::assert_same;
use crate::world::World;

/// A directory that exists on every machine.
const APP: &str = "/usr/bin";

fn archived(world: &World) -> Vec<String> {
    let list: List = world.rejoin(["list", "--archived", "--all", "--json"]).code(0).json();
    list.sessions.into_iter().map(|session| session.id).collect()
}

#[track_caller]
fn assert_sound(world: &World, when: &str) {
    let verdict: Verify = world.rejoin(["archive", "--verify", "--json"]).code_is_one_of(&[0, 4]).json();
    assert!(verdict.faults.is_empty(), "{when}: {:#?}", verdict.faults);
}

#[test]
fn cleanup_archives_sessions_before_removal() {
    let world = world();
    let before = stores(&world);
    let plan: Cleanup = world.rejoin(["cleanup", "--archive", "--dry-run", "--json"]).code(0).json();
    let dir = world.home().join(".local/share/rejoin/archive");
    assert_eq!(plan.details.archive.as_ref().map(|dir| Path::new(&dir.path)), Some(dir.as_path()));
    assert_eq!((plan.planned, plan.details.archived), (3, 0));
    assert!(!dir.exists(), "a plan writes nothing");

    let done: Cleanup = world.rejoin(["cleanup", "--archive", "--apply", plan.fingerprint(), "--json"]).code(0).json();
    assert_eq!((done.done, done.details.archived, done.failed), (3, 3, 0));
    assert!(done.details.archived_bytes > 0);
    world.rejoin(["undo", "--purge", "--every", "--yes"]).code(0);
    for n in 1..=3 {
        world.rejoin(["restore", &id(n), "--keep-times"]).code(0);
    }
    // Parent directories are created again, with new times.
    let files =
        |picture: Picture| picture.into_iter().filter(|(path, _)| path.extension().is_some()).collect::<Picture>();
    assert_same(&files(before), &files(stores(&world)), "restored");
}

#[test]
fn cleanup_archive_prints_its_plan_and_result() {
    let world = world();
    world.rejoin(["cleanup", "--archive", "--dry-run"]).code(0).stdout_eq(snapbox::str![[r#"
would remove  claude 00000001-aaaa-4aaa-8aaa-000000000001  1.5 KiB  Old 1  (old: last active 2025-11-01)
would remove  claude 00000002-aaaa-4aaa-8aaa-000000000002  1.5 KiB  Old 2  (old: last active 2025-11-01)
would remove  claude 00000003-aaaa-4aaa-8aaa-000000000003  1.5 KiB  Old 3  (old: last active 2025-11-01)
Kept: 6 newer.
3 sessions with 3 sub-agents would be removed, 4.5 KiB to the trash, archived first. Nothing was changed.
`rejoin cleanup --archive --apply [..]` does exactly this.

"#]]);
    world.rejoin(["cleanup", "--archive", "--yes", "--quiet"]).code(0).stdout_eq(snapbox::str![[r#"
rejoin cleanup: 3 sessions removed, 4.5 KiB to the trash, 3 archived; the archive grew by 8.0 KiB. `rejoin undo 20260301-120000` undoes this.

"#]]);
}

#[test]
fn cleanup_keeps_session_that_cannot_be_archived() {
    let world = world();
    let dir = world.home().join(".claude/projects/-usr-bin").join(id(2)).join("tool-results");
    std::fs::create_dir_all(&dir).expect("a directory");
    make_fifo(&dir.join("pipe"));
    age_tree(&world.home().join(".claude"));
    let done: Cleanup = world.rejoin(["cleanup", "--archive", "--yes", "--json"]).code(3).json();
    assert_eq!((done.done, done.details.archived, done.not_planned.len(), done.details.subagents), (2, 2, 1, 2));
    let error = &done.not_planned[0];
    assert_eq!(error.about, format!("claude {}", id(2)));
    assert!(error.reason.starts_with("it could not be archived: "), "{}", error.reason);
    assert!(dir.join("pipe").exists() && world.rejoin(["show", &id(2)]).exit() == Some(0));
    assert_eq!(archived(&world).len(), 2);
}

#[test]
fn cleanup_removes_nothing_without_archive() {
    let world = world();
    let before = stores(&world);
    let missing = world.root().join("no/volume/here");
    let to = missing.to_str().expect("a name");
    let answer = world.rejoin(["cleanup", "--archive", "--archive-dir", to, "--yes"]).code(1);
    assert!(answer.stderr().contains("no/volume"), "{}", answer.stderr());
    world.rejoin(["cleanup", "--archive-dir", to, "--yes"]).code(2);
    let inside = world.home().join(".claude/archive");
    world.rejoin(["cleanup", "--archive", "--archive-dir", inside.to_str().expect("a name"), "--yes"]).code(2);
    assert_same(&before, &stores(&world), "after all");
}

#[test]
fn guards_count_current_archived_session_as_kept() {
    let world = world();
    let before = stores(&world);
    let refused = |world: &World| {
        let plan: Cleanup =
            world.rejoin(["cleanup", "--any-age", "--dry-run", "--json"]).code_is_one_of(&[0, 7]).json();
        plan.details.refused
    };
    assert_eq!(refused(&world), Some(Guard::WholeAgent));
    world.rejoin(["archive", "--every"]).code(0);
    assert_eq!(refused(&world), None);
    // Sessions in a damaged archive do not count as archived.
    let blobs = crate::archive::own_dir(&world).join("blobs");
    let aside = world.root().join("blobs");
    std::fs::rename(&blobs, &aside).expect("blobs that go");
    assert_eq!(refused(&world), Some(Guard::WholeAgent));
    std::fs::rename(&aside, &blobs).expect("blobs that come back");
    // An archived state does not count if the session has changed since.
    for n in 11..=16 {
        let path = world.home().join(".claude/projects/-usr-bin").join(format!("{}.jsonl", id(n)));
        let text = std::fs::read_to_string(&path).expect("a transcript");
        put(&path, text.replace("\"x\"", "\"z\""));
    }
    age_tree(&world.home().join(".claude"));
    assert_eq!(refused(&world), Some(Guard::MoreThanHalf));
    // Sessions that are archived first are also safe; a wrong clock is refused in any case.
    let all: Cleanup = world.rejoin(["cleanup", "--any-age", "--archive", "--yes", "--json"]).code(0).json();
    assert_eq!((all.done, all.details.archived), (9, 9));
    let undone: Undo = world.rejoin(["undo", "--json"]).code(0).json();
    assert_eq!(undone.done, 9);
    assert_eq!(before.len(), stores(&world).len());
    let later = world.with("REJOIN_NOW", "2027-03-01T12:00:00Z").rejoin(["cleanup", "--archive", "--yes"]).code(7);
    assert!(later.stderr().contains("the clock of this machine may be wrong"), "{}", later.stderr());
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only debug builds inject faults")]
fn killed_cleanup_keeps_session_in_store_or_archive() {
    let world_of_two = || {
        let world = World::new();
        for (n, at) in [(1, "2025-11-01T10:00:00Z"), (2, "2026-02-20T10:00:00Z"), (3, "2026-02-21T10:00:00Z")] {
            let session = Claude::session(id(n)).in_dir(APP).at(at).turn("x", "y");
            world.add(session.subagent("agent-a1", "look", "ok"));
        }
        age_tree(&world.home().join(".claude"));
        world
    };
    killed_at_every_point(40, |fault, _| {
        let world = world_of_two();
        let before = stores(&world);
        if !world.with("REJOIN_FAULT", fault).rejoin(["cleanup", "--archive", "--yes"]).was_killed() {
            return false;
        }
        assert_sound(&world, fault);
        let is_in_store = stores(&world) == before;
        assert!(is_in_store || archived(&world) == [id(1)], "{fault}: neither here nor there");
        world.rejoin(["cleanup", "--archive", "--yes"]).code(0);
        assert_eq!(archived(&world), [id(1)], "{fault}");
        let left: Vec<String> = world.rejoin(["list", "--json"]).sessions().into_iter().map(|it| it.id).collect();
        assert_eq!(left, [id(3), id(2)], "{fault}");
        let restored: Change = world.rejoin(["restore", &id(1), "--keep-times", "--json"]).code(0).json();
        assert_eq!(restored.done, 1, "{fault}");
        assert_same(&before, &stores(&world), &format!("restored after {fault}"));
        true
    });
}
