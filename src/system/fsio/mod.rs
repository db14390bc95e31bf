//! The file operations that everything else builds on: opening without surprises, bounded reading, and
//! the one atomic replacement that keeps mode, owner and times.

mod buffer;
mod extended;
mod look;
mod owner;
mod saving;
mod sync;

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use jiff::Timestamp;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::{links, reach};
use crate::error::PathError;

pub(crate) use buffer::{BufReader, Buffer, PAGE, PIECE};
pub(crate) use extended::copy_extended;
pub(crate) use look::{Kind, Look};
pub(crate) use owner::{inherit_owner, make_dir, make_dirs};
pub(crate) use saving::{Access, Saving, Update};
pub(crate) use sync::sync;

/// The bit of a mode that lets the owner read (`S_IRUSR`, the same everywhere; its type is not).
const OWNER_READS: u32 = 0o400;

/// Opens a regular file for reading, through a link where [`links::follow`] allows that. Anything else is refused without
/// blocking, as a FIFO would.
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

/// Opens what is at a path, but no link.
fn open_itself(path: &Path) -> io::Result<File> {
    // Asked for the directory, once for all files in it.
    reach::refuse_silent(path.parent().unwrap_or(path))?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(rustix::fs::open(path, flags, Mode::empty()).map(File::from)?)
}

/// Returns when a file was last changed: nothing in it can be later. Its change time counts too, which nobody can set back.
pub(crate) fn last_change(metadata: &Metadata) -> Option<Timestamp> {
    let changed = (metadata.ctime(), metadata.ctime_nsec());
    let (seconds, nanoseconds) = changed.max((metadata.mtime(), metadata.mtime_nsec()));
    Timestamp::new(seconds, i32::try_from(nanoseconds).ok()?).ok()
}

/// Returns the same for a path where reading it will not fail: a regular file of this user, which they may read.
pub(crate) fn last_change_of_own(path: &Path) -> Option<Timestamp> {
    let metadata = reach::symlink_metadata(path).ok()?;
    let is_readable = metadata.is_file()
        && metadata.mode() & OWNER_READS != 0
        && metadata.uid() == rustix::process::geteuid().as_raw();
    last_change(&metadata).filter(|_| is_readable)
}

/// Returns whether this user may read what is there, which costs less than opening it.
pub(crate) fn is_readable(path: &Path) -> bool {
    rustix::fs::accessat(rustix::fs::CWD, path, rustix::fs::Access::READ_OK, rustix::fs::AtFlags::EACCESS).is_ok()
}

/// Reads a regular file that must not be larger than `limit` bytes.
pub(crate) fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, PathError> {
    let (file, metadata) = open_regular(path)?;
    read_opened(file, &metadata, path, limit)
}

/// Reads a file that [`open_regular`] opened as [`read_bounded`] does.
pub(crate) fn read_opened(mut file: File, metadata: &Metadata, path: &Path, limit: u64) -> Result<Vec<u8>, PathError> {
    if metadata.len() > limit {
        return Err(PathError::new("read", path, io::Error::other(format!("it is larger than {limit} bytes"))));
    }
    let failed = |error| PathError::new("read", path, error);
    let length = usize::try_from(metadata.len()).map_err(|error| failed(io::Error::other(error)))?;
    let (mut bytes, mut piece) = (Vec::with_capacity(length), Buffer::new(length.min(PIECE)));
    // Its length is known, so its end needs no further read; what is appended later is not wanted.
    while bytes.len() < length {
        let wanted = piece.len().min(length - bytes.len());
        match file.read(&mut piece[..wanted]) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(bytes)
}

/// Reads a file as [`read_bounded`] does; `None` when there is none.
pub(crate) fn read_if_present(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, PathError> {
    match read_bounded(path, limit) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_absent(error.kind()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns whether an error says that there is nothing at a path, and can be nothing: its name may be too long.
pub(crate) fn is_absent(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename)
}

/// Puts `contents` at `path` so that readers see the old file or the new one, never a part.
///
/// A replaced file keeps its mode, owner and times, a new one is private and gets the owner of its
/// directory. The directory keeps its modification time, because agents order and clean up
/// sessions by it: a repair must not make an old session look fresh. What an agent saves itself goes
/// through [`Saving`].
pub(crate) fn replace(path: &Path, contents: &[u8]) -> Result<(), PathError> {
    let mut saving = Saving::begin(path, Access::Private)?;
    saving.write(contents)?;
    saving.keep_times()
}

/// Makes a directory; one that is there is good. The directory above it must be there.
pub(crate) fn create_dir(dir: &Path) -> Result<(), PathError> {
    let made = match make_dir(dir, 0o777) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match dir.symlink_metadata() {
            Ok(there) if there.is_dir() || dir.metadata().is_ok_and(|dir| dir.is_dir()) => Ok(()),
            // Another process removed it since: "not found" tells the caller to try again, "exists" would not.
            Err(gone) if gone.kind() == io::ErrorKind::NotFound => Err(gone),
            _ => Err(error),
        },
        made => made,
    };
    made.map_err(|error| PathError::new("create", dir, error))
}

/// Makes a directory and those above it.
pub(crate) fn create_dirs(dir: &Path) -> Result<(), PathError> {
    make_dirs(dir, 0o777).map_err(|error| PathError::new("create", dir, error))
}

/// Removes a regular file and returns whether there was one; anything else is left alone.
#[expect(clippy::disallowed_methods, reason = "this is the one place that removes files")]
pub(crate) fn remove_file(path: &Path) -> Result<bool, PathError> {
    let fail = |error| PathError::new("remove", path, error);
    match path.symlink_metadata() {
        Ok(metadata) if !metadata.is_file() => return Err(fail(io::Error::other("it is not a regular file"))),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(fail(error)),
    }
    match std::fs::remove_file(path) {
        Ok(()) => Ok(true),
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(fail(error)),
    }
}

/// Removes a directory that holds nothing and returns whether it did.
#[expect(clippy::disallowed_methods, reason = "this is the one place that removes files")]
pub(crate) fn remove_empty_dir(dir: &Path) -> bool {
    std::fs::remove_dir(dir).is_ok()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out the files that they look at")]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;
    use std::time::{Duration, SystemTime};

    #[test]
    fn a_replaced_file_keeps_its_mode_and_both_keep_their_times() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("session-info.json");
        std::fs::write(&path, "old").expect("a file");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).expect("a mode");
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let times = std::fs::FileTimes::new().set_modified(then).set_accessed(then);
        File::options().write(true).open(&path).and_then(|file| file.set_times(times)).expect("times");
        File::open(dir.path()).and_then(|dir| dir.set_times(times)).expect("times");

        replace(&path, b"new").expect("a replacement");

        let metadata = path.metadata().expect("metadata");
        assert_eq!(std::fs::read(&path).expect("contents"), b"new");
        assert_eq!(metadata.mode() & 0o777, 0o640);
        assert_eq!(metadata.modified().expect("a time"), then);
        assert_eq!(dir.path().metadata().and_then(|dir| dir.modified()).expect("a time"), then);
        assert_eq!(std::fs::read_dir(dir.path()).expect("a listing").count(), 1, "no temporary file is left");
    }

    #[test]
    fn a_directory_that_comes_and_goes_is_there_or_not_found() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("directory");
        std::thread::scope(|scope| {
            let is_over = Arc::new(());
            let others = Arc::downgrade(&is_over);
            for _ in 0..2 {
                let (others, path) = (others.clone(), &path);
                scope.spawn(move || {
                    while others.strong_count() > 0 {
                        let _ = std::fs::create_dir(path);
                        let _ = std::fs::remove_dir(path);
                    }
                });
            }
            for _ in 0..1_000 {
                if let Err(error) = create_dir(&path) {
                    assert_eq!(error.kind(), io::ErrorKind::NotFound, "{error}");
                }
            }
            drop(is_over);
        });
    }

    #[test]
    fn a_new_file_is_private() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("new.json");
        replace(&path, b"{}").expect("a file");
        assert_eq!(path.metadata().expect("metadata").mode() & 0o777, 0o600);
    }

    #[test]
    fn a_link_is_read_but_not_replaced_and_a_directory_is_neither() {
        let dir = tempfile::tempdir().expect("a directory");
        let target = dir.path().join("target");
        std::fs::write(&target, "x").expect("a file");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&target, &link).expect("a link");
        assert_eq!(read_bounded(&link, 1).expect("contents"), b"x");
        assert!(open_regular(dir.path()).expect_err("a refusal").to_string().contains("not a regular file"));
        assert!(replace(&link, b"y").is_err());
        assert_eq!(std::fs::read(&target).expect("contents"), b"x");
    }

    #[test]
    fn a_file_over_the_limit_is_not_read() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("big");
        std::fs::write(&path, "12345").expect("a file");
        assert_eq!(read_bounded(&path, 5).expect("contents"), b"12345");
        assert!(read_bounded(&path, 4).is_err());
        assert_eq!(read_if_present(&dir.path().join("none"), 4).expect("nothing"), None);
    }
}
