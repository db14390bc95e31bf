//! What a session consists of: files, rows, directories and links, each at its place in a store.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::format::path_text;

/// A file, a directory or a link of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The number of its store, counted from 0.
    pub store: usize,
    /// Its path below the store's root.
    #[serde(with = "path_text")]
    pub path: PathBuf,
    /// How it belongs to the session.
    pub role: Role,
    /// What it is.
    #[serde(flatten)]
    pub node: Node,
    /// Its permissions; of a link they mean nothing.
    pub mode: u32,
    /// When it was modified, in seconds since 1970 and nanoseconds.
    pub modified: (i64, i64),
}

/// How an entry belongs to its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Role {
    /// The agent needs it to find the session, and it is there for others too: put back only where it is missing.
    Companion,
    /// It belongs to the session, whichever copy is meant.
    Shared,
    /// It belongs to one copy.
    Own,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum Node {
    /// A regular file.
    File {
        /// Its bytes.
        size: u64,
        /// The SHA-256 of its content.
        sha256: String,
        /// The SHA-256 of each chunk, in order.
        chunks: Vec<String>,
    },
    /// All rows of the session in the database at this path, a line each.
    Rows {
        /// The bytes of the lines.
        size: u64,
        /// The SHA-256 of the lines.
        sha256: String,
        /// The SHA-256 of each chunk, in order.
        chunks: Vec<String>,
    },
    /// A directory.
    Dir,
    /// A symbolic link, which is kept as one.
    Link {
        /// What it says.
        #[serde(with = "path_text")]
        target: PathBuf,
    },
}

impl Node {
    /// Returns the size, the SHA-256 and the chunks of what has any.
    pub(crate) fn content(&self) -> Option<(u64, &str, &[String])> {
        match self {
            Self::File { size, sha256, chunks } | Self::Rows { size, sha256, chunks } => Some((*size, sha256, chunks)),
            Self::Dir | Self::Link { .. } => None,
        }
    }
}
