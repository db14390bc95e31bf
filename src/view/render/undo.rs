//! The result of an undo and of a purge, and the runs that can be undone.

use std::io::{self, Write};

use jiff::Timestamp;
use serde::Serialize;

use crate::change::apply::in_use::agent_of;
use crate::change::outcome::ItemResult;
use crate::format::text;
use crate::system::env::Env;
use crate::view::grid::{self, Column, Fit};
use crate::view::render::answer::Answer;
use crate::view::render::change::not_done;
use crate::view::render::items::List;
use crate::view::render::json::change::{ChangeJson, ItemJson, StepJson, Totals, kind};
use crate::view::render::json::details::{Details, ItemDetails, PurgeItem, UndoDetails};
use crate::view::ui::Styles;
use changes::history::History;
use changes::journal::{ItemRecord, Run, State};
use changes::trash::Purged;
use changes::undo::Report;

fn item<'a>(record: &'a ItemRecord, result: &'a ItemResult, is_plan: bool) -> ItemJson<'a> {
    ItemJson {
        reason: Some(&record.reason),
        steps: record.steps.iter().map(|step| StepJson::new(step.into(), step.path())).collect(),
        ..ItemJson::new(agent_of(record).zip(record.id.as_deref()), &record.code, result, is_plan)
    }
}

impl Answer for Report {
    fn object(&self) -> (&'static str, impl Serialize) {
        let item = |at: usize| item(&self.run.items[at].0, &self.items[at], self.is_dry_run);
        let items = List::counted(self.items.len(), item);
        let run = &self.run;
        let details = UndoDetails { run: &run.id, verb: &run.verb, at: run.at, mended: &self.recovered };
        let document = ChangeJson {
            warnings: self.warnings.clone(),
            details: Some(Details::Undo(details)),
            ..ChangeJson::new("undo", self.is_dry_run, items, &self.items)
        };
        (kind(self.is_dry_run), document)
    }

    /// Writes one line per refused item, and the number of restored ones.
    fn table(&self, out: &mut impl Write, _: &Env, styles: &Styles) -> io::Result<()> {
        items(out, styles, self, true)?;
        writeln!(out, "{}", sentence(self))
    }

    fn brief(&self, out: &mut impl Write, _: &Env, styles: &Styles) -> io::Result<()> {
        items(out, styles, self, false)?;
        writeln!(out, "rejoin undo: {}", sentence(self))
    }
}

/// Writes one line per item that was refused and, with `all`, per item that was restored.
fn items(out: &mut impl Write, styles: &Styles, report: &Report, all: bool) -> io::Result<()> {
    for ((record, _), result) in report.run.items.iter().zip(&report.items) {
        if !not_done(out, styles, &record.label, result)? && all && *result == ItemResult::Done {
            let verb = if report.is_dry_run { "would undo" } else { "undone" };
            writeln!(out, "{verb}  {}", text::one_line(&record.named()))?;
        }
    }
    Ok(())
}

/// Summarizes the restored items, or those that would be restored.
fn sentence(report: &Report) -> String {
    let Totals { done, refused, failed, .. } = Totals::of(&report.items, false);
    let (run, verb) = (text::one_line(&report.run.id), text::one_line(&report.run.verb));
    let back = if report.is_dry_run { "would be put back" } else { "put back" };
    if (done, refused, failed) == (0, 0, 0) {
        return format!("Run {run} ({verb}) has nothing left to undo.");
    }
    let others = [(failed, "undone in part"), (refused, "refused")].into_iter().filter(|(count, _)| *count > 0);
    let others: String = others.map(|(count, what)| format!(", {count} {what}")).collect();
    format!("Run {run} ({verb}): {done} {back}{others}.")
}

/// The answer of `undo --list`.
#[derive(Serialize)]
pub(crate) struct RunListJson<'a> {
    /// The runs, newest first.
    pub runs: List<'a, RunJson<'a>>,
}

/// One run.
#[derive(Debug, Serialize)]
pub(crate) struct RunJson<'a> {
    /// Its name.
    pub run: &'a str,
    /// The verb that made it.
    pub verb: &'a str,
    /// When it began.
    pub at: Timestamp,
    /// `running`, `interrupted`, `done`, `undone`, or `purged`.
    pub state: &'a str,
    /// Number of items that are done.
    pub done: usize,
    /// Number of items that were undone.
    pub undone: usize,
    /// Number of items that were left alone or failed.
    pub left: usize,
    /// Number of items that are done in part and could not be restored.
    pub stuck: usize,
    /// True if a part of it can be undone.
    pub undoable: bool,
}

/// Converts a run to the JSON contract.
fn run_json(run: &Run, is_busy: bool) -> RunJson<'_> {
    let (done, undone) = (run.count(|state| *state == State::Done), run.count(|state| *state == State::Undone));
    RunJson {
        run: &run.id,
        verb: &run.verb,
        at: run.at,
        state: if run.is_purged {
            "purged"
        } else if !run.has_ended && is_busy {
            "running"
        } else if !run.has_ended {
            "interrupted"
        } else if done == 0 && undone > 0 {
            "undone"
        } else {
            "done"
        },
        done,
        undone,
        left: run.count(|state| matches!(state, State::Left(_) | State::Planned)),
        stuck: run.count(|state| matches!(state, State::Stuck(_) | State::Begun)),
        undoable: run.is_undoable(),
    }
}

/// The known runs.
pub(crate) struct Runs<'a> {
    /// The runs.
    pub history: &'a History,
    /// Set if a run is in progress.
    pub is_busy: bool,
}

impl Runs<'_> {
    fn json(&self, at: usize) -> RunJson<'_> {
        // Only the newest run can be in progress.
        run_json(&self.history.runs[at], self.is_busy && at == 0)
    }
}

impl Answer for Runs<'_> {
    const COUNTS_ITEMS: bool = true;

    fn object(&self) -> (&'static str, impl Serialize) {
        ("run-list", RunListJson { runs: List::counted(self.history.runs.len(), |at| self.json(at)) })
    }

    fn is_list(&self) -> bool {
        true
    }

    /// Writes one line per run.
    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let runs: Vec<RunJson<'_>> = (0..self.history.runs.len()).map(|at| self.json(at)).collect();
        let counts = |run: &RunJson<'_>| {
            let further = [(run.undone, "undone"), (run.left, "left alone"), (run.stuck, "half done")];
            let further =
                further.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!(", {count} {what}"));
            format!("{} done{}", run.done, further.collect::<String>())
        };
        let columns = vec![
            Column::new("", Fit::Whole, runs.iter().map(|run| text::one_line(run.run))).styled(styles.strong),
            Column::new("", Fit::Whole, runs.iter().map(|run| text::one_line(run.verb))),
            Column::new("", Fit::Whole, runs.iter().map(|run| run.state)),
            Column::new("", Fit::Whole, runs.iter().map(counts)),
            Column::new("", Fit::Whole, runs.iter().map(|run| text::ago(Some(run.at), env.clock.now)))
                .styled(styles.faint),
        ];
        grid::write_bare(out, columns)
    }
}

impl Answer for Purged {
    fn object(&self) -> (&'static str, impl Serialize) {
        let is_plan = self.is_dry_run;
        let item = move |at: usize| ItemJson {
            details: Some(ItemDetails::Purge(PurgeItem { run: &self.runs[at] })),
            ..ItemJson::new(None, "purge", &ItemResult::Done, is_plan)
        };
        let results = self.runs.iter().map(|_| &ItemResult::Done);
        let document = ChangeJson::new("undo --purge", is_plan, List::counted(self.runs.len(), item), results);
        let totals = Totals { freed_bytes: self.freed_bytes, ..document.totals };
        (kind(is_plan), ChangeJson { totals, warnings: self.failed.clone(), ..document })
    }

    /// Writes the deleted runs.
    fn table(&self, out: &mut impl Write, _: &Env, styles: &Styles) -> io::Result<()> {
        let Styles { warning, .. } = styles;
        for failed in &self.failed {
            writeln!(out, "{warning}failed{warning:#}  {}", text::one_line(failed))?;
        }
        if self.runs.is_empty() {
            return writeln!(out, "Nothing to purge.");
        }
        let runs = text::count(self.runs.len(), "run");
        if self.is_dry_run {
            return writeln!(out, "This would purge what {runs} removed: {} freed.", text::size(self.freed_bytes));
        }
        writeln!(out, "Purged what {runs} removed: {} freed.", text::size(self.freed_bytes))
    }

    fn brief(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        if self.runs.is_empty() && self.failed.is_empty() { Ok(()) } else { self.table(out, env, styles) }
    }
}
