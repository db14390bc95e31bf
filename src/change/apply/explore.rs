//! Every schedule of faults that a small change can meet, and drawn ones of larger changes, on the disk in memory.
//!
//! A schedule says what goes wrong at which call, of the run itself and of the recovery after it: a call that fails once or
//! from then on, the death of the process, a loss of power with each outcome that it may have, another process that acts.
//! After a last recovery without faults, each of these must hold:
//!
//! * Every byte that was there, or that the other process wrote, is in the store, in the trash, or was purged on request.
//! * Where nobody acted, undoing gives every file of the store back, or names what stands in the way.
//! * What was reported as done is done; what was reported as left alone is as it was.
//! * Nothing outside of the store and the state directory is touched.
//!
//! `REJOIN_SCHEDULES=N` draws N schedules of each larger change in place of the usual number, and `all` tries every pair
//! of faults in place of one in so many. A schedule that fails is printed; they are the same in every run.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::iter::{IntoParallelIterator, ParallelIterator as _};
use rustix::io::Errno;

use crate::change::apply::run::{ItemResult, Outcome};
use crate::change::apply::scenarios::{Files, Place, now};
use crate::change::apply::trash::{Purge, purge};
use crate::change::plan::change::{Change, Step};
use crate::system::disk::memory::{Actor, Memory, Node, Rule, Verdict};

/// The errors that the manuals of the calls list for a disk that is full, broken, or not ours.
const ERRORS: [Errno; 4] = [Errno::IO, Errno::NOSPC, Errno::ACCESS, Errno::DQUOT];

/// What another process does between two calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// The agent goes on: it adds to its transcript, which it makes anew where it is gone.
    Append,
    /// The agent writes to a file below its directory.
    AppendBelow,
    /// The agent writes both at once.
    AppendBoth,
    /// The agent makes a file where the change wants to put one.
    TakePlace,
    /// Somebody swaps a directory for a link to where other things are.
    Swap,
}

/// What the other process writes.
const MINE: &str = "the agent's own line\n";

const ACTS: [Act; 5] = [Act::Append, Act::AppendBelow, Act::AppendBoth, Act::TakePlace, Act::Swap];

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Fail(usize),
    FailFromNowOn(usize),
    Die,
    PowerLoss(u64),
    Act(usize),
}

/// When something goes wrong: in which stage, at which call of those that change something.
type When = (usize, u64, Event);

/// The stages: the change, and the recovery after it.
const STAGES: usize = 2;

/// What is tried: a change, or what follows one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Run,
    Undo,
    Purge,
}

/// A disk on which a verb is about to be tried.
struct Start {
    verb: Verb,
    memory: Memory,
    change: Change,
    before: Files,
    store: Files,
}

fn place(memory: &Memory) -> Place {
    Place { disk: memory.shared(), base: "/home".into() }
}

impl Start {
    fn new(verb: Verb, is_apart: bool, items: &[usize]) -> Self {
        let (place, memory) = Place::in_memory(is_apart);
        memory.actor().put("/outside/secret", "not yours");
        memory.settle();
        let mut change = place.change();
        let mut number = 0;
        change.items.retain(|_| {
            number += 1;
            items.contains(&(number - 1))
        });
        let store = place.files("store");
        if verb != Verb::Run {
            place.run(&change).expect("a run");
            memory.settle();
        }
        // What the change itself wrote is no loss when it is taken back, nor is what is purged when it is gone.
        let mut before = store.clone();
        if verb == Verb::Purge {
            let now = place.files("store");
            before.retain(|path, bytes| now.get(path) == Some(bytes));
        }
        Self { verb, memory, change, before, store }
    }

    /// Carries out the verb; `None` when it failed as a whole.
    fn act(&self, place: &Place) -> Option<Outcome> {
        match self.verb {
            Verb::Run => place.run(&self.change).ok(),
            Verb::Undo => {
                place.try_undo_all();
                None
            }
            Verb::Purge => {
                if let Ok(state_dir) = place.state("trash purge") {
                    let _ = purge(&state_dir, now(), &Purge::All);
                }
                None
            }
        }
    }

    /// Plays a schedule; says what does not hold afterwards.
    fn play(&self, schedule: &[When]) -> Result<(), String> {
        let memory = self.memory.fork();
        let place = place(&memory);
        let mut outcome = None;
        let has_written = Arc::new(AtomicBool::new(false));
        for stage in 0..STAGES {
            let events: Vec<(u64, Event)> =
                schedule.iter().filter(|(of, _, _)| *of == stage).map(|(_, at, event)| (*at, *event)).collect();
            set(&memory, events.clone(), Arc::clone(&has_written));
            match stage {
                0 => outcome = self.act(&place),
                _ => place.try_undo_all(),
            }
            let loss = events.iter().find_map(|(_, event)| match event {
                Event::PowerLoss(choices) => Some(*choices),
                _ => None,
            });
            match loss {
                Some(mut choices) => memory.crash(|outcomes| {
                    let outcomes = outcomes as u64;
                    let choice = choices % outcomes;
                    choices /= outcomes;
                    usize::try_from(choice).unwrap_or_default()
                }),
                None => memory.restart(),
            }
            self.check_bytes(&memory)?;
            if stage == 0 && schedule.iter().all(|(_, _, event)| !matches!(event, Event::Act(_) | Event::PowerLoss(_)))
            {
                self.check_report(outcome.as_ref(), &place)?;
            }
        }
        let said = place.undo_all();
        self.check_bytes(&memory)?;
        check_own_lines(&memory, schedule, &has_written)?;
        self.check_undone(&place, schedule, &said)
    }

    /// Every byte is somewhere, and nothing else is touched.
    fn check_bytes(&self, memory: &Memory) -> Result<(), String> {
        let files = memory.actor().files();
        let contents: BTreeSet<&[u8]> = files
            .values()
            .filter_map(|node| match node {
                Node::File(bytes) => Some(bytes.as_slice()),
                _ => None,
            })
            .collect();
        // Whatever begins with a text comes right after it in order.
        let is_there = |was: &[u8]| contents.range(was..).next().is_some_and(|is| is.starts_with(was));
        for (path, bytes) in &self.before {
            if !is_there(bytes) {
                return Err(format!("{} is lost", path.display()));
            }
        }
        if files.get(Path::new("/outside/secret")) != Some(&Node::File(b"not yours".to_vec())) {
            return Err("what lies outside was touched".to_owned());
        }
        Ok(())
    }

    /// What was reported agrees with the disk.
    fn check_report(&self, outcome: Option<&Outcome>, place: &Place) -> Result<(), String> {
        let Some(outcome) = outcome else { return Ok(()) };
        let now = place.files("store");
        for (item, done) in self.change.items.iter().zip(&outcome.done) {
            for step in &item.steps {
                let path = step.path().strip_prefix("/home/store").unwrap_or(step.path());
                let below = |files: &Files| -> Files {
                    files
                        .iter()
                        .filter(|(at, _)| at.starts_with(path))
                        .map(|(at, is)| (at.clone(), is.clone()))
                        .collect()
                };
                let (was, is) = (below(&self.store), below(&now));
                let agrees = match (done, step) {
                    (ItemResult::Done, Step::Trash { .. }) => is.is_empty(),
                    (ItemResult::Done, Step::Write { .. } | Step::Put { .. }) => is != was && !is.is_empty(),
                    (ItemResult::Done, _) => true,
                    // What could not be put back is said to be in the trash.
                    (ItemResult::Failed(why) | ItemResult::Skipped(why), _) => is == was || why.contains("put back"),
                };
                if !agrees {
                    return Err(format!("{} is not as reported: {done:?}", path.display()));
                }
            }
        }
        Ok(())
    }

    /// Where nobody acted, everything is as it was before the change, or what stands in the way is named.
    fn check_undone(&self, place: &Place, schedule: &[When], said: &[String]) -> Result<(), String> {
        let has_actor = schedule.iter().any(|(_, _, event)| matches!(event, Event::Act(_)));
        let mut now = place.files("store");
        // The removal of an own temporary file may not have been on the disk; doctor finds it.
        let is_temporary =
            |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".rejoin-"));
        if schedule.iter().any(|(_, _, event)| matches!(event, Event::PowerLoss(_))) {
            now.retain(|path, _| !is_temporary(path));
        }
        if has_actor || !said.is_empty() || self.verb == Verb::Purge || now == self.store {
            return Ok(());
        }
        let differs = now.iter().find(|(path, bytes)| self.store.get(*path) != Some(bytes));
        let missing = self.store.keys().find(|path| !now.contains_key(*path));
        Err(format!("the store is not as it was, and nothing is said: {differs:?}, {missing:?}"))
    }
}

/// What the other process wrote is there, unless the power went before it was on the disk.
fn check_own_lines(memory: &Memory, schedule: &[When], has_written: &AtomicBool) -> Result<(), String> {
    let had_power = schedule.iter().all(|(_, _, event)| !matches!(event, Event::PowerLoss(_)));
    let holds = |node: &Node| matches!(node, Node::File(bytes) if bytes.ends_with(MINE.as_bytes()));
    if had_power && has_written.load(Ordering::Relaxed) && !memory.actor().files().values().any(holds) {
        return Err("what the agent wrote is lost".to_owned());
    }
    Ok(())
}

/// Lets the events happen at their calls.
fn set(memory: &Memory, events: Vec<(u64, Event)>, has_written: Arc<AtomicBool>) {
    let mut changes = 0;
    memory.before_each(move |call, actor| {
        changes += u64::from(call.changes);
        if !call.changes {
            return Verdict::Go;
        }
        let mut verdict = Verdict::Go;
        for (at, event) in &events {
            match event {
                Event::Act(which) if *at == changes => {
                    let which = ACTS[which % ACTS.len()];
                    act(which, actor);
                    has_written.fetch_or(which != Act::Swap, Ordering::Relaxed);
                }
                Event::Fail(error) if *at == changes => verdict = Verdict::Fail(ERRORS[error % ERRORS.len()]),
                Event::FailFromNowOn(error) if *at <= changes => verdict = Verdict::Fail(ERRORS[error % ERRORS.len()]),
                Event::Die | Event::PowerLoss(_) if *at == changes => verdict = Verdict::Die,
                _ => {}
            }
        }
        verdict
    });
}

fn act(act: Act, actor: &Actor<'_>) {
    match act {
        Act::Append => actor.add("/home/store/a.jsonl", MINE),
        Act::AppendBelow => actor.add("/home/store/a/subagents/b.jsonl", MINE),
        Act::AppendBoth => {
            actor.add("/home/store/a.jsonl", MINE);
            actor.add("/home/store/a/subagents/b.jsonl", MINE);
        }
        Act::TakePlace => {
            for path in ["/home/store/new.json", "/home/store/made/x"] {
                actor.add(path, MINE);
            }
        }
        // What is aside already must not be overwritten by this one.
        Act::Swap if actor.files().contains_key(Path::new("/home/aside")) => {}
        Act::Swap => {
            actor.rename("/home/store/a", "/home/aside");
            actor.symlink("/home/store/a", "/outside");
        }
    }
}

/// Returns how many calls that change something a stage makes where nothing goes wrong.
fn calls(start: &Start) -> u64 {
    let memory = start.memory.fork();
    let counted = Arc::new(AtomicU64::new(0));
    memory.before_each({
        let counted = Arc::clone(&counted);
        move |call, _| {
            counted.fetch_add(u64::from(call.changes), Ordering::Relaxed);
            Verdict::Go
        }
    });
    start.act(&place(&memory));
    counted.load(Ordering::Relaxed)
}

/// Plays schedules on every core, and stops at the first that fails.
fn explore(name: &str, start: &Start, schedules: impl IntoParallelIterator<Item = Vec<When>>) -> usize {
    let played = schedules.into_par_iter().map(|schedule| {
        if let Err(why) = start.play(&schedule) {
            panic!("{name}: {why}\n  with {schedule:?}");
        }
    });
    played.count()
}

/// Small changes, each tried in every schedule: each kind of step, done, undone and purged, on one file system and two.
fn small() -> Vec<(String, Start)> {
    let mut starts = Vec::new();
    for verb in [Verb::Run, Verb::Undo, Verb::Purge] {
        for is_apart in [false, true] {
            for item in 0..3 {
                starts
                    .push((format!("{verb:?} of item {item}, apart: {is_apart}"), Start::new(verb, is_apart, &[item])));
            }
        }
    }
    starts
}

fn singles() -> Vec<Event> {
    let errors = (0..ERRORS.len()).flat_map(|error| [Event::Fail(error), Event::FailFromNowOn(error)]);
    let acts = (0..ACTS.len()).map(Event::Act);
    errors.chain([Event::Die]).chain(acts).collect()
}

/// How many schedules of a kind are tried, from those that there are: one of so many, unless all are wanted.
fn share() -> usize {
    if std::env::var_os("REJOIN_SCHEDULES").is_some_and(|wish| wish == "all") { 1 } else { SHARE }
}

/// Of this many schedules of two faults, one is tried in a usual run.
const SHARE: usize = 1_499;

#[test]
fn every_single_fault_is_survived() {
    let mut count = 0;
    for (name, start) in small() {
        let calls = calls(&start);
        let all: Vec<Vec<When>> =
            (1..=calls + 2).flat_map(|at| singles().into_iter().map(move |event| vec![(0, at, event)])).collect();
        count += explore(&name, &start, all);
    }
    println!("{count} schedules of one fault");
    assert!(count > 3_000, "only {count} schedules");
}

#[test]
fn every_loss_of_power_is_survived_whatever_it_takes() {
    let mut count = 0;
    for (name, start) in small() {
        // Each choice is a digit of this number: as many as a change leaves undecided at a time.
        let losses =
            (1..=calls(&start) + 1).flat_map(|at| (0..12).map(move |choices| vec![(0, at, Event::PowerLoss(choices))]));
        count += explore(&name, &start, losses.collect::<Vec<_>>());
    }
    println!("{count} losses of power");
    assert!(count > 5_000, "only {count} schedules");
}

#[test]
fn every_pair_of_faults_is_survived() {
    let mut count = 0;
    for (number, (name, start)) in small().into_iter().enumerate() {
        let calls = calls(&start);
        let first = (1..=calls + 1).flat_map(|at| singles().into_iter().map(move |event| (0, at, event)));
        let second = |first: When| {
            let same = (first.1 + 1..=calls + 6).map(|at| (0, at));
            let after = (1..=calls + 1).map(|at| (1, at));
            let whens = same.chain(after);
            whens.flat_map(move |(stage, at)| singles().into_iter().map(move |event| vec![first, (stage, at, event)]))
        };
        let pairs = first.flat_map(second).skip(number * 7 % share()).step_by(share());
        count += explore(&name, &start, pairs.collect::<Vec<_>>());
    }
    println!("{count} schedules of two faults");
    assert!(count > 3_000, "only {count} schedules");
}

/// Draws numbers from a seed, each time the same.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut drawn = self.0;
        drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (drawn ^ (drawn >> 31)) % end.max(1)
    }

    fn event(&mut self) -> Event {
        let error = usize::try_from(self.below(ERRORS.len() as u64)).unwrap_or_default();
        match self.below(6) {
            0 => Event::Die,
            1 => Event::PowerLoss(self.below(u64::MAX)),
            2 => Event::FailFromNowOn(error),
            3 | 4 => Event::Act(usize::try_from(self.below(ACTS.len() as u64)).unwrap_or_default()),
            _ => Event::Fail(error),
        }
    }
}

#[test]
fn drawn_schedules_of_a_larger_change_are_survived() {
    let wanted: u64 = std::env::var("REJOIN_SCHEDULES").ok().and_then(|wish| wish.parse().ok()).unwrap_or(400);
    let mut count = 0;
    for verb in [Verb::Run, Verb::Undo, Verb::Purge] {
        for is_apart in [false, true] {
            let start = Start::new(verb, is_apart, &[0, 1, 2]);
            let calls = calls(&start);
            let drawn = (0..wanted).into_par_iter().map(|seed| {
                let mut draw = Draw(seed);
                let faults = 1 + draw.below(5);
                (0..faults)
                    .map(|_| {
                        (
                            usize::try_from(draw.below(STAGES as u64)).unwrap_or_default(),
                            1 + draw.below(calls + 8),
                            draw.event(),
                        )
                    })
                    .collect::<Vec<When>>()
            });
            count += explore(&format!("{verb:?}, apart: {is_apart}"), &start, drawn);
        }
    }
    println!("{count} drawn schedules");
}

#[test]
fn what_was_put_back_is_on_the_disk_before_the_copy_in_the_trash_goes() {
    // Undoing across file systems cannot sync the store; the recovery after it loses power while it clears the trash.
    let start = Start::new(Verb::Undo, true, &[0, 1, 2]);
    let schedule =
        [(0, 98, Event::FailFromNowOn(1)), (1, 33, Event::Die), (1, 48, Event::PowerLoss(2_525_167_857_530_787_934))];
    assert_eq!(start.play(&schedule), Ok(()));
    for at in 1..=calls(&start) {
        for end in 1..40 {
            for choices in [1, 5, 31, 2_525_167_857_530_787_934] {
                let schedule = [(0, at, Event::FailFromNowOn(0)), (1, end, Event::PowerLoss(choices))];
                assert_eq!(start.play(&schedule), Ok(()), "{schedule:?}");
            }
        }
    }
}

#[test]
fn a_rule_that_is_broken_is_found() {
    for rule in [Rule::SyncFiles, Rule::SyncDirs, Rule::KeepWhatIsThere, Rule::RemoveEmptyOnly] {
        let found = small().into_iter().any(|(_, start)| {
            start.memory.break_rule(rule);
            let losses = (0..8).map(Event::PowerLoss);
            let events: Vec<Event> = losses.chain((0..ACTS.len()).map(Event::Act)).collect();
            let mut moments = 1..=calls(&start) + 1;
            moments.any(|at| events.iter().any(|event| start.play(&[(0, at, *event)]).is_err()))
        });
        assert!(found, "{rule:?} can be broken without anything being lost");
    }
}
