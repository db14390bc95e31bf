//! A change of files, before it is made and after.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::agent;
use crate::change::outcome::{ItemResult, Outcome};
use crate::change::plan::change::{Change, Contents, Handed, Item, Step, Unplanned};
use crate::doctor::check::Finding;
use crate::format::command_line::{self, in_home};
use crate::format::text;
use crate::system::env::Env;
use crate::view::render::answer::Answer;
use crate::view::render::doctor::{self, Detail, FEW};
use crate::view::render::json::change::{ChangeJson, Report, Totals};
use crate::view::render::json::details::{Details, FixDetails, RestoreDetails};
use crate::view::render::json::doctor::FindingJson;
use crate::view::ui::Styles;

impl Answer for Report<'_> {
    fn object(&self) -> (&'static str, impl Serialize) {
        self.document(self.followed.map(|followed| Details::Restore(RestoreDetails { followed })))
    }

    /// Writes one line per item with its paths below, and a summary.
    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        self.items().try_for_each(|(item, done)| item_text(out, env, styles, item, done, self.change.verb))?;
        self.handed().try_for_each(|(one, done)| handed_text(out, styles, one, done))?;
        summary_text(out, env, styles, self)
    }

    fn brief(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        self.in_brief(out, env, styles)
    }
}

impl Report<'_> {
    /// Writes the items that were not done, and one line about the others.
    fn in_brief(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        self.undone_text(out, env, styles)?;
        if self.change.is_empty() {
            return Ok(());
        }
        let verb = self.change.verb;
        writeln!(out, "rejoin {verb}: {}{}", self.sentence(), undo_in_line(self.run(), self.followed, env))
    }

    /// Writes the items that were not done.
    pub(super) fn undone_text(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let is_left = |done: Option<&ItemResult>| done.is_none_or(|done| *done != ItemResult::Done);
        let mut left = self.items().filter(|(_, done)| is_left(*done));
        left.try_for_each(|(item, done)| item_text(out, env, styles, item, done, self.change.verb))?;
        let mut left = self.handed().filter(|(_, done)| is_left(*done));
        left.try_for_each(|(one, done)| handed_text(out, styles, one, done))
    }

    /// Summarizes the outcome in one sentence.
    fn sentence(&self) -> String {
        let Totals { done, skipped, failed, freed_bytes, .. } = self.totals();
        let word = if self.change.verb == "doctor --fix" { "repaired" } else { "done" };
        let mut sentence = format!("{done} {word}{}", freed(self, freed_bytes));
        let further = [(skipped, "skipped"), (failed, "failed")];
        for (count, what) in further.iter().filter(|(count, _)| *count > 0) {
            sentence.push_str(&format!(", {count} {what}"));
        }
        sentence + "."
    }

    /// Summarizes the plan in a few lines.
    pub(crate) fn lines(&self, env: &Env) -> Vec<String> {
        /// Maximum items that are named, and maximum paths of each.
        const ITEMS: usize = 10;
        const PATHS: usize = 2;
        let mut lines = Vec::new();
        for item in self.change.items.iter().take(ITEMS) {
            lines.push(format!("{}  {}  ({})", verb(item, false, self.change.verb), item.about, item.code));
            lines.extend(item.steps.iter().take(PATHS).map(|step| format!("      {}", env.tilde(step.path()))));
        }
        if self.change.items.len() > ITEMS {
            lines.push(format!("and {} more", self.change.items.len() - ITEMS));
        }
        let items = text::count(self.change.items.len(), "repair");
        lines.push(format!("{items}, and nothing is lost by any; `rejoin undo` takes them back."));
        lines
    }
}

/// Writes the line of an item that was not done; returns whether it wrote one.
pub(crate) fn not_done(out: &mut impl Write, styles: &Styles, label: &str, result: &ItemResult) -> io::Result<bool> {
    let (warning, word) = (styles.warning, <&str>::from(result));
    let Some(why) = result.why() else { return Ok(false) };
    writeln!(out, "{warning}{word}{warning:#}  {}  {}", text::one_line(label), text::one_line(why))?;
    Ok(true)
}

/// Writes the items that could not be planned.
pub(crate) fn not_planned(out: &mut impl Write, styles: &Styles, left: &[Unplanned]) -> io::Result<()> {
    let warning = styles.warning;
    left.iter().try_for_each(|Unplanned { about, reason }| {
        writeln!(out, "{warning}left{warning:#}  {}  {}", text::one_line(about), text::one_line(reason))
    })
}

/// Writes one item of a change, with its paths below.
pub(crate) fn item_text(
    out: &mut impl Write,
    env: &Env,
    styles: &Styles,
    item: &Item,
    done: Option<&ItemResult>,
    of: &str,
) -> io::Result<()> {
    let faint = styles.faint;
    let label = item.about.to_string();
    if done.map_or(Ok(false), |done| not_done(out, styles, &label, done))? {
        return Ok(());
    }
    let label = text::one_line(&label);
    let (code, reason) = (item.code, text::one_line(&item.reason));
    writeln!(out, "{}  {label}  {faint}({code}: {reason}){faint:#}", verb(item, done.is_some(), of))?;
    steps_text(out, env, styles, item)
}

/// Writes the paths of an item, each with its step.
pub(crate) fn steps_text(out: &mut impl Write, env: &Env, styles: &Styles, item: &Item) -> io::Result<()> {
    let faint = styles.faint;
    let edited = item.steps.iter().filter_map(|step| match step {
        Step::Write { stamp: None, contents: Contents::Edited { from, .. }, .. } => Some(from.as_path()),
        _ => None,
    });
    // The line of an edited copy at a new path names the old path, so that one needs no line.
    let shown: Vec<&Path> = edited.collect();
    for step in item.steps.iter().filter(|step| !shown.contains(&step.path())) {
        let path = text::one_line(&env.tilde(step.path())).into_owned();
        let what = match step {
            Step::Trash { stamp, .. } => format!("to the trash, {}", text::size(stamp.size)),
            Step::Write { stamp: None, contents: Contents::Edited { from, .. }, .. } => {
                format!("from {}, with the new directory", text::one_line(&env.tilde(from)))
            }
            Step::Write { stamp: None, .. } => "new".to_owned(),
            Step::Write { .. } => "replaced, the old version goes to the trash".to_owned(),
            Step::MakeDir { .. } => "new directory".to_owned(),
            Step::Put { .. } => "restored".to_owned(),
            Step::Move { from, .. } => format!("from {}", text::one_line(&env.tilde(from))),
        };
        writeln!(out, "      {faint}{path}  ({what}){faint:#}")?;
    }
    Ok(())
}

/// Writes the line of a session that its agent removes.
pub(crate) fn handed_text(
    out: &mut impl Write,
    styles: &Styles,
    one: &Handed,
    done: Option<&ItemResult>,
) -> io::Result<()> {
    let faint = styles.faint;
    let label = one.about.to_string();
    if done.map_or(Ok(false), |done| not_done(out, styles, &label, done))? {
        return Ok(());
    }
    let label = text::one_line(&label);
    let program = one.command.first().map_or("", String::as_str);
    let verb = match done {
        Some(_) => format!("removed by {program}"),
        None => format!("would have {program} remove"),
    };
    let title = one.title.as_deref().map(text::one_line).unwrap_or_default();
    let size = text::size(one.size_bytes);
    let store = one.seen.first().map(|seen| &seen.place.store);
    let command = store.map_or_else(String::new, |store| agent::typed(&one.command, store));
    let how = format!("archived first, then `{}`", text::one_line(&command));
    writeln!(out, "{verb}  {label}  {size}  {title}  {faint}({}: {how}){faint:#}", one.code)
}

/// Returns the verb for an item as a whole.
fn verb(item: &Item, is_done: bool, of: &str) -> &'static str {
    if of == "rename" {
        return if is_done { "renamed" } else { "would rename" };
    }
    if of == "move" && item.about.session().is_some() {
        return if is_done { "moved" } else { "would move" };
    }
    if of == "rewind" {
        return if is_done { "made" } else { "would make" };
    }
    if of == "tag" {
        return if is_done { "tagged" } else { "would tag" };
    }
    if of == "move" {
        return if is_done { "prepared" } else { "would prepare" };
    }
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

fn summary_text(out: &mut impl Write, env: &Env, styles: &Styles, report: &Report<'_>) -> io::Result<()> {
    if report.change.is_empty() {
        return writeln!(out, "Nothing to do.");
    }
    let Some(outcome) = report.outcome else {
        let Totals { planned, freed_bytes, .. } = report.totals();
        writeln!(out, "{planned} to do{}. Nothing was changed.", freed(report, freed_bytes))?;
        // Nothing would be applied.
        return if planned == 0 { Ok(()) } else { apply_hint(out, env, styles, report.change) };
    };
    writeln!(out, "{}", report.sentence())?;
    end_text(out, env, styles, outcome, report.followed)
}

/// Writes the command that carries out exactly this plan.
pub(super) fn apply_hint(out: &mut impl Write, env: &Env, styles: &Styles, change: &Change) -> io::Result<()> {
    let (faint, command) = (styles.faint, command_line::apply(env, &change.fingerprint()));
    writeln!(out, "{faint}`{command}` does exactly this.{faint:#}")
}

/// Writes whether an outcome may be lost, and the command that undoes it.
pub(super) fn end_text(
    out: &mut impl Write,
    env: &Env,
    styles: &Styles,
    outcome: &Outcome,
    followed: Option<&str>,
) -> io::Result<()> {
    if let Some(doubt) = &outcome.doubt {
        writeln!(out, "A loss of power may still take this back: {}.", text::one_line(doubt))?;
    }
    undo_hint(out, outcome.run.as_deref(), followed, env, styles)
}

/// Describes the freed bytes; empty for a change that removes nothing.
fn freed(report: &Report<'_>, bytes: u64) -> String {
    if !report.change.items.iter().flat_map(|item| &item.steps).any(|step| matches!(step, Step::Trash { .. })) {
        return String::new();
    }
    let whereto = if report.is_permanent { "deleted for good" } else { "to the trash" };
    format!(", {} {whereto}", text::size(bytes))
}

/// The answer of `doctor --fix`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fix<'a> {
    /// The change.
    pub report: Report<'a>,
    /// Repairs that could not be planned, each with the reason.
    pub unplanned: &'a [Unplanned],
    /// Findings that need a decision.
    pub undecided: &'a [Finding],
}

impl Fix<'_> {
    /// Writes the items that were not done, and the first items of each code that were.
    fn in_groups(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let (faint, verb) = (styles.faint, self.report.change.verb);
        let mut done: BTreeMap<&str, Vec<&Item>> = BTreeMap::new();
        for (item, result) in self.report.items() {
            match result {
                Some(ItemResult::Done) => done.entry(item.code).or_default().push(item),
                result => item_text(out, env, styles, item, result, verb)?,
            }
        }
        for (code, items) in done {
            for item in items.iter().take(FEW) {
                item_text(out, env, styles, item, Some(&ItemResult::Done), verb)?;
            }
            if items.len() > FEW {
                writeln!(out, "{faint}      and {} more of {code}{faint:#}", items.len() - FEW)?;
            }
        }
        Ok(())
    }
}

impl Answer for Fix<'_> {
    fn object(&self) -> (&'static str, impl Serialize) {
        let undecided = self.undecided.iter().map(FindingJson::from).collect();
        let (kind, document) = self.report.document(Some(Details::Fix(FixDetails { undecided })));
        (kind, ChangeJson { not_planned: self.unplanned.to_vec(), ..document })
    }

    /// Writes the change, and the findings that need a decision. Once they are done, many items of one kind are shown
    /// as a few examples and a count.
    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let verb = self.report.change.verb;
        if self.report.outcome.is_none() {
            self.report.items().try_for_each(|(item, done)| item_text(out, env, styles, item, done, verb))?;
        } else {
            self.in_groups(out, env, styles)?;
        }
        not_planned(out, styles, self.unplanned)?;
        summary_text(out, env, styles, &self.report)?;
        if self.undecided.is_empty() {
            return Ok(());
        }
        writeln!(out, "\nThese need a decision:\n")?;
        doctor::groups(out, env, styles, self.undecided, Detail::Letter)
    }

    fn brief(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        not_planned(out, styles, self.unplanned)?;
        self.report.in_brief(out, env, styles)
    }
}

/// Writes the commands that undo a run and the one that followed it; nothing without a run.
pub(crate) fn undo_hint(
    out: &mut impl Write,
    run: Option<&str>,
    followed: Option<&str>,
    env: &Env,
    styles: &Styles,
) -> io::Result<()> {
    let Styles { faint, .. } = styles;
    undo_sentence(run, followed, env).map_or(Ok(()), |sentence| writeln!(out, "{faint}{sentence}{faint:#}"))
}

/// Returns the sentence after a blank, or nothing without a run.
pub(crate) fn undo_in_line(run: Option<&str>, followed: Option<&str>, env: &Env) -> String {
    undo_sentence(run, followed, env).map(|sentence| format!(" {sentence}")).unwrap_or_default()
}

/// Names the later run first, because a run is only undone after those that changed its files.
fn undo_sentence(run: Option<&str>, followed: Option<&str>, env: &Env) -> Option<String> {
    let command = |run: &str| in_home(&format!("rejoin undo {run}"), &env.invocation.elsewhere).into_owned();
    match (run, followed) {
        (Some(run), Some(later)) => Some(format!("`{}` and then `{}` undo this.", command(later), command(run))),
        (None, Some(run)) | (Some(run), None) => Some(format!("`{}` undoes this.", command(run))),
        (None, None) => None,
    }
}
