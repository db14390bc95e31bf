//! Explores every schedule of faults of a small change, and random ones of larger changes, on the disk in memory.
//!
//! A schedule lists faults by call, of the verb itself and of the recovery after it: a call that fails once or from
//! then on, the death of the process, a loss of power with each outcome that it may have, an action of another process.
//! After a last recovery without faults, each of these must hold:
//!
//! * Every byte that was there, or that the other process wrote, is in the store, in the trash, or was purged on request.
//! * If no other process acted, undoing restores every file of the store, or names the obstacle.
//! * Items reported as done are done; items reported as left alone are unchanged.
//! * Nothing outside the store and the state directory is touched.
//!
//! `REJOIN_SCHEDULES=N` tries N schedules instead of the default. A failing schedule is printed; the schedules are the
//! same in every run. `.ci/explore` tries a million of them with an optimised build.

mod in_use;
mod play;
mod schedule;
mod setup;
mod walk;

use std::path::Path;
use std::time::Instant;

#[expect(clippy::disallowed_types, reason = "this crate does not have system::parallel")]
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::disk::memory::{BrokenRule, Memory};
use play::play;
use schedule::{ACTS, EventTime, OtherAct, ScheduledEvent};
use setup::{Past, StartDisk, place};
use walk::{Failure, ScheduleCounts, ScheduleWalk};

/// Number of schedules to try by default.
const DEFAULT_SCHEDULES: u64 = 3_000;

#[test]
fn no_schedule_of_faults_loses_anything() {
    let requested =
        std::env::var("REJOIN_SCHEDULES").ok().and_then(|wish| wish.parse().ok()).unwrap_or(DEFAULT_SCHEDULES);
    let (began, all) = (Instant::now(), ScheduleCounts::default());
    let mut starts = StartDisk::small();
    starts.extend(StartDisk::large());
    let share = requested / starts.len() as u64;
    let failed: Option<String> = starts.par_iter().find_map_first(|start| {
        let walk = ScheduleWalk::new(start);
        let explored = walk.explore(share);
        all.add(&walk.counts);
        let described = |Failure { why, schedule }| format!("{}: {why}\n  with {schedule:?}", start.name);
        explored.err().map(described)
    });
    println!("{} schedules in {} s: {all:?}", all.schedules(), began.elapsed().as_secs());
    assert!(failed.is_none(), "{}", failed.unwrap_or_default());
    assert!(all.schedules() >= requested * 9 / 10, "only {} schedules", all.schedules());
}

/// Returns schedules in which the process dies at a call of a verb, and then an event happens at a call of the recovery;
/// only for disks left by the death that pass the filter.
fn schedules_after_death(
    start: &StartDisk,
    event: ScheduledEvent,
    is_tried: impl Fn(&Memory) -> bool,
) -> Vec<[EventTime; 2]> {
    let played =
        |stage, memory: &Memory, events: &[EventTime]| play(start, (memory, Past::default()), stage, events, false);
    let calls = played(0, &start.memory, &[]).calls.len() as u64;
    let deaths = (1..=calls).map(|at| (0, at, ScheduledEvent::Die)).filter_map(|death| {
        let died = played(0, &start.memory, &[death]).memory;
        is_tried(&died).then(|| (death, played(1, &died, &[]).calls.len() as u64))
    });
    let schedules: Vec<_> =
        deaths.flat_map(|(death, calls)| (1..=calls).map(move |call| [death, (1, call, event)])).collect();
    assert!(!schedules.is_empty(), "no disk is as wanted");
    schedules
}

fn start_named(name: &str) -> StartDisk {
    StartDisk::small().into_iter().find(|start| start.name == name).expect("a start")
}

#[test]
fn recovery_keeps_old_file_when_agent_creates_another() {
    let start = start_named("Run of items [1], Plain");
    let append = ACTS.iter().position(|act| *act == OtherAct::AppendInfo).expect("an action");
    // Only without an exchange of files is the path free for a moment.
    let is_free = |died: &Memory| died.actor().read("/home/store/info.json").is_none();
    for schedule in schedules_after_death(&start, ScheduledEvent::Act(append), is_free) {
        if let Err(failure) = ScheduleWalk::new(&start).replay(&schedule) {
            panic!("{} with {schedule:?}", failure.why);
        }
    }
}

#[test]
fn second_death_during_undo_leaves_nothing_stuck() {
    let start = start_named("Undo of items [0], Apart");
    // An undo across file systems copies: for a moment, the session is in both places.
    let is_in_both = |died: &Memory| {
        let files = died.actor().files();
        let has = |path: &str| files.contains_key(Path::new(path));
        has("/home/store/a/deep") && has("/home/state/trash/20260301-120000/0-0/deep")
    };
    for schedule in schedules_after_death(&start, ScheduledEvent::Die, is_in_both) {
        let [first, second] = schedule;
        let died = play(&start, (&start.memory, Past::default()), 0, &[first], false).memory;
        let died = play(&start, (&died, Past::default()), 1, &[second], false).memory;
        let messages = place(&died).undo_all();
        assert!(messages.iter().all(|line| !line.contains("exists again")), "{messages:?} with {schedule:?}");
    }
}

#[test]
fn explorer_finds_and_replays_every_broken_rule() {
    for rule in [BrokenRule::SyncFiles, BrokenRule::SyncDirs, BrokenRule::KeepWhatIsThere, BrokenRule::RemoveEmptyOnly]
    {
        let is_found = StartDisk::small().iter().any(|start| {
            start.memory.break_rule(rule);
            let found = ScheduleWalk::new(start).explore(0);
            found.is_err_and(|failure| ScheduleWalk::new(start).replay(&failure.schedule).is_err())
        });
        assert!(is_found, "{rule:?} can be broken without anything being lost");
    }
}
