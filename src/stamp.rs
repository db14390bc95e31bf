//! What a path is at this moment, so that a change can tell whether another program was there meanwhile.

use std::fs::{DirEntry, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::error::PathError;
use crate::fsio;
use crate::plan::change::{Stamp, hex};

/// Looks at a file, or at a directory and everything in it; follows no links and reads no contents.
///
/// What is no file and no directory, and a directory that another file system is mounted in, is an error: neither
/// can be moved as a whole.
pub fn take(path: &Path) -> Result<Stamp, PathError> {
    let fail = |error| PathError::new("look at", path, error);
    let parent = path.parent().ok_or_else(|| fail(io::Error::other("it has no directory")))?;
    let parent = parent.metadata().map_err(fail)?;
    take_in(path, (parent.dev(), parent.ino()), &mut |_, _| {})
}

/// Looks at a path as [`take`] does, in a directory of which device and inode are known, and shows every file.
pub fn take_in(path: &Path, parent: (u64, u64), see: &mut dyn FnMut(&Path, &Metadata)) -> Result<Stamp, PathError> {
    let fail = |error| PathError::new("look at", path, error);
    let metadata = path.symlink_metadata().map_err(fail)?;
    of(path, &metadata, parent, see).map_err(fail)
}

/// Looks at a path as [`take`] does; `None` when there is nothing.
pub fn take_if_present(path: &Path) -> Result<Option<Stamp>, PathError> {
    match take(path) {
        Ok(stamp) => Ok(Some(stamp)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

fn of(
    path: &Path,
    metadata: &Metadata,
    parent: (u64, u64),
    see: &mut dyn FnMut(&Path, &Metadata),
) -> io::Result<Stamp> {
    let kind = metadata.file_type();
    if kind.is_symlink() {
        return Err(io::Error::other("it is a symbolic link, which is not followed"));
    }
    if !kind.is_file() && !kind.is_dir() {
        return Err(io::Error::other("it is neither a file nor a directory"));
    }
    let mut stamp = Stamp {
        parent,
        device: metadata.dev(),
        inode: metadata.ino(),
        is_dir: kind.is_dir(),
        size: if kind.is_file() { metadata.len() } else { 0 },
        modified: modified(metadata),
        tree: String::new(),
    };
    if kind.is_file() {
        see(Path::new(""), metadata);
    }
    if kind.is_dir() {
        let mounted = |place: &Path| io::Error::other(format!("another file system is mounted at {}", place.display()));
        if fsio::is_mount_point(path)? {
            return Err(mounted(path));
        }
        let mut digest = Sha256::new();
        each_below(path, Path::new(""), &mut |name, found| {
            if found.dev() != stamp.device || (found.is_dir() && fsio::is_mount_point(&path.join(name))?) {
                return Err(mounted(&path.join(name)));
            }
            let size = if found.is_file() { found.len() } else { 0 };
            if found.is_file() {
                see(name, found);
            }
            stamp.size += size;
            let name = name.as_os_str().as_bytes();
            digest.update((name.len() as u64).to_le_bytes());
            digest.update(name);
            digest.update(kind_of(found).to_le_bytes());
            digest.update(found.ino().to_le_bytes());
            digest.update(size.to_le_bytes());
            let (seconds, nanoseconds) = modified(found);
            digest.update(seconds.to_le_bytes());
            digest.update(nanoseconds.to_le_bytes());
            Ok(())
        })?;
        stamp.tree = hex(&digest.finalize()[..16]);
    }
    Ok(stamp)
}

/// Shows everything below a directory with its path below the first one, by name, a directory before what is in it.
///
/// A look at an entry starts at its directory, which is cheaper than one at its path from the root on.
fn each_below(dir: &Path, name: &Path, see: &mut dyn FnMut(&Path, &Metadata) -> io::Result<()>) -> io::Result<()> {
    let mut entries = std::fs::read_dir(dir)?.collect::<io::Result<Vec<DirEntry>>>()?;
    entries.sort_unstable_by_key(DirEntry::file_name);
    for entry in entries {
        let metadata = entry.metadata()?;
        let name = name.join(entry.file_name());
        see(&name, &metadata)?;
        if metadata.is_dir() {
            each_below(&entry.path(), &name, see)?;
        }
    }
    Ok(())
}

fn kind_of(metadata: &Metadata) -> u8 {
    let kind = metadata.file_type();
    match () {
        () if kind.is_file() => 0,
        () if kind.is_dir() => 1,
        () if kind.is_symlink() => 2,
        () if kind.is_fifo() => 3,
        () => 4,
    }
}

/// Returns when something was modified, in seconds since 1970 and nanoseconds.
pub(crate) fn modified(metadata: &Metadata) -> (i64, i64) {
    (metadata.mtime(), metadata.mtime_nsec())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out the files that they look at")]
mod tests {
    use super::*;

    #[test]
    fn whatever_another_program_does_in_a_directory_shows() {
        let dir = tempfile::tempdir().expect("a directory");
        let session = dir.path().join("s");
        std::fs::create_dir_all(session.join("deep")).expect("a directory");
        std::fs::write(session.join("deep/a"), "one").expect("a file");
        let first = take(&session).expect("a stamp");
        assert_eq!(first, take(&session).expect("a stamp"));
        assert_eq!(first.size, 3);

        std::fs::write(session.join("deep/a"), "two!").expect("a file");
        let second = take(&session).expect("a stamp");
        assert_ne!(first.tree, second.tree);
        std::fs::write(session.join("b"), "").expect("a file");
        assert_ne!(second.tree, take(&session).expect("a stamp").tree);
    }

    #[test]
    fn a_link_is_refused_and_nothing_is_no_error() {
        let dir = tempfile::tempdir().expect("a directory");
        std::os::unix::fs::symlink("/etc", dir.path().join("link")).expect("a link");
        let error = take(&dir.path().join("link")).expect_err("a refusal");
        assert!(error.to_string().contains("symbolic link"), "{error}");
        assert_eq!(take_if_present(&dir.path().join("none")).expect("nothing"), None);
    }
}
