//! The manifest of an archived session: its identity, every file with its chunks, and the facts for a list.

mod facts;
mod read;

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::session::AgentKind;
use changes::path_text::{self, PathText};
use facts::ManifestFacts;

/// The version of the format that this program writes; the major number changes if an older program cannot read it.
const FORMAT_VERSION: &str = "1.0";
/// The version of a manifest with database rows: a program that knows only files must not read it.
const WITH_ROWS: &str = "2.0";
/// The kind that every manifest names.
const KIND: &str = "archived-session";

/// One archived state of one session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// The version of the format.
    pub format_version: String,
    /// `archived-session`.
    pub kind: String,
    /// Version of rejoin that wrote the manifest.
    pub rejoin_version: String,
    /// Host name of the machine that wrote the manifest.
    pub hostname: String,
    /// Time of archiving.
    pub archived_at: Timestamp,
    /// Number of the state of the session, counted from 1; the largest number is the newest.
    pub number: u64,
    /// The agent of the session.
    pub agent: AgentKind,
    /// The full id.
    pub id: String,
    /// The home directory when the session was archived; a store below it is restored below the current home.
    pub home: PathText,
    /// The roots of the stores of its copies, the chosen copy's first.
    pub stores: Vec<PathText>,
    /// The transcripts or directories of its copies, the chosen one first.
    pub copies: Vec<CopyAt>,
    /// Facts for a list.
    pub facts: ManifestFacts,
    /// Every file, directory and link; a directory comes before its contents.
    pub entries: Vec<ManifestEntry>,
    /// The machine whose directory contains the manifest; empty before it is written.
    #[serde(skip)]
    pub machine: String,
}

/// Place of a copy of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CopyAt {
    /// Number of the store, counted from 0.
    pub store: usize,
    /// Path below the store's root.
    #[serde(with = "path_text")]
    pub path: PathBuf,
}

impl Manifest {
    /// Returns every file, and the rows of every database, with their size in bytes and their chunks.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&ManifestEntry, u64, &[String])> {
        self.entries.iter().filter_map(|entry| {
            let (size, _, chunks) = entry.node.content()?;
            Some((entry, size, chunks))
        })
    }

    /// Returns the SHA-256 and the chunks of the chosen copy's rows; `None` if that copy was not in a database.
    pub(crate) fn rows(&self) -> Option<(&str, &[String])> {
        let at = self.copies.first()?;
        self.rows_of(&self.stores[at.store].0.join(&at.path))
    }

    /// Returns the SHA-256 and the chunks of the rows that were in the database at a path.
    pub(crate) fn rows_of(&self, database: &Path) -> Option<(&str, &[String])> {
        let entry = self.entries.iter().find(|entry| self.original(entry) == database)?;
        match &entry.node {
            EntryContent::Rows { sha256, chunks, .. } => Some((sha256, chunks)),
            _ => None,
        }
    }

    /// Adds an entry. Rows raise the format version, so that older programs refuse the manifest.
    pub(crate) fn add(&mut self, entry: ManifestEntry) {
        if matches!(entry.node, EntryContent::Rows { .. }) {
            WITH_ROWS.clone_into(&mut self.format_version);
        }
        self.entries.push(entry);
    }

    /// Returns the size of all files in bytes.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.files().map(|(_, size, _)| size).sum()
    }

    /// Returns size, SHA-256 and chunks of the file at a path.
    pub(crate) fn file(&self, root: &Path, path: &Path) -> Option<(u64, &str, &[String])> {
        let store = self.stores.iter().position(|store| store.0 == root)?;
        let entry = self.entries.iter().find(|entry| entry.store == store && entry.path == path)?;
        entry.node.content()
    }

    /// Returns the modification time of the first copy's transcript or directory.
    pub(crate) fn copy_modified(&self) -> Option<Timestamp> {
        let at = self.copies.first()?;
        let entry = self.entries.iter().find(|entry| entry.store == at.store && entry.path == at.path)?;
        Timestamp::new(entry.modified.0, i32::try_from(entry.modified.1).ok()?).ok()
    }

    /// Checks whether another manifest has the same files, with the same modes and times.
    ///
    /// Only the paths of companions count, because those files change with other sessions.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        fn entry(entry: &ManifestEntry) -> (usize, &Path, Option<&ManifestEntry>) {
            (entry.store, &entry.path, Some(entry).filter(|entry| entry.role != EntryRole::Companion))
        }
        self.stores == other.stores
            && self.copies == other.copies
            && self.entries.iter().map(entry).eq(other.entries.iter().map(entry))
    }

    /// Returns the path of an entry when it was archived.
    pub(crate) fn original(&self, entry: &ManifestEntry) -> PathBuf {
        self.stores[entry.store].0.join(&entry.path)
    }
}

/// A file, a directory or a link of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ManifestEntry {
    /// Number of the store, counted from 0.
    pub store: usize,
    /// Path below the store's root.
    #[serde(with = "path_text")]
    pub path: PathBuf,
    /// Relation of the entry to the session.
    pub role: EntryRole,
    /// Type and content.
    #[serde(flatten)]
    pub node: EntryContent,
    /// Permissions; meaningless for a link.
    pub mode: u32,
    /// Modification time, in seconds since 1970 and nanoseconds.
    pub modified: (i64, i64),
}

/// Relation of an entry to its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum EntryRole {
    /// A file that the agent needs to find the session and that other sessions share; restored only if it is missing.
    Companion,
    /// A file of the session as a whole.
    Shared,
    /// A file of one copy.
    Own,
}

/// Type and content of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum EntryContent {
    /// A regular file.
    File {
        /// Size in bytes.
        size: u64,
        /// SHA-256 of the content.
        sha256: String,
        /// SHA-256 of each chunk, in order.
        chunks: Vec<String>,
    },
    /// All rows of the session in the database at this path, one line per row.
    Rows {
        /// Size of the lines in bytes.
        size: u64,
        /// SHA-256 of the lines.
        sha256: String,
        /// SHA-256 of each chunk, in order.
        chunks: Vec<String>,
    },
    /// A directory.
    Dir,
    /// A symbolic link, archived as a link.
    Link {
        /// Target of the link.
        #[serde(with = "path_text")]
        target: PathBuf,
    },
}

impl EntryContent {
    /// Returns size, SHA-256 and chunks; `None` for a directory or link.
    pub(crate) fn content(&self) -> Option<(u64, &str, &[String])> {
        match self {
            Self::File { size, sha256, chunks } | Self::Rows { size, sha256, chunks } => Some((*size, sha256, chunks)),
            Self::Dir | Self::Link { .. } => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;
    use crate::session::tests::{copy, session};

    /// A manifest for unit tests: one file of one chunk in one store.
    pub(crate) fn manifest(id: &str) -> Manifest {
        let session = session(vec![copy(id)]);
        let now = "2026-03-01T12:00:00Z".parse().expect("a time");
        let mut manifest = Manifest::from_session(&session, Path::new("/home/ana"), "examplehost", now);
        manifest.stores.push(PathText("/s".into()));
        let path = PathBuf::from(format!("projects/-p/{id}.jsonl"));
        manifest.copies.push(CopyAt { store: 0, path: path.clone() });
        let sha256 = super::super::chunks::digest(b"x");
        let node = EntryContent::File { size: 1, sha256: sha256.clone(), chunks: vec![sha256] };
        manifest.entries.push(ManifestEntry {
            store: 0,
            path,
            role: EntryRole::Own,
            node,
            mode: 0o600,
            modified: (5, 6),
        });
        manifest
    }

    #[test]
    fn manifest_maps_only_homes_below_root() {
        let mut env = crate::system::env::tests::fixed();
        let mut manifest = manifest("a");
        let mut homes = |then: &str, now: &str| {
            (manifest.home, env.home) = (PathText(then.into()), now.into());
            manifest.homes(&env)
        };
        assert_eq!(homes("/home/ana", "/home/bob"), Some(("/home/ana".into(), "/home/bob".into())));
        for odd in ["/", "", ".", "app", "//", "/../home", "~"] {
            assert_eq!(homes(odd, "/home/bob"), None, "{odd:?}");
            assert_eq!(homes("/home/ana", odd), None, "{odd:?}");
        }
        assert_eq!(homes("/home/bob", "/home/bob"), None);
    }

    #[test]
    fn manifest_round_trips_non_utf8_paths() {
        let mut written = manifest("a");
        let odd = PathBuf::from(OsStr::from_bytes(b"x/\xff\n"));
        let node = EntryContent::Link { target: odd.clone() };
        written.entries.push(ManifestEntry {
            store: 0,
            path: odd,
            role: EntryRole::Shared,
            node,
            mode: 0o777,
            modified: (-5, 6),
        });
        let dir = "side".into();
        written.entries.push(ManifestEntry {
            store: 0,
            path: dir,
            role: EntryRole::Own,
            node: EntryContent::Dir,
            mode: 0o700,
            modified: (1, 2),
        });
        let read = Manifest::parse(&serde_json::to_vec(&written).expect("JSON")).expect("a manifest");
        assert_eq!(read, written);
        assert_eq!(read.session().id(), "a");
    }
}
