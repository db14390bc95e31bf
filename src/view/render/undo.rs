//! The result of an undo and of a purge, and the runs that can be undone.

use std::io::{self, Write};

use jiff::Timestamp;
use serde::Serialize;

use crate::change::apply::in_use::agent_of;
use crate::change::outcome::ItemResult;
use crate::change::plan::change::Unplanned;
use crate::format::text;
use crate::system::env::Env;
use crate::view::grid::{self, Column, Fit};
use crate::view::render::answer::Answer;
use crate::view::render::change::{ChangeSummary, ChangeText, ReportWords};
use crate::view::render::items::ItemList;
use crate::view::render::json::change::{ChangeJson, ItemJson, ShownItem, StepJson, Totals, typed};
use crate::view::render::json::details::{CommandMembers, ItemDetails, PurgeItem, UndoDetails};
use crate::view::ui::Styles;
use changes::history::History;
use changes::journal::{ItemRecord, ItemState, Run};
use changes::trash::Purged;
use changes::undo::UndoReport;

fn item<'a>(run: &'a Run, at: usize, result: &'a ItemResult, is_plan: bool) -> ItemJson<'a> {
    let record: &ItemRecord = &run.items[at].0;
    ItemJson {
        reason: Some(&record.reason),
        steps: record.steps.iter().map(|step| StepJson::new(step.into(), step.path())).collect(),
        shown: ShownItem {
            word: Some(words(&run.verb).word(is_plan)),
            about: Some(record.label.as_str().into()),
            // A session that was renamed has its old title again.
            title: typed(&record.code, &record.reason)
                .filter(|_| record.code != "title")
                .or(record.title.as_deref())
                .map(Into::into),
            note: Some(String::new()),
            ..ShownItem::default()
        },
        ..ItemJson::new(agent_of(record).zip(record.id.as_deref()), &record.code, result, is_plan)
    }
}

/// Returns the answer of `undo`; the caller adds its overview and hints.
pub(crate) fn answer(report: &UndoReport) -> ChangeText<'_> {
    ChangeText { summary: summary(report), ..ChangeText::new(document(report), report.is_dry_run) }
}

fn document(report: &UndoReport) -> ChangeJson<'_> {
    let UndoReport { run, items: results, recovered, is_dry_run, warnings, .. } = report;
    let items = ItemList::counted(results.len(), |at| item(run, at, &results[at], *is_dry_run));
    let details = UndoDetails { run: &run.id, verb: &run.verb, at: run.at, mended: recovered };
    ChangeJson {
        warnings: warnings.clone(),
        details: Some(CommandMembers::Undo(details)),
        ..ChangeJson::new("undo", *is_dry_run, items, results)
    }
}

/// Returns the verbs for undoing a run: if the run removed items, they are restored.
fn words(verb: &str) -> ReportWords {
    ReportWords::for_verb(if ["cleanup", "delete"].contains(&verb) { "restore" } else { "undo" })
}

/// Summarizes the restored items, or those that would be restored.
fn summary(report: &UndoReport) -> ChangeSummary {
    let Totals { done, refused, failed, .. } = Totals::from_results(&report.items, false);
    let (run, verb) = (&report.run.id, &report.run.verb);
    if (done, refused, failed) == (0, 0, 0) {
        let parts = vec!["has nothing left to undo".to_owned()];
        return ChangeSummary { subject: format!("Run {run} ({verb})"), parts, ..ChangeSummary::default() };
    }
    let would = if report.is_dry_run { "would be " } else { "" };
    let parts = vec![format!("{would}{}", words(verb).did)];
    let mut summary =
        ChangeSummary { subject: format!("Run {run} ({verb}): {done}"), parts, ..ChangeSummary::default() };
    summary.add(failed, "undone in part");
    summary.add(refused, "refused");
    summary
}

/// The answer of `undo --list`.
#[derive(Serialize)]
pub(crate) struct RunListJson<'a> {
    /// The runs, newest first.
    pub runs: ItemList<'a, RunJson<'a>>,
}

/// One run.
#[derive(Debug, Serialize)]
pub(crate) struct RunJson<'a> {
    /// Its name.
    pub run: &'a str,
    /// The verb that made it.
    pub verb: &'a str,
    /// The time of its start.
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
    /// Set if `undo` can still restore something.
    pub undoable: bool,
}

/// Converts a run to the JSON contract.
fn run_json(run: &Run, is_busy: bool) -> RunJson<'_> {
    let (done, undone) = (run.count(|state| *state == ItemState::Done), run.count(|state| *state == ItemState::Undone));
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
        left: run.count(|state| matches!(state, ItemState::Left(_) | ItemState::Planned)),
        stuck: run.count(|state| matches!(state, ItemState::Stuck(_) | ItemState::Begun)),
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
        ("run-list", RunListJson { runs: ItemList::counted(self.history.runs.len(), |at| self.json(at)) })
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

/// Returns the answer of `undo --purge`.
pub(crate) fn purge(purged: &Purged) -> ChangeText<'_> {
    let is_plan = purged.is_dry_run;
    let item = move |at: usize| ItemJson {
        details: Some(ItemDetails::Purge(PurgeItem { run: &purged.runs[at] })),
        ..ItemJson::new(None, "purge", &ItemResult::Done, is_plan)
    };
    let results = purged.runs.iter().map(|_| &ItemResult::Done);
    let document = ChangeJson::new("undo --purge", is_plan, ItemList::counted(purged.runs.len(), item), results);
    let totals = Totals { freed_bytes: purged.freed_bytes, ..document.totals };
    let document = ChangeJson { totals, warnings: purged.failed.clone(), ..document };
    let mut summary = ChangeSummary::default();
    if !purged.runs.is_empty() {
        let would = if is_plan { "would be " } else { "" };
        summary.subject = format!("The trash of {}", text::count(purged.runs.len(), "run"));
        summary.parts.push(format!("{would}deleted permanently, {} freed", text::size(purged.freed_bytes)));
    }
    let left = purged.failed.iter().map(|why| Unplanned { about: "trash".to_owned(), reason: why.clone() });
    let left = left.collect();
    ChangeText { summary, left, has_hidden_items: true, is_whole: true, ..ChangeText::new(document, is_plan) }
}
