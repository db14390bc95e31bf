//! Flushes writes to the disk itself.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Flushes a file, or the entries of a directory, to the disk, so that the data survives a power loss.
pub(crate) fn sync(file: impl AsFd) -> io::Result<()> {
    rustix::io::retry_on_intr(|| flush(file.as_fd())).map_err(io::Error::from)
}

#[cfg(not(target_vendor = "apple"))]
fn flush(file: BorrowedFd<'_>) -> rustix::io::Result<()> {
    rustix::fs::fsync(file)
}

/// Uses F_FULLFSYNC, because on macOS `fsync` leaves the data in the drive's cache.
#[cfg(target_vendor = "apple")]
fn flush(file: BorrowedFd<'_>) -> rustix::io::Result<()> {
    use rustix::io::Errno;
    match rustix::fs::fcntl_fullfsync(file) {
        // Network and foreign file systems do not support F_FULLFSYNC; fall back to fsync.
        Err(Errno::NOTSUP | Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL) => rustix::fs::fsync(file),
        outcome => outcome,
    }
}
