//! Files that tell this program what to do: read only if nobody else can have written them.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::error::PathError;
use crate::system::{fsio, reach};

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unread {
    /// The system refuses, or it is no file of a sound size.
    #[error(transparent)]
    Path(#[from] PathError),
    /// This file, or its directory, is another user's.
    #[error("{} belongs to another user, {user}, so it is not used", path.display())]
    OfAnother {
        /// Which of them.
        path: PathBuf,
        /// Whose it is.
        user: u32,
    },
    /// Others may write this file, or its directory.
    #[error("other users can write {}, so it is not used", .0.display())]
    Writable(PathBuf),
}

/// Reads a file of at most `limit` bytes; `None` when there is none. A link to it is followed, as people keep such files
/// elsewhere. `of_anyone` takes that of another user too, whose home is only looked at.
pub(crate) fn read(path: &Path, limit: u64, of_anyone: bool) -> Result<Option<Vec<u8>>, Unread> {
    let fail = |error| PathError::new("read", path, error);
    // Without NONBLOCK a FIFO would wait for a writer.
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

fn check(path: &Path, metadata: &Metadata, of_anyone: bool) -> Result<(), Unread> {
    let is_mine = [0, rustix::process::geteuid().as_raw()].contains(&metadata.uid());
    if !is_mine && !of_anyone {
        return Err(Unread::OfAnother { path: path.to_owned(), user: metadata.uid() });
    }
    if may_be_written_by_others(metadata) { Err(Unread::Writable(path.to_owned())) } else { Ok(()) }
}

fn may_be_written_by_others(metadata: &Metadata) -> bool {
    // Many systems give each user a group of their own, and with it a mask that lets it write.
    let is_own_group = metadata.gid() == metadata.uid();
    let is_sticky = metadata.is_dir() && metadata.mode() & 0o1000 != 0;
    !is_sticky && metadata.mode() & (if is_own_group { 0o002 } else { 0o022 }) != 0
}
