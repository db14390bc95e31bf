//! A private directory for unpacked data, locked while its process lives.
//!
//! Leftovers of a killed process are removed by the next run that changes something, or that makes one in the same
//! place.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::disk::EntryKind;
use crate::disk::{Access, Disk, For, Handle, NameInDir, System, look_if_present};
use crate::error::PathError;
use crate::tree;

/// Prefix of the names of these directories.
const PREFIX: &str = "rejoin-shown-";

/// A private directory, removed on drop.
#[derive(Debug)]
pub struct PrivateDir {
    path: PathBuf,
    disk: System,
    base: Handle,
    name: OsString,
    /// The directory; while it is locked, no other run removes it as a leftover.
    dir: Handle,
}

impl PrivateDir {
    /// Makes one in the directory `base`.
    pub fn make(disk: System, base: &Path) -> Result<Self, PathError> {
        let handle = disk.open_dir(base).map_err(|error| PathError::new("create", base, error))?;
        // Leftovers do no harm.
        let _ = clear_left(&disk, &handle);
        let mut number = 0_u64;
        loop {
            let name = OsString::from(format!("{PREFIX}{}-{number}", std::process::id()));
            let path = base.join(&name);
            let fail = |error| PathError::new("create", &path, error);
            number += 1;
            match disk.make_dir((&handle, &name), Access::Private) {
                // A process with the same number made it, in another container or long ago.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made.map_err(fail)?,
            }
            match lock_dir(&disk, (&handle, &name)) {
                Ok(Some(dir)) => return Ok(Self { path, disk, base: handle, name, dir }),
                // A run that removes leftovers was faster.
                Ok(None) => {}
                Err(error) => {
                    // Without a lock it could not be recognised as a leftover later.
                    let _ = tree::remove(&disk, (&handle, &name));
                    return Err(fail(error));
                }
            }
        }
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the disk, and the handle of the directory on it.
    pub fn open(&self) -> (&System, &Handle) {
        (&self.disk, &self.dir)
    }
}

impl Drop for PrivateDir {
    fn drop(&mut self) {
        // A later run removes the rest if this fails.
        let _ = tree::remove(&self.disk, (&self.base, &self.name));
    }
}

/// Removes the directories that no living process holds.
pub fn clear_left(disk: &dyn Disk, base: &Handle) -> io::Result<()> {
    for name in disk.list(base)? {
        if !name.as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        // The system's temporary directory is shared with other users.
        let own = rustix::process::geteuid().as_raw();
        let is_own =
            disk.read_metadata((base, &name)).is_ok_and(|look| look.kind == EntryKind::Dir && look.owner.0 == own);
        if is_own && let Some(_lock) = lock_dir(disk, (base, &name))? {
            tree::remove(disk, (base, &name))?;
        }
    }
    Ok(())
}

/// Locks a directory for this process; `None` if another process holds it, or it is gone.
fn lock_dir(disk: &dyn Disk, at: NameInDir<'_>) -> io::Result<Option<Handle>> {
    let held = match disk.open(at, For::Dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        held => held?,
    };
    if !disk.lock(&held)? {
        return Ok(None);
    }
    // It may have been removed before it was locked.
    let is_there =
        look_if_present(disk, at)?.map(|look| look.identity) == Some(disk.read_open_metadata(&held)?.identity);
    Ok(is_there.then_some(held))
}
