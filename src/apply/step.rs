//! One step of a change: done so that it can be taken back, whenever it was cut off.
//!
//! Each step is a few system calls in an order in which every moment between two of them can be told apart by
//! looking at the disk. So taking back needs no memory of how far the step came.

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

use super::fault::Fault;
use super::journal::{StepRecord, Times};
use super::tree;
use crate::fsio;
use crate::plan::change::{Contents, Stamp, Step, hex};
use crate::stamp;

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
pub(super) struct Bench<'a> {
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
        Step::Trash { path, stamp } => StepRecord::Trash { path: path.clone(), kept, stamp: stamp.clone() },
        Step::Write { path, contents, stamp } => {
            let mut read = Digesting { target: io::sink(), digest: Sha256::new() };
            write_contents(contents, &mut read).map_err(failed("cannot read what goes into", path))?;
            let sha256 = hex(&read.digest.finalize());
            StepRecord::Write { path: path.clone(), kept, stamp: stamp.clone(), sha256 }
        }
        Step::MakeDir { path } => StepRecord::MakeDir { path: path.clone(), kept },
        Step::Put { from, path } => {
            let stamp = stamp::take(from).map_err(|error| StepError::Changed(error.to_string()))?;
            StepRecord::Put { path: path.clone(), from: from.clone(), kept, stamp }
        }
    })
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

impl Bench<'_> {
    /// Returns the name beside a path under which a step has something that is not finished.
    fn beside(&self, path: &Path, kept: &str, ending: &str) -> PathBuf {
        path.with_file_name(format!(".rejoin-{}-{kept}.{ending}", self.run))
    }

    /// Returns the identity of what a step has made.
    fn made(&self, kept: &str) -> Option<(u64, u64)> {
        self.made.borrow().get(kept).copied()
    }

    /// Does a step.
    pub(super) fn perform(&self, step: &Step, record: &StepRecord, note: &mut Note<'_>) -> Result<(), StepError> {
        let mut note = |kept: &str, path: &Path| {
            let identity = identity(path).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
            note(identity)?;
            self.made.borrow_mut().insert(kept.to_owned(), identity);
            Ok(())
        };
        match (step, record) {
            (Step::Trash { path, stamp }, StepRecord::Trash { kept, .. }) => self.trash(path, stamp, kept),
            (Step::Write { path, contents, stamp }, StepRecord::Write { kept, sha256, .. }) => {
                self.write(path, contents, stamp.as_ref(), (kept, sha256), &mut note)
            }
            (Step::Put { from, path }, StepRecord::Put { kept, .. }) => self.put(from, path, kept, &mut note),
            (Step::MakeDir { path }, StepRecord::MakeDir { kept, .. }) => self.make_dir(path, kept, &mut note),
            // A record is made of its step.
            _ => Err(changed(step.path())),
        }
    }

    fn trash(&self, path: &Path, stamp: &Stamp, kept: &str) -> Result<(), StepError> {
        let fail = failed("cannot move", path);
        let target = self.trash.join(kept);
        let dir = Dir::of(path).map_err(&fail)?;
        if !dir.is(stamp.parent) || stamp::take(path).ok().as_ref() != Some(stamp) {
            return Err(changed(path));
        }
        let trash = Dir::of(&target).map_err(&fail)?;
        self.fault.point().map_err(&fail)?;
        match rename_to_free((&dir.handle, name(path)), (&trash.handle, name(&target))) {
            Ok(()) => {
                // An agent that came in between keeps its session.
                if !is_as(&target, stamp) {
                    let _ = rename_to_free((&trash.handle, name(&target)), (&dir.handle, name(path)));
                    return Err(changed(path));
                }
            }
            Err(Errno::XDEV) => self.trash_elsewhere(path, stamp, kept, &target)?,
            Err(error) => return Err(fail(error.into())),
        }
        dir.settle(self.fault).map_err(&fail)
    }

    /// Moves to another file system: copies, compares, takes the original out of the agent's sight, removes it.
    fn trash_elsewhere(&self, path: &Path, stamp: &Stamp, kept: &str, target: &Path) -> Result<(), StepError> {
        let fail = failed("cannot move", path);
        let partial = self.trash.join(format!("{kept}.partial"));
        tree::copy(path, &partial, self.fault).map_err(&fail)?;
        if !tree::is_same(path, &partial).map_err(&fail)? || stamp::take(path).ok().as_ref() != Some(stamp) {
            return Err(changed(path));
        }
        self.fault.point().map_err(&fail)?;
        rename(&partial, target).map_err(&fail)?;
        tree::sync_dir(self.trash).map_err(&fail)?;
        let aside = self.beside(path, kept, "gone");
        self.fault.point().map_err(&fail)?;
        rename(path, &aside).map_err(&fail)?;
        if !is_as(&aside, stamp) {
            let _ = rename(&aside, path);
            return Err(changed(path));
        }
        tree::remove(&aside, self.fault).map_err(&fail)
    }

    fn write(
        &self,
        path: &Path,
        contents: &Contents,
        stamp: Option<&Stamp>,
        (kept, sha256): (&str, &str),
        note: &mut NoteMade<'_>,
    ) -> Result<(), StepError> {
        let fail = failed("cannot write", path);
        let dir = Dir::of(path).map_err(&fail)?;
        let is_as_planned = || match stamp {
            Some(stamp) => dir.is(stamp.parent) && stamp::take(path).ok().as_ref() == Some(stamp),
            None => !exists(path),
        };
        if !is_as_planned() {
            return Err(changed(path));
        }
        let old = stamp.map(|_| path.symlink_metadata()).transpose().map_err(&fail)?;
        let temporary = self.beside(path, kept, "tmp");
        self.fault.point().map_err(&fail)?;
        let file = tree::create(&temporary).map_err(&fail)?;
        let mut target = Digesting { target: file, digest: Sha256::new() };
        self.fault.point().map_err(&fail)?;
        write_contents(contents, &mut target).map_err(&fail)?;
        if hex(&target.digest.finalize()) != *sha256 {
            return Err(changed(path));
        }
        self.fault.point().map_err(&fail)?;
        match &old {
            Some(old) => tree::take_attributes(old, &temporary).map_err(&fail)?,
            None => {
                let owner = (Some(dir.metadata.uid()), Some(dir.metadata.gid()));
                let _ = std::os::unix::fs::lchown(&temporary, owner.0, owner.1);
            }
        }
        target.target.sync_all().map_err(&fail)?;
        note(kept, &temporary).map_err(&fail)?;
        if let Some(stamp) = stamp {
            self.keep(path, kept)?;
            if !is_as_planned() {
                return Err(changed(path));
            }
            self.fault.point().map_err(&fail)?;
            rename(&temporary, path).map_err(&fail)?;
            // What was appended to the old file between the look and the rename is in what was kept.
            if !is_like(&self.trash.join(kept), stamp) {
                return Err(changed(path));
            }
        } else {
            self.fault.point().map_err(&fail)?;
            let free = rename_to_free((&dir.handle, name(&temporary)), (&dir.handle, name(path)));
            free.map_err(|error| if error == Errno::EXIST { changed(path) } else { fail(error.into()) })?;
        }
        dir.settle(self.fault).map_err(&fail)
    }

    /// Keeps the old file in the trash: the very file where that is the same file system, else a copy.
    fn keep(&self, path: &Path, kept: &str) -> Result<(), StepError> {
        let fail = failed("cannot keep the old", path);
        let target = self.trash.join(kept);
        self.fault.point().map_err(&fail)?;
        match rustix::fs::linkat(rustix::fs::CWD, path, rustix::fs::CWD, &target, AtFlags::empty()) {
            Ok(()) => return Ok(()),
            Err(Errno::XDEV | Errno::PERM | Errno::MLINK | Errno::NOTSUP | Errno::ACCESS) => {}
            Err(error) => return Err(fail(error.into())),
        }
        let partial = self.trash.join(format!("{kept}.partial"));
        tree::copy(path, &partial, self.fault).map_err(&fail)?;
        self.fault.point().map_err(&fail)?;
        rename(&partial, &target).map_err(&fail)?;
        tree::sync_dir(self.trash).map_err(&fail)
    }

    fn make_dir(&self, path: &Path, kept: &str, note: &mut NoteMade<'_>) -> Result<(), StepError> {
        let fail = failed("cannot make", path);
        let dir = Dir::of(path).map_err(&fail)?;
        // It is noted before it is in place, so that no moment leaves a directory that nobody is known to have made.
        let temporary = self.beside(path, kept, "tmp");
        self.fault.point().map_err(&fail)?;
        tree::make_private_dir(&temporary).map_err(&fail)?;
        note(kept, &temporary).map_err(&fail)?;
        self.fault.point().map_err(&fail)?;
        let free = rename_to_free((&dir.handle, name(&temporary)), (&dir.handle, name(path)));
        free.map_err(|error| if error == Errno::EXIST { changed(path) } else { fail(error.into()) })?;
        dir.settle(self.fault).map_err(&fail)
    }

    fn put(&self, from: &Path, path: &Path, kept: &str, note: &mut NoteMade<'_>) -> Result<(), StepError> {
        let fail = failed("cannot put back", path);
        let dir = Dir::of(path).map_err(&fail)?;
        let ready = Dir::of(from).map_err(&fail)?;
        self.move_to_free(from, &ready, path, &dir, (kept, note))?;
        dir.settle(self.fault).map_err(&fail)
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

/// How the disk looks to somebody who wants to take a step back.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// As before the step, but for what it left half done elsewhere.
    Before,
    /// As after the step.
    After,
    /// Neither: another program was there since, or what was kept is gone.
    Blocked(String),
}

impl Bench<'_> {
    /// Looks at how a step stands.
    pub(super) fn standing(&self, record: &StepRecord) -> io::Result<Standing> {
        let lost =
            |path: &Path| Standing::Blocked(format!("what was kept of {} is no longer in the trash", path.display()));
        Ok(match record {
            StepRecord::Trash { path, kept, stamp } => {
                let kept = self.trash.join(kept);
                match (exists(path), exists(&kept)) {
                    (true, false) => Standing::Before,
                    (false, true) => Standing::After,
                    (true, true) if is_as(path, stamp) || tree::is_same(path, &kept)? => Standing::Before,
                    (true, true) => Standing::Blocked(in_the_way(path).to_string()),
                    _ => lost(path),
                }
            }
            StepRecord::Write { path, kept, stamp, sha256 } => {
                let (made, target) = (self.made(kept), self.trash.join(kept));
                match (made, identity(path)) {
                    (None, _) => Standing::Before,
                    // The new file is still where it was made.
                    (Some(_), _) if identity(&self.beside(path, kept, "tmp")) == made => Standing::Before,
                    (Some(_), None) if stamp.is_some() && exists(&target) => Standing::After,
                    (Some(_), None) => Standing::Before,
                    (Some(_), found) if found == made && has_digest(path, sha256)? => Standing::After,
                    (Some(_), found) if found == made => Standing::Blocked(changed_since(path)),
                    _ if !exists(&target) => Standing::Before,
                    _ if stamp.as_ref().is_some_and(|stamp| is_like(path, stamp)) => Standing::Before,
                    _ => Standing::Blocked(changed_since(path)),
                }
            }
            StepRecord::MakeDir { path, kept } => match self.made(kept) {
                Some(made) if identity(path) == Some(made) => Standing::After,
                _ => Standing::Before,
            },
            StepRecord::Put { path, kept, stamp, .. } => match self.made(kept) {
                Some(made) if identity(path) == Some(made) && is_like(path, stamp) => Standing::After,
                Some(made) if identity(path) == Some(made) => Standing::Blocked(changed_since(path)),
                _ => Standing::Before,
            },
        })
    }

    /// Tells whether what a step that was done has kept is gone, so that it cannot be taken back.
    pub(super) fn has_lost(&self, record: &StepRecord) -> bool {
        match record {
            StepRecord::Trash { path, kept, stamp } | StepRecord::Write { path, kept, stamp: Some(stamp), .. } => {
                !exists(&self.trash.join(kept)) && !is_like(path, stamp)
            }
            _ => false,
        }
    }

    /// Takes a step back, from whatever it stands at.
    pub(super) fn take_back(&self, record: &StepRecord) -> Result<(), StepError> {
        let path = record.path();
        let fail = failed("cannot put back", path);
        let standing = self.standing(record).map_err(&fail)?;
        if let Standing::Blocked(why) = standing {
            return Err(StepError::Changed(why));
        }
        match record {
            StepRecord::Trash { path, kept, stamp } => {
                let target = self.trash.join(kept);
                if standing == Standing::After {
                    self.restore_parents(path)?;
                    let (dir, trash) = (Dir::of(path).map_err(&fail)?, Dir::of(&target).map_err(&fail)?);
                    self.move_to_free(&target, &trash, path, &dir, (kept, &mut |_, _| Ok(())))?;
                    dir.settle(self.fault).map_err(&fail)?;
                } else if exists(&target) && !is_as(&target, stamp) {
                    // The original is where it was; this is only a copy.
                    tree::remove(&target, self.fault).map_err(&fail)?;
                }
            }
            StepRecord::Write { path, kept, stamp, .. } => {
                let target = self.trash.join(kept);
                match (standing, stamp) {
                    (Standing::After, Some(_)) => self.write_back(path, kept, &target)?,
                    (Standing::After, None) => {
                        let dir = Dir::of(path).map_err(&fail)?;
                        tree::remove(path, self.fault).map_err(&fail)?;
                        dir.settle(self.fault).map_err(&fail)?;
                    }
                    _ => tree::remove(&target, self.fault).map_err(&fail)?,
                }
            }
            StepRecord::MakeDir { path, .. } => {
                if standing == Standing::After {
                    let dir = Dir::of(path).map_err(&fail)?;
                    self.fault.point().map_err(&fail)?;
                    #[expect(clippy::disallowed_methods, reason = "apply removes the directory that it made")]
                    match std::fs::remove_dir(path) {
                        // Somebody uses it by now.
                        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
                        done => done.map_err(&fail)?,
                    }
                    dir.settle(self.fault).map_err(&fail)?;
                }
            }
            StepRecord::Put { path, kept, .. } => {
                if standing == Standing::After {
                    let target = self.trash.join(kept);
                    let (dir, trash) = (Dir::of(path).map_err(&fail)?, Dir::of(&target).map_err(&fail)?);
                    self.move_to_free(path, &dir, &target, &trash, (kept, &mut |_, _| Ok(())))?;
                    dir.settle(self.fault).map_err(&fail)?;
                }
            }
        }
        self.remove_half_done(record).map_err(&fail)
    }

    /// Puts an old file back over the new one.
    fn write_back(&self, path: &Path, kept: &str, target: &Path) -> Result<(), StepError> {
        let fail = failed("cannot put back", path);
        let dir = Dir::of(path).map_err(&fail)?;
        self.fault.point().map_err(&fail)?;
        match rename(target, path) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(Errno::XDEV.raw_os_error()) => {
                let temporary = self.beside(path, kept, "tmp");
                tree::remove(&temporary, self.fault).map_err(&fail)?;
                tree::copy(target, &temporary, self.fault).map_err(&fail)?;
                self.fault.point().map_err(&fail)?;
                rename(&temporary, path).map_err(&fail)?;
                tree::sync_dir(&dir.path).map_err(&fail)?;
                tree::remove(target, self.fault).map_err(&fail)?;
            }
            Err(error) => return Err(fail(error)),
        }
        dir.settle(self.fault).map_err(&fail)
    }

    /// Makes the directories anew that went away since.
    fn restore_parents(&self, path: &Path) -> Result<(), StepError> {
        match path.parent() {
            Some(dir) if !exists(dir) => {
                self.fault.point().and_then(|()| tree::make_private_dirs(dir)).map_err(failed("cannot make", dir))
            }
            _ => Ok(()),
        }
    }

    /// Removes what a step that was cut off has left under temporary names.
    pub(super) fn remove_half_done(&self, record: &StepRecord) -> io::Result<()> {
        let (path, kept) = match record {
            StepRecord::Trash { path, kept, .. }
            | StepRecord::Write { path, kept, .. }
            | StepRecord::Put { path, kept, .. }
            | StepRecord::MakeDir { path, kept } => (path, kept),
        };
        let dir = Dir::of(path).ok();
        let mut has_removed = false;
        for leftover in [
            self.trash.join(format!("{kept}.partial")),
            self.beside(path, kept, "tmp"),
            self.beside(path, kept, "gone"),
        ] {
            if exists(&leftover) {
                tree::remove(&leftover, self.fault)?;
                has_removed = true;
            }
        }
        match dir {
            Some(dir) if has_removed => dir.settle(self.fault),
            _ => Ok(()),
        }
    }
}

fn has_digest(path: &Path, sha256: &str) -> io::Result<bool> {
    let (mut file, _) = match fsio::open_regular(path) {
        Ok(opened) => opened,
        Err(_) => return Ok(false),
    };
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = io::Read::read(&mut file, &mut buffer)?;
        if count == 0 {
            return Ok(hex(&digest.finalize()) == sha256);
        }
        digest.update(&buffer[..count]);
    }
}
