//! Carries out a step.

use std::io;
use std::path::Path;

use rustix::io::Errno;

use crate::disk::{Access, For, NameInDir, Sparse};
use crate::journal::StepRecord;
use crate::plan::{Contents, Step};
use crate::stamp::Stamp;
use crate::step::contents::each_piece;
use crate::step::step_dir::StepDir;
use crate::step::{Note, NoteMade, StepContext};
use crate::step::{StepError, changed, failed, has_errno, in_the_way};
use crate::tree;

impl StepContext<'_> {
    /// Carries out a step; calls `note` before a new entry is renamed into place.
    pub(crate) fn perform(&self, step: &Step, record: &StepRecord, note: &mut Note<'_>) -> Result<(), StepError> {
        let mut note = |kept: &str, at: NameInDir<'_>| {
            let identity = self.disk.read_metadata(at)?.identity;
            note(identity)?;
            self.made.borrow_mut().insert(kept.to_owned(), identity);
            Ok(())
        };
        match (step, record) {
            (Step::Trash { stamp, .. }, StepRecord::Trash { path, kept, .. }) => self.trash(path, stamp, kept),
            (Step::Write { contents, stamp, .. }, StepRecord::Write { path, kept, sha256, .. }) => {
                self.write(path, contents, stamp.as_deref(), (kept, sha256), &mut note)
            }
            (Step::Put { from, .. }, StepRecord::Put { path, kept, .. }) => self.put_entry(from, path, kept, &mut note),
            (Step::MakeDir { .. }, StepRecord::MakeDir { path, kept }) => self.make_dir(path, kept, &mut note),
            (Step::Move { stamp, .. }, StepRecord::Move { from, path, kept, .. }) => {
                self.relocate(from, path, stamp, kept, &mut note)
            }
            // The record is always made from its step.
            _ => Err(changed(step.path())),
        }
    }

    fn trash(&self, path: &Path, stamp: &Stamp, kept: &str) -> Result<(), StepError> {
        let fail = failed("cannot move", path);
        let step_dir = self.step_dir(path).map_err(&fail)?;
        if !self.is_as_planned(&step_dir, stamp) {
            return Err(changed(path));
        }
        let names = (&*format!("{kept}.partial"), &*self.temporary(kept, "gone"), &*self.temporary(kept, "rest"));
        self.move_to_free(step_dir.name_in_dir(), self.place_in_trash(kept), names, (path, Some(stamp)), &mut |_| {
            Ok(())
        })?;
        step_dir.settle(self.disk).map_err(&fail)
    }

    fn write(
        &self,
        path: &Path,
        contents: &Contents,
        stamp: Option<&Stamp>,
        (kept, sha256): (&str, &str),
        note: &mut NoteMade<'_>,
    ) -> Result<(), StepError> {
        let (disk, fail) = (self.disk, failed("cannot write", path));
        let step_dir = self.step_dir(path).map_err(&fail)?;
        let is_free = || self.exists(step_dir.name_in_dir()).map(|exists| !exists);
        let is_planned = || stamp.map_or_else(is_free, |stamp| Ok(self.is_as_planned(&step_dir, stamp)));
        if !is_planned().map_err(&fail)? {
            return Err(changed(path));
        }
        let name = self.temporary(kept, "tmp");
        let temporary = step_dir.next_to(&name);
        let file = disk.open(temporary, For::New(Access::Private)).map_err(&fail)?;
        let mut sparse = Sparse::new(disk, &file);
        let written = each_piece(disk, contents, |piece| sparse.add(piece)).map_err(&fail)?;
        sparse.end().map_err(&fail)?;
        if written != *sha256 {
            return Err(changed(path));
        }
        if stamp.is_some() {
            let old = disk.read_metadata(step_dir.name_in_dir()).map_err(&fail)?;
            let source = disk.open(step_dir.name_in_dir(), For::Reading).map_err(&fail)?;
            disk.copy_extended(&source, &file).map_err(&fail)?;
            tree::take_attributes(disk, &old, temporary).map_err(&fail)?;
        } else if let Contents::Edited { from, .. } = contents {
            let from = StepDir::open_parent(disk, from)
                .and_then(|from| disk.read_metadata(from.name_in_dir()))
                .map_err(&fail)?;
            tree::take_attributes(disk, &from, temporary).map_err(&fail)?;
        } else {
            let _ = disk.set_owner(temporary, step_dir.look.owner);
        }
        disk.sync(&file).map_err(&fail)?;
        note(kept, temporary).map_err(&fail)?;
        let Some(stamp) = stamp else {
            self.put_in_place(temporary, &step_dir)?;
            return step_dir.settle(disk).map_err(&fail);
        };
        let partial = format!("{kept}.partial");
        self.link_or_copy(step_dir.name_in_dir(), self.place_in_trash(kept), &partial)
            .map_err(failed("cannot keep the old", path))?;
        if !is_planned().map_err(&fail)? {
            return Err(changed(path));
        }
        let gone = self.temporary(kept, "gone");
        // Restore a file that another program created there after the check.
        let is_old = |at| Ok(self.is_as(at, stamp) && tree::is_same(disk, at, self.place_in_trash(kept))?);
        let old = if self.exchange(temporary, step_dir.name_in_dir()).map_err(&fail)? {
            if !is_old(temporary).map_err(&fail)? {
                let _ = disk.exchange(temporary, step_dir.name_in_dir());
                return Err(changed(path));
            }
            temporary
        } else {
            // Without an exchange, the path is free for a moment.
            let old = step_dir.next_to(&gone);
            disk.rename_to_free(step_dir.name_in_dir(), old).map_err(&fail)?;
            if !is_old(old).map_err(&fail)? {
                let _ = disk.rename_to_free(old, step_dir.name_in_dir());
                return Err(changed(path));
            }
            self.put_in_place(temporary, &step_dir)?;
            old
        };
        disk.sync(&step_dir.dir).map_err(&fail)?;
        disk.unlink(old).map_err(&fail)?;
        step_dir.settle(disk).map_err(&fail)
    }

    fn make_dir(&self, path: &Path, kept: &str, note: &mut NoteMade<'_>) -> Result<(), StepError> {
        let fail = failed("cannot create", path);
        let step_dir = self.step_dir(path).map_err(&fail)?;
        // Recorded before it is in place, so that every directory made here is known.
        let name = self.temporary(kept, "tmp");
        let temporary = step_dir.next_to(&name);
        self.disk.make_dir(temporary, Access::Private).map_err(&fail)?;
        note(kept, temporary).map_err(&fail)?;
        self.put_in_place(temporary, &step_dir)?;
        step_dir.settle(self.disk).map_err(&fail)
    }

    /// Renames a prepared entry to its path, which must be free.
    fn put_in_place(&self, temporary: NameInDir<'_>, step_dir: &StepDir<'_>) -> Result<(), StepError> {
        let taken = |error: io::Error| {
            if has_errno(&error, &[Errno::EXIST]) {
                changed(step_dir.path)
            } else {
                failed("cannot write", step_dir.path)(error)
            }
        };
        self.disk.rename_to_free(temporary, step_dir.name_in_dir()).map_err(taken)
    }

    fn put_entry(&self, from: &Path, path: &Path, kept: &str, note: &mut NoteMade<'_>) -> Result<(), StepError> {
        let fail = failed("cannot restore", path);
        let (step_dir, ready) =
            (self.step_dir(path).map_err(&fail)?, StepDir::open_parent(self.disk, from).map_err(&fail)?);
        let names = (&*self.temporary(kept, "partial"), &*self.temporary(kept, "gone"), &*self.temporary(kept, "rest"));
        if self.exists(step_dir.name_in_dir()).map_err(&fail)? {
            return Err(in_the_way(path));
        }
        let moved = self
            .move_to_free(ready.name_in_dir(), step_dir.name_in_dir(), names, (path, None), &mut |at| note(kept, at));
        if matches!(moved, Err(StepError::Changed(_)))
            && self.identity(step_dir.name_in_dir()).map_err(&fail)? != self.made(kept)
        {
            // The entry at the path belongs to another program, so no new entry of this step is in place.
            self.made.borrow_mut().remove(kept);
        }
        moved?;
        step_dir.settle(self.disk).map_err(&fail)
    }
}
