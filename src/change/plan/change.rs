//! What a change would do to files, item by item, as plain data that can be shown, compared and applied.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use smallvec::SmallVec;

use crate::format::edit::Edit;
use crate::session::{AgentKind, Copy, Located, Session};
use crate::system::stamp::Stamp;

/// A change as a whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    /// The verb that makes it.
    pub verb: &'static str,
    /// Its items; each is done whole or not at all.
    pub items: Vec<Item>,
    /// The sessions that their agents are to remove.
    pub handed: Vec<Handed>,
}

/// A part of a change that is done whole or not at all.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// What it is about.
    pub about: About,
    /// The copies that are changed, which must still be as they were seen.
    pub seen: SmallVec<[Seen; 1]>,
    /// A stable name of the reason, such as a finding's code.
    pub code: &'static str,
    /// Why, in words; many items may share them.
    pub reason: Arc<str>,
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// The number of an earlier item of the change, without which this one is of no use.
    pub needs: Option<usize>,
    /// The title of the session, where it is shown.
    pub title: Option<Box<str>>,
    /// How many sub-agents go with the session.
    pub subagents: usize,
}

impl Item {
    /// Makes an item that depends on no copy and no other item.
    pub(crate) fn new(about: About, code: &'static str, reason: impl Into<Arc<str>>, steps: Vec<Step>) -> Self {
        let (seen, reason) = (SmallVec::new(), reason.into());
        Self { about, seen, code, reason, steps, needs: None, title: None, subagents: 0 }
    }
}

/// A session that its agent is to remove.
#[derive(Clone, Debug)]
pub(crate) struct Handed {
    /// Its agent, and its id.
    pub about: About,
    /// What people call it.
    pub title: Option<Box<str>>,
    /// Its copies, and those of its sub-agents, which go with it.
    pub seen: SmallVec<[Seen; 1]>,
    /// The stable name of the reason.
    pub code: &'static str,
    /// The reason.
    pub reason: Arc<str>,
    /// The agent's command that removes it.
    pub command: Vec<String>,
    /// What its rows hold, in bytes.
    pub size_bytes: u64,
}

/// Something that could not be planned.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Unplanned {
    /// What it is about.
    pub about: String,
    /// Why.
    pub reason: String,
}

/// What an item is about; shown, it is what people read.
#[derive(Clone, Debug)]
pub(crate) enum About {
    /// A session, by its agent and its full id.
    Session(AgentKind, Box<str>),
    /// The session that this is a copy of.
    Copy(Arc<Located>),
    /// A part of a session, or a copy of it: "a copy".
    Part(&'static str, AgentKind, Box<str>),
    /// Something else.
    Other(Box<str>),
}

impl About {
    /// Returns whose session it is, and its id.
    pub(crate) fn session(&self) -> Option<(AgentKind, &str)> {
        match self {
            Self::Session(agent, id) | Self::Part(_, agent, id) => Some((*agent, id)),
            Self::Copy(place) => Some((place.agent(), &place.id)),
            Self::Other(_) => None,
        }
    }
}

impl From<&Session> for About {
    fn from(session: &Session) -> Self {
        Self::Session(session.agent, session.id().into())
    }
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(words) => f.write_str(words),
            Self::Session(agent, id) => write!(f, "{agent} {id}"),
            Self::Part(what, agent, id) => write!(f, "{what} of {agent} {id}"),
            Self::Copy(place) => write!(f, "{} {}", place.agent(), place.id),
        }
    }
}

/// A copy as it was when the change was planned.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Where it is.
    pub place: Arc<Located>,
    /// The newest time inside it.
    pub active_at: Option<Timestamp>,
    /// The bytes of its transcript.
    pub transcript_bytes: u64,
}

impl Seen {
    /// Notes what was seen of a copy.
    pub(crate) fn of(copy: &Copy) -> Self {
        Self {
            place: Arc::new(copy.place.clone()),
            active_at: copy.active_at.as_ref().map(|at| at.value),
            transcript_bytes: copy.transcript_bytes,
        }
    }
}

/// One change to one path.
#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Step {
    /// A file, or a directory with all that is in it, goes to the trash.
    Trash {
        /// What goes; mostly the path of a copy, which is held anyway.
        path: Arc<Path>,
        /// What it was when it was planned.
        stamp: Stamp,
    },
    /// A file is written anew; an old one is kept in the trash.
    Write {
        /// The file.
        path: PathBuf,
        /// What is in it then.
        contents: Contents,
        /// What was there when it was planned; `None` when nothing was. Boxed, because of the other kind there are many.
        stamp: Option<Box<Stamp>>,
    },
    /// A directory is made where nothing is.
    MakeDir {
        /// The directory.
        path: PathBuf,
    },
    /// Something that was made ready in the state directory is put where nothing is yet.
    Put {
        /// Where it was made ready.
        from: PathBuf,
        /// Where it goes.
        path: PathBuf,
    },
    /// A file, or a directory with all that is in it, goes to where nothing is yet.
    Move {
        /// Where it is; mostly a path of a copy.
        from: PathBuf,
        /// Where it goes.
        path: PathBuf,
        /// What it was when it was planned.
        stamp: Box<Stamp>,
    },
}

impl Step {
    /// Returns the path that is changed.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Trash { path, .. } => path,
            Self::Write { path, .. } | Self::Put { path, .. } | Self::MakeDir { path } | Self::Move { path, .. } => {
                path
            }
        }
    }

    /// Returns the bytes that go to the trash for good.
    pub(crate) fn freed_bytes(&self) -> u64 {
        match self {
            Self::Trash { stamp, .. } => stamp.size,
            _ => 0,
        }
    }
}

/// What a file is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    /// These bytes.
    Bytes(Vec<u8>),
    /// These files, one after the other.
    Joined(Vec<PathBuf>),
    /// This file with pieces of it replaced; where there was nothing, the new file gets its mode, owner and times.
    Edited {
        /// The file.
        from: PathBuf,
        /// The pieces, in order.
        edits: Vec<Edit>,
    },
}

impl Change {
    /// Makes a change of files.
    pub(crate) fn new(verb: &'static str, items: Vec<Item>) -> Self {
        Self { verb, items, handed: Vec::new() }
    }

    /// Returns whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty() && self.handed.is_empty()
    }

    /// Returns the bytes that the change would move to the trash.
    pub(crate) fn freed_bytes(&self) -> u64 {
        self.items.iter().flat_map(|item| &item.steps).map(Step::freed_bytes).sum()
    }
}
