//! Reads the state and the events of one conversation.

use crate::agent::judge_by_age;
use crate::agent::lines::Record as _;
use crate::agent::openhands::records::{BaseState, OpenHandsEvent, number};
use crate::agent::prelude::*;
use crate::system::env::Clock;

/// Maximum size of the state, which contains the settings of the agent and its cost so far.
const MAX_STATE: u64 = 16 * 1024 * 1024;
/// Maximum size of an event. The first one contains the instructions and every tool; another one may contain an image,
/// and is skipped.
pub(super) const MAX_EVENT: u64 = 8 * 1024 * 1024;
/// Maximum number of events at the start that are searched for the first prompt, and at the end that are searched for a
/// time.
const FROM_START: usize = 40;
const FROM_END: usize = 6;

/// Returns the file of the state.
pub(super) fn state_of(dir: &Path) -> PathBuf {
    dir.join("base_state.json")
}

/// Reads the state and passes it to `see`; `None` if there is no state.
pub(super) fn state<T>(dir: &Path, see: impl FnOnce(&BaseState<'_>) -> T) -> Result<Option<T>, PathError> {
    let path = state_of(dir);
    let Some(bytes) = fsio::read_if_present(&path, MAX_STATE)? else { return Ok(None) };
    let state = serde_json::from_slice(&bytes).map_err(|_| {
        let why = std::io::Error::other("it cannot be read as JSON");
        PathError::new("read", &path, why)
    })?;
    Ok(Some(see(&state)))
}

/// Returns the files of the events, in order.
pub(super) fn events(dir: &Path) -> Result<Vec<PathBuf>, PathError> {
    Ok(numbered(dir)?.into_iter().map(|(_, path)| path).collect())
}

/// Returns the files of the events with their numbers, in order.
pub(super) fn numbered(dir: &Path) -> Result<Vec<(u64, PathBuf)>, PathError> {
    let mut found = Found::default();
    let dir = dir.join("events");
    let mut events: Vec<(u64, PathBuf)> = found
        .entries(&dir)
        .into_iter()
        .filter(|(_, kind)| kind.is_file())
        .filter_map(|(entry, _)| Some((number(entry.file_name().to_str()?)?, entry.path())))
        .collect();
    if let Some(problem) = found.problems.pop() {
        return Err(PathError::new("read", &problem.path, std::io::Error::other(problem.reason)));
    }
    events.sort();
    Ok(events)
}

/// Reads an event and passes it to `see`; `None` if it is unreadable.
pub(super) fn event<T>(path: &Path, see: impl FnOnce(&OpenHandsEvent<'_>) -> T) -> Option<T> {
    let bytes = fsio::read_bounded(path, MAX_EVENT).ok()?;
    let event = serde_json::from_slice(&bytes).ok()?;
    Some(see(&event))
}

/// Reads the state, and the events at both ends. Returns the files of all events with their numbers.
pub(super) fn read(copy: &mut SessionCopy, clock: &Clock) -> Result<Vec<(u64, PathBuf)>, PathError> {
    let dir = copy.place.path.to_path_buf();
    let mut is_running = false;
    let read = state(&dir, |state| {
        is_running = state.execution_status.get() == Some("running");
        copy.model = state.model().map(|model| Fact::new(model, "base-state"));
        copy.last_dir = state.dir().map(|dir| Fact::new(dir, "base-state"));
    });
    match read {
        Ok(Some(())) => {}
        Ok(None) => copy.notes.push("it has no base_state.json".to_owned()),
        Err(error) => {
            copy.health.insert(Health::InvalidContent);
            copy.notes.push(format!("base_state.json cannot be used: {}", error.reason()));
        }
    }
    let events = numbered(&dir)?;
    let mut has_reply = false;
    for (n, (_, path)) in events.iter().take(FROM_START).enumerate() {
        let prompt = event(path, |event| {
            if n == 0 {
                copy.start_dir = event.dir().map(|dir| Fact::new(dir, "system-prompt"));
                copy.created_at = event.at(&clock.zone).map(|at| Fact::new(at, "events"));
            }
            let turn = event.turn()?;
            has_reply |= turn.is_reply();
            turn.prompt().map(str::to_owned)
        });
        copy.first_prompt = prompt.flatten().map(|prompt| Fact::new(prompt, "events"));
        if copy.first_prompt.is_some() {
            break;
        }
    }
    for (n, (_, path)) in events.iter().rev().take(FROM_END).enumerate() {
        let last = event(path, |event| event.at(&clock.zone));
        copy.mark_if(n == 0 && last.is_none(), Health::TornTranscript);
        copy.active_at = last.flatten().map(|at| Fact::new(at, "events"));
        if copy.active_at.is_some() {
            break;
        }
    }
    let is_silent = copy.first_prompt.is_none() && !has_reply && events.len() <= FROM_START;
    if is_silent {
        copy.be_empty();
    }
    // The directory in the state is the one in which the conversation last continued, and in which it continues if it
    // is started there.
    copy.add_dirs("base_state.json", "the first event");
    judge_liveness(copy, is_running, clock.now);
    Ok(events)
}

fn judge_liveness(copy: &mut SessionCopy, is_running: bool, now: Timestamp) {
    let last = copy.active_at.as_ref().map(|at| at.value);
    judge_by_age(copy, last, now);
    if is_running && copy.liveness == Liveness::Idle {
        let why = "its state says that it runs, which a client that was killed leaves behind too".to_owned();
        copy.liveness = Liveness::Maybe { why };
    }
}

/// Counts prompts and replies, and records whether there are unreadable events.
pub(super) fn observe(copy: &mut SessionCopy, observers: &mut Observers) -> Result<(), PathError> {
    for path in events(&copy.place.path)? {
        observers.add_record(event(&path, |event| event.turn()));
    }
    observers.finish(copy);
    Ok(())
}

/// Calls `see` with every message of a conversation until it breaks.
pub(super) fn messages(dir: &Path, see: &mut Visitor<'_>) -> Result<(), PathError> {
    for path in events(dir)? {
        let messages = event(&path, |event| event.messages()).unwrap_or_default();
        if messages.into_iter().try_for_each(&mut *see).is_break() {
            break;
        }
    }
    Ok(())
}
