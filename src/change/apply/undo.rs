//! Undoes runs: whole ones on request, and interrupted ones before anything else is changed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::agent::{self, Agent};
use crate::change::apply::journal::{Event, ItemRecord, Journal, Run, State, StepRecord};
use crate::change::apply::run;
use crate::change::apply::state_dir::{History, StateDir};
use crate::change::apply::step::{StepContext, StepState};
use crate::error::{Exit, PathError, Refusal};
use crate::session::{AgentKind, Located, Problem};
use crate::system::disk::{For, System};
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
    pub recovered: Vec<String>,
    /// Whether nothing was changed: then the items say what would become of them.
    pub is_dry_run: bool,
    /// What its reader should know, one line each; the caller adds it.
    pub warnings: Vec<String>,
}

/// Why an item cannot be put back whose trash is gone.
const LOST: &str = "what it removed is no longer in the trash";

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
    let mut in_use = InUse::default();
    undo_on(&state_dir, which, wanted, env.now, &mut |record| in_use.why(record, env))
}

/// Says what [`undo`] would do with each item, and changes nothing.
pub(crate) fn preview(
    which: &Which,
    wanted: impl Fn(&ItemRecord) -> bool,
    env: &Env,
    patience: Duration,
) -> anyhow::Result<Report> {
    let run = find(&History::read(env)?, which)?.clone();
    let state_dir = StateDir::open(env, "undo", patience)?;
    let context = context(&state_dir, &run)?;
    let mut in_use = InUse::default();
    let items = run.items.iter().map(|(record, state)| match state {
        State::Undone => UndoResult::Already,
        State::Left(_) => UndoResult::NotDone,
        _ if !wanted(record) => UndoResult::NotDone,
        State::Done if record.steps.iter().any(|step| context.has_lost(step)) => UndoResult::Refused(LOST.to_owned()),
        State::Planned if !is_touched(&context, record) => UndoResult::NotDone,
        _ => match in_use.why(record, env).map_or_else(|| is_free(&context, record), |hindrance| Err(hindrance.why)) {
            Ok(()) => UndoResult::Undone,
            Err(why) => UndoResult::Refused(why),
        },
    });
    let items = items.collect();
    drop(context);
    state_dir.remove_if_empty(&run.id);
    Ok(Report { run, items, recovered: Vec::new(), is_dry_run: true, warnings: Vec::new() })
}

/// Does so under a lock that is held, at the time `now`; `look` says of an item why it must be left alone.
pub(crate) fn undo_on(
    state_dir: &StateDir,
    which: &Which,
    wanted: impl Fn(&ItemRecord) -> bool,
    now: Timestamp,
    look: &mut LookAgain<'_>,
) -> anyhow::Result<Report> {
    let history = History::read_on(state_dir.disk(), state_dir.path())?;
    let run = match find(&history, which) {
        Ok(run) => run.clone(),
        Err(refusal) => {
            recover_on(state_dir, now, look)?;
            return Err(refusal.into());
        }
    };
    let mut recovered: Vec<String> =
        history.problems.iter().map(|problem| not_understood(problem, state_dir)).collect();
    for other in history.runs.iter().filter(|other| other.id != run.id) {
        recovered.extend(recover_run(state_dir, other, now, look));
    }
    let context = context(state_dir, &run)?;
    let mut journal = Journal::reopen(state_dir, &run.id)?;
    let mut items = vec![UndoResult::NotDone; run.items.len()];
    // The last thing done is the first to be put back, as one may stand in the way of another.
    for (at, (record, state)) in run.items.iter().enumerate().rev() {
        items[at] = match state {
            State::Undone => UndoResult::Already,
            State::Left(_) => UndoResult::NotDone,
            _ if !wanted(record) => UndoResult::NotDone,
            State::Done if record.steps.iter().any(|step| context.has_lost(step)) => {
                UndoResult::Refused(LOST.to_owned())
            }
            State::Planned if !is_touched(&context, record) => UndoResult::NotDone,
            _ => match look(record)
                .map_or_else(|| put_back(&context, &run, record, Some(&mut journal)), |hindrance| Err(hindrance.why))
            {
                Ok(()) => {
                    journal.write(&Event::Undone { item: record.item, at: now })?;
                    UndoResult::Undone
                }
                Err(why) => UndoResult::Refused(why),
            },
        };
    }
    // One that was cut off stays so while something of it stands in the way.
    if run.has_ended || items.iter().all(|item| !matches!(item, UndoResult::Refused(_))) {
        let is_left = |((_, state), now): (&(_, State), &UndoResult)| {
            matches!(state, State::Begun | State::Stuck(_)) && *now != UndoResult::Undone
        };
        let stuck = run.items.iter().zip(&items).any(is_left);
        journal.write(&Event::End { at: now, stuck })?;
    }
    journal.sync()?;
    // What was refused may be back, but not on the disk yet: then its trash is still needed.
    if items.iter().all(|item| !matches!(item, UndoResult::Refused(_))) {
        state_dir.remove_if_empty(&run.id);
    }
    Ok(Report { run, items, recovered, is_dry_run: false, warnings: Vec::new() })
}

/// Why the session that an item is about should be left alone.
#[derive(Debug)]
pub(crate) struct Hindrance {
    /// The reason.
    why: String,
    /// Whether a process holds the session, or may; else nobody can tell, which keeps what is half done from nothing.
    is_held: bool,
}

#[cfg(test)]
impl Hindrance {
    /// Makes one of a session that a process holds.
    pub(super) fn held(why: &str) -> Self {
        Self { why: why.to_owned(), is_held: true }
    }
}

/// Says of an item why it should be left alone.
pub(crate) type LookAgain<'l> = dyn FnMut(&ItemRecord) -> Option<Hindrance> + 'l;

/// Returns what the steps of an earlier run share; its directory in the trash is made anew for what is taken back to it.
fn context<'a>(state_dir: &'a StateDir, run: &'a Run) -> Result<StepContext<'a>, PathError> {
    let (disk, at) = (state_dir.disk(), (&state_dir.trash, OsStr::new(&run.id)));
    let opened = match disk.open(at, For::Dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            disk.make_dir(at).and_then(|()| disk.sync(&state_dir.trash)).and_then(|()| disk.open(at, For::Dir))
        }
        opened => opened,
    };
    let trash = opened.map_err(|error| PathError::new("open", &state_dir.trash_of(&run.id), error))?;
    let made = RefCell::new(run.made.clone());
    Ok(StepContext { disk, run: &run.id, trash, made, has_links: run.has_links, resolved: RefCell::default() })
}

fn find<'a>(history: &'a History, which: &Which) -> Result<&'a Run, Refusal> {
    let unreadable = |problem: &Problem| {
        let message = format!("cannot read {}: {}", problem.path.display(), problem.reason);
        Refusal::new(Exit::Refused, "unreadable-run", message).hint("`rejoin undo --list` shows the other runs")
    };
    match which {
        Which::Newest => {
            let newest = history.runs.iter().find(|run| run.is_undoable());
            // What cannot be read may have been the newest.
            let is_later = |problem: &&Problem| newest.is_none_or(|run| name_of(problem) > run.id.as_str());
            if let Some(problem) = history.problems.iter().find(is_later) {
                return Err(unreadable(problem));
            }
            newest.ok_or_else(|| {
                Refusal::new(Exit::NotFound, "nothing-to-undo", "there is no run to undo")
                    .hint("run `rejoin undo --list` to see the runs")
            })
        }
        Which::Named(name) => {
            if let Some(problem) = history.problems.iter().find(|problem| name_of(problem) == name) {
                return Err(unreadable(problem));
            }
            let run = history.runs.iter().find(|run| run.id == *name).ok_or_else(|| {
                Refusal::new(Exit::NotFound, "no-such-run", format!("there is no run {name}"))
                    .hint("run `rejoin undo --list` to see the runs")
            })?;
            if run.is_purged {
                let message = format!("what run {name} removed was purged from the trash");
                return Err(Refusal::new(Exit::Refused, "purged", message));
            }
            Ok(run)
        }
    }
}

/// Says what is in the way of taking an item back, if anything is.
fn is_free(context: &StepContext<'_>, record: &ItemRecord) -> Result<(), String> {
    record.steps.iter().try_for_each(|step| match context.standing(step) {
        Ok(StepState::Blocked(why)) => Err(why),
        Ok(_) => Ok(()),
        Err(error) => Err(format!("cannot check {}: {error}", step.path().display())),
    })
}

/// Takes every step of an item back, the last first, unless one of them is in the way.
fn put_back(
    context: &StepContext<'_>,
    run: &Run,
    record: &ItemRecord,
    journal: Option<&mut Journal<'_>>,
) -> Result<(), String> {
    is_free(context, record)?;
    if let Some(journal) = journal {
        let dir_times = record.steps.iter().map(|step| context.dir_times(step.path())).collect();
        let undoing = Event::Undoing { item: record.item, dir_times };
        journal.write(&undoing).map_err(|error| error.to_string())?;
    }
    for (at, step) in record.steps.iter().enumerate().rev() {
        context.revert(step).map_err(|error| error.to_string())?;
        // What was never done whole may not have come to putting the directory's times back itself.
        let place = (record.item, at);
        let is_done = run.items.get(record.item).is_some_and(|(_, state)| *state == State::Done);
        let half_done = run.dir_times.get(&place).filter(|_| !is_done);
        if let Some(times) = half_done.or(run.undo_times.get(&place)) {
            context.restore_dir_times(step, *times).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// Returns whether anything shows that an item was begun, though the journal does not say so.
fn is_touched(context: &StepContext<'_>, record: &ItemRecord) -> bool {
    record.steps.iter().any(|step| !matches!(context.is_touched(step), Ok(false)))
}

/// Returns the name of the run that cannot be read.
fn name_of(problem: &Problem) -> &str {
    problem.path.file_stem().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Reports what is left alone because no one knows what it is, and where it is.
fn not_understood(problem: &Problem, state_dir: &StateDir) -> String {
    let trash = state_dir.trash_of(name_of(problem));
    let path = problem.path.display();
    let rest = if trash == problem.path { String::new() } else { format!("; {} is left as it is", trash.display()) };
    format!("cannot read {path}: {}{rest}", problem.reason)
}

/// Returns the sessions that processes hold; reads those of one agent at once.
#[derive(Default)]
struct InUse {
    known: HashMap<AgentKind, Known>,
}

/// The sessions of an agent.
#[derive(Default)]
struct Known {
    places: HashMap<String, Vec<Located>>,
    problems: Vec<Problem>,
}

impl Known {
    fn of(agent: &dyn Agent, env: &Env) -> Self {
        let mut known = Self::default();
        for store in agent.stores(env) {
            let found = agent.locate(&Arc::new(store));
            known.problems.extend(found.problems);
            for place in found.places {
                known.places.entry(place.id.clone()).or_default().push(place);
            }
        }
        known
    }

    /// Says what of a session, or around it, cannot be read.
    fn unreadable(&self, record: &ItemRecord, id: &str) -> Option<String> {
        let hides = |problem: &&Problem| {
            let is_around = |step: &StepRecord| step.path().starts_with(&problem.path);
            problem.path.to_string_lossy().contains(id) || record.steps.iter().any(is_around)
        };
        let problem = self.problems.iter().find(hides)?;
        Some(format!("{}: {}", problem.path.display(), problem.reason))
    }
}

impl InUse {
    /// Says why the session that an item is about should be left alone.
    fn why(&mut self, record: &ItemRecord, env: &Env) -> Option<Hindrance> {
        let (kind, id) = (record.agent?, record.id.as_ref()?);
        let agent = agent::by_kind(kind)?;
        let known = self.known.entry(kind).or_insert_with(|| Known::of(agent, env));
        let mut unreadable = known.unreadable(record, id);
        for place in known.places.get(id).into_iter().flatten() {
            match run::read_again(agent, place, env) {
                Ok(copy) => {
                    if let Some(why) = run::in_use(&copy) {
                        return Some(Hindrance { why, is_held: true });
                    }
                }
                Err(error) => unreadable = unreadable.or_else(|| Some(error.to_string())),
            }
        }
        let why = format!("cannot tell whether a process uses it: {}", unreadable?);
        Some(Hindrance { why, is_held: false })
    }
}

/// Puts back what runs that were cut off had half done, before a plan is made of what is there.
///
/// Returns a line for each such item. Where no run was cut off, nothing is locked and nothing written.
pub(crate) fn recover_first(env: &Env, verb: &str, patience: Duration) -> anyhow::Result<Vec<String>> {
    if History::unsettled(&System::default(), &env.state_dir())?.is_empty() {
        return Ok(Vec::new());
    }
    let mut in_use = InUse::default();
    recover_on(&StateDir::open(env, verb, patience)?, env.now, &mut |record| in_use.why(record, env))
}

/// Puts back what runs that were cut off had half done; what they had done whole stays, and can be undone.
///
/// A run that cannot be put back, or is not understood, keeps everything and is named.
pub(crate) fn recover_on(
    state_dir: &StateDir,
    now: Timestamp,
    look: &mut LookAgain<'_>,
) -> anyhow::Result<Vec<String>> {
    let (mut recovered, disk) = (Vec::new(), state_dir.disk());
    for path in History::unsettled(disk, state_dir.path())? {
        match Run::read(disk, (&state_dir.runs, path.file_name().unwrap_or_default()), &path) {
            Ok(Some(run)) => recovered.extend(recover_run(state_dir, &run, now, look)),
            // It was cut off before it said anything, so it did nothing.
            Ok(None) => {
                let problem = Problem { path, reason: "it is empty, but something lies in its trash".to_owned() };
                if !state_dir.forget(name_of(&problem)) {
                    recovered.push(not_understood(&problem, state_dir));
                }
            }
            Err(error) => {
                let problem = Problem { reason: error.reason(), path: error.path };
                recovered.push(not_understood(&problem, state_dir));
            }
        }
    }
    Ok(recovered)
}

fn recover_run(state_dir: &StateDir, run: &Run, now: Timestamp, look: &mut LookAgain<'_>) -> Vec<String> {
    let Run { id, verb, .. } = run;
    let recovered = if run.is_purged {
        crate::change::apply::trash::finish_purge(state_dir, id).map(|()| Vec::new())
    } else if run.has_ended {
        let stuck = run.items.iter().filter_map(|(record, state)| match state {
            State::Stuck(why) => Some((record, why.as_str())),
            State::Begun => Some((record, "it began, and nothing says how it ended")),
            _ => None,
        });
        Ok(stuck.map(|(record, why)| stuck_at(run, record, why)).collect())
    } else {
        put_back_cut_off(state_dir, run, now, look)
    };
    recovered
        .unwrap_or_else(|error| vec![format!("run {id} ({verb}) is stuck: {error}; `rejoin undo {id}` tries again")])
}

/// Says where a run is stuck.
fn stuck_at(Run { id, verb, .. }: &Run, record: &ItemRecord, why: &str) -> String {
    format!("run {id} ({verb}) is stuck at {}: {why}; `rejoin undo {id}` tries again", record.label)
}

fn put_back_cut_off(
    state_dir: &StateDir,
    run: &Run,
    now: Timestamp,
    look: &mut LookAgain<'_>,
) -> Result<Vec<String>, PathError> {
    let context = context(state_dir, run)?;
    let mut journal = Journal::reopen(state_dir, &run.id)?;
    let (mut recovered, mut stuck, mut is_waiting) = (Vec::new(), run.is_stuck(), false);
    for (record, state) in run.items.iter().rev() {
        if let State::Stuck(why) = state {
            recovered.push(stuck_at(run, record, why));
        }
        if !matches!(state, State::Begun | State::Planned) {
            continue;
        }
        if *state == State::Planned && !is_touched(&context, record) {
            continue;
        }
        let what = format!("run {} ({}) was interrupted at {}", run.id, run.verb, record.label);
        if let Some(Hindrance { why, .. }) = look(record).filter(|hindrance| hindrance.is_held) {
            is_waiting = true;
            recovered
                .push(format!("{what}, which is left as it is: {why}; `rejoin undo {}` puts it back later", run.id));
            continue;
        }
        match put_back(&context, run, record, None) {
            Ok(()) => {
                journal.write(&Event::Left { item: record.item, reason: "the run was interrupted".to_owned() })?;
                recovered.push(format!("{what}; that item was put back"));
            }
            Err(reason) => {
                stuck = true;
                let again = format!("`rejoin undo {}` tries again", run.id);
                recovered.push(format!("{what}, which could not be put back: {reason}; {again}"));
                journal.write(&Event::Stuck { item: record.item, reason })?;
            }
        }
    }
    if !is_waiting {
        journal.write(&Event::End { at: now, stuck })?;
    }
    journal.sync()?;
    if !stuck && !is_waiting {
        state_dir.remove_if_empty(&run.id);
    }
    Ok(recovered)
}
