//! What the system knows of a process, for telling whether a session is in use.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

/// The table of locks has a line of some 60 bytes each.
const MAX_LOCKS: u64 = 1024 * 1024;
/// What `open` calls reading and writing, in the flags of `/proc/PID/fdinfo`.
const WRITES: u32 = 0o3;

/// Returns when a process started, in clock ticks since boot: field 22 of `/proc/PID/stat`.
///
/// `None` when there is no such process, or no `/proc`.
pub(crate) fn start_ticks(pid: u32) -> Option<u64> {
    let (file, _) = crate::system::fsio::open_regular(format!("/proc/{pid}/stat").as_ref()).ok()?;
    let mut stat = String::new();
    file.take(4096).read_to_string(&mut stat).ok()?;
    // The second field is the program's name in parentheses, and may hold anything, even `)`.
    let after_name = stat.rsplit_once(')')?.1;
    after_name.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// Returns the id of this boot of the machine, which tells a process id of an earlier one.
pub(crate) fn boot_id() -> Option<String> {
    let (file, _) = crate::system::fsio::open_regular("/proc/sys/kernel/random/boot_id".as_ref()).ok()?;
    let mut id = String::new();
    file.take(4096).read_to_string(&mut id).ok()?;
    Some(id.trim().to_owned())
}

/// Returns which namespace of process ids this program runs in; containers have one each.
pub(crate) fn pid_namespace() -> Option<u64> {
    Path::new("/proc/self/ns/pid").metadata().ok().map(|metadata| metadata.ino())
}

/// Tells whether this system can answer [`start_ticks`].
pub(crate) fn has_start_ticks() -> bool {
    cfg!(target_os = "linux")
}

/// Tells whether some process has this id now.
pub(crate) fn exists(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else { return false };
    match rustix::process::test_kill_process(pid) {
        Ok(()) => true,
        // It exists and belongs to somebody else.
        Err(error) => error == rustix::io::Errno::PERM,
    }
}

/// Who holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lock {
    /// Nobody does, or there is no such file.
    Free,
    /// This process.
    HeldBy(u32),
    /// Some process that cannot be seen from here, such as one in another container.
    Held,
}

/// The name space of process ids in which every process of the machine is seen (Linux, `PROC_PID_INIT_INO`).
const ALL_PROCESSES: u64 = 0xEFFF_FFFC;

/// The locks on files that the system knows of, read once: `/proc/locks`.
///
/// Seen from a container the table lacks the locks of processes outside. Seen from the machine itself it has every lock of
/// the machine; what remains unseen are locks that other machines hold on a network's file system.
#[derive(Clone, Debug, Default)]
pub(crate) struct Locks {
    held: HashMap<(u64, u64), Held>,
    /// The numbers of the locked files alone: some file systems, such as btrfs, give `stat` another device than the table.
    numbers: HashSet<u64>,
    /// Whether a lock that is not in the table is not held.
    is_whole: bool,
}

/// How a file is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    pid: u32,
    is_exclusive: bool,
}

impl Locks {
    /// Reads the table; where there is none it is empty, and locks are tried instead.
    pub(crate) fn read() -> Self {
        let Ok((file, _)) = crate::system::fsio::open_regular("/proc/locks".as_ref()) else { return Self::default() };
        let mut table = String::new();
        if file.take(MAX_LOCKS).read_to_string(&mut table).is_err() {
            return Self::default();
        }
        let mut locks = Self { is_whole: pid_namespace() == Some(ALL_PROCESSES), ..Self::default() };
        // A table that was cut off says nothing of what it lacks.
        locks.is_whole &= (table.len() as u64) < MAX_LOCKS;
        for (identity, held) in table.lines().filter_map(lock) {
            locks.numbers.insert(identity.1);
            let known = locks.held.entry(identity).or_insert(held);
            if held.is_exclusive {
                *known = held;
            }
        }
        locks
    }

    /// Tells whether a file is locked in any way; `None` if the table does not tell.
    pub(crate) fn knows(&self, metadata: &Metadata) -> Option<bool> {
        match self.held.contains_key(&identity(metadata)) {
            true => Some(true),
            false => (self.is_whole && !self.numbers.contains(&metadata.ino())).then_some(false),
        }
    }

    /// Tells who holds the lock of a file (`flock`); that the file exists says nothing.
    ///
    /// The table is asked first, because it names the process. A lock that it does not show is tried only where the
    /// table may lack it, shared and for an instant; an agent that wants the lock in that instant finds it taken.
    pub(crate) fn holder(&self, path: &Path) -> Lock {
        let Ok((file, metadata)) = crate::system::fsio::open_regular(path) else { return Lock::Free };
        let held = self.held.get(&identity(&metadata)).filter(|held| held.is_exclusive);
        if let Some(held) = held.filter(|held| exists(held.pid)) {
            return Lock::HeldBy(held.pid);
        }
        if held.is_none() && self.knows(&metadata) == Some(false) {
            return Lock::Free;
        }
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
            // Who took it may have left it to another process and ended.
            Err(rustix::io::Errno::WOULDBLOCK) => {
                openers(&[path], |_| true).into_values().next().map_or(Lock::Held, Lock::HeldBy)
            }
            _ => Lock::Free,
        }
    }
}

/// Tells whether some process keeps a file locked; `None` when there is no such file, or no such locks here.
///
/// The system's table of locks is asked where it is whole ([`Locks`]). Where it is not, as in a container, the only way to
/// ask is to try: the lock is taken for an instant and let go, and an agent that tries in that instant finds it taken.
pub(crate) fn is_locked(path: &Path) -> Option<bool> {
    let (file, metadata) = crate::system::fsio::open_regular(path).ok()?;
    if let Some(is_locked) = Locks::read().knows(&metadata) {
        return Some(is_locked);
    }
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Some(false),
        Err(rustix::io::Errno::WOULDBLOCK) => Some(true),
        Err(_) => None,
    }
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Reads `1: FLOCK  ADVISORY  WRITE 4193 fd:01:1234567 0 EOF`; `->` marks one that only waits.
fn lock(line: &str) -> Option<((u64, u64), Held)> {
    let mut words = line.split_ascii_whitespace().skip(1);
    words.next().filter(|kind| *kind == "FLOCK")?;
    let is_exclusive = words.nth(1)? == "WRITE";
    let pid = words.next()?.parse().ok()?;
    let mut place = words.next()?.split(':');
    let mut number = |radix| u64::from_str_radix(place.next()?, radix).ok();
    let (major, minor, inode) = (number(16)?, number(16)?, number(10)?);
    let device = rustix::fs::makedev(u32::try_from(major).ok()?, u32::try_from(minor).ok()?);
    Some(((device, inode), Held { pid, is_exclusive }))
}

/// Returns which of these files a process has open for writing, among those that may be looked into, and which process.
pub(crate) fn writers(files: &[&Path]) -> BTreeMap<PathBuf, u32> {
    openers(files, |open| opened_with(open).is_some_and(|flags| flags & WRITES != 0))
}

fn openers(files: &[&Path], is_meant: impl Fn(&Path) -> bool) -> BTreeMap<PathBuf, u32> {
    let wanted = identities(files);
    // By name first: what is meant by none of them may lie where a look at it takes long.
    let names: HashSet<&OsStr> = files.iter().filter_map(|path| path.file_name()).collect();
    let is_named =
        |open: &Path| open.read_link().is_ok_and(|target| target.file_name().is_some_and(|it| names.contains(it)));
    let named = open_files().filter(|(_, open)| is_named(open));
    // This process only looks.
    let found = named.filter(|(pid, _)| *pid != std::process::id()).filter_map(|(pid, open)| {
        let path = wanted.get(&identity(&open.metadata().ok()?))?;
        is_meant(&open).then(|| ((*path).to_owned(), pid))
    });
    found.collect()
}

/// Tells files by what they are, because paths may lead over links or into another name space.
fn identities<'p>(files: &[&'p Path]) -> BTreeMap<(u64, u64), &'p Path> {
    let metadata = files.iter().filter_map(|path| Some((identity(&path.symlink_metadata().ok()?), *path)));
    metadata.collect()
}

/// Returns how a file was opened, of a path such as `/proc/PID/fd/3`.
fn opened_with(open: &Path) -> Option<u32> {
    let info = open.parent()?.with_file_name("fdinfo").join(open.file_name()?);
    let (file, _) = crate::system::fsio::open_regular(&info).ok()?;
    let mut text = String::new();
    file.take(4096).read_to_string(&mut text).ok()?;
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    u32::from_str_radix(flags.trim(), 8).ok()
}

/// The files that some process has open, as far as the system tells.
#[derive(Debug, Default)]
pub(crate) struct OpenFiles(HashSet<(u64, u64)>);

impl OpenFiles {
    /// Looks at every process.
    pub(crate) fn now() -> Self {
        Self(open_files().filter_map(|(_, open)| Some(identity(&open.metadata().ok()?))).collect())
    }

    /// Tells whether some process has a file open, known by its device and its number there.
    pub(crate) fn has(&self, identity: (u64, u64)) -> bool {
        self.0.contains(&identity)
    }
}

/// Returns which of these files some process has open, as far as the system tells.
pub(crate) fn held(files: &[&Path]) -> BTreeSet<PathBuf> {
    if files.is_empty() {
        return BTreeSet::new();
    }
    let open = OpenFiles::now();
    let is_held = |path: &&Path| path.symlink_metadata().is_ok_and(|metadata| open.has(identity(&metadata)));
    files.iter().copied().filter(is_held).map(Path::to_owned).collect()
}

/// Returns the processes that may be looked into, each with every file that it has open as `/proc/PID/fd/N`.
///
/// Such an entry is a link to what is open; following it opens nothing.
fn open_files() -> impl Iterator<Item = (u32, PathBuf)> {
    let entries = |dir: &Path| std::fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    let processes = entries(Path::new("/proc")).filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    processes.flat_map(move |pid| {
        entries(&Path::new("/proc").join(pid.to_string()).join("fd")).map(move |open| (pid, open.path()))
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out the files that they look at")]
mod tests {
    use super::*;

    #[test]
    fn a_lock_counts_only_while_it_is_held() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x.lock");
        assert_eq!(Locks::read().holder(&path), Lock::Free, "there is none");
        let file = std::fs::File::create(&path).expect("a file");
        assert_eq!(Locks::read().holder(&path), Lock::Free, "nobody holds it");
        file.lock().expect("a lock");
        assert_eq!(Locks::default().holder(&path), Lock::Held, "tried, without the table");
        if cfg!(target_os = "linux") {
            assert_eq!(Locks::read().holder(&path), Lock::HeldBy(std::process::id()));
        }
        file.unlock().expect("no lock");
        assert_eq!(Locks::read().holder(&path), Lock::Free, "it was let go");
    }

    #[test]
    fn a_line_of_the_table_names_the_file_and_the_process() {
        let device = rustix::fs::makedev(0xfd, 1);
        let held = |is_exclusive| Some(((device, 1_234_567), Held { pid: 4193, is_exclusive }));
        assert_eq!(lock("7: FLOCK  ADVISORY  WRITE 4193 fd:01:1234567 0 EOF"), held(true));
        assert_eq!(lock("7: FLOCK  ADVISORY  READ 4193 fd:01:1234567 0 EOF"), held(false));
        for other in
            ["7: -> FLOCK  ADVISORY  WRITE 4193 fd:01:1 0 EOF", "8: POSIX  ADVISORY  WRITE 1 00:2e:9 0 0", "", "1:"]
        {
            assert_eq!(lock(other), None, "{other}");
        }
    }

    #[test]
    fn a_lock_is_seen_while_it_is_held_and_not_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("hold");
        assert_eq!(is_locked(&path), None);
        std::fs::write(&path, "").expect("a file");
        assert_eq!(is_locked(&path), Some(false));
        let holder = std::fs::File::open(&path).expect("a file");
        holder.try_lock_shared().expect("a lock, so none was kept");
        assert_eq!(is_locked(&path), Some(true), "even a shared one");
        drop(holder);
        assert_eq!(is_locked(&path), Some(false));
    }

    #[test]
    #[expect(clippy::disallowed_macros, reason = "whoever runs the tests should know that this one did nothing")]
    fn an_agent_that_takes_its_lock_while_it_is_looked_at_gets_it() {
        if pid_namespace() != Some(ALL_PROCESSES) {
            println!("skipped: from here not every lock is seen, so locks are tried");
            return;
        }
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("inuse.1.hold");
        let agent = std::fs::File::create(&path).expect("a file");
        let is_done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
                    is_locked(&path);
                    Locks::read().holder(&path);
                }
            });
            let failed = (0..5_000).filter(|_| agent.try_lock().is_err() || agent.unlock().is_err()).count();
            is_done.store(true, std::sync::atomic::Ordering::Relaxed);
            assert_eq!(failed, 0);
        });
    }

    #[test]
    fn only_who_writes_to_a_file_counts() {
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
            let mut said = [0; 5];
            child.stdout.take().expect("a pipe").read_exact(&mut said).expect("a word");
            let expected = if writes && cfg!(target_os = "linux") { vec![(path.clone(), child.id())] } else { vec![] };
            assert_eq!(writers(&[&path]).into_iter().collect::<Vec<_>>(), expected, "{redirection}");
            drop(child.stdin.take());
            child.wait().expect("an end");
        }
    }

    #[test]
    fn a_file_that_this_process_has_open_is_held() {
        let dir = tempfile::tempdir().expect("a directory");
        let (open, closed) = (dir.path().join("open"), dir.path().join("closed"));
        std::fs::write(&closed, "x").expect("a file");
        let file = std::fs::File::create(&open).expect("a file");
        let expected = if has_start_ticks() { BTreeSet::from([open.clone()]) } else { BTreeSet::new() };
        assert_eq!(held(&[&open, &closed]), expected);
        drop(file);
        assert_eq!(held(&[&open, &closed]), BTreeSet::new());
    }

    #[test]
    fn this_process_exists_and_has_a_start_time() {
        let pid = std::process::id();
        assert!(exists(pid));
        assert_eq!(start_ticks(pid).is_some(), has_start_ticks());
        assert_eq!(boot_id().is_some_and(|id| id.len() == 36), has_start_ticks());
        assert_eq!(pid_namespace().is_some(), has_start_ticks());
        assert!(!exists(0));
        assert_eq!(start_ticks(u32::MAX), None);
    }
}
