//! Doing a step.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::AtFlags;
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::change::apply::journal::StepRecord;
use crate::change::apply::step::{
    Digesting, Dir, Note, NoteMade, StepContext, StepError, changed, exists, failed, identity, is_as, is_like, name,
    rename, rename_to_free, write_contents,
};
use crate::change::apply::tree;
use crate::change::plan::change::{Contents, Step, hex};
use crate::system::stamp;
use crate::system::stamp::Stamp;

impl StepContext<'_> {
    /// Does a step.
    pub(in crate::change::apply) fn perform(
        &self,
        step: &Step,
        record: &StepRecord,
        note: &mut Note<'_>,
    ) -> Result<(), StepError> {
        let mut note = |kept: &str, path: &Path| {
            let identity = identity(path).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
            note(identity)?;
            self.made.borrow_mut().insert(kept.to_owned(), identity);
            Ok(())
        };
        match (step, record) {
            (Step::Trash { path, stamp }, StepRecord::Trash { kept, .. }) => self.trash(path, stamp, kept),
            (Step::Write { path, contents, stamp }, StepRecord::Write { kept, sha256, .. }) => {
                self.write(path, contents, stamp.as_deref(), (kept, sha256), &mut note)
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
    #[expect(clippy::disallowed_methods, reason = "this is part of the one place that changes files")]
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
}
