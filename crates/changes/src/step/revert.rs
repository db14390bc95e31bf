//! Reverts a step, wherever it was interrupted.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use rustix::io::Errno;

use crate::disk::{NameInDir, look_if_present};
use crate::journal::StepRecord;
use crate::stamp::Stamp;
use crate::step::StepContext;
use crate::step::step_dir::StepDir;
use crate::step::{StepError, changed_since, failed, has_errno, in_the_way};
use crate::tree;

/// The state of the disk when a step is to be undone.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StepState {
    /// The path is as before the step; temporary entries may be left.
    Before,
    /// The path is as after the step.
    After,
    /// Neither: another program changed the path, or the entry is missing from the trash.
    Blocked(String),
}

impl StepContext<'_> {
    /// Returns the state of a step.
    pub(crate) fn standing(&self, record: &StepRecord) -> io::Result<StepState> {
        let step_dir = self.step_dir_if_present(record.path())?;
        let found = match &step_dir {
            Some(step_dir) => look_if_present(self.disk, step_dir.name_in_dir())?.map(|look| look.identity),
            None => None,
        };
        let path = record.path();
        Ok(match record {
            StepRecord::Trash { kept, stamp, .. } => {
                let kept = self.place_in_trash(kept);
                match (&step_dir, found.is_some(), self.exists(kept)?) {
                    (_, true, false) => StepState::Before,
                    (_, false, true) => StepState::After,
                    (Some(step_dir), true, true)
                        if self.is_as(step_dir.name_in_dir(), stamp)
                            || tree::is_same(self.disk, step_dir.name_in_dir(), kept)? =>
                    {
                        StepState::Before
                    }
                    (_, true, true) => StepState::Blocked(in_the_way(path).to_string()),
                    (_, false, false) => {
                        StepState::Blocked(format!("the old version of {} is no longer in the trash", path.display()))
                    }
                }
            }
            StepRecord::Write { kept, stamp, sha256, .. } => {
                let is_kept = self.exists(self.place_in_trash(kept))?;
                let is_old = |step_dir: &StepDir<'_>| {
                    stamp.as_ref().is_some_and(|stamp| self.is_like(step_dir.name_in_dir(), stamp))
                };
                let temporary = self.temporary(kept, "tmp");
                let Some(step_dir) = &step_dir else {
                    let gone = || StepState::Blocked(format!("the directory of {} is gone", path.display()));
                    return Ok(if is_kept { gone() } else { StepState::Before });
                };
                match (self.made(kept), found) {
                    // The new file still has its temporary name, and the old one has the name `gone`.
                    (Some(made), Some(_))
                        if self.identity(step_dir.next_to(&temporary))? == Some(made)
                            && self.exists(step_dir.next_to(&self.temporary(kept, "gone")))? =>
                    {
                        StepState::Blocked(in_the_way(path).to_string())
                    }
                    // The new file still has its temporary name.
                    (Some(made), _) if self.identity(step_dir.next_to(&temporary))? == Some(made) => StepState::Before,
                    (Some(made), Some(found)) if found == made => {
                        if self.is_made(step_dir.name_in_dir(), kept, sha256)? {
                            StepState::After
                        } else {
                            StepState::Blocked(changed_since(path))
                        }
                    }
                    // Another program has replaced the new file.
                    (Some(_), Some(_)) if stamp.is_none() => StepState::Blocked(changed_since(path)),
                    (Some(_), None) if stamp.is_some() && is_kept => StepState::After,
                    // The entry was never created, or it was removed since.
                    _ if !is_kept || is_old(step_dir) => StepState::Before,
                    _ => StepState::Blocked(changed_since(path)),
                }
            }
            StepRecord::MakeDir { kept, .. } if found.is_some() && found == self.made(kept) => StepState::After,
            StepRecord::Put { kept, stamp, .. } if found.is_some() && found == self.made(kept) => {
                let is_like = step_dir.is_some_and(|step_dir| self.is_like(step_dir.name_in_dir(), stamp));
                if is_like { StepState::After } else { StepState::Blocked(changed_since(path)) }
            }
            StepRecord::Put { kept, .. } if found.is_some() && self.made(kept).is_some() => {
                let is_back = self.identity(self.place_in_trash(kept))? == self.made(kept);
                if is_back { StepState::Before } else { StepState::Blocked(changed_since(path)) }
            }
            StepRecord::MakeDir { .. } | StepRecord::Put { .. } => StepState::Before,
            StepRecord::Move { from, path, kept, stamp, .. } => self.standing_of_move(from, path, kept, stamp)?,
        })
    }

    /// Checks whether the trash lost the entry of a finished step, so that it cannot be undone.
    pub(crate) fn has_lost(&self, record: &StepRecord) -> bool {
        match record {
            StepRecord::Trash { path, kept, stamp } | StepRecord::Write { path, kept, stamp: Some(stamp), .. } => {
                let is_back = || self.step_dir(path).is_ok_and(|step_dir| self.is_like(step_dir.name_in_dir(), stamp));
                matches!(self.exists(self.place_in_trash(kept)), Ok(false)) && !is_back()
            }
            _ => false,
        }
    }

    /// Undoes a step, however far it got.
    pub(crate) fn revert(&self, record: &StepRecord) -> Result<(), StepError> {
        if let StepRecord::Move { from, path, kept, stamp, .. } = record {
            return self.move_back(from, path, kept, stamp);
        }
        let path = record.path();
        let fail = failed("cannot restore", path);
        if let StepRecord::Write { kept, sha256, .. } = record {
            self.give_back_newer(path, kept, sha256).map_err(&fail)?;
        }
        let standing = self.standing(record).map_err(&fail)?;
        if let StepState::Blocked(why) = standing {
            return Err(StepError::Changed(why));
        }
        let is_after = standing == StepState::After;
        if is_after && let StepRecord::Trash { .. } = record {
            // The directories may have been removed since.
            self.make_dirs_of(path).map_err(&fail)?;
        }
        let Some(step_dir) = self.step_dir_if_present(path).map_err(&fail)? else {
            // Without the directory, the step has left nothing there.
            return self.remove_half_done(record, None).map_err(&fail);
        };
        if !is_after {
            // An entry restored by an interrupted run may not be synced yet; its copy is removed only afterwards.
            self.disk.sync(&step_dir.dir).map_err(&fail)?;
        }
        match record {
            StepRecord::Trash { kept, stamp, .. } if is_after => self.put_back(&step_dir, kept, stamp)?,
            StepRecord::Trash { kept, stamp, .. } => {
                // The original is in its place; an entry in the trash that is only a copy is removed.
                let copy = self.place_in_trash(kept);
                if self.exists(copy).map_err(&fail)? && !self.is_as(copy, stamp) {
                    self.remove_from_trash(kept).map_err(&fail)?;
                }
            }
            StepRecord::Write { kept, stamp: Some(_), sha256, .. } if is_after => {
                self.clear_aside(&step_dir, kept, sha256, false)?;
                self.write_back(&step_dir, kept, sha256)?;
            }
            StepRecord::Write { kept, sha256, .. } if is_after => {
                let name = self.temporary(kept, "tmp");
                self.disk.rename_to_free(step_dir.name_in_dir(), step_dir.next_to(&name)).map_err(&fail)?;
                if !self.is_made(step_dir.next_to(&name), kept, sha256).map_err(&fail)? {
                    let _ = self.disk.rename_to_free(step_dir.next_to(&name), step_dir.name_in_dir());
                    return Err(StepError::Changed(changed_since(path)));
                }
            }
            StepRecord::Write { kept, sha256, .. } => {
                self.clear_aside(&step_dir, kept, sha256, true)?;
                self.remove_temporary(&step_dir, kept).map_err(&fail)?;
                tree::remove(self.disk, self.place_in_trash(kept)).map_err(&fail)?;
            }
            StepRecord::MakeDir { .. } if is_after => match self.disk.remove_dir(step_dir.name_in_dir()) {
                // Another process uses it now.
                Err(error) if has_errno(&error, &[Errno::NOTEMPTY, Errno::EXIST]) => {}
                done => done.map_err(&fail)?,
            },
            StepRecord::Put { kept, stamp, .. } if is_after => {
                let names =
                    (&*format!("{kept}.partial"), &*self.temporary(kept, "gone"), &*self.temporary(kept, "rest"));
                self.move_to_free(step_dir.name_in_dir(), self.place_in_trash(kept), names, (path, None), &mut |_| {
                    Ok(())
                })?;
                if !self.is_like(self.place_in_trash(kept), stamp) {
                    let _ = self.disk.rename_to_free(self.place_in_trash(kept), step_dir.name_in_dir());
                    return Err(StepError::Changed(changed_since(path)));
                }
            }
            StepRecord::MakeDir { .. } | StepRecord::Put { .. } | StepRecord::Move { .. } => {}
        }
        let has_removed = self.remove_half_done_at(record, &step_dir).map_err(&fail)?;
        if is_after || has_removed { step_dir.settle(self.disk).map_err(&fail) } else { Ok(()) }
    }

    /// Moves an entry from the trash back to its path.
    fn put_back(&self, step_dir: &StepDir<'_>, kept: &str, stamp: &Stamp) -> Result<(), StepError> {
        let fail = failed("cannot restore", step_dir.path);
        let gone = self.temporary(kept, "gone");
        // This is the original, which was about to be removed.
        if self.exists(step_dir.next_to(&gone)).map_err(&fail)? && self.is_as(step_dir.next_to(&gone), stamp) {
            let taken = |error: io::Error| {
                if has_errno(&error, &[Errno::EXIST]) { in_the_way(step_dir.path) } else { fail(error) }
            };
            self.disk.rename_to_free(step_dir.next_to(&gone), step_dir.name_in_dir()).map_err(taken)?;
            self.disk.sync(&step_dir.dir).map_err(&fail)?;
            return self.remove_from_trash(kept).map_err(&fail);
        }
        let names = (&*self.temporary(kept, "partial"), &*format!("{kept}.gone"), &*format!("{kept}.rest"));
        self.move_to_free(self.place_in_trash(kept), step_dir.name_in_dir(), names, (step_dir.path, None), &mut |_| {
            Ok(())
        })
    }

    /// Restores a new file that an interrupted undo took out of its place before checking it, if another program had
    /// just written to it.
    fn give_back_newer(&self, path: &Path, kept: &str, sha256: &str) -> io::Result<()> {
        let Some(step_dir) = self.step_dir_if_present(path)? else { return Ok(()) };
        let name = self.temporary(kept, "tmp");
        let temporary = step_dir.next_to(&name);
        // The entry was complete when it was recorded, so another program wrote any difference.
        let is_its = self.made(kept).is_some() && self.identity(temporary)? == self.made(kept);
        if !is_its || self.is_made(temporary, kept, sha256)? {
            return Ok(());
        }
        if !self.exists(step_dir.name_in_dir())? {
            self.disk.rename_to_free(temporary, step_dir.name_in_dir())?;
        } else if !self.exchange(temporary, step_dir.name_in_dir())? {
            return Err(newer(temporary, path));
        }
        self.disk.sync(&step_dir.dir)
    }

    /// Restores an old file in place of the new one.
    fn write_back(&self, step_dir: &StepDir<'_>, kept: &str, sha256: &str) -> Result<(), StepError> {
        let (disk, fail) = (self.disk, failed("cannot restore", step_dir.path));
        let changed = || StepError::Changed(changed_since(step_dir.path));
        let (name, partial) = (self.temporary(kept, "tmp"), self.temporary(kept, "partial"));
        let temporary = step_dir.next_to(&name);
        if !self.exists(temporary).map_err(&fail)? {
            self.link_or_copy(self.place_in_trash(kept), temporary, &partial).map_err(&fail)?;
        } else if !tree::is_same(disk, temporary, self.place_in_trash(kept)).map_err(&fail)? {
            return Err(changed());
        }
        let gone = self.temporary(kept, "gone");
        let new = if !self.exists(step_dir.name_in_dir()).map_err(&fail)? {
            disk.rename_to_free(temporary, step_dir.name_in_dir()).map_err(&fail)?;
            None
        } else if self.exchange(temporary, step_dir.name_in_dir()).map_err(&fail)? {
            if !self.is_made(temporary, kept, sha256).map_err(&fail)? {
                let _ = disk.exchange(temporary, step_dir.name_in_dir());
                return Err(changed());
            }
            Some(temporary)
        } else {
            let new = step_dir.next_to(&gone);
            disk.rename_to_free(step_dir.name_in_dir(), new).map_err(&fail)?;
            if !self.is_made(new, kept, sha256).map_err(&fail)? {
                let _ = disk.rename_to_free(new, step_dir.name_in_dir());
                return Err(changed());
            }
            disk.rename_to_free(temporary, step_dir.name_in_dir()).map_err(&fail)?;
            Some(new)
        };
        disk.sync(&step_dir.dir).map_err(&fail)?;
        if let Some(new) = new {
            disk.unlink(new).map_err(&fail)?;
        }
        tree::remove(disk, self.place_in_trash(kept)).map_err(&fail)
    }

    /// Without an exchange, one file is named `gone` for a moment: renames it back, or removes it if it is not needed.
    ///
    /// If the entry in the trash `is_removed` next, an old file with that name is removed only if the file in its place
    /// is the same: another program may have created one there.
    fn clear_aside(&self, step_dir: &StepDir<'_>, kept: &str, sha256: &str, is_removed: bool) -> Result<(), StepError> {
        let (path, fail) = (step_dir.name_in_dir(), failed("cannot restore", step_dir.path));
        let name = self.temporary(kept, "gone");
        let gone = step_dir.next_to(&name);
        if !self.exists(gone).map_err(&fail)? {
            return Ok(());
        }
        if !self.exists(path).map_err(&fail)? {
            self.disk.rename_to_free(gone, path).map_err(&fail)?;
            return self.disk.sync(&step_dir.dir).map_err(&fail);
        }
        self.disk.sync(&step_dir.dir).map_err(&fail)?;
        if self.is_made(gone, kept, sha256).map_err(&fail)? {
            return self.disk.unlink(gone).map_err(&fail);
        }
        if is_removed && !tree::is_same(self.disk, gone, path).map_err(&fail)? {
            return Err(in_the_way(step_dir.path));
        }
        self.remove_copied(gone, [self.place_in_trash(kept), path], step_dir.path).map(drop).map_err(fail)
    }

    /// Checks whether anything shows that a step was begun.
    pub(crate) fn is_touched(&self, record: &StepRecord) -> io::Result<bool> {
        let kept = record.name_in_trash();
        for ending in ["partial", "gone", "rest"] {
            if self.exists(self.place_in_trash(&format!("{kept}.{ending}")))? {
                return Ok(true);
            }
        }
        let from = if let StepRecord::Move { from, .. } = record { Some(from.as_path()) } else { None };
        for path in [record.path()].into_iter().chain(from) {
            let Some(step_dir) = self.step_dir_if_present(path)? else { continue };
            for ending in ["tmp", "partial", "gone", "rest"] {
                if self.exists(step_dir.next_to(&self.temporary(kept, ending)))? {
                    return Ok(true);
                }
            }
        }
        Ok(self.standing(record)? != StepState::Before)
    }

    /// Removes the temporary entries of an interrupted step.
    fn remove_half_done(&self, record: &StepRecord, step_dir: Option<&StepDir<'_>>) -> io::Result<()> {
        match step_dir {
            Some(step_dir) => self.remove_half_done_at(record, step_dir).map(drop),
            None => tree::remove(self.disk, self.place_in_trash(&format!("{}.partial", record.name_in_trash()))),
        }
    }

    /// Like [`Self::remove_half_done`], with the directory open; returns whether there was anything next to the step's
    /// path.
    fn remove_half_done_at(&self, record: &StepRecord, step_dir: &StepDir<'_>) -> io::Result<bool> {
        let kept = record.name_in_trash();
        let mut has_removed = false;
        // An unfinished entry is a copy of an entry still in its place, and so is the rest of a finished one.
        for ending in ["partial", "rest"] {
            tree::remove(self.disk, self.place_in_trash(&format!("{kept}.{ending}")))?;
            let name = self.temporary(kept, ending);
            has_removed |= self.exists(step_dir.next_to(&name))?;
            tree::remove(self.disk, step_dir.next_to(&name))?;
        }
        has_removed |= self.remove_temporary(step_dir, kept)?;
        let (gone, gone_from_trash) = (self.temporary(kept, "gone"), format!("{kept}.gone"));
        has_removed |= self.remove_copied(
            step_dir.next_to(&gone),
            [self.place_in_trash(kept), step_dir.name_in_dir()],
            step_dir.path,
        )?;
        self.remove_copied(
            self.place_in_trash(&gone_from_trash),
            [step_dir.name_in_dir(), self.place_in_trash(kept)],
            step_dir.path,
        )?;
        Ok(has_removed)
    }

    /// Removes a step's new entry next to its path, or an old one there that has a copy in the trash.
    fn remove_temporary(&self, step_dir: &StepDir<'_>, kept: &str) -> io::Result<bool> {
        let name = self.temporary(kept, "tmp");
        let temporary = step_dir.next_to(&name);
        let Some(found) = self.identity(temporary)? else { return Ok(false) };
        if self.made(kept).is_none_or(|made| made == found) {
            tree::remove(self.disk, temporary)?;
            return Ok(true);
        }
        self.remove_copied(temporary, [self.place_in_trash(kept), step_dir.name_in_dir()], step_dir.path)
    }

    /// Removes a `gone` entry. Renames it to `rest` first, because a part of it would no longer match its copy.
    fn remove_in_parts(&self, (dir, name): NameInDir<'_>) -> io::Result<()> {
        let text = name.to_string_lossy();
        let Some(stem) = text.strip_suffix(".gone") else { return tree::remove(self.disk, (dir, name)) };
        let rest = OsString::from(format!("{stem}.rest"));
        self.disk.rename_to_free((dir, name), (dir, &rest))?;
        self.disk.sync(dir)?;
        tree::remove(self.disk, (dir, &rest))
    }

    /// Removes a copy from the trash. Renames it to `rest` first, because a part of it would no longer match the original.
    fn remove_from_trash(&self, kept: &str) -> io::Result<()> {
        let name = format!("{kept}.rest");
        let rest = self.place_in_trash(&name);
        tree::remove(self.disk, rest)?;
        self.disk.rename_to_free(self.place_in_trash(kept), rest)?;
        self.disk.sync(rest.0)?;
        tree::remove(self.disk, rest)
    }

    /// Removes an entry that has a copy at one of these places; any other may be the only copy.
    pub(super) fn remove_copied(&self, at: NameInDir<'_>, copies: [NameInDir<'_>; 2], path: &Path) -> io::Result<bool> {
        if !self.exists(at)? {
            return Ok(false);
        }
        for copy in copies {
            if self.exists(copy)? && tree::is_same(self.disk, at, copy)? {
                self.remove_in_parts(at)?;
                return Ok(true);
            }
        }
        Err(newer(at, path))
    }
}

fn newer(at: NameInDir<'_>, path: &Path) -> io::Error {
    let name = at.1.display();
    io::Error::other(format!("{name}, next to {}, holds something newer; move it there first", path.display()))
}
