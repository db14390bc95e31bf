//! File operations for all other rooms: safe opening, and bounded reading.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use jiff::Timestamp;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::{links, reach};
use crate::error::PathError;

pub(crate) use changes::disk::{BufReader, Buffer, EntryKind, EntryMetadata, PAGE, PIECE, is_absent};

/// The mode bit that lets the owner read (`S_IRUSR`; its value is the same everywhere, its type is not).
const OWNER_READS: u32 = 0o400;

/// Opens a regular file for reading, through a link if [`links::follow`] allows that. Anything else, such as a FIFO, is
/// refused without blocking.
pub(crate) fn open_regular(path: &Path) -> Result<(File, Metadata), PathError> {
    let opened = open_itself(path).or_else(|error| match error.raw_os_error() {
        Some(code) if code == Errno::LOOP.raw_os_error() => open_itself(&links::follow(path)?.0),
        Some(code) if code == Errno::NXIO.raw_os_error() => Err(io::Error::other("it is not a regular file")),
        _ => Err(error),
    });
    let file = opened.map_err(|error| PathError::new("read", path, error))?;
    let metadata = file.metadata().map_err(|error| PathError::new("read", path, error))?;
    if !metadata.is_file() {
        return Err(PathError::new("read", path, io::Error::other("it is not a regular file")));
    }
    Ok((file, metadata))
}

/// Opens the file at a path, but not a link.
fn open_itself(path: &Path) -> io::Result<File> {
    // The directory is checked, because one query then covers all files in it.
    reach::refuse_silent(path.parent().unwrap_or(path))?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(rustix::fs::open(path, flags, Mode::empty()).map(File::from)?)
}

/// Returns the later of a file's modification time and its change time, which no program can set back.
pub(crate) fn last_change(metadata: &Metadata) -> Option<Timestamp> {
    let changed = (metadata.ctime(), metadata.ctime_nsec());
    let (seconds, nanoseconds) = changed.max((metadata.mtime(), metadata.mtime_nsec()));
    Timestamp::new(seconds, i32::try_from(nanoseconds).ok()?).ok()
}

/// Like [`last_change`], for the path of a regular file that belongs to the user and is readable; `None` for any other
/// path.
pub(crate) fn last_change_of_own(path: &Path) -> Option<Timestamp> {
    let metadata = reach::symlink_metadata(path).ok()?;
    let is_readable = metadata.is_file()
        && metadata.mode() & OWNER_READS != 0
        && metadata.uid() == rustix::process::geteuid().as_raw();
    last_change(&metadata).filter(|_| is_readable)
}

/// Returns whether a file has only the attributes that macOS keeps for another file on a disk that has none: it is named
/// `._NAME` and begins as AppleDouble does (RFC 1740).
pub(crate) fn is_apple_double(path: &Path) -> bool {
    let is_named = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"._"));
    let mut start = [0; 4];
    is_named
        && open_regular(path).is_ok_and(|(mut file, _)| file.read_exact(&mut start).is_ok() && start == [0, 5, 0x16, 7])
}

/// Returns whether the user may read the path, which is cheaper than opening it.
pub(crate) fn is_readable(path: &Path) -> bool {
    rustix::fs::accessat(rustix::fs::CWD, path, rustix::fs::Access::READ_OK, rustix::fs::AtFlags::EACCESS).is_ok()
}

/// Reads a regular file of at most `limit` bytes.
pub(crate) fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, PathError> {
    let (file, metadata) = open_regular(path)?;
    read_opened(file, &metadata, path, limit)
}

/// Reads a file that [`open_regular`] opened, with the limit of [`read_bounded`].
pub(crate) fn read_opened(mut file: File, metadata: &Metadata, path: &Path, limit: u64) -> Result<Vec<u8>, PathError> {
    if metadata.len() > limit {
        return Err(PathError::new("read", path, io::Error::other(format!("it is larger than {limit} bytes"))));
    }
    let failed = |error| PathError::new("read", path, error);
    let length = usize::try_from(metadata.len()).map_err(|error| failed(io::Error::other(error)))?;
    let (mut bytes, mut piece) = (Vec::with_capacity(length), Buffer::new(length.min(PIECE)));
    // The length is known, so the end needs no further read; bytes appended later are ignored.
    while bytes.len() < length {
        let requested = piece.len().min(length - bytes.len());
        match file.read(&mut piece[..requested]) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(bytes)
}

/// Reads a file like [`read_bounded`]; `None` if it does not exist.
pub(crate) fn read_if_present(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, PathError> {
    match read_bounded(path, limit) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_absent(error.kind()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The owner of a file, and the user of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileOwner {
    pub of_file: u32,
    pub user: u32,
    /// Set if the file is a directory, so that what is in it may belong to the same user.
    pub is_dir: bool,
}

/// Returns the owner of a file that this user may not read, if it is another user. A file in a directory that cannot be
/// entered has the owner of the directory.
pub(crate) fn other_owner(path: &Path, reason: &str) -> Option<FileOwner> {
    if reason != "permission denied" {
        return None;
    }
    let (at, metadata) = path.ancestors().find_map(|at| Some((at, reach::symlink_metadata(at).ok()?)))?;
    let (of_file, user) = (metadata.uid(), rustix::process::geteuid().as_raw());
    (of_file != user).then_some(FileOwner { of_file, user, is_dir: at == path && metadata.is_dir() })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use super::*;

    #[test]
    fn open_regular_follows_link_and_refuses_directory() {
        let dir = tempfile::tempdir().expect("a directory");
        let target = dir.path().join("target");
        std::fs::write(&target, "x").expect("a file");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&target, &link).expect("a link");
        assert_eq!(read_bounded(&link, 1).expect("contents"), b"x");
        assert!(open_regular(dir.path()).expect_err("a refusal").to_string().contains("not a regular file"));
    }

    #[test]
    fn other_owner_explains_permission_denied() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a/b");
        let user = rustix::process::geteuid();
        let denied = "permission denied";
        assert_eq!(other_owner(&path, denied), None, "the directory is this user's");
        if user.is_root() {
            std::os::unix::fs::chown(dir.path(), Some(4711), None).expect("another owner");
            assert_eq!(other_owner(&path, denied), Some(FileOwner { of_file: 4711, user: 0, is_dir: false }));
            assert_eq!(other_owner(dir.path(), denied), Some(FileOwner { of_file: 4711, user: 0, is_dir: true }));
            assert_eq!(other_owner(&path, "it is not a regular file"), None);
        } else {
            let user = user.as_raw();
            assert_eq!(other_owner(Path::new("/etc/x"), denied), Some(FileOwner { of_file: 0, user, is_dir: false }));
            assert_eq!(other_owner(Path::new("/etc"), denied), Some(FileOwner { of_file: 0, user, is_dir: true }));
        }
    }

    #[test]
    fn read_bounded_refuses_file_over_limit() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("big");
        std::fs::write(&path, "12345").expect("a file");
        assert_eq!(read_bounded(&path, 5).expect("contents"), b"12345");
        assert!(read_bounded(&path, 4).is_err());
        assert_eq!(read_if_present(&dir.path().join("none"), 4).expect("nothing"), None);
    }
}
