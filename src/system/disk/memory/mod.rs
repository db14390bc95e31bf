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
pub(crate) use actor::{Actor, Node};
pub(crate) use every_fault::{ERRORS, with_every_fault};
pub(crate) use loss::{Draw, crash, losses};
use state::{State, fail};

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
}
