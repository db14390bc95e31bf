//! The file system calls that changes consist of, on handles of directories: on the system's disk, or on one in memory.
//!
//! Code that changes files gets a [`Disk`]. [`System`] makes the calls of the system. `memory::Memory` gives exactly
//! the guarantees of real file systems: unsynced data may be lost in a crash, any call may fail, and another process
//! may act between two calls; its module docs show how to drive it.

mod buffer;
mod descent;
mod extended;
mod look;
#[cfg(any(test, debug_assertions))]
pub mod memory;
mod saving;
mod sparse;
mod sync;
mod system;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::links;

pub use buffer::{BufReader, Buffer, PAGE, PIECE};
pub use descent::Descent;
use extended::copy_extended;
pub use look::{EntryKind, EntryMetadata};
pub use saving::{FileUpdate, Saving, replace, save, save_new};
pub use sparse::Sparse;
use sync::sync;
pub use system::{Faults, System};

/// An open file or directory; it stays the same object, whatever happens to its name.
#[derive(Debug)]
pub enum Handle {
    /// On the disk of the system.
    System(OwnedFd),
    /// On the disk in memory.
    #[cfg(any(test, debug_assertions))]
    Memory(memory::Open),
}

/// The name of a directory inside itself.
const ITSELF: &str = ".";

/// A name in an open directory.
pub type NameInDir<'a> = (&'a Handle, &'a OsStr);

/// Access and modification time, each as seconds since 1970 and nanoseconds.
pub type FileTimes = ((i64, i64), (i64, i64));

/// Permissions of a new file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Only its owner, even if it replaces a file with another mode.
    Private,
    /// Only its owner; a replaced file keeps its mode.
    Kept,
    /// Those that the user's umask allows; a replaced file keeps its mode.
    Usual,
}

/// The purpose of opening an entry; a link is never followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// A directory whose entries will be accessed.
    Dir,
    /// A regular file, for reading.
    Reading,
    /// A regular file, for reading and appending.
    Adding,
    /// A new file at a free path, for appending.
    New(Access),
    /// A file that is created if missing, for locking, reading and appending.
    Locking,
}

/// A file system and the operations on it.
///
/// Errors are those of the system. Each call that changes something is a point at which a test can make it fail or be
/// the last.
pub trait Disk: fmt::Debug + Send + Sync {
    /// Opens a directory by its path; follows links.
    fn open_dir(&self, path: &Path) -> io::Result<Handle>;
    /// Opens a directory to write into, by its path; fails at a link that another user may have created.
    fn open_for_writing(&self, path: &Path) -> io::Result<Handle>;
    /// Opens a directory by a path without links.
    fn open_real_dir(&self, path: &Path) -> io::Result<Handle>;
    /// Returns the path with all links resolved.
    fn real_path(&self, path: &Path) -> io::Result<PathBuf>;
    /// Opens an entry of a directory.
    fn open(&self, at: NameInDir<'_>, purpose: For) -> io::Result<Handle>;
    /// Reads the metadata of an entry of a directory.
    fn read_metadata(&self, at: NameInDir<'_>) -> io::Result<EntryMetadata>;
    /// Reads the metadata of an open file or directory.
    fn read_open_metadata(&self, open: &Handle) -> io::Result<EntryMetadata>;
    /// Returns the names in a directory, in byte order.
    fn list(&self, dir: &Handle) -> io::Result<Vec<OsString>>;
    /// Returns the target of a link.
    fn read_link(&self, at: NameInDir<'_>) -> io::Result<PathBuf>;
    /// Reads from an offset of a file. Returns the number of bytes; 0 at its end.
    fn read_at(&self, file: &Handle, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Makes a directory.
    fn make_dir(&self, at: NameInDir<'_>, access: Access) -> io::Result<()>;
    /// Makes a symbolic link.
    fn make_link(&self, at: NameInDir<'_>, target: &Path) -> io::Result<()>;
    /// Appends to a file; a failed call may have appended a part.
    fn add(&self, file: &Handle, bytes: &[u8]) -> io::Result<()>;
    /// Truncates a file, or appends a hole, which reads as zeros.
    fn set_length(&self, file: &Handle, length: u64) -> io::Result<()>;
    /// Creates a hard link to a file; the new name must be free.
    fn link(&self, from: NameInDir<'_>, to: NameInDir<'_>) -> io::Result<()>;
    /// Moves an entry, replacing the target.
    fn rename(&self, from: NameInDir<'_>, to: NameInDir<'_>) -> io::Result<()>;
    /// Moves an entry to a free name.
    fn rename_to_free(&self, from: NameInDir<'_>, to: NameInDir<'_>) -> io::Result<()>;
    /// Exchanges two entries.
    fn exchange(&self, one: NameInDir<'_>, other: NameInDir<'_>) -> io::Result<()>;
    /// Removes a name of anything but a directory.
    fn unlink(&self, at: NameInDir<'_>) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_dir(&self, at: NameInDir<'_>) -> io::Result<()>;
    /// Changes the owner.
    fn set_owner(&self, at: NameInDir<'_>, owner: (u32, u32)) -> io::Result<()>;
    /// Sets the permissions of anything but a link.
    fn set_mode(&self, at: NameInDir<'_>, mode: u32) -> io::Result<()>;
    /// Copies the extended attributes of an open file or directory to another one; on Linux these include the ACL.
    fn copy_extended(&self, from: &Handle, to: &Handle) -> io::Result<()>;
    /// Sets the times; for a link, those of the link itself.
    fn set_times(&self, at: NameInDir<'_>, times: FileTimes) -> io::Result<()>;
    /// Flushes the bytes of a file, or the names in a directory, to the disk.
    fn sync(&self, open: &Handle) -> io::Result<()>;
    /// Tries to lock a file or directory without waiting. Returns `false` if another handle holds the lock. The lock is
    /// released with the handle.
    fn lock(&self, open: &Handle) -> io::Result<bool>;
}

/// Splits a path into its parent directory, which is opened, and its last name.
pub fn open_parent(disk: &dyn Disk, path: &Path) -> io::Result<(Handle, OsString)> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::other("it has no directory"));
    };
    Ok((disk.open_dir(dir)?, name.to_owned()))
}

/// Returns the path of a directory with links resolved, as far as the path exists.
pub fn real_dir(disk: &dyn Disk, path: &Path) -> io::Result<PathBuf> {
    match (disk.real_path(path), path.parent(), path.file_name()) {
        (Err(error), Some(above), Some(name)) if error.kind() == io::ErrorKind::NotFound => {
            Ok(real_dir(disk, above)?.join(name))
        }
        (real, _, _) => real,
    }
}

/// Reads the metadata of an entry of a directory; `None` if it does not exist.
pub fn look_if_present(disk: &dyn Disk, at: NameInDir<'_>) -> io::Result<Option<EntryMetadata>> {
    match disk.read_metadata(at) {
        Ok(look) => Ok(Some(look)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a file of at most `limit` bytes; `None` if nothing is at the path. A link to a file of the same user is
/// followed; a dangling one is an error, because its file may come back.
pub fn read_if_present(disk: &dyn Disk, path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let read = || {
        let (mut dir, mut name) = open_parent(disk, path)?;
        let look = disk.read_metadata((&dir, &name))?;
        if look.kind == EntryKind::Symlink {
            let real = disk.real_path(path).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => io::Error::other("it is a link that leads nowhere"),
                _ => error,
            })?;
            (dir, name) = open_parent(disk, &real)?;
            if disk.read_metadata((&dir, &name))?.owner.0 != look.owner.0 {
                return Err(io::Error::other("it is a link to a file of another user, which is not followed"));
            }
        }
        let file = disk.open((&dir, &name), For::Reading)?;
        let size = disk.read_open_metadata(&file)?.size;
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

/// Returns whether an error means that nothing is, or can be, at a path: its name may be too long.
pub fn is_absent(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename)
}

/// Creates the missing directories of a path, syncs their names, and opens the last one.
pub fn make_dirs(disk: &dyn Disk, path: &Path, access: Access) -> io::Result<Handle> {
    make_dirs_below(disk, path, access, &|above| disk.open_for_writing(above))
}

/// Like [`make_dirs`], for a private directory of the program, which must belong to this user or to root.
pub fn make_own_dirs(disk: &dyn Disk, path: &Path) -> io::Result<Handle> {
    let dir = make_dirs(disk, path, Access::Private)?;
    let owner = disk.read_open_metadata(&dir)?.owner.0;
    if links::is_trusted(owner) {
        return Ok(dir);
    }
    Err(io::Error::other(format!("it belongs to another user, {owner}, so nothing is written there")))
}

/// Like [`make_dirs`], but opens existing directories with `open`.
pub fn make_dirs_below(
    disk: &dyn Disk,
    path: &Path,
    access: Access,
    open: &dyn Fn(&Path) -> io::Result<Handle>,
) -> io::Result<Handle> {
    match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    // A path may be of any depth, so this does not recurse.
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
