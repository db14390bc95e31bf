//! A planned change of files, item by item, as plain data to show, compare and apply.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use smallvec::SmallVec;

use crate::format::text;
use crate::session::{AgentKind, Located, Problem, Session, SessionCopy};
pub(crate) use changes::plan::{Contents, Step};

/// A whole change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    /// The verb of the change.
    pub verb: &'static str,
    /// The items; each is done completely or not at all.
    pub items: Vec<ChangeItem>,
    /// The sessions to be removed by their agents.
    pub handed: Vec<Handed>,
}

/// A part of a change that is done completely or not at all.
#[derive(Clone, Debug)]
pub(crate) struct ChangeItem {
    /// Subject of the item.
    pub about: ItemSubject,
    /// The copies to change, which must be unchanged since they were seen.
    pub seen: SmallVec<[PlannedCopy; 1]>,
    /// Stable name of the reason, such as a finding's code.
    pub code: &'static str,
    /// The reason as text; many items may share it.
    pub reason: Arc<str>,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The number of an earlier item without which this one is useless; `None` if it needs no other.
    pub needs: Option<usize>,
    /// The number of an earlier item that must be done before this one; unlike with `needs`, each of them can be undone alone.
    pub after: Option<usize>,
    /// The title of the session, if it is shown.
    pub title: Option<Box<str>>,
    /// Number of sub-agents removed with the session.
    pub subagents: usize,
}

impl ChangeItem {
    /// Makes an item that depends on no copy and no other item.
    pub(crate) fn new(about: ItemSubject, code: &'static str, reason: impl Into<Arc<str>>, steps: Vec<Step>) -> Self {
        let (seen, reason) = (SmallVec::new(), reason.into());
        Self { about, seen, code, reason, steps, needs: None, after: None, title: None, subagents: 0 }
    }
}

/// Returns a title that is short enough for a list of many items.
pub(crate) fn short_title(title: &str) -> Box<str> {
    /// Maximum columns of a title.
    const TITLE: usize = 60;
    text::truncated(&title.chars().take(4 * TITLE).collect::<String>(), TITLE).into()
}

/// A session to be removed by its agent.
#[derive(Clone, Debug)]
pub(crate) struct Handed {
    /// The agent and id.
    pub about: ItemSubject,
    /// The title.
    pub title: Option<Box<str>>,
    /// The copies of the session and of its sub-agents, which are removed with it.
    pub seen: SmallVec<[PlannedCopy; 1]>,
    /// Stable name of the reason.
    pub code: &'static str,
    /// The reason.
    pub reason: Arc<str>,
    /// The agent's command that removes the session.
    pub command: Vec<String>,
    /// Size of the session's rows in bytes.
    pub size_bytes: u64,
}

/// Something that could not be planned.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Unplanned {
    /// The subject of the item.
    pub about: String,
    /// The reason.
    pub reason: String,
}

impl From<&Problem> for Unplanned {
    /// Converts an unreadable path to an item that could not be planned.
    fn from(problem: &Problem) -> Self {
        Self { about: problem.path.display().to_string(), reason: problem.reason.clone() }
    }
}

/// Subject of an item; its display form is readable text.
#[derive(Clone, Debug)]
pub(crate) enum ItemSubject {
    /// A session, by its agent and its full id.
    Session(AgentKind, Box<str>),
    /// The session of this copy.
    Copy(Arc<Located>),
    /// A part of a session, or a copy of it: "a copy".
    Part(&'static str, AgentKind, Box<str>),
    /// Something else.
    Other(Box<str>),
}

impl ItemSubject {
    /// Returns agent and id of the session; `None` if the subject is something else.
    pub(crate) fn session(&self) -> Option<(AgentKind, &str)> {
        match self {
            Self::Session(agent, id) | Self::Part(_, agent, id) => Some((*agent, id)),
            Self::Copy(place) => Some((place.agent(), &place.id)),
            Self::Other(_) => None,
        }
    }
}

impl From<&Session> for ItemSubject {
    fn from(session: &Session) -> Self {
        Self::Session(session.agent, session.id().into())
    }
}

impl fmt::Display for ItemSubject {
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
pub(crate) struct PlannedCopy {
    /// Location of the copy.
    pub place: Arc<Located>,
    /// Newest time inside the copy.
    pub active_at: Option<Timestamp>,
    /// Size of the transcript in bytes.
    pub transcript_bytes: u64,
}

impl PlannedCopy {
    /// Records the state of a copy.
    pub(crate) fn from_copy(copy: &SessionCopy) -> Self {
        Self {
            place: Arc::new(copy.place.clone()),
            active_at: copy.active_at.as_ref().map(|at| at.value),
            transcript_bytes: copy.transcript_bytes,
        }
    }
}

impl Change {
    /// Makes a change of files.
    pub(crate) fn new(verb: &'static str, items: Vec<ChangeItem>) -> Self {
        Self { verb, items, handed: Vec::new() }
    }

    /// Checks whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty() && self.handed.is_empty()
    }

    /// Returns the bytes that the change would move to the trash.
    pub(crate) fn freed_bytes(&self) -> u64 {
        self.items.iter().flat_map(|item| &item.steps).map(Step::freed_bytes).sum()
    }
}
