//! The state of the in-memory disk: its content, the synced part, and the effect of a power loss.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::io::Errno;

use crate::disk::memory::BrokenRule;
use crate::disk::{EntryKind, EntryMetadata};

/// The inode of `/`.
pub(super) const ROOT: u64 = 1;

#[derive(Clone, Debug, Hash)]
pub(super) enum InodeBody {
    File { bytes: Vec<u8>, synced: Vec<u8> },
    Dir { names: BTreeMap<OsString, u64>, synced: BTreeMap<OsString, u64>, parent: u64 },
    Link(PathBuf),
}

#[derive(Clone, Debug)]
pub(super) struct Inode {
    pub(super) body: InodeBody,
    pub(super) device: u64,
    pub(super) mode: u32,
    pub(super) owner: (u32, u32),
    pub(super) accessed: (i64, i64),
    pub(super) modified: (i64, i64),
    /// A cached digest of the inode.
    digest: OnceLock<u64>,
}

impl Inode {
    fn digest(&self) -> u64 {
        *self.digest.get_or_init(|| {
            let mut hasher = DefaultHasher::new();
            let Self { body, device, mode, owner, accessed, modified, digest: _ } = self;
            (body, device, mode, owner, accessed, modified).hash(&mut hasher);
            hasher.finish()
        })
    }
}

/// A change of names: the new inode of each name.
pub(super) type NameChange = Vec<((u64, OsString), Option<u64>)>;

/// A snapshot of the disk. Clones share unchanged inodes, so that a snapshot of every moment can be kept.
#[derive(Clone, Debug, Default)]
pub(super) struct DiskState {
    /// Indexed by inode number; index 0 is unused.
    inodes: Vec<Option<Arc<Inode>>>,
    /// Unsynced changes of names, in the order in which they were made.
    pending: Vec<Arc<NameChange>>,
    pub(super) devices: u64,
    clock: i64,
    /// The handle that holds the lock of an inode.
    pub(super) locks: BTreeMap<u64, u64>,
    pub(super) handles: u64,
    /// Incremented when a process ends; older handles are invalid.
    pub(super) process: u64,
    pub(super) is_dead: bool,
    pub(super) calls: u64,
    pub(super) broken: Option<BrokenRule>,
    /// Set if files can be neither exchanged nor given second names.
    pub(super) is_plain: bool,
}

pub(super) fn fail<T>(error: Errno) -> io::Result<T> {
    Err(error.into())
}

impl DiskState {
    pub(super) fn new() -> Self {
        let mut state = Self { devices: 1, inodes: vec![None], ..Self::default() };
        state.make(1, 0o755, no_dir());
        state
    }

    pub(super) fn get_inode(&self, number: u64) -> Option<&Inode> {
        self.inodes.get(usize::try_from(number).ok()?)?.as_deref()
    }

    /// Returns an inode for modification, separated from other copies of the disk.
    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Inode> {
        let inode = Arc::make_mut(self.inodes.get_mut(usize::try_from(number).ok()?)?.as_mut()?);
        inode.digest = OnceLock::new();
        Some(inode)
    }

    pub(super) fn inode(&self, number: u64) -> io::Result<&Inode> {
        self.get_inode(number).ok_or_else(|| Errno::STALE.into())
    }

    fn numbers(&self) -> impl Iterator<Item = u64> + use<> {
        1..self.inodes.len() as u64
    }

    pub(super) fn names(&self, dir: u64) -> io::Result<&BTreeMap<OsString, u64>> {
        match &self.inode(dir)?.body {
            InodeBody::Dir { names, .. } => Ok(names),
            _ => fail(Errno::NOTDIR),
        }
    }

    pub(super) fn parent(&self, dir: u64) -> u64 {
        match self.get_inode(dir).map(|inode| &inode.body) {
            Some(InodeBody::Dir { parent, .. }) => *parent,
            _ => ROOT,
        }
    }

    pub(super) fn find_inode(&self, dir: u64, name: &OsStr) -> io::Result<Option<u64>> {
        let names = self.names(dir)?;
        Ok(match name.to_str() {
            Some("..") => Some(self.parent(dir)),
            Some(".") => Some(dir),
            _ => names.get(name).copied(),
        })
    }

    pub(super) fn get(&self, dir: u64, name: &OsStr) -> io::Result<u64> {
        self.find_inode(dir, name)?.ok_or_else(|| Errno::NOENT.into())
    }

    pub(super) fn tick(&mut self) -> (i64, i64) {
        self.clock += 1;
        (1_700_000_000 + self.clock / 1_000_000_000, self.clock % 1_000_000_000)
    }

    pub(super) fn make(&mut self, device: u64, mode: u32, body: InodeBody) -> u64 {
        let now = self.tick();
        let (owner, digest) = ((0, 0), OnceLock::new());
        self.inodes.push(Some(Arc::new(Inode { body, device, mode, owner, accessed: now, modified: now, digest })));
        self.inodes.len() as u64 - 1
    }

    /// Changes names in one step.
    pub(super) fn change(&mut self, change: NameChange) {
        let now = self.tick();
        for ((dir, name), inode) in &change {
            if let Some(Inode { body: InodeBody::Dir { names, .. }, modified, .. }) = self.get_mut(*dir) {
                *modified = now;
                match inode {
                    Some(inode) => names.insert(name.clone(), *inode),
                    None => names.remove(name),
                };
            }
            if let Some(InodeBody::Dir { parent, .. }) =
                inode.and_then(|inode| self.get_mut(inode)).map(|inode| &mut inode.body)
            {
                *parent = *dir;
            }
        }
        self.pending.push(Arc::new(change));
    }

    /// Syncs some of the pending changes of names and removes them from the list.
    pub(super) fn sync_changes(&mut self, kept: &BTreeSet<usize>) {
        for (at, change) in std::mem::take(&mut self.pending).into_iter().enumerate() {
            if !kept.contains(&at) {
                self.pending.push(change);
                continue;
            }
            for ((dir, name), inode) in &*change {
                if let Some(Inode { body: InodeBody::Dir { synced, .. }, .. }) = self.get_mut(*dir) {
                    match inode {
                        Some(inode) => synced.insert(name.clone(), *inode),
                        None => synced.remove(name),
                    };
                }
            }
        }
    }

    /// Adds the earlier changes that these depend on: those of the same names.
    fn needed(&self, mut kept: BTreeSet<usize>) -> BTreeSet<usize> {
        let mut names: BTreeSet<&(u64, OsString)> = BTreeSet::new();
        for at in (0..self.pending.len()).rev() {
            if kept.contains(&at) || self.pending[at].iter().any(|(name, _)| names.contains(name)) {
                kept.insert(at);
                names.extend(self.pending[at].iter().map(|(name, _)| name));
            }
        }
        kept
    }

    /// Returns whether a change moves or creates a directory, which no file system leaves with two names.
    fn is_of_dir(&self, change: &NameChange) -> bool {
        let mut inodes = change.iter().filter_map(|(_, inode)| self.get_inode((*inode)?));
        inodes.any(|inode| matches!(inode.body, InodeBody::Dir { .. }))
    }

    pub(super) fn sync(&mut self, number: u64) {
        let touches = |change: &NameChange| change.iter().any(|((dir, _), _)| *dir == number);
        let whole = |at: &usize| touches(&self.pending[*at]) && self.is_of_dir(&self.pending[*at]);
        let whole = self.needed((0..self.pending.len()).filter(whole).collect());
        self.sync_changes(&whole);
        match self.get_mut(number).map(|inode| &mut inode.body) {
            Some(InodeBody::File { bytes, synced }) => synced.clone_from(bytes),
            Some(InodeBody::Dir { names, synced, .. }) => {
                synced.clone_from(names);
                // The remaining half of a move between directories belongs to the other directory.
                for change in &mut self.pending {
                    if touches(change) {
                        Arc::make_mut(change).retain(|((dir, _), _)| *dir != number);
                    }
                }
                self.pending.retain(|change| !change.is_empty());
            }
            _ => {}
        }
    }

    pub(super) fn metadata_of(&self, number: u64) -> io::Result<EntryMetadata> {
        let Inode { body, device, mode, owner, accessed, modified, .. } = self.inode(number)?;
        let (kind, size) = match body {
            InodeBody::File { bytes, .. } => (EntryKind::File, bytes.len() as u64),
            InodeBody::Dir { .. } => (EntryKind::Dir, 0),
            InodeBody::Link(target) => (EntryKind::Symlink, target.as_os_str().len() as u64),
        };
        let above = if kind == EntryKind::Dir { self.inode(self.parent(number))?.device } else { *device };
        Ok(EntryMetadata {
            kind,
            identity: (*device, number),
            size,
            modified: *modified,
            accessed: *accessed,
            mode: *mode,
            owner: *owner,
            is_mount_point: above != *device,
        })
    }

    /// Resolves a path; a link at its end is followed if `follows` is set.
    pub(super) fn resolve(&self, path: &Path, follows: bool, links: u32) -> io::Result<u64> {
        let mut at = ROOT;
        let mut parts = path.components().filter(|part| *part != Component::RootDir).peekable();
        while let Some(part) = parts.next() {
            let next = self.get(at, part.as_os_str())?;
            let is_last = parts.peek().is_none();
            at = match &self.inode(next)?.body {
                InodeBody::Link(_) if is_last && !follows => next,
                InodeBody::Link(_) if links > 20 => return fail(Errno::LOOP),
                InodeBody::Link(target) => {
                    let above = PathBuf::from("/");
                    self.resolve(&above.join(target), true, links + 1)?
                }
                _ => next,
            };
        }
        Ok(at)
    }

    /// Returns the path of a directory without links.
    pub(super) fn path_of(&self, dir: u64) -> PathBuf {
        let (mut at, mut names) = (dir, Vec::new());
        while at != ROOT {
            let above = self.parent(at);
            let name = self.names(above).ok().and_then(|names| names.iter().find(|(_, number)| **number == at));
            names.extend(name.map(|(name, _)| name));
            at = above;
        }
        names.into_iter().rev().fold(PathBuf::from("/"), |path, name| path.join(name))
    }

    pub(super) fn check_free_way(&self, moved: u64, to: u64) -> io::Result<()> {
        let (mut at, device) = (to, self.inode(to)?.device);
        if self.inode(moved)?.device != device {
            return fail(Errno::XDEV);
        }
        loop {
            if at == moved {
                return fail(Errno::INVAL);
            }
            if at == ROOT {
                return Ok(());
            }
            at = self.parent(at);
        }
    }

    /// Syncs everything.
    pub(super) fn settle(&mut self) {
        self.sync_changes(&(0..self.pending.len()).collect());
        self.numbers().for_each(|number| self.sync(number));
    }

    /// Drops inodes that no name refers to, now or after a power loss.
    pub(super) fn collect(&mut self) {
        let mut reached = vec![false; self.inodes.len()];
        let mut open = vec![ROOT];
        open.extend(self.pending.iter().flat_map(|change| change.iter().filter_map(|(_, inode)| *inode)));
        open.extend(self.pending.iter().flat_map(|change| change.iter().map(|((dir, _), _)| *dir)));
        while let Some(number) = open.pop() {
            let Some(seen) = usize::try_from(number).ok().and_then(|at| reached.get_mut(at)) else { continue };
            if std::mem::replace(seen, true) {
                continue;
            }
            if let Some(Inode { body: InodeBody::Dir { names, synced, .. }, .. }) = self.get_inode(number) {
                open.extend(names.values().chain(synced.values()));
            }
        }
        self.inodes.iter_mut().zip(reached).filter(|(_, reached)| !reached).for_each(|(inode, _)| *inode = None);
    }

    /// Drops unsynced changes, as selected by `choose`.
    pub(super) fn lose_power(&mut self, choose: &mut dyn FnMut(usize) -> usize) {
        let mut kept = BTreeSet::new();
        let mut lost: BTreeSet<&(u64, OsString)> = BTreeSet::new();
        for (at, change) in self.pending.iter().enumerate() {
            if change.iter().any(|(name, _)| lost.contains(name)) || choose(2) == 1 {
                lost.extend(change.iter().map(|(name, _)| name));
            } else {
                kept.insert(at);
            }
        }
        self.sync_changes(&kept);
        self.pending.clear();
        let mut dirs = vec![ROOT];
        let mut reached = BTreeSet::new();
        while let Some(dir) = dirs.pop() {
            let (below, has_lost): (Vec<u64>, bool) = match self.get_inode(dir).map(|inode| &inode.body) {
                Some(InodeBody::Dir { names, synced, .. }) => (synced.values().copied().collect(), names != synced),
                _ => continue,
            };
            if has_lost && let Some(Inode { body: InodeBody::Dir { names, synced, .. }, .. }) = self.get_mut(dir) {
                names.clone_from(synced);
            }
            for number in below.into_iter().filter(|number| reached.insert(*number)) {
                match self.get_inode(number).map(|inode| &inode.body) {
                    Some(InodeBody::Dir { parent, .. }) => {
                        dirs.push(number);
                        if *parent == dir {
                            continue;
                        }
                    }
                    Some(InodeBody::File { bytes, synced }) if bytes != synced => {}
                    _ => continue,
                }
                match self.get_mut(number).map(|inode| &mut inode.body) {
                    Some(InodeBody::Dir { parent, .. }) => *parent = dir,
                    Some(InodeBody::File { bytes, synced }) => {
                        match choose(3) {
                            0 => {}
                            1 => bytes.clone_from(synced),
                            // A truncated file stays truncated; a part of appended bytes is kept.
                            _ => bytes.truncate(usize::midpoint(synced.len().min(bytes.len()), bytes.len())),
                        }
                        synced.clone_from(bytes);
                    }
                    _ => {}
                }
            }
        }
        self.collect();
    }

    /// Returns a digest of everything that the next process can observe.
    ///
    /// The numbers of future inodes and the time are left out: both only ever grow.
    pub(super) fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for (number, inode) in self.inodes.iter().enumerate() {
            if let Some(inode) = inode {
                (number, inode.digest()).hash(&mut hasher);
            }
        }
        self.pending.hash(&mut hasher);
        hasher.finish()
    }
}

pub(super) fn no_file() -> InodeBody {
    InodeBody::File { bytes: Vec::new(), synced: Vec::new() }
}

pub(super) fn no_dir() -> InodeBody {
    InodeBody::Dir { names: BTreeMap::new(), synced: BTreeMap::new(), parent: ROOT }
}
