//! The directory of one machine in an archive: blobs by the digest of their chunk, manifests by session, number and
//! their own digest.
//!
//! Only that machine writes into it. If a program copies the archive from machine to machine, a missing file of another
//! machine's directory has not arrived yet.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::chunks::{MAX_BLOB_BYTES, digest, is_digest, unpack};
use super::manifest::Manifest;
use crate::error::reason;
use crate::session::{AgentKind, Problem};
use crate::system::disk::{self, Disk};
use crate::system::fsio::{EntryKind, EntryMetadata};

/// Maximum size of a manifest in bytes; that of a session with 200,000 files is smaller.
pub(super) const MAX_MANIFEST: u64 = 64 * 1024 * 1024;
/// Longest id used as a directory's name. A longer id, or one with characters other than letters, digits, `.`, `_` and
/// `-`, is replaced by its digest.
const MAX_ID: usize = 128;

/// One machine's directory in an archive; it need not exist.
#[derive(Clone, Debug)]
pub(crate) struct MachineDir {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
}

/// One archived state of a session.
#[derive(Clone, Debug)]
pub(crate) struct ArchivedState {
    /// Path of the manifest.
    pub path: PathBuf,
    /// Content of the manifest.
    pub manifest: Manifest,
}

impl ArchivedState {
    /// Returns the SHA-256 of the manifest, taken from the file's name.
    pub(crate) fn digest(&self) -> &str {
        let stem = self.path.file_stem().and_then(|stem| stem.to_str());
        stem.and_then(|stem| stem.split_once('-')).map_or("", |(_, digest)| digest)
    }
}

/// Reason why a chunk is unavailable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BlobFault {
    /// The blob does not exist.
    Missing,
    /// The blob exists, but is invalid; the reason.
    Damaged(String),
}

impl std::fmt::Display for BlobFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing => f.write_str("it is missing"),
            Self::Damaged(why) => f.write_str(why),
        }
    }
}

impl MachineDir {
    pub(super) fn new(disk: Arc<dyn Disk>, dir: PathBuf) -> Self {
        Self { disk, dir }
    }

    /// Returns the disk of the archive.
    pub(crate) fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    /// Returns the directory.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the machine's name, which is that of the directory.
    pub(crate) fn name(&self) -> &str {
        self.dir.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Returns the directory of all blobs.
    pub(crate) fn blobs(&self) -> PathBuf {
        self.dir.join("blobs")
    }

    /// Returns the path of the blob of the chunk with this digest.
    pub(crate) fn blob(&self, name: &str) -> PathBuf {
        self.blobs().join(name.get(..2).unwrap_or_default()).join(format!("{name}.zst"))
    }

    /// Returns the directory of all manifests.
    pub(crate) fn sessions(&self) -> PathBuf {
        self.dir.join("sessions")
    }

    /// Returns the directory of a session's manifests.
    pub(crate) fn session_dir(&self, agent: AgentKind, id: &str) -> PathBuf {
        self.sessions().join(agent.name()).join(dir_name(id))
    }

    /// Returns the metadata of a path in the archive; `None` if it does not exist.
    pub(super) fn metadata_of(&self, path: &Path) -> io::Result<Option<EntryMetadata>> {
        match disk::open_parent(self.disk(), path) {
            Ok((dir, name)) => disk::look_if_present(self.disk(), (&dir, &name)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the size of a file of the archive in bytes, 0 if it is unknown.
    pub(super) fn size(&self, path: &Path) -> u64 {
        self.metadata_of(path).ok().flatten().map_or(0, |look| look.size)
    }

    /// Reads and checks a chunk.
    pub(crate) fn chunk(&self, name: &str) -> Result<Vec<u8>, BlobFault> {
        let blob = disk::read_if_present(self.disk(), &self.blob(name), MAX_BLOB_BYTES);
        match blob.map_err(|error| BlobFault::Damaged(reason(&error)))? {
            Some(blob) => unpack(&blob, name).map_err(|why| BlobFault::Damaged(why.to_owned())),
            None => Err(BlobFault::Missing),
        }
    }

    /// Reads and checks a chunk; the error names the blob.
    pub(crate) fn content(&self, name: &str) -> Result<Vec<u8>, String> {
        self.chunk(name).map_err(|fault| format!("blob {}: {fault}", self.blob(name).display()))
    }

    /// Lists every manifest.
    pub(super) fn manifests(&self, problems: &mut Vec<Problem>) -> Vec<PathBuf> {
        let agents = self.dirs(&self.sessions(), problems);
        let sessions: Vec<PathBuf> = agents.iter().flat_map(|agent| self.dirs(agent, problems)).collect();
        sessions.iter().flat_map(|session| self.manifests_in(session, problems)).collect()
    }

    /// Reads a manifest and checks it against its name; `None` if it does not exist.
    pub(super) fn read(&self, path: PathBuf) -> Result<Option<ArchivedState>, Problem> {
        let fail = |reason: String| Problem { path: path.clone(), reason };
        let bytes = match disk::read_if_present(self.disk(), &path, MAX_MANIFEST) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(None),
            Err(error) => return Err(fail(reason(&error))),
        };
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let digest_in_name = name.strip_suffix(".json").and_then(|name| name.split_once('-')).map(|(_, digest)| digest);
        if digest_in_name != Some(&digest(&bytes)) {
            return Err(fail("its bytes do not match its name".to_owned()));
        }
        let mut manifest = Manifest::parse(&bytes).map_err(fail)?;
        self.name().clone_into(&mut manifest.machine);
        let is_in_place = path.parent().and_then(Path::file_name) == Some(dir_name(&manifest.id).as_ref());
        if !is_in_place {
            return Err(Problem { path, reason: "it is the manifest of another session".to_owned() });
        }
        Ok(Some(ArchivedState { path, manifest }))
    }

    /// Lists the manifests of a session; a file with an unknown name, possibly of a later format, is a problem.
    pub(super) fn manifests_in(&self, dir: &Path, problems: &mut Vec<Problem>) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = self.entries(dir, problems).into_iter().map(|(path, _)| path).collect();
        paths.retain(|path| match path.file_name().and_then(|name| name.to_str()) {
            Some(name) if is_manifest(name) => true,
            Some(name) if name.starts_with('.') || name.ends_with(".tmp") => false,
            _ => {
                problems.push(Problem { path: path.clone(), reason: "its name is not that of a manifest".to_owned() });
                false
            }
        });
        paths
    }

    /// Lists the directories in a directory. A link, which is not followed, may hide one and is a problem.
    pub(crate) fn dirs(&self, dir: &Path, problems: &mut Vec<Problem>) -> Vec<PathBuf> {
        let mut dirs = Vec::new();
        for (path, kind) in self.entries(dir, problems) {
            if kind == EntryKind::Dir {
                dirs.push(path);
            } else if kind != EntryKind::File {
                let what = if kind == EntryKind::Symlink {
                    "it is a symbolic link, which is not followed"
                } else {
                    "it is not a directory"
                };
                problems.push(Problem { path, reason: what.to_owned() });
            }
        }
        dirs
    }

    /// Lists a directory; a missing one is empty.
    pub(crate) fn entries(&self, dir: &Path, problems: &mut Vec<Problem>) -> Vec<(PathBuf, EntryKind)> {
        let list = || -> io::Result<Vec<_>> {
            let handle = self.disk.open_dir(dir)?;
            let names = self.disk.list(&handle)?.into_iter();
            let look = |name: OsString| {
                let look = disk::look_if_present(self.disk(), (&handle, &name)).transpose()?;
                Some(look.map(|look| (dir.join(name), look.kind)))
            };
            names.filter_map(look).collect()
        };
        match list() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                problems.push(Problem { path: dir.to_owned(), reason: reason(&error) });
                Vec::new()
            }
            Ok(entries) => entries,
        }
    }
}

/// Returns the file name of a manifest: its number and the digest of its bytes.
pub(crate) fn manifest_name(number: u64, bytes: &[u8]) -> String {
    format!("{number:06}-{}.json", digest(bytes))
}

/// Returns the name of a session's directory; the id may contain any characters.
fn dir_name(id: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if !id.is_empty() && id.len() <= MAX_ID && !id.starts_with('.') && id.bytes().all(is_plain) {
        id.to_owned()
    } else {
        format!("=sha256-{}", digest(id.as_bytes()))
    }
}

/// Checks whether a file name is that of a manifest; ignores the contents.
fn is_manifest(name: &str) -> bool {
    let parts = name.strip_suffix(".json").and_then(|name| name.split_once('-'));
    parts.is_some_and(|(number, digest)| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) && is_digest(digest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_name_is_id_or_its_hash() {
        assert_eq!(dir_name("5d1f6c1e-3a50"), "5d1f6c1e-3a50");
        for odd in ["", ".", "..", "a/b", "=sha256-x", "a b", "ä", &"x".repeat(200)] {
            let name = dir_name(odd);
            assert!(name.starts_with("=sha256-") && name.len() == 72, "{odd}: {name}");
        }
        assert_ne!(dir_name("a/b"), dir_name("a b"));
    }
}
