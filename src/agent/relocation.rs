//! The changes that let an agent find its sessions from another directory, as plain data; `change` carries them out.

use std::collections::BTreeSet;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agent::Unable;
use crate::error::PathError;
use crate::format::edit::Edit;
use crate::session::mapping::Mapping;
use crate::session::{SessionCopy, Store};
use crate::system::env::Env;
use crate::system::fsio;

/// A directory whose sessions move to another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DirMove {
    /// The current launch directory.
    pub from: PathBuf,
    /// The new launch directory.
    pub to: PathBuf,
    /// The projects that contain the sessions.
    pub projects: BTreeSet<Arc<str>>,
    /// Set if all sessions of these projects move there.
    pub is_whole: bool,
}

/// The sessions of one store that move to other directories.
#[derive(Clone, Copy)]
pub(crate) struct StoreMove<'a> {
    pub store: &'a Store,
    pub moves: &'a [DirMove],
    /// The old and the new directories, for every store.
    pub mapping: &'a Mapping,
    pub env: &'a Env,
}

/// A change of an agent's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Moves a file or a directory to a free path.
    Move {
        /// The current path.
        from: PathBuf,
        /// The new path.
        to: PathBuf,
    },
    /// Edits a file, and moves it to a free path unless the paths are equal.
    Edit {
        /// The current path.
        from: PathBuf,
        /// The new path.
        to: PathBuf,
        /// The edits, in order.
        edits: Vec<Edit>,
    },
    /// Writes a small file; it may be part of a directory that was moved just before.
    Write {
        /// The file.
        path: PathBuf,
        /// The new contents.
        contents: Vec<u8>,
    },
}

impl Act {
    /// Edits a file without moving it; nothing without edits.
    pub(super) fn in_place(path: PathBuf, mut edits: Vec<Edit>) -> Vec<Self> {
        edits.sort_by_key(|edit| edit.at);
        if edits.is_empty() { Vec::new() } else { vec![Self::Edit { from: path.clone(), to: path, edits }] }
    }
}

/// The changes for one copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moved {
    /// The changes of the agent's files, in order.
    pub acts: Vec<Act>,
    /// Set if rejoin must record the new directory itself, because the agent's files still name the old one.
    pub is_kept: bool,
}

impl Moved {
    /// Creates the changes for a copy whose new directory is in the agent's files.
    pub(crate) fn by(acts: Vec<Act>) -> Self {
        Self { acts, is_kept: false }
    }

    /// Changes no file of the agent.
    pub(crate) fn changing_no_file() -> Self {
        Self { acts: Vec::new(), is_kept: true }
    }
}

/// Returns the changes for a copy that moves to a directory, or the reason why it cannot move.
pub(crate) type MoveCopy<'a> = Box<dyn Fn(&SessionCopy, &Path) -> Result<Moved, Unable> + Sync + 'a>;

/// The changes for the sessions of one store.
pub(crate) struct Relocation<'a> {
    /// Changes that are made once, before the first session moves.
    pub once: Vec<Act>,
    /// Changes for each session.
    pub each: MoveCopy<'a>,
}

impl<'a> Relocation<'a> {
    /// Changes no file of the agent.
    pub(crate) fn changing_no_file() -> Self {
        Self::of_each(|_, _| Ok(Moved::changing_no_file()))
    }

    /// Creates changes for each session only.
    pub(crate) fn of_each(each: impl Fn(&SessionCopy, &Path) -> Result<Moved, Unable> + Sync + 'a) -> Self {
        Self { once: Vec::new(), each: Box::new(each) }
    }
}

/// Returns a directory as text, because most agents cannot store other paths.
pub(super) fn text(dir: &Path) -> Result<&str, Unable> {
    dir.to_str().ok_or_else(|| format!("{} is not UTF-8, which its files cannot hold", dir.display()).into())
}

/// Checks whether a line of a transcript is a `relocated` record, which Claude Code and Qoder write when they change to
/// a worktree, and rejoin when a session moves.
pub(super) fn is_relocated(line: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct RelocatedMark<'a> {
        #[serde(rename = "type", borrow)]
        kind: std::borrow::Cow<'a, str>,
    }
    memchr::memmem::find(line, b"\"relocated\"").is_some()
        && serde_json::from_slice::<RelocatedMark<'_>>(line).is_ok_and(|record| record.kind == "relocated")
}

/// Returns the edit that appends a line to a file; it first ends a torn last line.
pub(super) fn added_line(path: &Path, line: &str) -> Result<Edit, Unable> {
    let (file, metadata) = fsio::open_regular(path)?;
    let (length, mut last) = (metadata.len(), [b'\n']);
    if length > 0 {
        file.read_exact_at(&mut last, length - 1).map_err(|error| PathError::new("read", path, error))?;
    }
    let begin = if last == *b"\n" { "" } else { "\n" };
    Ok(Edit { at: length, removed: 0, inserted: format!("{begin}{line}\n").into_bytes() })
}

/// Reads a small file as text; `None` if it does not exist.
pub(super) fn small(path: &Path, limit: u64) -> Result<Option<String>, Unable> {
    let Some(bytes) = fsio::read_if_present(path, limit)? else { return Ok(None) };
    String::from_utf8(bytes).map(Some).map_err(|_| format!("{} is not UTF-8", path.display()).into())
}
