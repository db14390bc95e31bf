//! A private directory for one process, locked for as long as it lives: there an archived session is read.
//!
//! What a killed process leaves is removed by the next run that changes something, or that makes one in the same place.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

use crate::change::apply::fault::Fault;
use crate::change::apply::tree;
use crate::error::{Exit, PathError, Refusal};
use crate::system::env::Env;

/// What the names of these directories begin with.
const PREFIX: &str = "rejoin-shown-";

/// A private directory that goes when this is dropped.
#[derive(Debug)]
pub(crate) struct PrivateDir {
    path: PathBuf,
    fault: Fault,
    /// As long as it is locked, no other run takes it for left over.
    _lock: OwnedFd,
}

impl PrivateDir {
    /// Makes one below the state directory, or where nothing can be written there, in the system's temporary directory.
    pub(crate) fn make(env: &Env, fault: Fault) -> Result<Self, Refusal> {
        let (path, lock) = made(env, &fault)?;
        Ok(Self { path, fault, _lock: lock })
    }

    /// Returns where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateDir {
    fn drop(&mut self) {
        // What could not be removed now, a later run removes.
        let _ = tree::remove(&self.path, &self.fault);
    }
}

/// Makes a private directory and locks it.
fn made(env: &Env, fault: &Fault) -> Result<(PathBuf, OwnedFd), Refusal> {
    let state = env.state_dir();
    let in_state = fault
        .point()
        .and_then(|()| tree::make_private_dirs(&state))
        .map_err(|error| PathError::new("make", &state, error))
        .and_then(|()| made_in(&state, fault));
    // A home may be there to be read only.
    in_state.or_else(|in_state| {
        made_in(&env.temp_dir(), fault).map_err(|error| {
            let message = format!("there is no room to unpack the session: {in_state}; {error}");
            Refusal::new(Exit::Failure, "no-room", message).hint("TMPDIR names another directory for it")
        })
    })
}

fn made_in(base: &Path, fault: &Fault) -> Result<(PathBuf, OwnedFd), PathError> {
    // What is left over harms nobody.
    let _ = clear_left(base, fault);
    let mut number = 0_u64;
    loop {
        let dir = base.join(format!("{PREFIX}{}-{number}", std::process::id()));
        let fail = |error| PathError::new("make", &dir, error);
        number += 1;
        match fault.point().and_then(|()| tree::make_private_dir(&dir)) {
            // A process of the same number, in another container or long ago.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            made => made.map_err(fail)?,
        }
        match hold(&dir) {
            Ok(Some(lock)) => return Ok((dir, lock)),
            // A run that removes what is left over was faster.
            Ok(None) => {}
            Err(error) => {
                // Without locks nobody could tell later that it is left over.
                let _ = tree::remove(&dir, fault);
                return Err(fail(error));
            }
        }
    }
}

/// Removes the directories that no living process has.
pub(crate) fn clear_left(base: &Path, fault: &Fault) -> io::Result<()> {
    let entries = match std::fs::read_dir(base) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if !entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let metadata = entry.path().symlink_metadata()?;
        // The system's temporary directory is everybody's.
        let is_own = metadata.is_dir() && metadata.uid() == rustix::process::geteuid().as_raw();
        if is_own && let Some(_lock) = hold(&entry.path())? {
            tree::remove(&entry.path(), fault)?;
        }
    }
    Ok(())
}

/// Takes a directory for this process; `None` when another has it, or it is gone.
fn hold(dir: &Path) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = match rustix::fs::open(dir, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        handle => handle?,
    };
    match flock(&handle, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Ok(None),
        locked => locked?,
    }
    // It may have been removed before it was locked.
    let held = File::from(handle);
    let is_there = match dir.symlink_metadata() {
        Ok(now) => held.metadata().map(|held| (held.dev(), held.ino()) == (now.dev(), now.ino()))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    Ok(is_there.then(|| held.into()))
}
