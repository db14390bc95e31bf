//! Writes the log of launches.

use std::fs::{File, OpenOptions};
use std::io;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::error::PathError;
use crate::launch::log::{Launch, is_newer};
use crate::system::deadline;
use crate::system::fsio;

/// Above this size the older half of the log is dropped.
const MAX_BYTES: u64 = 256 * 1024;

/// Others hold the log for as long as it takes to read and to add a line.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often a waiting one looks again.
const PAUSE: Duration = Duration::from_millis(5);

/// The log, held against other programs until this is dropped: what is read of it meanwhile stays true.
#[derive(Debug)]
pub(crate) struct Held {
    path: PathBuf,
    _lock: File,
}

impl Held {
    /// Takes the log, making its directory where it is missing.
    pub(crate) fn take(path: &Path) -> Result<Self, PathError> {
        let lock = path.with_extension("lock");
        let fail = |error| PathError::new("lock", &lock, error);
        if let Some(dir) = path.parent() {
            fsio::make_dirs(dir, 0o700).map_err(fail)?;
        }
        let file = open(OpenOptions::new().write(true), &lock).map_err(fail)?;
        let end = deadline::after(PATIENCE);
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { path: path.to_owned(), _lock: file }),
                Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < end => std::thread::sleep(PAUSE),
                Err(error) => return Err(fail(error.into())),
            }
        }
    }

    /// Adds a launch.
    pub(crate) fn append(&self, launch: &Launch) -> Result<(), PathError> {
        let path = &self.path;
        let fail = |error| PathError::new("write", path, error);
        prune(path)?;
        let mut line = serde_json::to_vec(launch).map_err(|error| fail(error.into()))?;
        line.push(b'\n');
        open(OpenOptions::new().append(true), path).and_then(|mut file| file.write_all(&line)).map_err(fail)
    }
}

fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.create(true).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    #[expect(clippy::disallowed_methods, reason = "this log is appended to, which replaces nothing")]
    let file = options.open(path)?;
    fsio::inherit_owner(&file, path);
    Ok(file)
}

fn prune(path: &Path) -> Result<(), PathError> {
    if path.symlink_metadata().map_or(0, |metadata| metadata.len()) <= MAX_BYTES {
        return Ok(());
    }
    let Ok(bytes) = fsio::read_bounded(path, 16 * MAX_BYTES) else { return Ok(()) };
    // What a newer version of this program wrote, it shall find again; it will drop its older half itself.
    if bytes.split(|byte| *byte == b'\n').any(is_newer) {
        return Ok(());
    }
    let half = &bytes[bytes.len() / 2..];
    let start = memchr::memchr(b'\n', half).map_or(half.len(), |newline| newline + 1);
    fsio::replace(path, &half[start..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::log::{VERSION, read};
    use crate::session::AgentKind;

    #[test]
    fn launches_are_read_back_newest_first_and_the_log_stays_small() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("state/rejoin/launches.jsonl");
        let launch = |number: usize| Launch {
            format_version: VERSION,
            at: "2026-03-01T12:00:00Z".parse().expect("a time"),
            agent: AgentKind::Claude,
            id: Some(number.to_string()),
            path: None,
            dir: "/x".repeat(500).into(),
            argv: Vec::new(),
            git_remote: None,
        };
        for number in 0..600 {
            Held::take(&path).and_then(|held| held.append(&launch(number))).expect("a line");
        }
        let newest: Vec<String> =
            read(&path).expect("launches").into_iter().filter_map(|launch| launch.id).take(3).collect();
        assert_eq!(newest, ["599", "598", "597"]);
        assert!(path.metadata().expect("metadata").len() <= MAX_BYTES + 2048);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "tests lay out the files that they look at")]
    fn lines_of_a_newer_version_are_read_as_far_as_possible_and_never_dropped() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("launches.jsonl");
        let old = r#"{"at":"2026-03-01T11:00:00Z","agent":"claude","id":"old","path":null,"dir":"/x","argv":[]}"#;
        let newer = r#"{"format_version":2,"at":"2026-03-01T11:30:00Z","agent":"claude","id":"newer","path":null,"dir":"/x","argv":[],"more":1}"#;
        let unreadable = r#"{"format_version":3,"when":"2026"}"#;
        let padding = format!("{{\"at\":\"{}\"}}\n", "x".repeat(1000)).repeat(300);
        std::fs::write(&path, format!("{newer}\n{padding}{unreadable}\n{old}\n")).expect("a file");
        let launch = Launch { id: Some("mine".to_owned()), ..read(&path).expect("launches").remove(0) };
        assert_eq!(launch.format_version, VERSION);
        Held::take(&path).and_then(|held| held.append(&launch)).expect("a line");
        let text = std::fs::read_to_string(&path).expect("a log");
        assert!(text.starts_with(newer) && text.contains(unreadable) && text.len() as u64 > MAX_BYTES);
        let ids: Vec<_> = read(&path).expect("launches").into_iter().filter_map(|launch| launch.id).collect();
        assert_eq!(ids, ["mine", "old", "newer"]);
    }
}
