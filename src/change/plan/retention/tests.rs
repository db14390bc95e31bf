//! The rules of retention, one by one, and all of them on random sessions.

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

fn candidate(id: &str) -> RetentionCandidate<'_> {
    RetentionCandidate {
        agent: AgentKind::Claude,
        id,
        kind: SessionKind::Main,
        parent_id: None,
        linked_by: Vec::new(),
        project: Some("-p"),
        active_at: Some(before(1000)),
        recorded_at: Some(before(1000)),
        undated_at: None,
        size_bytes: 10,
        liveness: &LIVENESS[0],
        is_empty: false,
        is_unparsable: false,
        is_unknown_format: false,
        is_pinned: false,
        is_kept_by_agent: false,
        is_excluded: false,
        rules: Cow::Borrowed(&[]),
        is_asked_for: true,
        is_its_agents: false,
        is_only_read: false,
    }
}

fn policy() -> Policy {
    Policy {
        now: now(),
        cutoff: Some(before(720)),
        is_relative: true,
        keep_last: 0,
        rules: Vec::new(),
        max_total: None,
        only_empty: false,
        takes_unknown_format: false,
        all: false,
    }
}

fn verdicts(candidates: &[RetentionCandidate<'_>], policy: &Policy) -> Vec<FamilyVerdict> {
    decide(candidates, policy).into_iter().map(|family| family.verdict).collect()
}

#[test]
fn recent_sub_agent_keeps_its_session() {
    let subagent = |at| RetentionCandidate {
        kind: SessionKind::Subagent,
        parent_id: Some("a"),
        active_at: Some(before(at)),
        ..candidate("b")
    };
    let families = decide(&[candidate("a"), subagent(1000)], &policy());
    assert_eq!((families.len(), families[0].members.as_slice()), (1, &[0, 1][..]));
    assert!(families[0].is_removed());
    assert_eq!(verdicts(&[candidate("a"), subagent(700)], &policy()), [FamilyVerdict::Stays(Keep::Newer)]);
    // A sub-agent without its session is decided alone.
    assert_eq!(verdicts(&[subagent(1000)], &policy()), [FamilyVerdict::Goes(Go::Old)]);
}

#[test]
fn record_without_timestamp_uses_file_time() {
    let changed = |hours| RetentionCandidate { undated_at: Some(before(hours)), ..candidate("a") };
    assert_eq!(verdicts(&[changed(800)], &policy()), [FamilyVerdict::Goes(Go::Old)]);
    assert_eq!(verdicts(&[changed(700)], &policy()), [FamilyVerdict::Stays(Keep::NewerFile)]);
    assert_eq!(verdicts(&[changed(0)], &policy()), [FamilyVerdict::Stays(Keep::Recent)]);
    let newer = RetentionCandidate { recorded_at: Some(before(700)), ..changed(700) };
    assert_eq!(verdicts(&[newer], &policy()), [FamilyVerdict::Stays(Keep::Newer)]);
    let all = Policy { all: true, ..policy() };
    assert_eq!(verdicts(&[changed(700)], &all), [FamilyVerdict::Goes(Go::All)]);
}

#[test]
fn kept_fork_keeps_its_parents_not_reverse() {
    let fork = |id, of, at| RetentionCandidate {
        kind: SessionKind::Fork,
        parent_id: Some(of),
        active_at: Some(before(at)),
        ..candidate(id)
    };
    let chain = [candidate("a"), fork("b", "a", 1000), fork("c", "b", 10)];
    let stays = FamilyVerdict::Stays(Keep::Parent);
    assert_eq!(verdicts(&chain, &policy()), [stays, stays, FamilyVerdict::Stays(Keep::Newer)]);
    // A kept session has a link to the transcript of another session's sub-agent.
    let kind = SessionKind::Subagent;
    let subagent = RetentionCandidate { kind, parent_id: Some("a"), linked_by: vec!["c", "d"], ..candidate("agent-b") };
    let newer = RetentionCandidate { active_at: Some(before(10)), ..candidate("c") };
    let removed = FamilyVerdict::Goes(Go::Old);
    let linked = [candidate("a"), subagent.clone(), newer, candidate("d")];
    assert_eq!(verdicts(&linked, &policy()), [stays, FamilyVerdict::Stays(Keep::Newer), removed]);
    let all_old = [candidate("a"), subagent, candidate("c"), candidate("d")];
    assert_eq!(verdicts(&all_old, &policy()), [removed; 3]);
    let pinned = RetentionCandidate { is_pinned: true, ..candidate("a") };
    let expected = [FamilyVerdict::Stays(Keep::Pinned), removed];
    assert_eq!(verdicts(&[pinned, fork("b", "a", 1000)], &policy()), expected);
}

#[test]
fn size_limit_removes_oldest_sessions_first() {
    let policy = Policy { cutoff: None, max_total: Some(25), ..policy() };
    let aged = |id, hours| RetentionCandidate { active_at: Some(before(hours)), ..candidate(id) };
    let goes = FamilyVerdict::Goes(Go::OverTotal);
    let stays = FamilyVerdict::Stays(Keep::Newer);
    let ids = [aged("a", 10), aged("b", 40), aged("c", 30), aged("d", 20)];
    assert_eq!(verdicts(&ids, &policy), [stays, goes, goes, stays]);
    assert_eq!(verdicts(&ids, &Policy { max_total: Some(40), ..policy.clone() }), [stays; 4]);
    // A session that is kept for another reason is not counted as too new, but counts towards the total size.
    let pinned = RetentionCandidate { is_pinned: true, ..aged("b", 40) };
    let ids = [aged("a", 10), pinned, aged("c", 30), aged("d", 20)];
    assert_eq!(verdicts(&ids, &policy), [stays, FamilyVerdict::Stays(Keep::Pinned), goes, goes]);
}

#[test]
fn keep_rule_keeps_recent_and_last_matches() {
    let aged = |id, hours, rules| RetentionCandidate {
        active_at: Some(before(hours)),
        rules: Cow::Borrowed(rules),
        ..candidate(id)
    };
    let ids = [
        aged("a", 2000, &[0]),
        aged("b", 900, &[0]),
        aged("c", 3000, &[1]),
        aged("d", 4000, &[1]),
        aged("e", 900, &[]),
    ];
    let rules =
        vec![RetentionRule { since: Some(before(1000)), last: None }, RetentionRule { since: None, last: Some(1) }];
    let (goes, rule) = (FamilyVerdict::Goes(Go::Old), FamilyVerdict::Stays(Keep::Rule));
    assert_eq!(verdicts(&ids, &Policy { rules, ..policy() }), [goes, rule, rule, goes, goes]);
    let everything = vec![RetentionRule { since: None, last: None }];
    let all = Policy { rules: everything, all: true, cutoff: None, ..policy() };
    let goes = FamilyVerdict::Goes(Go::All);
    assert_eq!(verdicts(&ids, &all), [rule, rule, goes, goes, goes]);
}

#[test]
fn keep_last_does_not_count_future_timestamps() {
    let policy = Policy { keep_last: 1, ..policy() };
    let planted = RetentionCandidate { active_at: Some(now() + SignedDuration::from_hours(1)), ..candidate("b") };
    let expected = [FamilyVerdict::Stays(Keep::AmongNewest), FamilyVerdict::Stays(Keep::Future)];
    assert_eq!(verdicts(&[candidate("a"), planted], &policy), expected);
}

#[test]
fn cutoff_and_recent_hour_have_exact_boundaries() {
    let at = |time| RetentionCandidate { active_at: Some(time), recorded_at: None, ..candidate("a") };
    let second = SignedDuration::from_secs(1);
    assert_eq!(verdicts(&[at(before(720))], &policy()), [FamilyVerdict::Stays(Keep::Newer)]);
    assert_eq!(verdicts(&[at(before(720) - second)], &policy()), [FamilyVerdict::Goes(Go::Old)]);
    let all = Policy { all: true, cutoff: None, ..policy() };
    assert_eq!(verdicts(&[at(before(1))], &all), [FamilyVerdict::Goes(Go::All)]);
    assert_eq!(verdicts(&[at(before(1) + second)], &all), [FamilyVerdict::Stays(Keep::Recent)]);
    assert_eq!(verdicts(&[at(now() + second)], &all), [FamilyVerdict::Stays(Keep::Future)]);
}

#[test]
fn guards_count_archived_sessions_as_kept() {
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

/// A random session, before it has an id.
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
    /// Unparsable, pinned, excluded, requested, only its agent's, in an unknown format.
    flags: [bool; 6],
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
    // Minutes before now: up to four months, and a few in the future.
    let minutes = || prop_oneof![4 => 0..172_800_i64, 1 => -3000..120_i64];
    let flags = (seldom(), seldom(), seldom(), prop::bool::weighted(0.9), seldom(), seldom());
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

fn candidates(all: &[Any], now: Timestamp) -> Vec<RetentionCandidate<'static>> {
    let at = |minutes: i64| now - SignedDuration::from_mins(minutes);
    let candidate = |(number, any): (usize, &Any)| RetentionCandidate {
        agent: if any.agent { AgentKind::Claude } else { AgentKind::Amplifier },
        id: IDS[number],
        kind: any.kind,
        parent_id: any.parent.map(|parent| IDS[parent]),
        linked_by: Vec::new(),
        project: any.project.then_some("-p"),
        active_at: any.active.map(at),
        recorded_at: any.modified.map(at).filter(|_| number % 2 == 0),
        undated_at: any.modified.map(at).filter(|_| number % 3 == 0),
        size_bytes: any.size,
        liveness: &LIVENESS[usize::from(any.is_live)],
        is_empty: any.kind == SessionKind::Empty,
        is_unparsable: any.flags[0],
        is_unknown_format: any.flags[5],
        is_pinned: any.flags[1] && number % 2 == 0,
        is_kept_by_agent: any.flags[1] && number % 2 == 1,
        is_excluded: any.flags[2],
        // Each of two rules matches about half of the sessions.
        rules: (0..2).filter(|rule| number & (1 << rule) != 0).collect(),
        is_asked_for: any.flags[3],
        is_its_agents: any.flags[4] && number % 2 == 0,
        is_only_read: any.flags[4] && number % 2 == 1,
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
    takes_unknown_format: bool,
}

fn any_policy() -> impl Strategy<Value = AnyPolicy> {
    let total = prop::option::weighted(0.3, 0..8000_u64);
    let (few, half) = (prop::bool::weighted(0.2), prop::bool::weighted(0.3));
    let days = prop::option::weighted(0.8, 0..100_i64);
    (days, 0..4_usize, total, few, half, any::<bool>()).prop_map(
        |(days, keep_last, max_total, only_empty, all, takes_unknown_format)| AnyPolicy {
            days,
            keep_last,
            max_total,
            only_empty,
            all,
            takes_unknown_format,
        },
    )
}

impl AnyPolicy {
    fn policy_at(&self, now: Timestamp) -> Policy {
        let all = self.all && self.days.is_none() && self.max_total.is_none();
        Policy {
            now,
            cutoff: self.days.map(|days| now - SignedDuration::from_hours(24 * days)),
            is_relative: true,
            keep_last: self.keep_last,
            rules: Vec::new(),
            max_total: self.max_total,
            only_empty: self.only_empty,
            all,
            takes_unknown_format: self.takes_unknown_format,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8 * ProptestConfig::default().cases))]

    #[test]
    fn any_reason_to_keep_keeps_the_session(
        all in prop::collection::vec(any_session(), 0..16),
        policy in any_policy(),
    ) {
        let (candidates, policy) = (candidates(&all, now()), policy.policy_at(now()));
        let families = decide(&candidates, &policy);
        for family in families.iter().filter(|family| family.is_removed()) {
            prop_assert!(candidates[family.root()].is_asked_for);
            for one in family.members.iter().map(|at| &candidates[*at]) {
                prop_assert!(!one.is_unparsable && !one.is_pinned && !one.is_kept_by_agent && !one.is_excluded);
                prop_assert!(!one.is_its_agents && !one.is_only_read);
                let may_be_unknown = policy.takes_unknown_format && !policy.only_empty;
                prop_assert!(!one.is_unknown_format || may_be_unknown);
                prop_assert_eq!(one.liveness, &Liveness::Idle);
                let active = one.active_at.expect("what has no time stays");
                let newest = one.recorded_at.max(one.undated_at).map_or(active, |at| at.max(active));
                prop_assert!(policy.now.duration_since(newest) >= RECENT);
                prop_assert!(!policy.only_empty || one.is_empty);
                match family.verdict {
                    FamilyVerdict::Goes(Go::Old) => prop_assert!(policy.cutoff.is_some_and(|cutoff| newest < cutoff)),
                    FamilyVerdict::Goes(Go::OverTotal) => prop_assert!(policy.max_total.is_some()),
                    FamilyVerdict::Goes(Go::All) => prop_assert!(policy.all),
                    FamilyVerdict::Stays(_) => {}
                }
            }
        }
    }

    #[test]
    fn every_session_is_in_exactly_one_family(
        all in prop::collection::vec(any_session(), 0..16),
        policy in any_policy(),
    ) {
        let candidates = candidates(&all, now());
        let families = decide(&candidates, &policy.policy_at(now()));
        let family_of = |at: usize| families.iter().filter(|family| family.members.contains(&at)).collect::<Vec<_>>();
        for (at, one) in candidates.iter().enumerate() {
            let own = family_of(at);
            prop_assert_eq!(own.len(), 1);
            let is_parent = |other: &RetentionCandidate<'_>| other.agent == one.agent && Some(other.id) == one.parent_id;
            let Some(parent) = candidates.iter().position(is_parent).filter(|parent| *parent != at) else { continue };
            let above = family_of(parent)[0];
            prop_assert!(one.kind != SessionKind::Subagent || own[0] == above);
            prop_assert!(own[0].is_removed() || !above.is_removed());
        }
    }

    #[test]
    fn keep_last_applies_per_project(
        all in prop::collection::vec(any_session(), 0..16),
        policy in any_policy(),
    ) {
        let candidates = candidates(&all, now());
        let families = decide(&candidates, &policy.policy_at(now()));
        let is_kept_or_older = |family: &&Family| {
            let root = &candidates[family.root()];
            let is_newer = |other: &&Family| {
                let another = &candidates[other.root()];
                let is_of_project = (another.agent, another.project) == (root.agent, root.project);
                is_of_project && another.kind != SessionKind::Empty && other.active_at >= family.active_at
            };
            // The comparison includes the family itself.
            let newer = families.iter().filter(is_newer).count();
            !family.is_removed() || root.kind == SessionKind::Empty || newer > policy.keep_last
        };
        prop_assert!(families.iter().all(|family| is_kept_or_older(&family)));
    }

    #[test]
    fn keep_rules_never_remove_more(
        all in prop::collection::vec(any_session(), 0..16),
        policy in any_policy(),
        rules in prop::collection::vec((prop::option::of(0..100_i64), prop::option::of(0..4_usize)), 2),
    ) {
        // Under a limit on the size, a kept session takes space that others must free.
        let policy = AnyPolicy { max_total: None, ..policy }.policy_at(now());
        let since = |days: i64| now() - SignedDuration::from_hours(24 * days);
        let rules: Vec<RetentionRule> =
            rules.into_iter().map(|(days, last)| RetentionRule { since: days.map(since), last }).collect();
        let candidates = candidates(&all, now());
        let without = decide(&candidates, &policy);
        let with = decide(&candidates, &Policy { rules: rules.clone(), ..policy });
        for (with, without) in with.iter().zip(&without) {
            prop_assert!(!with.is_removed() || without.is_removed(), "{with:?} {without:?}");
            let places = with.members.iter().flat_map(|member| candidates[*member].rules.iter());
            for rule in places.map(|place| &rules[usize::from(*place)]).filter(|_| with.is_removed()) {
                let is_since = rule.since.is_some_and(|since| with.active_at >= Some(since));
                prop_assert!(!is_since && (rule.since.is_some() || rule.last.is_some()), "{with:?} {rule:?}");
            }
        }
    }

    #[test]
    fn size_limit_yields_only_to_kept_sessions(
        all in prop::collection::vec(any_session(), 0..16),
        most in 0..8000_u64,
    ) {
        let candidates = candidates(&all, now());
        let policy = Policy { cutoff: None, max_total: Some(most), ..policy() };
        let families = decide(&candidates, &policy);
        let size = |family: &Family| family.members.iter().map(|at| candidates[*at].size_bytes).sum::<u64>();
        let is_left = |keep| matches!(keep, Keep::NotAskedFor | Keep::ItsAgents | Keep::OnlyRead);
        let counts = |verdict| matches!(verdict, FamilyVerdict::Stays(keep) if !is_left(keep));
        let staying = || families.iter().filter(|family| counts(family.verdict));
        // Parents of kept sessions are kept after the count.
        let parents: u64 = staying().filter(|it| it.verdict == FamilyVerdict::Stays(Keep::Parent)).map(size).sum();
        let is_within = staying().map(size).sum::<u64>() <= most + parents;
        let has_soft = staying().any(|family| family.verdict.is_for_age());
        prop_assert!(is_within || !has_soft);
    }

    #[test]
    fn plan_without_guards_keeps_half_of_sessions(
        all in prop::collection::vec(any_session(), 0..16),
        policy in any_policy(),
    ) {
        let (candidates, policy) = (candidates(&all, now()), policy.policy_at(now()));
        let families = decide(&candidates, &policy);
        prop_assume!(guards(&families, &candidates, &policy, &BTreeSet::new()).is_empty());
        let counts = |family: &&Family| {
            !matches!(candidates[family.root()].kind, SessionKind::Empty | SessionKind::Subagent)
        };
        let all: Vec<&Family> = families.iter().filter(counts).collect();
        let left: Vec<&&Family> = all.iter().filter(|family| !family.is_removed()).collect();
        prop_assert!(left.len() * 2 >= all.len());
        for family in &all {
            let agent = candidates[family.root()].agent;
            prop_assert!(left.iter().any(|left| candidates[left.root()].agent == agent));
        }
    }

    #[test]
    fn clock_set_ahead_triggers_a_guard(
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
        prop_assert_eq!(is_stopped, families.iter().any(Family::is_removed));
    }

    #[test]
    fn clock_set_back_removes_nothing_extra(
        all in prop::collection::vec(any_session(), 0..16),
        policy in any_policy(),
        hours in 1..100_000_i64,
    ) {
        // A limit on the size does not depend on the time.
        let policy = AnyPolicy { max_total: None, all: false, ..policy };
        let candidates = candidates(&all, now());
        let right = decide(&candidates, &policy.policy_at(now()));
        let wrong = decide(&candidates, &policy.policy_at(now() - SignedDuration::from_hours(hours)));
        for (wrong, right) in wrong.iter().zip(&right) {
            // With a slow clock, a time in the future may become a time in the past.
            prop_assert!(!wrong.is_removed() || right.is_removed(), "{wrong:?} {right:?}");
        }
    }

    #[test]
    fn decision_is_independent_of_calendar_date(
        all in prop::collection::vec(any_session(), 0..16),
        policy in any_policy(),
        minutes in -20_000_000..20_000_000_i64,
    ) {
        // The same home at another time: over leap days, and over hours that some zones have twice or never.
        let then = now() + SignedDuration::from_mins(minutes);
        let here = decide(&candidates(&all, now()), &policy.policy_at(now()));
        let there = decide(&candidates(&all, then), &policy.policy_at(then));
        let verdicts = |families: Vec<Family>| families.into_iter().map(|it| it.verdict).collect::<Vec<_>>();
        prop_assert_eq!(verdicts(here), verdicts(there));
    }
}
