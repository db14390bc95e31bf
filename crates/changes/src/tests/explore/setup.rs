//! Starting points of an exploration: a disk, the verb to try on it, and the invariants.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::disk::memory::{ActorNode, Memory};
use crate::outcome::{ItemResult, RunOutcome};
use crate::plan::Step;
use crate::tests::explore::schedule::{ACTS, EventTime, MINE, OtherAct, ScheduledEvent};
use crate::tests::scenarios::{FileContents, ScenarioDirs, StepsPerItem, now};
use crate::trash::{Purge, Purged, purge};
use crate::undo::UndoReport;

/// The verb to try: a change, or an operation after one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VerbToTry {
    Run,
    Undo,
    Purge,
}

/// A disk on which a verb is about to be tried.
pub(super) struct StartDisk {
    pub(super) name: String,
    verb: VerbToTry,
    pub(super) memory: Memory,
    change: StepsPerItem,
    /// The selected items of the scenario.
    pub(super) items: Vec<usize>,
    before: FileContents,
    /// The files of the store before the change, and those after a change without faults.
    store: FileContents,
    changed: FileContents,
}

/// The answer of a verb.
#[derive(Debug)]
pub(super) enum VerbAnswer {
    /// The verb failed as a whole, or did not return.
    None,
    Run(RunOutcome),
    Undo(Box<UndoReport>),
    Purge(Purged),
}

impl VerbAnswer {
    /// Returns the items reported as done, or as undone, as a bit mask; `None` if nothing was reported.
    pub(super) fn done(&self) -> Option<u8> {
        let mask = |done: &mut dyn Iterator<Item = bool>| done.enumerate().map(|(at, is)| u8::from(is) << at).sum();
        match self {
            // If the journal reports doubt, the result may not be on the disk.
            Self::Run(outcome) if outcome.doubt.is_some() => None,
            Self::Run(outcome) => Some(mask(&mut outcome.done.iter().map(|done| *done == ItemResult::Done))),
            Self::Undo(report) if report.doubt.is_some() => None,
            Self::Undo(report) => Some(mask(&mut report.items.iter().map(|item| *item == ItemResult::Done))),
            Self::None | Self::Purge(_) => None,
        }
    }
}

/// Layout of the file systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DiskLayout {
    /// Everything is on one file system.
    One,
    /// The state directory and a part of the store are on other file systems.
    Apart,
    /// A single file system that supports neither exchanging files nor hard links.
    Plain,
}

/// Earlier events that the invariants depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Past {
    /// Set if another process acted.
    pub(super) has_actor: bool,
    /// Set if another process did more than append.
    pub(super) has_taken: bool,
    /// Bit mask of the paths that another process wrote, by their index in [`MINE`].
    pub(super) written: u8,
    /// Set if the power failed.
    pub(super) has_lost_power: bool,
    /// Bit mask of the items reported as done.
    pub(super) done: Option<u8>,
}

impl Past {
    pub(super) fn after(mut self, events: &[EventTime], written: u8) -> Self {
        self.written |= written;
        self.has_taken |= events
            .iter()
            .any(|(_, _, event)| matches!(event, ScheduledEvent::Act(which) if !ACTS[which % ACTS.len()].only_adds()));
        self.has_actor |= events.iter().any(
            |(_, _, event)| matches!(event, ScheduledEvent::Act(which) if ACTS[which % ACTS.len()] != OtherAct::Hold),
        );
        self.has_lost_power |= events.iter().any(|(_, _, event)| matches!(event, ScheduledEvent::PowerLoss(_)));
        self
    }
}

pub(super) fn place(memory: &Memory) -> ScenarioDirs {
    ScenarioDirs { disk: memory.shared(), base: "/home".into(), is_held: Box::new(|_| false) }
}

/// Returns the files of the store that are at a path or below it.
pub(super) fn files_at(memory: &Memory, path: &Path) -> FileContents {
    below(&store(memory), path.strip_prefix("/home/store").unwrap_or(path))
}

/// Returns the files of the store.
fn store(memory: &Memory) -> FileContents {
    let files = memory.actor().files().into_iter();
    let below = files.filter_map(|(path, node)| match node {
        ActorNode::File(bytes) => Some((path.strip_prefix("/home/store").ok()?.to_owned(), bytes)),
        _ => None,
    });
    below.collect()
}

/// Returns the files that are at a path or below it.
fn below(files: &FileContents, path: &Path) -> FileContents {
    files.iter().filter(|(at, _)| at.starts_with(path)).map(|(at, is)| (at.clone(), is.clone())).collect()
}

/// Drops temporary files, whose removal may not have reached the disk.
fn drop_temporary(files: &mut FileContents) {
    let is_own = |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".rejoin-"));
    files.retain(|path, _| !is_own(path));
}

impl StartDisk {
    fn new(verb: VerbToTry, kind: DiskLayout, items: &[usize]) -> Self {
        let (place, memory) = ScenarioDirs::in_memory(kind == DiskLayout::Apart);
        if kind == DiskLayout::Plain {
            memory.make_plain();
        }
        memory.actor().save_file("/outside/secret", "not yours");
        memory.settle();
        let mut change = place.change();
        let mut number = 0;
        change.retain(|_| {
            number += 1;
            items.contains(&(number - 1))
        });
        let unchanged = store(&memory);
        let done = memory.fork();
        self::place(&done).run(&change).expect("a run");
        let changed = store(&done);
        if verb != VerbToTry::Run {
            place.run(&change).expect("a run");
            memory.settle();
        }
        // Undoing may drop content that the change wrote, and purging may drop content that was to be purged.
        let mut before = unchanged.clone();
        if verb == VerbToTry::Purge {
            before.retain(|path, bytes| changed.get(path) == Some(bytes));
        }
        let name = format!("{verb:?} of items {items:?}, {kind:?}");
        Self { name, verb, memory, change, items: items.to_vec(), before, store: unchanged, changed }
    }

    /// Returns small changes: each kind of step, done, undone and purged, on one file system, on two, and on one
    /// without exchange and hard links.
    pub(super) fn small() -> Vec<Self> {
        let mut starts = Vec::new();
        for verb in [VerbToTry::Run, VerbToTry::Undo, VerbToTry::Purge] {
            for kind in [DiskLayout::One, DiskLayout::Apart] {
                starts.extend((0..4).map(|item| Self::new(verb, kind, &[item])));
            }
            // Only rewritten files use exchange and hard links.
            starts.push(Self::new(verb, DiskLayout::Plain, &[1]));
        }
        starts
    }

    /// Returns larger changes, with the kinds of step of [`Self::small`].
    pub(super) fn large() -> Vec<Self> {
        let verbs = [VerbToTry::Run, VerbToTry::Undo, VerbToTry::Purge];
        let kinds = [DiskLayout::One, DiskLayout::Apart];
        verbs.iter().flat_map(|verb| kinds.map(|kind| Self::new(*verb, kind, &[0, 1, 2, 3]))).collect()
    }

    /// Carries out the verb.
    pub(super) fn act(&self, place: &ScenarioDirs) -> VerbAnswer {
        let answer = match self.verb {
            VerbToTry::Run => place.run(&self.change).ok().map(VerbAnswer::Run),
            VerbToTry::Undo => place.try_undo_all().map(|report| VerbAnswer::Undo(Box::new(report))),
            VerbToTry::Purge => place.state("trash purge").ok().and_then(|state_dir| {
                let purged = purge(&state_dir, now(), &Purge::All);
                purged.ok().map(VerbAnswer::Purge)
            }),
        };
        answer.unwrap_or(VerbAnswer::None)
    }

    /// Checks that every byte is somewhere, and nothing else is touched.
    pub(super) fn check_bytes(&self, memory: &Memory, past: Past) -> Result<(), String> {
        let files = memory.actor().files();
        let contents: BTreeSet<&[u8]> = files
            .values()
            .filter_map(|node| match node {
                ActorNode::File(bytes) => Some(bytes.as_slice()),
                _ => None,
            })
            .collect();
        // In sorted order, the first content at or after a text begins with that text if any content does.
        let is_there = |was: &[u8]| contents.range(was..).next().is_some_and(|is| is.starts_with(was));
        for (path, bytes) in &self.before {
            if !is_there(bytes) {
                return Err(format!("{} is lost", path.display()));
            }
        }
        if files.get(Path::new("/outside/secret")) != Some(&ActorNode::File(b"not yours".to_vec())) {
            return Err("what lies outside was touched".to_owned());
        }
        // The writes of the other process are there, unless the power failed before they were synced.
        for (number, (path, text)) in MINE.iter().enumerate() {
            let is_it = |is: &&&[u8]| memmem(is, text.as_bytes());
            if past.written & (1 << number) != 0 && !past.has_lost_power && !contents.iter().any(|is| is_it(&is)) {
                return Err(format!("what the agent wrote to {path} is lost"));
            }
        }
        Ok(())
    }

    /// Checks the answer against the disk: done items are done to the last byte, and items left alone are unchanged.
    pub(super) fn check_answer(&self, answer: &VerbAnswer, memory: &Memory, past: Past) -> Result<(), String> {
        match answer {
            VerbAnswer::None => Ok(()),
            VerbAnswer::Run(outcome) => self.check_outcome(outcome, memory, past),
            VerbAnswer::Undo(_) => self.check_done(memory, past),
            VerbAnswer::Purge(purged) => {
                let files = memory.actor().files();
                let kept = |run: &String| files.contains_key(&Path::new("/home/state/trash").join(run));
                match purged.runs.iter().find(|run| kept(run)) {
                    Some(run) => Err(format!("run {run} was purged, and is still there")),
                    None if purged.runs.is_empty() && purged.failed.is_empty() => Err("nothing was purged".to_owned()),
                    None => Ok(()),
                }
            }
        }
    }

    fn check_outcome(&self, outcome: &RunOutcome, memory: &Memory, past: Past) -> Result<(), String> {
        self.check_done(memory, past)?;
        let (now, files) = (store(memory), memory.actor().files());
        let mut has_stuck = false;
        for (number, (item, done)) in self.change.iter().zip(&outcome.done).enumerate() {
            let why = match done {
                ItemResult::Done | ItemResult::Unchanged => {
                    // Data that was written right before the check stays in its place.
                    let kept = Path::new("/home/state/trash").join(outcome.run.as_deref().unwrap_or_default());
                    let is_mine = |(path, node): (&PathBuf, &ActorNode)| {
                        let of_item = path.strip_prefix(&kept).is_ok_and(|name| {
                            name.as_os_str().as_encoded_bytes().starts_with(format!("{number}-").as_bytes())
                        });
                        let has = |bytes: &[u8]| MINE.iter().any(|(_, text)| memmem(bytes, text.as_bytes()));
                        of_item && matches!(node, ActorNode::File(bytes) if has(bytes))
                    };
                    match files.iter().find(|entry| is_mine(*entry)) {
                        Some((path, _)) => {
                            return Err(format!("{} was used in the meantime, and went to the trash", path.display()));
                        }
                        None => continue,
                    }
                }
                ItemResult::Failed(why) | ItemResult::Skipped(why) | ItemResult::Refused(why) => why,
            };
            // The message of an item that could not be restored says that its data is in the trash.
            if why.contains("could not be undone") {
                has_stuck = true;
                continue;
            }
            for step in item.iter().filter(|_| !past.has_taken) {
                let path = step.path().strip_prefix("/home/store").unwrap_or(step.path());
                let (was, is) = (below(&self.store, path), below(&now, path));
                let is_kept = if past.has_actor {
                    was.iter().all(|(at, was)| is.get(at).is_some_and(|is| is.starts_with(was)))
                } else {
                    was == is
                };
                if !is_kept {
                    return Err(format!("{} is not as reported: {done:?}", path.display()));
                }
            }
        }
        if has_stuck {
            let run = outcome.run.as_deref().unwrap_or("which is none");
            let messages = place(&memory.fork()).recover();
            if !messages.iter().any(|line| line.contains(run) && line.matches("tries again").count() < 2) {
                return Err(format!("run {run} is stuck, and the next verb does not say so once: {messages:?}"));
            }
        }
        Ok(())
    }

    /// Checks that items reported as done, or as undone, are.
    fn check_done(&self, memory: &Memory, past: Past) -> Result<(), String> {
        let Some(done) = past.done.filter(|_| !past.has_actor) else { return Ok(()) };
        let (requested, mut now) =
            (if self.verb == VerbToTry::Undo { &self.store } else { &self.changed }, store(memory));
        if past.has_lost_power {
            drop_temporary(&mut now);
        }
        let is_done = |(number, _): &(usize, _)| done & (1 << number) != 0;
        for (_, item) in self.change.iter().enumerate().filter(is_done) {
            for step in item {
                let from = match step {
                    Step::Move { from, .. } => Some(from.as_path()),
                    _ => None,
                };
                for path in [step.path()].into_iter().chain(from) {
                    let path = path.strip_prefix("/home/store").unwrap_or(path);
                    if below(&now, path) != below(requested, path) {
                        return Err(format!("{} was reported as done, and is not", path.display()));
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks that items reported as done stay done after a loss of power and the recovery by the next verb.
    pub(super) fn check_lasting(&self, memory: &Memory, past: Past) -> Result<(), String> {
        if past.done.is_none_or(|done| done == 0) || past.has_actor {
            return Ok(());
        }
        let memory = memory.fork();
        place(&memory).recover();
        self.check_done(&memory, past)
    }

    /// Recovers without faults and undoes everything: nothing is lost, and if no other process acted, the store is as
    /// it was before the change.
    pub(super) fn check_recovered(&self, memory: &Memory, past: Past) -> Result<(), String> {
        let memory = memory.fork();
        let messages = place(&memory).undo_all();
        self.check_bytes(&memory, past)?;
        let mut now = store(&memory);
        if past.has_lost_power {
            drop_temporary(&mut now);
        }
        if past.has_actor || self.verb == VerbToTry::Purge || now == self.store {
            return Ok(());
        }
        let differs = now.iter().find(|(path, bytes)| self.store.get(*path) != Some(bytes));
        let missing = self.store.keys().find(|path| !now.contains_key(*path));
        Err(format!("the store is not as it was: {differs:?}, {missing:?}; what is said: {messages:?}"))
    }
}

fn memmem(is: &[u8], text: &[u8]) -> bool {
    memchr::memmem::find(is, text).is_some()
}
