//! The step that moves an entry to another path in a store, and its reversal.
//!
//! On one file system that is a rename. Across file systems a copy is made next to the new path, compared and renamed;
//! then the original is renamed, compared once more and removed. The reversal is the same in the other direction.

use std::io;
use std::path::Path;

use crate::stamp::Stamp;
use crate::step::step_dir::StepDir;
use crate::step::{NoteMade, StepContext, StepState};
use crate::step::{StepError, changed, changed_since, failed, in_the_way};
use crate::tree;

impl StepContext<'_> {
    /// Moves an entry to a free path.
    pub(super) fn relocate(
        &self,
        from: &Path,
        path: &Path,
        stamp: &Stamp,
        kept: &str,
        note: &mut NoteMade<'_>,
    ) -> Result<(), StepError> {
        let (disk, fail) = (self.disk, failed("cannot move", from));
        let (old, new) = (self.step_dir(from).map_err(&fail)?, self.step_dir(path).map_err(&fail)?);
        if !self.is_as_planned(&old, stamp) {
            return Err(changed(from));
        }
        if self.exists(new.name_in_dir()).map_err(&fail)? {
            return Err(StepError::Changed(format!("{} exists now", path.display())));
        }
        let names = (&*self.temporary(kept, "partial"), &*self.temporary(kept, "gone"), &*self.temporary(kept, "rest"));
        self.move_to_free(old.name_in_dir(), new.name_in_dir(), names, (from, Some(stamp)), &mut |at| note(kept, at))?;
        new.settle(disk).map_err(&fail)?;
        old.settle(disk).map_err(&fail)
    }

    /// Returns the state of a step that moves an entry.
    pub(super) fn standing_of_move(
        &self,
        from: &Path,
        path: &Path,
        kept: &str,
        stamp: &Stamp,
    ) -> io::Result<StepState> {
        let (old, new) = (self.step_dir_if_present(from)?, self.step_dir_if_present(path)?);
        let found = |step_dir: &Option<StepDir<'_>>| {
            step_dir.as_ref().map_or(Ok(None), |step_dir| self.identity(step_dir.name_in_dir()))
        };
        let (at_old, at_new, made) = (found(&old)?, found(&new)?, self.made(kept));
        Ok(match (made, &old, &new, at_old) {
            (Some(made), Some(old), Some(new), Some(at_old)) if at_new == Some(made) && at_old != made => {
                // A move across file systems was interrupted before the original was removed.
                if self.is_as(old.name_in_dir(), stamp)
                    || tree::is_same(self.disk, old.name_in_dir(), new.name_in_dir())?
                {
                    StepState::After
                } else {
                    StepState::Blocked(in_the_way(from).to_string())
                }
            }
            // Later additions move back with it.
            (Some(made), ..) if at_new == Some(made) => StepState::After,
            (Some(_), Some(old), _, None) if !self.exists(old.next_to(&self.temporary(kept, "gone")))? => {
                StepState::Blocked(format!("{} is no longer there", path.display()))
            }
            _ => StepState::Before,
        })
    }

    /// Reverts a step that moves an entry, whatever its state.
    pub(super) fn move_back(&self, from: &Path, path: &Path, kept: &str, stamp: &Stamp) -> Result<(), StepError> {
        let (disk, fail) = (self.disk, failed("cannot restore", from));
        let standing = self.standing_of_move(from, path, kept, stamp).map_err(&fail)?;
        if let StepState::Blocked(why) = standing {
            return Err(StepError::Changed(why));
        }
        let is_after = standing == StepState::After;
        if is_after {
            // The directories may have been removed since.
            self.make_dirs_of(from).map_err(&fail)?;
        }
        let old = self.step_dir_if_present(from).map_err(&fail)?;
        let new = self.step_dir_if_present(path).map_err(&fail)?;
        if let (true, Some(old), Some(new)) = (is_after, &old, &new) {
            self.bring_back(old, new, kept, stamp)?;
        } else if let Some(old) = &old {
            let gone = self.temporary(kept, "gone");
            // A loss of power may have reverted the return of the original to its path.
            if !self.exists(old.name_in_dir()).map_err(&fail)? && self.exists(old.next_to(&gone)).map_err(&fail)? {
                disk.rename_to_free(old.next_to(&gone), old.name_in_dir()).map_err(&fail)?;
            }
            // An entry restored by an interrupted run may not be synced yet; its copy is removed only afterwards.
            disk.sync(&old.dir).map_err(&fail)?;
        }
        let mut has_removed = false;
        for step_dir in [&old, &new].into_iter().flatten() {
            for ending in ["partial", "rest"] {
                let name = self.temporary(kept, ending);
                has_removed |= self.exists(step_dir.next_to(&name)).map_err(&fail)?;
                tree::remove(disk, step_dir.next_to(&name)).map_err(&fail)?;
            }
        }
        if let (Some(old), Some(new)) = (&old, &new) {
            let gone = self.temporary(kept, "gone");
            for step_dir in [old, new] {
                let copies = [old.name_in_dir(), new.name_in_dir()];
                has_removed |= self.remove_copied(step_dir.next_to(&gone), copies, step_dir.path).map_err(&fail)?;
            }
        }
        if is_after || has_removed {
            [&old, &new].into_iter().flatten().try_for_each(|step_dir| step_dir.settle(disk)).map_err(&fail)?;
        }
        Ok(())
    }

    /// Moves an entry from its new path back to the old one.
    fn bring_back(&self, old: &StepDir<'_>, new: &StepDir<'_>, kept: &str, stamp: &Stamp) -> Result<(), StepError> {
        let (disk, fail) = (self.disk, failed("cannot restore", old.path));
        let gone = self.temporary(kept, "gone");
        let at_old = self.identity(old.name_in_dir()).map_err(&fail)?;
        if at_old.is_some() && at_old == self.made(kept) {
            // A loss of power has left both names.
            return disk.unlink(new.name_in_dir()).map_err(&fail);
        }
        if at_old.is_none() && self.exists(old.next_to(&gone)).map_err(&fail)? && self.is_as(old.next_to(&gone), stamp)
        {
            // This is the original, which was about to be removed.
            disk.rename_to_free(old.next_to(&gone), old.name_in_dir()).map_err(&fail)?;
            disk.sync(&old.dir).map_err(&fail)?;
        } else if at_old.is_none() {
            let names = (&*self.temporary(kept, "partial"), &*gone, &*self.temporary(kept, "rest"));
            return self.move_to_free(new.name_in_dir(), old.name_in_dir(), names, (old.path, None), &mut |_| Ok(()));
        } else {
            // It may have been restored a moment ago.
            disk.sync(&old.dir).map_err(&fail)?;
        }
        // The entry at the new path is only a copy.
        disk.rename_to_free(new.name_in_dir(), new.next_to(&gone)).map_err(&fail)?;
        if !tree::is_same(disk, new.next_to(&gone), old.name_in_dir()).map_err(&fail)? {
            let _ = disk.rename_to_free(new.next_to(&gone), new.name_in_dir());
            return Err(StepError::Changed(changed_since(new.path)));
        }
        let rest = self.temporary(kept, "rest");
        disk.rename_to_free(new.next_to(&gone), new.next_to(&rest)).map_err(&fail)?;
        disk.sync(&new.dir).map_err(&fail)?;
        tree::remove(disk, new.next_to(&rest)).map_err(&fail)
    }
}
