//! Which sessions a listing shows: those of some agents, directories, times and kinds.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::session::recorded;
use crate::session::{AgentKind, Copy, Kin, Session};

/// Which sessions a listing shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    /// Of these agents; of all when empty.
    pub agents: Vec<AgentKind>,
    /// The sessions with the requested tags; `None` without such a filter.
    pub tagged: Option<BTreeSet<(AgentKind, String)>>,
    /// With a recorded directory at or below one of these, which are names of one directory.
    pub dirs: Vec<PathBuf>,
    /// Directories that hold the same work as those, and are asked for with them.
    pub kin: Vec<(PathBuf, Kin)>,
    /// Returns whether a path lies in a directory that is spelled otherwise; without it the spelling decides.
    pub is_respelled: Option<fn(&Path, &Path) -> bool>,
    /// Active at this time or later.
    pub since: Option<Timestamp>,
    /// Active before this time, and perhaps later, too.
    pub until: Option<Timestamp>,
    /// Last active before this time.
    pub before: Option<Timestamp>,
    /// Sub-agents, archived and empty ones too.
    pub all: bool,
}

impl Filter {
    /// Makes the filter that every session of these agents passes, or of all agents if none is named.
    pub(crate) fn of_agents(agents: &[AgentKind]) -> Self {
        Self { agents: agents.to_vec(), all: true, ..Self::default() }
    }

    /// Returns whether it asks for more than agents, so that a session must be read to know whether it passes.
    pub(crate) fn is_narrow(&self) -> bool {
        !self.dirs.is_empty() || self.tagged.is_some() || self.has_times()
    }

    /// Returns whether sessions of this agent pass.
    pub(crate) fn has_agent(&self, agent: AgentKind) -> bool {
        self.agents.is_empty() || self.agents.contains(&agent)
    }

    /// Returns whether a session has the requested tags.
    pub(crate) fn has_tags(&self, agent: AgentKind, id: &str) -> bool {
        self.tagged.as_ref().is_none_or(|tagged| tagged.contains(&(agent, id.to_owned())))
    }

    fn has_times(&self) -> bool {
        self.since.is_some() || self.until.is_some() || self.before.is_some()
    }

    /// Returns the times between which a session must have been active, if it was active before and after them: then only its
    /// records show it.
    pub(crate) fn gap(&self, session: &Session) -> Option<(Timestamp, Timestamp)> {
        let (since, until) = self.since.zip(self.until)?;
        let spans = first_time(session)? < since && session.active_at()? >= until;
        spans.then_some((since, until))
    }

    /// Returns whether a session passes but for its kind.
    pub(crate) fn matches(&self, session: &Session) -> bool {
        let is_of_agent = self.has_agent(session.agent)
            || session.pointers.iter().any(|pointer| self.agents.contains(&pointer.agent));
        let at = session.active_at();
        is_of_agent
            && self.has_tags(session.agent, session.id())
            && (self.dirs.is_empty()
                || session.copies.iter().any(|copy| self.is_in_dirs(copy))
                || self.kin_of(session).is_some())
            && self.since.is_none_or(|since| at.is_some_and(|at| at >= since))
            && self.until.is_none_or(|until| first_time(session).is_some_and(|at| at < until))
            && self.before.is_none_or(|before| at.is_some_and(|at| at < before))
    }

    /// Returns whether a pointer of this agent is shown if its session cannot be found, and so has no place and no time.
    pub(crate) fn shows_dangling(&self, agent: AgentKind) -> bool {
        self.has_agent(agent) && !self.is_narrow()
    }

    /// Returns whether a session's kind is shown.
    pub(crate) fn shows_kind(&self, session: &Session) -> bool {
        self.all || session.copy().kind.is_listed()
    }

    /// Returns whether a path is at or below one of the directories.
    pub(crate) fn is_below(&self, path: &Path) -> bool {
        let is_respelled = |dir| self.is_respelled.is_some_and(|is_respelled| is_respelled(path, dir));
        self.dirs.iter().any(|dir| recorded::starts_with(path, dir) || is_respelled(dir))
    }

    /// Returns what the directory of a session is to those that were asked for, where it is at or below none of them.
    pub(crate) fn kin_of(&self, session: &Session) -> Option<Kin> {
        if self.kin.is_empty() || session.copies.iter().any(|copy| self.is_in_dirs(copy)) {
            return None;
        }
        let of = |path: &Path| self.kin.iter().find(|(dir, _)| recorded::starts_with(path, dir)).map(|(_, kin)| *kin);
        session.copies.iter().flat_map(Copy::directories).find_map(of)
    }

    fn is_in_dirs(&self, copy: &Copy) -> bool {
        copy.directories().any(|recorded| self.is_below(recorded))
    }
}

/// Returns when a session began, or else its last activity.
fn first_time(session: &Session) -> Option<Timestamp> {
    session.copy().created_at.as_ref().map(|at| at.value).or_else(|| session.active_at())
}
