//! Finds the newest time of a log whose records are not ordered by time.
//!
//! A compaction, a branch or a migration writes old records again after newer ones, so the last records do not limit
//! the activity of a session.

use jiff::SignedDuration;

use super::Agent;
use super::upkeep::modified_at;
use crate::format::times;
use crate::session::{FILE_TIME_STEP, Fact, SessionCopy};

/// Time between the last record and the last change of a file from which the file is examined more closely.
const LATE: SignedDuration = SignedDuration::from_mins(1);

/// Raises the activity of a copy to the newest time near the end of its log, if the time of the file allows it.
pub(super) fn check_activity(agent: &dyn Agent, copy: &mut SessionCopy) {
    let Some((active, source)) = copy.active_at.as_ref().map(|at| (at.value, at.source)) else { return };
    let Some(path) = agent.transcript(&copy.place) else { return };
    let changed = copy.modified_at.or_else(|| modified_at(&path));
    let Some(latest) = changed.and_then(|at| at.checked_add(FILE_TIME_STEP).ok()) else { return };
    if latest.duration_since(active) <= LATE {
        return;
    }
    // Other code reports a file that has become unreadable.
    if let Ok(Some(newest)) = times::newest_value_near_end(&path, latest)
        && newest > active
    {
        copy.active_at = Some(Fact::new(newest, source));
    }
}
