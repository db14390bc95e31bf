//! The order of a listing.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::session::usage::{Cost, Tokens};
use crate::session::{AgentKind, Session};

impl SortKey {
    /// Returns whether the order needs the tokens and the costs of all sessions.
    pub(crate) fn needs_usage(self) -> bool {
        matches!(self, Self::Cost | Self::Tokens)
    }
}

/// The order of a listing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SortKey {
    /// Newest activity first; a time in the future does not count as activity.
    #[default]
    #[value(name = "active_at", alias = "active")]
    Active,
    /// Newest first.
    #[value(name = "created_at", alias = "created")]
    Created,
    /// Largest first.
    #[value(name = "size_bytes", alias = "size")]
    Size,
    /// Highest cost first, sessions without a recorded cost last.
    #[value(name = "cost_usd", alias = "cost")]
    Cost,
    /// Most tokens first, sessions without recorded tokens last.
    Tokens,
    /// By title, or else by first prompt.
    Title,
    /// By launch directory.
    #[value(name = "launch_dir", alias = "dir")]
    Dir,
    /// By agent, then newest activity first.
    Agent,
}

/// A session's sort key; the lowest comes first. Only ranks of the same key can be compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SortRank {
    /// By a time, and whether it is plausible; a missing time sorts as the oldest.
    Time(Reverse<(bool, Timestamp)>),
    /// By size.
    Size(Reverse<u64>),
    /// By cost; an unknown one comes last.
    Cost(Reverse<Option<Cost>>),
    /// By number of tokens; an unknown one comes last.
    Tokens(Reverse<Option<u64>>),
    /// By title.
    Title(Box<str>),
    /// By directory.
    Dir(Option<Box<Path>>),
    /// By agent and time.
    Agent(AgentKind, Reverse<(bool, Timestamp)>),
}

impl SortRank {
    /// Returns the rank of a session by a sort key.
    pub(crate) fn from_session(session: &Session, key: SortKey) -> Self {
        let copy = session.copy();
        let (is_dated, active_at) = session.recency();
        match key {
            SortKey::Active => Self::Time(Self::when(is_dated, active_at)),
            SortKey::Created => Self::Time(Self::when(is_dated, copy.created_at.as_ref().map(|created| created.value))),
            SortKey::Size => Self::Size(Reverse(copy.size_bytes)),
            SortKey::Cost => Self::Cost(Reverse(copy.usage.and_then(|usage| usage.cost))),
            SortKey::Tokens => Self::Tokens(Reverse(copy.usage.and_then(|usage| usage.tokens).map(Tokens::total))),
            SortKey::Title => Self::Title(session.label().unwrap_or_default().to_lowercase().into()),
            SortKey::Dir => Self::Dir(session.launch_dir().map(Into::into)),
            SortKey::Agent => Self::Agent(session.agent, Self::when(is_dated, active_at)),
        }
    }
}

impl SortRank {
    /// Returns the rank of a time, and of whether it is plausible; compact, because there may be very many.
    pub(crate) fn when(is_dated: bool, at: Option<Timestamp>) -> Reverse<(bool, Timestamp)> {
        Reverse((is_dated, at.unwrap_or(Timestamp::MIN)))
    }

    /// Returns whether the session stays last in the reverse order.
    pub(crate) fn is_unknown(&self) -> bool {
        matches!(self, Self::Cost(Reverse(None)) | Self::Tokens(Reverse(None)))
    }

    /// Returns the time of the rank, if it is plausible.
    pub(crate) fn believable_time(&self) -> Option<Timestamp> {
        match self {
            Self::Time(Reverse((true, at))) => Some(*at).filter(|at| *at > Timestamp::MIN),
            _ => None,
        }
    }
}

/// Sorts sessions by their last activity, the newest first.
pub(crate) fn newest_first(sessions: &mut [&Session]) {
    sessions.sort_by_key(|session| Reverse(session.recency()));
}

/// Sorts sessions; equal ones keep the order of agent and id, so the order is deterministic.
pub(crate) fn sort(sessions: &mut [Session], key: SortKey, reverse: bool) {
    sessions.sort_by_cached_key(|session| SortRank::from_session(session, key));
    if reverse {
        self::reverse(sessions, key);
    }
}

/// Reverses the order of sorted sessions. Sessions without the value that others have stay last.
pub(crate) fn reverse(sessions: &mut [Session], key: SortKey) {
    sessions.reverse();
    sessions.sort_by_cached_key(|session| SortRank::from_session(session, key).is_unknown());
}

/// Groups the sessions by launch directory; the projects are in the order of their first sessions.
pub(crate) fn put_projects_together<S>(sessions: &mut [S], dir: impl Fn(&S) -> Option<PathBuf>) {
    let mut places: HashMap<Option<PathBuf>, usize> = HashMap::new();
    for session in sessions.iter() {
        let next = places.len();
        places.entry(dir(session)).or_insert(next);
    }
    sessions.sort_by_cached_key(|session| places[&dir(session)]);
}
