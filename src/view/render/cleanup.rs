//! The plan or the outcome of a cleanup: removed sessions, remaining ones, and the reasons.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;

use crate::change::outcome::ItemResult;
use crate::change::plan::change::{Step, Unplanned};
use crate::change::plan::retention::Keep;
use crate::change::removal::{CWD_RECORD, DEBRIS, is_session};
use crate::error::RefusalCode;
use crate::format::path_json::PathJson;
use crate::format::text;
use crate::session::AgentKind;
use crate::system::env::Env;
use crate::view::render::answer::Answer;
use crate::view::render::change::{apply_hint, end_text, handed_text, not_done, not_planned, undo_in_line};
use crate::view::render::json::change::{ChangeJson, Report as ChangeReport};
use crate::view::render::json::details::{CleanupDetails, Details, KeptJson, LeftToAgent};
use crate::view::render::write_lines;
use crate::view::ui::Styles;
use changes::trash::Purged;

/// The sessions that were archived before their removal.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Archived {
    /// Number of sessions that are completely in the archive, including sub-agents with separate files.
    pub sessions: usize,
    /// Growth of the archive in bytes.
    pub stored_bytes: u64,
}

/// The answer of a cleanup.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    /// The change, and its outcome.
    pub change: ChangeReport<'a>,
    /// The archive into which sessions are copied before they are removed.
    pub archive: Option<&'a Path>,
    /// The archived sessions.
    pub archived: Archived,
    /// Number of sessions that stay, by reason.
    pub kept: &'a BTreeMap<Keep, usize>,
    /// Sessions that only their agent can remove.
    pub its_agents: &'a [LeftToAgent],
    /// Sessions whose removal could not be planned.
    pub unplanned: &'a [Unplanned],
    /// The reason for which it would be refused.
    pub refused: Option<RefusalCode>,
    /// Sessions that were last active before this time are removed.
    pub cutoff: Option<Timestamp>,
    /// The trash that was purged, or would be.
    pub purged: &'a Purged,
    /// Set if another run was active, so that nothing was checked.
    pub is_locked: bool,
}

impl<'a> Report<'a> {
    /// Counts the sessions that are or would be removed, and those among them that rejoin removes itself.
    fn sessions(&self) -> (usize, usize) {
        let goes = |done: Option<&ItemResult>| done.is_none_or(|done| *done == ItemResult::Done);
        let own = self.change.items().filter(|(item, done)| is_session(item.code) && goes(*done)).count();
        (own + self.change.handed().filter(|(_, done)| goes(*done)).count(), own)
    }

    /// Counts the records of directories that were removed.
    fn records(&self) -> usize {
        let done = |done: Option<&ItemResult>| done == Some(&ItemResult::Done);
        self.change.items().filter(|(item, result)| item.code == CWD_RECORD && done(*result)).count()
    }

    /// Counts the files without a session that are or would be removed.
    fn debris(&self) -> usize {
        let goes = |done: Option<&ItemResult>| done.is_none_or(|done| *done == ItemResult::Done);
        self.change.items().filter(|(item, done)| item.code == DEBRIS && goes(*done)).count()
    }

    /// Counts the sub-agents that are removed with their sessions.
    fn subagents(&self) -> usize {
        self.change.change.items.iter().map(|item| item.subagents).sum()
    }

    /// Returns the failed items, and those that could not be planned or purged, each with the reason.
    fn errors(&self) -> Vec<(String, &'a str)> {
        let items = self.change.items().map(|(item, done)| (&item.about, done));
        let results = items.chain(self.change.handed().map(|(one, done)| (&one.about, done)));
        let failures = results.filter_map(|(about, done)| match done {
            Some(ItemResult::Failed(why)) => Some((about.to_string(), why.as_str())),
            _ => None,
        });
        let unplanned = self.unplanned.iter().map(|one| (one.about.clone(), one.reason.as_str()));
        let unpurged = self.purged.failed.iter().map(|why| ("trash".to_owned(), why.as_str()));
        failures.chain(unplanned).chain(unpurged).collect()
    }

    fn details(&self) -> CleanupDetails<'a> {
        let kept = self.kept.iter().map(|(keep, sessions)| KeptJson { reason: keep.name(), sessions: *sessions });
        CleanupDetails {
            cutoff: self.cutoff,
            subagents: self.subagents(),
            permanent: self.change.is_permanent,
            archive: self.archive.map(PathJson::from),
            archived: self.archived.sessions,
            archived_bytes: self.archived.stored_bytes,
            left_to_agent: self.its_agents,
            kept: kept.collect(),
            purged_runs: &self.purged.runs,
            purged_bytes: self.purged.freed_bytes,
            refused: self.refused.map(RefusalCode::name),
            locked: self.is_locked,
        }
    }
}

impl Answer for Report<'_> {
    fn object(&self) -> (&'static str, impl Serialize) {
        let (kind, mut document) = self.change.document(Some(Details::Cleanup(Box::new(self.details()))));
        document.warnings.extend(self.purged.failed.iter().map(|why| format!("trash: {why}")));
        (kind, ChangeJson { not_planned: self.unplanned.to_vec(), ..document })
    }

    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        if self.is_locked { Ok(()) } else { text(out, env, styles, self) }
    }

    /// Writes one line for a run that no one is watching, if something happened.
    fn brief(&self, out: &mut impl Write, env: &Env, _: &Styles) -> io::Result<()> {
        let Some(sentence) = sentence(self).filter(|_| !self.is_locked) else { return Ok(()) };
        writeln!(out, "rejoin cleanup: {sentence}{}", undo_in_line(self.change.run(), None, env))
    }
}

/// Writes the line of one session.
fn item(out: &mut impl Write, styles: &Styles, report: &Report<'_>, at: usize) -> io::Result<()> {
    let faint = styles.faint;
    let (item, done) = report.change.item(at);
    let label = item.about.to_string();
    if done.map_or(Ok(false), |done| not_done(out, styles, &label, done))? {
        return Ok(());
    }
    let verb = if done.is_some() { "removed" } else { "would remove" };
    let (label, size) = (text::one_line(&label), text::size(item.steps.iter().map(Step::freed_bytes).sum()));
    let title = item.title.as_deref().map(text::one_line).unwrap_or_default();
    let (code, reason) = (item.code, text::one_line(&item.reason));
    writeln!(out, "{verb}  {label}  {size}  {title}  {faint}({code}: {reason}){faint:#}")
}

/// Writes one line per session, the sessions that stay with the reasons, and a summary.
fn text(out: &mut impl Write, env: &Env, styles: &Styles, report: &Report<'_>) -> io::Result<()> {
    let faint = styles.faint;
    write_lines(out, report.change.change.items.len(), |at, line| item(line, styles, report, at))?;
    report.change.handed().try_for_each(|(one, done)| handed_text(out, styles, one, done))?;
    not_planned(out, styles, report.unplanned)?;
    let kept: Vec<String> = report.kept.iter().map(|(keep, count)| format!("{count} {}", keep.words())).collect();
    if !kept.is_empty() {
        writeln!(out, "{faint}Kept: {}.{faint:#}", kept.join(", "))?;
    }
    if let Some(outcome) = report.change.outcome {
        match sentence(report) {
            Some(sentence) => writeln!(out, "{sentence}")?,
            None => writeln!(out, "Nothing to do.")?,
        }
        return end_text(out, env, styles, outcome, None);
    }
    let purge = report.purged.runs.len();
    if purge > 0 {
        writeln!(out, "The trash of {} would be purged.", text::count(purge, "run"))?;
    }
    let handed = report.change.change.handed.len();
    if report.change.change.is_empty() {
        return if purge == 0 { writeln!(out, "Nothing to do.") } else { Ok(()) };
    }
    let whereto = if report.change.is_permanent { "deleted for good" } else { "to the trash" };
    let size = text::size(report.change.totals().freed_bytes);
    let first = if report.archive.is_some() { ", archived first" } else { "" };
    let (sessions, _) = report.sessions();
    let goes = what_goes(report);
    let how = match handed {
        0 => format!("{size} {whereto}{first}"),
        _ if handed == sessions => "all by their agents, archived first".to_owned(),
        _ => format!("{handed} by their agents, archived first, and of the others {size} {whereto}{first}"),
    };
    writeln!(out, "{goes} would be removed, {how}. Nothing was changed.")?;
    if report.refused.is_none() {
        apply_hint(out, env, styles, report.change.change)?;
    }
    Ok(())
}

fn what_goes(report: &Report<'_>) -> String {
    let (sessions, _) = report.sessions();
    let with = match report.subagents() {
        0 => String::new(),
        subagents => format!(" with {}", text::count(subagents, "sub-agent")),
    };
    format!("{}{with}{}", text::count(sessions, "session"), and_debris(report))
}

fn and_debris(report: &Report<'_>) -> String {
    match report.debris() {
        0 => String::new(),
        files => format!(" and {} without a session", text::count(files, "file")),
    }
}

/// Summarizes the outcome in one sentence; `None` if nothing was done, skipped or failed.
fn sentence(report: &Report<'_>) -> Option<String> {
    let mut parts = Vec::new();
    let (sessions, own) = report.sessions();
    let (records, totals) = (report.records(), report.change.totals());
    if own > 0 || records > 0 || report.debris() > 0 {
        let whereto = if report.change.is_permanent { "deleted for good" } else { "moved to the trash" };
        let debris = and_debris(report);
        parts.push(format!("{}{debris} {whereto}, {}", text::count(own, "session"), text::size(totals.freed_bytes)));
    }
    if sessions > own {
        let agents = if sessions - own == 1 { "its agent" } else { "their agents" };
        parts.push(format!("{} removed by {agents}", text::count(sessions - own, "session")));
    }
    let Archived { sessions: archived, stored_bytes } = report.archived;
    if archived > 0 {
        parts.push(format!("{archived} archived, {} new", text::size(stored_bytes)));
    }
    if records > 0 {
        parts.push(format!("{} of directories removed", text::count(records, "record")));
    }
    if !report.purged.runs.is_empty() {
        let runs = text::count(report.purged.runs.len(), "run");
        parts.push(format!("the trash of {runs} purged, {} freed", text::size(report.purged.freed_bytes)));
    }
    if totals.skipped > 0 {
        parts.push(format!("{} skipped", totals.skipped));
    }
    let errors = report.errors();
    if let Some((about, reason)) = errors.first() {
        let reason = text::one_line(reason);
        parts.push(format!("{} failed ({}: {reason})", errors.len(), text::one_line(about)));
    }
    (!parts.is_empty()).then(|| format!("{}.", parts.join("; ")))
}

/// Names the sessions that only their agent can remove, one line per database.
pub(crate) fn left_to_agents(left: &[LeftToAgent], env: &Env) -> Vec<String> {
    let mut by_database: BTreeMap<(AgentKind, &Path), (usize, &LeftToAgent)> = BTreeMap::new();
    for one in left {
        by_database.entry((one.agent, &one.database)).or_insert((0, one)).0 += 1;
    }
    let line = |((agent, database), (sessions, one)): ((AgentKind, &Path), (usize, &LeftToAgent))| {
        let (count, database) = (text::count(sessions, "session"), env.tilde(database));
        let start = format!("{count} of {agent} in {} would be removed too, but", text::one_line(&database));
        if one.removes_unasked {
            format!("{start} only {agent} can do that: --via-agent archives each and has {agent} remove it.")
        } else {
            format!("{start} {}", one.reason)
        }
    };
    by_database.into_iter().map(line).collect()
}
