//! Events that are missing or cannot be read.
//!
//! OpenHands loads the events up to the first number that is missing, without a word, and gives a new event the count of
//! files as its number, which may be that of another event. It fails on an event that is empty or cut off. Facts: read in
//! conversation/event_store.py of openhands-sdk 1.21.0; OpenHands/OpenHands #16727.

use std::collections::BTreeSet;

use serde::de::IgnoredAny;

use super::reader::{MAX_EVENT, numbered};
use crate::agent::prelude::*;
use crate::session::obstacle::Obstacle;

/// Records why OpenHands would not load all events of a copy; `reads` also finds events that were cut off.
pub(super) fn note(copy: &mut SessionCopy, events: &[(u64, PathBuf)], reads: bool) {
    let numbers: BTreeSet<u64> = events.iter().map(|(number, _)| *number).collect();
    let why = match events.iter().find(|(_, path)| is_damaged(path, reads)) {
        Some((_, path)) => damaged(path),
        None => {
            let Some(missing) = (0..).zip(&numbers).find_map(|(at, number)| (at != *number).then_some(at)) else {
                return;
            };
            format!(
                "event {missing} is missing, so OpenHands would send {missing} of its {} events, and write new ones under \
                 numbers that others have",
                events.len()
            )
        }
    };
    // If two events have the same number, their order is unknown.
    let is_mendable = numbers.len() == events.len();
    copy.obstruct(Obstacle { is_mendable, ..Obstacle::damage(why) });
}

/// Refuses a conversation with an event that was cut off.
pub(super) fn check(dir: &Path) -> Result<(), Unable> {
    let events = numbered(dir).map_err(|error| error.to_string())?;
    events.iter().find(|(_, path)| is_damaged(path, true)).map_or(Ok(()), |(_, path)| {
        Err(Unable::from(damaged(path)).hint("run `rejoin doctor --fix --check cannot-open`"))
    })
}

/// Sets the events aside that cannot be read, and closes the gaps in the numbers.
pub(super) fn closed(dir: &Path) -> Result<Vec<Act>, Unable> {
    let (mut acts, mut next) = (Vec::new(), 0);
    let events = numbered(dir).map_err(|error| error.to_string())?;
    if events.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return Err("two of its events have the same number".into());
    }
    for (number, path) in events {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if is_damaged(&path, true) {
            acts.push(Act::Move { to: dir.join(format!("{name}.unreadable")), from: path });
            continue;
        }
        if number != next {
            let rest = name.splitn(3, '-').nth(2).unwrap_or_default();
            acts.push(Act::Move { to: path.with_file_name(format!("event-{next:05}-{rest}")), from: path });
        }
        next += 1;
    }
    Ok(acts)
}

fn damaged(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!("{name} is empty or was cut off, and OpenHands fails on it")
}

/// Returns whether an event is known to be empty, or with `reads` to be cut off.
fn is_damaged(path: &Path, reads: bool) -> bool {
    let Ok(size) = links::metadata(path).map(|file| file.len()) else { return false };
    // A longer one is not read.
    let read = || fsio::read_bounded(path, MAX_EVENT).ok();
    size == 0 || reads && read().is_some_and(|bytes| serde_json::from_slice::<IgnoredAny>(&bytes).is_err())
}
