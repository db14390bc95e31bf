//! Puts runs back: whole ones when somebody asks, and what was cut off before anything else is changed.

use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

use crate::change::apply::journal::{Event, ItemRecord, Journal, Run, State};
use crate::change::apply::shop::{History, Shop};
use crate::change::apply::step::{Bench, Standing, dir_times, restore_dir_times};
use crate::change::apply::tree;
use crate::error::{Exit, PathError, Refusal};
use crate::system::env::Env;

/// What undoing did with one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Undone {
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
    pub items: Vec<Undone>,
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
    let shop = Shop::open(env, "undo", patience)?;
    let history = History::read_dir(&shop.runs);
    let run = match find(&history, which) {
        Ok(run) => run.clone(),
        Err(refusal) => {
            mend(&shop, env)?;
            return Err(refusal.into());
        }
    };
    let mut mended = Vec::new();
    for other in history.runs.iter().filter(|other| other.id != run.id) {
        mended.extend(mend_run(&shop, other, env)?);
    }
    let trash = shop.trash_of(&run.id);
    let bench = Bench { run: &run.id, trash: &trash, fault: &shop.fault, made: RefCell::new(run.made.clone()) };
    make_if_missing(&trash)?;
    let mut journal = Journal::reopen(&shop.runs, &run.id, &shop.fault)?;
    let mut items = vec![Undone::NotDone; run.items.len()];
    // The last thing done is the first to be put back, as one may stand in the way of another.
    for (at, (record, state)) in run.items.iter().enumerate().rev() {
        items[at] = match state {
            State::Undone => Undone::Already,
            State::Left(_) => Undone::NotDone,
            _ if !wanted(record) => Undone::NotDone,
            State::Done if record.steps.iter().any(|step| bench.has_lost(step)) => {
                Undone::Refused("what it took away is no longer in the trash".to_owned())
            }
            State::Planned if !is_touched(&bench, record) => Undone::NotDone,
            _ => match put_back(&bench, &run, record, Some(&mut journal)) {
                Ok(()) => {
                    journal.write(&Event::Undone { item: record.item, at: env.now })?;
                    Undone::Undone
                }
                Err(why) => Undone::Refused(why),
            },
        };
    }
    // One that was cut off stays so while something of it stands in the way.
    if run.has_ended || items.iter().all(|item| !matches!(item, Undone::Refused(_))) {
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
    bench: &Bench<'_>,
    run: &Run,
    record: &ItemRecord,
    journal: Option<&mut Journal<'_>>,
) -> Result<(), String> {
    for step in &record.steps {
        match bench.standing(step) {
            Ok(Standing::Blocked(why)) => return Err(why),
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
        bench.take_back(step).map_err(|error| error.to_string())?;
        // What was cut off may not have come to putting the directory's times back itself.
        let cut_off = run.dir_times.get(&(record.item, at)).filter(|_| !run.has_ended);
        if let Some(times) = run.undo_times.get(&(record.item, at)).or(cut_off) {
            restore_dir_times(step.path(), *times);
        }
    }
    Ok(())
}

/// Tells whether anything shows that an item was begun, though the journal does not say so.
fn is_touched(bench: &Bench<'_>, record: &ItemRecord) -> bool {
    record.steps.iter().any(|step| !matches!(bench.standing(step), Ok(Standing::Before)))
}

/// Puts back what runs that were cut off had half done, before a plan is made of what is there.
///
/// Returns a line for each such item. Where no run was cut off, nothing is locked and nothing written.
pub(crate) fn mend_first(env: &Env, verb: &str, patience: Duration) -> anyhow::Result<Vec<String>> {
    if History::unsettled(&env.state_dir().join("runs")).is_empty() {
        return Ok(Vec::new());
    }
    mend(&Shop::open(env, verb, patience)?, env)
}

/// Puts back what runs that were cut off had half done; what they had done whole stays, and can be undone.
fn mend(shop: &Shop, env: &Env) -> anyhow::Result<Vec<String>> {
    let mut mended = Vec::new();
    for path in History::unsettled(&shop.runs) {
        match Run::read(&path)? {
            Some(run) => mended.extend(mend_run(shop, &run, env)?),
            // It was cut off before it said anything, so it did nothing.
            None => tree::remove(&path, &shop.fault).map_err(|error| PathError::new("remove", &path, error))?,
        }
    }
    Ok(mended)
}

fn mend_run(shop: &Shop, run: &Run, env: &Env) -> anyhow::Result<Vec<String>> {
    if run.is_purged {
        crate::change::apply::trash::finish_purge(shop, &run.id)?;
        return Ok(Vec::new());
    }
    if run.has_ended {
        return Ok(Vec::new());
    }
    let trash = shop.trash_of(&run.id);
    let bench = Bench { run: &run.id, trash: &trash, fault: &shop.fault, made: RefCell::new(run.made.clone()) };
    make_if_missing(&trash)?;
    let mut journal = Journal::reopen(&shop.runs, &run.id, &shop.fault)?;
    let mut mended = Vec::new();
    for (record, state) in run.items.iter().rev() {
        if !matches!(state, State::Begun | State::Planned) {
            continue;
        }
        if *state == State::Planned && !is_touched(&bench, record) {
            continue;
        }
        let what = format!("run {} ({}) was cut off at {}", run.id, run.verb, record.label);
        match put_back(&bench, run, record, None) {
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
