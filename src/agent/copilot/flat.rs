//! Logs of versions 0.0.343 to 0.0.372 (by their packages): `session-state/<id>.jsonl`, without a folder.
//!
//! Copilot CLI 1.0.50 and later refuse them as "a legacy flat JSONL transcript format" (measured on 1.0.102, the versions by
//! their packages). Moved to `<id>/events.jsonl`, such a log is resumed with every word (1.0.102).

use crate::agent::lines::Ends;
use crate::agent::prelude::*;
use crate::session::obstacle::Obstacle;

/// Returns whether a copy is a log without a folder.
pub(super) fn is_flat(place: &Located) -> bool {
    place.path.extension().is_some_and(|extension| extension == "jsonl")
}

/// Returns the folder of a session.
pub(super) fn folder(place: &Located) -> PathBuf {
    place.path.with_extension("")
}

/// Fills in the facts about a log without a folder: its size, whether it may be in use, and that it cannot be opened.
pub(super) fn judge(copy: &mut SessionCopy, ends: &Ends, context: &ReadContext<'_>) {
    if !is_flat(&copy.place) {
        return;
    }
    copy.size_bytes = copy.transcript_bytes;
    copy.judge_by_age(ends.newest.max(ends.modified), context.env.clock.now, |age| {
        format!("it was written to {age} ago")
    });
    let is_mendable = !is_there(&folder(&copy.place));
    let why = "its log has no folder, as before version 0.0.380, and Copilot CLI 1.0.50 and later refuse such a log";
    copy.obstruct(Obstacle { is_mendable, ..Obstacle::new(why) });
}

/// Returns the change that lets Copilot CLI open the session.
pub(super) fn mend(copy: &SessionCopy) -> Result<Vec<Act>, Unable> {
    let from = copy.place.path.to_path_buf();
    if !is_flat(&copy.place) {
        return Err("nothing is known to mend it".into());
    }
    Ok(vec![Act::Move { from, to: folder(&copy.place).join("events.jsonl") }])
}
