//! From chunks back to files: for a restore, and for as long as an archived session is read.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::fault::Fault;
use super::tree;
use crate::archive::manifest::{Entry, Node};
use crate::archive::{Archive, Manifest};
use crate::env::Env;
use crate::error::{Exit, PathError, Refusal};
use crate::plan::change::hex;

/// What the names of the directories begin with that archived sessions are unpacked in to be read.
const PREFIX: &str = "rejoin-shown-";

/// The chosen copy of an archived session, unpacked in a private directory that goes when this is dropped.
///
/// What a killed process leaves is removed by the next run that changes something, or that unpacks in the same place.
#[derive(Debug)]
pub struct Unpacked {
    dir: PathBuf,
    fault: Fault,
    /// As long as it is locked, no other run takes it for left over.
    _lock: OwnedFd,
}

impl Unpacked {
    /// Unpacks below the state directory, or where nothing can be written there, in the system's temporary directory.
    ///
    /// Every content is checked. Fails with `archive-damaged` at the first chunk that is damaged.
    pub fn of(manifest: &Manifest, archive: &Archive, env: &Env) -> anyhow::Result<Self> {
        let fault = Fault::from_env(env);
        let (dir, lock) = made(env, &fault)?;
        let unpacked = Self { dir, fault, _lock: lock };
        unpacked.fill(manifest, archive)?;
        Ok(unpacked)
    }

    /// Returns the directory, in which everything lies as below the root of its store.
    pub fn root(&self) -> &Path {
        &self.dir
    }

    fn fill(&self, manifest: &Manifest, archive: &Archive) -> anyhow::Result<()> {
        let store = manifest.copies[0].store;
        for entry in manifest.entries.iter().filter(|entry| entry.store == store) {
            let path = self.dir.join(&entry.path);
            self.entry(&path, entry, archive).map_err(|trouble| match trouble {
                Trouble::Damaged(why) => anyhow::Error::from(damaged(manifest, &why)),
                Trouble::System(error) => PathError::new("unpack", &path, error).into(),
            })?;
        }
        Ok(())
    }

    fn entry(&self, path: &Path, entry: &Entry, archive: &Archive) -> Result<(), Trouble> {
        self.fault.point()?;
        match &entry.node {
            // Nothing is read through a link, so none is made.
            Node::Link { .. } => Ok(()),
            Node::Dir => Ok(tree::make_private_dirs(path)?),
            Node::File { sha256, chunks, .. } => {
                tree::make_private_dirs(path.parent().unwrap_or(path))?;
                unpack(&tree::create(path)?, &entry.path, (sha256, chunks), archive, &self.fault)
            }
        }
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        // What could not be removed now, a later run removes.
        let _ = tree::remove(&self.dir, &self.fault);
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
pub(super) fn clear_left(base: &Path, fault: &Fault) -> io::Result<()> {
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

/// Why something cannot be unpacked.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The archive is damaged, in these words.
    Damaged(String),
    /// The system refuses.
    System(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl From<Trouble> for io::Error {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Damaged(why) => Self::other(why),
            Trouble::System(error) => error,
        }
    }
}

/// Writes the content of an entry, a SHA-256 and the chunks, each chunk and the whole of it checked.
pub(super) fn unpack(
    mut file: &File,
    path: &Path,
    (sha256, chunks): (&str, &[String]),
    archive: &Archive,
    fault: &Fault,
) -> Result<(), Trouble> {
    let mut digest = Sha256::new();
    for name in chunks {
        let chunk = archive
            .chunk(name)
            .map_err(|fault| Trouble::Damaged(format!("blob {}: {fault}", archive.blob(name).display())))?;
        digest.update(&chunk);
        fault.point()?;
        file.write_all(&chunk)?;
    }
    if hex(&digest.finalize()) != sha256 {
        return Err(Trouble::Damaged(format!("the chunks of {} do not add up to it", path.display())));
    }
    Ok(())
}

/// Refuses a session of which something is damaged, as these words say.
pub fn damaged(manifest: &Manifest, why: &str) -> Refusal {
    let (agent, id) = (manifest.agent, &manifest.id);
    let message = format!("{agent} session {id} is damaged in the archive: {why}");
    Refusal::new(Exit::Failure, "archive-damaged", message).hint("`rejoin archive --verify` names every damage")
}
