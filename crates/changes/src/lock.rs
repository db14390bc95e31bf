//! One lock for all changes: concurrent runs would invalidate each other's checks.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::disk::{Disk, For, Handle};
use crate::error::PathError;
use crate::error::{Error, LockHolder};

/// Name of the lock file.
pub const FILE_NAME: &str = "lock";
/// Interval between attempts of a waiting run.
const PAUSE: Duration = Duration::from_millis(50);

/// The lock, held until it is dropped; the system releases it if the process dies.
#[derive(Debug)]
pub struct RunLock {
    _file: Handle,
}

impl RunLock {
    /// Acquires the lock in a directory, `dir`, waiting at most `patience` for another run to end.
    pub fn acquire(
        disk: &dyn Disk,
        dir: (&Handle, &Path),
        verb: &str,
        now: Timestamp,
        patience: Duration,
    ) -> Result<Self, Error> {
        let path = dir.1.join(FILE_NAME);
        let fail = |error: io::Error| PathError::new("lock", &path, error);
        let file = disk.open((dir.0, OsStr::new(FILE_NAME)), For::Locking).map_err(fail)?;
        let began = Instant::now();
        while !disk.lock(&file).map_err(fail)? {
            if began.elapsed() >= patience {
                return Err(Error::Locked { holder: holder(disk, &file), waited: patience });
            }
            std::thread::sleep(PAUSE);
        }
        let holder = LockHolder { pid: std::process::id(), verb: verb.to_owned(), since: now };
        let mut text = serde_json::to_vec(&holder).map_err(|error| fail(error.into()))?;
        text.push(b'\n');
        // The lock is held without the note too, so a full disk does not matter here.
        let _ = disk.set_length(&file, 0).and_then(|()| disk.add(&file, &text));
        Ok(Self { _file: file })
    }
}

/// Returns the note of the run that holds the lock.
fn holder(disk: &dyn Disk, file: &Handle) -> Option<LockHolder> {
    let mut text = vec![0; 4096];
    let length = disk.read_at(file, &mut text, 0).unwrap_or_default();
    serde_json::from_slice(&text[..length]).ok()
}
