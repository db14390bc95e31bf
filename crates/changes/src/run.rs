//! Carries out a change: lock, journal, a last check of every item, and each item completely or not at all.

use std::cell::RefCell;
use std::io;

use jiff::Timestamp;

use crate::disk::FileTimes;
use crate::error::PathError;
use crate::journal::{ItemRecord, Journal, JournalEvent, StepRecord};
use crate::outcome::{ItemResult, RunOutcome};
use crate::plan::RunItem;
use crate::state_dir::StateDir;
use crate::step::{self, StepContext, StepError};

/// Carries out the items of a verb at the time `now`. `look` returns the reason to leave an item alone, which is asked
/// right before the item; `watch` gets the number of finished items after each of them.
///
/// Continues after an item that fails. Fails as a whole only before the first change.
pub fn run(
    state_dir: &StateDir,
    (verb, items): (&str, &[RunItem<'_>]),
    now: Timestamp,
    look: &dyn Fn(usize) -> Option<String>,
    watch: &mut dyn FnMut(usize),
) -> Result<RunOutcome, PathError> {
    if items.is_empty() {
        return Ok(RunOutcome::default());
    }
    let (journal, run, trash) = Journal::begin(state_dir, verb, now)?;
    let context = StepContext {
        disk: state_dir.disk(),
        run: &run,
        trash,
        made: RefCell::default(),
        resolved: RefCell::default(),
    };
    let mut work = RunWork { state_dir, journal, context, look, is_broken: None, is_stuck: false };
    let records = match work.plan(items) {
        Ok(records) => records,
        Err(error) => {
            // Nothing was changed yet, so the run can be forgotten.
            state_dir.forget(&run);
            return Err(error);
        }
    };
    let mut done = Vec::with_capacity(records.len());
    for (number, (item, planned)) in items.iter().zip(records).enumerate() {
        let lacks = item.needs.or(item.after).filter(|needed| done.get(*needed) != Some(&ItemResult::Done));
        done.push(match lacks {
            Some(needed) => work.leave(number, &items[needed]),
            None => work.item(number, item, planned),
        });
        watch(done.len());
    }
    let RunWork { mut journal, is_stuck, .. } = work;
    // A run without its last line counts as interrupted, and the next run repairs it.
    let ended = journal.write(&JournalEvent::End { at: now, stuck: is_stuck }).and_then(|()| journal.sync());
    let doubt = ended.err().filter(|_| done.contains(&ItemResult::Done)).map(|error| error.to_string());
    let may_be_forgotten = journal.is_whole() && !is_stuck && !done.contains(&ItemResult::Done);
    let is_forgotten = if may_be_forgotten {
        state_dir.forget(&run)
    } else {
        // Entries that could not be restored may be back but not synced; then the trash is still needed.
        if !is_stuck {
            state_dir.remove_if_empty(&run);
        }
        false
    };
    Ok(RunOutcome { run: (!is_forgotten).then_some(run), done, doubt })
}

struct RunWork<'a> {
    state_dir: &'a StateDir,
    journal: Journal<'a>,
    context: StepContext<'a>,
    look: &'a dyn Fn(usize) -> Option<String>,
    /// Reason why nothing more may be changed.
    is_broken: Option<String>,
    /// Set if an item was done in part and could not be reverted.
    is_stuck: bool,
}

/// The recorded plan of an item.
enum RecordedPlan {
    /// The records follow from the steps, so they are not kept in memory for each item.
    Plain,
    /// Records of the steps, made when they were planned.
    Steps(Vec<StepRecord>),
    /// The item cannot be done; the reason.
    Refused(String),
}

impl RunWork<'_> {
    /// Writes the whole plan to the journal before the first change.
    fn plan(&mut self, items: &[RunItem<'_>]) -> Result<Vec<RecordedPlan>, PathError> {
        let mut planned = Vec::with_capacity(items.len());
        for (number, item) in items.iter().enumerate() {
            let steps = self.records(item, number);
            let refused = steps.as_ref().err().map(|error| RecordedPlan::Refused(error.to_string()));
            let event = JournalEvent::Item(ItemRecord {
                item: number,
                label: item.label.to_string(),
                title: item.title.map(str::to_owned),
                agent: item.owner.map(|(agent, _)| agent.to_owned()),
                id: item.owner.map(|(_, id)| id.to_owned()),
                code: item.code.to_owned(),
                reason: item.reason.to_owned(),
                needs: item.needs,
                steps: steps.unwrap_or_default(),
            });
            self.journal.write(&event)?;
            planned.push(match (refused, event) {
                (Some(refused), _) => refused,
                (None, JournalEvent::Item(record)) if !item.steps.iter().all(step::is_plain) => {
                    RecordedPlan::Steps(record.steps)
                }
                _ => RecordedPlan::Plain,
            });
        }
        self.journal.sync()?;
        // Sync the directory entries of the journal and of its trash, or a power loss may drop them.
        for dir in [&self.state_dir.runs, &self.state_dir.trash] {
            let synced = self.context.disk.sync(dir);
            synced.map_err(|error| PathError::new("write", self.state_dir.path(), error))?;
        }
        Ok(planned)
    }

    fn item(&mut self, number: usize, item: &RunItem<'_>, planned: RecordedPlan) -> ItemResult {
        let records = match planned {
            RecordedPlan::Refused(why) => return ItemResult::Skipped(why),
            RecordedPlan::Steps(records) => records,
            RecordedPlan::Plain => match self.records(item, number) {
                Ok(records) => records,
                Err(error) => return ItemResult::Skipped(error.to_string()),
            },
        };
        if let Some(why) = &self.is_broken {
            return ItemResult::Failed(why.clone());
        }
        if let Some(why) = (self.look)(number) {
            let _ = self.journal.write(&JournalEvent::Left { item: number, reason: why.clone() });
            return ItemResult::Skipped(why);
        }
        let mut times = Vec::with_capacity(item.steps.len());
        for (at, (step, planned)) in item.steps.iter().zip(&records).enumerate() {
            let dir_times = self.context.dir_times(planned.path());
            times.push(dir_times);
            if let Err(error) = self.journal.write(&JournalEvent::Start { item: number, step: at, dir_times }) {
                // Without a journal nothing could be reverted later.
                let why = error.to_string();
                self.is_broken = Some(why.clone());
                return self.revert(number, &records, &times[..at], ItemResult::Failed(why));
            }
            let (journal, kept) = (&mut self.journal, format!("{number}-{at}"));
            let mut note = |(device, inode)| {
                let made = JournalEvent::Made { kept: kept.clone(), device, inode };
                // The line explains a rename, which may outlive a loss of power.
                let written = journal.write(&made).and_then(|()| journal.sync());
                written.map_err(|error| io::Error::other(error.to_string()))
            };
            if let Err(error) = self.context.perform(step, planned, &mut note) {
                let done = match &error {
                    StepError::Changed(why) => ItemResult::Skipped(why.clone()),
                    StepError::Failed { .. } => ItemResult::Failed(error.to_string()),
                };
                return self.revert(number, &records, &times, done);
            }
        }
        if let Err(error) = self.journal.write(&JournalEvent::Done { item: number }) {
            let why = error.to_string();
            self.is_broken = Some(why.clone());
            return self.revert(number, &records, &times, ItemResult::Failed(why));
        }
        ItemResult::Done
    }

    /// Leaves an item alone, because one that it needs was not done.
    fn leave(&mut self, number: usize, needed: &RunItem<'_>) -> ItemResult {
        let why = format!("it needs {}, which was not done", needed.label);
        let _ = self.journal.write(&JournalEvent::Left { item: number, reason: why.clone() });
        ItemResult::Skipped(why)
    }

    fn records(&self, item: &RunItem<'_>, number: usize) -> Result<Vec<StepRecord>, StepError> {
        let steps = item.steps.iter().enumerate();
        let records: Vec<_> =
            steps.map(|(at, step)| self.context.record(step, number, at)).collect::<Result<_, _>>()?;
        self.state_dir.bounds.check(records.iter().flat_map(StepRecord::paths)).map_err(StepError::Changed)?;
        Ok(records)
    }

    /// Reverts the begun steps of an item, the last first, so that the item leaves no traces.
    ///
    /// `times` are the times of each step's directory before the step.
    fn revert(
        &mut self,
        number: usize,
        records: &[StepRecord],
        times: &[Option<FileTimes>],
        done: ItemResult,
    ) -> ItemResult {
        let mut wrong_times = None;
        for (planned, times) in records.iter().zip(times).rev() {
            let reverted = self.context.revert(planned);
            if let Some(times) = times.filter(|_| reverted.is_ok()) {
                // The times of a directory must not keep the other steps from being reverted.
                wrong_times = wrong_times.or(self.context.restore_dir_times(planned, times).err());
            }
            if let Err(error) = reverted {
                let (ItemResult::Skipped(why) | ItemResult::Failed(why)) = &done else { return done };
                self.is_stuck = true;
                let reason = format!("{why}; and it could not be undone: {error}");
                let failed = format!("{reason}; `rejoin undo {}` tries again", self.context.run);
                let _ = self.journal.write(&JournalEvent::Stuck { item: number, reason });
                return ItemResult::Failed(failed);
            }
        }
        let (ItemResult::Skipped(reason) | ItemResult::Failed(reason)) = &done else { return done };
        let reason = wrong_times.iter().fold(reason.clone(), |reason, error| format!("{reason}; and {error}"));
        let _ = self.journal.write(&JournalEvent::Left { item: number, reason: reason.clone() });
        if wrong_times.is_some() { ItemResult::Failed(reason) } else { done }
    }
}
