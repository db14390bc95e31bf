//! Undoes runs: whole ones on request, and interrupted ones before anything else is changed.

pub(super) mod in_use;
mod later;
mod put_back;
mod recover;

use std::time::Duration;

use jiff::Timestamp;

use crate::change::apply::history::History;
use crate::change::apply::journal::{Event, ItemRecord, Journal, Run, State};
use crate::change::apply::state_dir::{StateDir, order};
use crate::change::outcome::ItemResult;
use crate::error::{Refusal, RefusalCode};
use crate::format::command_line;
use crate::session::Problem;
use crate::system::env::Env;
use in_use::{InUse, LookAgain};
use later::Later;
use put_back::{context, is_free, is_touched, put_back};
use recover::recover_run;
pub(crate) use recover::{recover_first, recover_on};

/// Result of undoing a run.
#[derive(Debug)]
pub(crate) struct Report {
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
    /// Reason why a loss of power may still take the undo back.
    pub doubt: Option<String>,
}

/// Reason to refuse an item whose trash is gone.
const LOST: &str = "what it removed is no longer in the trash";

/// Undoes a run, or the items that `wanted` selects.
pub(crate) fn undo(
    which: &Which,
    wanted: impl Fn(&ItemRecord) -> bool,
    env: &Env,
    patience: Duration,
) -> anyhow::Result<Report> {
    let state_dir = StateDir::open(env, "undo", patience)?;
    let mut in_use = InUse::default();
    let mut report = undo_on(&state_dir, which, wanted, env.clock.now, &mut |record| in_use.why(record, env))?;
    report.items = report.items.into_iter().map(|item| in_home(item, env)).collect();
    Ok(report)
}

/// Makes the commands in a reason act on the home and host of this run.
fn in_home(item: ItemResult, env: &Env) -> ItemResult {
    match item {
        ItemResult::Refused(why) => {
            ItemResult::Refused(command_line::all_in_home(&why, &env.invocation.elsewhere).into_owned())
        }
        item => item,
    }
}

/// Returns the expected result of [`undo`] for each item, and changes nothing.
pub(crate) fn preview(
    which: &Which,
    wanted: impl Fn(&ItemRecord) -> bool,
    env: &Env,
    patience: Duration,
) -> anyhow::Result<Report> {
    let history = History::read(env)?;
    let run = find(&history, which)?.clone();
    let state_dir = StateDir::open(env, "undo", patience)?;
    let context = context(&state_dir, &run)?;
    let mut in_use = InUse::default();
    let later = Later::than(&run, &history);
    let items = run.items.iter().map(|(record, state)| match state {
        State::Undone | State::Left(_) => ItemResult::Unchanged,
        _ if !wanted(record) => ItemResult::Unchanged,
        State::Done if record.steps.iter().any(|step| context.has_lost(step)) => ItemResult::Refused(LOST.to_owned()),
        State::Planned if !is_touched(&context, record) => ItemResult::Unchanged,
        _ => {
            let hindrance = later.why(record).or_else(|| in_use.why(record, env).map(|hindrance| hindrance.why));
            match hindrance.map_or_else(|| is_free(&context, record), Err) {
                Ok(()) => ItemResult::Done,
                Err(why) => ItemResult::Refused(why),
            }
        }
    });
    let items = items.map(|item| in_home(item, env)).collect();
    drop(context);
    state_dir.remove_if_empty(&run.id);
    Ok(Report { run, items, recovered: Vec::new(), is_dry_run: true, warnings: Vec::new(), doubt: None })
}

/// Like [`undo`], under a lock that the caller holds, at the time `now`; `look` returns the reason to leave an item
/// alone.
pub(crate) fn undo_on(
    state_dir: &StateDir,
    which: &Which,
    wanted: impl Fn(&ItemRecord) -> bool,
    now: Timestamp,
    look: &mut LookAgain<'_>,
) -> anyhow::Result<Report> {
    let history = History::read_on(state_dir.disk(), state_dir.path(), now)?;
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
    let mut items = vec![ItemResult::Unchanged; run.items.len()];
    let later = Later::than(&run, &history);
    let mut doubt = None;
    // Later items are undone first, because one may block another.
    for (at, (record, state)) in run.items.iter().enumerate().rev() {
        items[at] = match state {
            State::Undone | State::Left(_) => ItemResult::Unchanged,
            _ if !wanted(record) => ItemResult::Unchanged,
            // An item that was restored without a record of it would look changed since the run.
            _ if let Some(why) = &doubt => ItemResult::Refused(format!("it was not tried: {why}")),
            State::Done if record.steps.iter().any(|step| context.has_lost(step)) => {
                ItemResult::Refused(LOST.to_owned())
            }
            State::Planned if !is_touched(&context, record) => ItemResult::Unchanged,
            _ => {
                let hindrance = later.why(record).or_else(|| look(record).map(|hindrance| hindrance.why));
                match hindrance.map_or_else(|| put_back(&context, &run, record, Some(&mut journal)), Err) {
                    Ok(()) => {
                        let written = journal.write(&Event::Undone { item: record.item, at: now });
                        doubt = written.err().map(|error| error.to_string());
                        ItemResult::Done
                    }
                    Err(why) => ItemResult::Refused(why),
                }
            }
        };
    }
    // An interrupted run stays so while one of its items is blocked.
    let is_whole = items.iter().all(|item| !matches!(item, ItemResult::Refused(_)));
    if doubt.is_none() && (run.has_ended || is_whole) {
        let is_left = |((_, state), now): (&(_, State), &ItemResult)| {
            matches!(state, State::Begun | State::Stuck(_)) && *now != ItemResult::Done
        };
        let stuck = run.items.iter().zip(&items).any(is_left);
        doubt = journal.write(&Event::End { at: now, stuck }).err().map(|error| error.to_string());
    }
    doubt = doubt.or_else(|| journal.sync().err().map(|error| error.to_string()));
    // A refused item may be restored but not synced; then its trash is still needed.
    if is_whole && doubt.is_none() {
        state_dir.remove_if_empty(&run.id);
    }
    let doubt = doubt.filter(|_| items.contains(&ItemResult::Done));
    Ok(Report { run, items, recovered, is_dry_run: false, warnings: Vec::new(), doubt })
}

/// The run to undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// The newest run that can still be undone.
    Newest,
    /// The run of this name.
    Named(String),
}

fn find<'a>(history: &'a History, which: &Which) -> Result<&'a Run, Refusal> {
    let unreadable = |problem: &Problem| {
        let message = format!("cannot read {}: {}", problem.path.display(), problem.reason);
        Refusal::new(RefusalCode::UnreadableRun, message).hint("`rejoin undo --list` shows the other runs")
    };
    match which {
        Which::Newest => {
            let newest = history.runs.iter().find(|run| run.is_undoable());
            // An unreadable run may be the newest.
            let is_later = |problem: &&Problem| newest.is_none_or(|run| order(name_of(problem)) > order(&run.id));
            if let Some(problem) = history.problems.iter().find(is_later) {
                return Err(unreadable(problem));
            }
            newest.ok_or_else(|| {
                Refusal::new(RefusalCode::NothingToUndo, "there is no run to undo")
                    .hint("run `rejoin undo --list` to see the runs")
            })
        }
        Which::Named(name) => {
            if let Some(problem) = history.problems.iter().find(|problem| name_of(problem) == name) {
                return Err(unreadable(problem));
            }
            let run = history.runs.iter().find(|run| run.id == *name).ok_or_else(|| {
                Refusal::new(RefusalCode::NoSuchRun, format!("there is no run {name}"))
                    .hint("run `rejoin undo --list` to see the runs")
            })?;
            if run.is_purged {
                let message = format!("what run {name} removed was purged from the trash");
                return Err(Refusal::new(RefusalCode::Purged, message));
            }
            Ok(run)
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
