//! One step of a change: done so that it can be taken back, whenever it was cut off.
//!
//! Each step is a few calls in an order in which every moment between two of them can be told apart by looking at the
//! disk. So taking back needs no memory of how far the step came.

mod moving;
mod perform;
mod revert;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::change::apply::journal::StepRecord;
use crate::change::apply::tree;
use crate::change::plan::change::{Contents, Step};
use crate::format::edit::Edit;
use crate::format::text::hex;
use crate::system::disk::{self, At, Disk, For, Handle, Times, look_if_present};
use crate::system::fsio::{Buffer, Look, PIECE};
use crate::system::stamp::{self, Stamp};

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
    StepError::Changed(format!("{} was changed by another program in the meantime", path.display()))
}

fn changed_since(path: &Path) -> String {
    format!("{} has changed since", path.display())
}

fn in_the_way(path: &Path) -> StepError {
    StepError::Changed(format!("{} exists again and is newer", path.display()))
}

/// Returns whether a call failed for one of these reasons.
fn is(error: &io::Error, reasons: &[Errno]) -> bool {
    reasons.iter().any(|reason| error.raw_os_error() == Some(reason.raw_os_error()))
}

/// What the steps of one run share.
#[derive(Debug)]
pub(super) struct StepContext<'a> {
    pub(super) disk: &'a dyn Disk,
    /// The run's name, a part of every temporary name.
    pub(super) run: &'a str,
    /// The run's directory in the trash.
    pub(super) trash: Handle,
    /// The device and inode of what each step has made, by its name in the trash.
    ///
    /// Only what is known to be made here is ever taken away again: another program may write the very same.
    pub(super) made: RefCell<BTreeMap<String, (u64, u64)>>,
    /// Whether its paths were written down with the links in them, as older versions did.
    pub(super) has_links: bool,
    /// Directories with their links resolved.
    pub(super) resolved: RefCell<HashMap<PathBuf, PathBuf>>,
}

/// Notes what lies at a place as what a step, named by its place in the trash, is about to put in place.
type NoteMade<'n> = dyn FnMut(&str, At<'_>) -> io::Result<()> + 'n;

/// Notes what a step is about to put in place, so that a later run knows it again.
pub(super) type Note<'n> = dyn FnMut((u64, u64)) -> io::Result<()> + 'n;

/// Where a step works: its directory is held open, so that it stays the same one.
struct Spot<'p> {
    dir: Handle,
    /// What the directory was.
    look: Look,
    name: OsString,
    path: &'p Path,
}

impl<'p> Spot<'p> {
    fn of(disk: &dyn Disk, path: &'p Path) -> io::Result<Self> {
        let (dir, name) = disk::open_parent(disk, path)?;
        let look = disk.look_at(&dir)?;
        Ok(Self { dir, look, name, path })
    }

    fn at(&self) -> At<'_> {
        (&self.dir, &self.name)
    }

    fn beside<'a>(&'a self, name: &'a str) -> At<'a> {
        (&self.dir, OsStr::new(name))
    }

    /// Puts the directory's names on the disk and its own times back: agents order and clean up by them.
    fn settle(&self, disk: &dyn Disk) -> io::Result<()> {
        disk.sync(&self.dir)?;
        disk.set_times(self.beside("."), (self.look.accessed, self.look.modified))
    }
}

/// Returns whether the record of a step is made of the step alone, and so of nothing that may change in the meantime.
pub(super) fn is_plain(step: &Step) -> bool {
    matches!(step, Step::Trash { .. } | Step::MakeDir { .. })
}

/// Shows what goes into a file, piece by piece; returns the digest of all of it.
fn each_piece(
    disk: &dyn Disk,
    contents: &Contents,
    mut see: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<String> {
    let mut digest = Sha256::new();
    let mut add = |piece: &[u8]| {
        digest.update(piece);
        see(piece)
    };
    match contents {
        Contents::Bytes(bytes) => add(bytes)?,
        Contents::Joined(parts) => {
            for part in parts {
                let spot = Spot::of(disk, part)?;
                each_piece_of(disk, spot.at(), 0..u64::MAX, &mut add)?;
            }
        }
        Contents::Edited { from, edits } => {
            let (spot, mut kept) = (Spot::of(disk, from)?, 0);
            for Edit { at, removed, inserted } in edits {
                each_piece_of(disk, spot.at(), kept..*at, &mut add)?;
                add(inserted)?;
                kept = at + removed;
            }
            each_piece_of(disk, spot.at(), kept..u64::MAX, &mut add)?;
        }
    }
    Ok(hex(&digest.finalize()))
}

/// Shows so much of a file as there is of a range, piece by piece.
fn each_piece_of(
    disk: &dyn Disk,
    at: At<'_>,
    range: Range<u64>,
    see: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let file = disk.open(at, For::Reading)?;
    let (mut piece, mut offset) = (Buffer::new(PIECE), range.start);
    while offset < range.end {
        let wanted = usize::try_from(range.end - offset).unwrap_or(PIECE).min(PIECE);
        let count = disk.read_at(&file, &mut piece[..wanted], offset)?;
        if count == 0 {
            return Ok(());
        }
        see(&piece[..count])?;
        offset += count as u64;
    }
    Ok(())
}

impl<'a> StepContext<'a> {
    /// Says what a step will do, in the journal's form: with the path that its own leads to, so that a link that somebody
    /// puts there later leads nowhere.
    pub(super) fn record(&self, step: &Step, item: usize, number: usize) -> Result<StepRecord, StepError> {
        let (disk, kept) = (self.disk, format!("{item}-{number}"));
        let path = self.resolve(step.path()).map_err(failed("cannot look at", step.path()))?;
        Ok(match step {
            Step::Trash { stamp, .. } => StepRecord::Trash { path, kept, stamp: stamp.clone() },
            Step::Write { contents, stamp, .. } => {
                let digest = each_piece(disk, contents, |_| Ok(()));
                let sha256 = digest.map_err(failed("cannot read what goes into", &path))?;
                StepRecord::Write { path, kept, stamp: stamp.as_deref().cloned(), sha256 }
            }
            Step::MakeDir { .. } => StepRecord::MakeDir { path, kept },
            Step::Put { from, .. } => {
                let fail = failed("cannot look at", from);
                let spot = Spot::of(disk, from).map_err(&fail)?;
                let stamp = stamp::take_on(disk, spot.at(), from).map_err(&fail)?;
                StepRecord::Put { path, from: from.clone(), kept, stamp }
            }
            Step::Move { from, stamp, .. } => {
                let from = self.resolve(from).map_err(failed("cannot look at", from))?;
                let from_times = self.dir_times(&from);
                StepRecord::Move { path, from, kept, stamp: (**stamp).clone(), from_times }
            }
        })
    }

    /// Returns a path to the same, with no links in its directory.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { return Ok(path.to_owned()) };
        if let Some(real) = self.resolved.borrow().get(dir) {
            return Ok(real.join(name));
        }
        let real = disk::real_dir(self.disk, dir)?;
        let path = real.join(name);
        self.resolved.borrow_mut().insert(dir.to_owned(), real);
        Ok(path)
    }

    /// Opens where a step works, along a path in which nothing may have become a link since it was written down.
    fn spot<'p>(&self, path: &'p Path) -> io::Result<Spot<'p>> {
        if self.has_links {
            return Spot::of(self.disk, path);
        }
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::other("it has no directory"));
        };
        let dir = self.disk.open_real_dir(dir)?;
        let look = self.disk.look_at(&dir)?;
        Ok(Spot { dir, look, name: name.to_owned(), path })
    }

    /// Returns the same; `None` when there is no such directory.
    fn spot_if_present<'p>(&self, path: &'p Path) -> io::Result<Option<Spot<'p>>> {
        match self.spot(path) {
            Ok(spot) => Ok(Some(spot)),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes the directories of a path as far as they have gone away.
    fn make_dirs_of(&self, path: &Path) -> io::Result<()> {
        let open = |dir: &Path| if self.has_links { self.disk.open_dir(dir) } else { self.disk.open_real_dir(dir) };
        disk::make_dirs_below(self.disk, path.parent().unwrap_or(path), &open).map(drop)
    }

    /// Returns the times of the directory that a step changes.
    pub(super) fn dir_times(&self, path: &Path) -> Option<Times> {
        let look = self.spot(path).ok()?.look;
        Some((look.accessed, look.modified))
    }

    /// Puts the times of the directories of a step that was not done whole back; `times` are those of its path's.
    pub(super) fn restore_dir_times(&self, record: &StepRecord, times: Times) -> Result<(), StepError> {
        if let StepRecord::Move { from, from_times: Some(times), .. } = record {
            self.restore_times_of_dir(from, *times)?;
        }
        self.restore_times_of_dir(record.path(), times)
    }

    fn restore_times_of_dir(&self, path: &Path, times: Times) -> Result<(), StepError> {
        let spot = self.spot_if_present(path);
        // The directory may be gone, and its times with it.
        let restored = spot.and_then(|spot| spot.map_or(Ok(()), |spot| self.disk.set_times(spot.beside("."), times)));
        restored.map_err(failed("cannot restore the times of the directory of", path))
    }

    /// Returns the place of something in the trash.
    fn kept<'k>(&'k self, name: &'k str) -> At<'k> {
        (&self.trash, OsStr::new(name))
    }

    /// Returns the name under which a step has something that is not finished, beside the path that it changes.
    fn temporary(&self, kept: &str, ending: &str) -> String {
        format!(".rejoin-{}-{kept}.{ending}", self.run)
    }

    /// Returns the identity of what a step has made.
    fn made(&self, kept: &str) -> Option<(u64, u64)> {
        self.made.borrow().get(kept).copied()
    }

    /// Returns the identity of what is at a place.
    fn identity(&self, at: At<'_>) -> io::Result<Option<(u64, u64)>> {
        Ok(look_if_present(self.disk, at)?.map(|look| look.identity))
    }

    fn exists(&self, at: At<'_>) -> io::Result<bool> {
        Ok(look_if_present(self.disk, at)?.is_some())
    }

    /// Returns whether something is what was stamped, in the very directory that it was in.
    fn is_as_planned(&self, spot: &Spot<'_>, stamp: &Stamp) -> bool {
        stamp::take_on(self.disk, spot.at(), spot.path).is_ok_and(|found| found == *stamp)
    }

    /// Returns whether something is the very thing that was stamped, wherever it lies now.
    fn is_as(&self, at: At<'_>, stamp: &Stamp) -> bool {
        let found = stamp::take_on(self.disk, at, Path::new(at.1));
        found.is_ok_and(|found| Stamp { parent: stamp.parent, ..found } == *stamp)
    }

    /// Returns whether something has the size and time of what was stamped; a copy has another inode.
    fn is_like(&self, at: At<'_>, stamp: &Stamp) -> bool {
        let found = stamp::take_on(self.disk, at, Path::new(at.1));
        found
            .is_ok_and(|found| (found.is_dir, found.size, found.modified) == (stamp.is_dir, stamp.size, stamp.modified))
    }

    /// Returns whether a file is one that a step has made, with all that was written to it and no more.
    fn is_made(&self, at: At<'_>, kept: &str, sha256: &str) -> io::Result<bool> {
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

    /// Moves something to where nothing may be, across file systems too.
    ///
    /// There it is copied to `partial`, beside its new place, compared and synced; then the original is taken out of
    /// everybody's sight, to `gone` beside its old place, compared once more, named `rest`, and removed. What is no longer
    /// as it was stamped when it is out of sight goes back.
    fn move_to_free(
        &self,
        from: At<'_>,
        to: At<'_>,
        (partial, gone, rest): (&str, &str, &str),
        (path, stamp): (&Path, Option<&Stamp>),
        note: &mut dyn FnMut(At<'_>) -> io::Result<()>,
    ) -> Result<(), StepError> {
        let disk = self.disk;
        let fail = failed("cannot move", path);
        let taken = |error: io::Error| if is(&error, &[Errno::EXIST]) { in_the_way(path) } else { fail(error) };
        let is_planned = |at| stamp.is_none_or(|stamp| self.is_as(at, stamp));
        note(from).map_err(&fail)?;
        match disk.rename_to_free(from, to) {
            Err(error) if is(&error, &[Errno::XDEV]) => {}
            // A loss of power has left it both its names.
            Err(error)
                if is(&error, &[Errno::EXIST])
                    && self.identity(from).ok().flatten() == self.identity(to).ok().flatten() =>
            {
                return disk.sync(to.0).and_then(|()| disk.unlink(from)).map_err(&fail);
            }
            moved => {
                moved.map_err(taken)?;
                // A loss of power must not take the only name.
                disk.sync(to.0).map_err(&fail)?;
                // An agent that came in between keeps its session.
                if !is_planned(to) {
                    let _ = disk.rename_to_free(to, from);
                    return Err(changed(path));
                }
                return Ok(());
            }
        }
        let (partial, gone) = ((to.0, OsStr::new(partial)), (from.0, OsStr::new(gone)));
        tree::remove(disk, partial).map_err(&fail)?;
        // A run that was cut off may have come to its copy, but not to the end.
        if !self.exists(to).map_err(&fail)? || !tree::is_same(disk, from, to).map_err(&fail)? {
            tree::copy(disk, from, partial).map_err(&fail)?;
            if !tree::is_same(disk, from, partial).map_err(&fail)? {
                return Err(changed(path));
            }
            note(partial).map_err(&fail)?;
            disk.rename_to_free(partial, to).map_err(taken)?;
        }
        disk.sync(to.0).map_err(&fail)?;
        disk.rename_to_free(from, gone).map_err(&fail)?;
        let is_copied = tree::is_same(disk, gone, to).map_err(&fail)?;
        // What another program has written there in the meantime stays.
        if !is_copied || !is_planned(gone) {
            let _ = disk.rename_to_free(gone, from);
            return Err(changed(path));
        }
        // From now on a part of it is useless.
        let rest = (from.0, OsStr::new(rest));
        disk.rename_to_free(gone, rest).map_err(&fail)?;
        disk.sync(from.0).map_err(&fail)?;
        tree::remove(disk, rest).map_err(&fail)
    }

    /// Puts each of two files in the place of the other; `false` where the file system cannot, and nothing was done.
    fn exchange(&self, one: At<'_>, other: At<'_>) -> io::Result<bool> {
        match self.disk.exchange(one, other) {
            Err(error) if is(&error, &[Errno::INVAL, Errno::NOSYS, Errno::NOTSUP]) => Ok(false),
            done => done.map(|()| true),
        }
    }

    /// Gives a file a second name: the very file where that is the same file system, else a copy.
    fn link_or_copy(&self, from: At<'_>, to: At<'_>, partial: &str) -> io::Result<()> {
        match self.disk.link(from, to) {
            Ok(()) => {}
            Err(error) if is(&error, &[Errno::XDEV, Errno::PERM, Errno::MLINK, Errno::NOTSUP, Errno::ACCESS]) => {
                let partial = (to.0, OsStr::new(partial));
                tree::remove(self.disk, partial)?;
                tree::copy(self.disk, from, partial)?;
                self.disk.rename_to_free(partial, to)?;
            }
            Err(error) => return Err(error),
        }
        self.disk.sync(to.0)
    }
}
