//! What a cleanup removed or would remove, what it left, and why.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::change::apply::run::ItemResult;
use crate::change::apply::trash::Purged;
use crate::change::plan::change::{Step, Unplanned};
use crate::change::plan::retention::Keep;
use crate::change::removal::CWD_RECORD;
use crate::error::Refusal;
use crate::format::{command_line, text};
use crate::session::AgentKind;
use crate::system::env::Env;
use crate::view::render::answer::Answer;
use crate::view::render::change::handed_text;
use crate::view::render::items::List;
use crate::view::render::json::PathJson;
use crate::view::render::json::change::{ChangeItemJson, HandedJson, Report as ChangeReport};
use crate::view::render::undo;
use crate::view::render::write_lines;
use crate::view::ui::Styles;

/// A session that only its agent can remove.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct LeftToAgent {
    /// The agent that it belongs to.
    pub agent: AgentKind,
    /// The full id.
    pub id: Box<str>,
    /// When it was last active.
    pub active_at: Option<Timestamp>,
    /// Why, with the command that removes it.
    pub reason: Arc<str>,
    /// The database.
    #[serde(skip)]
    pub database: Arc<Path>,
    /// Whether its agent removes it when it is told to.
    #[serde(skip)]
    pub removes_unasked: bool,
}

/// What became of the sessions that were archived before they went.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Archived {
    /// How many are in the archive as they were, sub-agents with files of their own among them.
    pub sessions: usize,
    /// The bytes that the archive grew by.
    pub stored_bytes: u64,
}

/// What a cleanup has to say.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    /// The change, and what came of it.
    pub change: ChangeReport<'a>,
    /// What people call each session that goes, in the order of the items.
    pub titles: &'a [Option<Box<str>>],
    /// How many sub-agents go with their sessions.
    pub subagents: usize,
    /// The archive that what goes is put into first.
    pub archive: Option<&'a Path>,
    /// What was put there.
    pub archived: Archived,
    /// How many sessions stay, by reason.
    pub kept: &'a BTreeMap<Keep, usize>,
    /// What only its agent can remove.
    pub its_agents: &'a [LeftToAgent],
    /// What could not be planned.
    pub unplanned: &'a [Unplanned],
    /// Why it would be refused.
    pub refused: Option<Refusal>,
    /// What was last active before this time goes.
    pub cutoff: Option<Timestamp>,
    /// What was purged from the trash, or would be.
    pub purged: &'a Purged,
    /// Whether another run was active, so that nothing was checked.
    pub is_locked: bool,
}

/// The answer of `cleanup`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Cleanup", deny_unknown_fields)]
pub(crate) struct CleanupJson<'a> {
    /// Every session that goes, and every record of a directory that no session needs any more.
    pub items: List<'a, ChangeItemJson<'a>>,
    /// The sessions that their agents remove, with `--via-agent`.
    pub handed: Vec<HandedJson<'a>>,
    /// Sessions that would go, but only their agent can remove them.
    pub left_to_agent: &'a [LeftToAgent],
    #[serde(flatten)]
    pub summary: CleanupSummary<'a>,
}

/// The rest of the answer of `cleanup`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CleanupSummary<'a> {
    /// What was last active before this time goes; `null` when age does not matter.
    pub cutoff: Option<Timestamp>,
    /// A digest of the plan, for `--apply`.
    pub fingerprint: String,
    /// How many sessions are planned to go.
    pub planned: usize,
    /// How many sub-agents go with them.
    pub subagents: usize,
    /// The archive that what goes is put into before it goes; `null` without `--archive`.
    pub archive: Option<PathJson<'a>>,
    /// How many sessions are in it as they were, sub-agents with files of their own among them; 0 in a plan.
    pub archived: usize,
    /// The bytes that it grew by.
    pub archived_bytes: u64,
    /// How many sessions were removed.
    pub deleted: usize,
    /// How many of these were removed by their agents.
    pub removed_by_agents: usize,
    /// How many were left alone, because they are no longer what was planned for.
    pub skipped: usize,
    /// How many could not be removed, or not be planned for.
    pub failed: usize,
    /// How many records of directories were removed.
    pub records: usize,
    /// The bytes that went to the trash, or would; with `--permanent` for good.
    pub freed_bytes: u64,
    /// Whether they go for good.
    pub permanent: bool,
    /// What failed, and what could not be planned or purged.
    pub errors: Vec<ErrorJson<'a>>,
    /// How many sessions stay, by reason.
    pub kept: Vec<KeptJson<'a>>,
    /// The runs whose trash was purged, or would be.
    pub purged_runs: &'a [String],
    /// The bytes that became free by that.
    pub purged_bytes: u64,
    /// Why it is refused without `--allow-all`: `clock`, `whole-agent` or `more-than-half`; `null` when it is not.
    pub refused: Option<&'a str>,
    /// Whether another rejoin was changing something, so that nothing was done.
    pub locked: bool,
    /// The run, for `rejoin undo`; `null` if nothing was changed, or permanently.
    pub run: Option<&'a str>,
}

/// Something that went wrong.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CleanupError", deny_unknown_fields)]
pub(crate) struct ErrorJson<'a> {
    /// What it is about.
    pub about: Cow<'a, str>,
    /// Why.
    pub reason: &'a str,
}

/// How many sessions stay for one reason.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Kept", deny_unknown_fields)]
pub(crate) struct KeptJson<'a> {
    /// The reason: `not-asked-for`, `live`, `maybe-live`, `unparsable`, `future`, `pinned`, `excluded`, `undated`,
    /// `recent`, `not-empty`, `keep-last`, `keep-rule`, `newer`, `parent` or `its-agents`.
    pub reason: &'a str,
    /// How many, their sub-agents not counted.
    pub sessions: usize,
}

impl<'a> Report<'a> {
    /// Counts.
    pub(crate) fn summary(&self) -> CleanupSummary<'_> {
        let items = || self.change.items();
        let is_session = |code: &str| code != CWD_RECORD;
        let count = |is: fn(&ItemResult) -> bool, of_sessions: bool| {
            items().filter(|(item, done)| is_session(item.code) == of_sessions && done.is_some_and(is)).count()
        };
        let handed = || self.change.handed();
        let of_items = items().map(|(item, done)| (&item.about, done));
        let results = of_items.chain(handed().map(|(one, done)| (&one.about, done)));
        let failures = results.filter_map(|(about, done)| match done {
            Some(ItemResult::Failed(why)) => Some(ErrorJson { about: about.to_string().into(), reason: why }),
            _ => None,
        });
        let removed = handed().filter(|(_, done)| done.is_some_and(|done| *done == ItemResult::Done)).count();
        let unplanned = self.unplanned.iter().map(|one| ErrorJson { about: (&one.about).into(), reason: &one.reason });
        let unpurged = self.purged.failed.iter().map(|reason| ErrorJson { about: "trash".into(), reason });
        let change = self.change.summary();
        CleanupSummary {
            cutoff: self.cutoff,
            fingerprint: change.fingerprint,
            planned: items().filter(|(item, _)| is_session(item.code)).count() + self.change.handed.len(),
            subagents: self.subagents,
            archive: self.archive.map(PathJson::from),
            archived: self.archived.sessions,
            archived_bytes: self.archived.stored_bytes,
            deleted: count(|done| *done == ItemResult::Done, true) + removed,
            removed_by_agents: removed,
            skipped: change.skipped,
            failed: change.failed + self.unplanned.len(),
            records: count(|done| *done == ItemResult::Done, false),
            freed_bytes: change.freed_bytes,
            permanent: self.change.is_permanent,
            errors: failures.chain(unplanned).chain(unpurged).collect(),
            kept: self
                .kept
                .iter()
                .map(|(keep, sessions)| KeptJson { reason: keep.name(), sessions: *sessions })
                .collect(),
            purged_runs: &self.purged.runs,
            purged_bytes: self.purged.freed_bytes,
            refused: self.refused.as_ref().map(|refusal| refusal.code.name()),
            locked: self.is_locked,
            run: change.run,
        }
    }
}

impl Answer for Report<'_> {
    fn object(&self) -> (&'static str, impl Serialize) {
        let is_done = self.change.outcome.is_some() || self.is_locked;
        let fields = CleanupJson {
            items: self.change.items_json(),
            handed: self.change.handed_json(),
            left_to_agent: self.its_agents,
            summary: self.summary(),
        };
        (if is_done { "cleanup-outcome" } else { "cleanup-plan" }, fields)
    }

    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        if self.is_locked { Ok(()) } else { text(out, env, styles, self) }
    }

    fn brief(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        match self.change.outcome {
            Some(_) if !self.is_locked => line(out, env, self),
            _ => self.table(out, env, styles),
        }
    }
}

/// Writes the line of one session.
fn item(out: &mut impl Write, styles: &Styles, report: &Report<'_>, at: usize) -> io::Result<()> {
    let Styles { warning, faint, .. } = styles;
    let (item, done) = report.change.item(at);
    let label = item.about.to_string();
    let label = text::one_line(&label);
    match done {
        Some(ItemResult::Skipped(why)) => {
            writeln!(out, "{warning}skipped{warning:#}  {label}  {}", text::one_line(why))
        }
        Some(ItemResult::Failed(why)) => writeln!(out, "{warning}failed{warning:#}  {label}  {}", text::one_line(why)),
        _ => {
            let verb = if done.is_some() { "removed" } else { "would remove" };
            let size = text::size(item.steps.iter().map(Step::freed_bytes).sum());
            let title = report.titles.get(at).and_then(Option::as_deref).map(text::one_line).unwrap_or_default();
            let (code, reason) = (item.code, text::one_line(&item.reason));
            writeln!(out, "{verb}  {label}  {size}  {title}  {faint}({code}: {reason}){faint:#}")
        }
    }
}

/// Writes a line a session, what stays and why, and a summary.
fn text(out: &mut impl Write, env: &Env, styles: &Styles, report: &Report<'_>) -> io::Result<()> {
    let Styles { warning, faint, .. } = styles;
    write_lines(out, report.change.change.items.len(), |at, line| item(line, styles, report, at))?;
    report.change.handed().try_for_each(|(one, done)| handed_text(out, styles, one, done))?;
    for Unplanned { about, reason } in report.unplanned {
        writeln!(out, "{warning}left{warning:#}  {}  {}", text::one_line(about), text::one_line(reason))?;
    }
    let kept: Vec<String> = report.kept.iter().map(|(keep, count)| format!("{count} {}", keep.words())).collect();
    if !kept.is_empty() {
        writeln!(out, "{faint}Kept: {}.{faint:#}", kept.join(", "))?;
    }
    let summary = report.summary();
    if let Some(outcome) = report.change.outcome {
        match sentence(&summary) {
            Some(sentence) => writeln!(out, "{sentence}")?,
            None => writeln!(out, "Nothing to do.")?,
        }
        if let Some(doubt) = &outcome.doubt {
            writeln!(out, "A loss of power may still take this back: {}.", text::one_line(doubt))?;
        }
        if let Some(run) = summary.run {
            undo::hint(out, run, env, styles)?;
        }
        return Ok(());
    }
    let purge = summary.purged_runs.len();
    if purge > 0 {
        writeln!(out, "The trash of {} would be purged.", text::count(purge, "run"))?;
    }
    let handed = report.change.handed.len();
    if report.change.change.items.is_empty() && handed == 0 {
        return if purge == 0 { writeln!(out, "Nothing to do.") } else { Ok(()) };
    }
    let whereto = if summary.permanent { "deleted for good" } else { "to the trash" };
    let size = text::size(summary.freed_bytes);
    let first = if report.archive.is_some() { ", archived first" } else { "" };
    let goes = what_goes(&summary);
    let how = match handed {
        0 => format!("{size} {whereto}{first}"),
        _ if handed == summary.planned => "all by their agents, archived first".to_owned(),
        _ => format!("{handed} by their agents, archived first, and of the others {size} {whereto}{first}"),
    };
    writeln!(out, "{goes} would be removed, {how}. Nothing was changed.")?;
    if report.refused.is_none() {
        let command = command_line::apply(env, &summary.fingerprint);
        writeln!(out, "{faint}`{command}` does exactly this.{faint:#}")?;
    }
    Ok(())
}

fn what_goes(summary: &CleanupSummary<'_>) -> String {
    let with = if summary.subagents > 0 {
        format!(" with {}", text::count(summary.subagents, "sub-agent"))
    } else {
        String::new()
    };
    format!("{}{with}", text::count(summary.planned, "session"))
}

/// Says in one sentence what was done; `None` when nothing was, and nothing failed.
fn sentence(summary: &CleanupSummary<'_>) -> Option<String> {
    let mut parts = Vec::new();
    let by_us = summary.deleted - summary.removed_by_agents;
    if by_us > 0 || summary.records > 0 {
        let whereto = if summary.permanent { "deleted for good" } else { "moved to the trash" };
        parts.push(format!("{} {whereto}, {}", text::count(by_us, "session"), text::size(summary.freed_bytes)));
    }
    if summary.removed_by_agents > 0 {
        let agents = if summary.removed_by_agents == 1 { "its agent" } else { "their agents" };
        parts.push(format!("{} removed by {agents}", text::count(summary.removed_by_agents, "session")));
    }
    if summary.archived > 0 {
        parts.push(format!("{} archived, {} new", summary.archived, text::size(summary.archived_bytes)));
    }
    if summary.records > 0 {
        parts.push(format!("{} of directories removed", text::count(summary.records, "record")));
    }
    if !summary.purged_runs.is_empty() {
        let runs = text::count(summary.purged_runs.len(), "run");
        parts.push(format!("the trash of {runs} purged, {} freed", text::size(summary.purged_bytes)));
    }
    let has_done = !parts.is_empty();
    if summary.skipped > 0 {
        parts.push(format!("{} skipped", summary.skipped));
    }
    if let Some(first) = summary.errors.first() {
        let reason = text::one_line(first.reason);
        parts.push(format!("{} failed ({}: {reason})", summary.errors.len(), text::one_line(&first.about)));
    }
    (has_done || !summary.errors.is_empty()).then(|| format!("{}.", parts.join("; ")))
}

/// Writes one line for a run that no one is watching, if something happened.
fn line(out: &mut impl Write, env: &Env, report: &Report<'_>) -> io::Result<()> {
    let summary = report.summary();
    let Some(sentence) = sentence(&summary) else { return Ok(()) };
    let undo = undo::hint_in_line(summary.run, env);
    writeln!(out, "rejoin cleanup: {sentence}{undo}")
}

/// Says what only its agent can remove, a line a database.
pub(crate) fn left_to_agents(left: &[LeftToAgent], env: &Env) -> Vec<String> {
    let mut by_database: BTreeMap<(AgentKind, &Path), (usize, &LeftToAgent)> = BTreeMap::new();
    for one in left {
        by_database.entry((one.agent, &one.database)).or_insert((0, one)).0 += 1;
    }
    let line = |((agent, database), (sessions, one)): ((AgentKind, &Path), (usize, &LeftToAgent))| {
        let (count, database) = (text::count(sessions, "session"), env.tilde(database));
        let start = format!("{count} of {agent} in {} would be removed too, but", text::one_line(&database));
        match one.removes_unasked {
            true => format!("{start} only {agent} can do that: --via-agent archives each and has {agent} remove it."),
            false => format!("{start} {}", one.reason),
        }
    };
    by_database.into_iter().map(line).collect()
}
