//! An in-memory disk that gives exactly the guarantees of real file systems, and no more.
//!
//! * A process sees every change at once. In a crash, each unsynced change of names may be lost independently, except that
//!   a later change of a name needs the earlier one. A sync of a directory guarantees its own names only: if a file was
//!   moved to another directory, the other half of the move may still be lost, and the file then has both names, or none.
//!   If neither directory was synced, or a directory was moved, the move happens completely or not at all. The bytes
//!   written to a file since its last sync may be lost from any offset.
//!   Permissions and times are not lost: no decision depends on those of an unsynced file.
//! * Before each call, a hook is called. It may make the call fail or the process die, and may change files as another
//!   process would, with the calls of [`Actor`], which do not call the hook.
//! * A lock is released with its handle, and every handle with its process.
//!
//! A whole change, from a run over a crash to the recovery:
//!
//! ```text
//! let disk = Memory::new();
//! disk.actor().put("/home/store/s.jsonl", b"one\n");         // what a program has left
//! disk.settle();                                              // … long ago
//! disk.before_each(|call, actor| match call.number {          // faults, actors, death
//!     7 => { actor.add("/home/store/s.jsonl", b"two\n"); HookVerdict::Go }
//!     9 => HookVerdict::Fail(Errno::IO),
//!     12 => HookVerdict::Die,
//!     _ => HookVerdict::Go,
//! });
//! let state_dir = StateDir::open(disk.shared(), (state, bounds), now, "delete", Duration::ZERO)?;
//! let result = run::run(&state_dir, ("delete", &items), now, &|item| None, &mut |_| {});
//! disk.crash(|choices| 0);                                    // or `disk.restart()`: killed, nothing lost
//! let state_dir = StateDir::open(disk.shared(), (state, bounds), now, "undo", Duration::ZERO)?;
//! undo::recover(&state_dir, now, &mut |record| None)?;     // then look at `disk.actor().files()`
//! ```
//!
//! `crash` calls its argument for each decision with the number of outcomes, and the argument returns the index of one. So
//! all outcomes can be enumerated, or some drawn. `Memory::fork` copies a disk, so that many outcomes start at one moment.
mod actor;
mod calls;
mod every_fault;
mod loss;
mod state;

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use super::{Disk, Handle};
pub use actor::{Actor, ActorNode};
pub use every_fault::{ERRORS, with_every_fault};
pub use loss::{Draw, crash, losses};
use state::{DiskState, fail};

/// A hook's decision about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookVerdict {
    /// Lets the call proceed.
    Go,
    /// The call fails without an effect, except that a write writes one half.
    Fail(Errno),
    /// The process dies right before the call: no later call has an effect.
    Die,
}

/// A call before it is made.
#[derive(Clone, Debug)]
pub struct DiskCall<'c> {
    /// Counted from 1 since the hook was set.
    pub number: u64,
    /// The name of the method.
    pub name: &'static str,
    /// True if the call changes something, or is a sync or a lock.
    pub changes: bool,
    /// The argument of the call: a name in a directory, or empty.
    pub about: &'c OsStr,
}

type CallHook = Box<dyn FnMut(&DiskCall<'_>, &Actor<'_>) -> HookVerdict + Send>;

/// A rule of changes that a test breaks, to check that its explorer detects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenRule {
    /// The bytes of a file are synced before anything relies on them.
    SyncFiles,
    /// The names in a directory are synced before anything relies on them.
    SyncDirs,
    /// No move replaces a file.
    KeepWhatIsThere,
    /// Only empty directories are removed.
    RemoveEmptyOnly,
}

/// An in-memory disk; clones share the disk.
#[derive(Clone)]
pub struct Memory {
    state: Arc<Mutex<DiskState>>,
    hook: Arc<Mutex<Option<CallHook>>>,
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memory")
    }
}

/// An open file or directory in memory.
#[derive(Debug)]
pub struct Open {
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

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Memory {
    /// Creates an empty disk.
    pub fn new() -> Self {
        Self { state: Arc::new(Mutex::new(DiskState::new())), hook: Arc::default() }
    }

    /// Copies the current state of the disk, without its hook.
    pub fn fork(&self) -> Self {
        let mut state = self.state().clone();
        state.locks.clear();
        Self { state: Arc::new(Mutex::new(state)), hook: Arc::default() }
    }

    /// Disables the exchange of two files and hard links, which some file systems do not support.
    pub fn make_plain(&self) {
        self.state().is_plain = true;
    }

    /// Breaks a rule: the call that follows it does less, or more, than documented.
    pub fn break_rule(&self, rule: BrokenRule) {
        self.state().broken = Some(rule);
    }

    /// Returns the disk as a trait object.
    pub fn shared(&self) -> Arc<dyn Disk> {
        Arc::new(self.clone())
    }

    /// Returns an actor that acts as another process on this disk.
    pub fn actor(&self) -> Actor<'_> {
        Actor(self)
    }

    /// Sets the hook that is called before each call from now on.
    pub fn before_each(&self, hook: impl FnMut(&DiskCall<'_>, &Actor<'_>) -> HookVerdict + Send + 'static) {
        self.state().calls = 0;
        *self.hook.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(hook));
    }

    /// Returns the number of calls since the hook was set.
    pub fn calls(&self) -> u64 {
        self.state().calls
    }

    /// Syncs everything.
    pub fn settle(&self) {
        self.state().settle();
    }

    /// Ends the process: its handles, its locks and the hook are gone, but not the data it wrote.
    pub fn restart(&self) {
        *self.hook.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let mut state = self.state();
        state.process += 1;
        state.is_dead = false;
        state.locks.clear();
        state.collect();
    }

    /// Simulates a power loss: `choose` gets the number of outcomes of each decision and returns the index of one; 0 is
    /// the best.
    pub fn crash(&self, mut choose: impl FnMut(usize) -> usize) {
        self.restart();
        self.state().lose_power(&mut choose);
    }

    /// Returns a digest of everything that the next process can observe.
    pub fn digest(&self) -> u64 {
        self.state().digest()
    }

    fn state(&self) -> MutexGuard<'_, DiskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the hook; returns the state if the call is to be made.
    fn begin(&self, name: &'static str, changes: bool, about: &OsStr) -> Result<MutexGuard<'_, DiskState>, Errno> {
        let mut state = self.state();
        if state.is_dead {
            return Err(Errno::IO);
        }
        state.calls += 1;
        let call = DiskCall { number: state.calls, name, changes, about };
        drop(state);
        let mut hook = self.hook.lock().unwrap_or_else(PoisonError::into_inner);
        let verdict = hook.as_mut().map_or(HookVerdict::Go, |hook| hook(&call, &self.actor()));
        drop(hook);
        let mut state = self.state();
        match verdict {
            HookVerdict::Go => Ok(state),
            HookVerdict::Fail(error) => Err(error),
            HookVerdict::Die => {
                state.is_dead = true;
                Err(Errno::IO)
            }
        }
    }

    /// Returns the inode of a handle; fails if the process of the handle has ended.
    fn inode(&self, state: &DiskState, handle: &Handle) -> io::Result<u64> {
        match handle {
            Handle::Memory(open) if open.process == state.process && Arc::ptr_eq(&open.disk.state, &self.state) => {
                Ok(open.inode)
            }
            _ => fail(Errno::BADF),
        }
    }

    fn handle(&self, state: &mut DiskState, inode: u64) -> Handle {
        state.handles += 1;
        Handle::Memory(Open { inode, number: state.handles, process: state.process, disk: self.clone() })
    }
}
