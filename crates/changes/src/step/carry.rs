//! Moves a file or a directory to another path, across file systems too.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use rustix::io::Errno;

use crate::disk::NameInDir;
use crate::stamp::Stamp;
use crate::step::StepContext;
use crate::step::{StepError, changed, failed, has_errno, in_the_way};
use crate::tree;

impl StepContext<'_> {
    /// Moves an entry to a free path, across file systems too.
    ///
    /// On another file system, copies it to `partial` next to the new path, compares and syncs the copy; then renames
    /// the original to `gone` next to the old path, compares it once more, renames it to `rest`, and removes it. An
    /// original that no longer matches its stamp or its copy after its first rename is renamed back.
    pub(super) fn move_to_free(
        &self,
        from: NameInDir<'_>,
        to: NameInDir<'_>,
        (partial, gone, rest): (&str, &str, &str),
        (path, stamp): (&Path, Option<&Stamp>),
        note: &mut dyn FnMut(NameInDir<'_>) -> io::Result<()>,
    ) -> Result<(), StepError> {
        let disk = self.disk;
        let fail = failed("cannot move", path);
        let taken = |error: io::Error| if has_errno(&error, &[Errno::EXIST]) { in_the_way(path) } else { fail(error) };
        let is_planned = |at| stamp.is_none_or(|stamp| self.is_as(at, stamp));
        note(from).map_err(&fail)?;
        match disk.rename_to_free(from, to) {
            Err(error) if has_errno(&error, &[Errno::XDEV]) => {}
            // A loss of power has left both names.
            Err(error)
                if has_errno(&error, &[Errno::EXIST])
                    && self.identity(from).ok().flatten() == self.identity(to).ok().flatten() =>
            {
                return disk.sync(to.0).and_then(|()| disk.unlink(from)).map_err(&fail);
            }
            moved => {
                moved.map_err(taken)?;
                // A power loss must not drop the only directory entry.
                disk.sync(to.0).map_err(&fail)?;
                // A program that wrote in between keeps its data.
                if !is_planned(to) {
                    let _ = disk.rename_to_free(to, from);
                    return Err(changed(path));
                }
                return Ok(());
            }
        }
        let (partial, gone) = ((to.0, OsStr::new(partial)), (from.0, OsStr::new(gone)));
        tree::remove(disk, partial).map_err(&fail)?;
        // An interrupted run may have completed its copy, but not the move.
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
        // Content that another program wrote there in the meantime stays.
        if !is_copied || !is_planned(gone) {
            let _ = disk.rename_to_free(gone, from);
            return Err(changed(path));
        }
        // From now on, the old path has only a part of the original.
        let rest = (from.0, OsStr::new(rest));
        disk.rename_to_free(gone, rest).map_err(&fail)?;
        disk.sync(from.0).map_err(&fail)?;
        tree::remove(disk, rest).map_err(&fail)
    }

    /// Exchanges two files; `false` if the file system cannot, and nothing was done.
    pub(super) fn exchange(&self, one: NameInDir<'_>, other: NameInDir<'_>) -> io::Result<bool> {
        match self.disk.exchange(one, other) {
            Err(error) if has_errno(&error, &[Errno::INVAL, Errno::NOSYS, Errno::NOTSUP]) => Ok(false),
            done => done.map(|()| true),
        }
    }

    /// Adds a second name to a file: a hard link, or a copy if that is impossible.
    pub(super) fn link_or_copy(&self, from: NameInDir<'_>, to: NameInDir<'_>, partial: &str) -> io::Result<()> {
        match self.disk.link(from, to) {
            Ok(()) => {}
            Err(error)
                if has_errno(&error, &[Errno::XDEV, Errno::PERM, Errno::MLINK, Errno::NOTSUP, Errno::ACCESS]) =>
            {
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
