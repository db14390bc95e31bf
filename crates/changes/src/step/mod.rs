//! One step of a change, which can be reverted wherever it was interrupted.
//!
//! Each step is a few calls in an order in which the disk looks different after each of them. So reverting needs no
//! record of the step's progress.

mod carry;
mod contents;
mod moving;
mod perform;
mod record;
mod revert;
mod step_dir;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::disk::{Disk, Handle, NameInDir, look_if_present};
use crate::stamp::hex;
use crate::stamp::{self, Stamp};
use contents::each_piece_of;
pub(super) use record::is_plain;
pub(super) use revert::StepState;
use step_dir::StepDir;

/// Context that the steps of one run share.
#[derive(Debug)]
pub(super) struct StepContext<'a> {
    pub(super) disk: &'a dyn Disk,
    /// The run's name, a part of every temporary name.
    pub(super) run: &'a str,
    /// The run's directory in the trash.
    pub(super) trash: Handle,
    /// Device and inode of each step's new entry, by its name in the trash.
    ///
    /// Only entries known to be made here are ever removed again: another program may write identical ones.
    pub(super) made: RefCell<BTreeMap<String, (u64, u64)>>,
    /// Directories with their links resolved.
    pub(super) resolved: RefCell<HashMap<PathBuf, PathBuf>>,
}

/// Records the entry that a step is about to rename into place: the step's name in the trash, and the entry.
type NoteMade<'n> = dyn FnMut(&str, NameInDir<'_>) -> io::Result<()> + 'n;

/// Records an entry that a step is about to rename into place, so that a later run can recognise it.
pub(super) type Note<'n> = dyn FnMut((u64, u64)) -> io::Result<()> + 'n;

impl StepContext<'_> {
    /// Returns the place of an entry in the trash.
    fn place_in_trash<'k>(&'k self, name: &'k str) -> NameInDir<'k> {
        (&self.trash, OsStr::new(name))
    }

    /// Returns the temporary name of a step's unfinished entry, next to the path that it changes.
    fn temporary(&self, kept: &str, ending: &str) -> String {
        format!(".rejoin-{}-{kept}.{ending}", self.run)
    }

    /// Returns device and inode of a step's new entry.
    fn made(&self, kept: &str) -> Option<(u64, u64)> {
        self.made.borrow().get(kept).copied()
    }

    /// Returns device and inode of the entry at a place; `None` if the place is free.
    fn identity(&self, at: NameInDir<'_>) -> io::Result<Option<(u64, u64)>> {
        Ok(look_if_present(self.disk, at)?.map(|look| look.identity))
    }

    fn exists(&self, at: NameInDir<'_>) -> io::Result<bool> {
        Ok(look_if_present(self.disk, at)?.is_some())
    }

    /// Checks whether an entry matches its stamp, in the same directory.
    fn is_as_planned(&self, step_dir: &StepDir<'_>, stamp: &Stamp) -> bool {
        stamp::take_on(self.disk, step_dir.name_in_dir(), step_dir.path).is_ok_and(|found| found == *stamp)
    }

    /// Checks whether an entry matches its stamp, in any directory.
    fn is_as(&self, at: NameInDir<'_>, stamp: &Stamp) -> bool {
        let found = stamp::take_on(self.disk, at, Path::new(at.1));
        found.is_ok_and(|found| Stamp { parent: stamp.parent, ..found } == *stamp)
    }

    /// Checks whether an entry has the kind, size and time of a stamp; a copy has another inode.
    fn is_like(&self, at: NameInDir<'_>, stamp: &Stamp) -> bool {
        let found = stamp::take_on(self.disk, at, Path::new(at.1));
        found
            .is_ok_and(|found| (found.is_dir, found.size, found.modified) == (stamp.is_dir, stamp.size, stamp.modified))
    }

    /// Checks whether a file is the one that a step has made, with exactly the content that was written to it.
    fn is_made(&self, at: NameInDir<'_>, kept: &str, sha256: &str) -> io::Result<bool> {
        if self.made(kept).is_none() || self.identity(at)? != self.made(kept) {
            return Ok(false);
        }
        let mut digest = Sha256::new();
        each_piece_of(self.disk, at, 0..u64::MAX, &mut |piece| {
            digest.update(piece);
            Ok(())
        })?;
        Ok(hex(&digest.finalize()) == sha256)
    }
}

/// Reason why a step was not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StepError {
    /// Another program changed the path after the plan was made.
    #[error("{0}")]
    Changed(String),
    /// A system call failed.
    #[error("{what} {}: {}", path.display(), crate::error::reason(error))]
    Failed {
        /// The attempted operation.
        what: &'static str,
        /// The path.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
}

fn failed(what: &'static str, path: &Path) -> impl Fn(io::Error) -> StepError {
    move |error| StepError::Failed { what, path: path.to_owned(), error }
}

fn changed(path: &Path) -> StepError {
    StepError::Changed(format!("{} was changed by another program in the meantime", path.display()))
}

fn changed_since(path: &Path) -> String {
    format!("{} has changed since", path.display())
}

fn in_the_way(path: &Path) -> StepError {
    StepError::Changed(format!("{} exists again and is newer", path.display()))
}

/// Checks whether a call failed for one of these reasons.
fn has_errno(error: &io::Error, reasons: &[Errno]) -> bool {
    reasons.iter().any(|reason| error.raw_os_error() == Some(reason.raw_os_error()))
}
