//! Taking a step back, from wherever it was cut off.

use std::io;
use std::path::Path;

use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::change::apply::journal::StepRecord;
use crate::change::apply::step::{
    Dir, StepContext, StepError, changed_since, exists, failed, identity, in_the_way, is_as, is_like, rename,
};
use crate::change::apply::tree;
use crate::change::plan::change::hex;
use crate::system::fsio;

/// How the disk looks to somebody who wants to take a step back.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::change::apply) enum StepState {
    /// As before the step, but for what it left half done elsewhere.
    Before,
    /// As after the step.
    After,
    /// Neither: another program was there since, or what was kept is gone.
    Blocked(String),
}

impl StepContext<'_> {
    /// Looks at how a step stands.
    pub(in crate::change::apply) fn standing(&self, record: &StepRecord) -> io::Result<StepState> {
        let lost =
            |path: &Path| StepState::Blocked(format!("what was kept of {} is no longer in the trash", path.display()));
        Ok(match record {
            StepRecord::Trash { path, kept, stamp } => {
                let kept = self.trash.join(kept);
                match (exists(path), exists(&kept)) {
                    (true, false) => StepState::Before,
                    (false, true) => StepState::After,
                    (true, true) if is_as(path, stamp) || tree::is_same(path, &kept)? => StepState::Before,
                    (true, true) => StepState::Blocked(in_the_way(path).to_string()),
                    _ => lost(path),
                }
            }
            StepRecord::Write { path, kept, stamp, sha256 } => {
                let (made, target) = (self.made(kept), self.trash.join(kept));
                match (made, identity(path)) {
                    // Nothing was put in place, so the old file must be there.
                    (None, _) if !exists(&target) => StepState::Before,
                    (None, _) if stamp.as_ref().is_some_and(|stamp| is_like(path, stamp)) => StepState::Before,
                    (None, _) => StepState::Blocked(changed_since(path)),
                    // The new file is still where it was made.
                    (Some(_), _) if identity(&self.beside(path, kept, "tmp")) == made => StepState::Before,
                    (Some(_), None) if stamp.is_some() && exists(&target) => StepState::After,
                    (Some(_), None) => StepState::Before,
                    (Some(_), found) if found == made && has_digest(path, sha256)? => StepState::After,
                    (Some(_), found) if found == made => StepState::Blocked(changed_since(path)),
                    _ if !exists(&target) => StepState::Before,
                    _ if stamp.as_ref().is_some_and(|stamp| is_like(path, stamp)) => StepState::Before,
                    _ => StepState::Blocked(changed_since(path)),
                }
            }
            StepRecord::MakeDir { path, kept } => match self.made(kept) {
                Some(made) if identity(path) == Some(made) => StepState::After,
                _ => StepState::Before,
            },
            StepRecord::Put { path, kept, stamp, .. } => match self.made(kept) {
                Some(made) if identity(path) == Some(made) && is_like(path, stamp) => StepState::After,
                Some(made) if identity(path) == Some(made) => StepState::Blocked(changed_since(path)),
                _ => StepState::Before,
            },
        })
    }

    /// Tells whether what a step that was done has kept is gone, so that it cannot be taken back.
    pub(in crate::change::apply) fn has_lost(&self, record: &StepRecord) -> bool {
        match record {
            StepRecord::Trash { path, kept, stamp } | StepRecord::Write { path, kept, stamp: Some(stamp), .. } => {
                !exists(&self.trash.join(kept)) && !is_like(path, stamp)
            }
            _ => false,
        }
    }

    /// Takes a step back, from whatever it stands at.
    pub(in crate::change::apply) fn revert(&self, record: &StepRecord) -> Result<(), StepError> {
        let path = record.path();
        let fail = failed("cannot put back", path);
        let standing = self.standing(record).map_err(&fail)?;
        if let StepState::Blocked(why) = standing {
            return Err(StepError::Changed(why));
        }
        match record {
            StepRecord::Trash { path, kept, stamp } => {
                let target = self.trash.join(kept);
                if standing == StepState::After {
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
                    (StepState::After, Some(_)) => self.write_back(path, kept, &target)?,
                    (StepState::After, None) => {
                        let dir = Dir::of(path).map_err(&fail)?;
                        tree::remove(path, self.fault).map_err(&fail)?;
                        dir.settle(self.fault).map_err(&fail)?;
                    }
                    _ => tree::remove(&target, self.fault).map_err(&fail)?,
                }
            }
            StepRecord::MakeDir { path, .. } => {
                if standing == StepState::After {
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
                if standing == StepState::After {
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
    pub(in crate::change::apply) fn remove_half_done(&self, record: &StepRecord) -> io::Result<()> {
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
