//! What is explored: a disk on which a verb is about to be tried, and what must hold whatever happens to it.

use std::collections::BTreeSet;
use std::path::Path;

use crate::change::apply::explore::play::{Event, MINE, When};
use crate::change::apply::run::{ItemResult, Outcome};
use crate::change::apply::scenarios::{Files, Place, now};
use crate::change::apply::trash::{Purge, purge};
use crate::change::plan::change::{Change, Step};
use crate::system::disk::memory::{Memory, Node};

/// What is tried: a change, or what follows one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Run,
    Undo,
    Purge,
}

/// A disk on which a verb is about to be tried.
pub(super) struct Start {
    pub(super) name: String,
    verb: Verb,
    pub(super) memory: Memory,
    change: Change,
    before: Files,
    store: Files,
}

/// What happened until a moment, as far as what must hold then depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Past {
    /// Another process acted.
    pub(super) has_actor: bool,
    /// It wrote something.
    pub(super) has_written: bool,
    /// The power went.
    pub(super) has_lost_power: bool,
}

impl Past {
    pub(super) fn after(mut self, events: &[When], has_written: bool) -> Self {
        self.has_written |= has_written;
        self.has_actor |= events.iter().any(|(_, _, event)| matches!(event, Event::Act(_)));
        self.has_lost_power |= events.iter().any(|(_, _, event)| matches!(event, Event::PowerLoss(_)));
        self
    }
}

pub(super) fn place(memory: &Memory) -> Place {
    Place { disk: memory.shared(), base: "/home".into() }
}

/// Returns the files of the store.
fn store(memory: &Memory) -> Files {
    let files = memory.actor().files().into_iter();
    let below = files.filter_map(|(path, node)| match node {
        Node::File(bytes) => Some((path.strip_prefix("/home/store").ok()?.to_owned(), bytes)),
        _ => None,
    });
    below.collect()
}

impl Start {
    fn new(verb: Verb, is_apart: bool, items: &[usize]) -> Self {
        let (place, memory) = Place::in_memory(is_apart);
        memory.actor().put("/outside/secret", "not yours");
        memory.settle();
        let mut change = place.change();
        let mut number = 0;
        change.items.retain(|_| {
            number += 1;
            items.contains(&(number - 1))
        });
        let then = store(&memory);
        if verb != Verb::Run {
            place.run(&change).expect("a run");
            memory.settle();
        }
        // What the change itself wrote is no loss when it is taken back, nor is what is purged when it is gone.
        let mut before = then.clone();
        if verb == Verb::Purge {
            let now = store(&memory);
            before.retain(|path, bytes| now.get(path) == Some(bytes));
        }
        let name = format!("{verb:?} of items {items:?}, apart: {is_apart}");
        Self { name, verb, memory, change, before, store: then }
    }

    /// Small changes: each kind of step, done, undone and purged, on one file system and two.
    pub(super) fn small() -> Vec<Self> {
        let mut starts = Vec::new();
        for verb in [Verb::Run, Verb::Undo, Verb::Purge] {
            for is_apart in [false, true] {
                starts.extend((0..4).map(|item| Self::new(verb, is_apart, &[item])));
            }
        }
        starts
    }

    /// A larger change, with all of these kinds of step.
    pub(super) fn large() -> Vec<Self> {
        let verbs = [Verb::Run, Verb::Undo, Verb::Purge];
        verbs.iter().flat_map(|verb| [false, true].map(|is_apart| Self::new(*verb, is_apart, &[0, 1, 2, 3]))).collect()
    }

    /// Carries out the verb; `None` when it failed as a whole.
    pub(super) fn act(&self, place: &Place) -> Option<Outcome> {
        match self.verb {
            Verb::Run => place.run(&self.change).ok(),
            Verb::Undo => {
                place.try_undo_all();
                None
            }
            Verb::Purge => {
                if let Ok(state_dir) = place.state("trash purge") {
                    let _ = purge(&state_dir, now(), &Purge::All);
                }
                None
            }
        }
    }

    /// Every byte is somewhere, and nothing else is touched.
    pub(super) fn check_bytes(&self, memory: &Memory, past: Past) -> Result<(), String> {
        let files = memory.actor().files();
        let contents: BTreeSet<&[u8]> = files
            .values()
            .filter_map(|node| match node {
                Node::File(bytes) => Some(bytes.as_slice()),
                _ => None,
            })
            .collect();
        // Whatever begins with a text comes right after it in order.
        let is_there = |was: &[u8]| contents.range(was..).next().is_some_and(|is| is.starts_with(was));
        for (path, bytes) in &self.before {
            if !is_there(bytes) {
                return Err(format!("{} is lost", path.display()));
            }
        }
        if files.get(Path::new("/outside/secret")) != Some(&Node::File(b"not yours".to_vec())) {
            return Err("what lies outside was touched".to_owned());
        }
        // What the other process wrote is there, unless the power went before it was on the disk.
        if past.has_written && !past.has_lost_power && !contents.iter().any(|is| is.ends_with(MINE.as_bytes())) {
            return Err("what the agent wrote is lost".to_owned());
        }
        Ok(())
    }

    /// What was reported agrees with the disk.
    pub(super) fn check_report(&self, outcome: Option<&Outcome>, memory: &Memory) -> Result<(), String> {
        let Some(outcome) = outcome else { return Ok(()) };
        let now = store(memory);
        for (item, done) in self.change.items.iter().zip(&outcome.done) {
            for step in &item.steps {
                let path = step.path().strip_prefix("/home/store").unwrap_or(step.path());
                let below = |files: &Files| -> Files {
                    files
                        .iter()
                        .filter(|(at, _)| at.starts_with(path))
                        .map(|(at, is)| (at.clone(), is.clone()))
                        .collect()
                };
                let (was, is) = (below(&self.store), below(&now));
                let agrees = match (done, step) {
                    (ItemResult::Done, Step::Trash { .. }) => is.is_empty(),
                    (ItemResult::Done, Step::Write { .. } | Step::Put { .. } | Step::Move { .. }) => {
                        is != was && !is.is_empty()
                    }
                    (ItemResult::Done, _) => true,
                    // What could not be put back is said to be in the trash.
                    (ItemResult::Failed(why) | ItemResult::Skipped(why), _) => is == was || why.contains("put back"),
                };
                if !agrees {
                    return Err(format!("{} is not as reported: {done:?}", path.display()));
                }
            }
        }
        Ok(())
    }

    /// Recovers without faults and takes everything back: nothing is lost, and where nobody acted, everything is as it
    /// was before the change, or what stands in the way is named.
    pub(super) fn check_recovered(&self, memory: &Memory, past: Past) -> Result<(), String> {
        let memory = memory.fork();
        let said = place(&memory).undo_all();
        self.check_bytes(&memory, past)?;
        let mut now = store(&memory);
        // The removal of an own temporary file may not have been on the disk; doctor finds it.
        let is_temporary =
            |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".rejoin-"));
        if past.has_lost_power {
            now.retain(|path, _| !is_temporary(path));
        }
        if past.has_actor || !said.is_empty() || self.verb == Verb::Purge || now == self.store {
            return Ok(());
        }
        let differs = now.iter().find(|(path, bytes)| self.store.get(*path) != Some(bytes));
        let missing = self.store.keys().find(|path| !now.contains_key(*path));
        Err(format!("the store is not as it was, and nothing is said: {differs:?}, {missing:?}"))
    }
}
