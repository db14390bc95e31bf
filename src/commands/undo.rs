//! `rejoin undo`

use std::collections::BTreeSet;

use crate::change::apply::history::{self, Permanent};
use crate::change::apply::in_use::agent_of;
use crate::change::apply::state_dir::{self, is_busy};
use crate::change::apply::undo;
use crate::change::outcome::ItemResult;
use crate::cli::{ChangeArgs, FormatArgs, UndoArgs};
use crate::commands::find;
use crate::doctor::survey::sweeps;
use crate::error::{Exit, Refusal, RefusalCode};
use crate::format::{shell, text};
use crate::system::env::Env;
use crate::view::render::change::ChangeText;
use crate::view::render::confirm;
use crate::view::render::undo as render;
use crate::view::render::undo::Runs;
use crate::view::ui::Ui;
use changes::journal::ItemRecord;
use changes::trash::{self, Purge};
use changes::undo::{UndoReport, Which};

pub(crate) fn run(args: &UndoArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    if args.list {
        return list(args, env, ui);
    }
    if args.purge {
        return purge(args, env, ui);
    }
    let which = match &args.run {
        Some(run) => Which::Named(run.clone()),
        None => newest(args, env, ui)?,
    };
    let how = ChangeArgs { dry_run: args.dry_run, apply: None, detail: args.detail, lock: args.lock };
    let Some(session) = &args.session else { return carry_out(&which, |_| true, &how, args.format, env, ui) };
    // The undo itself reports a run that is missing or unreadable.
    let history = history::read(env)?;
    let run = history.runs.iter().find(|run| which == Which::Named(run.id.clone()) && !run.is_purged);
    let items = run.map(|run| find::items_of_run(run, session, env)).transpose()?.unwrap_or_default();
    carry_out(&which, |record| items.contains(&record.item), &how, args.format, env, ui)
}

/// Undoes the selected items of a run, or prints the plan of that with `--dry-run`.
pub(super) fn carry_out(
    which: &Which,
    requested: impl Fn(&ItemRecord) -> bool,
    how: &ChangeArgs,
    format: FormatArgs,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<Exit> {
    let mut report = undo::undo(which, requested, how.dry_run, env, how.lock.lock_timeout)?;
    if !how.dry_run {
        super::note_recovered(ui, &report.recovered);
        warn(&mut report, env, ui);
    }
    let overview = if how.dry_run { confirm::undo(&report.run, env) } else { Vec::new() };
    let (is_whole, hints) = (how.detail.all_items, way_out(&report, env).into_iter().collect());
    ui.answer(format, env, &ChangeText { overview: &overview, is_whole, hints, ..render::answer(&report) })?;
    Ok(exit(&report))
}

/// Suggests remedies for refused items: until they are undone, `undo` without a run selects this run again.
fn way_out(report: &UndoReport, env: &Env) -> Option<String> {
    let is_refused = |(_, result): &(_, &ItemResult)| matches!(result, ItemResult::Refused(_));
    let ((record, _), _) = report.run.items.iter().zip(&report.items).find(is_refused)?;
    let id = &report.run.id;
    // The report of the undo is printed even if this fails.
    let history = history::read(env).ok()?;
    let older = history.runs.iter().skip_while(|run| run.id != *id).skip(1).find(|run| run.is_undoable());
    let older = older.map(|run| format!(" `rejoin undo {}` undoes the run before it, {}.", run.id, run.verb));
    let again = match (report.run.verb.as_str(), agent_of(record), record.id.as_deref()) {
        // A session that continues never has the old file again.
        ("rename", Some(agent), Some(session)) => {
            let title = record.title.as_deref().filter(|title| !title.ends_with('…')).unwrap_or("TITLE");
            let (name, title) = (shell::selector(agent, session), shell::word(title));
            format!("`rejoin rename {name} {title}` gives it the old title.")
        }
        _ => format!("When the reason is gone, `rejoin undo {id}` undoes the rest."),
    };
    Some(again + &older.unwrap_or_default())
}

/// Names the newest run that can be undone, and asks for confirmation at a terminal.
fn newest(args: &UndoArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Which> {
    let history = history::read(env)?;
    let Some(run) = history.runs.iter().find(|run| run.is_undoable()) else { return Ok(Which::Newest) };
    // Undoing an older change in place of the newest one would surprise the user.
    if let Some(newer) = Permanent::after(&run.id, env)? {
        let message = format!("the newest change, {} --permanent, cannot be undone", newer.verb);
        let hint = format!("to undo the one before, {}, run `rejoin undo {}`", run.verb, run.id);
        return Err(Refusal::new(RefusalCode::Purged, message).hint(hint).into());
    }
    if !args.yes && !args.dry_run && env.terminal.can_ask() {
        super::confirm_or_refuse(&confirm::undo(run, env), "Undo this run?", env, ui)?;
    }
    Ok(Which::Named(run.id.clone()))
}

/// Warns about an undo that may not be on the disk, and about restored sessions that their agent would delete at once.
fn warn(report: &mut UndoReport, env: &Env, ui: &mut Ui) {
    let records = report.run.items.iter().zip(&report.items).filter(|(_, undone)| **undone == ItemResult::Done);
    // Undoing a tag only restores a file of rejoin.
    let state_dir = env.state_dir();
    let is_in_store = |record: &&ItemRecord| record.steps.iter().any(|step| !step.path().starts_with(&state_dir));
    let records = records.map(|((record, _), _)| record).filter(is_in_store);
    let restored: BTreeSet<_> = records.filter_map(|record| agent_of(record).zip(record.id.clone())).collect();
    let doubt = report.doubt.as_ref().map(|why| {
        format!("a loss of power may still take this back: {why}; `rejoin undo {}` tries again", report.run.id)
    });
    report.warnings = doubt.into_iter().chain(sweeps::lines_per_store(&restored, env)).collect();
    report.warnings.iter().for_each(|warning| ui.warn(warning));
}

/// Returns the exit status of an undo.
fn exit(report: &UndoReport) -> Exit {
    let count = |is: fn(&ItemResult) -> bool| report.items.iter().filter(|item| is(item)).count();
    // A failed item may be done in part.
    let done = count(|item| matches!(item, ItemResult::Done | ItemResult::Failed(_)));
    match (count(|item| item.why().is_some()), done) {
        (0, _) if report.doubt.is_none() => Exit::Ok,
        (1.., 0) => Exit::Refused,
        _ => Exit::Partial,
    }
}

fn list(args: &UndoArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let history = super::history(env, ui)?;
    if history.runs.is_empty() && args.format.is_table() {
        ui.print_note("There is no run that can be undone.");
    }
    // A run that is still in progress was not interrupted.
    ui.answer(args.format, env, &Runs { history: &history, is_busy: is_busy(env) })?;
    Ok(Exit::Ok)
}

/// Deletes permanently the entries that runs moved to the trash.
fn purge(args: &UndoArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let which = match args.older_than {
        Some(when) => Purge::Before(env.clock.before(when)),
        None if args.every => Purge::All,
        None => Purge::Runs(args.run.iter().cloned().collect()),
    };
    let history = super::history(env, ui)?;
    if let Purge::Runs(names) = &which
        && let Some(unknown) = names.iter().find(|name| !history.has_run(name))
    {
        return Err(Refusal::new(RefusalCode::NoSuchRun, format!("there is no run {unknown}"))
            .hint("run `rejoin undo --list` to see the runs")
            .into());
    }
    let doomed: Vec<_> = history.runs.iter().filter(|run| which.means(run)).collect();
    let purged = if args.dry_run {
        trash::preview(&history, &which)
    } else {
        if !doomed.is_empty() && !args.yes {
            let about: Vec<String> = doomed.iter().flat_map(|run| confirm::undo(run, env)).collect();
            let runs = text::count(doomed.len(), "run");
            let question = format!("Delete permanently what {runs} removed or replaced, so that no undo is possible?");
            super::confirm_or_refuse(&about, &question, env, ui)?;
        }
        trash::purge(&state_dir::open(env, "undo --purge", args.lock.lock_timeout)?, env.clock.now, &which)?
    };
    ui.answer(args.format, env, &render::purge(&purged))?;
    Ok(if purged.failed.is_empty() { Exit::Ok } else { Exit::Partial })
}
