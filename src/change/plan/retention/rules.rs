//! Keeps sessions by count or by a rule of the config file, regardless of other options. Never marks a session for removal.

use std::cmp::Reverse;
use std::collections::HashMap;

use jiff::Timestamp;

use super::{Family, FamilyVerdict, Keep, Policy, RetentionCandidate};
use crate::session::{AgentKind, CLOCK_SKEW, SessionKind};

/// Selects sessions to keep.
#[derive(Clone, Debug)]
pub(crate) struct RetentionRule {
    /// Keeps the sessions that were active at this time or later.
    pub since: Option<Timestamp>,
    /// Keeps this number of the newest sessions per project.
    pub last: Option<usize>,
}

impl RetentionRule {
    /// Checks whether the rule keeps a session by its time. A rule without conditions keeps every session that it
    /// matches.
    fn keeps_by_time(&self, active_at: Option<Timestamp>) -> bool {
        match self.since {
            Some(since) => active_at.is_none_or(|at| at >= since),
            None => self.last.is_none(),
        }
    }
}

/// Keeps the newest sessions of each project.
pub(super) fn keep_last(families: &mut [Family], candidates: &[RetentionCandidate<'_>], policy: &Policy) {
    for at in newest(families, candidates, policy, policy.keep_last, |_| true) {
        keep_for(&mut families[at], Keep::AmongNewest);
    }
}

/// Keeps the sessions of the rules: a rule that matches one session matches its whole family.
pub(super) fn keep_by_rules(families: &mut [Family], candidates: &[RetentionCandidate<'_>], policy: &Policy) {
    for (place, rule) in policy.rules.iter().enumerate() {
        let is_meant = |family: &Family| {
            family.members.iter().any(|member| candidates[*member].rules.iter().any(|at| usize::from(*at) == place))
        };
        for at in newest(families, candidates, policy, rule.last.unwrap_or_default(), is_meant) {
            keep_for(&mut families[at], Keep::Rule);
        }
        for family in families.iter_mut().filter(|family| is_meant(family) && rule.keeps_by_time(family.active_at)) {
            keep_for(family, Keep::Rule);
        }
    }
}

fn keep_for(family: &mut Family, why: Keep) {
    if family.is_removed() || family.verdict.is_for_age() {
        family.verdict = FamilyVerdict::Stays(why);
    }
}

/// Returns the newest families of each project. Families that are kept for other reasons are included, empty ones are
/// not.
fn newest(
    families: &[Family],
    candidates: &[RetentionCandidate<'_>],
    policy: &Policy,
    count: usize,
    is_meant: impl Fn(&Family) -> bool,
) -> Vec<usize> {
    let mut by_project: HashMap<(AgentKind, Option<&str>), Vec<usize>> = HashMap::new();
    for (at, family) in families.iter().enumerate().filter(|(_, family)| count > 0 && is_meant(family)) {
        let root = &candidates[family.root()];
        // Empty sessions would use up places of sessions that the user wants to continue.
        if root.kind != SessionKind::Empty {
            by_project.entry((root.agent, root.project)).or_default().push(at);
        }
    }
    let mut kept = Vec::new();
    for mut of_project in by_project.into_values() {
        // A session with a time in the future does not use up a place.
        let is_to_come =
            |at: usize| families[at].active_at.is_some_and(|time| time.duration_since(policy.now) > CLOCK_SKEW);
        of_project.sort_by_key(|at| (is_to_come(*at), Reverse(families[*at].active_at), *at));
        kept.extend(of_project.into_iter().take(count));
    }
    kept
}
