//! Signs that a plan is a mistake.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{Family, Policy, RetentionCandidate};
use crate::session::{AgentKind, SessionKind};

/// A sign that a plan is a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// Every existing session would be older than the cutoff, so the clock may be wrong.
    Clock {
        /// Newest time inside any session.
        newest: Timestamp,
    },
    /// The plan removes every session of an agent.
    WholeAgent(AgentKind),
    /// The plan removes more than half of all sessions.
    MoreThanHalf {
        /// Number of sessions that the plan removes.
        going: usize,
        /// Number of all sessions.
        all: usize,
    },
}

impl Guard {
    /// Checks whether the sign depends on numbers of sessions, which leave out sessions that are safe elsewhere.
    pub(crate) fn counts_sessions(&self) -> bool {
        !matches!(self, Self::Clock { .. })
    }
}

/// Returns the signs that a plan is a mistake; `archived` sessions are safe elsewhere, so they count as kept.
/// Sub-agents, and sessions without a prompt and a reply, do not count.
pub(crate) fn guards(
    families: &[Family],
    candidates: &[RetentionCandidate<'_>],
    policy: &Policy,
    archived: &BTreeSet<(AgentKind, String)>,
) -> Vec<Guard> {
    let mut guards = Vec::new();
    let mut by_agent: BTreeMap<AgentKind, (usize, usize)> = BTreeMap::new();
    for family in families {
        let root = &candidates[family.root()];
        if matches!(root.kind, SessionKind::Empty | SessionKind::Subagent) {
            continue;
        }
        let is_archived = !archived.is_empty() && archived.contains(&(root.agent, root.id.to_owned()));
        let (going, all) = by_agent.entry(root.agent).or_default();
        *going += usize::from(family.is_removed() && !is_archived);
        *all += 1;
    }
    let newest = candidates.iter().filter_map(|one| one.active_at).filter(|at| *at <= policy.now).max();
    let is_overdue = newest.zip(policy.cutoff).is_some_and(|(newest, cutoff)| newest < cutoff);
    let (going, all) = by_agent.values().fold((0, 0), |(going, all), of| (going + of.0, all + of.1));
    if policy.is_relative && is_overdue && families.iter().any(Family::is_removed) {
        guards.extend(newest.map(|newest| Guard::Clock { newest }));
    }
    let whole = by_agent.iter().filter(|(_, (going, all))| *going > 0 && going == all);
    guards.extend(whole.map(|(agent, _)| Guard::WholeAgent(*agent)));
    if going * 2 > all {
        guards.push(Guard::MoreThanHalf { going, all });
    }
    guards
}
