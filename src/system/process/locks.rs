//! Finds the holder of a lock (`flock`), without taking the lock if the system lists locks.

use std::collections::{HashMap, HashSet};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::system::fsio::open_regular;
use crate::system::process::{HeldLock, LockTable, ProcessTable, exists, identity, native, openers};

/// The holder of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockOwner {
    /// The lock is free, or the file does not exist.
    Free,
    /// This process.
    HeldBy(u32),
    /// A process that is not visible from here, such as one in another container.
    Held,
}

/// The locks on files that the system knows, read once.
///
/// Linux has a table, `/proc/locks`. In a container it lacks the locks of processes outside. On the host it has every
/// lock of the machine; it lacks the locks that other machines hold on a network file system. macOS has no such table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Locks {
    held: HashMap<(u64, u64), HeldLock>,
    /// The inode numbers of the locked files: for some file systems, such as btrfs, `stat` reports another device than
    /// the table.
    numbers: HashSet<u64>,
    /// Set if the table is complete, so that a lock that is missing in it is not held.
    is_whole: bool,
}

impl Locks {
    /// Reads the table; without one, the result is empty and locks are tried instead.
    pub(crate) fn read() -> Self {
        let LockTable { locks, is_whole } = native().locks();
        let mut read = Self { is_whole, ..Self::default() };
        for (identity, held) in locks {
            read.numbers.insert(identity.1);
            let known = read.held.entry(identity).or_insert(held);
            if held.is_exclusive {
                *known = held;
            }
        }
        read
    }

    /// Returns whether a file has any lock; `None` if the table cannot show that.
    pub(crate) fn knows(&self, metadata: &Metadata) -> Option<bool> {
        if self.held.contains_key(&identity(metadata)) {
            Some(true)
        } else {
            (self.is_whole && !self.numbers.contains(&metadata.ino())).then_some(false)
        }
    }

    /// Returns the holder of the lock (`flock`) of a file; the existence of the file proves nothing.
    ///
    /// The table is checked first, because it names the process. A lock that is not in the table is tried only if the
    /// table may lack it: the lock is taken shared for an instant, in which an agent that tries to take it fails.
    pub(crate) fn holder(&self, path: &Path) -> LockOwner {
        let Ok((file, metadata)) = open_regular(path) else { return LockOwner::Free };
        let held = self.held.get(&identity(&metadata)).filter(|held| held.is_exclusive);
        if let Some(held) = held.filter(|held| exists(held.pid)) {
            return LockOwner::HeldBy(held.pid);
        }
        if held.is_none() && self.knows(&metadata) == Some(false) {
            return LockOwner::Free;
        }
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
            // The process that acquired the lock may have passed it to another process and ended.
            Err(Errno::WOULDBLOCK) => openers(&native(), &[path], false)
                .unwrap_or_default()
                .into_values()
                .next()
                .map_or(LockOwner::Held, LockOwner::HeldBy),
            _ => LockOwner::Free,
        }
    }
}

/// Returns whether any process holds a lock on a file; `None` if the file does not exist, or such locks are not
/// supported.
///
/// If the system's table of locks is complete ([`Locks`]), it decides. Otherwise, as in a container, the lock is taken
/// for an instant and released; an agent that tries to take it in that instant fails.
pub(crate) fn is_locked(path: &Path) -> Option<bool> {
    let (file, metadata) = open_regular(path).ok()?;
    if let Some(is_locked) = Locks::read().knows(&metadata) {
        return Some(is_locked);
    }
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Some(false),
        Err(Errno::WOULDBLOCK) => Some(true),
        Err(_) => None,
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use super::*;

    #[test]
    fn lock_counts_only_while_held() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x.lock");
        assert_eq!(Locks::read().holder(&path), LockOwner::Free, "without the file");
        let file = std::fs::File::create(&path).expect("a file");
        assert_eq!(Locks::read().holder(&path), LockOwner::Free, "without a lock on it");
        file.lock().expect("a lock");
        assert_eq!(Locks::default().holder(&path), LockOwner::Held, "tried, without the table");
        if cfg!(target_os = "linux") {
            assert_eq!(Locks::read().holder(&path), LockOwner::HeldBy(std::process::id()));
        }
        file.unlock().expect("no lock");
        assert_eq!(Locks::read().holder(&path), LockOwner::Free, "it was let go");
    }

    #[test]
    fn lock_check_does_not_keep_the_lock() {
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
    fn lock_check_does_not_block_agent() {
        if !native().locks().is_whole {
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
}
