//! Waiting until the disk itself has what was written.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Puts a file, or the entries of a directory, on the disk, so that it outlives a loss of power.
pub(crate) fn sync(file: impl AsFd) -> io::Result<()> {
    rustix::io::retry_on_intr(|| flush(file.as_fd())).map_err(io::Error::from)
}

#[cfg(not(target_vendor = "apple"))]
fn flush(file: BorrowedFd<'_>) -> rustix::io::Result<()> {
    rustix::fs::fsync(file)
}

/// There `fsync` leaves it in the drive's own memory.
#[cfg(target_vendor = "apple")]
fn flush(file: BorrowedFd<'_>) -> rustix::io::Result<()> {
    use rustix::io::Errno;
    match rustix::fs::fcntl_fullfsync(file) {
        // What lies on a server, or on a file system of another kind, has nothing stronger.
        Err(Errno::NOTSUP | Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL) => rustix::fs::fsync(file),
        outcome => outcome,
    }
}
