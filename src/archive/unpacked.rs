//! Unpacks chunks into files: for a restore, and temporarily to read an archived session.

use std::io;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::archive::manifest::{EntryContent, ManifestEntry};
use crate::archive::{Archive, MachineDir, Manifest, rows};
use crate::change::apply::private_dir;
use crate::error::{PathError, Refusal, RefusalCode};
use crate::format::sqlite::rows::rebuild;
use crate::format::text::hex;
use crate::system::disk::{self, Access, Disk, For, Handle, Sparse};
use crate::system::env::Env;
use changes::private_dir::PrivateDir;

/// The chosen copy of an archived session, unpacked in a private directory that is removed on drop.
#[derive(Debug)]
pub(crate) struct UnpackedSession {
    dir: PrivateDir,
}

impl UnpackedSession {
    /// Unpacks below the state directory, or in the system's temporary directory if the state directory is not
    /// writable.
    ///
    /// Checks all content. Fails with `archive-damaged` at the first damaged chunk.
    pub(crate) fn unpack(manifest: &Manifest, archive: &Archive, env: &Env) -> anyhow::Result<Self> {
        Self::of_store(manifest, manifest.copies[0].store, |_| true, archive, env)
    }

    /// Like [`Self::unpack`], for one store; files that `is_wanted` rejects are left empty.
    pub(super) fn of_store(
        manifest: &Manifest,
        store: usize,
        is_wanted: impl Fn(&ManifestEntry) -> bool,
        archive: &Archive,
        env: &Env,
    ) -> anyhow::Result<Self> {
        let unpacked = Self { dir: private_dir::make(env)? };
        let dir = archive.dir_of(manifest);
        for entry in manifest.entries.iter().filter(|entry| entry.store == store) {
            let path = unpacked.root().join(&entry.path);
            let made = unpacked.entry(&path, entry, is_wanted(entry), &dir);
            made.map_err(|error| match error {
                UnpackError::Damaged(why) => anyhow::Error::from(damaged(manifest, &why, archive, env)),
                UnpackError::System(error) => PathError::new("unpack", &path, error).into(),
            })?;
        }
        Ok(unpacked)
    }

    /// Returns the directory; files have the same paths below it as below the root of their store.
    pub(crate) fn root(&self) -> &Path {
        self.dir.path()
    }

    fn entry(&self, path: &Path, entry: &ManifestEntry, is_wanted: bool, dir: &MachineDir) -> Result<(), UnpackError> {
        let (disk, _) = self.dir.open();
        match &entry.node {
            // Links are not created, because no file is read through them.
            EntryContent::Link { .. } => Ok(()),
            EntryContent::Dir => Ok(disk::make_dirs(disk, path, Access::Private).map(drop)?),
            EntryContent::Rows { sha256, chunks, .. } => {
                disk::make_dirs(disk, path.parent().unwrap_or(path), Access::Private)?;
                rebuild(rows::lines((sha256, chunks), dir), path)
                    .map_err(|error| UnpackError::Damaged(format!("its rows: {error}")))
            }
            EntryContent::File { sha256, chunks, .. } => {
                let above = disk::make_dirs(disk, path.parent().unwrap_or(path), Access::Private)?;
                let file = disk.open((&above, path.file_name().unwrap_or_default()), For::New(Access::Private))?;
                if !is_wanted {
                    return Ok(());
                }
                unpack((disk, &file), &entry.path, (sha256, chunks), dir)
            }
        }
    }
}

/// Reason why an entry cannot be unpacked.
#[derive(Debug)]
pub(super) enum UnpackError {
    /// The archive is damaged; the reason.
    Damaged(String),
    /// The system call failed.
    System(io::Error),
}

impl From<io::Error> for UnpackError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl From<UnpackError> for io::Error {
    fn from(error: UnpackError) -> Self {
        match error {
            UnpackError::Damaged(why) => Self::other(why),
            UnpackError::System(error) => error,
        }
    }
}

/// Writes the content of an entry from its SHA-256 and chunks; checks each chunk and the whole.
pub(super) fn unpack(
    (disk, file): (&dyn Disk, &Handle),
    path: &Path,
    (sha256, chunks): (&str, &[String]),
    dir: &MachineDir,
) -> Result<(), UnpackError> {
    let (mut digest, mut sparse) = (Sha256::new(), Sparse::new(disk, file));
    for name in chunks {
        let chunk = dir.content(name).map_err(UnpackError::Damaged)?;
        digest.update(&chunk);
        sparse.add(&chunk)?;
    }
    sparse.end()?;
    if hex(&digest.finalize()) != sha256 {
        return Err(UnpackError::Damaged(format!("the chunks of {} do not add up to the file", path.display())));
    }
    Ok(())
}

/// Refuses a session that is damaged in the archive, with the reason.
pub(crate) fn damaged(manifest: &Manifest, why: &str, archive: &Archive, env: &Env) -> Refusal {
    let (agent, id) = (manifest.agent, &manifest.id);
    let message = format!("{agent} session {id} is damaged in the archive: {why}");
    Refusal::new(RefusalCode::ArchiveDamaged, message)
        .hint(format!("run `rejoin archive --verify{}` to see what is damaged", Archive::option(archive.root(), env)))
}
