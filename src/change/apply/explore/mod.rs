//! Every schedule of faults that a small change can meet, and drawn ones of larger changes, on the disk in memory.
//!
//! A schedule says what goes wrong at which call, of the verb itself and of the recovery after it: a call that fails once
//! or from then on, the death of the process, a loss of power with each outcome that it may have, another process that
//! acts. After a last recovery without faults, each of these must hold:
//!
//! * Every byte that was there, or that the other process wrote, is in the store, in the trash, or was purged on request.
//! * Where nobody acted, undoing gives every file of the store back, or names what stands in the way.
//! * What was reported as done is done; what was reported as left alone is as it was.
//! * Nothing outside of the store and the state directory is touched.
//!
//! `REJOIN_SCHEDULES=N` tries N schedules in place of the usual number. One that fails is printed; they are the same in
//! every run. `.ci/explore` tries a million of them with an optimised build.

mod held;
mod play;
mod schedule;
mod start;
mod walk;

use std::time::Instant;

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::system::disk::memory::Rule;
use start::Start;
use walk::{Counts, Failure, Walk};

/// How many schedules are tried unless somebody wants more.
const DEFAULT_SCHEDULES: u64 = 5_000;

#[test]
fn nothing_is_lost_whatever_goes_wrong() {
    let wanted = std::env::var("REJOIN_SCHEDULES").ok().and_then(|wish| wish.parse().ok()).unwrap_or(DEFAULT_SCHEDULES);
    let (began, all) = (Instant::now(), Counts::default());
    let mut starts = Start::small();
    starts.extend(Start::large());
    let share = wanted / starts.len() as u64;
    let failed: Option<String> = starts.par_iter().find_map_first(|start| {
        let walk = Walk::new(start);
        let explored = walk.explore(share);
        all.add(&walk.counts);
        let told = |Failure { why, schedule }| format!("{}: {why}\n  with {schedule:?}", start.name);
        explored.err().map(told)
    });
    println!("{} schedules in {} s: {all:?}", all.schedules(), began.elapsed().as_secs());
    assert!(failed.is_none(), "{}", failed.unwrap_or_default());
    assert!(all.schedules() >= wanted * 9 / 10, "only {} schedules", all.schedules());
}

#[test]
fn a_rule_that_is_broken_is_found_and_the_schedule_that_shows_it_fails_again() {
    for rule in [Rule::SyncFiles, Rule::SyncDirs, Rule::KeepWhatIsThere, Rule::RemoveEmptyOnly] {
        let is_found = Start::small().iter().any(|start| {
            start.memory.break_rule(rule);
            let found = Walk::new(start).explore(0);
            found.is_err_and(|failure| Walk::new(start).replay(&failure.schedule).is_err())
        });
        assert!(is_found, "{rule:?} can be broken without anything being lost");
    }
}
