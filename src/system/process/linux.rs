//! Information about processes on Linux, from `/proc`.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::system::fsio;
use crate::system::process::pages::{self, TableReading};
use crate::system::process::{HeldLock, LockTable, OpenFile, ProcessTable, RunningProcess, StartTime};
use crate::system::reach;

/// Maximum size in bytes of the lock table, which has a line of about 60 bytes per lock.
const MAX_LOCKS: usize = 1024 * 1024;
/// Maximum size in bytes of the statistics, which have a line per processor and a number per interrupt.
const MAX_STAT: u64 = 1024 * 1024;
/// Maximum size in bytes of all other files, which have a few lines.
const MAX_SMALL: u64 = 4096;
/// Maximum size in bytes of a command line, and of an environment.
const MAX_STRINGS: u64 = 256 * 1024;
/// The access mode (reading and writing) in the flags of `/proc/PID/fdinfo`.
const WRITES: u32 = 0o3;

/// The pid namespace in which every process of the machine is visible (`PROC_PID_INIT_INO`).
const ALL_PROCESSES: u64 = 0xEFFF_FFFC;

/// A `/proc` directory, which may be missing or empty.
#[derive(Debug)]
pub(super) struct Proc<'p>(pub &'p Path);

/// The processes of this machine.
pub(super) fn native() -> Proc<'static> {
    Proc(Path::new("/proc"))
}

impl Proc<'_> {
    fn read(&self, path: impl AsRef<Path>, limit: u64) -> Option<String> {
        let (file, _) = fsio::open_regular(&self.0.join(path)).ok()?;
        let mut text = String::new();
        file.take(limit).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Returns a field of `/proc/PID/stat`, counted from the one after the program name.
    fn stat(&self, pid: u32, field: usize) -> Option<String> {
        let stat = self.read(format!("{pid}/stat"), MAX_SMALL)?;
        // The name is in parentheses and may contain anything, even `)`.
        stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(field).map(str::to_owned)
    }

    /// Returns whether this process has forked a process that has not executed its program yet, so that it still has the
    /// files open that this process was reading at that moment.
    fn is_fork_of_this(&self, pid: u32) -> bool {
        let program = |pid: &str| self.0.join(pid).join("exe").read_link().ok();
        self.stat(pid, 1).and_then(|parent| parent.parse().ok()) == Some(std::process::id())
            && program(&pid.to_string()).is_some_and(|its| program("self") == Some(its))
    }

    /// Returns the strings of a file in which each ends with a zero byte.
    fn strings(&self, pid: u32, name: &str) -> Option<Vec<String>> {
        let (file, _) = fsio::open_regular(&self.0.join(format!("{pid}/{name}"))).ok()?;
        let mut bytes = Vec::new();
        file.take(MAX_STRINGS).read_to_end(&mut bytes).ok()?;
        let strings = bytes.split(|byte| *byte == 0).filter(|string| !string.is_empty());
        Some(strings.map(|string| String::from_utf8_lossy(string).into_owned()).collect())
    }

    fn fd_dir(&self, pid: u32) -> PathBuf {
        self.0.join(pid.to_string()).join("fd")
    }
}

impl ProcessTable for Proc<'_> {
    fn start_time(&self, pid: u32) -> Option<StartTime> {
        self.stat(pid, 19)?.parse().ok().map(StartTime::Ticks)
    }

    fn is_zombie(&self, pid: u32) -> bool {
        self.stat(pid, 0).is_some_and(|state| matches!(state.as_str(), "Z" | "X"))
    }

    fn booted_at(&self) -> Option<i64> {
        let (file, _) = fsio::open_regular(&self.0.join("stat")).ok()?;
        // The lines of processors and interrupts before it are long.
        let mut text = String::new();
        file.take(MAX_STAT).read_to_string(&mut text).ok()?;
        let seconds = text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok();
        // Sandboxes without a real `/proc` report 0.
        seconds.filter(|seconds| *seconds > 0)
    }

    fn boot_id(&self) -> Option<String> {
        Some(self.read("sys/kernel/random/boot_id", MAX_SMALL)?.trim().to_owned())
    }

    fn pid_namespace(&self) -> Option<u64> {
        self.0.join("self/ns/pid").metadata().ok().map(|metadata| metadata.ino())
    }

    fn locks(&self) -> LockTable {
        let path = self.0.join("locks");
        let read = || TableReading::read_file(fsio::open_regular(&path).ok()?.0, MAX_LOCKS).ok();
        let Some((table, is_settled)) = pages::lines(read) else { return LockTable::default() };
        // A truncated table proves nothing about the locks it lacks.
        let is_whole = is_settled && self.pid_namespace() == Some(ALL_PROCESSES) && table.len() < MAX_LOCKS;
        LockTable { locks: String::from_utf8_lossy(&table).lines().filter_map(lock).collect(), is_whole }
    }

    #[expect(clippy::disallowed_methods, reason = "the table of processes is not a file system of a server")]
    fn open_files(&self, names: Option<&HashSet<&OsStr>>) -> Option<Vec<OpenFile>> {
        // This process itself must be listed, unless nothing is mounted.
        self.0.join("self/fd").read_dir().ok()?;
        let names_of = |dir: &Path| dir.read_dir().into_iter().flatten().filter_map(Result::ok);
        let number = |name: &OsStr| name.to_str()?.parse::<u32>().ok();
        let is_named = |open: &Path| {
            names.is_none_or(|names| {
                open.read_link().is_ok_and(|target| target.file_name().is_some_and(|it| names.contains(it)))
            })
        };
        let pids = names_of(self.0).filter_map(|entry| number(&entry.file_name()));
        let pids = pids.filter(|pid| !self.is_fork_of_this(*pid));
        let files = pids.flat_map(|pid| {
            // Such an entry is a link to the open file; following it opens nothing.
            names_of(&self.fd_dir(pid)).filter(|open| is_named(&open.path())).filter_map(move |open| {
                // A file on a mount that does not answer is not one of the files in question.
                if reach::any_remote() && open.path().read_link().is_ok_and(|target| !reach::answers(&target)) {
                    return None;
                }
                let metadata = open.path().metadata().ok()?;
                let identity = (metadata.dev(), metadata.ino());
                Some(OpenFile { pid, fd: number(&open.file_name())?, identity })
            })
        });
        Some(files.collect())
    }

    #[expect(clippy::disallowed_methods, reason = "the table of processes is not a file system of a server")]
    fn running(&self, is_wanted: &dyn Fn(&[String]) -> bool) -> Vec<RunningProcess> {
        let entries = self.0.read_dir().into_iter().flatten().filter_map(Result::ok);
        let running = entries.filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let words = self.strings(pid, "cmdline").filter(|words| is_wanted(words))?;
            let own = self.strings(pid, "environ").zip(entry.path().join("cwd").read_link().ok());
            // The environment of a process that ended meanwhile was read as empty.
            let is_alive = self.strings(pid, "cmdline").as_ref() == Some(&words);
            is_alive.then_some(RunningProcess { pid, words, own })
        });
        running.collect()
    }

    fn is_written(&self, open: &OpenFile) -> bool {
        let info = self.read(format!("{}/fdinfo/{}", open.pid, open.fd), MAX_SMALL).unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok()).is_some_and(|flags| flags & WRITES != 0)
    }
}

/// Parses `1: FLOCK ADVISORY WRITE 4193 fd:01:1234567 0 EOF`; `->` marks a lock that is only waited for.
fn lock(line: &str) -> Option<((u64, u64), HeldLock)> {
    let mut words = line.split_ascii_whitespace().skip(1);
    words.next().filter(|kind| *kind == "FLOCK")?;
    let is_exclusive = words.nth(1)? == "WRITE";
    let pid = words.next()?.parse().ok()?;
    let mut place = words.next()?.split(':');
    let mut number = |radix| u64::from_str_radix(place.next()?, radix).ok();
    let (major, minor, inode) = (number(16)?, number(16)?, number(10)?);
    let device = rustix::fs::makedev(u32::try_from(major).ok()?, u32::try_from(minor).ok()?);
    Some(((device, inode), HeldLock { pid, is_exclusive }))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use super::*;

    #[test]
    fn proc_locks_line_has_inode_and_pid() {
        let device = rustix::fs::makedev(0xfd, 1);
        let held = |is_exclusive| Some(((device, 1_234_567), HeldLock { pid: 4193, is_exclusive }));
        assert_eq!(lock("7: FLOCK  ADVISORY  WRITE 4193 fd:01:1234567 0 EOF"), held(true));
        assert_eq!(lock("7: FLOCK  ADVISORY  READ 4193 fd:01:1234567 0 EOF"), held(false));
        for other in
            ["7: -> FLOCK  ADVISORY  WRITE 4193 fd:01:1 0 EOF", "8: POSIX  ADVISORY  WRITE 1 00:2e:9 0 0", "", "1:"]
        {
            assert_eq!(lock(other), None, "{other}");
        }
    }

    #[test]
    fn empty_proc_directory_means_unknown() {
        let dir = tempfile::tempdir().expect("a directory");
        let table = Proc(dir.path());
        assert_eq!(table.start_time(1), None);
        assert_eq!((table.boot_id(), table.pid_namespace()), (None, None));
        assert!(table.locks().locks.is_empty() && !table.locks().is_whole);
        assert!(table.open_files(None).is_none());
        std::fs::create_dir_all(dir.path().join("self/fd")).expect("a directory");
        assert!(table.open_files(None).is_some_and(|files| files.is_empty()));
    }

    #[test]
    fn proc_stat_parses_any_program_name() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("7")).expect("a directory");
        let rest = (4..=52).map(|field| (field * 100).to_string()).collect::<Vec<_>>().join(" ");
        std::fs::write(dir.path().join("7/stat"), format!("7 (a) S 1 (b) R {rest}\n")).expect("a file");
        assert_eq!(Proc(dir.path()).start_time(7), Some(StartTime::Ticks(2200)));
    }

    #[test]
    fn boot_time_comes_from_proc_stat() {
        let dir = tempfile::tempdir().expect("a directory");
        let booted_at = |text: &str| {
            std::fs::write(dir.path().join("stat"), text).expect("a file");
            Proc(dir.path()).booted_at()
        };
        assert_eq!(booted_at("cpu  1 2\nintr 9 8\nbtime 1795666878\nprocesses 7\n"), Some(1_795_666_878));
        assert_eq!(booted_at("cpu  1 2\nbtime 0\n"), None);
        assert_eq!(booted_at("cpu  1 2\n"), None);
    }
}
