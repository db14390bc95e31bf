//! The plan or the outcome of a cleanup: removed sessions, kept ones, and the reasons.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;

use crate::change::outcome::ItemResult;
use crate::change::plan::change::Unplanned;
use crate::change::plan::retention::Keep;
use crate::change::removal::{CWD_RECORD, DEBRIS};
use crate::error::RefusalCode;
use crate::format::path_json::PathJson;
use crate::format::text;
use crate::session::AgentKind;
use crate::system::env::Env;
use crate::view::render::change::{ChangeSummary, ChangeText};
use crate::view::render::json::change::ChangeReport;
use crate::view::render::json::details::{CleanupDetails, CommandMembers, KeptJson, LeftToAgent};
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
pub(crate) struct CleanupReport<'a> {
    /// The change, and its outcome.
    pub change: ChangeReport<'a>,
    /// The archive into which sessions are copied before they are removed.
    pub archive: Option<&'a Path>,
    /// The archived sessions.
    pub archived: Archived,
    /// Number of kept sessions, by reason.
    pub kept: &'a BTreeMap<Keep, usize>,
    /// Number of sessions that the user keeps in their agents, by reason.
    pub kept_by: &'a BTreeMap<&'static str, usize>,
    /// The options that select sessions.
    pub filters: Vec<&'static str>,
    /// Sessions that only their agent can remove.
    pub its_agents: &'a [LeftToAgent],
    /// Sessions whose removal could not be planned.
    pub unplanned: &'a [Unplanned],
    /// The reason why applying the plan would be refused.
    pub refused: Option<RefusalCode>,
    /// Sessions that were last active before this time are removed.
    pub cutoff: Option<Timestamp>,
    /// The trash that was purged, or would be.
    pub purged: &'a Purged,
    /// Set if another run was active, so that nothing was checked.
    pub is_locked: bool,
}

impl<'a> CleanupReport<'a> {
    /// Counts the items with a code that are or would be removed.
    fn items(&self, code: &str) -> usize {
        let goes = |done: Option<&ItemResult>| done.is_none_or(|done| *done == ItemResult::Done);
        self.change.items().filter(|(item, done)| item.code == code && goes(*done)).count()
    }

    /// Counts the sub-agents that are removed with their sessions.
    fn subagents(&self) -> usize {
        self.change.change.items.iter().map(|item| item.subagents).sum()
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

impl<'a> CleanupReport<'a> {
    /// Returns the answer.
    pub(crate) fn answer(&self, env: &Env) -> ChangeText<'a> {
        let details = CommandMembers::Cleanup(Box::new(self.details()));
        let mut text = self.change.text(Some(details), self.unplanned, env);
        let in_agents = || self.kept_by.iter().map(|(why, count)| format!("{count} {why}")).collect();
        let words = |(keep, count): (&Keep, &usize)| match keep {
            Keep::KeptByAgent => in_agents(),
            keep => vec![keep.words(*count, &self.filters)],
        };
        let kept: Vec<String> = self.kept.iter().flat_map(words).collect();
        if !kept.is_empty() {
            text.notes.push(format!("Kept: {}.", kept.join(", ")));
        }
        let failed = self.purged.failed.iter();
        text.document.warnings.extend(failed.clone().map(|why| format!("trash: {why}")));
        text.left.extend(failed.map(|why| Unplanned { about: "trash".to_owned(), reason: why.clone() }));
        text.summary = self.summary(text.summary, text.is_plan);
        text.is_said_by_item = self.archived.sessions == 0 && self.purged.runs.is_empty() && self.kept.is_empty();
        (text.is_no_news, text.is_list) = (self.is_locked, self.is_locked);
        text.is_refused = self.refused.is_some();
        text
    }
}

impl CleanupReport<'_> {
    /// Extends the summary of a removal with the results that only a cleanup has.
    fn summary(&self, ChangeSummary { mut subject, mut parts, tail }: ChangeSummary, is_plan: bool) -> ChangeSummary {
        let would = if is_plan { "would be " } else { "" };
        let (debris, records) = (self.items(DEBRIS), self.items(CWD_RECORD));
        if is_plan && self.subagents() > 0 {
            subject.push_str(&format!(" with {}", text::count(self.subagents(), "sub-agent")));
        }
        if debris > 0 {
            subject.push_str(&format!(" and {} without a session", text::count(debris, "file")));
        }
        if let Some(first) = parts.first_mut().filter(|_| is_plan && self.archive.is_some()) {
            first.push_str(", archived first");
        }
        let handed = self.change.handed().filter(|(_, done)| done.is_none_or(|done| *done == ItemResult::Done)).count();
        if handed > 0 {
            let archived = if is_plan { ", archived first" } else { "" };
            parts.push(format!(
                "{handed} of them by {}{archived}",
                if handed == 1 { "its agent" } else { "their agents" }
            ));
        }
        let Archived { sessions, stored_bytes } = self.archived;
        if sessions > 0 {
            parts.push(format!("{sessions} archived; the archive grew by {}", text::size(stored_bytes)));
        }
        if !is_plan && records > 0 {
            parts.push(format!("{} of directories removed", text::count(records, "record")));
        }
        if !self.purged.runs.is_empty() {
            let runs = text::count(self.purged.runs.len(), "run");
            let freed =
                if is_plan { String::new() } else { format!(", {} freed", text::size(self.purged.freed_bytes)) };
            parts.push(format!("the trash of {runs} {would}deleted permanently{freed}"));
        }
        let mut summary = ChangeSummary { subject, parts, tail };
        summary.add_left(self.unplanned.len());
        summary
    }
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
