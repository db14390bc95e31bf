//! One lock for everything that changes something: two runs at once would undo each other's looking.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::error::{Exit, PathError, Refusal};
use crate::system::fsio::inherit_owner;

/// How often a waiting run looks again.
const PAUSE: Duration = Duration::from_millis(50);

/// The lock, held until it is dropped; the system lets it go with a process that dies.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// Who holds the lock, as it notes itself.
#[derive(Debug, Serialize, Deserialize)]
struct Holder {
    pid: u32,
    verb: String,
    since: Timestamp,
}

impl Lock {
    /// Takes the lock, waiting at most `patience` for another run to end.
    pub(crate) fn take(path: &Path, verb: &str, now: Timestamp, patience: Duration) -> anyhow::Result<Self> {
        let fail = |error: io::Error| PathError::new("lock", path, error);
        #[expect(clippy::disallowed_methods, reason = "apply opens the files that it writes")]
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(path)
            .map_err(fail)?;
        inherit_owner(&file, path);
        let end = Instant::now() + patience;
        while let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            if error != rustix::io::Errno::WOULDBLOCK {
                return Err(fail(error.into()).into());
            }
            if Instant::now() >= end {
                return Err(busy(&mut file, patience).into());
            }
            std::thread::sleep(PAUSE);
        }
        let holder = Holder { pid: std::process::id(), verb: verb.to_owned(), since: now };
        let mut text = serde_json::to_vec(&holder)?;
        text.push(b'\n');
        // The lock is held whatever the note says, so a full disk does not matter here.
        #[expect(clippy::disallowed_methods, reason = "apply writes here")]
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(&text));
        Ok(Self { _file: file })
    }

    /// Tells whether some run holds the lock; writes nothing.
    pub(crate) fn is_held(path: &Path) -> bool {
        let Ok((file, _)) = crate::system::fsio::open_regular(path) else { return false };
        flock(&file, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
    }
}

fn busy(file: &mut File, patience: Duration) -> Refusal {
    let mut text = String::new();
    let _ = file.take(4096).read_to_string(&mut text);
    let who = match serde_json::from_str::<Holder>(&text) {
        Ok(holder) => format!("process {} (rejoin {}, since {})", holder.pid, holder.verb, holder.since),
        Err(_) => "another rejoin".to_owned(),
    };
    let waited =
        if patience.is_zero() { String::new() } else { format!("; waited {}", humantime::format_duration(patience)) };
    Refusal::new(Exit::Refused, "locked", format!("{who} is changing sessions right now{waited}"))
        .hint("run it again when that one has ended")
}
