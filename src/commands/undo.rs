//! `rejoin undo`

use std::collections::BTreeSet;

use crate::change::apply::state_dir::{History, is_busy};
use crate::change::apply::undo;
use crate::change::apply::undo::{UndoResult, Which};
use crate::cli::{Format, UndoArgs};
use crate::doctor::survey::sweeps;
use crate::error::Exit;
use crate::system::env::Env;
use crate::view::render::undo as render;
use crate::view::ui::Ui;

pub(crate) fn run(args: &UndoArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    if args.list {
        return list(args, env, ui);
    }
    let which = args.run.clone().map_or(Which::Newest, Which::Named);
    let mut report = undo::undo(&which, |_| true, env, args.lock.lock_timeout)?;
    super::note_recovered(ui, &report.mended);
    warn_of_sweeps(&mut report, env, ui);
    print(args.format.get(), &report, ui)?;
    Ok(exit(&report))
}

/// Says which of the sessions that were put back their agent would delete at once.
pub(super) fn warn_of_sweeps(report: &mut undo::Report, env: &Env, ui: &mut Ui) {
    let records = report.run.items.iter().zip(&report.items).filter(|(_, undone)| **undone == UndoResult::Undone);
    let restored: BTreeSet<_> = records.filter_map(|((record, _), _)| record.agent.zip(record.id.clone())).collect();
    report.warnings = sweeps::of(&restored, env);
    report.warnings.iter().for_each(|warning| ui.warn(warning));
}

/// Prints what an undo did.
pub(super) fn print(format: Format, report: &undo::Report, ui: &mut Ui) -> anyhow::Result<()> {
    let styles = ui.styles;
    match format {
        Format::Table => render::text(ui.data(), &styles, report)?,
        Format::Json => render::json(ui.data(), report)?,
        Format::Ndjson => render::ndjson(ui.data(), report)?,
    }
    Ok(ui.flush()?)
}

/// Tells how an undo went.
pub(super) fn exit(report: &undo::Report) -> Exit {
    let count = |is: fn(&UndoResult) -> bool| report.items.iter().filter(|item| is(item)).count();
    match (count(|item| matches!(item, UndoResult::Refused(_))), count(|item| *item == UndoResult::Undone)) {
        (0, _) => Exit::Ok,
        (_, 0) => Exit::Refused,
        _ => Exit::Partial,
    }
}

fn list(args: &UndoArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let history = History::read(env);
    for problem in &history.problems {
        ui.warn(&format!("cannot read {}: {}", problem.path.display(), problem.reason));
    }
    // The run that is going on now has not been cut off.
    let is_busy = is_busy(env);
    let styles = ui.styles;
    match args.format.get() {
        Format::Table if history.runs.is_empty() => ui.note("No run has changed anything yet."),
        Format::Table => render::runs_text(ui.data(), env, &styles, &history, is_busy)?,
        Format::Json => render::runs_json(ui.data(), &history, is_busy)?,
        Format::Ndjson => render::runs_ndjson(ui.data(), &history, is_busy)?,
    }
    ui.flush()?;
    Ok(Exit::Ok)
}
