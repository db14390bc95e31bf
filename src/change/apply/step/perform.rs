//! Carries out a step.

use std::io;
use std::path::Path;

use rustix::io::Errno;

use crate::change::apply::journal::StepRecord;
use crate::change::apply::step::contents::each_piece;
use crate::change::apply::step::error::{StepError, changed, failed, in_the_way, is};
use crate::change::apply::step::spot::Spot;
use crate::change::apply::step::{Note, NoteMade, StepContext};
use crate::change::apply::tree;
use crate::change::plan::change::{Contents, Step};
use crate::system::disk::{Access, At, For, Sparse};
use crate::system::stamp::Stamp;

impl StepContext<'_> {
    /// Carries out a step; calls `note` before a new entry is put in place.
    pub(in crate::change::apply) fn perform(
        &self,
        step: &Step,
        record: &StepRecord,
        note: &mut Note<'_>,
    ) -> Result<(), StepError> {
        let mut note = |kept: &str, at: At<'_>| {
            let identity = self.disk.look(at)?.identity;
            note(identity)?;
            self.made.borrow_mut().insert(kept.to_owned(), identity);
            Ok(())
        };
        match (step, record) {
            (Step::Trash { stamp, .. }, StepRecord::Trash { path, kept, .. }) => self.trash(path, stamp, kept),
            (Step::Write { contents, stamp, .. }, StepRecord::Write { path, kept, sha256, .. }) => {
                self.write(path, contents, stamp.as_deref(), (kept, sha256), &mut note)
            }
            (Step::Put { from, .. }, StepRecord::Put { path, kept, .. }) => self.put(from, path, kept, &mut note),
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
        let spot = self.spot(path).map_err(&fail)?;
        if !self.is_as_planned(&spot, stamp) {
            return Err(changed(path));
        }
        let names = (&*format!("{kept}.partial"), &*self.temporary(kept, "gone"), &*self.temporary(kept, "rest"));
        self.move_to_free(spot.at(), self.kept(kept), names, (path, Some(stamp)), &mut |_| Ok(()))?;
        spot.settle(self.disk).map_err(&fail)
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
        let spot = self.spot(path).map_err(&fail)?;
        let is_free = || self.exists(spot.at()).map(|exists| !exists);
        let is_planned = || stamp.map_or_else(is_free, |stamp| Ok(self.is_as_planned(&spot, stamp)));
        if !is_planned().map_err(&fail)? {
            return Err(changed(path));
        }
        let name = self.temporary(kept, "tmp");
        let temporary = spot.beside(&name);
        let file = disk.open(temporary, For::New(Access::Private)).map_err(&fail)?;
        let mut sparse = Sparse::new(disk, &file);
        let written = each_piece(disk, contents, |piece| sparse.add(piece)).map_err(&fail)?;
        sparse.end().map_err(&fail)?;
        if written != *sha256 {
            return Err(changed(path));
        }
        if stamp.is_some() {
            let old = disk.look(spot.at()).map_err(&fail)?;
            let source = disk.open(spot.at(), For::Reading).map_err(&fail)?;
            disk.copy_extended(&source, &file).map_err(&fail)?;
            tree::take_attributes(disk, &old, temporary).map_err(&fail)?;
        } else if let Contents::Edited { from, .. } = contents {
            let from = Spot::of(disk, from).and_then(|from| disk.look(from.at())).map_err(&fail)?;
            tree::take_attributes(disk, &from, temporary).map_err(&fail)?;
        } else {
            let _ = disk.set_owner(temporary, spot.look.owner);
        }
        disk.sync(&file).map_err(&fail)?;
        note(kept, temporary).map_err(&fail)?;
        let Some(stamp) = stamp else {
            self.put_in_place(temporary, &spot)?;
            return spot.settle(disk).map_err(&fail);
        };
        let partial = format!("{kept}.partial");
        self.link_or_copy(spot.at(), self.kept(kept), &partial).map_err(failed("cannot keep the old", path))?;
        if !is_planned().map_err(&fail)? {
            return Err(changed(path));
        }
        let gone = self.temporary(kept, "gone");
        // A file that another program put there after the check is restored.
        let is_old = |at| Ok(self.is_as(at, stamp) && tree::is_same(disk, at, self.kept(kept))?);
        let old = if self.exchange(temporary, spot.at()).map_err(&fail)? {
            if !is_old(temporary).map_err(&fail)? {
                let _ = disk.exchange(temporary, spot.at());
                return Err(changed(path));
            }
            temporary
        } else {
            // Without an exchange, the path is free for a moment.
            let old = spot.beside(&gone);
            disk.rename_to_free(spot.at(), old).map_err(&fail)?;
            if !is_old(old).map_err(&fail)? {
                let _ = disk.rename_to_free(old, spot.at());
                return Err(changed(path));
            }
            self.put_in_place(temporary, &spot)?;
            old
        };
        disk.sync(&spot.dir).map_err(&fail)?;
        disk.unlink(old).map_err(&fail)?;
        spot.settle(disk).map_err(&fail)
    }

    fn make_dir(&self, path: &Path, kept: &str, note: &mut NoteMade<'_>) -> Result<(), StepError> {
        let fail = failed("cannot create", path);
        let spot = self.spot(path).map_err(&fail)?;
        // Recorded before it is in place, so that every directory made here is known.
        let name = self.temporary(kept, "tmp");
        let temporary = spot.beside(&name);
        self.disk.make_dir(temporary, Access::Private).map_err(&fail)?;
        note(kept, temporary).map_err(&fail)?;
        self.put_in_place(temporary, &spot)?;
        spot.settle(self.disk).map_err(&fail)
    }

    /// Renames a prepared entry to its path, which must be free.
    fn put_in_place(&self, temporary: At<'_>, spot: &Spot<'_>) -> Result<(), StepError> {
        let taken = |error: io::Error| {
            if is(&error, &[Errno::EXIST]) { changed(spot.path) } else { failed("cannot write", spot.path)(error) }
        };
        self.disk.rename_to_free(temporary, spot.at()).map_err(taken)
    }

    fn put(&self, from: &Path, path: &Path, kept: &str, note: &mut NoteMade<'_>) -> Result<(), StepError> {
        let fail = failed("cannot put back", path);
        let (spot, ready) = (self.spot(path).map_err(&fail)?, Spot::of(self.disk, from).map_err(&fail)?);
        let names = (&*self.temporary(kept, "partial"), &*self.temporary(kept, "gone"), &*self.temporary(kept, "rest"));
        if self.exists(spot.at()).map_err(&fail)? {
            return Err(in_the_way(path));
        }
        self.move_to_free(ready.at(), spot.at(), names, (path, None), &mut |at| note(kept, at))?;
        spot.settle(self.disk).map_err(&fail)
    }
}
