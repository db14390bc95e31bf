//! One step of a change: done so that it can be taken back, whenever it was cut off.
//!
//! Each step is a few system calls in an order in which every moment between two of them can be told apart by
//! looking at the disk. So taking back needs no memory of how far the step came.

mod perform;
mod revert;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::change::apply::fault::Fault;
use crate::change::apply::journal::{StepRecord, Times};
use crate::change::apply::tree;
use crate::change::plan::change::{Contents, Step, hex};
use crate::system::fsio;
use crate::system::stamp;
use crate::system::stamp::Stamp;

pub(super) use revert::StepState;

/// Why a step was not done.
#[derive(Debug, thiserror::Error)]
pub(super) enum StepError {
    /// Another program was there since the plan was made.
    #[error("{0}")]
    Changed(String),
    /// The system refused.
    #[error("{what} {}: {}", path.display(), crate::error::reason(error))]
    Failed {
        /// What was tried.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

fn failed(what: &'static str, path: &Path) -> impl Fn(io::Error) -> StepError {
    move |error| StepError::Failed { what, path: path.to_owned(), error }
}

fn changed(path: &Path) -> StepError {
    StepError::Changed(format!("{} was changed by another program meanwhile", path.display()))
}

/// What the steps of one run share.
#[derive(Debug)]
pub(super) struct StepContext<'a> {
    /// The run's name, a part of every temporary name.
    pub(super) run: &'a str,
    /// The run's directory in the trash.
    pub(super) trash: &'a Path,
    /// Where a test wants a fault.
    pub(super) fault: &'a Fault,
    /// The device and inode of what each step has made, by its name in the trash.
    ///
    /// Only what is known to be made here is ever taken away again: another program may write the very same.
    pub(super) made: RefCell<BTreeMap<String, (u64, u64)>>,
}

/// Notes what lies at a path as what a step, named by its place in the trash, is about to put in place.
type NoteMade<'n> = dyn FnMut(&str, &Path) -> io::Result<()> + 'n;

/// Notes what a step is about to put in place, so that a later run knows it again.
pub(super) type Note<'n> = dyn FnMut((u64, u64)) -> io::Result<()> + 'n;

/// The directory in which a step works, held open so that it stays the one that was looked at.
struct Dir {
    handle: OwnedFd,
    path: PathBuf,
    metadata: Metadata,
}

impl Dir {
    fn of(path: &Path) -> io::Result<Self> {
        let dir = path.parent().ok_or_else(|| io::Error::other("it has no directory"))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(dir, flags, Mode::empty())?;
        let metadata = File::from(handle.try_clone()?).metadata()?;
        Ok(Self { handle, path: dir.to_owned(), metadata })
    }

    fn is(&self, identity: (u64, u64)) -> bool {
        (self.metadata.dev(), self.metadata.ino()) == identity
    }

    /// Puts the directory's changes on the disk and its own times back: agents order and clean up by them.
    fn settle(&self, fault: &Fault) -> io::Result<()> {
        tree::sync_dir(&self.path)?;
        fault.point()?;
        tree::set_times(&self.path, &self.metadata)
    }
}

/// Returns the times of the directory that a step changes.
pub(super) fn dir_times(path: &Path) -> Option<Times> {
    let metadata = path.parent()?.metadata().ok()?;
    Some(((metadata.atime(), metadata.atime_nsec()), (metadata.mtime(), metadata.mtime_nsec())))
}

/// Puts what the step changed its directory's times from back.
#[expect(clippy::disallowed_methods, reason = "this is part of the one place that changes files")]
pub(super) fn restore_dir_times(path: &Path, times: Times) {
    use rustix::fs::{CWD, Timespec, Timestamps, utimensat};
    let spec = |(seconds, nanoseconds): (i64, i64)| Timespec { tv_sec: seconds, tv_nsec: nanoseconds as _ };
    let times = Timestamps { last_access: spec(times.0), last_modification: spec(times.1) };
    if let Some(dir) = path.parent() {
        // The directory may be gone, which is nobody's loss.
        let _ = utimensat(CWD, dir, &times, AtFlags::empty());
    }
}

/// Says what a step will do, in the journal's form.
pub(super) fn record(step: &Step, item: usize, number: usize) -> Result<StepRecord, StepError> {
    let kept = format!("{item}-{number}");
    Ok(match step {
        Step::Trash { path, stamp } => StepRecord::Trash { path: path.to_path_buf(), kept, stamp: stamp.clone() },
        Step::Write { path, contents, stamp } => {
            let mut read = Digesting { target: io::sink(), digest: Sha256::new() };
            write_contents(contents, &mut read).map_err(failed("cannot read what goes into", path))?;
            let sha256 = hex(&read.digest.finalize());
            StepRecord::Write { path: path.clone(), kept, stamp: stamp.as_deref().cloned(), sha256 }
        }
        Step::MakeDir { path } => StepRecord::MakeDir { path: path.clone(), kept },
        Step::Put { from, path } => {
            let stamp = stamp::take(from).map_err(|error| StepError::Changed(error.to_string()))?;
            StepRecord::Put { path: path.clone(), from: from.clone(), kept, stamp }
        }
    })
}

/// Tells whether the record of a step is made of the step alone, and so of nothing that may change meanwhile.
pub(super) fn is_plain(step: &Step) -> bool {
    matches!(step, Step::Trash { .. } | Step::MakeDir { .. })
}

fn write_contents(contents: &Contents, to: &mut dyn io::Write) -> io::Result<()> {
    match contents {
        Contents::Bytes(bytes) => to.write_all(bytes),
        Contents::Joined(parts) => parts.iter().try_for_each(|part| {
            let (mut file, _) = fsio::open_regular(part).map_err(|error| io::Error::other(error.to_string()))?;
            io::copy(&mut file, to).map(drop)
        }),
    }
}

/// Renames where nothing may be replaced.
#[expect(clippy::disallowed_methods, reason = "this is part of the one place that changes files")]
fn rename_to_free(from: (&OwnedFd, &Path), to: (&OwnedFd, &Path)) -> rustix::io::Result<()> {
    match rustix::fs::renameat_with(from.0, from.1, to.0, to.1, RenameFlags::NOREPLACE) {
        // Some file systems do not know the flag; then looking first is the best there is.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            match rustix::fs::statat(to.0, to.1, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => rustix::fs::renameat(from.0, from.1, to.0, to.1),
                Ok(_) => Err(Errno::EXIST),
                Err(error) => Err(error),
            }
        }
        done => done,
    }
}

fn name(path: &Path) -> &Path {
    path.file_name().map_or(path, Path::new)
}

fn changed_since(path: &Path) -> String {
    format!("{} was changed since", path.display())
}

/// Returns the device and inode of what is at a path.
fn identity(path: &Path) -> Option<(u64, u64)> {
    path.symlink_metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

impl StepContext<'_> {
    /// Returns the name beside a path under which a step has something that is not finished.
    fn beside(&self, path: &Path, kept: &str, ending: &str) -> PathBuf {
        path.with_file_name(format!(".rejoin-{}-{kept}.{ending}", self.run))
    }

    /// Returns the identity of what a step has made.
    fn made(&self, kept: &str) -> Option<(u64, u64)> {
        self.made.borrow().get(kept).copied()
    }

    /// Moves something to where nothing may be, across file systems too.
    fn move_to_free(
        &self,
        from: &Path,
        ready: &Dir,
        path: &Path,
        dir: &Dir,
        (kept, note): (&str, &mut NoteMade<'_>),
    ) -> Result<(), StepError> {
        let fail = failed("cannot put back", path);
        let taken = |error: Errno| if error == Errno::EXIST { in_the_way(path) } else { fail(error.into()) };
        note(kept, from).map_err(&fail)?;
        self.fault.point().map_err(&fail)?;
        match rename_to_free((&ready.handle, name(from)), (&dir.handle, name(path))) {
            Ok(()) => Ok(()),
            Err(Errno::XDEV) => {
                let temporary = self.beside(path, kept, "tmp");
                tree::remove(&temporary, self.fault).map_err(&fail)?;
                tree::copy(from, &temporary, self.fault).map_err(&fail)?;
                if !tree::is_same(from, &temporary).map_err(&fail)? {
                    return Err(changed(from));
                }
                note(kept, &temporary).map_err(&fail)?;
                self.fault.point().map_err(&fail)?;
                rename_to_free((&dir.handle, name(&temporary)), (&dir.handle, name(path))).map_err(taken)?;
                tree::sync_dir(&dir.path).map_err(&fail)?;
                tree::remove(from, self.fault).map_err(&fail)
            }
            Err(error) => Err(taken(error)),
        }
    }
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "apply moves files")]
    std::fs::rename(from, to)
}

fn in_the_way(path: &Path) -> StepError {
    StepError::Changed(format!("{} is there again, and is newer", path.display()))
}

/// Tells whether a path is the very thing that was stamped, wherever it lies now.
fn is_as(path: &Path, stamp: &Stamp) -> bool {
    stamp::take(path).is_ok_and(|found| Stamp { parent: stamp.parent, ..found } == *stamp)
}

/// Tells whether a path has the size and time of what was stamped; a copy has another inode.
fn is_like(path: &Path, stamp: &Stamp) -> bool {
    stamp::take(path)
        .is_ok_and(|found| (found.is_dir, found.size, found.modified) == (stamp.is_dir, stamp.size, stamp.modified))
}

/// Digests what is written.
struct Digesting<W> {
    target: W,
    digest: Sha256,
}

impl<W: io::Write> io::Write for Digesting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.target.write(bytes)?;
        self.digest.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.target.flush()
    }
}
