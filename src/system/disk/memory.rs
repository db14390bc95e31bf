//! A disk in memory that keeps to the rules which file systems really give, and to no more.
//!
//! * A process sees every change at once. At a crash, a change of names that was not synced (by a sync of a directory that
//!   it touched) may be lost, each by itself, but that a later one of the same name needs the earlier one. A rename is
//!   whole or lost, also across directories. Of a file's bytes those since its last sync may be lost from any place on.
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

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use super::{At, Disk, For, Handle, Times};
use crate::system::fsio::{Kind, Look};

/// The inode of `/`.
const ROOT: u64 = 1;

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
pub(crate) struct Call {
    /// Counted from 1 since the hook was set.
    pub(crate) number: u64,
    /// The name of the method.
    pub(crate) name: &'static str,
    /// Whether it changes something, or a sync or a lock.
    pub(crate) changes: bool,
    /// What it is called for: a name in a directory, or nothing.
    pub(crate) about: OsString,
}

type Hook = Box<dyn FnMut(&Call, &Actor<'_>) -> Verdict + Send>;

#[derive(Clone, Debug)]
enum Body {
    File { bytes: Vec<u8>, synced: Vec<u8> },
    Dir { names: BTreeMap<OsString, u64>, synced: BTreeMap<OsString, u64>, parent: u64 },
    Link(PathBuf),
}

#[derive(Clone, Debug)]
struct Inode {
    body: Body,
    device: u64,
    mode: u32,
    owner: (u32, u32),
    accessed: (i64, i64),
    modified: (i64, i64),
}

/// A change of names: what each is afterwards.
type Names = Vec<((u64, OsString), Option<u64>)>;

#[derive(Clone, Debug, Default)]
struct State {
    inodes: BTreeMap<u64, Inode>,
    /// Changes of names that are not synced, in the order that they were made in.
    pending: Vec<Names>,
    next: u64,
    devices: u64,
    clock: i64,
    /// Which handle has the lock of an inode.
    locks: BTreeMap<u64, u64>,
    handles: u64,
    /// Counted up when a process ends; older handles are of no use.
    process: u64,
    is_dead: bool,
    calls: u64,
    broken: Option<Rule>,
}

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

/// Another process, which acts by whole paths and is asked about nothing.
#[derive(Debug)]
pub(crate) struct Actor<'m>(&'m Memory);

fn fail<T>(error: Errno) -> io::Result<T> {
    Err(error.into())
}

impl State {
    fn inode(&self, number: u64) -> io::Result<&Inode> {
        self.inodes.get(&number).ok_or_else(|| Errno::STALE.into())
    }

    fn names(&self, dir: u64) -> io::Result<&BTreeMap<OsString, u64>> {
        match &self.inode(dir)?.body {
            Body::Dir { names, .. } => Ok(names),
            _ => fail(Errno::NOTDIR),
        }
    }

    fn parent(&self, dir: u64) -> u64 {
        match self.inodes.get(&dir).map(|inode| &inode.body) {
            Some(Body::Dir { parent, .. }) => *parent,
            _ => ROOT,
        }
    }

    fn find(&self, dir: u64, name: &OsStr) -> io::Result<Option<u64>> {
        let names = self.names(dir)?;
        Ok(match name.to_str() {
            Some("..") => Some(self.parent(dir)),
            Some(".") => Some(dir),
            _ => names.get(name).copied(),
        })
    }

    fn get(&self, dir: u64, name: &OsStr) -> io::Result<u64> {
        self.find(dir, name)?.ok_or_else(|| Errno::NOENT.into())
    }

    fn tick(&mut self) -> (i64, i64) {
        self.clock += 1;
        (1_700_000_000 + self.clock / 1_000_000_000, self.clock % 1_000_000_000)
    }

    fn make(&mut self, device: u64, mode: u32, body: Body) -> u64 {
        self.next += 1;
        let now = self.tick();
        let inode = Inode { body, device, mode, owner: (0, 0), accessed: now, modified: now };
        self.inodes.insert(self.next, inode);
        self.next
    }

    /// Changes names in one step.
    fn change(&mut self, change: Names) {
        let now = self.tick();
        for ((dir, name), inode) in &change {
            if let Some(Inode { body: Body::Dir { names, .. }, modified, .. }) = self.inodes.get_mut(dir) {
                *modified = now;
                match inode {
                    Some(inode) => names.insert(name.clone(), *inode),
                    None => names.remove(name),
                };
            }
            if let Some(Body::Dir { parent, .. }) =
                inode.and_then(|inode| self.inodes.get_mut(&inode)).map(|inode| &mut inode.body)
            {
                *parent = *dir;
            }
        }
        self.pending.push(change);
    }

    /// Puts some of the changes of names on the disk, and drops them from those that are pending.
    fn keep(&mut self, kept: &BTreeSet<usize>) {
        for (at, change) in std::mem::take(&mut self.pending).into_iter().enumerate() {
            if !kept.contains(&at) {
                self.pending.push(change);
                continue;
            }
            for ((dir, name), inode) in change {
                if let Some(Inode { body: Body::Dir { synced, .. }, .. }) = self.inodes.get_mut(&dir) {
                    match inode {
                        Some(inode) => synced.insert(name, inode),
                        None => synced.remove(&name),
                    };
                }
            }
        }
    }

    /// Adds the earlier changes that these need: those of the same names.
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

    fn sync(&mut self, number: u64) {
        match self.inodes.get_mut(&number).map(|inode| &mut inode.body) {
            Some(Body::File { bytes, synced }) => synced.clone_from(bytes),
            Some(Body::Dir { .. }) => {
                let touching = |change: &Names| change.iter().any(|((dir, _), _)| *dir == number);
                let kept = (0..self.pending.len()).filter(|at| touching(&self.pending[*at])).collect();
                let kept = self.needed(kept);
                self.keep(&kept);
            }
            _ => {}
        }
    }

    fn look(&self, number: u64) -> io::Result<Look> {
        let Inode { body, device, mode, owner, accessed, modified } = self.inode(number)?;
        let (kind, size) = match body {
            Body::File { bytes, .. } => (Kind::File, bytes.len() as u64),
            Body::Dir { .. } => (Kind::Dir, 0),
            Body::Link(target) => (Kind::Symlink, target.as_os_str().len() as u64),
        };
        let above = if kind == Kind::Dir { self.inode(self.parent(number))?.device } else { *device };
        Ok(Look {
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

    /// Finds what a path leads to; a link at its end is followed where that is wanted.
    fn resolve(&self, path: &Path, follows: bool, links: u32) -> io::Result<u64> {
        let mut at = ROOT;
        let mut parts = path.components().filter(|part| *part != Component::RootDir).peekable();
        while let Some(part) = parts.next() {
            let next = self.get(at, part.as_os_str())?;
            let is_last = parts.peek().is_none();
            at = match &self.inode(next)?.body {
                Body::Link(_) if is_last && !follows => next,
                Body::Link(_) if links > 20 => return fail(Errno::LOOP),
                Body::Link(target) => {
                    let above = PathBuf::from("/");
                    self.resolve(&above.join(target), true, links + 1)?
                }
                _ => next,
            };
        }
        Ok(at)
    }

    fn check_free_way(&self, moved: u64, to: u64) -> io::Result<()> {
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
}

impl Memory {
    /// Makes an empty disk.
    pub(crate) fn new() -> Self {
        let body = Body::Dir { names: BTreeMap::new(), synced: BTreeMap::new(), parent: ROOT };
        let mut state = State { devices: 1, ..State::default() };
        state.make(1, 0o755, body);
        Self { state: Arc::new(Mutex::new(state)), hook: Arc::default() }
    }

    /// Copies the disk as it is at this moment, without its hook.
    pub(crate) fn fork(&self) -> Self {
        let mut state = self.state().clone();
        state.locks.clear();
        Self { state: Arc::new(Mutex::new(state)), hook: Arc::default() }
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
    pub(crate) fn before_each(&self, hook: impl FnMut(&Call, &Actor<'_>) -> Verdict + Send + 'static) {
        self.state().calls = 0;
        *self.hook.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(hook));
    }

    /// Returns how many calls were made since the hook was set.
    pub(crate) fn calls(&self) -> u64 {
        self.state().calls
    }

    /// Puts everything on the disk.
    pub(crate) fn settle(&self) {
        let mut state = self.state();
        let all = (0..state.pending.len()).collect();
        state.keep(&all);
        let numbers: Vec<u64> = state.inodes.keys().copied().collect();
        numbers.into_iter().for_each(|number| state.sync(number));
    }

    /// Ends the process: its handles and locks are gone, what it has written is not. The hook is gone too.
    pub(crate) fn restart(&self) {
        *self.hook.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let mut state = self.state();
        state.process += 1;
        state.is_dead = false;
        state.locks.clear();
    }

    /// Loses power: `choose` is told of how many outcomes there are and says which it is, 0 being the best each time.
    pub(crate) fn crash(&self, mut choose: impl FnMut(usize) -> usize) {
        self.restart();
        let mut state = self.state();
        let mut kept = BTreeSet::new();
        let mut lost: BTreeSet<(u64, OsString)> = BTreeSet::new();
        for at in 0..state.pending.len() {
            let names: Vec<_> = state.pending[at].iter().map(|(name, _)| name.clone()).collect();
            if names.iter().any(|name| lost.contains(name)) || choose(2) == 1 {
                lost.extend(names);
            } else {
                kept.insert(at);
            }
        }
        state.keep(&kept);
        state.pending.clear();
        let mut reached = BTreeSet::from([ROOT]);
        let mut dirs = vec![ROOT];
        while let Some(dir) = dirs.pop() {
            let Some(Inode { body: Body::Dir { names, synced, .. }, .. }) = state.inodes.get_mut(&dir) else {
                continue;
            };
            names.clone_from(synced);
            let below: Vec<u64> = names.values().copied().collect();
            for number in below {
                reached.insert(number);
                match state.inodes.get_mut(&number).map(|inode| &mut inode.body) {
                    Some(Body::Dir { parent, .. }) => {
                        *parent = dir;
                        dirs.push(number);
                    }
                    Some(Body::File { bytes, synced }) if bytes != synced => {
                        match choose(3) {
                            0 => {}
                            1 => bytes.clone_from(synced),
                            // All of one that was cut, or a part of what was added.
                            _ => bytes.truncate(usize::midpoint(synced.len().min(bytes.len()), bytes.len())),
                        }
                        synced.clone_from(bytes);
                    }
                    _ => {}
                }
            }
        }
        state.inodes.retain(|number, _| reached.contains(number));
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
        let call = Call { number: state.calls, name, changes, about: about.to_owned() };
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
            let is_dir = |number| matches!(state.inodes.get(&number), Some(Inode { body: Body::Dir { .. }, .. }));
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

fn no_file() -> Body {
    Body::File { bytes: Vec::new(), synced: Vec::new() }
}

fn no_dir() -> Body {
    Body::Dir { names: BTreeMap::new(), synced: BTreeMap::new(), parent: ROOT }
}

impl Disk for Memory {
    fn open_dir(&self, path: &Path) -> io::Result<Handle> {
        let mut state = self.begin("open_dir", false, path.as_os_str())?;
        let inode = state.resolve(path, true, 0)?;
        state.names(inode)?;
        Ok(self.handle(&mut state, inode))
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
        if let Some(Inode { body: Body::File { bytes: all, .. }, modified, .. }) = state.inodes.get_mut(&number) {
            all.extend_from_slice(bytes);
            *modified = now;
        }
        result
    }

    fn cut(&self, file: &Handle, length: u64) -> io::Result<()> {
        let mut state = self.begin("cut", true, OsStr::new(""))?;
        let number = self.inode(&state, file)?;
        if let Some(Body::File { bytes, .. }) = state.inodes.get_mut(&number).map(|inode| &mut inode.body) {
            bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        }
        Ok(())
    }

    fn link(&self, from: At<'_>, to: At<'_>) -> io::Result<()> {
        let mut state = self.begin("link", true, to.1)?;
        let (from_dir, to_dir) = (self.inode(&state, from.0)?, self.inode(&state, to.0)?);
        let linked = state.get(from_dir, from.1)?;
        if matches!(state.inode(linked)?.body, Body::Dir { .. }) {
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
        state.inodes.entry(number).and_modify(|inode| inode.owner = owner);
        Ok(())
    }

    fn set_mode(&self, at: At<'_>, mode: u32) -> io::Result<()> {
        let mut state = self.begin("set_mode", true, at.1)?;
        let number = state.get(self.inode(&state, at.0)?, at.1)?;
        state.inodes.entry(number).and_modify(|inode| inode.mode = mode & 0o7777);
        Ok(())
    }

    /// Nothing in memory has any; that it may fail is what tests need.
    fn copy_extended(&self, _from: &Handle, _to: &Handle) -> io::Result<()> {
        self.begin("copy_extended", true, OsStr::new("")).map(drop).map_err(io::Error::from)
    }

    fn set_times(&self, at: At<'_>, (accessed, modified): Times) -> io::Result<()> {
        let mut state = self.begin("set_times", true, at.1)?;
        let number = state.get(self.inode(&state, at.0)?, at.1)?;
        state.inodes.entry(number).and_modify(|inode| (inode.accessed, inode.modified) = (accessed, modified));
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

/// What something is, as an actor sees it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Node {
    File(Vec<u8>),
    Dir,
    Link(PathBuf),
}

impl Actor<'_> {
    fn parent(state: &State, path: &Path) -> Option<(u64, OsString)> {
        let dir = state.resolve(path.parent()?, true, 0).ok()?;
        Some((dir, path.file_name()?.to_owned()))
    }

    /// Makes a directory and those above it.
    pub(crate) fn make_dirs(&self, path: impl AsRef<Path>) {
        let mut above = PathBuf::new();
        for part in path.as_ref().components() {
            above.push(part);
            let mut state = self.0.state();
            if state.resolve(&above, true, 0).is_err()
                && let Some((dir, name)) = Self::parent(&state, &above)
            {
                let device = state.inodes[&dir].device;
                let made = state.make(device, 0o755, no_dir());
                state.change(vec![((dir, name), Some(made))]);
            }
        }
    }

    /// Makes a directory that is another file system.
    pub(crate) fn mount(&self, path: impl AsRef<Path>) {
        self.make_dirs(&path);
        let mut state = self.0.state();
        state.devices += 1;
        let device = state.devices;
        if let Ok(number) = state.resolve(path.as_ref(), true, 0) {
            state.inodes.entry(number).and_modify(|inode| inode.device = device);
        }
    }

    /// Writes a file anew, as most programs save: beside its place, then over what is there.
    pub(crate) fn put(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        if let Some(dir) = path.as_ref().parent() {
            self.make_dirs(dir);
        }
        let mut state = self.0.state();
        if let Some((dir, name)) = Self::parent(&state, path.as_ref()) {
            let device = state.inodes[&dir].device;
            let body = Body::File { bytes: bytes.as_ref().to_owned(), synced: Vec::new() };
            let made = state.make(device, 0o600, body);
            state.change(vec![((dir, name), Some(made))]);
        }
    }

    /// Adds to a file, which is made where there is none.
    pub(crate) fn add(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        let mut state = self.0.state();
        let Ok(number) = state.resolve(path.as_ref(), true, 0) else {
            drop(state);
            return self.put(path, bytes);
        };
        let now = state.tick();
        if let Some(Inode { body: Body::File { bytes: all, .. }, modified, .. }) = state.inodes.get_mut(&number) {
            all.extend_from_slice(bytes.as_ref());
            *modified = now;
        }
    }

    /// Removes something with all that is in it.
    pub(crate) fn remove(&self, path: impl AsRef<Path>) {
        let mut state = self.0.state();
        if let Some((dir, name)) = Self::parent(&state, path.as_ref()) {
            state.change(vec![((dir, name), None)]);
        }
    }

    /// Moves something over what is there.
    pub(crate) fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) {
        let mut state = self.0.state();
        let places = Self::parent(&state, from.as_ref()).zip(Self::parent(&state, to.as_ref()));
        if let Some((from, to)) = places
            && let Ok(Some(moved)) = state.find(from.0, &from.1)
        {
            state.change(vec![(from, None), (to, Some(moved))]);
        }
    }

    /// Puts a link where nothing is.
    pub(crate) fn symlink(&self, path: impl AsRef<Path>, target: impl AsRef<Path>) {
        let mut state = self.0.state();
        if let Some((dir, name)) = Self::parent(&state, path.as_ref()) {
            let made = state.make(1, 0o777, Body::Link(target.as_ref().to_owned()));
            state.change(vec![((dir, name), Some(made))]);
        }
    }

    /// Sets the time that something was modified at, in seconds since 1970.
    pub(crate) fn age(&self, path: impl AsRef<Path>, seconds: i64) {
        let mut state = self.0.state();
        if let Ok(number) = state.resolve(path.as_ref(), false, 0) {
            state.inodes.entry(number).and_modify(|inode| inode.modified = (seconds, 0));
        }
    }

    /// Takes the lock of a file for as long as what is returned lives; `None` when somebody else has it.
    pub(crate) fn lock(&self, path: impl AsRef<Path>) -> Option<Handle> {
        let mut state = self.0.state();
        let number = state.resolve(path.as_ref(), true, 0).ok()?;
        let handle = self.0.handle(&mut state, number);
        let holder = state.handles;
        let is_held = *state.locks.entry(number).or_insert(holder) == holder;
        drop(state);
        is_held.then_some(handle)
    }

    /// Reads a file.
    pub(crate) fn read(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let state = self.0.state();
        match &state.inode(state.resolve(path.as_ref(), true, 0).ok()?).ok()?.body {
            Body::File { bytes, .. } => Some(bytes.clone()),
            _ => None,
        }
    }

    /// Returns everything that there is.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Node> {
        let state = self.0.state();
        let (mut all, mut dirs) = (BTreeMap::new(), vec![(PathBuf::from("/"), ROOT)]);
        while let Some((path, dir)) = dirs.pop() {
            for (name, number) in state.names(dir).into_iter().flatten() {
                let path = path.join(name);
                let node = match state.inodes.get(number).map(|inode| &inode.body) {
                    Some(Body::File { bytes, .. }) => Node::File(bytes.clone()),
                    Some(Body::Link(target)) => Node::Link(target.clone()),
                    Some(Body::Dir { .. }) => {
                        dirs.push((path.clone(), *number));
                        Node::Dir
                    }
                    None => continue,
                };
                all.insert(path, node);
            }
        }
        all
    }
}
