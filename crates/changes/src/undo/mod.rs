//! Undoes runs: whole ones on request, and interrupted ones before anything else is changed.

mod hindrance;
mod later;
mod put_back;
mod recover;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::error::Error;
use crate::error::Problem;
use crate::history::History;
use crate::journal::{ItemRecord, ItemState, Journal, JournalEvent, Run};
use crate::outcome::ItemResult;
use crate::state_dir::{StateDir, order};
use crate::step::StepContext;
pub use hindrance::{Hindrance, LookAgain};
use later::Later;
use put_back::{context, is_free, is_touched, put_back};
pub use recover::recover;
use recover::recover_run;

/// Result of undoing a run.
#[derive(Debug)]
pub struct UndoReport {
    /// The run.
    pub run: Run,
    /// Results of the items, in the run's order.
    pub items: Vec<ItemResult>,
    /// Interrupted items of other runs that were reverted, one line each.
    pub recovered: Vec<String>,
    /// Set if nothing was changed: then the items have their expected results.
    pub is_dry_run: bool,
    /// Notes for the reader, one line each; added by the caller.
    pub warnings: Vec<String>,
    /// Reason why a power loss may still revert the undo.
    pub doubt: Option<String>,
}

/// Reason for refusing an item without trash.
const LOST: &str = "what it removed is no longer in the trash";

/// Undoes a run, or the items that `wanted` selects, at the time `now`; `look` returns the reason to leave an item alone. A
/// dry run changes nothing; then the items have their expected results.
pub fn undo(
    state_dir: &StateDir,
    which: &Which,
    wanted: impl Fn(&ItemRecord) -> bool,
    is_dry_run: bool,
    now: Timestamp,
    look: &mut LookAgain<'_>,
) -> Result<UndoReport, Error> {
    let mut history = History::read(state_dir.disk(), state_dir.path(), now, state_dir.bounds.is_known)?;
    let run = match find_run(&history, which) {
        Ok(run) => run.clone(),
        Err(refusal) if is_dry_run => return Err(refusal),
        Err(refusal) => {
            recover(state_dir, now, look)?;
            return Err(refusal);
        }
    };
    let mut recovered: Vec<String> = Vec::new();
    if !is_dry_run {
        recovered.extend(history.problems.iter().map(|problem| not_understood(problem, state_dir)));
        for other in history.runs.iter().filter(|other| other.id != run.id) {
            recovered.extend(recover_run(state_dir, other, now, look));
        }
    }
    if !recovered.is_empty() {
        // An item that was just recovered does not block the others.
        history = History::read(state_dir.disk(), state_dir.path(), now, state_dir.bounds.is_known)?;
    }
    let context = context(state_dir, &run)?;
    let mut journal = if is_dry_run { None } else { Some(Journal::reopen(state_dir, &run.id)?) };
    let mut items = vec![ItemResult::Unchanged; run.items.len()];
    let later = Later::than(&run, &history);
    let mut judge = Judge { context: &context, later: &later, look };
    let (groups, mut held) = (run.groups(), judge.group_obstacles(&run, &wanted));
    let mut doubt = None;
    // Later items are undone first, because one may block another.
    for (at, (record, state)) in run.items.iter().enumerate().rev() {
        if !judge.is_pending(record, state, &wanted) {
            continue;
        }
        // An item that was restored without a record of it would look changed since the run.
        let untried = doubt.as_ref().map(|why| format!("it was not tried: {why}"));
        let hindrance = untried.or_else(|| held[at].take()).or_else(|| judge.hindrance(record, state));
        let undone = match (hindrance, &mut journal) {
            (Some(why), _) => Err(ItemResult::Refused(why)),
            (None, None) => is_free(&context, record).map_err(ItemResult::Refused),
            (None, Some(journal)) => put_back(&context, &run, record, Some(journal)).map(|()| {
                let written = journal.write(&JournalEvent::Undone { item: record.item, at: now });
                doubt = written.err().map(|error| error.to_string());
            }),
        };
        items[at] = undone.map_or_else(
            |left| {
                let others = (groups[at]..at).filter(|other| groups[*other] == groups[at]);
                others.for_each(|other| held[other] = Some(together_with(record, left.why().unwrap_or_default())));
                left
            },
            |()| ItemResult::Done,
        );
    }
    // An interrupted run stays so while one of its items is blocked.
    let is_whole = items.iter().all(|item| item.why().is_none());
    if let Some(journal) = &mut journal {
        if doubt.is_none() && (run.has_ended || is_whole) {
            let is_left = |((_, state), now): (&(_, ItemState), &ItemResult)| {
                matches!(state, ItemState::Begun | ItemState::Stuck(_)) && *now != ItemResult::Done
            };
            let stuck = run.items.iter().zip(&items).any(is_left);
            doubt = journal.write(&JournalEvent::End { at: now, stuck }).err().map(|error| error.to_string());
        }
        doubt = doubt.or_else(|| journal.sync().err().map(|error| error.to_string()));
    }
    // A refused item may be restored but not synced; then its trash is still needed.
    if is_dry_run || (is_whole && doubt.is_none()) {
        state_dir.remove_if_empty(&run.id);
    }
    let doubt = doubt.filter(|_| items.contains(&ItemResult::Done));
    Ok(UndoReport { run, items, recovered, is_dry_run, warnings: Vec::new(), doubt })
}

/// Decides which items of a run can be undone.
struct Judge<'j, 'l> {
    context: &'j StepContext<'j>,
    later: &'j Later<'j>,
    look: &'j mut LookAgain<'l>,
}

impl Judge<'_, '_> {
    /// Checks whether an item is selected and has steps left to undo.
    fn is_pending(&self, record: &ItemRecord, state: &ItemState, requested: impl Fn(&ItemRecord) -> bool) -> bool {
        let is_settled = matches!(state, ItemState::Undone | ItemState::Left(_));
        !is_settled && requested(record) && (*state != ItemState::Planned || is_touched(self.context, record))
    }

    /// Returns the reason to leave an item alone, apart from entries in the way.
    fn hindrance(&mut self, record: &ItemRecord, state: &ItemState) -> Option<String> {
        if *state == ItemState::Done && record.steps.iter().any(|step| self.context.has_lost(step)) {
            return Some(LOST.to_owned());
        }
        self.later.why(record).or_else(|| (self.look)(record).map(|hindrance| hindrance.why))
    }

    /// Returns the reason to leave each item alone because another item of its group stays. The data of a move and the
    /// record of it are undone together.
    fn group_obstacles(&mut self, run: &Run, requested: &impl Fn(&ItemRecord) -> bool) -> Vec<Option<String>> {
        let groups = run.groups();
        let mut obstacles: BTreeMap<usize, (usize, String)> = BTreeMap::new();
        let shared: BTreeSet<usize> =
            groups.iter().enumerate().filter(|(at, group)| at != *group).map(|(_, group)| *group).collect();
        for ((record, state), group) in run.items.iter().zip(&groups) {
            if !shared.contains(group) || obstacles.contains_key(group) || !self.is_pending(record, state, |_| true) {
                continue;
            }
            let alone = || format!("`rejoin undo {}` undoes both", run.id);
            let why = (!requested(record)).then(alone).or_else(|| self.hindrance(record, state));
            if let Some(why) = why.or_else(|| is_free(self.context, record).err()) {
                obstacles.insert(*group, (record.item, why));
            }
        }
        let held = run.items.iter().zip(&groups).map(|((record, _), group)| {
            let (at, why) = obstacles.get(group)?;
            Some(if *at == record.item { why.clone() } else { together_with(&run.items[*at].0, why) })
        });
        held.collect()
    }
}

/// Returns the reason to leave an item alone because another item of its group stays.
fn together_with(record: &ItemRecord, why: &str) -> String {
    format!("it is undone only together with {}: {why}", record.label)
}

/// The run to undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The newest run that can still be undone.
    Newest,
    /// The run with a name.
    Named(String),
}

/// Returns the run to undo.
pub fn find_run<'a>(history: &'a History, which: &Which) -> Result<&'a Run, Error> {
    let unreadable =
        |problem: &Problem| Error::UnreadableRun(format!("cannot read {}: {}", problem.path.display(), problem.reason));
    match which {
        Which::Newest => {
            let newest = history.runs.iter().find(|run| run.is_undoable());
            // An unreadable run may be the newest.
            let is_later = |problem: &&Problem| newest.is_none_or(|run| order(name_of(problem)) > order(&run.id));
            if let Some(problem) = history.problems.iter().find(is_later) {
                return Err(unreadable(problem));
            }
            newest.ok_or(Error::NothingToUndo)
        }
        Which::Named(name) => {
            if let Some(problem) = history.problems.iter().find(|problem| name_of(problem) == name) {
                return Err(unreadable(problem));
            }
            let run = history.runs.iter().find(|run| run.id == *name);
            let run = run.ok_or_else(|| Error::NoSuchRun(name.clone()))?;
            if run.is_purged { Err(Error::Purged(name.clone())) } else { Ok(run) }
        }
    }
}

/// Returns the name of an unreadable run.
fn name_of(problem: &Problem) -> &str {
    problem.path.file_stem().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Reports an unreadable entry that is left alone, with its path.
fn not_understood(problem: &Problem, state_dir: &StateDir) -> String {
    let trash = state_dir.trash_of(name_of(problem));
    let path = problem.path.display();
    let rest = if trash == problem.path { String::new() } else { format!("; {} is left as it is", trash.display()) };
    format!("cannot read {path}: {}{rest}", problem.reason)
}
