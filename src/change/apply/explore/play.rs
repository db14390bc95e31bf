//! One stage of a schedule: a verb, or the recovery after it, with what goes wrong meanwhile.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::change::apply::explore::held::Held;
use crate::change::apply::explore::start::{Answer, Past, Start};
use crate::system::disk::memory::{Actor, Draw, ERRORS, Memory, Verdict};

/// What another process does between two calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// The agent goes on: it adds to its transcript, which it makes anew where it is gone.
    Append,
    /// The agent writes to a file below its directory.
    AppendBelow,
    /// The agent writes both at once.
    AppendBoth,
    /// The agent adds to the file that the change writes anew.
    AppendInfo,
    /// The agent writes that file anew, with what was in it and more.
    ReplaceInfo,
    /// Somebody gives that file another name.
    TakeInfo,
    /// The agent adds to what the change moves to another place.
    AppendMoved,
    /// The agent makes a file where the change wants to put one.
    TakePlace,
    /// Somebody swaps a directory for a link to where other things are.
    Swap,
    /// A process begins to use the sessions.
    Hold,
}

pub(super) const ACTS: [Act; 10] = [
    Act::Append,
    Act::AppendBelow,
    Act::AppendBoth,
    Act::AppendInfo,
    Act::ReplaceInfo,
    Act::TakeInfo,
    Act::AppendMoved,
    Act::TakePlace,
    Act::Swap,
    Act::Hold,
];

/// Where the other process writes, and what.
pub(super) const MINE: [(&str, &str); 7] = [
    ("/home/store/a.jsonl", "the agent's line\n"),
    ("/home/store/a/subagents/b.jsonl", "the agent's line below\n"),
    ("/home/store/info.json", "the agent's fact\n"),
    ("/home/store/new.json", "the agent's new file\n"),
    ("/home/store/made/x", "the agent's new file below\n"),
    ("/home/store/b.jsonl", "the agent's line elsewhere\n"),
    ("/home/store/b/deep/d.txt", "the agent's line below elsewhere\n"),
];

impl Act {
    /// Returns which of these it writes.
    fn written(self) -> &'static [usize] {
        match self {
            Self::Append => &[0],
            Self::AppendBelow => &[1],
            Self::AppendBoth => &[0, 1],
            Self::AppendInfo | Self::ReplaceInfo => &[2],
            Self::TakePlace => &[3, 4],
            Self::AppendMoved => &[5, 6],
            Self::TakeInfo | Self::Swap | Self::Hold => &[],
        }
    }

    /// Returns whether it is about what an item of the change is about.
    pub(super) fn concerns(self, item: usize) -> bool {
        match self {
            Self::Append | Self::AppendBelow | Self::AppendBoth | Self::Swap => item == 0,
            Self::AppendInfo | Self::ReplaceInfo | Self::TakeInfo => item == 1,
            Self::TakePlace => item == 1 || item == 2,
            Self::AppendMoved => item == 3,
            Self::Hold => true,
        }
    }

    /// Returns whether it does no more than to add to what is there.
    pub(super) fn only_adds(self) -> bool {
        !matches!(self, Self::TakeInfo | Self::Swap)
    }
}

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
    pub(super) fn at(changes: bool, start: &Start) -> Vec<Self> {
        let errors: &[usize] = if changes { &[0, 1, 2, 3] } else { &[0, 2] };
        // An error of what only changes meets comes first at the next change.
        let lasting: &[usize] = if changes { &[0, 1, 2, 3] } else { &[0] };
        let errors = errors.iter().map(|error| Self::Fail(*error));
        let lasting = lasting.iter().map(|error| Self::FailFromNowOn(*error));
        errors.chain(lasting).chain(Self::acts(start)).collect()
    }

    /// Returns what another process may do that is about what is changed.
    pub(super) fn acts(start: &Start) -> impl Iterator<Item = Self> {
        let concerns = |which: &usize| start.items.iter().any(|item| ACTS[*which].concerns(*item));
        (0..ACTS.len()).filter(concerns).map(Self::Act)
    }
}

/// When something goes wrong: in which stage, the verb or the recovery, and at which call of it.
pub(super) type When = (usize, u64, Event);

/// What came of a stage.
pub(super) struct Played {
    /// The disk after it, with nothing of the process left.
    pub(super) memory: Memory,
    pub(super) answer: Answer,
    pub(super) past: Past,
    /// Of each call whether it changes something.
    pub(super) calls: Vec<bool>,
    /// The disk right before each call that changes something and comes after the last event, and after all of them, with
    /// the number of the call.
    pub(super) moments: Vec<(u64, Memory, Past)>,
    /// What was changed although a process used it when it was looked at.
    pub(super) touched: Option<PathBuf>,
}

#[derive(Default)]
struct Seen {
    written: u8,
    calls: Vec<bool>,
    moments: Vec<(u64, Memory, u8)>,
}

/// Plays a stage; with `keeps`, each moment at which the process could end is kept.
pub(super) fn play(start: &Start, (from, past): (&Memory, Past), stage: usize, events: &[When], keeps: bool) -> Played {
    let (memory, past) = (from.fork(), Past { done: None, ..past });
    let seen: Arc<Mutex<Seen>> = Arc::default();
    let last = events.iter().map(|(_, at, _)| *at).max().unwrap_or(0);
    memory.before_each({
        let (seen, events) = (Arc::clone(&seen), events.to_vec());
        move |call, actor| {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.calls.push(call.changes);
            if keeps && call.changes && call.number > last {
                let moment = (call.number, actor.fork(), seen.written);
                seen.moments.push(moment);
            }
            let mut verdict = Verdict::Go;
            for (_, at, event) in &events {
                match event {
                    Event::Act(which) if *at == call.number => {
                        let which = ACTS[which % ACTS.len()];
                        act(which, actor);
                        which.written().iter().for_each(|place| seen.written |= 1 << place);
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
    let held = Held::default();
    let place = held.place(&memory);
    let answer = match stage {
        0 => start.act(&place),
        _ => {
            place.try_undo_all();
            Answer::None
        }
    };
    let writes = |(_, _, event): &When| matches!(event, Event::Act(which) if ACTS[which % ACTS.len()] != Act::Hold);
    let touched = if events.iter().any(writes) { None } else { held.touched(&memory) };
    memory.restart();
    let seen = std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
    let moments = seen.moments.into_iter().map(|(at, memory, written)| {
        memory.restart();
        (at, memory, past.after(events, written))
    });
    let mut moments: Vec<_> = moments.collect();
    let past = Past { done: answer.done(), ..past.after(events, seen.written) };
    if keeps {
        moments.push((seen.calls.len() as u64 + 1, memory.fork(), past));
    }
    Played { memory, answer, past, calls: seen.calls, moments, touched }
}

fn act(act: Act, actor: &Actor<'_>) {
    const INFO: &str = "/home/store/info.json";
    const AWAY: &str = "/home/store/info.old.json";
    match act {
        Act::ReplaceInfo => {
            let mut bytes = actor.read(INFO).unwrap_or_default();
            bytes.extend_from_slice(MINE[2].1.as_bytes());
            actor.put(INFO, bytes);
        }
        // What is aside already must not be overwritten by this one.
        Act::TakeInfo if actor.read(AWAY).is_some() => {}
        Act::TakeInfo => actor.rename(INFO, AWAY),
        Act::Swap if actor.files().contains_key(Path::new("/home/aside")) => {}
        Act::Swap => {
            actor.rename("/home/store/a", "/home/aside");
            actor.symlink("/home/store/a", "/outside");
        }
        Act::Hold => Held::begin(actor),
        _ => act.written().iter().map(|place| MINE[*place]).for_each(|(path, text)| actor.add(path, text)),
    }
}

/// Draws something that goes wrong without ending the process.
pub(super) fn draw_event(draw: &mut Draw) -> Event {
    let error = usize::try_from(draw.below(ERRORS.len() as u64)).unwrap_or_default();
    match draw.below(5) {
        0 => Event::FailFromNowOn(error),
        1 | 2 => Event::Act(usize::try_from(draw.below(ACTS.len() as u64)).unwrap_or_default()),
        _ => Event::Fail(error),
    }
}
