//! What lets an agent find its sessions from another directory, as plain data; `change` carries it out.

use std::collections::BTreeSet;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::format::edit::Edit;
use crate::session::mapping::Mapping;
use crate::session::{Copy, Store};
use crate::system::env::Env;
use crate::system::fsio;

/// A directory whose sessions go to another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DirMove {
    /// Where they are started now.
    pub from: PathBuf,
    /// Where they will be.
    pub to: PathBuf,
    /// The projects that the sessions lie in.
    pub projects: BTreeSet<Arc<str>>,
    /// Whether everything in these projects goes this way.
    pub is_whole: bool,
}

/// The sessions of one store that go to other directories.
#[derive(Clone, Copy)]
pub(crate) struct Moving<'a> {
    pub store: &'a Store,
    pub moves: &'a [DirMove],
    /// Old directories and the new ones, for every store.
    pub mapping: &'a Mapping,
    pub env: &'a Env,
}

/// One thing that is done to the files of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// A file or a directory goes to where nothing may be.
    Move {
        /// Where it is.
        from: PathBuf,
        /// Where it goes.
        to: PathBuf,
    },
    /// A file gets new pieces, and goes to where nothing may be unless it stays where it is.
    Edit {
        /// Where it is.
        from: PathBuf,
        /// Where it goes.
        to: PathBuf,
        /// The pieces, in order.
        edits: Vec<Edit>,
    },
    /// A small file gets these contents; it may be part of what was moved just before.
    Write {
        /// The file.
        path: PathBuf,
        /// What is in it then.
        contents: Vec<u8>,
    },
}

/// What is done for one copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moved {
    /// What is done to the agent's files, in order.
    pub acts: Vec<Act>,
    /// Whether this program has to keep the new directory itself, because the agent's files go on naming the old one.
    pub is_kept: bool,
}

impl Moved {
    /// Makes one that the agent itself can tell.
    pub(crate) fn by(acts: Vec<Act>) -> Self {
        Self { acts, is_kept: false }
    }
}

/// Says what is done for a copy that goes to a directory, or why it cannot go.
pub(crate) type MoveCopy<'a> = Box<dyn Fn(&Copy, &Path) -> Result<Moved, String> + Sync + 'a>;

/// What is done for the sessions of one store.
pub(crate) struct Relocation<'a> {
    /// What is done once, before the first of them goes.
    pub once: Vec<Act>,
    /// What is done for each.
    pub each: MoveCopy<'a>,
}

impl<'a> Relocation<'a> {
    /// Leaves everything of the agent's as it is.
    pub(crate) fn kept() -> Self {
        Self::of_each(|_, _| Ok(Moved { acts: Vec::new(), is_kept: true }))
    }

    /// Does something for each session, and nothing for all of them.
    pub(crate) fn of_each(each: impl Fn(&Copy, &Path) -> Result<Moved, String> + Sync + 'a) -> Self {
        Self { once: Vec::new(), each: Box::new(each) }
    }
}

/// Returns a directory as a text, which is all that most agents can keep.
pub(super) fn text(dir: &Path) -> Result<&str, String> {
    dir.to_str().ok_or_else(|| format!("{} is not UTF-8, which its files cannot hold", dir.display()))
}

/// Makes the edit that adds a line to the end of a file; it begins a new line where the last one was cut off.
pub(super) fn added_line(path: &Path, line: &str) -> Result<Edit, String> {
    let (file, metadata) = fsio::open_regular(path).map_err(|error| error.to_string())?;
    let (length, mut last) = (metadata.len(), [b'\n']);
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)
            .map_err(|error| format!("cannot read {}: {}", path.display(), crate::error::reason(&error)))?;
    }
    let begin = if last == *b"\n" { "" } else { "\n" };
    Ok(Edit { at: length, removed: 0, inserted: format!("{begin}{line}\n").into_bytes() })
}

/// Reads a small file as text; `None` where there is none.
pub(super) fn small(path: &Path, limit: u64) -> Result<Option<String>, String> {
    let Some(bytes) = fsio::read_if_present(path, limit).map_err(|error| error.to_string())? else { return Ok(None) };
    String::from_utf8(bytes).map(Some).map_err(|_| format!("{} is not UTF-8", path.display()))
}
