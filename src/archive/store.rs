//! Layout of an archive: blobs by the digest of their chunk, manifests by session, number and their own digest.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use super::chunks::{MAX_BLOB_BYTES, digest, is_digest, unpack};
use super::manifest::Manifest;
use crate::error::reason;
use crate::format::shell;
use crate::session::{AgentKind, Problem, Session};
use crate::system::disk::{self, Disk, System};
use crate::system::env::Env;
use crate::system::fsio::{Kind, Look};

/// Upper bound on the size of a manifest; that of a session with a million files is smaller.
pub(super) const MAX_MANIFEST: u64 = 512 * 1024 * 1024;
/// Longest id used as a directory's name. A longer id, or one with characters other than letters, digits, `.`, `_` and
/// `-`, is replaced by its digest.
const MAX_ID: usize = 128;

/// An archive on disk; it need not exist.
#[derive(Clone, Debug)]
pub(crate) struct Archive {
    disk: Arc<dyn Disk>,
    root: PathBuf,
}

/// One archived state of a session.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// Path of the manifest.
    pub path: PathBuf,
    /// Content of the manifest.
    pub manifest: Manifest,
}

impl Snapshot {
    /// Returns the SHA-256 of the manifest, taken from the file's name.
    pub(crate) fn digest(&self) -> &str {
        let stem = self.path.file_stem().and_then(|stem| stem.to_str());
        stem.and_then(|stem| stem.split_once('-')).map_or("", |(_, digest)| digest)
    }
}

/// The content of an archive.
#[derive(Debug, Default)]
pub(crate) struct Holdings {
    /// The states of each session, the oldest first.
    pub sessions: BTreeMap<(AgentKind, String), Vec<Snapshot>>,
    /// Manifests that are damaged or cannot be read.
    pub problems: Vec<Problem>,
}

/// Reason why a chunk is unavailable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BlobFault {
    /// The blob does not exist.
    Missing,
    /// The blob exists, but is invalid for this reason.
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

impl Archive {
    /// Returns the archive in a directory. The default is the directory of the config file, or else `archive` in the
    /// data directory.
    pub(crate) fn of(env: &Env, dir: Option<&Path>) -> Self {
        let dir = dir.or(env.config.archive_dir.as_deref());
        let root = dir.map_or_else(|| Self::default_dir(env), |dir| env.absolute(dir));
        Self::on(Arc::new(System::new(env)), root)
    }

    /// Returns the archive in a directory on this disk.
    pub(crate) fn on(disk: Arc<dyn Disk>, root: PathBuf) -> Self {
        Self { disk, root }
    }

    /// Returns the disk of the archive.
    pub(crate) fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    /// Returns the default directory of the archive.
    pub(crate) fn default_dir(env: &Env) -> PathBuf {
        env.data_dir().join("archive")
    }

    /// Returns the option for a command about the archive in a directory, after a blank; empty for the default archive.
    pub(crate) fn option(dir: &Path, env: &Env) -> String {
        if *dir == *Self::of(env, None).root() {
            return String::new();
        }
        format!(" --archive-dir {}", shell::word(&dir.to_string_lossy()))
    }

    /// Returns the archive's directory.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the directory of all blobs.
    pub(crate) fn blobs(&self) -> PathBuf {
        self.root.join("blobs")
    }

    /// Returns the path of the blob of the chunk with this digest.
    pub(crate) fn blob(&self, name: &str) -> PathBuf {
        self.blobs().join(name.get(..2).unwrap_or_default()).join(format!("{name}.zst"))
    }

    /// Returns the directory of all manifests.
    pub(crate) fn sessions(&self) -> PathBuf {
        self.root.join("sessions")
    }

    /// Returns the directory of a session's manifests.
    pub(crate) fn session_dir(&self, agent: AgentKind, id: &str) -> PathBuf {
        self.sessions().join(agent.name()).join(dir_name(id))
    }

    /// Returns metadata of a path in the archive; `None` if nothing is there.
    pub(super) fn look(&self, path: &Path) -> io::Result<Option<Look>> {
        match disk::open_parent(self.disk(), path) {
            Ok((dir, name)) => disk::look_if_present(self.disk(), (&dir, &name)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the size of a file of the archive in bytes, 0 if it is unknown.
    pub(super) fn size(&self, path: &Path) -> u64 {
        self.look(path).ok().flatten().map_or(0, |look| look.size)
    }

    /// Reads and checks a chunk.
    pub(crate) fn chunk(&self, name: &str) -> Result<Vec<u8>, BlobFault> {
        let blob = disk::read_if_present(self.disk(), &self.blob(name), MAX_BLOB_BYTES);
        match blob.map_err(|error| BlobFault::Damaged(reason(&error)))? {
            Some(blob) => unpack(&blob, name).map_err(|why| BlobFault::Damaged(why.to_owned())),
            None => Err(BlobFault::Missing),
        }
    }

    /// Reads every manifest; a damaged one is a problem, and a missing archive is empty.
    pub(crate) fn holdings(&self) -> Holdings {
        let mut problems = Vec::new();
        let mut paths = Vec::new();
        for agent in self.dirs(&self.sessions(), &mut problems) {
            for session in self.dirs(&agent, &mut problems) {
                paths.extend(self.manifests_in(&session, &mut problems));
            }
        }
        self.read_all(paths, problems)
    }

    /// Reads the manifests of one session.
    pub(crate) fn snapshots(&self, agent: AgentKind, id: &str) -> Holdings {
        let mut problems = Vec::new();
        let paths = self.manifests_in(&self.session_dir(agent, id), &mut problems);
        self.read_all(paths, problems)
    }

    fn read_all(&self, paths: Vec<PathBuf>, mut problems: Vec<Problem>) -> Holdings {
        let read: Vec<_> = paths.into_par_iter().filter_map(|path| self.read(path).transpose()).collect();
        let mut sessions: BTreeMap<_, Vec<Snapshot>> = BTreeMap::new();
        for result in read {
            match result {
                Ok(snapshot) => {
                    let key = (snapshot.manifest.agent, snapshot.manifest.id.clone());
                    sessions.entry(key).or_default().push(snapshot);
                }
                Err(problem) => problems.push(problem),
            }
        }
        for snapshots in sessions.values_mut() {
            snapshots.sort_by(|a, b| (a.manifest.number, &a.path).cmp(&(b.manifest.number, &b.path)));
        }
        problems.sort();
        Holdings { sessions, problems }
    }

    /// Reads a manifest and checks it against its name; `None` if it is gone.
    fn read(&self, path: PathBuf) -> Result<Option<Snapshot>, Problem> {
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
        let manifest = Manifest::parse(&bytes).map_err(fail)?;
        let is_in_place = path.parent().and_then(Path::file_name) == Some(dir_name(&manifest.id).as_ref());
        if !is_in_place {
            return Err(Problem { path, reason: "it is the manifest of another session".to_owned() });
        }
        Ok(Some(Snapshot { path, manifest }))
    }

    /// Lists the manifests of a session; a file with an unknown name, possibly of a later format, is a problem.
    fn manifests_in(&self, dir: &Path, problems: &mut Vec<Problem>) -> Vec<PathBuf> {
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

    /// Lists the directories in a directory; a link, which is not followed, may hide one and is a problem.
    pub(crate) fn dirs(&self, dir: &Path, problems: &mut Vec<Problem>) -> Vec<PathBuf> {
        let mut dirs = Vec::new();
        for (path, kind) in self.entries(dir, problems) {
            if kind == Kind::Dir {
                dirs.push(path);
            } else if kind != Kind::File {
                let what = if kind == Kind::Symlink {
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
    pub(crate) fn entries(&self, dir: &Path, problems: &mut Vec<Problem>) -> Vec<(PathBuf, Kind)> {
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

impl Holdings {
    /// Returns every state of every session.
    pub(crate) fn snapshots(&self) -> impl Iterator<Item = &Snapshot> {
        self.sessions.values().flatten()
    }

    /// Returns the newest state of each session.
    pub(crate) fn each_newest(&self) -> impl Iterator<Item = &Snapshot> {
        self.sessions.values().filter_map(|states| states.last())
    }

    /// Returns each session as it was when its newest state was archived.
    pub(crate) fn newest_sessions(&self) -> Vec<Session> {
        self.each_newest().map(|snapshot| snapshot.manifest.session()).collect()
    }

    /// Returns the newest state of a session.
    pub(crate) fn newest(&self, agent: AgentKind, id: &str) -> Option<&Snapshot> {
        self.sessions.get(&(agent, id.to_owned()))?.last()
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
    fn an_id_of_any_form_names_a_directory_and_no_two_the_same() {
        assert_eq!(dir_name("5d1f6c1e-3a50"), "5d1f6c1e-3a50");
        for odd in ["", ".", "..", "a/b", "=sha256-x", "a b", "ä", &"x".repeat(200)] {
            let name = dir_name(odd);
            assert!(name.starts_with("=sha256-") && name.len() == 72, "{odd}: {name}");
        }
        assert_ne!(dir_name("a/b"), dir_name("a b"));
    }
}
