//! What was undone, and the runs that can be.

use std::io::{self, Write};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::change::apply::history::History;
use crate::change::apply::journal::{ItemRecord, Run, State};
use crate::change::apply::undo::{Report, UndoResult};
use crate::format::command_line::in_home;
use crate::format::text;
use crate::session::AgentKind;
use crate::system::env::Env;
use crate::view::render::answer::Answer;
use crate::view::render::items::List;
use crate::view::ui::Styles;

/// Says how a run is undone.
pub(crate) fn hint(out: &mut impl Write, run: &str, env: &Env, styles: &Styles) -> io::Result<()> {
    let Styles { faint, .. } = styles;
    writeln!(out, "{faint}`{}` undoes this.{faint:#}", in_home(&format!("rejoin undo {run}"), &env.elsewhere()))
}

/// Says the same at the end of a line.
pub(crate) fn hint_in_line(run: Option<&str>, env: &Env) -> String {
    run.map(|run| format!(" `{}` undoes this.", in_home(&format!("rejoin undo {run}"), &env.elsewhere())))
        .unwrap_or_default()
}

/// The answer of `undo` and of `trash restore`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "UndoOutcome", deny_unknown_fields)]
pub(crate) struct UndoJson<'a> {
    /// What became of each item of the run.
    pub items: List<'a, UndoItemJson<'a>>,
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
    /// The agent that the session belongs to; `null` if it is about no session.
    pub agent: Option<AgentKind>,
    /// The session's full id; `null` if it is about no session.
    pub id: Option<&'a str>,
    /// The paths.
    pub paths: Vec<String>,
    /// `undone`, `already` undone, `not-done` (the run had left it alone, or it was not asked for) or `refused`.
    pub result: &'a str,
    /// Why it was refused; `null` when it was not.
    pub reason: Option<&'a str>,
}

fn item<'a>(record: &'a ItemRecord, undone: &'a UndoResult) -> UndoItemJson<'a> {
    let (result, reason) = match undone {
        UndoResult::Undone => ("undone", None),
        UndoResult::Already => ("already", None),
        UndoResult::NotDone => ("not-done", None),
        UndoResult::Refused(why) => ("refused", Some(why.as_str())),
    };
    UndoItemJson {
        item: record.item,
        agent: record.agent,
        id: record.id.as_deref(),
        paths: record.steps.iter().map(|step| step.path().to_string_lossy().into_owned()).collect(),
        result,
        reason,
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
        mended: &report.recovered,
        warnings: &report.warnings,
    }
}

impl Answer for Report {
    fn object(&self) -> (&'static str, impl Serialize) {
        let items = List::counted(self.items.len(), |at| item(&self.run.items[at].0, &self.items[at]));
        (if self.is_dry_run { "undo-plan" } else { "undo-outcome" }, UndoJson { items, summary: summary(self) })
    }

    /// Writes a line an item that is in the way, and what was put back.
    fn table(&self, out: &mut impl Write, _: &Env, styles: &Styles) -> io::Result<()> {
        items(out, styles, self, true)?;
        writeln!(out, "{}", sentence(self))
    }

    fn brief(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        if self.is_dry_run {
            return self.table(out, env, styles);
        }
        items(out, styles, self, false)?;
        writeln!(out, "rejoin undo: {}", sentence(self))
    }
}

/// Writes a line an item: of those that were refused, and with `all` of those that were put back.
fn items(out: &mut impl Write, styles: &Styles, report: &Report, all: bool) -> io::Result<()> {
    let Styles { warning, .. } = styles;
    for ((record, _), undone) in report.run.items.iter().zip(&report.items) {
        let label = text::one_line(&record.label);
        match undone {
            UndoResult::Undone if all => {
                writeln!(out, "{}  {label}", if report.is_dry_run { "would undo" } else { "undone" })?
            }
            UndoResult::Refused(why) => {
                writeln!(out, "{warning}refused{warning:#} {label}  {}", text::one_line(why))?;
            }
            UndoResult::Undone | UndoResult::Already | UndoResult::NotDone => {}
        }
    }
    Ok(())
}

/// Says what was put back, or would be.
fn sentence(report: &Report) -> String {
    let UndoSummary { run, verb, undone, refused, .. } = summary(report);
    let (run, verb) = (text::one_line(run), text::one_line(verb));
    let back = if report.is_dry_run { "would be put back" } else { "put back" };
    match (undone, refused) {
        (0, 0) => format!("Run {run} ({verb}) has nothing left to undo."),
        (_, 0) => format!("Run {run} ({verb}): {undone} {back}."),
        _ => format!("Run {run} ({verb}): {undone} {back}, {refused} refused."),
    }
}

/// The answer of `undo --list`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RunList", deny_unknown_fields)]
pub(crate) struct RunListJson<'a> {
    /// The runs, newest first.
    pub runs: List<'a, RunJson<'a>>,
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

/// The runs that are known.
pub(crate) struct Runs<'a> {
    /// The runs.
    pub history: &'a History,
    /// Whether one is going on now.
    pub is_busy: bool,
}

impl Runs<'_> {
    fn json(&self, at: usize) -> RunJson<'_> {
        // Only the newest can be the one that is going on now.
        run_json(&self.history.runs[at], self.is_busy && at == 0)
    }
}

impl Answer for Runs<'_> {
    const COUNTS_ITEMS: bool = true;

    fn object(&self) -> (&'static str, impl Serialize) {
        ("run-list", RunListJson { runs: List::counted(self.history.runs.len(), |at| self.json(at)) })
    }

    /// Writes a line a run.
    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let Styles { strong, faint, .. } = styles;
        for at in 0..self.history.runs.len() {
            let RunJson { run: id, verb, at, state, done, undone, left, stuck, .. } = self.json(at);
            let (id, verb) = (text::one_line(id), text::one_line(verb));
            let mut counts = vec![format!("{done} done")];
            let further = [(undone, "undone"), (left, "left alone"), (stuck, "half done")];
            counts
                .extend(further.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
            let when = text::ago(Some(at), env.now);
            writeln!(out, "{strong}{id}{strong:#}  {verb}  {state}  {}  {faint}{when}{faint:#}", counts.join(", "))?;
        }
        Ok(())
    }
}
