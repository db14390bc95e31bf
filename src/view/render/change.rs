//! A change of files, before it is made and after.

use std::io::{self, Write};

use serde::Serialize;

use crate::change::apply::run::ItemResult;
use crate::change::plan::change::{Item, Step};
use crate::doctor::check::Finding;
use crate::format::text;
use crate::system::env::Env;
use crate::view::render::json::change::{ChangeJson, ChangeSummary, FixJson, Report, UnplannedJson};
use crate::view::render::json::doctor::FindingJson;
use crate::view::render::json::{FORMAT_VERSION, HeaderJson};
use crate::view::render::write_line;
use crate::view::ui::Styles;

/// Writes a line an item with its paths below, and a summary.
pub(crate) fn text(out: &mut impl Write, env: &Env, styles: &Styles, report: &Report<'_>) -> io::Result<()> {
    for (item, done) in report.items() {
        item_text(out, env, styles, item, done)?;
    }
    summary_text(out, styles, report)
}

fn item_text(
    out: &mut impl Write,
    env: &Env,
    styles: &Styles,
    item: &Item,
    done: Option<&ItemResult>,
) -> io::Result<()> {
    let Styles { warning, faint, .. } = styles;
    let label = item.about.to_string();
    let label = text::one_line(&label);
    match done {
        Some(ItemResult::Skipped(why)) => {
            return writeln!(out, "{warning}skipped{warning:#}  {label}  {}", text::one_line(why));
        }
        Some(ItemResult::Failed(why)) => {
            return writeln!(out, "{warning}failed{warning:#}  {label}  {}", text::one_line(why));
        }
        _ => {}
    }
    let (code, reason) = (item.code, text::one_line(&item.reason));
    writeln!(out, "{}  {label}  {faint}({code}: {reason}){faint:#}", verb(item, done.is_some()))?;
    for step in &item.steps {
        let path = text::one_line(&env.tilde(step.path())).into_owned();
        let what = match step {
            Step::Trash { stamp, .. } => format!("to the trash, {}", text::size(stamp.size)),
            Step::Write { stamp: None, .. } => "new".to_owned(),
            Step::Write { .. } => "written anew, the old one kept in the trash".to_owned(),
            Step::MakeDir { .. } => "made".to_owned(),
            Step::Put { .. } => "put back".to_owned(),
        };
        writeln!(out, "      {faint}{path}  ({what}){faint:#}")?;
    }
    Ok(())
}

/// Names what is done with an item as a whole.
fn verb(item: &Item, is_done: bool) -> &'static str {
    let has = |is: fn(&Step) -> bool| item.steps.iter().any(is);
    let (writes, trashes) =
        (has(|step| matches!(step, Step::Write { .. })), has(|step| matches!(step, Step::Trash { .. })));
    match (writes, trashes, is_done) {
        (true, true, false) => "would fold",
        (true, true, true) => "folded",
        (true, false, false) => "would write",
        (true, false, true) => "wrote",
        (false, true, false) => "would remove",
        (false, true, true) => "removed",
        (false, false, false) => "would restore",
        (false, false, true) => "restored",
    }
}

fn summary_text(out: &mut impl Write, styles: &Styles, report: &Report<'_>) -> io::Result<()> {
    let faint = styles.faint;
    let ChangeSummary { fingerprint, planned, done, skipped, failed, freed_bytes, run } = report.summary();
    if report.outcome.is_none() {
        if planned == 0 {
            return writeln!(out, "Nothing to do.");
        }
        writeln!(out, "{planned} to do{}. Nothing was changed.", freed(report, freed_bytes))?;
        return writeln!(out, "{faint}--apply {fingerprint} does just this.{faint:#}");
    }
    if planned == 0 {
        return writeln!(out, "Nothing to do.");
    }
    let mut summary = format!("{done} done{}", freed(report, freed_bytes));
    let further = [(skipped, "skipped"), (failed, "failed")];
    for (count, what) in further.iter().filter(|(count, _)| *count > 0) {
        summary.push_str(&format!(", {count} {what}"));
    }
    writeln!(out, "{summary}.")?;
    if let Some(run) = run {
        writeln!(out, "{faint}`rejoin undo {run}` takes it back.{faint:#}")?;
    }
    Ok(())
}

/// Says how much goes where; what only writes has nothing to say.
fn freed(report: &Report<'_>, bytes: u64) -> String {
    if !report.change.items.iter().flat_map(|item| &item.steps).any(|step| matches!(step, Step::Trash { .. })) {
        return String::new();
    }
    let whereto = if report.is_permanent { "deleted for good" } else { "to the trash" };
    format!(", {} {whereto}", text::size(bytes))
}

fn kind(report: &Report<'_>) -> &'static str {
    if report.outcome.is_some() { "change-outcome" } else { "change-plan" }
}

/// Writes one object.
pub(crate) fn json(out: &mut impl Write, report: &Report<'_>) -> io::Result<()> {
    let answer = ChangeJson {
        format_version: FORMAT_VERSION,
        kind: kind(report),
        verb: report.change.verb,
        items: report.items_json().collect(),
        summary: report.summary(),
    };
    write_line(out, &answer)
}

/// One line of an ndjson answer that is not an item.
#[derive(Serialize)]
struct SummaryLine<T> {
    kind: &'static str,
    #[serde(flatten)]
    rest: T,
}

/// Writes a header, a line an item, and a summary.
pub(crate) fn ndjson(out: &mut impl Write, report: &Report<'_>) -> io::Result<()> {
    write_line(out, &HeaderJson { format_version: FORMAT_VERSION, kind: kind(report) })?;
    report.items_json().try_for_each(|item| write_line(out, &item))?;
    write_line(out, &SummaryLine { kind: "summary", rest: report.summary() })
}

/// What `doctor --fix` has to say beyond the change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fix<'a> {
    /// The change.
    pub report: Report<'a>,
    /// What could not be planned, each with the reason.
    pub unplanned: &'a [(String, String)],
    /// What needs a decision.
    pub undecided: &'a [Finding],
}

/// Writes the change, and what needs a decision.
pub(crate) fn fix_text(out: &mut impl Write, env: &Env, styles: &Styles, fix: &Fix<'_>) -> io::Result<()> {
    let Styles { strong, warning, .. } = styles;
    for (item, done) in fix.report.items() {
        item_text(out, env, styles, item, done)?;
    }
    for (about, why) in fix.unplanned {
        writeln!(out, "{warning}left{warning:#}  {}  {}", text::one_line(about), text::one_line(why))?;
    }
    if !fix.undecided.is_empty() {
        writeln!(out, "These need a decision:")?;
    }
    for finding in fix.undecided {
        writeln!(out, "  {}  {}", finding.code.name(), text::one_line(&finding.evidence))?;
        writeln!(out, "      {strong}{}{strong:#}", text::one_line(&finding.remedy))?;
    }
    summary_text(out, styles, &fix.report)
}

fn fix_kind(fix: &Fix<'_>) -> &'static str {
    if fix.report.outcome.is_some() { "doctor-fix-outcome" } else { "doctor-fix-plan" }
}

fn unplanned<'a>(fix: &Fix<'a>) -> Vec<UnplannedJson<'a>> {
    fix.unplanned.iter().map(|(about, reason)| UnplannedJson { about, reason }).collect()
}

/// Writes one object.
pub(crate) fn fix_json(out: &mut impl Write, fix: &Fix<'_>) -> io::Result<()> {
    let answer = FixJson {
        format_version: FORMAT_VERSION,
        kind: fix_kind(fix),
        items: fix.report.items_json().collect(),
        unplanned: unplanned(fix),
        undecided: fix.undecided.iter().map(FindingJson::from).collect(),
        summary: fix.report.summary(),
    };
    write_line(out, &answer)
}

/// Writes a header, a line an item, and a summary with the rest.
pub(crate) fn fix_ndjson(out: &mut impl Write, fix: &Fix<'_>) -> io::Result<()> {
    #[derive(Serialize)]
    struct Rest<'a> {
        unplanned: Vec<UnplannedJson<'a>>,
        undecided: Vec<FindingJson<'a>>,
        #[serde(flatten)]
        summary: ChangeSummary<'a>,
    }
    write_line(out, &HeaderJson { format_version: FORMAT_VERSION, kind: fix_kind(fix) })?;
    fix.report.items_json().try_for_each(|item| write_line(out, &item))?;
    let undecided = fix.undecided.iter().map(FindingJson::from).collect();
    let rest = Rest { unplanned: unplanned(fix), undecided, summary: fix.report.summary() };
    write_line(out, &SummaryLine { kind: "summary", rest })
}
