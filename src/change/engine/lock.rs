//! One lock for all changes: concurrent runs would invalidate each other's checks.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::error::{PathError, Refusal, RefusalCode};
use crate::system::deadline;
use crate::system::disk::{Disk, For, Handle};

/// Name of the lock file.
const FILE_NAME: &str = "lock";
/// Interval between attempts of a waiting run.
const PAUSE: Duration = Duration::from_millis(50);

/// The lock, held until it is dropped; the system releases it if the process dies.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: Handle,
}

/// Note in the lock file about its holder.
#[derive(Debug, Serialize, Deserialize)]
struct Holder {
    pid: u32,
    verb: String,
    since: Timestamp,
}

impl Lock {
    /// Takes the lock in a directory, `dir`, waiting at most `patience` for another run to end.
    pub(crate) fn take(
        disk: &dyn Disk,
        dir: (&Handle, &Path),
        verb: &str,
        now: Timestamp,
        patience: Duration,
    ) -> anyhow::Result<Self> {
        let path = dir.1.join(FILE_NAME);
        let fail = |error: io::Error| PathError::new("lock", &path, error);
        let file = disk.open((dir.0, OsStr::new(FILE_NAME)), For::Locking).map_err(fail)?;
        let end = deadline::after(patience);
        while !disk.lock(&file).map_err(fail)? {
            if Instant::now() >= end {
                return Err(busy(disk, &file, patience).into());
            }
            std::thread::sleep(PAUSE);
        }
        let holder = Holder { pid: std::process::id(), verb: verb.to_owned(), since: now };
        let mut text = serde_json::to_vec(&holder)?;
        text.push(b'\n');
        // The lock is held without the note too, so a full disk does not matter here.
        let _ = disk.set_length(&file, 0).and_then(|()| disk.add(&file, &text));
        Ok(Self { _file: file })
    }

    /// Checks whether a run holds the lock; writes nothing.
    pub(crate) fn is_held(dir: &Path) -> bool {
        let Ok((file, _)) = crate::system::fsio::open_regular(&dir.join(FILE_NAME)) else { return false };
        flock(&file, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
    }
}

fn busy(disk: &dyn Disk, file: &Handle, patience: Duration) -> Refusal {
    let mut text = vec![0; 4096];
    let length = disk.read_at(file, &mut text, 0).unwrap_or_default();
    let who = match serde_json::from_slice::<Holder>(&text[..length]) {
        Ok(holder) => format!("process {} (rejoin {}, since {})", holder.pid, holder.verb, holder.since),
        Err(_) => "another rejoin".to_owned(),
    };
    let waited =
        if patience.is_zero() { String::new() } else { format!("; waited {}", humantime::format_duration(patience)) };
    Refusal::new(RefusalCode::Locked, format!("{who} is changing sessions right now{waited}"))
        .hint("try again when it has finished, or wait longer with --lock-timeout")
}
