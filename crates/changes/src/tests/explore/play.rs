//! One stage of a schedule: a verb, or the recovery after it, with its faults.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::disk::memory::{Actor, ERRORS, HookVerdict, Memory};
use crate::tests::explore::in_use::DataInUse;
use crate::tests::explore::schedule::{ACTS, EventTime, MINE, OtherAct, ScheduledEvent};
use crate::tests::explore::setup::{Past, StartDisk, VerbAnswer};

/// Result of a stage.
pub(super) struct PlayedStage {
    /// The disk after the stage, without any state of the process.
    pub(super) memory: Memory,
    pub(super) answer: VerbAnswer,
    pub(super) past: Past,
    /// Set for each call that changes something.
    pub(super) calls: Vec<bool>,
    /// The disk before each changing call after the last event, and at the end, each with the number of the call.
    pub(super) moments: Vec<(u64, Memory, Past)>,
    /// A path that was changed after it was found in use.
    pub(super) touched: Option<PathBuf>,
}

#[derive(Default)]
struct ObservedCalls {
    written: u8,
    calls: Vec<bool>,
    moments: Vec<(u64, Memory, u8)>,
}

/// Plays a stage; with `keeps`, records each moment at which the process could end.
pub(super) fn play(
    start: &StartDisk,
    (from, past): (&Memory, Past),
    stage: usize,
    events: &[EventTime],
    keeps: bool,
) -> PlayedStage {
    let (memory, past) = (from.fork(), Past { done: None, ..past });
    let seen: Arc<Mutex<ObservedCalls>> = Arc::default();
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
            let mut verdict = HookVerdict::Go;
            for (_, at, event) in &events {
                match event {
                    ScheduledEvent::Act(which) if *at == call.number => {
                        let which = ACTS[which % ACTS.len()];
                        act(which, actor);
                        which.written().iter().for_each(|place| seen.written |= 1 << place);
                    }
                    ScheduledEvent::Fail(error) if *at == call.number => {
                        verdict = HookVerdict::Fail(ERRORS[error % ERRORS.len()])
                    }
                    ScheduledEvent::FailFromNowOn(error) if *at <= call.number && (call.changes || *error == 0) => {
                        verdict = HookVerdict::Fail(ERRORS[error % ERRORS.len()]);
                    }
                    ScheduledEvent::Die | ScheduledEvent::PowerLoss(_) if *at == call.number => {
                        verdict = HookVerdict::Die
                    }
                    _ => {}
                }
            }
            verdict
        }
    });
    let held = DataInUse::default();
    let place = held.place(&memory);
    let answer = match stage {
        0 => start.act(&place),
        _ => {
            place.try_undo_all();
            VerbAnswer::None
        }
    };
    let writes = |(_, _, event): &EventTime| matches!(event, ScheduledEvent::Act(which) if ACTS[which % ACTS.len()] != OtherAct::Hold);
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
    PlayedStage { memory, answer, past, calls: seen.calls, moments, touched }
}

fn act(act: OtherAct, actor: &Actor<'_>) {
    const INFO: &str = "/home/store/info.json";
    const AWAY: &str = "/home/store/info.old.json";
    match act {
        OtherAct::ReplaceInfo => {
            let mut bytes = actor.read(INFO).unwrap_or_default();
            bytes.extend_from_slice(MINE[2].1.as_bytes());
            actor.save_file(INFO, bytes);
        }
        // Do not overwrite a file that was renamed before.
        OtherAct::TakeInfo if actor.read(AWAY).is_some() => {}
        OtherAct::TakeInfo => actor.rename(INFO, AWAY),
        OtherAct::Swap if actor.files().contains_key(Path::new("/home/aside")) => {}
        OtherAct::Swap => {
            actor.rename("/home/store/a", "/home/aside");
            actor.symlink("/home/store/a", "/outside");
        }
        OtherAct::Hold => DataInUse::begin(actor),
        _ => act.written().iter().map(|place| MINE[*place]).for_each(|(path, text)| actor.add(path, text)),
    }
}
