//! Which sessions go and which stay, each with its reason. docs/cleanup.md is the policy in words.
//!
//! A session and its sub-agents are a family: they stay or go together. A reason to stay beats every reason to go.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::{SignedDuration, Timestamp};
use smallvec::SmallVec;

use crate::session::{AgentKind, CLOCK_SKEW, Liveness, SessionKind};

/// What was changed this recently may still be in use, even if nothing else says so.
pub(crate) const RECENT: SignedDuration = SignedDuration::from_hours(1);

/// What is asked of a cleanup.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// The time that counts as now.
    pub now: Timestamp,
    /// What was last active before this time goes; `None` when age does not matter.
    pub cutoff: Option<Timestamp>,
    /// Whether the cutoff was counted back from now, so that a wrong clock makes it wrong.
    pub is_relative: bool,
    /// How many sessions of each project stay, newest first.
    pub keep_last: usize,
    /// The oldest go until the rest has at most this many bytes.
    pub max_total: Option<u64>,
    /// Only sessions without a prompt and without a reply go.
    pub only_empty: bool,
    /// Every session goes, whatever its age.
    pub all: bool,
}

/// What a decision needs to know of a session.
#[derive(Clone, Debug)]
pub(crate) struct Candidate<'a> {
    /// The agent that it belongs to.
    pub agent: AgentKind,
    /// The full id.
    pub id: &'a str,
    /// What sort of session it is.
    pub kind: SessionKind,
    /// The session that it came from.
    pub parent_id: Option<&'a str>,
    /// What its agent files it under; sessions of one project share it.
    pub project: Option<&'a str>,
    /// The newest time inside any copy of it.
    pub active_at: Option<Timestamp>,
    /// The newest change of a file that it grows in; `None` if it was not checked.
    pub modified_at: Option<Timestamp>,
    /// All copies with all that belongs to them, in bytes.
    pub size_bytes: u64,
    /// Whether some process uses it.
    pub liveness: &'a Liveness,
    /// Whether something of it could not be read or understood.
    pub is_unparsable: bool,
    /// Whether a person pinned it.
    pub is_pinned: bool,
    /// Whether a person excluded it from this cleanup.
    pub is_excluded: bool,
    /// Whether it is of the agents and directories that were asked for.
    pub is_asked_for: bool,
    /// Whether only its agent can remove it.
    pub is_its_agents: bool,
}

/// Why a family stays, the strongest reason first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Keep {
    /// It is of another agent or directory.
    NotAskedFor,
    /// A process uses it.
    Live,
    /// A process may be using it.
    MaybeLive,
    /// Something of it could not be read or understood.
    Unparsable,
    /// It holds a time that is still to come, so some clock was wrong.
    Future,
    /// A person pinned it.
    Pinned,
    /// A person excluded it.
    Excluded,
    /// One of its files was changed within the last hour.
    Recent,
    /// It has a prompt or a reply.
    NotEmpty,
    /// It is among the newest of its project.
    #[strum(serialize = "keep-last")]
    AmongNewest,
    /// It is not old enough, or there is room for it.
    Newer,
    /// A session that came from it stays.
    Parent,
    /// Only its agent can remove it.
    ItsAgents,
}

impl Keep {
    /// Returns the stable name, for scripts.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// Returns what people read.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Live => "in use",
            Self::MaybeLive => "maybe in use",
            Self::Unparsable => "unreadable",
            Self::Future => "with a time in the future",
            Self::Pinned => "pinned",
            Self::Excluded => "excluded",
            Self::Recent => "changed within the last hour",
            Self::NotAskedFor => "not selected",
            Self::NotEmpty => "not empty",
            Self::AmongNewest => "among the last of their project",
            Self::Newer => "newer",
            Self::Parent => "parents of kept sessions",
            Self::ItsAgents => "in their agent's database",
        }
    }
}

/// Why a family goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Go {
    /// It was last active before the cutoff.
    Old,
    /// All together are larger than they may be, and it is among the oldest.
    OverTotal,
    /// Every one goes.
    All,
}

impl Go {
    /// Returns the stable name, for scripts.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }
}

/// What becomes of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It goes.
    Goes(Go),
    /// It stays.
    Stays(Keep),
}

/// A session with its sub-agents, by their places among the candidates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Family {
    /// The session itself first; nearly all have no sub-agents.
    pub members: SmallVec<[usize; 2]>,
    /// The newest time inside any of them.
    pub active_at: Option<Timestamp>,
    /// What becomes of it.
    pub verdict: Verdict,
}

impl AsRef<[usize]> for Family {
    fn as_ref(&self) -> &[usize] {
        &self.members
    }
}

impl Family {
    /// Returns the session itself.
    pub(crate) fn root(&self) -> usize {
        self.members[0]
    }

    /// Returns whether it goes.
    pub(crate) fn goes(&self) -> bool {
        matches!(self.verdict, Verdict::Goes(_))
    }
}

/// Decides what becomes of every session; families come in the order of their first member.
pub(crate) fn decide(candidates: &[Candidate<'_>], policy: &Policy) -> Vec<Family> {
    let key = |at: usize| (candidates[at].agent, candidates[at].id);
    let mut by_id: Vec<usize> = (0..candidates.len()).collect();
    by_id.sort_by_key(|at| key(*at));
    let parent = |at: usize| -> Option<usize> {
        let wanted = (candidates[at].agent, candidates[at].parent_id?);
        let parent = by_id[by_id.partition_point(|at| key(*at) <= wanted).checked_sub(1)?];
        Some(parent).filter(|parent| key(*parent) == wanted && *parent != at)
    };
    let roots = roots(candidates, parent);
    let mut families = families(candidates, &roots);
    for family in &mut families {
        let not_asked_for = (!candidates[family.root()].is_asked_for).then_some(Keep::NotAskedFor);
        let reasons = family.members.iter().filter_map(|at| own_reason(&candidates[*at], policy));
        let not_empty = policy.only_empty && family.members.iter().any(|at| candidates[*at].kind != SessionKind::Empty);
        let reason = reasons.chain(not_empty.then_some(Keep::NotEmpty)).chain(not_asked_for).min();
        family.verdict = match (reason, policy.cutoff, family.active_at) {
            (Some(keep), ..) => Verdict::Stays(keep),
            (None, ..) if policy.all => Verdict::Goes(Go::All),
            (None, Some(cutoff), Some(at)) if at < cutoff => Verdict::Goes(Go::Old),
            _ => Verdict::Stays(Keep::Newer),
        };
    }
    keep_last(&mut families, candidates, policy);
    shrink(&mut families, candidates, policy);
    keep_parents(&mut families, roots, parent);
    families
}

/// Returns the place of the session that each candidate is a sub-agent of, directly or not, or its own.
fn roots(candidates: &[Candidate<'_>], parent: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
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
                // Parents in a circle; any of them is as good a root as the next.
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

fn families(candidates: &[Candidate<'_>], roots: &[usize]) -> Vec<Family> {
    let mut order: Vec<usize> = (0..roots.len()).collect();
    order.sort_unstable_by_key(|at| (roots[*at], *at != roots[*at], *at));
    let family = |members: &[usize]| {
        let active_at = members.iter().filter_map(|at| candidates[*at].active_at).max();
        Family { members: members.into(), active_at, verdict: Verdict::Stays(Keep::Newer) }
    };
    let mut families = Vec::with_capacity(roots.iter().enumerate().filter(|(at, root)| at == *root).count());
    families.extend(order.chunk_by(|a, b| roots[*a] == roots[*b]).map(family));
    families
}

/// Returns the strongest reason why a session stays, regardless of the others.
fn own_reason(one: &Candidate<'_>, policy: &Policy) -> Option<Keep> {
    let times = || [one.active_at, one.modified_at].into_iter().flatten();
    let is_recent = |at: Timestamp| policy.now.duration_since(at) < RECENT;
    let reasons = [
        (matches!(one.liveness, Liveness::Live { .. }), Keep::Live),
        (matches!(one.liveness, Liveness::Maybe { .. }), Keep::MaybeLive),
        (one.is_unparsable || one.active_at.is_none(), Keep::Unparsable),
        (times().any(|at| at > policy.now), Keep::Future),
        (one.is_pinned, Keep::Pinned),
        (one.is_excluded, Keep::Excluded),
        (times().any(is_recent), Keep::Recent),
        (one.is_its_agents, Keep::ItsAgents),
    ];
    reasons.into_iter().find(|(is, _)| *is).map(|(_, keep)| keep)
}

/// Keeps the newest of each project; those that stay anyway, and empty ones, are counted or not as they are there.
fn keep_last(families: &mut [Family], candidates: &[Candidate<'_>], policy: &Policy) {
    if policy.keep_last == 0 {
        return;
    }
    let mut by_project: HashMap<(AgentKind, Option<&str>), Vec<usize>> = HashMap::new();
    for (at, family) in families.iter().enumerate() {
        let root = &candidates[family.root()];
        // Empty sessions would take the places of sessions that someone wants to continue.
        if root.kind != SessionKind::Empty {
            by_project.entry((root.agent, root.project)).or_default().push(at);
        }
    }
    for mut of_project in by_project.into_values() {
        // A session with a time in the future takes no other's place.
        let is_to_come =
            |at: usize| families[at].active_at.is_some_and(|time| time.duration_since(policy.now) > CLOCK_SKEW);
        of_project.sort_by_key(|at| (is_to_come(*at), std::cmp::Reverse(families[*at].active_at), *at));
        for at in of_project.into_iter().take(policy.keep_last) {
            if families[at].goes() || families[at].verdict == Verdict::Stays(Keep::Newer) {
                families[at].verdict = Verdict::Stays(Keep::AmongNewest);
            }
        }
    }
}

/// Lets the oldest go until what stays is small enough.
fn shrink(families: &mut [Family], candidates: &[Candidate<'_>], policy: &Policy) {
    let Some(most) = policy.max_total else { return };
    let size = |family: &Family| family.members.iter().map(|at| candidates[*at].size_bytes).sum::<u64>();
    let counts = |family: &Family| {
        !matches!(family.verdict, Verdict::Goes(_) | Verdict::Stays(Keep::NotAskedFor | Keep::ItsAgents))
    };
    let mut total: u64 = families.iter().filter(|family| counts(family)).map(size).sum();
    let mut order: Vec<usize> =
        (0..families.len()).filter(|at| families[*at].verdict == Verdict::Stays(Keep::Newer)).collect();
    order.sort_by_key(|at| (families[*at].active_at, *at));
    for at in order {
        if total <= most {
            return;
        }
        total -= size(&families[at]);
        families[at].verdict = Verdict::Goes(Go::OverTotal);
    }
}

/// Keeps the sessions that kept ones came from, and those that these came from.
fn keep_parents(families: &mut [Family], roots: Vec<usize>, parent: impl Fn(usize) -> Option<usize>) {
    // From here on each session's family is asked for, not its root.
    let mut family_of = roots;
    for (at, family) in families.iter().enumerate() {
        family.members.iter().for_each(|member| family_of[*member] = at);
    }
    let mut staying: Vec<usize> = (0..families.len()).filter(|at| !families[*at].goes()).collect();
    while let Some(at) = staying.pop() {
        for member in families[at].members.clone() {
            let Some(above) = parent(member).map(|above| family_of[above]) else { continue };
            if families[above].goes() {
                families[above].verdict = Verdict::Stays(Keep::Parent);
                staying.push(above);
            }
        }
    }
}

/// Something that makes a plan look like a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// Every session that there is would be older than the cutoff, so the clock may be wrong.
    Clock {
        /// The newest time inside any session.
        newest: Timestamp,
    },
    /// Nothing would be left of an agent.
    WholeAgent(AgentKind),
    /// More than half of all sessions would go.
    MoreThanHalf {
        /// How many go.
        going: usize,
        /// How many there are.
        all: usize,
    },
}

impl Guard {
    /// Returns whether it counts sessions. Sessions that are safe elsewhere do not count.
    pub(crate) fn counts_sessions(&self) -> bool {
        !matches!(self, Self::Clock { .. })
    }
}

/// Returns what makes a plan look like a mistake; `archived` sessions are safe elsewhere, so they count as kept.
///
/// Sub-agents and sessions without a prompt and a reply do not count: no one misses them.
pub(crate) fn guards(
    families: &[Family],
    candidates: &[Candidate<'_>],
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
        *going += usize::from(family.goes() && !is_archived);
        *all += 1;
    }
    let newest = candidates.iter().filter_map(|one| one.active_at).filter(|at| *at <= policy.now).max();
    let is_overdue = newest.zip(policy.cutoff).is_some_and(|(newest, cutoff)| newest < cutoff);
    let (going, all) = by_agent.values().fold((0, 0), |(going, all), of| (going + of.0, all + of.1));
    if policy.is_relative && is_overdue && families.iter().any(Family::goes) {
        guards.extend(newest.map(|newest| Guard::Clock { newest }));
    }
    let whole = by_agent.iter().filter(|(_, (going, all))| *going > 0 && going == all);
    guards.extend(whole.map(|(agent, _)| Guard::WholeAgent(*agent)));
    if going * 2 > all {
        guards.push(Guard::MoreThanHalf { going, all });
    }
    guards
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIVENESS: [Liveness; 2] = [Liveness::Idle, Liveness::Live { pid: 7 }];
    const NOW: &str = "2026-03-01T12:00:00Z";

    fn now() -> Timestamp {
        NOW.parse().expect("a time")
    }

    fn before(hours: i64) -> Timestamp {
        now() - SignedDuration::from_hours(hours)
    }

    fn candidate(id: &str) -> Candidate<'_> {
        Candidate {
            agent: AgentKind::Claude,
            id,
            kind: SessionKind::Main,
            parent_id: None,
            project: Some("-p"),
            active_at: Some(before(1000)),
            modified_at: Some(before(1000)),
            size_bytes: 10,
            liveness: &LIVENESS[0],
            is_unparsable: false,
            is_pinned: false,
            is_excluded: false,
            is_asked_for: true,
            is_its_agents: false,
        }
    }

    fn policy() -> Policy {
        Policy {
            now: now(),
            cutoff: Some(before(720)),
            is_relative: true,
            keep_last: 0,
            max_total: None,
            only_empty: false,
            all: false,
        }
    }

    fn verdicts(candidates: &[Candidate<'_>], policy: &Policy) -> Vec<Verdict> {
        decide(candidates, policy).into_iter().map(|family| family.verdict).collect()
    }

    #[test]
    fn a_sub_agent_goes_with_its_session_and_keeps_it() {
        let subagent = |at| Candidate {
            kind: SessionKind::Subagent,
            parent_id: Some("a"),
            active_at: Some(before(at)),
            ..candidate("b")
        };
        let families = decide(&[candidate("a"), subagent(1000)], &policy());
        assert_eq!((families.len(), families[0].members.as_slice()), (1, &[0, 1][..]));
        assert!(families[0].goes());
        assert_eq!(verdicts(&[candidate("a"), subagent(700)], &policy()), [Verdict::Stays(Keep::Newer)]);
        // Without its session it is judged by itself.
        assert_eq!(verdicts(&[subagent(1000)], &policy()), [Verdict::Goes(Go::Old)]);
    }

    #[test]
    fn what_a_kept_fork_came_from_stays_and_the_fork_of_a_kept_one_need_not() {
        let fork = |id, of, at| Candidate {
            kind: SessionKind::Fork,
            parent_id: Some(of),
            active_at: Some(before(at)),
            ..candidate(id)
        };
        let chain = [candidate("a"), fork("b", "a", 1000), fork("c", "b", 10)];
        let stays = Verdict::Stays(Keep::Parent);
        assert_eq!(verdicts(&chain, &policy()), [stays, stays, Verdict::Stays(Keep::Newer)]);
        let pinned = Candidate { is_pinned: true, ..candidate("a") };
        let expected = [Verdict::Stays(Keep::Pinned), Verdict::Goes(Go::Old)];
        assert_eq!(verdicts(&[pinned, fork("b", "a", 1000)], &policy()), expected);
    }

    #[test]
    fn the_oldest_go_until_the_rest_fits_and_no_more() {
        let policy = Policy { cutoff: None, max_total: Some(25), ..policy() };
        let aged = |id, hours| Candidate { active_at: Some(before(hours)), ..candidate(id) };
        let goes = Verdict::Goes(Go::OverTotal);
        let stays = Verdict::Stays(Keep::Newer);
        let ids = [aged("a", 10), aged("b", 40), aged("c", 30), aged("d", 20)];
        assert_eq!(verdicts(&ids, &policy), [stays, goes, goes, stays]);
        assert_eq!(verdicts(&ids, &Policy { max_total: Some(40), ..policy.clone() }), [stays; 4]);
        // What is kept for another reason is not too old, but takes room.
        let pinned = Candidate { is_pinned: true, ..aged("b", 40) };
        let ids = [aged("a", 10), pinned, aged("c", 30), aged("d", 20)];
        assert_eq!(verdicts(&ids, &policy), [stays, Verdict::Stays(Keep::Pinned), goes, goes]);
    }

    #[test]
    fn what_claims_to_come_later_takes_no_place_among_the_newest() {
        let policy = Policy { keep_last: 1, ..policy() };
        let planted = Candidate { active_at: Some(now() + SignedDuration::from_hours(1)), ..candidate("b") };
        let expected = [Verdict::Stays(Keep::AmongNewest), Verdict::Stays(Keep::Future)];
        assert_eq!(verdicts(&[candidate("a"), planted], &policy), expected);
    }

    #[test]
    fn the_cutoff_itself_and_the_full_hour_stay_and_go() {
        let at = |time| Candidate { active_at: Some(time), modified_at: None, ..candidate("a") };
        let second = SignedDuration::from_secs(1);
        assert_eq!(verdicts(&[at(before(720))], &policy()), [Verdict::Stays(Keep::Newer)]);
        assert_eq!(verdicts(&[at(before(720) - second)], &policy()), [Verdict::Goes(Go::Old)]);
        let all = Policy { all: true, cutoff: None, ..policy() };
        assert_eq!(verdicts(&[at(before(1))], &all), [Verdict::Goes(Go::All)]);
        assert_eq!(verdicts(&[at(before(1) + second)], &all), [Verdict::Stays(Keep::Recent)]);
        assert_eq!(verdicts(&[at(now() + second)], &all), [Verdict::Stays(Keep::Future)]);
    }

    #[test]
    fn what_is_archived_counts_as_kept() {
        let candidates = [candidate("a")];
        let families = decide(&candidates, &policy());
        let archived = BTreeSet::from([(AgentKind::Claude, "a".to_owned())]);
        let all = guards(&families, &candidates, &policy(), &BTreeSet::new());
        assert!(all.contains(&Guard::WholeAgent(AgentKind::Claude)), "{all:?}");
        assert!(all.contains(&Guard::MoreThanHalf { going: 1, all: 1 }), "{all:?}");
        let left = guards(&families, &candidates, &policy(), &archived);
        assert!(matches!(left.as_slice(), [Guard::Clock { .. }]), "{left:?}");
        let dated = Policy { is_relative: false, ..policy() };
        assert_eq!(guards(&families, &candidates, &dated, &archived), []);
    }

    /// A session that may be anything, before it has an id.
    #[derive(Clone, Debug)]
    struct Any {
        agent: bool,
        kind: SessionKind,
        parent: Option<usize>,
        project: bool,
        active: Option<i64>,
        modified: Option<i64>,
        size: u64,
        is_live: bool,
        /// Unparsable, pinned, excluded, asked for, its agent's.
        flags: [bool; 5],
    }

    fn any_session() -> impl Strategy<Value = Any> {
        let kinds = [
            SessionKind::Main,
            SessionKind::Main,
            SessionKind::Fork,
            SessionKind::Subagent,
            SessionKind::Subagent,
            SessionKind::Empty,
        ];
        let seldom = || prop::bool::weighted(0.1);
        // Minutes before now: up to four months, and some in the future.
        let minutes = || prop_oneof![4 => 0..172_800_i64, 1 => -3000..120_i64];
        let flags = (seldom(), seldom(), seldom(), prop::bool::weighted(0.9), seldom());
        (
            (any::<bool>(), prop::sample::select(kinds.to_vec()), prop::option::of(0..16_usize), any::<bool>()),
            (prop::option::weighted(0.9, minutes()), prop::option::of(minutes()), 0..1000_u64, seldom()),
            flags,
        )
            .prop_map(|((agent, kind, parent, project), (active, modified, size, is_live), flags)| Any {
                agent,
                kind,
                parent,
                project,
                active,
                modified,
                size,
                is_live,
                flags: flags.into(),
            })
    }

    const IDS: [&str; 16] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15"];

    fn candidates(all: &[Any], now: Timestamp) -> Vec<Candidate<'static>> {
        let at = |minutes: i64| now - SignedDuration::from_mins(minutes);
        let candidate = |(number, any): (usize, &Any)| Candidate {
            agent: if any.agent { AgentKind::Claude } else { AgentKind::Amplifier },
            id: IDS[number],
            kind: any.kind,
            parent_id: any.parent.map(|parent| IDS[parent]),
            project: any.project.then_some("-p"),
            active_at: any.active.map(at),
            modified_at: any.modified.map(at),
            size_bytes: any.size,
            liveness: &LIVENESS[usize::from(any.is_live)],
            is_unparsable: any.flags[0],
            is_pinned: any.flags[1],
            is_excluded: any.flags[2],
            is_asked_for: any.flags[3],
            is_its_agents: any.flags[4],
        };
        all.iter().enumerate().map(candidate).collect()
    }

    #[derive(Clone, Debug)]
    struct AnyPolicy {
        days: Option<i64>,
        keep_last: usize,
        max_total: Option<u64>,
        only_empty: bool,
        all: bool,
    }

    fn any_policy() -> impl Strategy<Value = AnyPolicy> {
        let total = prop::option::weighted(0.3, 0..8000_u64);
        let (few, half) = (prop::bool::weighted(0.2), prop::bool::weighted(0.3));
        (prop::option::weighted(0.8, 0..100_i64), 0..4_usize, total, few, half).prop_map(
            |(days, keep_last, max_total, only_empty, all)| AnyPolicy { days, keep_last, max_total, only_empty, all },
        )
    }

    impl AnyPolicy {
        fn at(&self, now: Timestamp) -> Policy {
            let all = self.all && self.days.is_none() && self.max_total.is_none();
            Policy {
                now,
                cutoff: self.days.map(|days| now - SignedDuration::from_hours(24 * days)),
                is_relative: true,
                keep_last: self.keep_last,
                max_total: self.max_total,
                only_empty: self.only_empty,
                all,
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn nothing_goes_that_anything_speaks_for(
            all in prop::collection::vec(any_session(), 0..16),
            policy in any_policy(),
        ) {
            let (candidates, policy) = (candidates(&all, now()), policy.at(now()));
            let families = decide(&candidates, &policy);
            for family in families.iter().filter(|family| family.goes()) {
                prop_assert!(candidates[family.root()].is_asked_for);
                for one in family.members.iter().map(|at| &candidates[*at]) {
                    prop_assert!(!one.is_unparsable && !one.is_pinned && !one.is_excluded && !one.is_its_agents);
                    prop_assert_eq!(one.liveness, &Liveness::Idle);
                    let active = one.active_at.expect("what has no time stays");
                    let newest = one.modified_at.map_or(active, |modified| modified.max(active));
                    prop_assert!(policy.now.duration_since(newest) >= RECENT);
                    prop_assert!(!policy.only_empty || one.kind == SessionKind::Empty);
                    match family.verdict {
                        Verdict::Goes(Go::Old) => prop_assert!(policy.cutoff.is_some_and(|cutoff| active < cutoff)),
                        Verdict::Goes(Go::OverTotal) => prop_assert!(policy.max_total.is_some()),
                        Verdict::Goes(Go::All) => prop_assert!(policy.all),
                        Verdict::Stays(_) => {}
                    }
                }
            }
        }

        #[test]
        fn everything_is_in_one_family_and_what_kept_ones_came_from_is_kept(
            all in prop::collection::vec(any_session(), 0..16),
            policy in any_policy(),
        ) {
            let candidates = candidates(&all, now());
            let families = decide(&candidates, &policy.at(now()));
            let family_of = |at: usize| families.iter().filter(|family| family.members.contains(&at)).collect::<Vec<_>>();
            for (at, one) in candidates.iter().enumerate() {
                let own = family_of(at);
                prop_assert_eq!(own.len(), 1);
                let is_parent = |other: &Candidate<'_>| other.agent == one.agent && Some(other.id) == one.parent_id;
                let Some(parent) = candidates.iter().position(is_parent).filter(|parent| *parent != at) else { continue };
                let above = family_of(parent)[0];
                prop_assert!(one.kind != SessionKind::Subagent || own[0] == above);
                prop_assert!(own[0].goes() || !above.goes());
            }
        }

        #[test]
        fn the_last_of_each_project_stay(
            all in prop::collection::vec(any_session(), 0..16),
            policy in any_policy(),
        ) {
            let candidates = candidates(&all, now());
            let families = decide(&candidates, &policy.at(now()));
            let is_kept_or_older = |family: &&Family| {
                let root = &candidates[family.root()];
                let is_newer = |other: &&Family| {
                    let another = &candidates[other.root()];
                    let is_of_project = (another.agent, another.project) == (root.agent, root.project);
                    is_of_project && another.kind != SessionKind::Empty && other.active_at >= family.active_at
                };
                // It is among those that it is compared with.
                let newer = families.iter().filter(is_newer).count();
                !family.goes() || root.kind == SessionKind::Empty || newer > policy.keep_last
            };
            prop_assert!(families.iter().all(|family| is_kept_or_older(&family)));
        }

        #[test]
        fn a_limit_is_kept_as_far_as_nothing_speaks_against_it(
            all in prop::collection::vec(any_session(), 0..16),
            most in 0..8000_u64,
        ) {
            let candidates = candidates(&all, now());
            let policy = Policy { cutoff: None, max_total: Some(most), ..policy() };
            let families = decide(&candidates, &policy);
            let size = |family: &Family| family.members.iter().map(|at| candidates[*at].size_bytes).sum::<u64>();
            let counts = |keep| !matches!(keep, Verdict::Goes(_) | Verdict::Stays(Keep::NotAskedFor | Keep::ItsAgents));
            let staying = || families.iter().filter(|family| counts(family.verdict));
            // Parents of what stays come back after the count.
            let parents: u64 = staying().filter(|it| it.verdict == Verdict::Stays(Keep::Parent)).map(size).sum();
            let is_within = staying().map(size).sum::<u64>() <= most + parents;
            let has_soft = staying().any(|family| family.verdict == Verdict::Stays(Keep::Newer));
            prop_assert!(is_within || !has_soft);
        }

        #[test]
        fn a_plan_that_no_fuse_stops_leaves_some_of_each_agent_and_half_of_all(
            all in prop::collection::vec(any_session(), 0..16),
            policy in any_policy(),
        ) {
            let (candidates, policy) = (candidates(&all, now()), policy.at(now()));
            let families = decide(&candidates, &policy);
            prop_assume!(guards(&families, &candidates, &policy, &BTreeSet::new()).is_empty());
            let counts = |family: &&Family| {
                !matches!(candidates[family.root()].kind, SessionKind::Empty | SessionKind::Subagent)
            };
            let all: Vec<&Family> = families.iter().filter(counts).collect();
            let left: Vec<&&Family> = all.iter().filter(|family| !family.goes()).collect();
            prop_assert!(left.len() * 2 >= all.len());
            for family in &all {
                let agent = candidates[family.root()].agent;
                prop_assert!(left.iter().any(|left| candidates[left.root()].agent == agent));
            }
        }

        #[test]
        fn a_clock_that_jumped_ahead_removes_nothing_unasked(
            all in prop::collection::vec(any_session(), 1..16),
            days in 0..60_i64,
            years in 1..40_i64,
        ) {
            let candidates = candidates(&all, now());
            let later = now() + SignedDuration::from_hours(24 * (365 * years + 100));
            let cutoff = Some(later - SignedDuration::from_hours(24 * days));
            let policy = Policy { now: later, cutoff, ..policy() };
            let families = decide(&candidates, &policy);
            let guards = guards(&families, &candidates, &policy, &BTreeSet::new());
            let is_stopped = matches!(guards.first(), Some(Guard::Clock { .. }));
            prop_assert_eq!(is_stopped, families.iter().any(Family::goes));
        }

        #[test]
        fn a_clock_that_jumped_back_removes_nothing_that_the_right_one_would_keep(
            all in prop::collection::vec(any_session(), 0..16),
            policy in any_policy(),
            hours in 1..100_000_i64,
        ) {
            // A limit on the size does not ask for the time.
            let policy = AnyPolicy { max_total: None, all: false, ..policy };
            let candidates = candidates(&all, now());
            let right = decide(&candidates, &policy.at(now()));
            let wrong = decide(&candidates, &policy.at(now() - SignedDuration::from_hours(hours)));
            for (wrong, right) in wrong.iter().zip(&right) {
                // What was in the future may be in the past by then, but not in that of a clock that goes slow.
                prop_assert!(!wrong.goes() || right.goes(), "{wrong:?} {right:?}");
            }
        }

        #[test]
        fn the_calendar_plays_no_part(
            all in prop::collection::vec(any_session(), 0..16),
            policy in any_policy(),
            minutes in -20_000_000..20_000_000_i64,
        ) {
            // The same home at another time: over leap days, and over hours that some zones have twice or never.
            let then = now() + SignedDuration::from_mins(minutes);
            let here = decide(&candidates(&all, now()), &policy.at(now()));
            let there = decide(&candidates(&all, then), &policy.at(then));
            let verdicts = |families: Vec<Family>| families.into_iter().map(|it| it.verdict).collect::<Vec<_>>();
            prop_assert_eq!(verdicts(here), verdicts(there));
        }
    }
}
