//! A disk in memory that keeps to the rules which file systems really give, and to no more.
//!
//! * A process sees every change at once. At a crash, a change of names that was not synced may be lost, each by itself,
//!   but that a later one of the same name needs the earlier one. A sync of a directory is certain of no more than its own
//!   names: of a file's move to another one the other half may still be lost, and the file then has both names, or none.
//!   Where neither was synced, and of a directory, it is whole or lost. Of a file's bytes those since its last sync may be
//!   lost from any place on.
//!   Permissions and times are not lost: nothing is decided by those of a file that was not synced.
//! * Before each call a hook is asked, which may let it fail, or the process die, and may act itself, as another process
//!   would: by the calls of [`Actor`], which no hook is asked about.
//! * A lock goes with its handle, and every handle goes with its process.
//!
//! How a whole change is driven, from a run over a crash to the recovery:
//!
//! ```text
//! let disk = Memory::new();
//! disk.actor().put("/home/store/s.jsonl", b"one\n");         // what an agent has left
//! disk.settle();                                              // … long ago
//! disk.before_each(|call, actor| match call.number {          // faults, actors, death
//!     7 => { actor.add("/home/store/s.jsonl", b"two\n"); Verdict::Go }
//!     9 => Verdict::Fail(Errno::IO),
//!     12 => Verdict::Die,
//!     _ => Verdict::Go,
//! });
//! let result = StateDir::open_on(disk.shared(), state, now, "delete", Duration::ZERO)
//!     .and_then(|state_dir| run::run_on(&state_dir, &change, now, &|seen| None, &mut |_| {}));
//! disk.crash(|choices| 0);                                    // or `disk.restart()`: killed, nothing lost
//! let state_dir = StateDir::open_on(disk.shared(), state, now, "undo", Duration::ZERO)?;
//! undo::recover_on(&state_dir, now, &mut |record| None)?;     // then look at `disk.actor().files()`
//! ```
//!
//! `crash` asks its argument for each decision: of how many outcomes there are, which one it is. So all of them can be
//! gone through, or some be drawn. `Memory::fork` copies a disk, so that many outcomes begin at one moment.

mod actor;
mod state;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use super::{At, Disk, For, Handle, Times};
use crate::system::fsio::Look;
pub(crate) use actor::{Actor, Node};
use state::{Body, Inode, State, fail, no_dir, no_file};

/// What a hook decides about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is done.
    Go,
    /// It fails and does nothing; of a write a half is done.
    Fail(Errno),
    /// The process dies right before it: nothing that it calls from now on has an effect.
    Die,
}

/// A call that is about to be made.
#[derive(Clone, Debug)]
pub(crate) struct Call<'c> {
    /// Counted from 1 since the hook was set.
    pub(crate) number: u64,
    /// The name of the method.
    pub(crate) name: &'static str,
    /// Whether it changes something, or a sync or a lock.
    pub(crate) changes: bool,
    /// What it is called for: a name in a directory, or nothing.
    pub(crate) about: &'c OsStr,
}

type Hook = Box<dyn FnMut(&Call<'_>, &Actor<'_>) -> Verdict + Send>;

/// A rule of changes that a test breaks, to see that its explorer finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The bytes of a file are on the disk before anything relies on them.
    SyncFiles,
    /// The names in a directory are on the disk before anything relies on them.
    SyncDirs,
    /// Nothing is moved over what is there.
    KeepWhatIsThere,
    /// Only empty directories are tidied away.
    RemoveEmptyOnly,
}

/// A disk in memory; copies of this are the same disk.
#[derive(Clone)]
pub(crate) struct Memory {
    state: Arc<Mutex<State>>,
    hook: Arc<Mutex<Option<Hook>>>,
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memory")
    }
}

/// An open file or directory in memory.
#[derive(Debug)]
pub(crate) struct Open {
    inode: u64,
    number: u64,
    process: u64,
    disk: Memory,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.disk.state().locks.retain(|_, holder| *holder != self.number);
    }
}

impl Memory {
    /// Makes an empty disk.
    pub(crate) fn new() -> Self {
        Self { state: Arc::new(Mutex::new(State::new())), hook: Arc::default() }
    }

    /// Copies the disk as it is at this moment, without its hook.
    pub(crate) fn fork(&self) -> Self {
        let mut state = self.state().clone();
        state.locks.clear();
        Self { state: Arc::new(Mutex::new(state)), hook: Arc::default() }
    }

    /// Makes it one that can neither exchange two files nor give one a second name, as some file systems cannot.
    pub(crate) fn make_plain(&self) {
        self.state().is_plain = true;
    }

    /// Breaks a rule: the call that keeps to it does less, or more, than it says.
    pub(crate) fn break_rule(&self, rule: Rule) {
        self.state().broken = Some(rule);
    }

    /// Returns it as what changes are made on.
    pub(crate) fn shared(&self) -> Arc<dyn Disk> {
        Arc::new(self.clone())
    }

    /// Returns another process.
    pub(crate) fn actor(&self) -> Actor<'_> {
        Actor(self)
    }

    /// Sets what is asked before each call from now on.
    pub(crate) fn before_each(&self, hook: impl FnMut(&Call<'_>, &Actor<'_>) -> Verdict + Send + 'static) {
        self.state().calls = 0;
        *self.hook.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(hook));
    }

    /// Returns how many calls were made since the hook was set.
    pub(crate) fn calls(&self) -> u64 {
        self.state().calls
    }

    /// Puts everything on the disk.
    pub(crate) fn settle(&self) {
        self.state().settle();
    }

    /// Ends the process: its handles and locks are gone, what it has written is not. The hook is gone too.
    pub(crate) fn restart(&self) {
        *self.hook.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let mut state = self.state();
        state.process += 1;
        state.is_dead = false;
        state.locks.clear();
        state.collect();
    }

    /// Loses power: `choose` is told of how many outcomes there are and says which it is, 0 being the best each time.
    pub(crate) fn crash(&self, mut choose: impl FnMut(usize) -> usize) {
        self.restart();
        self.state().lose_power(&mut choose);
    }

    /// Returns a number that differs for what a next process could tell apart.
    pub(crate) fn digest(&self) -> u64 {
        self.state().digest()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the hook; returns what is still to be done of the call.
    fn begin(&self, name: &'static str, changes: bool, about: &OsStr) -> Result<MutexGuard<'_, State>, Errno> {
        let mut state = self.state();
        if state.is_dead {
            return Err(Errno::IO);
        }
        state.calls += 1;
        let call = Call { number: state.calls, name, changes, about };
        drop(state);
        let mut hook = self.hook.lock().unwrap_or_else(PoisonError::into_inner);
        let verdict = hook.as_mut().map_or(Verdict::Go, |hook| hook(&call, &self.actor()));
        drop(hook);
        let mut state = self.state();
        match verdict {
            Verdict::Go => Ok(state),
            Verdict::Fail(error) => Err(error),
            Verdict::Die => {
                state.is_dead = true;
                Err(Errno::IO)
            }
        }
    }

    /// Returns the inode of a handle, unless that is of a process that ended.
    fn inode(&self, state: &State, handle: &Handle) -> io::Result<u64> {
        match handle {
            Handle::Memory(open) if open.process == state.process && Arc::ptr_eq(&open.disk.state, &self.state) => {
                Ok(open.inode)
            }
            _ => fail(Errno::BADF),
        }
    }

    fn handle(&self, state: &mut State, inode: u64) -> Handle {
        state.handles += 1;
        Handle::Memory(Open { inode, number: state.handles, process: state.process, disk: self.clone() })
    }

    /// Moves something, over what is there only where that is wanted.
    fn move_to(&self, state: &mut State, from: At<'_>, to: At<'_>, replaces: bool) -> io::Result<()> {
        let (from_dir, to_dir) = (self.inode(state, from.0)?, self.inode(state, to.0)?);
        let moved = state.get(from_dir, from.1)?;
        state.check_free_way(moved, to_dir)?;
        if let Some(there) = state.find(to_dir, to.1)? {
            if !replaces {
                return fail(Errno::EXIST);
            }
            let is_dir = |number| matches!(state.get_inode(number), Some(Inode { body: Body::Dir { .. }, .. }));
            match (is_dir(moved), is_dir(there)) {
                _ if moved == there => return Ok(()),
                (false, true) => return fail(Errno::ISDIR),
                (true, false) => return fail(Errno::NOTDIR),
                (true, true) if !state.names(there)?.is_empty() => return fail(Errno::NOTEMPTY),
                _ => {}
            }
        }
        state.change(vec![((from_dir, from.1.to_owned()), None), ((to_dir, to.1.to_owned()), Some(moved))]);
        Ok(())
    }

    fn put_new(&self, state: &mut State, at: At<'_>, mode: u32, body: Body) -> io::Result<u64> {
        let dir = self.inode(state, at.0)?;
        if state.find(dir, at.1)?.is_some() {
            return fail(Errno::EXIST);
        }
        let device = state.inode(dir)?.device;
        let made = state.make(device, mode, body);
        state.change(vec![((dir, at.1.to_owned()), Some(made))]);
        Ok(made)
    }
}

impl Disk for Memory {
    fn open_dir(&self, path: &Path) -> io::Result<Handle> {
        let mut state = self.begin("open_dir", false, path.as_os_str())?;
        let inode = state.resolve(path, true, 0)?;
        state.names(inode)?;
        Ok(self.handle(&mut state, inode))
    }

    fn open_real_dir(&self, path: &Path) -> io::Result<Handle> {
        let mut state = self.begin("open_real_dir", false, path.as_os_str())?;
        let inode = state.resolve(path, true, 0)?;
        if state.path_of(inode) != path {
            return Err(io::Error::other("a directory on the way to it is a link"));
        }
        state.names(inode)?;
        Ok(self.handle(&mut state, inode))
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        let state = self.begin("real_path", false, path.as_os_str())?;
        Ok(state.path_of(state.resolve(path, true, 0)?))
    }

    fn open(&self, at: At<'_>, purpose: For) -> io::Result<Handle> {
        let makes = matches!(purpose, For::New | For::Locking);
        let mut state = self.begin("open", makes, at.1)?;
        let dir = self.inode(&state, at.0)?;
        let found = match state.find(dir, at.1)? {
            Some(_) if purpose == For::New => return fail(Errno::EXIST),
            None if makes => self.put_new(&mut state, at, 0o600, no_file())?,
            found => found.ok_or(Errno::NOENT)?,
        };
        match (&state.inode(found)?.body, purpose) {
            (Body::Link(_), _) => return Err(io::Error::other("it is a symbolic link, which is not followed")),
            (Body::Dir { .. }, For::Dir) => {}
            (_, For::Dir) => return fail(Errno::NOTDIR),
            (Body::Dir { .. }, _) => return Err(io::Error::other("it is not a regular file")),
            (Body::File { .. }, _) => {}
        }
        Ok(self.handle(&mut state, found))
    }

    fn look(&self, at: At<'_>) -> io::Result<Look> {
        let state = self.begin("look", false, at.1)?;
        state.look(state.get(self.inode(&state, at.0)?, at.1)?)
    }

    fn look_at(&self, open: &Handle) -> io::Result<Look> {
        let state = self.begin("look_at", false, OsStr::new(""))?;
        state.look(self.inode(&state, open)?)
    }

    fn list(&self, dir: &Handle) -> io::Result<Vec<OsString>> {
        let state = self.begin("list", false, OsStr::new(""))?;
        Ok(state.names(self.inode(&state, dir)?)?.keys().cloned().collect())
    }

    fn read_link(&self, at: At<'_>) -> io::Result<PathBuf> {
        let state = self.begin("read_link", false, at.1)?;
        match &state.inode(state.get(self.inode(&state, at.0)?, at.1)?)?.body {
            Body::Link(target) => Ok(target.clone()),
            _ => fail(Errno::INVAL),
        }
    }

    fn read_at(&self, file: &Handle, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.begin("read_at", false, OsStr::new(""))?;
        let Body::File { bytes, .. } = &state.inode(self.inode(&state, file)?)?.body else { return fail(Errno::ISDIR) };
        let rest = bytes.get(usize::try_from(offset).unwrap_or(usize::MAX)..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn make_dir(&self, at: At<'_>) -> io::Result<()> {
        let mut state = self.begin("make_dir", true, at.1)?;
        self.put_new(&mut state, at, 0o700, no_dir()).map(drop)
    }

    fn make_link(&self, at: At<'_>, target: &Path) -> io::Result<()> {
        let mut state = self.begin("make_link", true, at.1)?;
        self.put_new(&mut state, at, 0o777, Body::Link(target.to_owned())).map(drop)
    }

    fn add(&self, file: &Handle, bytes: &[u8]) -> io::Result<()> {
        let begun = self.begin("add", true, OsStr::new(""));
        let (mut state, bytes, result) = match begun {
            Ok(state) => (state, bytes, Ok(())),
            Err(error) => (self.state(), &bytes[..bytes.len() / 2], fail(error)),
        };
        if state.is_dead {
            return fail(Errno::IO);
        }
        let number = self.inode(&state, file)?;
        let now = state.tick();
        if let Some(Inode { body: Body::File { bytes: all, .. }, modified, .. }) = state.get_mut(number) {
            all.extend_from_slice(bytes);
            *modified = now;
        }
        result
    }

    fn cut(&self, file: &Handle, length: u64) -> io::Result<()> {
        let mut state = self.begin("cut", true, OsStr::new(""))?;
        let number = self.inode(&state, file)?;
        if let Some(Body::File { bytes, .. }) = state.get_mut(number).map(|inode| &mut inode.body) {
            bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        }
        Ok(())
    }

    fn link(&self, from: At<'_>, to: At<'_>) -> io::Result<()> {
        let mut state = self.begin("link", true, to.1)?;
        let (from_dir, to_dir) = (self.inode(&state, from.0)?, self.inode(&state, to.0)?);
        let linked = state.get(from_dir, from.1)?;
        if state.is_plain || matches!(state.inode(linked)?.body, Body::Dir { .. }) {
            return fail(Errno::PERM);
        }
        if state.inode(linked)?.device != state.inode(to_dir)?.device {
            return fail(Errno::XDEV);
        }
        if state.find(to_dir, to.1)?.is_some() {
            return fail(Errno::EXIST);
        }
        state.change(vec![((to_dir, to.1.to_owned()), Some(linked))]);
        Ok(())
    }

    fn rename(&self, from: At<'_>, to: At<'_>) -> io::Result<()> {
        let mut state = self.begin("rename", true, to.1)?;
        self.move_to(&mut state, from, to, true)
    }

    fn rename_to_free(&self, from: At<'_>, to: At<'_>) -> io::Result<()> {
        let mut state = self.begin("rename_to_free", true, to.1)?;
        let replaces = state.broken == Some(Rule::KeepWhatIsThere);
        self.move_to(&mut state, from, to, replaces)
    }

    fn exchange(&self, one: At<'_>, other: At<'_>) -> io::Result<()> {
        let mut state = self.begin("exchange", true, other.1)?;
        let (one_dir, other_dir) = (self.inode(&state, one.0)?, self.inode(&state, other.0)?);
        let (first, second) = (state.get(one_dir, one.1)?, state.get(other_dir, other.1)?);
        if state.is_plain {
            return fail(Errno::INVAL);
        }
        state.check_free_way(first, other_dir)?;
        state.check_free_way(second, one_dir)?;
        state.change(vec![((one_dir, one.1.to_owned()), Some(second)), ((other_dir, other.1.to_owned()), Some(first))]);
        Ok(())
    }

    fn unlink(&self, at: At<'_>) -> io::Result<()> {
        let mut state = self.begin("unlink", true, at.1)?;
        let dir = self.inode(&state, at.0)?;
        let found = state.get(dir, at.1)?;
        if matches!(state.inode(found)?.body, Body::Dir { .. }) {
            return fail(Errno::ISDIR);
        }
        state.change(vec![((dir, at.1.to_owned()), None)]);
        Ok(())
    }

    fn remove_dir(&self, at: At<'_>) -> io::Result<()> {
        let mut state = self.begin("remove_dir", true, at.1)?;
        let dir = self.inode(&state, at.0)?;
        if !state.names(state.get(dir, at.1)?)?.is_empty() && state.broken != Some(Rule::RemoveEmptyOnly) {
            return fail(Errno::NOTEMPTY);
        }
        state.change(vec![((dir, at.1.to_owned()), None)]);
        Ok(())
    }

    fn set_owner(&self, at: At<'_>, owner: (u32, u32)) -> io::Result<()> {
        let mut state = self.begin("set_owner", true, at.1)?;
        let number = state.get(self.inode(&state, at.0)?, at.1)?;
        if let Some(inode) = state.get_mut(number) {
            inode.owner = owner;
        }
        Ok(())
    }

    fn set_mode(&self, at: At<'_>, mode: u32) -> io::Result<()> {
        let mut state = self.begin("set_mode", true, at.1)?;
        let number = state.get(self.inode(&state, at.0)?, at.1)?;
        if let Some(inode) = state.get_mut(number) {
            inode.mode = mode & 0o7777;
        }
        Ok(())
    }

    /// Nothing in memory has any; that it may fail is what tests need.
    fn copy_extended(&self, _from: &Handle, _to: &Handle) -> io::Result<()> {
        self.begin("copy_extended", true, OsStr::new("")).map(drop).map_err(io::Error::from)
    }

    fn set_times(&self, at: At<'_>, (accessed, modified): Times) -> io::Result<()> {
        let mut state = self.begin("set_times", true, at.1)?;
        let number = state.get(self.inode(&state, at.0)?, at.1)?;
        if let Some(inode) = state.get_mut(number) {
            (inode.accessed, inode.modified) = (accessed, modified);
        }
        Ok(())
    }

    fn sync(&self, open: &Handle) -> io::Result<()> {
        let mut state = self.begin("sync", true, OsStr::new(""))?;
        let number = self.inode(&state, open)?;
        let is_dir = matches!(state.inode(number)?.body, Body::Dir { .. });
        if state.broken != Some(if is_dir { Rule::SyncDirs } else { Rule::SyncFiles }) {
            state.sync(number);
        }
        Ok(())
    }

    fn lock(&self, open: &Handle) -> io::Result<bool> {
        let mut state = self.begin("lock", true, OsStr::new(""))?;
        let (number, Handle::Memory(open)) = (self.inode(&state, open)?, open) else { return fail(Errno::BADF) };
        Ok(*state.locks.entry(number).or_insert(open.number) == open.number)
    }
}
