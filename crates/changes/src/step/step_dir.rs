//! The place of a step: its directory, held open, with that directory's times.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use crate::disk::EntryMetadata;
use crate::disk::{self, Access, Disk, FileTimes, Handle, NameInDir};
use crate::journal::StepRecord;
use crate::step::StepContext;
use crate::step::{StepError, failed};

/// The place of a step; its directory is held open, so that it stays the same.
pub(super) struct StepDir<'p> {
    pub(super) dir: Handle,
    /// Metadata of the directory when it was opened.
    pub(super) look: EntryMetadata,
    pub(super) name: OsString,
    pub(super) path: &'p Path,
}

impl<'p> StepDir<'p> {
    pub(super) fn open_parent(disk: &dyn Disk, path: &'p Path) -> io::Result<Self> {
        let (dir, name) = disk::open_parent(disk, path)?;
        let look = disk.read_open_metadata(&dir)?;
        Ok(Self { dir, look, name, path })
    }

    pub(super) fn name_in_dir(&self) -> NameInDir<'_> {
        (&self.dir, &self.name)
    }

    pub(super) fn next_to<'a>(&'a self, name: &'a str) -> NameInDir<'a> {
        (&self.dir, OsStr::new(name))
    }

    /// Syncs the directory and restores its times: agents order and clean up by them.
    pub(super) fn settle(&self, disk: &dyn Disk) -> io::Result<()> {
        disk.sync(&self.dir)?;
        self.set_times(disk, (self.look.accessed, self.look.modified))
    }

    fn set_times(&self, disk: &dyn Disk, times: FileTimes) -> io::Result<()> {
        match disk.set_times(self.next_to("."), times) {
            // It was not changed, as on a file system that is read-only.
            Err(_) if disk.read_open_metadata(&self.dir).is_ok_and(|now| now.modified == times.1) => Ok(()),
            done => done,
        }
    }
}

impl StepContext<'_> {
    /// Returns the path with the links of its directory resolved.
    pub(super) fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { return Ok(path.to_owned()) };
        if let Some(real) = self.resolved.borrow().get(dir) {
            return Ok(real.join(name));
        }
        let real = disk::real_dir(self.disk, dir)?;
        let path = real.join(name);
        self.resolved.borrow_mut().insert(dir.to_owned(), real);
        Ok(path)
    }

    /// Opens the place of a step; fails if a part of the path has become a link since it was recorded.
    pub(super) fn step_dir<'p>(&self, path: &'p Path) -> io::Result<StepDir<'p>> {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::other("it has no directory"));
        };
        let dir = self.disk.open_real_dir(dir)?;
        let look = self.disk.read_open_metadata(&dir)?;
        Ok(StepDir { dir, look, name: name.to_owned(), path })
    }

    /// Like [`Self::step_dir`]; `None` if the directory does not exist.
    pub(super) fn step_dir_if_present<'p>(&self, path: &'p Path) -> io::Result<Option<StepDir<'p>>> {
        match self.step_dir(path) {
            Ok(step_dir) => Ok(Some(step_dir)),
            Err(error) if disk::is_absent(error.kind()) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes the missing directories of a path.
    pub(super) fn make_dirs_of(&self, path: &Path) -> io::Result<()> {
        let open = |dir: &Path| self.disk.open_real_dir(dir);
        disk::make_dirs_below(self.disk, path.parent().unwrap_or(path), Access::Private, &open).map(drop)
    }

    /// Returns the times of the directory that a step changes; `None` if it cannot be opened.
    pub(crate) fn dir_times(&self, path: &Path) -> Option<FileTimes> {
        let look = self.step_dir(path).ok()?.look;
        Some((look.accessed, look.modified))
    }

    /// Restores the times of the directories of an incomplete step; `times` are those of its path's directory.
    pub(crate) fn restore_dir_times(&self, record: &StepRecord, times: FileTimes) -> Result<(), StepError> {
        if let StepRecord::Move { from, from_times: Some(times), .. } = record {
            self.restore_times_of_dir(from, *times)?;
        }
        self.restore_times_of_dir(record.path(), times)
    }

    fn restore_times_of_dir(&self, path: &Path, times: FileTimes) -> Result<(), StepError> {
        let fail = failed("cannot restore the times of the directory of", path);
        // The directory may be gone, and its times with it.
        let Some(step_dir) = self.step_dir_if_present(path).map_err(&fail)? else { return Ok(()) };
        step_dir.set_times(self.disk, times).map_err(fail)
    }
}
