//! The lines of a journal.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::format::path_text;
use crate::session::AgentKind;
use crate::system::disk::Times;
use crate::system::stamp::Stamp;

/// One line of a journal.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(in crate::change::apply) enum Event {
    /// The run begins.
    Begin {
        format_version: u32,
        run: String,
        verb: String,
        at: Timestamp,
        pid: u32,
        /// Whether there are links in its paths; none are looked for where this is missing.
        #[serde(default = "has_links")]
        links: bool,
    },
    /// An item that is going to be done.
    Item(ItemRecord),
    /// A step is about to be done.
    Start {
        item: usize,
        step: usize,
        /// The directory's times of access and modification before.
        dir_times: Option<Times>,
    },
    /// What a step is about to put in place, by device and inode.
    Made { kept: String, device: u64, inode: u64 },
    /// An item was done whole.
    Done { item: usize },
    /// An item was not done, and nothing of it is left.
    Left { item: usize, reason: String },
    /// An item was done in part, which could not be taken back.
    Stuck { item: usize, reason: String },
    /// The run has ended.
    End {
        at: Timestamp,
        /// Whether something of it was done in part and could not be taken back.
        #[serde(default)]
        stuck: bool,
    },
    /// An item is about to be put back.
    Undoing {
        item: usize,
        /// The times of each step's directory before.
        dir_times: Vec<Option<Times>>,
    },
    /// An item was put back.
    Undone { item: usize, at: Timestamp },
    /// What the run kept in the trash is deleted.
    Purged { at: Timestamp },
}

/// Older versions wrote paths down as they were given.
fn has_links() -> bool {
    true
}

/// What is planned for one item.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ItemRecord {
    /// Its number in the run, from 0.
    pub item: usize,
    /// What it is about, for people.
    pub label: String,
    /// The agent that the session belongs to.
    pub agent: Option<AgentKind>,
    /// Its id.
    pub id: Option<String>,
    /// The title of the session, if the plan knew it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The reason's stable name.
    pub code: String,
    /// The reason.
    pub reason: String,
    /// The steps, in order.
    pub steps: Vec<StepRecord>,
}

impl ItemRecord {
    /// Returns the label, and the title if there is one.
    pub(crate) fn named(&self) -> String {
        match &self.title {
            Some(title) => format!("{}  {title}", self.label),
            None => self.label.clone(),
        }
    }

    /// Returns whether the item is about a whole session, and not about a part or a copy of it.
    pub(crate) fn is_whole_session(&self) -> bool {
        let session = self.agent.zip(self.id.as_deref());
        session.is_some_and(|(agent, id)| self.label == format!("{agent} {id}"))
    }
}

/// What is planned for one path; `kept` names an entry in the run's trash.
#[derive(Clone, Debug, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(tag = "do", rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum StepRecord {
    /// It goes to the trash.
    Trash {
        /// What goes.
        #[serde(with = "path_text")]
        path: PathBuf,
        /// Its name in the trash.
        kept: String,
        /// What it was.
        stamp: Stamp,
    },
    /// It is written anew.
    Write {
        /// The file.
        #[serde(with = "path_text")]
        path: PathBuf,
        /// The old file's name in the trash.
        kept: String,
        /// What it was; `None` when there was none.
        stamp: Option<Stamp>,
        /// The digest of its new contents.
        sha256: String,
    },
    /// A directory is made.
    MakeDir {
        /// The directory.
        #[serde(with = "path_text")]
        path: PathBuf,
        /// A name for it in the run.
        kept: String,
    },
    /// Something that was made ready is put in place.
    Put {
        /// Where it goes.
        #[serde(with = "path_text")]
        path: PathBuf,
        /// Where it was made ready.
        #[serde(with = "path_text")]
        from: PathBuf,
        /// Its name in the trash after an undo.
        kept: String,
        /// What it was where it was made ready.
        stamp: Stamp,
    },
    /// It goes to another place.
    Move {
        /// Where it goes.
        #[serde(with = "path_text")]
        path: PathBuf,
        /// Where it was.
        #[serde(with = "path_text")]
        from: PathBuf,
        /// A name for it in the run.
        kept: String,
        /// What it was.
        stamp: Stamp,
        /// The times of the directory that it was in; that of the other is noted like any.
        from_times: Option<Times>,
    },
}

impl StepRecord {
    /// Returns the path that is changed.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Trash { path, .. }
            | Self::Write { path, .. }
            | Self::MakeDir { path, .. }
            | Self::Put { path, .. }
            | Self::Move { path, .. } => path,
        }
    }

    /// Returns its name in the run.
    pub(in crate::change::apply) fn kept(&self) -> &str {
        match self {
            Self::Trash { kept, .. }
            | Self::Write { kept, .. }
            | Self::MakeDir { kept, .. }
            | Self::Put { kept, .. }
            | Self::Move { kept, .. } => kept,
        }
    }
}
