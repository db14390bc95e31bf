//! One stage of a schedule: a verb, or the recovery after it, with what goes wrong meanwhile.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;

use crate::change::apply::explore::start::{Past, Start, place};
use crate::change::apply::run::Outcome;
use crate::system::disk::memory::{Actor, Memory, Verdict};

/// The errors that the manuals of the calls list for a disk that is full, broken, or not ours.
pub(super) const ERRORS: [Errno; 4] = [Errno::IO, Errno::NOSPC, Errno::ACCESS, Errno::DQUOT];

/// What another process does between two calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
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
pub(super) const MINE: &str = "the agent's own line\n";

pub(super) const ACTS: [Act; 5] = [Act::Append, Act::AppendBelow, Act::AppendBoth, Act::TakePlace, Act::Swap];

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// This call fails, with one of the errors.
    Fail(usize),
    /// So does each from here on that changes something; with an error of the disk itself, each at all.
    FailFromNowOn(usize),
    /// The process is killed.
    Die,
    /// The power goes; the digits of this number say what of that which is not synced is lost.
    PowerLoss(u64),
    /// Another process acts.
    Act(usize),
}

impl Event {
    /// Returns all that can go wrong at a call, but for an end of the process.
    pub(super) fn at(changes: bool) -> Vec<Self> {
        let errors: &[usize] = if changes { &[0, 1, 2, 3] } else { &[0, 2] };
        // An error of what only changes meets comes first at the next change.
        let lasting: &[usize] = if changes { &[0, 1, 2, 3] } else { &[0] };
        let errors = errors.iter().map(|error| Self::Fail(*error));
        let lasting = lasting.iter().map(|error| Self::FailFromNowOn(*error));
        errors.chain(lasting).chain((0..ACTS.len()).map(Self::Act)).collect()
    }
}

/// When something goes wrong: in which stage, the verb or the recovery, and at which call of it.
pub(super) type When = (usize, u64, Event);

/// What came of a stage.
pub(super) struct Played {
    /// The disk after it, with nothing of the process left.
    pub(super) memory: Memory,
    pub(super) outcome: Option<Outcome>,
    pub(super) past: Past,
    /// Of each call whether it changes something.
    pub(super) calls: Vec<bool>,
    /// The disk right before each call that changes something and comes after the last event, and after all of them, with
    /// the number of the call.
    pub(super) moments: Vec<(u64, Memory, Past)>,
}

#[derive(Default)]
struct Seen {
    has_written: bool,
    calls: Vec<bool>,
    moments: Vec<(u64, Memory, bool)>,
}

/// Plays a stage; with `keeps`, each moment at which the process could end is kept.
pub(super) fn play(start: &Start, (from, past): (&Memory, Past), stage: usize, events: &[When], keeps: bool) -> Played {
    let memory = from.fork();
    let seen: Arc<Mutex<Seen>> = Arc::default();
    let last = events.iter().map(|(_, at, _)| *at).max().unwrap_or(0);
    memory.before_each({
        let (seen, events) = (Arc::clone(&seen), events.to_vec());
        move |call, actor| {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.calls.push(call.changes);
            if keeps && call.changes && call.number > last {
                let moment = (call.number, actor.fork(), seen.has_written);
                seen.moments.push(moment);
            }
            let mut verdict = Verdict::Go;
            for (_, at, event) in &events {
                match event {
                    Event::Act(which) if *at == call.number => {
                        let which = ACTS[which % ACTS.len()];
                        act(which, actor);
                        seen.has_written |= which != Act::Swap;
                    }
                    Event::Fail(error) if *at == call.number => verdict = Verdict::Fail(ERRORS[error % ERRORS.len()]),
                    Event::FailFromNowOn(error) if *at <= call.number && (call.changes || *error == 0) => {
                        verdict = Verdict::Fail(ERRORS[error % ERRORS.len()]);
                    }
                    Event::Die | Event::PowerLoss(_) if *at == call.number => verdict = Verdict::Die,
                    _ => {}
                }
            }
            verdict
        }
    });
    let outcome = match stage {
        0 => start.act(&place(&memory)),
        _ => {
            place(&memory).try_undo_all();
            None
        }
    };
    memory.restart();
    let mut seen = std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
    if keeps {
        seen.moments.push((seen.calls.len() as u64 + 1, memory.fork(), seen.has_written));
    }
    let moments = seen.moments.into_iter().map(|(at, memory, has_written)| {
        memory.restart();
        (at, memory, past.after(events, has_written))
    });
    let moments = moments.collect();
    Played { memory, outcome, past: past.after(events, seen.has_written), calls: seen.calls, moments }
}

/// Loses power: the digits of `choices` say which outcome each decision has. Returns how many each had.
pub(super) fn crash(memory: &Memory, mut choices: u64) -> Vec<u64> {
    let mut arities = Vec::new();
    memory.crash(|outcomes| {
        let outcomes = outcomes as u64;
        arities.push(outcomes);
        let choice = choices % outcomes;
        choices /= outcomes;
        usize::try_from(choice).unwrap_or_default()
    });
    arities
}

/// Returns the outcomes of a loss of power that are tried: all, or `limit` of them with the extremes.
pub(super) fn losses(memory: &Memory, limit: u64, draw: &mut Draw) -> Vec<u64> {
    let arities = crash(&memory.fork(), 0);
    let all = arities.iter().try_fold(1_u64, |all, arity| all.checked_mul(*arity)).unwrap_or(u64::MAX);
    if all <= limit {
        return (0..all).collect();
    }
    // Nothing is lost, all is, one thing alone; then what is drawn.
    let (mut place, mut extremes, mut everything) = (1_u64, vec![0], 0_u64);
    for arity in arities {
        extremes.push(place);
        everything = everything.saturating_add(place);
        place = place.saturating_mul(arity);
    }
    extremes.insert(1, everything);
    extremes.truncate(usize::try_from(limit).unwrap_or(usize::MAX) / 2 + 1);
    let drawn = limit - extremes.len() as u64;
    extremes.extend((0..drawn).map(|_| draw.below(all)));
    extremes
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

/// Draws numbers from a seed, each time the same.
#[derive(Clone, Debug)]
pub(super) struct Draw(pub(super) u64);

impl Draw {
    pub(super) fn below(&mut self, end: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut drawn = self.0;
        drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (drawn ^ (drawn >> 31)) % end.max(1)
    }

    /// Draws something that goes wrong without ending the process.
    pub(super) fn event(&mut self) -> Event {
        let error = usize::try_from(self.below(ERRORS.len() as u64)).unwrap_or_default();
        match self.below(5) {
            0 => Event::FailFromNowOn(error),
            1 | 2 => Event::Act(usize::try_from(self.below(ACTS.len() as u64)).unwrap_or_default()),
            _ => Event::Fail(error),
        }
    }
}
