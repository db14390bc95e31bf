//! Decides which sessions to remove and which to keep, each with its reason. docs/cleanup.md describes the policy.
//!
//! A session and its sub-agents are a family, kept or removed together. A reason to keep beats every reason to remove.

use std::borrow::Cow;
use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use smallvec::SmallVec;

use crate::session::{AgentKind, Liveness, SessionKind};
pub(crate) use guard::{Guard, guards};
pub(crate) use rules::RetentionRule;
pub(crate) use verdict::{FamilyVerdict, Go, Keep};

mod guard;
mod rules;
#[cfg(test)]
mod tests;
mod verdict;

/// A session that changed more recently counts as in use, even without other evidence.
pub(crate) const RECENT: SignedDuration = SignedDuration::from_hours(1);

/// Options of a cleanup.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// The current time.
    pub now: Timestamp,
    /// The cutoff: sessions last active before it are removed. `None` if age does not matter.
    pub cutoff: Option<Timestamp>,
    /// Set if the cutoff was computed from the current time, so that a wrong clock makes it wrong.
    pub is_relative: bool,
    /// Number of sessions to keep per project, newest first.
    pub keep_last: usize,
    /// Rules that keep sessions regardless of other options.
    pub rules: Vec<RetentionRule>,
    /// Maximum total size in bytes; the oldest sessions are removed until the rest fits.
    pub max_total: Option<u64>,
    /// Set if only sessions without a prompt and without a reply are removed.
    pub only_empty: bool,
    /// Set if sessions are removed regardless of their age.
    pub all: bool,
    /// Set if sessions in an unknown format may be removed.
    pub takes_unknown_format: bool,
}

/// Facts about a session that a decision needs.
#[derive(Clone, Debug)]
pub(crate) struct RetentionCandidate<'a> {
    /// The agent of the session.
    pub agent: AgentKind,
    /// The full id.
    pub id: &'a str,
    /// Kind of session.
    pub kind: SessionKind,
    /// Id of the session from which this one was started or forked.
    pub parent_id: Option<&'a str>,
    /// Ids of other sessions with links to its files.
    pub linked_by: Vec<&'a str>,
    /// The agent's name of the project, shared by its sessions.
    pub project: Option<&'a str>,
    /// Newest time inside any copy.
    pub active_at: Option<Timestamp>,
    /// Newest time in its files; `None` if they were not read.
    pub recorded_at: Option<Timestamp>,
    /// Newest modification time of the files that contain no time, or whose last record has none; `None` if each last
    /// record has a time.
    pub undated_at: Option<Timestamp>,
    /// Size of all copies with their belongings, in bytes.
    pub size_bytes: u64,
    /// The evidence that a process uses the session.
    pub liveness: &'a Liveness,
    /// Set if nothing in any copy was written by the user or a model.
    pub is_empty: bool,
    /// Set if a part of the session could not be read or parsed.
    pub is_unparsable: bool,
    /// Set if the session's records are in an unknown format.
    pub is_unknown_format: bool,
    /// Set if the user pinned the session.
    pub is_pinned: bool,
    /// Set if the user keeps the session in its agent.
    pub is_kept_by_agent: bool,
    /// Set if the user excluded the session from this cleanup.
    pub is_excluded: bool,
    /// Indexes of the rules that match the session.
    pub rules: Cow<'a, [u16]>,
    /// Set if the session matches the requested agents and directories.
    pub is_asked_for: bool,
    /// Set if only the agent can remove the session.
    pub is_its_agents: bool,
    /// Set if the files of the agent were never measured.
    pub is_only_read: bool,
}

/// A session with its sub-agents, by their indexes among the candidates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Family {
    /// The session itself, then its sub-agents; nearly all sessions have none.
    pub members: SmallVec<[usize; 2]>,
    /// Newest time inside any of them.
    pub active_at: Option<Timestamp>,
    /// The decision.
    pub verdict: FamilyVerdict,
}

impl AsRef<[usize]> for Family {
    fn as_ref(&self) -> &[usize] {
        &self.members
    }
}

impl Family {
    /// Returns the index of the session itself.
    pub(crate) fn root(&self) -> usize {
        self.members[0]
    }

    /// Checks whether the family is removed.
    pub(crate) fn is_removed(&self) -> bool {
        matches!(self.verdict, FamilyVerdict::Goes(_))
    }
}

/// Decides about every session; families are in the order of their first member.
pub(crate) fn decide(candidates: &[RetentionCandidate<'_>], policy: &Policy) -> Vec<Family> {
    let key = |at: usize| (candidates[at].agent, candidates[at].id);
    let mut by_id: Vec<usize> = (0..candidates.len()).collect();
    by_id.sort_by_key(|at| key(*at));
    let find = |at: usize, id: Option<&str>| -> Option<usize> {
        let requested = (candidates[at].agent, id?);
        let found = by_id[by_id.partition_point(|at| key(*at) <= requested).checked_sub(1)?];
        Some(found).filter(|found| key(*found) == requested && *found != at)
    };
    let parent = |at: usize| find(at, candidates[at].parent_id);
    let roots = roots(candidates, parent);
    let mut families = families(candidates, &roots);
    for family in &mut families {
        let not_asked_for = (!candidates[family.root()].is_asked_for).then_some(Keep::NotAskedFor);
        let reasons = family.members.iter().filter_map(|at| own_reason(&candidates[*at], policy));
        let not_empty = policy.only_empty && family.members.iter().any(|at| !candidates[*at].is_empty);
        let reason = reasons.chain(not_empty.then_some(Keep::NotEmpty)).chain(not_asked_for).min();
        // A record may have a newer time than a list of sessions shows.
        let newest = |time: fn(&RetentionCandidate<'_>) -> Option<Timestamp>| {
            family.members.iter().filter_map(|at| time(&candidates[*at])).max()
        };
        let recorded_at = family.active_at.max(newest(|one| one.recorded_at));
        let undated_at = newest(|one| one.undated_at);
        family.verdict = match (reason, policy.cutoff, recorded_at) {
            // Sessions that rejoin cannot remove may be too new anyway.
            (Some(Keep::ItsAgents | Keep::OnlyRead), Some(cutoff), Some(at)) if !policy.all && at >= cutoff => {
                FamilyVerdict::Stays(Keep::Newer)
            }
            (Some(keep), ..) => FamilyVerdict::Stays(keep),
            (None, ..) if policy.all => FamilyVerdict::Goes(Go::All),
            (None, Some(cutoff), Some(at)) if at < cutoff && undated_at.is_some_and(|at| at >= cutoff) => {
                FamilyVerdict::Stays(Keep::NewerFile)
            }
            (None, Some(cutoff), Some(at)) if at < cutoff => FamilyVerdict::Goes(Go::Old),
            _ => FamilyVerdict::Stays(Keep::Newer),
        };
    }
    rules::keep_last(&mut families, candidates, policy);
    rules::keep_by_rules(&mut families, candidates, policy);
    shrink(&mut families, candidates, policy);
    let links = |at: usize| candidates[at].linked_by.iter().filter_map(move |by| Some((find(at, Some(*by))?, at)));
    let linked: Vec<_> = (0..candidates.len()).flat_map(links).collect();
    keep_needed(&mut families, roots, parent, &linked);
    families
}

/// Returns the index of each candidate's main session, which for a sub-agent is the root of its tree.
fn roots(candidates: &[RetentionCandidate<'_>], parent: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
    let above = |at: usize| parent(at).filter(|_| candidates[at].kind == SessionKind::Subagent);
    let mut roots: Vec<usize> = (0..candidates.len()).collect();
    let mut is_known: Vec<bool> = roots.iter().map(|at| above(*at).is_none()).collect();
    for start in 0..candidates.len() {
        if is_known[start] {
            continue;
        }
        let mut walked = Vec::new();
        let mut seen = BTreeSet::new();
        let mut at = start;
        let root = loop {
            if is_known[at] {
                break roots[at];
            }
            if !seen.insert(at) {
                // The parents form a cycle, so any of them can be the root.
                break at;
            }
            walked.push(at);
            match above(at) {
                Some(next) => at = next,
                None => break at,
            }
        };
        walked.into_iter().for_each(|at| (roots[at], is_known[at]) = (root, true));
    }
    roots
}

fn families(candidates: &[RetentionCandidate<'_>], roots: &[usize]) -> Vec<Family> {
    let mut order: Vec<usize> = (0..roots.len()).collect();
    order.sort_unstable_by_key(|at| (roots[*at], *at != roots[*at], *at));
    let family = |members: &[usize]| {
        let active_at = members.iter().filter_map(|at| candidates[*at].active_at).max();
        Family { members: members.into(), active_at, verdict: FamilyVerdict::Stays(Keep::Newer) }
    };
    let mut families = Vec::with_capacity(roots.iter().enumerate().filter(|(at, root)| at == *root).count());
    families.extend(order.chunk_by(|a, b| roots[*a] == roots[*b]).map(family));
    families
}

/// Returns the strongest reason for keeping a session that does not depend on other sessions.
fn own_reason(one: &RetentionCandidate<'_>, policy: &Policy) -> Option<Keep> {
    let times = || [one.active_at, one.recorded_at, one.undated_at].into_iter().flatten();
    let is_recent = |at: Timestamp| policy.now.duration_since(at) < RECENT;
    let reasons = [
        (matches!(one.liveness, Liveness::Live { .. }), Keep::Live),
        (matches!(one.liveness, Liveness::Maybe { .. }), Keep::MaybeLive),
        (one.is_unparsable, Keep::Unparsable),
        (one.is_unknown_format && (!policy.takes_unknown_format || policy.only_empty), Keep::UnknownFormat),
        (times().any(|at| at > policy.now), Keep::Future),
        (one.is_pinned, Keep::Pinned),
        (one.is_kept_by_agent, Keep::KeptByAgent),
        (one.is_excluded, Keep::Excluded),
        (one.active_at.is_none(), Keep::Undated),
        (times().any(is_recent), Keep::Recent),
        (one.is_its_agents, Keep::ItsAgents),
        (one.is_only_read, Keep::OnlyRead),
    ];
    reasons.into_iter().find(|(is, _)| *is).map(|(_, keep)| keep)
}

/// Marks the oldest sessions for removal until the total size is within the limit.
fn shrink(families: &mut [Family], candidates: &[RetentionCandidate<'_>], policy: &Policy) {
    let Some(most) = policy.max_total else { return };
    let size = |family: &Family| family.members.iter().map(|at| candidates[*at].size_bytes).sum::<u64>();
    let is_left = |at: &usize| candidates[*at].is_its_agents || candidates[*at].is_only_read;
    let is_left = |family: &Family| family.members.iter().any(is_left);
    let counts = |family: &Family| match family.verdict {
        FamilyVerdict::Goes(_) | FamilyVerdict::Stays(Keep::NotAskedFor | Keep::ItsAgents | Keep::OnlyRead) => false,
        verdict if verdict.is_for_age() => !is_left(family),
        FamilyVerdict::Stays(_) => true,
    };
    let mut total: u64 = families.iter().filter(|family| counts(family)).map(size).sum();
    let is_removable = |family: &Family| family.verdict.is_for_age() && !is_left(family);
    let mut order: Vec<usize> = (0..families.len()).filter(|at| is_removable(&families[*at])).collect();
    order.sort_by_key(|at| (families[*at].active_at, *at));
    for at in order {
        if total <= most {
            return;
        }
        total -= size(&families[at]);
        families[at].verdict = FamilyVerdict::Goes(Go::OverTotal);
    }
}

/// Keeps the parents of kept forks, and their parents, and the sessions to whose files kept sessions have links: `linked`
/// has pairs of a session with a link and the owner of the file.
fn keep_needed(
    families: &mut [Family],
    roots: Vec<usize>,
    parent: impl Fn(usize) -> Option<usize>,
    linked: &[(usize, usize)],
) {
    // From here on, the map has the index of each session's family, not of its root.
    let mut family_of = roots;
    for (at, family) in families.iter().enumerate() {
        family.members.iter().for_each(|member| family_of[*member] = at);
    }
    let mut staying: Vec<usize> = (0..families.len()).filter(|at| !families[*at].is_removed()).collect();
    while let Some(at) = staying.pop() {
        for member in families[at].members.clone() {
            let owners = linked.iter().filter(|(link, _)| *link == member).map(|(_, owner)| *owner);
            for needed in parent(member).into_iter().chain(owners).map(|needed| family_of[needed]) {
                if families[needed].is_removed() {
                    families[needed].verdict = FamilyVerdict::Stays(Keep::Parent);
                    staying.push(needed);
                }
            }
        }
    }
}
