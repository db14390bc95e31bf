//! Runs with every possible fault on the in-memory disk, for code that the next run recovers.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;

use super::{Draw, HookVerdict, Memory, crash, losses};

/// The errors that the manuals of the calls list for a disk that is full, broken, or not writable for this user.
pub const ERRORS: [Errno; 4] = [Errno::IO, Errno::NOSPC, Errno::ACCESS, Errno::DQUOT];

/// Maximum number of power-loss outcomes tried per moment: without another fault, and after one.
const LOSSES: [u64; 2] = [24, 3];

/// The disk after a run, and the result of the run.
pub struct DiskAfterRun<T> {
    /// The disk after the end of the process.
    pub memory: Memory,
    /// The answer of the run; `None` if it failed, or was killed before it could answer.
    pub answer: Option<T>,
    /// Set if the power was lost at the end of the run.
    pub has_lost_power: bool,
}

/// The number of a call that fails, its error, and whether all later calls fail too.
type InjectedFault = Option<(u64, Errno, bool)>;

/// The result of a run with a fault.
struct RunWithFault<T> {
    left: DiskAfterRun<T>,
    /// For each call, whether it changes something.
    calls: Vec<bool>,
    /// The disk right before each changing call after the fault.
    moments: Vec<Memory>,
}

/// Runs `run` on copies of a disk and passes what each run left to `check`: without a fault; with each call failing,
/// alone and with all later ones; and killed, or without power, at the end and before each changing call, also after a
/// call that failed once. Equal disks with an equal answer are checked once. Returns the number of schedules.
pub fn with_every_fault<T: Clone, E>(
    start: &Memory,
    run: impl Fn(&Memory) -> Result<T, E>,
    check: impl Fn(&DiskAfterRun<T>) -> Result<(), String>,
) -> u64 {
    let (mut count, mut seen) = (0, HashSet::new());
    let mut look = |left: &DiskAfterRun<T>, fault: InjectedFault, end: &str| {
        count += 1;
        if !seen.insert((left.memory.digest(), left.answer.is_some(), left.has_lost_power)) {
            return;
        }
        let left = DiskAfterRun { memory: left.memory.fork(), answer: left.answer.clone(), ..*left };
        if let Err(why) = check(&left) {
            panic!("{why}; after the fault {fault:?}, {end}: {:#?}", left.memory.actor().files().keys());
        }
    };
    let calls = play(start, None, &run).calls;
    let faults = calls.iter().zip(1_u64..).flat_map(|(changes, at)| {
        let errors: &[Errno] = if *changes { &ERRORS } else { &ERRORS[..1] };
        errors.iter().flat_map(move |error| [(at, *error, false), (at, *error, true)]).map(Some)
    });
    for fault in [None].into_iter().chain(faults) {
        let RunWithFault { left, moments, .. } = play(start, fault, &run);
        let limit = LOSSES[usize::from(fault.is_some())];
        look(&left, fault, "at its end");
        lose_power(&left.memory, left.answer.as_ref(), limit, |lost| look(lost, fault, "without power at its end"));
        let goes_on = fault.is_none_or(|(_, error, is_lasting)| error == ERRORS[0] && !is_lasting);
        for (memory, at) in moments.into_iter().filter(|_| goes_on).zip(1..) {
            lose_power(&memory, None, limit, |lost| look(lost, fault, &format!("without power at moment {at}")));
            let killed = DiskAfterRun { memory, answer: None, has_lost_power: false };
            look(&killed, fault, &format!("killed at moment {at}"));
        }
    }
    count
}

fn lose_power<T: Clone>(memory: &Memory, answer: Option<&T>, limit: u64, mut see: impl FnMut(&DiskAfterRun<T>)) {
    for choices in losses(memory, limit, &mut Draw(0)) {
        let memory = memory.fork();
        crash(&memory, choices);
        see(&DiskAfterRun { memory, answer: answer.cloned(), has_lost_power: true });
    }
}

fn play<T, E>(start: &Memory, fault: InjectedFault, run: &impl Fn(&Memory) -> Result<T, E>) -> RunWithFault<T> {
    let memory = start.fork();
    let seen: Arc<Mutex<(Vec<bool>, Vec<Memory>)>> = Arc::default();
    memory.before_each({
        let seen = Arc::clone(&seen);
        move |call, actor| {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.0.push(call.changes);
            if call.changes && fault.is_none_or(|(at, ..)| at < call.number) {
                seen.1.push(actor.fork());
            }
            match fault {
                Some((at, error, is_lasting)) if at == call.number || (is_lasting && at < call.number) => {
                    HookVerdict::Fail(error)
                }
                _ => HookVerdict::Go,
            }
        }
    });
    let answer = run(&memory).ok();
    memory.restart();
    let (calls, moments) = std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
    moments.iter().for_each(Memory::restart);
    RunWithFault { left: DiskAfterRun { memory, answer, has_lost_power: false }, calls, moments }
}
