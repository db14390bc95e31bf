//! Information about processes, to find out whether a session is in use.

#[cfg(target_os = "linux")]
mod linux;
mod locks;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "linux")]
mod pages;
mod start_time;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::reach;

#[cfg(target_os = "linux")]
use linux::native;
pub(crate) use locks::{LockOwner, Locks, is_locked};
#[cfg(target_os = "macos")]
use macos::native;
use start_time::Sighting;
pub(crate) use start_time::{Presence, StartTime};

/// The system's information about processes; the default methods provide none.
trait ProcessTable {
    /// Returns when a process started.
    fn start_time(&self, _pid: u32) -> Option<StartTime> {
        None
    }

    /// Returns whether a process is a zombie: it has ended, but its parent has not waited for it.
    fn is_zombie(&self, _pid: u32) -> bool {
        false
    }

    /// Returns when the machine was started, in seconds since 1970.
    fn booted_at(&self) -> Option<i64> {
        None
    }

    /// Returns the id of this boot of the machine.
    fn boot_id(&self) -> Option<String> {
        None
    }

    /// Returns the pid namespace of this process.
    fn pid_namespace(&self) -> Option<u64> {
        None
    }

    /// Returns the locks (`flock`) that the system lists.
    fn locks(&self) -> LockTable {
        LockTable::default()
    }

    /// Returns the files that accessible processes have open; `None` if the system does not provide them.
    ///
    /// If `names` is given, files with other names may be omitted, because examining them may be slow.
    fn open_files(&self, _names: Option<&HashSet<&OsStr>>) -> Option<Vec<OpenFile>> {
        None
    }

    /// Returns the processes whose command line matches.
    fn running(&self, _is_wanted: &dyn Fn(&[String]) -> bool) -> Vec<RunningProcess> {
        Vec::new()
    }

    /// Returns whether a file was opened for writing.
    fn is_written(&self, _open: &OpenFile) -> bool {
        false
    }
}

/// A system without support.
#[cfg(any(test, not(any(target_os = "linux", target_os = "macos"))))]
#[derive(Debug)]
struct NoProcessTable;

#[cfg(any(test, not(any(target_os = "linux", target_os = "macos"))))]
impl ProcessTable for NoProcessTable {}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn native() -> NoProcessTable {
    NoProcessTable
}

/// The locks that the system lists.
#[derive(Clone, Debug, Default)]
struct LockTable {
    /// Every lock, with device and inode of its file.
    locks: Vec<((u64, u64), HeldLock)>,
    /// Set if the list is complete, so that a lock that is missing in it is not held.
    is_whole: bool,
}

/// A lock on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HeldLock {
    pid: u32,
    is_exclusive: bool,
}

/// A file that a process has open.
#[derive(Clone, Copy, Debug)]
struct OpenFile {
    pid: u32,
    fd: u32,
    identity: (u64, u64),
}

/// A process that runs.
#[derive(Clone, Debug)]
pub(crate) struct RunningProcess {
    /// Process id.
    pub pid: u32,
    /// Command line, or only the program if the system shows no more.
    pub words: Vec<String>,
    /// Environment, such as `HOME=/home/ana`, and current directory; `None` for a process of another user.
    pub own: Option<(Vec<String>, PathBuf)>,
}

/// Finds the other processes whose command line matches.
pub(crate) fn running(is_wanted: &dyn Fn(&[String]) -> bool) -> Vec<RunningProcess> {
    let mut running = native().running(is_wanted);
    running.retain(|running| running.pid != std::process::id());
    running
}

/// Returns the id of this boot of the machine, which distinguishes process ids of an earlier one.
pub(crate) fn boot_id() -> Option<String> {
    native().boot_id()
}

/// Returns the pid namespace of this process; each container has its own.
pub(crate) fn pid_namespace() -> Option<u64> {
    native().pid_namespace()
}

/// Returns whether the process that was recorded with an id, and with its start if known, still runs.
pub(crate) fn presence(pid: u32, noted: Option<StartTime>) -> Presence {
    presence_in(&native(), pid, noted)
}

fn presence_in(table: &impl ProcessTable, pid: u32, noted: Option<StartTime>) -> Presence {
    let own = table.start_time(std::process::id());
    if table.is_zombie(pid) {
        return Presence::Ended;
    }
    Sighting { started: table.start_time(pid), exists: exists(pid), own }.is_of(noted)
}

/// Returns the start of a process, to the second; `None` if the system does not provide it.
pub(crate) fn started_at(pid: u32) -> Option<Timestamp> {
    let table = native();
    table.start_time(pid)?.instant(table.booted_at())
}

/// Returns whether a process has this id now and has not ended.
pub(crate) fn exists(pid: u32) -> bool {
    if native().is_zombie(pid) {
        return false;
    }
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else { return false };
    match rustix::process::test_kill_process(pid) {
        Ok(()) => true,
        // It exists and belongs to another user.
        Err(error) => error == rustix::io::Errno::PERM,
    }
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Returns those of the files that an accessible process has open for writing, with the process.
///
/// `None` if the system does not provide it.
pub(crate) fn writers(files: &[&Path]) -> Option<BTreeMap<PathBuf, u32>> {
    openers(&native(), files, true)
}

fn openers(table: &impl ProcessTable, files: &[&Path], only_writers: bool) -> Option<BTreeMap<PathBuf, u32>> {
    let requested = identities(files);
    let names = files.iter().filter_map(|path| path.file_name()).collect();
    // Skips this process, which only reads.
    let others = table.open_files(Some(&names))?.into_iter().filter(|open| open.pid != std::process::id());
    let found = others.filter_map(|open| {
        let path = requested.get(&open.identity)?;
        (!only_writers || table.is_written(&open)).then(|| ((*path).to_owned(), open.pid))
    });
    let mut found: Vec<(PathBuf, u32)> = found.collect();
    // A child has the files of its parent until it starts another program. The last process of a file stays in the map.
    let start = |pid: u32| table.start_time(pid).map_or((true, None), |start| (false, Some(start)));
    found.sort_by_cached_key(|(_, pid)| Reverse(start(*pid)));
    Some(found.into_iter().collect())
}

/// Maps device and inode to files, because paths may contain links or belong to another mount namespace.
fn identities<'p>(files: &[&'p Path]) -> BTreeMap<(u64, u64), &'p Path> {
    let metadata = files.iter().filter_map(|path| Some((identity(&reach::metadata(path).ok()?), *path)));
    metadata.collect()
}

/// The files that other processes have open, by device and inode, each with one of these processes, as far as the system
/// shows them.
#[derive(Debug)]
pub(crate) struct OpenFiles(Option<HashMap<(u64, u64), u32>>);

impl OpenFiles {
    /// Examines every process.
    pub(crate) fn now() -> Self {
        Self::from_table(&native())
    }

    fn from_table(table: &impl ProcessTable) -> Self {
        // Skips this process, which only reads: the picker may show a session at the moment in which it is to be
        // removed.
        let is_other = |open: &OpenFile| open.pid != std::process::id();
        let holders = |files: Vec<OpenFile>| {
            files.into_iter().filter(is_other).map(|OpenFile { pid, identity, .. }| (identity, pid)).collect()
        };
        Self(table.open_files(None).map(holders))
    }

    /// Returns whether the system shows open files at all.
    pub(crate) fn is_known(&self) -> bool {
        self.0.is_some()
    }

    /// Returns whether a process is known to have a file open, by device and inode.
    pub(crate) fn holds_file(&self, identity: (u64, u64)) -> bool {
        self.holder(identity).is_some()
    }

    /// Returns a process that is known to have a file open, by device and inode.
    pub(crate) fn holder(&self, identity: (u64, u64)) -> Option<u32> {
        self.0.as_ref()?.get(&identity).copied()
    }
}

/// Returns those of the files that a process may have open: all of them if the system does not show open files.
pub(crate) fn held_files(files: &[&Path]) -> BTreeSet<PathBuf> {
    held_in(&native(), files)
}

fn held_in(table: &impl ProcessTable, files: &[&Path]) -> BTreeSet<PathBuf> {
    if files.is_empty() {
        return BTreeSet::new();
    }
    let open = OpenFiles::from_table(table);
    let is_held = |path: &&Path| {
        !open.is_known() || reach::metadata(path).is_ok_and(|metadata| open.holds_file(identity(&metadata)))
    };
    files.iter().copied().filter(is_held).map(Path::to_owned).collect()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use std::io::Read as _;
    use std::os::unix::process::CommandExt as _;

    use super::*;

    #[test]
    fn writers_exclude_processes_with_read_only_handles() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x.jsonl");
        for (redirection, writes) in [(">>", true), ("<>", true), ("<", false)] {
            let script = format!("exec 8{redirection} \"$0\" && echo open && read line");
            std::fs::write(&path, "").expect("a file");
            let mut command = std::process::Command::new("sh");
            let mut child = command
                .args(["-c", &script])
                .arg(&path)
                .stdin(std::process::Stdio::piped())
                .stdout(std::process::Stdio::piped())
                .spawn()
                .expect("a shell");
            let mut counts = [0; 5];
            child.stdout.take().expect("a pipe").read_exact(&mut counts).expect("a word");
            let expected = if writes { vec![(path.clone(), child.id())] } else { vec![] };
            let found = writers(&[&path]).expect("a table of open files");
            assert_eq!(found.into_iter().collect::<Vec<_>>(), expected, "{redirection}");
            drop(child.stdin.take());
            child.wait().expect("an end");
        }
    }

    #[test]
    fn system_lists_open_file_of_other_process() {
        let dir = tempfile::tempdir().expect("a directory");
        let (open, own) = (dir.path().join("open"), dir.path().join("own"));
        for path in [&open, &own] {
            std::fs::write(path, "x").expect("a file");
        }
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "exec 8<\"$0\" && echo open && read line"]).arg(&open);
        let piped = || std::process::Stdio::piped();
        let mut child = command.stdin(piped()).stdout(piped()).spawn().expect("a shell");
        let mut counts = [0; 5];
        child.stdout.take().expect("a pipe").read_exact(&mut counts).expect("a word");
        let file = std::fs::File::open(&own).expect("a file");
        // A child has the file open until it executes its program.
        std::thread::scope(|scope| {
            let starting = scope.spawn(|| {
                let user = rustix::process::getuid().as_raw();
                for _ in 0..1000 {
                    // With a user, it forks and then executes the program.
                    std::process::Command::new("true").uid(user).status().expect("a process");
                }
            });
            while !starting.is_finished() {
                assert_eq!(held_files(&[&open, &own]), BTreeSet::from([open.clone()]));
            }
        });
        drop((file, child.stdin.take()));
        child.wait().expect("an end");
        assert!(held_files(&[&open]).is_empty());
    }

    #[test]
    fn this_process_exists_and_has_a_start_time() {
        let pid = std::process::id();
        assert!(exists(pid) && !exists(0));
        let started = native().start_time(pid);
        assert!(started.is_some());
        let age = started_at(pid).expect("a start").until(Timestamp::now()).expect("a span");
        assert!((-2.0..3600.0).contains(&age.total(jiff::Unit::Second).expect("seconds")), "{age}");
        assert_eq!(started_at(u32::MAX), None);
        assert_eq!(presence(pid, started), Presence::Running);
        assert_eq!(presence(pid, Some(StartTime::Ticks(1))) == Presence::Ended, cfg!(target_os = "linux"));
        assert_eq!(presence(pid, None), Presence::Unknown);
        assert_eq!(presence(u32::MAX, started), Presence::Ended);
        assert_eq!(boot_id().is_some_and(|id| id.len() == 36), cfg!(target_os = "linux"));
        assert_eq!(pid_namespace().is_some(), cfg!(target_os = "linux"));
    }

    /// Zombies remain in a container without an init process.
    #[test]
    #[cfg(target_os = "linux")]
    fn zombie_counts_as_ended_process() {
        let mut child = std::process::Command::new("true").spawn().expect("a process");
        let (pid, started) = (child.id(), native().start_time(child.id()));
        let limit = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while !native().is_zombie(pid) {
            assert!(std::time::Instant::now() < limit, "it does not end");
            std::thread::yield_now();
        }
        assert!(native().start_time(pid).is_some() && kernel_sees(pid), "its number is still taken");
        assert_eq!(
            (presence(pid, started), presence(pid, None), exists(pid)),
            (Presence::Ended, Presence::Ended, false)
        );
        child.wait().expect("an end");
    }

    #[cfg(target_os = "linux")]
    fn kernel_sees(pid: u32) -> bool {
        let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw).expect("a number");
        rustix::process::test_kill_process(pid).is_ok()
    }

    /// A system that provides only this information.
    #[derive(Debug, Default)]
    struct Fake {
        started: BTreeMap<u32, StartTime>,
        /// Each open file, with whether it is open for writing.
        open: Option<Vec<(OpenFile, bool)>>,
    }

    impl ProcessTable for Fake {
        fn start_time(&self, pid: u32) -> Option<StartTime> {
            self.started.get(&pid).copied()
        }

        fn open_files(&self, _: Option<&HashSet<&OsStr>>) -> Option<Vec<OpenFile>> {
            Some(self.open.as_ref()?.iter().map(|(open, _)| *open).collect())
        }

        fn is_written(&self, open: &OpenFile) -> bool {
            self.open.iter().flatten().any(|(it, writes)| *writes && (it.pid, it.fd) == (open.pid, open.fd))
        }
    }

    #[test]
    fn start_time_identifies_macos_process() {
        let own = std::process::id();
        let started = StartTime::parse("Sun Nov 22 15:08:03 2026");
        let mac = Fake { started: BTreeMap::from([(own, started.expect("a start"))]), ..Fake::default() };
        assert_eq!(presence_in(&mac, own, started), Presence::Running);
        assert_eq!(presence_in(&mac, own, StartTime::parse("Sun Nov 22 15:08:04 2026")), Presence::Ended);
        assert_eq!(presence_in(&mac, own, Some(StartTime::Ticks(7))), Presence::Unknown, "of a container");
    }

    #[test]
    fn unsupported_system_reports_unknown_instead_of_idle() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("file");
        std::fs::write(&path, "x").expect("a file");
        assert_eq!(presence_in(&NoProcessTable, std::process::id(), Some(StartTime::Ticks(7))), Presence::Unknown);
        assert_eq!(openers(&NoProcessTable, &[&path], true), None);
        assert_eq!(held_in(&NoProcessTable, &[&path]), BTreeSet::from([path.clone()]));
        assert!(!OpenFiles::from_table(&NoProcessTable).is_known());
    }

    #[test]
    fn file_belongs_to_its_first_started_process() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("file");
        std::fs::write(&path, "x").expect("a file");
        let identity = identity(&path.metadata().expect("metadata"));
        let started = BTreeMap::from([(7, StartTime::Ticks(70)), (8, StartTime::Ticks(20)), (9, StartTime::Ticks(71))]);
        for pids in [[7, 8, 9, 6], [6, 9, 8, 7]] {
            let open = pids.map(|pid| (OpenFile { pid, fd: 3, identity }, true)).to_vec();
            let table = Fake { started: started.clone(), open: Some(open) };
            assert_eq!(openers(&table, &[&path], true), Some(BTreeMap::from([(path.clone(), 8)])));
        }
    }

    #[test]
    fn device_and_inode_identify_files() {
        let dir = tempfile::tempdir().expect("a directory");
        let [read, written, other] = ["read", "written", "other"].map(|name| dir.path().join(name));
        let open = [&read, &written].map(|path| {
            std::fs::write(path, "x").expect("a file");
            identity(&path.metadata().expect("metadata"))
        });
        std::fs::write(&other, "x").expect("a file");
        let file = |fd, identity| OpenFile { pid: 7, fd, identity };
        let table = Fake { open: Some(vec![(file(3, open[0]), false), (file(4, open[1]), true)]), ..Fake::default() };
        let files = [read.as_path(), &written, &other];
        assert_eq!(openers(&table, &files, true), Some(BTreeMap::from([(written.clone(), 7)])));
        assert_eq!(held_in(&table, &files), BTreeSet::from([read.clone(), written.clone()]));
    }
}
