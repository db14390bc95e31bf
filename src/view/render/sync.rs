//! The plan or the result of `sync`.

use std::path::Path;

use crate::archive::Archive;
use crate::archive::chunks::digest;
use crate::archive::sync::{IN_DATABASE, IN_USE, SkipReason};
use crate::archive::write::ArchivedItem;
use crate::change::outcome::ItemResult;
use crate::change::plan::change::Unplanned;
use crate::format::path_json::PathJson;
use crate::format::{shell, text};
use crate::session::{AgentKind, Session};
use crate::system::env::Env;
use crate::view::render::archive::item_json;
use crate::view::render::change::{ChangeSummary, ChangeText};
use crate::view::render::items::ItemList;
use crate::view::render::json::change::{ChangeJson, ChangeReport, ItemJson, ShownItem, Totals};
use crate::view::render::json::details::{CommandMembers, SyncDetails};
use crate::view::render::table;

/// Maximum columns of a title.
const TITLE: usize = 50;

/// A session that is restored on this machine.
#[derive(Clone, Debug)]
pub(crate) struct BroughtRow {
    /// The machine that continued the session.
    pub machine: String,
    /// Set if this machine did not have the session.
    pub is_new: bool,
    /// The session as that machine archived it.
    pub session: Session,
}

impl BroughtRow {
    fn to_json(&self, is_plan: bool) -> ShownItem<'_> {
        let word = match (is_plan, self.is_new) {
            (true, true) => "would bring",
            (true, false) => "would update",
            (false, true) => "brought",
            (false, false) => "updated",
        };
        let (title, note) = (table::title(&self.session), format!("from {}", self.machine));
        ShownItem { word: Some(word.into()), title: Some(title.into()), note: Some(note), ..ShownItem::default() }
    }
}

/// A session that is not changed, although another machine has another state of it.
#[derive(Clone, Debug)]
pub(crate) struct LeftRow {
    /// The agent that it belongs to.
    pub agent: AgentKind,
    /// Its full id.
    pub id: String,
    /// Its title.
    pub title: Option<String>,
    /// Set if this machine has the session.
    pub is_here: bool,
    /// The reason.
    pub left: SkipReason,
    /// Set if an earlier sync has already reported it.
    pub is_known: bool,
}

impl LeftRow {
    /// Creates the row of a session on this machine.
    pub(crate) fn from_skipped(session: &Session, left: SkipReason) -> Self {
        Self {
            agent: session.agent,
            id: session.id().to_owned(),
            title: Some(table::title(session)),
            is_here: true,
            left,
            is_known: false,
        }
    }

    /// Returns a digest of the reason and of the other machine's state, to report each once.
    pub(crate) fn digest(&self) -> String {
        let SkipReason { code, reason, state, .. } = &self.left;
        let state = state.as_ref().map(ToString::to_string).unwrap_or_default();
        digest(format!("{code}\n{reason}\n{state}").as_bytes())
    }

    /// Returns whether the reason is temporary and needs no action.
    pub(crate) fn is_usual(&self) -> bool {
        [IN_USE, IN_DATABASE].contains(&self.left.code)
    }

    /// Returns the selector of the session for a shell.
    fn selector(&self) -> String {
        shell::selector(self.agent, &self.id)
    }

    fn label(&self) -> String {
        let title = self.title.iter().map(|title| format!("  {}", text::truncated(title, TITLE))).collect::<String>();
        format!("{} {}{title}", self.agent, self.id)
    }
}

/// A sync and its result.
pub(crate) struct Syncing<'a> {
    /// The archive's directory.
    pub dir: &'a Path,
    /// The sessions that are archived.
    pub sent: &'a [ArchivedItem<'a>],
    /// The files that are restored here, and the result.
    pub report: ChangeReport<'a>,
    /// The session of each item of `report`.
    pub brought: &'a [BroughtRow],
    /// The sessions that are left unchanged.
    pub left: &'a [LeftRow],
    /// The number of sessions of other machines that were deleted here.
    pub deleted: usize,
    /// The number of sessions that are the same as in the archive.
    pub unchanged: usize,
    /// Set if reasons that were already reported are left out.
    pub is_quiet: bool,
}

impl<'a> Syncing<'a> {
    /// Returns the answer.
    pub(crate) fn answer(&'a self, env: &Env) -> ChangeText<'a> {
        let is_news = |item: &ArchivedItem<'_>| item.done != ItemResult::Unchanged;
        let is_no_news = !self.sent.iter().any(is_news) && self.brought.is_empty() && self.faults().next().is_none();
        let left = self.left.iter().filter(|row| !self.is_quiet || row.is_usual() || !row.is_known);
        let left = left.map(|row| Unplanned { about: row.label(), reason: row.left.reason.clone() }).collect();
        let mut own = self.report.text(None, &[], env);
        own.hints.extend(self.hint(env));
        let (document, summary) = (self.document(), self.summary(env));
        ChangeText { document, left, is_no_news, is_said_by_item: false, summary, ..own }
    }

    fn document(&'a self) -> ChangeJson<'a> {
        let is_plan = self.report.outcome.is_none();
        let left = self.left.iter();
        let left =
            left.map(|row| Unplanned { about: format!("{} {}", row.agent, row.id), reason: row.left.reason.clone() });
        let details = SyncDetails {
            archive: PathJson::from(self.dir),
            stored_bytes: self.sent.iter().map(|item| item.stored_bytes).sum(),
            unchanged: self.unchanged,
            deleted: self.deleted,
            followed: self.report.followed,
            left: self.left.len(),
        };
        let brought = self.report.document(Some(CommandMembers::Sync(details)));
        let (sent, items) = (self.sent, brought.items);
        let came = items.len();
        let totals = Totals::from_results(sent.iter().map(|item| &item.done), is_plan).plus(&brought.totals);
        let items = ItemList::counted(came + sent.len(), move |at| match at.checked_sub(came) {
            None => ItemJson { shown: self.brought[at].to_json(is_plan), ..items.item(at) },
            Some(at) => item_json(&sent[at], is_plan),
        });
        ChangeJson { items, totals, not_planned: left.collect(), ..brought }
    }
}

impl Syncing<'_> {
    /// Returns the unchanged sessions with a reason to report, except those already reported.
    fn faults(&self) -> impl Iterator<Item = &LeftRow> {
        self.left.iter().filter(|row| !(row.is_usual() || self.is_quiet && row.is_known))
    }

    /// Names the commands for the first session for which the state of the other machine can be used here.
    fn hint(&self, env: &Env) -> Option<String> {
        let (row, state) = self.left.iter().find_map(|row| Some((row, row.left.state.as_ref()?)))?;
        let (name, dir) = (row.selector(), Archive::option(self.dir, env));
        // The directory in which the agent starts is named only by the archive.
        let (via_agent, trust) = if row.left.is_in_database { (" --via-agent", " --trust") } else { ("", "") };
        let show = format!("rejoin show --archived {name} --state {state}{dir}");
        let delete = format!("rejoin delete {name}{via_agent}");
        let restore = format!("rejoin restore {name} --state {state}{trust}{dir}");
        let first = if row.is_here { format!("`{delete}`, then ") } else { String::new() };
        let here = format!("To continue that one here: {first}`{restore}`.");
        Some(format!("`{show}` shows the other state. {here}"))
    }

    /// Summarizes the plan or the outcome.
    fn summary(&self, env: &Env) -> ChangeSummary {
        let is_plan = self.report.outcome.is_none();
        let count = |is_new: bool| {
            let rows = self.brought.iter().enumerate().filter(|(_, row)| row.is_new == is_new);
            rows.filter(|(at, _)| matches!(self.report.item(*at).1, None | Some(ItemResult::Done))).count()
        };
        let sent = self.sent.iter().filter(|item| item.done == ItemResult::Done).count();
        let undone = self.sent.iter().map(|item| &item.done).chain(self.report.items().filter_map(|(_, done)| done));
        let words = if is_plan { ["to archive", "to bring", "to update"] } else { ["archived", "brought", "updated"] };
        let counts = [sent, count(true), count(false)];
        let parts = words.iter().zip(counts).map(|(what, count)| format!("{count} {what}")).collect();
        let mut summary = ChangeSummary { parts, ..ChangeSummary::default() };
        summary.add_left(self.left.len());
        summary.add(undone.filter(|done| done.why().is_some()).count(), "not done");
        summary.parts.push(format!("{} unchanged, with {}", self.unchanged, env.tilde(self.dir)));
        if self.deleted > 0 {
            let deleted = text::count(self.deleted, "session");
            summary.tail = format!(" {deleted} removed here before; --restore-deleted restores such sessions.");
        }
        summary
    }
}
