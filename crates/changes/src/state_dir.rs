//! The state directory with its lock, journals and trash, needed for every change.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::bounds::Bounds;
use crate::disk::{self, Disk, Handle};
use crate::error::Error;
use crate::error::PathError;
use crate::lock::RunLock;
use crate::{private_dir, tree};

/// The state directory, locked for one verb.
#[derive(Debug)]
pub struct StateDir {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    /// Handles of the directory itself, the journals and the trash.
    state: Handle,
    pub(super) runs: Handle,
    pub(super) trash: Handle,
    /// The paths that its runs may change.
    pub bounds: Bounds,
    _lock: RunLock,
}

impl StateDir {
    /// Makes the missing parts of the directory `path` on a disk, and takes the lock, waiting at most `patience` for
    /// another run to end. Runs change paths within `bounds`.
    pub fn open(
        disk: Arc<dyn Disk>,
        (path, bounds): (PathBuf, Bounds),
        now: Timestamp,
        verb: &str,
        patience: Duration,
    ) -> Result<Self, Error> {
        let make =
            |path: &Path| disk::make_own_dirs(&*disk, path).map_err(|error| PathError::new("create", path, error));
        let state = make(&path)?;
        let (runs, trash) = (make(&path.join("runs"))?, make(&path.join("trash"))?);
        let lock = RunLock::acquire(&*disk, (&state, &path), verb, now, patience)?;
        let state_dir = Self { disk, path, state, runs, trash, bounds, _lock: lock };
        // A killed run may have left prepared files, and no other run is active now.
        state_dir.clear_ready().map_err(|error| PathError::new("remove", &state_dir.path.join(READY), error))?;
        // Leftovers do no harm, so errors are ignored.
        let _ = private_dir::clear_left(&*state_dir.disk, &state_dir.state);
        Ok(state_dir)
    }

    /// Returns the disk of the directory.
    pub fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes prepared entries that were not renamed into place.
    pub fn clear_ready(&self) -> io::Result<()> {
        tree::remove(self.disk(), (&self.state, OsStr::new(READY)))
    }

    /// Returns the latest second and number in the names of the journals and the trash.
    pub(super) fn newest_order(&self) -> Result<Option<(String, u64)>, PathError> {
        let list = |dir| self.disk.list(dir).map_err(|error| PathError::new("read", &self.path, error));
        let names = list(&self.runs)?.into_iter().chain(list(&self.trash)?);
        let orders = names.filter_map(|name| {
            let (second, number) = order(name.to_str()?.trim_end_matches(".jsonl"))?;
            Some((second.to_owned(), number))
        });
        Ok(orders.max())
    }

    /// Removes a run that changed nothing; returns false if its trash is not empty, and then keeps its journal.
    pub(super) fn forget(&self, run: &str) -> bool {
        self.remove_if_empty(run) && tree::remove(self.disk(), (&self.runs, &journal_name(run))).is_ok()
    }

    /// Removes a run's directory in the trash if it is empty; returns whether it is gone.
    pub(super) fn remove_if_empty(&self, run: &str) -> bool {
        let removed = self.disk.remove_dir((&self.trash, OsStr::new(run)));
        let is_gone = removed.is_ok() || removed.is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        let _ = self.disk.sync(&self.trash);
        is_gone
    }

    /// Returns the path of a run's journal, for messages.
    pub(super) fn journal_of(&self, run: &str) -> PathBuf {
        self.path.join("runs").join(journal_name(run))
    }

    /// Returns the path of a run's trash, for messages.
    pub(super) fn trash_of(&self, run: &str) -> PathBuf {
        self.path.join("trash").join(run)
    }
}

/// The directory in the state directory for prepared entries.
pub const READY: &str = "ready";

/// Returns the sort key of a run's name: the second that the name begins with, and its number among the runs of that
/// second. `None` if it is not the name of a run.
pub fn order(run: &str) -> Option<(&str, u64)> {
    let (second, rest) = run.split_at_checked(SECOND.len())?;
    let is_second = second.bytes().zip(SECOND).all(|(byte, pattern)| match pattern {
        b'0' => byte.is_ascii_digit(),
        _ => byte == *pattern,
    });
    let number = if rest.is_empty() { 1 } else { rest.strip_prefix('-')?.parse().ok()? };
    is_second.then_some((second, number))
}

/// Pattern of the beginning of a run's name, with a 0 for each digit.
const SECOND: &[u8; 15] = b"00000000-000000";

/// Returns the name of a run's journal.
pub fn journal_name(run: &str) -> OsString {
    format!("{run}.jsonl").into()
}
