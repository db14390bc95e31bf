//! The plan of a run: items, each made of steps on paths.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::stamp::Stamp;

/// A part of a run that is done completely or not at all.
#[derive(Clone, Copy)]
pub struct RunItem<'a> {
    /// Subject of the item, for display.
    pub label: &'a dyn fmt::Display,
    /// Name of the program whose data the item changes, and id of the data as that program names it.
    pub owner: Option<(&'a str, &'a str)>,
    /// Title of the data.
    pub title: Option<&'a str>,
    /// Stable name of the reason.
    pub code: &'a str,
    /// The reason as text.
    pub reason: &'a str,
    /// The number of an earlier item without which this one is useless; `None` if it needs no other.
    pub needs: Option<usize>,
    /// The number of an earlier item that must be done before this one; unlike with `needs`, each of them can be undone alone.
    pub after: Option<usize>,
    /// The steps, in order.
    pub steps: &'a [Step],
}

impl<'a> RunItem<'a> {
    /// Makes an item that depends on no other item.
    pub fn new(label: &'a dyn fmt::Display, reason: &'a str, steps: &'a [Step]) -> Self {
        Self { label, owner: None, title: None, code: "", reason, needs: None, after: None, steps }
    }
}

/// One change to one path.
#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Step {
    /// Moves a file, or a directory with its contents, to the trash.
    Trash {
        /// The path; usually that of a copy, which is in memory anyway.
        path: Arc<Path>,
        /// Stamp when it was planned.
        stamp: Stamp,
    },
    /// Writes a file; the old one is kept in the trash.
    Write {
        /// The file.
        path: PathBuf,
        /// The new contents.
        contents: Contents,
        /// Stamp of the old file when it was planned; `None` for a new file. Boxed, because most steps are of
        /// another kind.
        stamp: Option<Box<Stamp>>,
    },
    /// Makes a directory at a free path.
    MakeDir {
        /// The directory.
        path: PathBuf,
    },
    /// Moves a prepared entry from the state directory to a free path.
    Put {
        /// Path where it was prepared.
        from: PathBuf,
        /// Target path.
        path: PathBuf,
    },
    /// Moves a file, or a directory with its contents, to a free path.
    Move {
        /// Old path; usually that of a copy.
        from: PathBuf,
        /// New path.
        path: PathBuf,
        /// Stamp when it was planned.
        stamp: Box<Stamp>,
    },
}

impl Step {
    /// Returns the path that is changed.
    pub fn path(&self) -> &Path {
        match self {
            Self::Trash { path, .. } => path,
            Self::Write { path, .. } | Self::Put { path, .. } | Self::MakeDir { path } | Self::Move { path, .. } => {
                path
            }
        }
    }

    /// Returns the size of the entries that the change removes, in bytes.
    pub fn freed_bytes(&self) -> u64 {
        match self {
            Self::Trash { stamp, .. } => stamp.size,
            _ => 0,
        }
    }
}

/// Contents of a new file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// These bytes.
    Bytes(Vec<u8>),
    /// These files, one after the other.
    Joined(Vec<PathBuf>),
    /// This file with pieces replaced; at a free path, the new file gets its mode, owner and times.
    Edited {
        /// The file.
        from: PathBuf,
        /// The replacements, in order.
        edits: Vec<Edit>,
    },
}

/// A piece of a file and its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Offset in bytes.
    pub at: u64,
    /// Number of bytes removed.
    pub removed: u64,
    /// The replacement.
    pub inserted: Vec<u8>,
}

impl Edit {
    /// Replaces a range.
    pub fn replace(range: Range<usize>, inserted: impl Into<Vec<u8>>) -> Self {
        Self { at: range.start as u64, removed: range.len() as u64, inserted: inserted.into() }
    }

    /// Moves the edit `by` bytes towards the end of the file.
    #[must_use]
    pub fn moved(self, by: u64) -> Self {
        Self { at: self.at + by, ..self }
    }
}
