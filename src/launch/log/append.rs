//! Writes the log of launches.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::PathError;
use crate::launch::log::{Launch, is_newer};
use crate::system::deadline;
use crate::system::disk::{self, Disk, For, Handle};

/// Size in bytes above which the older half of the log is dropped.
const MAX_BYTES: u64 = 256 * 1024;

/// Maximum time to wait for the lock. Other programs hold it only to read the log and to add a line.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause between two attempts to lock the log.
const PAUSE: Duration = Duration::from_millis(5);

/// The log, locked against other programs until this is dropped, so that data read from it stays valid.
#[derive(Debug)]
pub(crate) struct LockedLog<'d> {
    disk: &'d dyn Disk,
    path: PathBuf,
    dir: Handle,
    name: OsString,
    _lock: Handle,
}

impl<'d> LockedLog<'d> {
    /// Locks the log, and creates its directory if it is missing.
    pub(crate) fn lock_log(disk: &'d dyn Disk, path: &Path) -> Result<Self, PathError> {
        let lock = path.with_extension("lock");
        let fail = |error| PathError::new("lock", &lock, error);
        let (Some(above), Some(name), Some(lock_name)) = (path.parent(), path.file_name(), lock.file_name()) else {
            return Err(fail(io::ErrorKind::InvalidInput.into()));
        };
        let dir = disk::make_own_dirs(disk, above).map_err(fail)?;
        let file = disk.open((&dir, lock_name), For::Locking).map_err(fail)?;
        let end = deadline::after(PATIENCE);
        while !disk.lock(&file).map_err(fail)? {
            if Instant::now() >= end {
                return Err(fail(io::ErrorKind::WouldBlock.into()));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(Self { disk, path: path.to_owned(), dir, name: name.to_owned(), _lock: file })
    }

    /// Adds a launch.
    pub(crate) fn append(&self, launch: &Launch) -> Result<(), PathError> {
        let fail = |error| PathError::new("write", &self.path, error);
        self.prune()?;
        let mut line = serde_json::to_vec(launch).map_err(|error| fail(error.into()))?;
        line.push(b'\n');
        let file = self.disk.open((&self.dir, &self.name), For::Locking).map_err(fail)?;
        // A torn line ends here, so that this line is not lost with it.
        if self.is_cut_off(&file).map_err(fail)? {
            line.insert(0, b'\n');
        }
        self.disk.add(&file, &line).map_err(fail)
    }

    fn is_cut_off(&self, file: &Handle) -> io::Result<bool> {
        let Some(last) = self.disk.read_open_metadata(file)?.size.checked_sub(1) else { return Ok(false) };
        let mut byte = [b'\n'];
        self.disk.read_at(file, &mut byte, last)?;
        Ok(byte != *b"\n")
    }

    /// Drops the older half of a large log.
    fn prune(&self) -> Result<(), PathError> {
        let look = disk::look_if_present(self.disk, (&self.dir, &self.name));
        if !matches!(look, Ok(Some(look)) if look.size > MAX_BYTES) {
            return Ok(());
        }
        let Ok(Some(bytes)) = disk::read_if_present(self.disk, &self.path, 16 * MAX_BYTES) else { return Ok(()) };
        // A newer version of rejoin must find its lines unchanged; it drops its older half itself.
        if bytes.split(|byte| *byte == b'\n').any(is_newer) {
            return Ok(());
        }
        let half = &bytes[bytes.len() / 2..];
        let start = memchr::memchr(b'\n', half).map_or(half.len(), |newline| newline + 1);
        disk::replace(self.disk, &self.path, &half[start..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::log::{VERSION, read};
    use crate::session::AgentKind;
    use crate::system::disk::SYSTEM;
    use crate::system::disk::memory::{Memory, with_every_fault};

    fn launch(id: &str) -> Launch {
        Launch {
            format_version: VERSION,
            at: "2026-03-01T12:00:00Z".parse().expect("a time"),
            agent: AgentKind::Claude,
            id: Some(id.to_owned()),
            path: None,
            dir: "/x".repeat(500).into(),
            argv: Vec::new(),
            git_remote: None,
        }
    }

    #[test]
    fn launch_log_begins_with_newest_and_has_limit() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("state/rejoin/launches.jsonl");
        for number in 0..600 {
            LockedLog::lock_log(&SYSTEM, &path)
                .and_then(|held| held.append(&launch(&number.to_string())))
                .expect("a line");
        }
        let newest: Vec<String> =
            read(&path).expect("launches").into_iter().filter_map(|launch| launch.id).take(3).collect();
        assert_eq!(newest, ["599", "598", "597"]);
        assert!(path.metadata().expect("metadata").len() <= MAX_BYTES + 2048);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
    fn launch_log_keeps_lines_of_newer_version() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("launches.jsonl");
        let old = r#"{"at":"2026-03-01T11:00:00Z","agent":"claude","id":"old","path":null,"dir":"/x","argv":[]}"#;
        let newer = r#"{"format_version":2,"at":"2026-03-01T11:30:00Z","agent":"claude","id":"newer","path":null,"dir":"/x","argv":[],"more":1}"#;
        let unreadable = r#"{"format_version":3,"when":"2026"}"#;
        let padding = format!("{{\"at\":\"{}\"}}\n", "x".repeat(1000)).repeat(300);
        std::fs::write(&path, format!("{newer}\n{padding}{unreadable}\n{old}\n")).expect("a file");
        let launch = Launch { id: Some("mine".to_owned()), ..read(&path).expect("launches").remove(0) };
        assert_eq!(launch.format_version, VERSION);
        LockedLog::lock_log(&SYSTEM, &path).and_then(|held| held.append(&launch)).expect("a line");
        let text = std::fs::read_to_string(&path).expect("a log");
        assert!(text.starts_with(newer) && text.contains(unreadable) && text.len() as u64 > MAX_BYTES);
        let ids: Vec<_> = read(&path).expect("launches").into_iter().filter_map(|launch| launch.id).collect();
        assert_eq!(ids, ["mine", "old", "newer"]);
    }

    #[test]
    fn no_fault_loses_earlier_or_later_launch() {
        let path = Path::new("/state/launches.jsonl");
        let append = |memory: &Memory, id: &str| Ok(LockedLog::lock_log(memory, path)?.append(&launch(id))?);
        let ids = |memory: &Memory| -> Vec<String> {
            let bytes = memory.actor().read(path).unwrap_or_default();
            let launches = bytes.split(|byte| *byte == b'\n').filter_map(Launch::read);
            launches.filter_map(|launch| launch.id).collect()
        };
        let start = Memory::new();
        append(&start, "a").expect("a line");
        start.settle();
        let schedules = with_every_fault(
            &start,
            |memory| append(memory, "b"),
            |left| {
                let now = ids(&left.memory);
                // The write is not synced, so a power loss can lose the launch.
                let is_as_said = left.answer.is_none() || left.has_lost_power || now == ["a", "b"];
                append(&left.memory, "c").map_err(|error: anyhow::Error| format!("the next line fails: {error:#}"))?;
                let later = ids(&left.memory);
                let is_kept = later.starts_with(&now) && later.last().is_some_and(|id| id == "c");
                let is_sound = is_as_said && now.first().is_some_and(|id| id == "a") && is_kept;
                if is_sound { Ok(()) } else { Err(format!("{now:?} became {later:?}")) }
            },
        );
        assert!(schedules > 50, "only {schedules} schedules");
    }
}
