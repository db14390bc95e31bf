//! Entries of a session: files, rows, directories and links, each with its place in a store.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::format::path_text;

/// A file, a directory or a link of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Number of the store, counted from 0.
    pub store: usize,
    /// Path below the store's root.
    #[serde(with = "path_text")]
    pub path: PathBuf,
    /// Relation of the entry to the session.
    pub role: Role,
    /// Type and content.
    #[serde(flatten)]
    pub node: Node,
    /// Permissions; meaningless for a link.
    pub mode: u32,
    /// Modification time, in seconds since 1970 and nanoseconds.
    pub modified: (i64, i64),
}

/// Relation of an entry to its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Role {
    /// A file that the agent needs to find the session and that other sessions share: restored only if it is missing.
    Companion,
    /// A belonging of the session, not of one of its copies.
    Shared,
    /// A belonging of one copy.
    Own,
}

/// Type and content of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum Node {
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

impl Node {
    /// Returns size, SHA-256 and chunks; `None` for a directory or link.
    pub(crate) fn content(&self) -> Option<(u64, &str, &[String])> {
        match self {
            Self::File { size, sha256, chunks } | Self::Rows { size, sha256, chunks } => Some((*size, sha256, chunks)),
            Self::Dir | Self::Link { .. } => None,
        }
    }
}
