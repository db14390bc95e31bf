//! Another process on the in-memory disk.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::disk::Handle;
use crate::disk::memory::Memory;
use crate::disk::memory::state::{DiskState, Inode, InodeBody, ROOT, no_dir};

/// Acts as another process, by paths and without calling the hook.
#[derive(Debug)]
pub struct Actor<'m>(pub(super) &'m Memory);

/// A file, directory or link, as another process reads it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActorNode {
    /// A file with its bytes.
    File(Vec<u8>),
    /// A directory.
    Dir,
    /// A symbolic link with its target.
    Link(PathBuf),
}

impl Actor<'_> {
    fn parent(state: &DiskState, path: &Path) -> Option<(u64, OsString)> {
        let dir = state.resolve(path.parent()?, true, 0).ok()?;
        Some((dir, path.file_name()?.to_owned()))
    }

    /// Creates a directory and its parents.
    pub fn make_dirs(&self, path: impl AsRef<Path>) {
        let mut above = PathBuf::new();
        for part in path.as_ref().components() {
            above.push(part);
            let mut state = self.0.state();
            if state.resolve(&above, true, 0).is_err()
                && let Some((dir, name)) = Self::parent(&state, &above)
            {
                let device = state.get_inode(dir).map_or(1, |inode| inode.device);
                let made = state.make(device, 0o755, no_dir());
                state.change(vec![((dir, name), Some(made))]);
            }
        }
    }

    /// Creates a directory that is a separate file system.
    pub fn mount(&self, path: impl AsRef<Path>) {
        self.make_dirs(&path);
        let mut state = self.0.state();
        state.devices += 1;
        let device = state.devices;
        if let Ok(number) = state.resolve(path.as_ref(), true, 0)
            && let Some(inode) = state.get_mut(number)
        {
            inode.device = device;
        }
    }

    /// Saves a file as most programs do: written under a temporary name, synced, and renamed over the old one.
    pub fn save_file(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        if let Some(dir) = path.as_ref().parent() {
            self.make_dirs(dir);
        }
        let mut state = self.0.state();
        if let Some((dir, name)) = Self::parent(&state, path.as_ref()) {
            let device = state.get_inode(dir).map_or(1, |inode| inode.device);
            let body = InodeBody::File { bytes: bytes.as_ref().to_owned(), synced: bytes.as_ref().to_owned() };
            let made = state.make(device, 0o600, body);
            state.change(vec![((dir, name), Some(made))]);
        }
    }

    /// Appends to a file, which is created if missing.
    pub fn add(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        let mut state = self.0.state();
        let Ok(number) = state.resolve(path.as_ref(), true, 0) else {
            drop(state);
            return self.save_file(path, bytes);
        };
        let now = state.tick();
        if let Some(Inode { body: InodeBody::File { bytes: all, .. }, modified, .. }) = state.get_mut(number) {
            all.extend_from_slice(bytes.as_ref());
            *modified = now;
        }
    }

    /// Removes a file, or a directory and its content.
    pub fn remove(&self, path: impl AsRef<Path>) {
        let mut state = self.0.state();
        if let Some((dir, name)) = Self::parent(&state, path.as_ref()) {
            state.change(vec![((dir, name), None)]);
        }
    }

    /// Moves a file or directory, replacing the target.
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) {
        let mut state = self.0.state();
        let places = Self::parent(&state, from.as_ref()).zip(Self::parent(&state, to.as_ref()));
        if let Some((from, to)) = places
            && let Ok(Some(moved)) = state.find_inode(from.0, &from.1)
        {
            state.change(vec![(from, None), (to, Some(moved))]);
        }
    }

    /// Creates a link at a free path.
    pub fn symlink(&self, path: impl AsRef<Path>, target: impl AsRef<Path>) {
        let mut state = self.0.state();
        if let Some((dir, name)) = Self::parent(&state, path.as_ref()) {
            let made = state.make(1, 0o777, InodeBody::Link(target.as_ref().to_owned()));
            state.change(vec![((dir, name), Some(made))]);
        }
    }

    /// Sets the modification time, in seconds since 1970.
    pub fn age(&self, path: impl AsRef<Path>, seconds: i64) {
        let mut state = self.0.state();
        if let Ok(number) = state.resolve(path.as_ref(), false, 0)
            && let Some(inode) = state.get_mut(number)
        {
            inode.modified = (seconds, 0);
        }
    }

    /// Locks a file for the lifetime of the returned handle; `None` if another handle holds the lock.
    pub fn lock(&self, path: impl AsRef<Path>) -> Option<Handle> {
        let mut state = self.0.state();
        let number = state.resolve(path.as_ref(), true, 0).ok()?;
        let handle = self.0.handle(&mut state, number);
        let holder = state.handles;
        let is_held = *state.locks.entry(number).or_insert(holder) == holder;
        drop(state);
        is_held.then_some(handle)
    }

    /// Reads a file.
    pub fn read(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let state = self.0.state();
        match &state.inode(state.resolve(path.as_ref(), true, 0).ok()?).ok()?.body {
            InodeBody::File { bytes, .. } => Some(bytes.clone()),
            _ => None,
        }
    }

    /// Copies the current state of the disk.
    pub fn fork(&self) -> Memory {
        self.0.fork()
    }

    /// Returns all files, directories and links.
    pub fn files(&self) -> BTreeMap<PathBuf, ActorNode> {
        let state = self.0.state();
        let (mut all, mut dirs) = (BTreeMap::new(), vec![(PathBuf::from("/"), ROOT)]);
        while let Some((path, dir)) = dirs.pop() {
            for (name, number) in state.names(dir).into_iter().flatten() {
                let path = path.join(name);
                let node = match state.get_inode(*number).map(|inode| &inode.body) {
                    Some(InodeBody::File { bytes, .. }) => ActorNode::File(bytes.clone()),
                    Some(InodeBody::Link(target)) => ActorNode::Link(target.clone()),
                    Some(InodeBody::Dir { .. }) => {
                        dirs.push((path.clone(), *number));
                        ActorNode::Dir
                    }
                    None => continue,
                };
                all.insert(path, node);
            }
        }
        all
    }
}
