//! A run, read from its journal.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use jiff::Timestamp;
use serde::Deserialize;

use super::{ItemRecord, JournalEvent, StepRecord, VERSION};
use crate::bounds::IsKnown;
use crate::disk::{Buffer, PIECE};
use crate::disk::{Disk, FileTimes, For, Handle, NameInDir};
use crate::error::PathError;

/// Progress of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemState {
    /// Not begun.
    Planned,
    /// Begun, without a record of the end.
    Begun,
    /// Done.
    Done,
    /// The item was left alone; the reason.
    Left(String),
    /// The item was done in part; the reason.
    Stuck(String),
    /// Done and undone.
    Undone,
}

/// A run, read from its journal.
#[derive(Clone, Debug)]
pub struct Run {
    /// Name of the run.
    pub id: String,
    /// Verb of the run.
    pub verb: String,
    /// Start time, by the clock of that moment.
    pub at: Timestamp,
    /// Time from which the age of its trash counts, never before that of an earlier run. `None` for a run that began in
    /// the future, which no age purges.
    pub kept_since: Option<Timestamp>,
    /// Items with their progress.
    pub items: Vec<(ItemRecord, ItemState)>,
    /// Set if the run ended.
    pub has_ended: bool,
    /// Set if its trash was deleted.
    pub is_purged: bool,
    /// Times of directories before each step, by item and step.
    pub(crate) dir_times: BTreeMap<(usize, usize), FileTimes>,
    /// Device and inode of each step's new entry, by its name in the run.
    pub(crate) made: BTreeMap<String, (u64, u64)>,
    /// Times of directories before the undo of each step, if that was begun.
    pub(crate) undo_times: BTreeMap<(usize, usize), FileTimes>,
}

impl Run {
    /// Reads a journal; `None` if it is missing, or was cut off before its first line ended.
    ///
    /// An invalid line may be the one that records where something is. So a journal with one, one of another version,
    /// and one with a program that is not known, is an error: everything in the run's trash is left alone.
    pub fn read(disk: &dyn Disk, at: NameInDir<'_>, path: &Path, is_known: IsKnown) -> Result<Option<Self>, PathError> {
        let fail = |error| PathError::new("read", path, error);
        let file = match disk.open(at, For::Reading) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(fail)?,
        };
        let mut run: Option<Self> = None;
        let see = |number, line: &[u8]| {
            let damaged = |why: &str| io::Error::other(format!("line {number} of it {why}"));
            if line.is_empty() {
                return Ok(());
            }
            if let (None, Ok(JournalVersion { format_version })) = (&run, serde_json::from_slice(line))
                && format_version != VERSION
            {
                let why = format!("it is of version {format_version}, and this rejoin knows only version {VERSION}");
                return Err(io::Error::other(why));
            }
            let event = serde_json::from_slice::<JournalEvent>(line).map_err(|_| damaged("is damaged"))?;
            if let JournalEvent::Item(ItemRecord { agent: Some(agent), .. }) = &event
                && !is_known(agent)
            {
                return Err(damaged("is damaged"));
            }
            match (event, &mut run) {
                (JournalEvent::Begin { run: id, verb, at, .. }, None) => {
                    if path.file_stem() != Some(id.as_ref()) {
                        return Err(damaged("is that of another run"));
                    }
                    run = Some(Self {
                        id,
                        verb,
                        at,
                        kept_since: None,
                        items: Vec::new(),
                        has_ended: false,
                        is_purged: false,
                        dir_times: BTreeMap::new(),
                        made: BTreeMap::new(),
                        undo_times: BTreeMap::new(),
                    });
                }
                (event, Some(run)) if run.knows(&event) => run.add(event),
                _ => return Err(damaged("does not fit those before it")),
            }
            Ok(())
        };
        each_line(disk, &file, see).map_err(fail)?;
        Ok(run)
    }

    /// Checks whether an event refers to a planned item and step, with the names that this program gives.
    fn knows(&self, event: &JournalEvent) -> bool {
        match event {
            JournalEvent::Begin { .. } => false,
            JournalEvent::Item(record) => {
                let is_own = |(number, step): (usize, &StepRecord)| {
                    step.name_in_trash() == format!("{}-{number}", record.item) && step.path().is_absolute()
                };
                record.item == self.items.len()
                    && record.needs.is_none_or(|needed| needed < record.item)
                    && record.steps.iter().enumerate().all(is_own)
            }
            JournalEvent::Start { item, step, .. } => {
                self.items.get(*item).is_some_and(|(it, _)| *step < it.steps.len())
            }
            JournalEvent::Made { kept, .. } => {
                let number = kept.split_once('-').and_then(|(item, _)| item.parse().ok());
                let record = number.and_then(|item: usize| self.items.get(item));
                record.is_some_and(|(record, _)| record.steps.iter().any(|step| step.name_in_trash() == kept))
            }
            JournalEvent::Done { item }
            | JournalEvent::Left { item, .. }
            | JournalEvent::Stuck { item, .. }
            | JournalEvent::Undoing { item, .. }
            | JournalEvent::Undone { item, .. } => *item < self.items.len(),
            JournalEvent::End { .. } | JournalEvent::Purged { .. } => true,
        }
    }

    fn add(&mut self, event: JournalEvent) {
        let mut set = |item: usize, state| {
            if let Some((_, old)) = self.items.get_mut(item) {
                *old = state;
            }
        };
        match event {
            JournalEvent::Begin { .. } => {}
            JournalEvent::Item(record) => self.items.push((record, ItemState::Planned)),
            JournalEvent::Start { item, step, dir_times } => {
                set(item, ItemState::Begun);
                if let Some(times) = dir_times {
                    self.dir_times.entry((item, step)).or_insert(times);
                }
            }
            JournalEvent::Made { kept, device, inode } => {
                self.made.insert(kept, (device, inode));
            }
            JournalEvent::Done { item } => set(item, ItemState::Done),
            JournalEvent::Left { item, reason } => set(item, ItemState::Left(reason)),
            JournalEvent::Stuck { item, reason } => set(item, ItemState::Stuck(reason)),
            JournalEvent::End { .. } => self.has_ended = true,
            JournalEvent::Undoing { item, dir_times } => {
                for (step, times) in dir_times.into_iter().enumerate() {
                    if let Some(times) = times {
                        self.undo_times.entry((item, step)).or_insert(times);
                    }
                }
            }
            JournalEvent::Undone { item, .. } => set(item, ItemState::Undone),
            JournalEvent::Purged { .. } => self.is_purged = true,
        }
    }

    /// Returns the first item of each item's group. The items of a group are undone together, or not at all.
    pub fn groups(&self) -> Vec<usize> {
        let mut first: Vec<usize> = Vec::with_capacity(self.items.len());
        for (record, _) in &self.items {
            first.push(record.needs.map_or(record.item, |needed| first[needed]));
        }
        first
    }

    /// Returns the number of items in a state.
    pub fn count(&self, is_so: impl Fn(&ItemState) -> bool) -> usize {
        self.items.iter().filter(|(_, state)| is_so(state)).count()
    }

    /// Checks whether an item was done in part and could not be reverted.
    pub fn is_stuck(&self) -> bool {
        self.count(|state| matches!(state, ItemState::Stuck(_))) > 0
    }

    /// Checks whether it did not finish.
    pub fn is_interrupted(&self) -> bool {
        !self.is_purged && (!self.has_ended || self.is_stuck())
    }

    /// Checks whether anything that it did can still be undone.
    pub fn is_undoable(&self) -> bool {
        !self.is_purged
            && self.count(|state| matches!(state, ItemState::Done | ItemState::Begun | ItemState::Stuck(_))) > 0
    }
}

/// The version of a journal, checked before everything else.
#[derive(Deserialize)]
struct JournalVersion {
    format_version: u32,
}

/// Passes every complete line to `see`, with its number, from 1.
fn each_line(disk: &dyn Disk, file: &Handle, mut see: impl FnMut(u64, &[u8]) -> io::Result<()>) -> io::Result<()> {
    let (mut rest, mut piece, mut offset, mut number) = (Vec::new(), Buffer::new(PIECE), 0, 0);
    loop {
        let count = disk.read_at(file, &mut piece, offset)?;
        if count == 0 {
            return Ok(());
        }
        offset += count as u64;
        let mut left = &piece[..count];
        while let Some(end) = memchr::memchr(b'\n', left) {
            rest.extend_from_slice(&left[..end]);
            left = &left[end + 1..];
            number += 1;
            see(number, &rest)?;
            rest.clear();
        }
        rest.extend_from_slice(left);
    }
}
