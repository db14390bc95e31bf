//! Walks through all schedules of a start: takes the disk at each moment at which a process can end, as it is then and
//! as a loss of power may leave it; recovers and checks equal disks with equal pasts once.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

#[expect(clippy::disallowed_types, reason = "this crate does not have system::parallel")]
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::disk::memory::{Draw, Memory, crash, losses};
use crate::tests::explore::play::{PlayedStage, play};
use crate::tests::explore::schedule::{EventTime, ScheduledEvent, draw_event};
use crate::tests::explore::setup::{Past, StartDisk};

/// Maximum outcomes of a loss of power per moment in the verb alone, after a fault, and in the recovery.
const LOSSES: [u64; 3] = [48, 12, 6];
/// Number of stages to play between two checks of the number of schedules.
const CHUNK: usize = 8;
/// From this number of schedules per start on, every read meets every fault; below, only every n-th call.
const THOROUGH: (u64, u64) = (20_000, 5);
/// Below this number of schedules per start, the maximum outcomes of a loss of power per moment, and the interval of
/// the single faults to try.
const QUICK: (u64, u64, usize) = (1_000, 3, 7);

/// Numbers of schedules tried.
#[derive(Debug, Default)]
pub(super) struct ScheduleCounts {
    /// One fault at each call of the verb.
    pub(super) singles: AtomicU64,
    /// Deaths and losses of power at each call of the verb.
    pub(super) crashes: AtomicU64,
    /// An action of another process or a fault right before a change, then a death or another fault at each change.
    pub(super) pairs: AtomicU64,
    /// Deaths and losses of power after a fault.
    pub(super) faulted: AtomicU64,
    /// Deaths and losses of power in the recovery from these.
    pub(super) recoveries: AtomicU64,
    /// Several random faults and actions, in the verb and in the recovery, drawn by a seed.
    pub(super) drawn: AtomicU64,
    /// Number of different disks that the schedules left, each recovered and checked once.
    pub(super) states: AtomicU64,
}

impl ScheduleCounts {
    fn of_schedules(&self) -> [&AtomicU64; 6] {
        [&self.singles, &self.crashes, &self.pairs, &self.faulted, &self.recoveries, &self.drawn]
    }

    /// Returns the number of schedules tried.
    pub(super) fn schedules(&self) -> u64 {
        self.of_schedules().map(|count| count.load(Ordering::Relaxed)).iter().sum()
    }

    pub(super) fn add(&self, other: &Self) {
        let theirs = other.of_schedules().into_iter().chain([&other.states]);
        for (ours, theirs) in self.of_schedules().into_iter().chain([&self.states]).zip(theirs) {
            ours.fetch_add(theirs.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
}

/// The disk after a schedule.
struct WalkNode {
    key: u64,
    memory: Memory,
    past: Past,
    schedule: Vec<EventTime>,
}

pub(super) struct ScheduleWalk<'s> {
    start: &'s StartDisk,
    seen: Mutex<HashSet<u64>>,
    pub(super) counts: ScheduleCounts,
}

/// A schedule that violates an invariant.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) why: String,
    pub(super) schedule: Vec<EventTime>,
}

type FoundNodes<T> = Result<T, Failure>;

impl<'s> ScheduleWalk<'s> {
    pub(super) fn new(start: &'s StartDisk) -> Self {
        Self { start, seen: Mutex::default(), counts: ScheduleCounts::default() }
    }

    fn root(&self) -> WalkNode {
        WalkNode { key: 0, memory: self.start.memory.fork(), past: Past::default(), schedule: Vec::new() }
    }

    /// Tries every single fault, every death and every loss of power; also those after a fault, those in a recovery,
    /// and random ones, up to about `wanted` schedules in total.
    pub(super) fn explore(&self, requested: u64) -> FoundNodes<()> {
        let (root, counts) = (self.root(), &self.counts);
        let whole = self.play(&root, 0, &[], true);
        let mut nodes = self.end(&root, 0, &[], &whole, &counts.singles)?;
        let is_quick = (1..QUICK.0).contains(&requested);
        let losses = if is_quick { QUICK.1 } else { LOSSES[0] };
        nodes.extend(self.deaths(&root, 0, &[], whole.moments, losses, &counts.crashes)?);
        let (is_thorough, (_, share)) = (requested >= THOROUGH.0, THOROUGH);
        let calls = whole.calls.iter().zip(1..).filter(|(changes, at)| **changes || is_thorough || at % share == 0);
        let events = |(changes, at): (&bool, u64)| {
            ScheduledEvent::all_at_call(*changes, &self.start.items).into_iter().map(move |event| vec![(0, at, event)])
        };
        let mut singles: Vec<Vec<EventTime>> = calls.flat_map(events).collect();
        if is_quick {
            singles = singles.into_iter().step_by(QUICK.2).collect();
        }
        // Each of these disks leads to hundreds of schedules.
        let most = usize::try_from(requested / 100).unwrap_or(usize::MAX);
        nodes.extend(self.each_element(&singles, None, most, |events| {
            let played = self.play(&root, 0, events, false);
            self.end(&root, 0, events, &played, &counts.singles)
        })?);
        let rest = requested.saturating_sub(counts.schedules());
        let until = counts.schedules() + rest / 4;
        self.pairs(&root, &whole.calls, until)?;
        singles.sort_by_cached_key(|events| Draw(events[0].1).below(u64::MAX));
        let until = counts.schedules().max(until) + rest / 4;
        nodes.extend(self.each_element(&singles, Some(until), most, |events| {
            let played = self.play(&root, 0, events, true);
            self.deaths(&root, 0, events, played.moments, LOSSES[1], &counts.faulted)
        })?);
        // A call that fails once leaves the most work to recover.
        let is_plain = |node: &WalkNode| matches!(node.schedule[..], [(_, _, ScheduledEvent::Fail(0))]);
        nodes.sort_by_key(|node| (!is_plain(node), node.key));
        self.each_element(&nodes, Some(until + rest / 4), 0, |node| {
            let played = self.play(node, 1, &[], true);
            self.deaths(node, 1, &[], played.moments, LOSSES[2], &counts.recoveries)
        })?;
        // Draw a few random schedules even if the limit is reached.
        let seeds: Vec<u64> = (0..if is_quick { 8 } else { rest.max(64) }).collect();
        let until = requested.max(counts.schedules() + 1);
        self.each_element(&seeds, Some(until), 0, |seed| {
            self.draw(&root, whole.calls.len() as u64, Draw(*seed), !is_quick)
        })?;
        Ok(())
    }

    /// Tries events right before a change together with faults at each later change.
    fn pairs(&self, root: &WalkNode, calls: &[bool], until: u64) -> FoundNodes<()> {
        let count = &self.counts.pairs;
        let changing: Vec<u64> = calls.iter().zip(1..).filter(|(changes, _)| **changes).map(|(_, at)| at).collect();
        let firsts: Vec<ScheduledEvent> =
            ScheduledEvent::acts(&self.start.items).chain([ScheduledEvent::Fail(0)]).collect();
        let mut firsts: Vec<EventTime> =
            changing.iter().flat_map(|at| firsts.iter().map(move |event| (0, *at, *event))).collect();
        firsts.sort_by_cached_key(|(_, at, _)| Draw(*at).below(u64::MAX));
        self.each_element(&firsts, Some(until), 0, |first| {
            let whole = self.play(root, 0, &[*first], true);
            for (at, memory, past) in whole.moments {
                self.arrive(self.node(root, &[*first, (0, at, ScheduledEvent::Die)], memory, past), count)?;
            }
            let later = whole.calls.iter().zip(1..).filter(|(changes, at)| **changes && *at > first.1);
            for (_, at) in later {
                let events = [*first, (0, at, ScheduledEvent::Fail(0))];
                let played = self.play(root, 0, &events, false);
                self.end(root, 0, &events, &played, count)?;
            }
            Ok(Vec::new())
        })?;
        Ok(())
    }

    /// Plays a schedule and the recovery after it; fails if an invariant does not hold.
    pub(super) fn replay(&self, schedule: &[EventTime]) -> FoundNodes<()> {
        let mut node = self.root();
        for stage in 0..2 {
            let events: Vec<EventTime> = schedule.iter().filter(|(of, _, _)| *of == stage).copied().collect();
            let played = self.play(&node, stage, &events, false);
            self.check_untouched(&node, &events, &played)?;
            if stage == 0 {
                self.check_answer(&node, &events, &played)?;
            }
            let loss = events.iter().find_map(|(_, _, event)| match event {
                ScheduledEvent::PowerLoss(choices) => Some(*choices),
                _ => None,
            });
            if let Some(choices) = loss {
                crash(&played.memory, choices);
            }
            node = self.node(&node, &events, played.memory, played.past);
            self.check(&node)?;
        }
        Ok(())
    }

    /// Plays a stage with one to three random faults, then the recovery from some of its results; if it `dies`, also
    /// from each moment of either.
    fn draw(&self, root: &WalkNode, calls: u64, mut draw: Draw, dies: bool) -> FoundNodes<Vec<WalkNode>> {
        let mut events = |stage, most| -> Vec<EventTime> {
            let count = 1 + draw.below(most);
            (0..count).map(|_| (stage, 1 + draw.below(calls + 20), draw_event(&mut draw))).collect()
        };
        let (first, second) = (events(0, 3), events(1, 2));
        let played = self.play(root, 0, &first, true);
        let mut nodes = self.end(root, 0, &first, &played, &self.counts.drawn)?;
        if dies {
            nodes.extend(self.deaths(root, 0, &first, played.moments, LOSSES[2], &self.counts.drawn)?);
        }
        for node in nodes.iter().step_by(7) {
            let played = self.play(node, 1, &second, true);
            self.end(node, 1, &second, &played, &self.counts.drawn)?;
            if dies {
                self.deaths(node, 1, &second, played.moments, 2, &self.counts.drawn)?;
            }
        }
        Ok(Vec::new())
    }

    /// Calls `what` for each element, on every core, until this number of schedules is reached; keeps at most `2 *
    /// most` nodes.
    fn each_element<T: Sync>(
        &self,
        all: &[T],
        until: Option<u64>,
        most: usize,
        what: impl Fn(&T) -> FoundNodes<Vec<WalkNode>> + Sync,
    ) -> FoundNodes<Vec<WalkNode>> {
        let mut nodes = Vec::new();
        for chunk in all.chunks(CHUNK) {
            if until.is_some_and(|until| self.counts.schedules() >= until) {
                break;
            }
            let found: FoundNodes<Vec<Vec<WalkNode>>> = chunk.par_iter().map(&what).collect();
            nodes.extend(found?.into_iter().flatten());
            // The selection depends only on the nodes themselves.
            if nodes.len() > 2 * most {
                nodes.sort_by_key(|node: &WalkNode| node.key);
                nodes.truncate(most);
            }
        }
        Ok(nodes)
    }

    fn play(&self, from: &WalkNode, stage: usize, events: &[EventTime], keeps: bool) -> PlayedStage {
        play(self.start, (&from.memory, from.past), stage, events, keeps)
    }

    fn node(&self, from: &WalkNode, events: &[EventTime], memory: Memory, past: Past) -> WalkNode {
        let past = past.after(events, 0);
        let mut hasher = DefaultHasher::new();
        (memory.digest(), past).hash(&mut hasher);
        let schedule = from.schedule.iter().chain(events).copied().collect();
        WalkNode { key: hasher.finish(), memory, past, schedule }
    }

    /// Checks the end of a stage.
    fn end(
        &self,
        from: &WalkNode,
        stage: usize,
        events: &[EventTime],
        played: &PlayedStage,
        count: &AtomicU64,
    ) -> FoundNodes<Vec<WalkNode>> {
        self.check_untouched(from, events, played)?;
        if stage == 0 {
            self.check_answer(from, events, played)?;
        }
        let node = self.node(from, events, played.memory.fork(), played.past);
        Ok(self.arrive(node, count)?.into_iter().collect())
    }

    /// Checks the death of the process, and the losses of power, at each of these moments of a stage.
    fn deaths(
        &self,
        from: &WalkNode,
        stage: usize,
        events: &[EventTime],
        moments: Vec<(u64, Memory, Past)>,
        limit: u64,
        count: &AtomicU64,
    ) -> FoundNodes<Vec<WalkNode>> {
        let mut nodes = Vec::new();
        for (at, memory, past) in moments {
            let mut outcomes = HashSet::new();
            for choices in losses(&memory, limit, &mut Draw(at)) {
                let left = memory.fork();
                crash(&left, choices);
                // Two numbers may mean the same if one loss entails another.
                if outcomes.insert(left.digest()) {
                    let events: Vec<EventTime> =
                        events.iter().copied().chain([(stage, at, ScheduledEvent::PowerLoss(choices))]).collect();
                    nodes.extend(self.arrive(self.node(from, &events, left, past), count)?);
                }
            }
            let events: Vec<EventTime> = events.iter().copied().chain([(stage, at, ScheduledEvent::Die)]).collect();
            nodes.extend(self.arrive(self.node(from, &events, memory, past), count)?);
        }
        Ok(nodes)
    }

    /// Counts a schedule, and checks its disk, unless another schedule left the same.
    fn arrive(&self, node: WalkNode, count: &AtomicU64) -> FoundNodes<Option<WalkNode>> {
        count.fetch_add(1, Ordering::Relaxed);
        if !self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(node.key) {
            return Ok(None);
        }
        self.counts.states.fetch_add(1, Ordering::Relaxed);
        self.check(&node)?;
        Ok(Some(node))
    }

    fn check(&self, node: &WalkNode) -> FoundNodes<()> {
        let WalkNode { memory, past, schedule, .. } = node;
        let start = self.start;
        let checked = start
            .check_bytes(memory, *past)
            .and_then(|()| start.check_lasting(memory, *past))
            .and_then(|()| start.check_recovered(memory, *past));
        checked.map_err(|why| Failure { why, schedule: schedule.clone() })
    }

    /// Checks that data found in use was left alone.
    fn check_untouched(&self, from: &WalkNode, events: &[EventTime], played: &PlayedStage) -> FoundNodes<()> {
        let Some(path) = &played.touched else { return Ok(()) };
        let schedule = from.schedule.iter().chain(events).copied().collect();
        Err(Failure { why: format!("{} was changed while a process used it", path.display()), schedule })
    }

    fn check_answer(&self, from: &WalkNode, events: &[EventTime], played: &PlayedStage) -> FoundNodes<()> {
        let schedule: Vec<EventTime> = from.schedule.iter().chain(events).copied().collect();
        let is_dead = |(_, _, event): &EventTime| matches!(event, ScheduledEvent::Die | ScheduledEvent::PowerLoss(_));
        if events.iter().any(is_dead) {
            return Ok(());
        }
        let checked = self.start.check_answer(&played.answer, &played.memory, played.past);
        checked.map_err(|why| Failure { why, schedule })
    }
}
