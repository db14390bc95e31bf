//! Puts runs back: whole ones when somebody asks, and what was cut off before anything else is changed.

use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

use crate::change::apply::journal::{Event, ItemRecord, Journal, Run, State};
use crate::change::apply::state_dir::{History, StateDir};
use crate::change::apply::step::{StepContext, StepState, dir_times, restore_dir_times};
use crate::change::apply::tree;
use crate::error::{Exit, PathError, Refusal};
use crate::system::env::Env;

/// What undoing did with one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UndoResult {
    /// It is as it was before the run.
    Undone,
    /// It was put back earlier.
    Already,
    /// The run had left it as it was.
    NotDone,
    /// It cannot be put back, for this reason; it is as it was before the undoing.
    Refused(String),
}

/// What undoing a run did.
#[derive(Debug)]
pub(crate) struct Report {
    /// The run.
    pub run: Run,
    /// What became of each item, in the run's order.
    pub items: Vec<UndoResult>,
    /// What was found half done from other runs and put back, one line each.
    pub mended: Vec<String>,
    /// What its reader should know, one line each; the caller adds it.
    pub warnings: Vec<String>,
}

/// Which run is undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// The newest that did something which is not undone.
    Newest,
    /// The one of this name.
    Named(String),
}

/// Puts back what a run did, or those of its items that `wanted` picks.
pub(crate) fn undo(
    which: &Which,
    wanted: impl Fn(&ItemRecord) -> bool,
    env: &Env,
    patience: Duration,
) -> anyhow::Result<Report> {
    let state_dir = StateDir::open(env, "undo", patience)?;
    let history = History::read_dir(&state_dir.runs);
    let run = match find(&history, which) {
        Ok(run) => run.clone(),
        Err(refusal) => {
            recover(&state_dir, env)?;
            return Err(refusal.into());
        }
    };
    let mut mended = Vec::new();
    for other in history.runs.iter().filter(|other| other.id != run.id) {
        mended.extend(recover_run(&state_dir, other, env)?);
    }
    let trash = state_dir.trash_of(&run.id);
    let context =
        StepContext { run: &run.id, trash: &trash, fault: &state_dir.fault, made: RefCell::new(run.made.clone()) };
    make_if_missing(&trash)?;
    let mut journal = Journal::reopen(&state_dir.runs, &run.id, &state_dir.fault)?;
    let mut items = vec![UndoResult::NotDone; run.items.len()];
    // The last thing done is the first to be put back, as one may stand in the way of another.
    for (at, (record, state)) in run.items.iter().enumerate().rev() {
        items[at] = match state {
            State::Undone => UndoResult::Already,
            State::Left(_) => UndoResult::NotDone,
            _ if !wanted(record) => UndoResult::NotDone,
            State::Done if record.steps.iter().any(|step| context.has_lost(step)) => {
                UndoResult::Refused("what it took away is no longer in the trash".to_owned())
            }
            State::Planned if !is_touched(&context, record) => UndoResult::NotDone,
            _ => match put_back(&context, &run, record, Some(&mut journal)) {
                Ok(()) => {
                    journal.write(&Event::Undone { item: record.item, at: env.now })?;
                    UndoResult::Undone
                }
                Err(why) => UndoResult::Refused(why),
            },
        };
    }
    // One that was cut off stays so while something of it stands in the way.
    if run.has_ended || items.iter().all(|item| !matches!(item, UndoResult::Refused(_))) {
        journal.write(&Event::End { at: env.now })?;
    }
    journal.sync()?;
    remove_if_empty(&trash);
    Ok(Report { run, items, mended, warnings: Vec::new() })
}

fn find<'a>(history: &'a History, which: &Which) -> Result<&'a Run, Refusal> {
    match which {
        Which::Newest => history.runs.iter().find(|run| run.is_undoable()).ok_or_else(|| {
            Refusal::new(Exit::NotFound, "nothing-to-undo", "there is no run that could be undone")
                .hint("`rejoin undo --list` shows the runs")
        }),
        Which::Named(name) => {
            let run = history.runs.iter().find(|run| run.id == *name).ok_or_else(|| {
                Refusal::new(Exit::NotFound, "no-such-run", format!("there is no run {name}"))
                    .hint("`rejoin undo --list` shows the runs")
            })?;
            if run.is_purged {
                let message = format!("what run {name} took away was purged from the trash");
                return Err(Refusal::new(Exit::Refused, "purged", message));
            }
            Ok(run)
        }
    }
}

/// Takes every step of an item back, the last first, unless one of them is in the way.
fn put_back(
    context: &StepContext<'_>,
    run: &Run,
    record: &ItemRecord,
    journal: Option<&mut Journal<'_>>,
) -> Result<(), String> {
    for step in &record.steps {
        match context.standing(step) {
            Ok(StepState::Blocked(why)) => return Err(why),
            Ok(_) => {}
            Err(error) => return Err(format!("cannot look at {}: {error}", step.path().display())),
        }
    }
    if let Some(journal) = journal {
        let dir_times = record.steps.iter().map(|step| dir_times(step.path())).collect();
        let undoing = Event::Undoing { item: record.item, dir_times };
        journal.write(&undoing).map_err(|error| error.to_string())?;
    }
    for (at, step) in record.steps.iter().enumerate().rev() {
        context.revert(step).map_err(|error| error.to_string())?;
        // What was cut off may not have come to putting the directory's times back itself.
        let cut_off = run.dir_times.get(&(record.item, at)).filter(|_| !run.has_ended);
        if let Some(times) = run.undo_times.get(&(record.item, at)).or(cut_off) {
            restore_dir_times(step.path(), *times);
        }
    }
    Ok(())
}

/// Tells whether anything shows that an item was begun, though the journal does not say so.
fn is_touched(context: &StepContext<'_>, record: &ItemRecord) -> bool {
    record.steps.iter().any(|step| !matches!(context.standing(step), Ok(StepState::Before)))
}

/// Puts back what runs that were cut off had half done, before a plan is made of what is there.
///
/// Returns a line for each such item. Where no run was cut off, nothing is locked and nothing written.
pub(crate) fn recover_first(env: &Env, verb: &str, patience: Duration) -> anyhow::Result<Vec<String>> {
    if History::unsettled(&env.state_dir().join("runs")).is_empty() {
        return Ok(Vec::new());
    }
    recover(&StateDir::open(env, verb, patience)?, env)
}

/// Puts back what runs that were cut off had half done; what they had done whole stays, and can be undone.
fn recover(state_dir: &StateDir, env: &Env) -> anyhow::Result<Vec<String>> {
    let mut mended = Vec::new();
    for path in History::unsettled(&state_dir.runs) {
        match Run::read(&path)? {
            Some(run) => mended.extend(recover_run(state_dir, &run, env)?),
            // It was cut off before it said anything, so it did nothing.
            None => tree::remove(&path, &state_dir.fault).map_err(|error| PathError::new("remove", &path, error))?,
        }
    }
    Ok(mended)
}

fn recover_run(state_dir: &StateDir, run: &Run, env: &Env) -> anyhow::Result<Vec<String>> {
    if run.is_purged {
        crate::change::apply::trash::finish_purge(state_dir, &run.id)?;
        return Ok(Vec::new());
    }
    if run.has_ended {
        return Ok(Vec::new());
    }
    let trash = state_dir.trash_of(&run.id);
    let context =
        StepContext { run: &run.id, trash: &trash, fault: &state_dir.fault, made: RefCell::new(run.made.clone()) };
    make_if_missing(&trash)?;
    let mut journal = Journal::reopen(&state_dir.runs, &run.id, &state_dir.fault)?;
    let mut mended = Vec::new();
    for (record, state) in run.items.iter().rev() {
        if !matches!(state, State::Begun | State::Planned) {
            continue;
        }
        if *state == State::Planned && !is_touched(&context, record) {
            continue;
        }
        let what = format!("run {} ({}) was cut off at {}", run.id, run.verb, record.label);
        match put_back(&context, run, record, None) {
            Ok(()) => {
                journal.write(&Event::Left { item: record.item, reason: "the run was cut off".to_owned() })?;
                mended.push(format!("{what}, which was put back"));
            }
            Err(reason) => {
                journal.write(&Event::Stuck { item: record.item, reason: reason.clone() })?;
                mended.push(format!("{what}, which could not be put back: {reason}"));
            }
        }
    }
    journal.write(&Event::End { at: env.now })?;
    journal.sync()?;
    remove_if_empty(&trash);
    Ok(mended)
}

/// Makes a run's directory in the trash anew, for what is taken back to it.
fn make_if_missing(trash: &Path) -> Result<(), PathError> {
    tree::make_private_dirs(trash).map_err(|error| PathError::new("make", trash, error))
}

/// Removes a run's directory in the trash once nothing is in it.
pub(super) fn remove_if_empty(trash: &Path) {
    #[expect(clippy::disallowed_methods, reason = "apply keeps the trash")]
    let _ = std::fs::remove_dir(trash);
    let _ = tree::sync_dir(trash.parent().unwrap_or(trash));
}
