//! Determines from the locks that clients hold whether sessions are in use.

use std::path::Path;

use super::{Found, StoreNotes};
use crate::session::Liveness;
use crate::system::process::{self, LockOwner, Locks};

/// Records the sessions whose lock in a directory, `<id>.lock`, is held; the file remains after a client has ended.
/// `noted` reads the process from the agent's own note.
pub(super) fn add_held(
    dir: &Path,
    is_id: impl Fn(&str) -> bool,
    noted: fn(&Path) -> Option<u32>,
    notes: &mut StoreNotes,
) {
    let mut found = Found::default();
    // The system's table is read only if there is a lock file.
    let mut table = None;
    for (entry, kind) in found.entries(dir) {
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.strip_suffix(".lock")).filter(|id| kind.is_file() && is_id(id));
        let Some(id) = id else { continue };
        let held = liveness(&entry.path(), table.get_or_insert_with(Locks::read), noted);
        notes.locked.extend(held.map(|held| (id.to_owned(), held)));
    }
    notes.problems.append(&mut found.problems);
}

/// Determines the liveness of a session from its lock; `None` if no process holds it.
pub(super) fn liveness(lock: &Path, table: &Locks, noted: fn(&Path) -> Option<u32>) -> Option<Liveness> {
    let pid = match table.holder(lock) {
        LockOwner::Free => return None,
        LockOwner::HeldBy(pid) => Some(pid),
        LockOwner::Held => noted(lock).filter(|pid| process::exists(*pid)),
    };
    let why = || "its lock is held by a process that rejoin cannot see".to_owned();
    Some(pid.map_or_else(|| Liveness::Maybe { why: why() }, |pid| Liveness::Live { pid }))
}
