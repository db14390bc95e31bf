//! Filters the sessions of a listing by agent, directory, time and kind.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::session::recorded;
use crate::session::tag::Tag;
use crate::session::{AgentKind, Kin, Session, SessionCopy};

/// The filter of a listing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    /// Only these agents; all agents if empty.
    pub agents: Vec<AgentKind>,
    /// The requested tags; `chosen` applies them.
    pub tags: Vec<Tag>,
    /// The sessions with the requested tags, marks and titles; `None` without such a filter.
    pub chosen: Option<BTreeSet<(AgentKind, String)>>,
    /// Only sessions with a recorded directory at or below one of these, which are names of one directory.
    pub dirs: Vec<PathBuf>,
    /// Other directories with the same work as the requested ones.
    pub kin: Vec<(PathBuf, Kin)>,
    /// Returns whether a path is in a directory that it names differently, as through a link; `None` to compare the
    /// spelling only.
    pub leads_below: Option<fn(&Path, &Path) -> bool>,
    /// Active at this time or later.
    pub since: Option<Timestamp>,
    /// Active before this time, and possibly also later.
    pub until: Option<Timestamp>,
    /// Last active before this time.
    pub before: Option<Timestamp>,
    /// Set to include sub-agents, archived and empty sessions.
    pub all: bool,
}

impl Filter {
    /// Creates the filter that accepts all sessions of these agents, or of all agents if none is named.
    pub(crate) fn of_agents(agents: &[AgentKind]) -> Self {
        Self { agents: agents.to_vec(), all: true, ..Self::default() }
    }

    /// Returns whether the filter has conditions other than agents, so that a session must be read to apply it.
    pub(crate) fn is_narrow(&self) -> bool {
        !self.dirs.is_empty() || self.chosen.is_some() || self.has_times()
    }

    /// Returns whether sessions of this agent pass.
    pub(crate) fn has_agent(&self, agent: AgentKind) -> bool {
        self.agents.is_empty() || self.agents.contains(&agent)
    }

    /// Returns whether a session has the requested tags, marks and title.
    pub(crate) fn is_chosen(&self, agent: AgentKind, id: &str) -> bool {
        self.chosen.as_ref().is_none_or(|chosen| chosen.contains(&(agent, id.to_owned())))
    }

    /// Returns whether the filter has conditions on times.
    pub(crate) fn has_times(&self) -> bool {
        self.since.is_some() || self.until.is_some() || self.before.is_some()
    }

    /// Returns the time range in which a session must have been active, if it was active before and after that range:
    /// then only its records can show it.
    pub(crate) fn gap(&self, session: &Session) -> Option<(Timestamp, Timestamp)> {
        let (since, until) = self.since.zip(self.until)?;
        let spans = first_time(session)? < since && session.active_at()? >= until;
        spans.then_some((since, until))
    }

    /// Returns whether a session passes, apart from its kind.
    pub(crate) fn matches(&self, session: &Session) -> bool {
        let is_of_agent = self.has_agent(session.agent)
            || session.pointers.iter().any(|pointer| self.agents.contains(&pointer.agent));
        let at = session.active_at();
        is_of_agent
            && self.is_chosen(session.agent, session.id())
            && (self.dirs.is_empty()
                || session.copies.iter().any(|copy| self.is_in_dirs(copy))
                || self.kin_of(session).is_some())
            && self.since.is_none_or(|since| at.is_some_and(|at| at >= since))
            && self.until.is_none_or(|until| first_time(session).is_some_and(|at| at < until))
            && self.before.is_none_or(|before| at.is_some_and(|at| at < before))
    }

    /// Returns whether a dangling pointer of this agent is shown. The place and time of its session are unknown.
    pub(crate) fn shows_dangling(&self, agent: AgentKind) -> bool {
        self.has_agent(agent) && !self.is_narrow()
    }

    /// Returns whether a session's kind is shown.
    pub(crate) fn shows_kind(&self, session: &Session) -> bool {
        self.all || session.copy().kind.is_listed()
    }

    /// Returns whether a path is at or below one of the directories.
    pub(crate) fn is_below(&self, path: &Path) -> bool {
        let leads_below = |dir| self.leads_below.is_some_and(|leads_below| leads_below(path, dir));
        self.dirs.iter().any(|dir| recorded::starts_with(path, dir) || leads_below(dir))
    }

    /// Returns the relation of a session's directory to the requested ones; `None` if it is at or below one of them, or
    /// unrelated.
    pub(crate) fn kin_of(&self, session: &Session) -> Option<Kin> {
        if self.kin.is_empty() || session.copies.iter().any(|copy| self.is_in_dirs(copy)) {
            return None;
        }
        let of = |path: &Path| self.kin.iter().find(|(dir, _)| recorded::starts_with(path, dir)).map(|(_, kin)| *kin);
        session.copies.iter().flat_map(SessionCopy::directories).find_map(of)
    }

    fn is_in_dirs(&self, copy: &SessionCopy) -> bool {
        copy.directories().any(|recorded| self.is_below(recorded))
    }
}

/// Returns the start of a session, or else its last activity.
fn first_time(session: &Session) -> Option<Timestamp> {
    session.copy().created_at.as_ref().map(|at| at.value).or_else(|| session.active_at())
}
