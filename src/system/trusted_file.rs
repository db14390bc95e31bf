//! Reads files that control rejoin, only if no other user can have written them.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::error::PathError;
use crate::system::{fsio, links, reach};

/// The reason why a file is not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UntrustedReason {
    /// The system refuses, or it is not a file of acceptable size.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The file, or its directory, belongs to another user.
    #[error("{} belongs to another user, {user}, so it is not used", path.display())]
    OfAnother {
        /// The file or the directory.
        path: PathBuf,
        /// Its owner.
        user: u32,
    },
    /// Other users can write the file, or its directory.
    #[error("other users can write {}, so it is not used", .0.display())]
    Writable(PathBuf),
}

/// Reads a file of at most `limit` bytes; `None` if it does not exist. A link to it is followed, because users keep
/// such files elsewhere. With `of_anyone`, a file of another user is read too, for a home that is only inspected.
pub(crate) fn read(path: &Path, limit: u64, of_anyone: bool) -> Result<Option<Vec<u8>>, UntrustedReason> {
    let fail = |error| PathError::new("read", path, error);
    // Without NONBLOCK, opening a FIFO would wait for a writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    reach::refuse_silent(path).map_err(fail)?;
    let file = match rustix::fs::open(path, flags, Mode::empty()).map(File::from).map_err(io::Error::from) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(fail(error).into()),
    };
    let metadata = file.metadata().map_err(fail)?;
    if !metadata.is_file() {
        return Err(fail(io::Error::other("it is not a regular file")).into());
    }
    check(path, &metadata, of_anyone)?;
    if let Some((dir, metadata)) = path.parent().and_then(|dir| Some((dir, dir.metadata().ok()?))) {
        check(dir, &metadata, of_anyone)?;
    }
    Ok(Some(fsio::read_opened(file, &metadata, path, limit)?))
}

fn check(path: &Path, metadata: &Metadata, of_anyone: bool) -> Result<(), UntrustedReason> {
    if !links::is_trusted(metadata.uid()) && !of_anyone {
        return Err(UntrustedReason::OfAnother { path: path.to_owned(), user: metadata.uid() });
    }
    if may_be_written_by_others(metadata) { Err(UntrustedReason::Writable(path.to_owned())) } else { Ok(()) }
}

fn may_be_written_by_others(metadata: &Metadata) -> bool {
    // Many systems give each user a private group, and a umask that lets the group write.
    let is_own_group = metadata.gid() == metadata.uid();
    let is_sticky = metadata.is_dir() && metadata.mode() & 0o1000 != 0;
    !is_sticky && metadata.mode() & (if is_own_group { 0o002 } else { 0o022 }) != 0
}
