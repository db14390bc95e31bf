//! Chooses one of several copies of a session: by evidence, never by the order of directories.
//!
//! With a wrong copy, a conversation continues in the wrong file, so a choice that evidence does not decide stays open.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;

use crate::session::{Comparison, CopyChoice, Health, SessionCopy, SessionKind};

/// The shared choices for a single copy, as nearly all sessions have: for a misfiled copy, then for one that is filed
/// right.
static OF_ONE: LazyLock<[Arc<CopyChoice>; 2]> = LazyLock::new(|| {
    ["it is the only copy", "it is filed under its launch directory"].map(|why| CopyChoice::new(why, true).into())
});

/// Moves the copy to use to the front and returns the reason.
///
/// `compare` compares the first copy with the second; `None` if they were not compared. File times are not used,
/// because copying a file changes them.
pub(crate) fn choose(
    copies: &mut [SessionCopy],
    compare: impl Fn(&SessionCopy, &SessionCopy) -> Option<Comparison>,
) -> Arc<CopyChoice> {
    // Sorting by path only makes the order of equal copies deterministic; it decides nothing.
    copies.sort_by(|a, b| a.place.path.cmp(&b.place.path));
    if let [only] = copies {
        return Arc::clone(&OF_ONE[usize::from(only.is_filed_right)]);
    }
    let count = copies.len();
    // Comparing reads whole files, so each pair is compared at most once, and only a few of all pairs are.
    let mut known: HashMap<(usize, usize), Option<Comparison>> = HashMap::new();
    let mut compared = |a: usize, b: usize| {
        if a < b {
            *known.entry((a, b)).or_insert_with(|| compare(&copies[a], &copies[b]))
        } else {
            let reversed = *known.entry((b, a)).or_insert_with(|| compare(&copies[b], &copies[a]));
            reversed.map(Comparison::reversed)
        }
    };
    // A copy that is at least as good as every other remains after one pass.
    let is_no_worse = |judgement| matches!(judgement, Judgement::Better(_) | Judgement::Same);
    let mut best = 0;
    for rival in 1..count {
        if !is_no_worse(judge(&copies[best], &copies[rival], compared(best, rival))) {
            best = rival;
        }
    }
    let judgements: Vec<Judgement> = (0..count)
        .filter(|rival| *rival != best)
        .map(|rival| judge(&copies[best], &copies[rival], compared(best, rival)))
        .collect();
    let (first, choice) = if judgements.iter().all(|judgement| is_no_worse(*judgement)) {
        // The closest other copy is the one that loses by the weakest criterion.
        let why = judgements.iter().filter_map(|judgement| match judgement {
            Judgement::Better(why) => Some(*why),
            _ => None,
        });
        let why = why.max().map_or("its copies are identical", CopyCriterion::words);
        (best, CopyChoice::new(why, true))
    } else {
        let newest = (0..count).max_by_key(|a| (standing(&copies[*a]), active_at(&copies[*a]), std::cmp::Reverse(*a)));
        (newest.unwrap_or_default(), CopyChoice::new("the evidence does not show which copy to use", false))
    };
    let others = (0..count).filter(|at| *at != first);
    let comparisons = others.map(|at| compared(first, at).map(Comparison::reversed));
    let comparisons = std::iter::once(None).chain(comparisons).collect();
    copies[..=first].rotate_right(1);
    CopyChoice { comparisons, ..choice }.into()
}

/// The result of judging one copy against another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judgement {
    Better(CopyCriterion),
    Worse,
    Same,
    Open,
}

/// The criteria between two copies, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CopyCriterion {
    Registered,
    Conversation,
    NotArchived,
    Listed,
    FiledRight,
    Longer,
    NewerAndLarger,
    Newer,
    UsualStore,
}

impl CopyCriterion {
    fn words(self) -> &'static str {
        match self {
            Self::Registered => "it is the only copy that its agent has registered",
            Self::Conversation => "it is the only copy with a conversation",
            Self::NotArchived => "it is the only copy that is not archived",
            Self::Listed => "it is the only copy that its agent's own list names",
            Self::FiledRight => "it is the only copy that is filed under its launch directory",
            Self::Longer => "it continues where the other copies end",
            Self::NewerAndLarger => "the copies differ, and it has the newest record and the most messages",
            Self::Newer => "its last record is the newest",
            Self::UsualStore => "it is in its agent's default store",
        }
    }
}

/// Returns the criteria that a copy meets by itself, the strongest first: its agent has registered it, it has a
/// conversation, it is not archived, its agent's list names it, and it is filed under its launch directory.
fn standing(copy: &SessionCopy) -> [(bool, CopyCriterion); 5] {
    let has_conversation = !copy.is_empty() && copy.transcript_bytes > 0;
    [
        (!copy.is_planted(), CopyCriterion::Registered),
        (has_conversation, CopyCriterion::Conversation),
        (copy.kind != SessionKind::Archived, CopyCriterion::NotArchived),
        (!copy.health.contains(Health::Unlisted), CopyCriterion::Listed),
        (copy.is_filed_right, CopyCriterion::FiledRight),
    ]
}

fn active_at(copy: &SessionCopy) -> Option<Timestamp> {
    copy.active_at.as_ref().filter(|at| at.source != "mtime" && copy.is_dated()).map(|at| at.value)
}

fn launch_dir(copy: &SessionCopy) -> Option<&Path> {
    copy.launch_dir.as_ref().map(|dir| &*dir.value)
}

fn judge(a: &SessionCopy, b: &SessionCopy, comparison: Option<Comparison>) -> Judgement {
    // Unknown records may be the conversation that the other copy lacks.
    let is_unknown = [a, b].iter().any(|copy| copy.health.contains(Health::UnknownFormat));
    if is_unknown && comparison != Some(Comparison::Identical) {
        return Judgement::Open;
    }
    for ((ours, why), (theirs, _)) in standing(a).into_iter().zip(standing(b)) {
        if ours != theirs {
            return if ours { Judgement::Better(why) } else { Judgement::Worse };
        }
    }
    match comparison {
        // Equal records in two places: nothing shows in which directory the agent should work.
        Some(Comparison::Identical) if launch_dir(a) == launch_dir(b) => usual_or(a, b, Judgement::Same),
        Some(Comparison::Identical) => Judgement::Open,
        Some(Comparison::Longer { .. }) => Judgement::Better(CopyCriterion::Longer),
        Some(Comparison::Shorter { .. }) => Judgement::Worse,
        // Two conversations with one id: neither can replace the other.
        Some(Comparison::Diverged { record: 1 }) => Judgement::Open,
        Some(Comparison::Diverged { .. }) => {
            let messages = |copy: &SessionCopy| copy.prompts.unwrap_or_default() + copy.replies.unwrap_or_default();
            match (active_at(a).cmp(&active_at(b)), messages(a).cmp(&messages(b))) {
                // The newer copy with fewer messages may be the stub that a wrong resume left.
                (newer, more) if newer.is_gt() && more.is_ge() => Judgement::Better(CopyCriterion::NewerAndLarger),
                (newer, more) if newer.is_lt() && more.is_le() => Judgement::Worse,
                _ => Judgement::Open,
            }
        }
        None => match active_at(a).cmp(&active_at(b)) {
            std::cmp::Ordering::Greater => Judgement::Better(CopyCriterion::Newer),
            std::cmp::Ordering::Less => Judgement::Worse,
            std::cmp::Ordering::Equal if launch_dir(a) == launch_dir(b) => usual_or(a, b, Judgement::Open),
            std::cmp::Ordering::Equal => Judgement::Open,
        },
    }
}

/// Prefers the agent's default store to a backup or the store of another account.
fn usual_or(a: &SessionCopy, b: &SessionCopy, otherwise: Judgement) -> Judgement {
    match (a.place.store.is_default, b.place.store.is_default) {
        (true, false) => Judgement::Better(CopyCriterion::UsualStore),
        (false, true) => Judgement::Worse,
        _ => otherwise,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::session::Fact;
    use crate::session::tests::copy as bare;

    fn copy(path: &str, is_filed_right: bool, minute: u8, messages: u64) -> SessionCopy {
        let mut copy = bare("a");
        copy.place.path = Path::new(path).into();
        copy.is_filed_right = is_filed_right;
        copy.transcript_bytes = 1;
        copy.prompts = Some(messages);
        copy.replies = Some(0);
        let at = format!("2026-01-01T00:{minute:02}:00Z").parse::<Timestamp>().expect("a time");
        copy.active_at = Some(Fact::new(at, "transcript"));
        copy
    }

    fn chosen(mut copies: Vec<SessionCopy>, comparison: Comparison) -> (Option<String>, String) {
        // The comparison applies to the copies in the order of their paths.
        let compare = |a: &SessionCopy, b: &SessionCopy| {
            Some(if a.place.path < b.place.path { comparison } else { comparison.reversed() })
        };
        let choice = choose(&mut copies, compare);
        (choice.is_decided.then(|| copies[0].place.path.display().to_string()), choice.why.clone().into())
    }

    const DIVERGED: Comparison = Comparison::Diverged { record: 3 };

    #[test]
    fn correctly_filed_copy_beats_newer_misfiled_one() {
        let (path, why) = chosen(vec![copy("/1", true, 1, 4), copy("/2", false, 9, 8)], DIVERGED);
        assert_eq!(path.as_deref(), Some("/1"));
        assert_eq!(why, "it is the only copy that is filed under its launch directory");
    }

    #[test]
    fn longer_copy_beats_its_beginning() {
        let (path, why) =
            chosen(vec![copy("/1", true, 1, 4), copy("/2", true, 9, 8)], Comparison::Shorter { common: 4 });
        assert_eq!(path.as_deref(), Some("/2"));
        assert_eq!(why, "it continues where the other copies end");
    }

    #[test]
    fn newer_diverged_copy_of_equal_size_wins() {
        let (path, _) = chosen(vec![copy("/1", true, 1, 4), copy("/2", true, 9, 8)], DIVERGED);
        assert_eq!(path.as_deref(), Some("/2"));
        let (path, why) = chosen(vec![copy("/1", true, 1, 8), copy("/2", true, 9, 2)], DIVERGED);
        assert_eq!(path, None, "the newer one may be the stub of a wrong resume");
        assert_eq!(why, "the evidence does not show which copy to use");
        let newer_and_larger = vec![copy("/1", true, 1, 4), copy("/2", true, 9, 8)];
        let (path, _) = chosen(newer_and_larger, Comparison::Diverged { record: 1 });
        assert_eq!(path, None, "they have no record in common");
    }

    #[test]
    fn planted_and_future_copies_do_not_win() {
        let now = "2026-01-01T00:05:00Z".parse().expect("a time");
        for marked in [Health::Planted, Health::FutureTime] {
            let mut late = copy("/1", true, 30, 8);
            if marked == Health::Planted {
                late = copy("/1", true, 1, 8);
                late.health.insert(marked);
            }
            late.judge_times(now);
            assert!(late.health.contains(marked));
            let mut copies = vec![late, copy("/2", true, 1, 4)];
            copies.iter_mut().for_each(|copy| copy.judge_times(now));
            let choice = choose(&mut copies, |_, _| None);
            assert!(choice.is_decided && copies[0].place.path.to_str() == Some("/2"), "{}", choice.why);
        }
        let mut near = copy("/1", true, 9, 8);
        near.judge_times(now);
        assert!(near.is_dated(), "another clock may be a little ahead");
    }

    #[test]
    fn choice_needs_few_comparisons() {
        let many = |count: u32| (0..count).map(|n| copy(&format!("/{n:04}"), true, 1, u64::from(n * 7 % 1000)));
        let compared = std::cell::Cell::new(0);
        let compare = |a: &SessionCopy, b: &SessionCopy| {
            compared.set(compared.get() + 1);
            Some(match a.prompts.cmp(&b.prompts) {
                std::cmp::Ordering::Greater => Comparison::Longer { common: 1 },
                std::cmp::Ordering::Less => Comparison::Shorter { common: 1 },
                std::cmp::Ordering::Equal => Comparison::Identical,
            })
        };
        let mut copies: Vec<SessionCopy> = many(3000).collect();
        let choice = choose(&mut copies, compare);
        assert!(choice.is_decided && copies[0].prompts == Some(999));
        assert!(compared.get() <= 3 * 3000, "{} comparisons", compared.get());
        assert_eq!(choice.comparisons.len(), 3000);
    }

    #[test]
    fn longer_archived_copy_does_not_win() {
        let mut archived = copy("/1", true, 9, 8);
        archived.kind = SessionKind::Archived;
        let (path, why) = chosen(vec![archived, copy("/2", true, 1, 4)], Comparison::Longer { common: 4 });
        assert_eq!((path.as_deref(), why.as_str()), (Some("/2"), "it is the only copy that is not archived"));
    }

    #[test]
    fn file_times_do_not_decide_the_choice() {
        let touched = |path: &str, minute: u8| {
            let mut copy = copy(path, true, minute, 4);
            copy.active_at = copy.active_at.map(|at| Fact::new(at.value, "mtime"));
            copy
        };
        for (one, two) in [(1, 9), (9, 1)] {
            let mut copies = vec![touched("/1", one), touched("/2", two)];
            assert!(!choose(&mut copies, |_, _| None).is_decided);
            assert_eq!(copies[0].place.path.to_str(), Some("/1"));
        }
    }

    #[test]
    fn identical_copies_need_no_decision() {
        let (path, why) = chosen(vec![copy("/2", true, 1, 4), copy("/1", true, 1, 4)], Comparison::Identical);
        assert_eq!((path.as_deref(), why.as_str()), (Some("/1"), "its copies are identical"));
        let mut elsewhere = copy("/2", true, 1, 4);
        elsewhere.launch_dir = Some(Fact::new(Path::new("/x"), "transcript"));
        let (path, _) = chosen(vec![elsewhere, copy("/1", true, 1, 4)], Comparison::Identical);
        assert_eq!(path, None, "they would be resumed in different directories");
    }

    #[test]
    fn default_store_wins_between_identical_copies() {
        let mut backup = copy("/home/.claude-backup/x", true, 1, 4);
        let mut store = (*backup.place.store).clone();
        store.is_default = false;
        backup.place.store = Arc::new(store);
        let (path, _) = chosen(vec![backup, copy("/home/.claude/x", true, 1, 4)], Comparison::Identical);
        assert_eq!(path.as_deref(), Some("/home/.claude/x"));
    }

    #[test]
    fn report_compares_relative_to_each_copy() {
        let mut copies = vec![copy("/1", true, 1, 4), copy("/2", true, 9, 8)];
        let choice = choose(&mut copies, |_, _| Some(Comparison::Shorter { common: 4 }));
        assert_eq!(copies[0].place.path.to_str(), Some("/2"));
        assert_eq!(choice.comparisons, [None, Some(Comparison::Shorter { common: 4 })]);
    }

    prop_compose! {
        fn any_copy()(number in 0_u32..1000, right in any::<bool>(), minute in 0_u8..4, messages in 0_u64..4, empty in any::<bool>()) -> SessionCopy {
            let mut copy = copy(&format!("/{number}"), right, minute, messages);
            if empty {
                copy.kind = SessionKind::Empty;
            }
            copy
        }
    }

    proptest! {
        #[test]
        fn choice_is_independent_of_order(
            copies in prop::collection::vec(any_copy(), 2..6),
            seed in any::<u64>(),
            compares in any::<bool>(),
        ) {
            let compare = |a: &SessionCopy, b: &SessionCopy| {
                let order = a.prompts.cmp(&b.prompts);
                compares.then_some(match (order, (a.prompts.unwrap_or(0) + b.prompts.unwrap_or(0)) % 2) {
                    (std::cmp::Ordering::Equal, _) => Comparison::Identical,
                    (_, 0) => DIVERGED,
                    (std::cmp::Ordering::Greater, _) => Comparison::Longer { common: 1 },
                    (std::cmp::Ordering::Less, _) => Comparison::Shorter { common: 1 },
                })
            };
            let mut one = copies.clone();
            one.sort_by(|a, b| a.place.path.cmp(&b.place.path));
            one.dedup_by(|a, b| a.place.path == b.place.path);
            let mut two = one.clone();
            let turn = usize::try_from(seed % 7).unwrap_or(0) % two.len();
            two.rotate_left(turn);
            two.reverse();
            let (first, second) = (choose(&mut one, compare), choose(&mut two, compare));
            prop_assert_eq!(&first.why, &second.why);
            prop_assert_eq!(first.is_decided, second.is_decided);
            prop_assert_eq!(&one[0].place.path, &two[0].place.path);
        }
    }
}
