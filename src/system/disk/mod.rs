//! The file system calls that changes are made of, by handles of directories: on the system's disk, or on one in memory.
//!
//! Whoever changes files is given a [`Disk`]. [`System`] does each call as the system's own. `memory::Memory` keeps to the
//! rules that file systems really give, and to no more: what was not synced may be lost at a crash, any call may fail,
//! and somebody else may act between two calls; how it is driven is said there.

mod descent;
mod fault;
#[cfg(test)]
pub(crate) mod memory;
mod saving;
mod sparse;
mod system;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::system::fsio::{Kind, Look, is_absent};

pub(crate) use descent::Descent;
pub(crate) use fault::Fault;
pub(crate) use saving::{Saving, Update, replace, save, save_new};
pub(crate) use sparse::Sparse;
pub(crate) use system::{SYSTEM, System};

/// An open file or directory; it stays what it is, whatever happens to its name.
#[derive(Debug)]
pub(crate) enum Handle {
    System(OwnedFd),
    #[cfg(test)]
    Memory(memory::Open),
}

/// The name of a directory in itself.
const ITSELF: &str = ".";

/// A name in an open directory.
pub(crate) type At<'a> = (&'a Handle, &'a OsStr);

/// Times of access and modification, each in seconds since 1970 and nanoseconds.
pub(crate) type Times = ((i64, i64), (i64, i64));

/// Who may use a file or directory that is new; one that is replaced keeps its mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Nobody but its owner.
    Private,
    /// Whom the user's umask lets.
    Usual,
}

/// What something is opened for; a link is never followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum For {
    /// A directory, for what is in it.
    Dir,
    /// A regular file, to be read.
    Reading,
    /// A regular file, to be read and added to.
    Adding,
    /// A file that is made where nothing is, to be added to.
    New(Access),
    /// A file that is made where nothing is yet, to be locked, read and added to.
    Locking,
}

/// What is on a file system, and what can be done with it.
///
/// Errors are the system's. Each call that changes something is a point at which it may fail or be the last.
pub(crate) trait Disk: fmt::Debug + Send + Sync {
    /// Opens a directory by its path, through links.
    fn open_dir(&self, path: &Path) -> io::Result<Handle>;
    /// Opens a directory by its path, in which nothing may be a link.
    fn open_real_dir(&self, path: &Path) -> io::Result<Handle>;
    /// Returns a path without links that leads to the same.
    fn real_path(&self, path: &Path) -> io::Result<PathBuf>;
    /// Opens something in a directory.
    fn open(&self, at: At<'_>, purpose: For) -> io::Result<Handle>;
    /// Looks at something in a directory.
    fn look(&self, at: At<'_>) -> io::Result<Look>;
    /// Looks at what is open.
    fn look_at(&self, open: &Handle) -> io::Result<Look>;
    /// Returns the names in a directory, in the order of their bytes.
    fn list(&self, dir: &Handle) -> io::Result<Vec<OsString>>;
    /// Returns what a link says.
    fn read_link(&self, at: At<'_>) -> io::Result<PathBuf>;
    /// Reads from a place of a file, and returns how many bytes; 0 at its end.
    fn read_at(&self, file: &Handle, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Makes a directory.
    fn make_dir(&self, at: At<'_>, access: Access) -> io::Result<()>;
    /// Makes a symbolic link.
    fn make_link(&self, at: At<'_>, target: &Path) -> io::Result<()>;
    /// Adds to the end of a file; one that fails may have added a part.
    fn add(&self, file: &Handle, bytes: &[u8]) -> io::Result<()>;
    /// Cuts a file off, or adds a hole to its end, which reads as zeros.
    fn set_length(&self, file: &Handle, length: u64) -> io::Result<()>;
    /// Gives a file a second name, where nothing may be.
    fn link(&self, from: At<'_>, to: At<'_>) -> io::Result<()>;
    /// Moves something over what is there.
    fn rename(&self, from: At<'_>, to: At<'_>) -> io::Result<()>;
    /// Moves something to where nothing may be.
    fn rename_to_free(&self, from: At<'_>, to: At<'_>) -> io::Result<()>;
    /// Puts each in the place of the other.
    fn exchange(&self, one: At<'_>, other: At<'_>) -> io::Result<()>;
    /// Removes a name of what is no directory.
    fn unlink(&self, at: At<'_>) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_dir(&self, at: At<'_>) -> io::Result<()>;
    /// Gives something away.
    fn set_owner(&self, at: At<'_>, owner: (u32, u32)) -> io::Result<()>;
    /// Sets the permissions of what is no link.
    fn set_mode(&self, at: At<'_>, mode: u32) -> io::Result<()>;
    /// Gives an open file or directory the extended attributes of another, and so on Linux its ACL.
    fn copy_extended(&self, from: &Handle, to: &Handle) -> io::Result<()>;
    /// Sets the times, of a link its own.
    fn set_times(&self, at: At<'_>, times: Times) -> io::Result<()>;
    /// Puts a file's bytes, or a directory's names, on the disk.
    fn sync(&self, open: &Handle) -> io::Result<()>;
    /// Takes the lock of a file or directory without waiting, and returns whether nobody else has it; it goes with the
    /// handle.
    fn lock(&self, open: &Handle) -> io::Result<bool>;
}

/// Splits a path into the directory, opened, and the name in it.
pub(crate) fn open_parent(disk: &dyn Disk, path: &Path) -> io::Result<(Handle, OsString)> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::other("it has no directory"));
    };
    Ok((disk.open_dir(dir)?, name.to_owned()))
}

/// Returns the path to a directory without links, as far as there is one.
pub(crate) fn real_dir(disk: &dyn Disk, path: &Path) -> io::Result<PathBuf> {
    match (disk.real_path(path), path.parent(), path.file_name()) {
        (Err(error), Some(above), Some(name)) if error.kind() == io::ErrorKind::NotFound => {
            Ok(real_dir(disk, above)?.join(name))
        }
        (real, _, _) => real,
    }
}

/// Looks at something in a directory; `None` when there is nothing.
pub(crate) fn look_if_present(disk: &dyn Disk, at: At<'_>) -> io::Result<Option<Look>> {
    match disk.look(at) {
        Ok(look) => Ok(Some(look)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a file that must not be larger than `limit` bytes; `None` if there is nothing at the path. A link is followed to a
/// file of the same user; one that leads nowhere is an error, because its file may come back.
pub(crate) fn read_if_present(disk: &dyn Disk, path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let read = || {
        let (mut dir, mut name) = open_parent(disk, path)?;
        let look = disk.look((&dir, &name))?;
        if look.kind == Kind::Symlink {
            let real = disk.real_path(path).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => io::Error::other("it is a link that leads nowhere"),
                _ => error,
            })?;
            (dir, name) = open_parent(disk, &real)?;
            if disk.look((&dir, &name))?.owner.0 != look.owner.0 {
                return Err(io::Error::other("it is a link to a file of another user, which is not followed"));
            }
        }
        let file = disk.open((&dir, &name), For::Reading)?;
        let size = disk.look_at(&file)?.size;
        if size > limit {
            return Err(io::Error::other(format!("it is larger than {limit} bytes")));
        }
        let mut bytes = vec![0; usize::try_from(size).map_err(io::Error::other)?];
        let mut length = 0;
        while length < bytes.len() {
            match disk.read_at(&file, &mut bytes[length..], length as u64)? {
                0 => break,
                count => length += count,
            }
        }
        bytes.truncate(length);
        Ok(bytes)
    };
    match read() {
        Err(error) if is_absent(error.kind()) => Ok(None),
        bytes => bytes.map(Some),
    }
}

/// Makes directories as far as they are missing, puts their names on the disk, and opens the last.
pub(crate) fn make_dirs(disk: &dyn Disk, path: &Path, access: Access) -> io::Result<Handle> {
    make_dirs_below(disk, path, access, &|above| disk.open_dir(above))
}

/// Does so where `open` opens what is there.
pub(crate) fn make_dirs_below(
    disk: &dyn Disk,
    path: &Path,
    access: Access,
    open: &dyn Fn(&Path) -> io::Result<Handle>,
) -> io::Result<Handle> {
    match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    // As deep as a path may be.
    let mut missing = vec![path];
    let above = loop {
        let Some(above) = missing.last().and_then(|path| path.parent()) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        match open(above) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push(above),
            opened => break opened?,
        }
    };
    let mut dir = above;
    for path in missing.into_iter().rev() {
        let name = path.file_name().ok_or_else(|| io::Error::other("it has no name"))?;
        match disk.make_dir((&dir, name), access) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => {
                made?;
                disk.sync(&dir)?;
            }
        }
        dir = disk.open((&dir, name), For::Dir)?;
    }
    Ok(dir)
}
