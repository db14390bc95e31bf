//! What was undone, and the runs that can be.

use std::io::{self, Write};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::change::apply::journal::{ItemRecord, Run, State};
use crate::change::apply::state_dir::History;
use crate::change::apply::undo::{Report, UndoResult};
use crate::format::text;
use crate::session::AgentKind;
use crate::system::env::Env;
use crate::view::render::json::{FORMAT_VERSION, HeaderJson};
use crate::view::render::write_line;
use crate::view::ui::Styles;

/// The answer of `undo` and of `trash restore`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "UndoOutcome", deny_unknown_fields)]
pub(crate) struct UndoJson<'a> {
    /// The version of the contract.
    pub format_version: &'a str,
    /// `undo-outcome`.
    pub kind: &'a str,
    /// What became of each item of the run.
    pub items: Vec<UndoItemJson<'a>>,
    #[serde(flatten)]
    pub summary: UndoSummary<'a>,
}

/// The rest of the answer of `undo`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct UndoSummary<'a> {
    /// The run.
    pub run: &'a str,
    /// The verb that made it.
    pub verb: &'a str,
    /// When it began.
    pub at: Timestamp,
    /// How many items were put back.
    pub undone: usize,
    /// How many could not be.
    pub refused: usize,
    /// What was found half done from other runs and put back, a line each.
    pub mended: &'a [String],
    /// What to know of it, such as that an agent would delete a session again; a line each.
    pub warnings: &'a [String],
}

/// What became of one item of a run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "UndoItem", deny_unknown_fields)]
pub(crate) struct UndoItemJson<'a> {
    /// Its number in the run.
    pub item: usize,
    /// Whose session it is about; `null` when it is about none.
    pub agent: Option<AgentKind>,
    /// The session's full id; `null` when it is about none.
    pub id: Option<&'a str>,
    /// The paths.
    pub paths: Vec<String>,
    /// `undone`, `already` undone, `not-done` (the run had left it alone, or it was not asked for) or `refused`.
    pub result: &'a str,
    /// Why it was refused; `null` when it was not.
    pub reason: Option<&'a str>,
}

/// One line of an ndjson answer that is not an item.
#[derive(Serialize)]
struct SummaryLine<T> {
    kind: &'static str,
    #[serde(flatten)]
    rest: T,
}

fn item<'a>(record: &'a ItemRecord, undone: &'a UndoResult) -> UndoItemJson<'a> {
    UndoItemJson {
        item: record.item,
        agent: record.agent,
        id: record.id.as_deref(),
        paths: record.steps.iter().map(|step| step.path().to_string_lossy().into_owned()).collect(),
        result: match undone {
            UndoResult::Undone => "undone",
            UndoResult::Already => "already",
            UndoResult::NotDone => "not-done",
            UndoResult::Refused(_) => "refused",
        },
        reason: match undone {
            UndoResult::Refused(why) => Some(why),
            _ => None,
        },
    }
}

fn summary(report: &Report) -> UndoSummary<'_> {
    let count = |is: fn(&UndoResult) -> bool| report.items.iter().filter(|item| is(item)).count();
    UndoSummary {
        run: &report.run.id,
        verb: &report.run.verb,
        at: report.run.at,
        undone: count(|item| *item == UndoResult::Undone),
        refused: count(|item| matches!(item, UndoResult::Refused(_))),
        mended: &report.mended,
        warnings: &report.warnings,
    }
}

fn items(report: &Report) -> impl Iterator<Item = UndoItemJson<'_>> {
    report.run.items.iter().zip(&report.items).map(|((record, _), undone)| item(record, undone))
}

/// Writes a line an item that is in the way, and what was put back.
pub(crate) fn text(out: &mut impl Write, styles: &Styles, report: &Report) -> io::Result<()> {
    let Styles { warning, .. } = styles;
    for ((record, _), undone) in report.run.items.iter().zip(&report.items) {
        let label = text::one_line(&record.label);
        match undone {
            UndoResult::Undone => writeln!(out, "undone  {label}")?,
            UndoResult::Refused(why) => writeln!(out, "{warning}refused{warning:#} {label}  {}", text::one_line(why))?,
            UndoResult::Already | UndoResult::NotDone => {}
        }
    }
    let UndoSummary { run, verb, undone, refused, .. } = summary(report);
    match (undone, refused) {
        (0, 0) => writeln!(out, "Nothing of run {run} ({verb}) is left to be undone."),
        (_, 0) => writeln!(out, "Run {run} ({verb}): {undone} put back."),
        _ => writeln!(out, "Run {run} ({verb}): {undone} put back, {refused} refused."),
    }
}

/// Writes one object.
pub(crate) fn json(out: &mut impl Write, report: &Report) -> io::Result<()> {
    let answer = UndoJson {
        format_version: FORMAT_VERSION,
        kind: "undo-outcome",
        items: items(report).collect(),
        summary: summary(report),
    };
    write_line(out, &answer)
}

/// Writes a header, a line an item, and a summary.
pub(crate) fn ndjson(out: &mut impl Write, report: &Report) -> io::Result<()> {
    write_line(out, &HeaderJson { format_version: FORMAT_VERSION, kind: "undo-outcome" })?;
    items(report).try_for_each(|item| write_line(out, &item))?;
    write_line(out, &SummaryLine { kind: "summary", rest: summary(report) })
}

/// The answer of `undo --list`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunList", deny_unknown_fields)]
pub(crate) struct RunListJson<'a> {
    /// The version of the contract.
    pub format_version: &'a str,
    /// `run-list`.
    pub kind: &'a str,
    /// The runs, newest first.
    pub runs: Vec<RunJson<'a>>,
}

/// One run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Run", deny_unknown_fields)]
pub(crate) struct RunJson<'a> {
    /// Its name.
    pub run: &'a str,
    /// The verb that made it.
    pub verb: &'a str,
    /// When it began.
    pub at: Timestamp,
    /// `running`, `interrupted`, `done`, `undone`, or `purged`.
    pub state: &'a str,
    /// How many items are done.
    pub done: usize,
    /// How many items were put back.
    pub undone: usize,
    /// How many items were left alone or failed.
    pub left: usize,
    /// How many items are done in part and could not be put back.
    pub stuck: usize,
    /// Whether something of it can be undone.
    pub undoable: bool,
}

/// Puts a run into the contract's form.
pub(crate) fn run_json(run: &Run, is_busy: bool) -> RunJson<'_> {
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

fn runs(history: &History, is_busy: bool) -> impl Iterator<Item = RunJson<'_>> {
    // Only the newest can be the one that is going on now.
    history.runs.iter().enumerate().map(move |(at, run)| run_json(run, is_busy && at == 0))
}

/// Writes a line a run.
pub(crate) fn runs_text(
    out: &mut impl Write,
    env: &Env,
    styles: &Styles,
    history: &History,
    is_busy: bool,
) -> io::Result<()> {
    let Styles { strong, faint, .. } = styles;
    for run in runs(history, is_busy) {
        let RunJson { run: id, verb, at, state, done, undone, left, stuck, .. } = run;
        let mut counts = vec![format!("{done} done")];
        let further = [(undone, "undone"), (left, "left alone"), (stuck, "half done")];
        counts.extend(further.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
        let when = text::ago(Some(at), env.now);
        writeln!(out, "{strong}{id}{strong:#}  {verb}  {state}  {}  {faint}{when}{faint:#}", counts.join(", "))?;
    }
    Ok(())
}

/// Writes one object.
pub(crate) fn runs_json(out: &mut impl Write, history: &History, is_busy: bool) -> io::Result<()> {
    let runs = runs(history, is_busy).collect();
    write_line(out, &RunListJson { format_version: FORMAT_VERSION, kind: "run-list", runs })
}

/// Writes a header, a line a run, and a summary.
pub(crate) fn runs_ndjson(out: &mut impl Write, history: &History, is_busy: bool) -> io::Result<()> {
    #[derive(Serialize)]
    struct Count {
        runs: usize,
    }
    write_line(out, &HeaderJson { format_version: FORMAT_VERSION, kind: "run-list" })?;
    runs(history, is_busy).try_for_each(|run| write_line(out, &run))?;
    write_line(out, &SummaryLine { kind: "summary", rest: Count { runs: history.runs.len() } })
}
