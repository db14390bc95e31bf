//! The lines of a journal.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::disk::FileTimes;
use crate::path_text;
use crate::stamp::Stamp;

/// One line of a journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum JournalEvent {
    /// The run begins.
    Begin { format_version: u32, run: String, verb: String, at: Timestamp, pid: u32 },
    /// An item to be done.
    Item(ItemRecord),
    /// A step is about to be done.
    Start {
        item: usize,
        step: usize,
        /// Access and modification times of the directory before the step.
        dir_times: Option<FileTimes>,
    },
    /// Device and inode of an entry that a step is about to rename into place.
    Made { kept: String, device: u64, inode: u64 },
    /// An item was done completely.
    Done { item: usize },
    /// An item was not done, and leaves no traces.
    Left { item: usize, reason: String },
    /// An item was done in part and could not be reverted.
    Stuck { item: usize, reason: String },
    /// The run has ended.
    End {
        at: Timestamp,
        /// Set if a part of an item could not be reverted.
        #[serde(default)]
        stuck: bool,
    },
    /// An item is about to be undone.
    Undoing {
        item: usize,
        /// Times of each step's directory before the undo.
        dir_times: Vec<Option<FileTimes>>,
    },
    /// An item was undone.
    Undone { item: usize, at: Timestamp },
    /// The run's trash was deleted.
    Purged { at: Timestamp },
}

/// The plan for one item.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ItemRecord {
    /// Number of the item in the run, from 0.
    pub item: usize,
    /// Subject of the item, for display.
    pub label: String,
    /// Name of the program whose data the item changes.
    pub agent: Option<String>,
    /// Id of the data, as that program names it.
    pub id: Option<String>,
    /// The title of the session, if the plan has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Stable name of the reason.
    pub code: String,
    /// The reason.
    pub reason: String,
    /// The number of an earlier item; both are undone together, or neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<usize>,
    /// The steps, in order.
    pub steps: Vec<StepRecord>,
}

impl ItemRecord {
    /// Returns the label, and the title if there is one.
    pub fn named(&self) -> String {
        match &self.title {
            Some(title) => format!("{}  {title}", self.label),
            None => self.label.clone(),
        }
    }

    /// Checks whether the item concerns all data of an id, and not a part or a copy of it.
    pub fn is_whole_session(&self) -> bool {
        let owner = self.agent.as_deref().zip(self.id.as_deref());
        owner.is_some_and(|(agent, id)| self.label == format!("{agent} {id}"))
    }
}

/// The plan for one path; `kept` names an entry in the run's trash.
#[derive(Clone, Debug, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(tag = "do", rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum StepRecord {
    /// Moves the path to the trash.
    Trash {
        /// The path.
        #[serde(with = "path_text")]
        path: PathBuf,
        /// Its name in the trash.
        kept: String,
        /// Stamp when it was planned.
        stamp: Stamp,
    },
    /// Writes a file.
    Write {
        /// The file.
        #[serde(with = "path_text")]
        path: PathBuf,
        /// Name of the old file in the trash.
        kept: String,
        /// Stamp of the old file when it was planned; `None` for a new file.
        stamp: Option<Stamp>,
        /// SHA-256 of the new contents.
        sha256: String,
    },
    /// Makes a directory.
    MakeDir {
        /// The directory.
        #[serde(with = "path_text")]
        path: PathBuf,
        /// Its name in the run.
        kept: String,
    },
    /// Moves a prepared entry to its final path.
    Put {
        /// Target path.
        #[serde(with = "path_text")]
        path: PathBuf,
        /// Path where it was prepared.
        #[serde(with = "path_text")]
        from: PathBuf,
        /// Its name in the trash after an undo.
        kept: String,
        /// Stamp of the prepared entry.
        stamp: Stamp,
    },
    /// Moves an entry to another path.
    Move {
        /// New path.
        #[serde(with = "path_text")]
        path: PathBuf,
        /// Old path.
        #[serde(with = "path_text")]
        from: PathBuf,
        /// Its name in the run.
        kept: String,
        /// Stamp when it was planned.
        stamp: Stamp,
        /// Times of the old directory; the journal's `start` has those of the new one.
        from_times: Option<FileTimes>,
    },
}

impl StepRecord {
    /// Returns the path that is changed.
    pub fn path(&self) -> &Path {
        match self {
            Self::Trash { path, .. }
            | Self::Write { path, .. }
            | Self::MakeDir { path, .. }
            | Self::Put { path, .. }
            | Self::Move { path, .. } => path,
        }
    }

    /// Returns the paths that it changes, each with a flag that is set for a new directory.
    pub(crate) fn paths(&self) -> impl Iterator<Item = (&Path, bool)> + Clone {
        let from = if let Self::Move { from, .. } = self { Some((from.as_path(), false)) } else { None };
        [(self.path(), matches!(self, Self::MakeDir { .. }))].into_iter().chain(from)
    }

    /// Returns the step's name in the run.
    pub(crate) fn name_in_trash(&self) -> &str {
        match self {
            Self::Trash { kept, .. }
            | Self::Write { kept, .. }
            | Self::MakeDir { kept, .. }
            | Self::Put { kept, .. }
            | Self::Move { kept, .. } => kept,
        }
    }
}
