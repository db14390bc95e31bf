//! A backfill's plan or outcome.

use crate::agent::amplifier::session_info::FILE_NAME;
use crate::change::outcome::{ChangeOutcome, ItemResult};
use crate::change::plan::backfill::{Action, SessionBackfill};
use crate::change::plan::change::Unplanned;
use crate::format::command_line::all_in_home;
use crate::format::{shell, text};
use crate::session::{Problem, Session};
use crate::system::env::Env;
use crate::view::render::change::{ChangeSummary, ChangeText};
use crate::view::render::items::ItemList;
use crate::view::render::json::change::{ChangeJson, ItemJson, ShownItem, StepJson, Totals};
use crate::view::render::json::details::{BackfillItem, ItemDetails};

/// A plan or its outcome.
pub(crate) struct BackfillReport<'a> {
    /// Set if nothing was written.
    pub is_dry_run: bool,
    /// Each session with its planned action.
    pub plan: &'a [(&'a Session, SessionBackfill)],
    /// The outcome; in a dry run, the expected one.
    pub outcome: &'a ChangeOutcome,
    /// Paths that could not be read.
    pub problems: &'a [Problem],
    /// Set to show every session on a terminal, too.
    pub is_whole: bool,
}

impl BackfillReport<'_> {
    /// Returns the answer.
    pub(crate) fn answer<'a>(&'a self, env: &'a Env) -> ChangeText<'a> {
        let is_news = |result: &ItemResult| !matches!(result, ItemResult::Unchanged | ItemResult::Refused(_));
        let Totals { done, unchanged, skipped, refused, failed, .. } = Totals::from_results(&self.outcome.done, false);
        let would = if self.is_dry_run { "would be " } else { "" };
        let parts = vec![format!("{would}recorded, {unchanged} already good, {refused} refused")];
        let mut summary = ChangeSummary { subject: text::count(done, "directory"), parts, ..ChangeSummary::default() };
        summary.add(failed + skipped, "failed");
        let (is_whole, is_no_news) = (self.is_whole, !self.outcome.done.iter().any(is_news));
        let items = ItemList::counted(self.plan.len(), move |at| self.item(at, env));
        let document = ChangeJson {
            not_planned: self.problems.iter().map(Unplanned::from).collect(),
            run: self.outcome.run.as_deref(),
            ..ChangeJson::new("backfill", self.is_dry_run, items, &self.outcome.done)
        };
        // Sessions without a known directory are refused in every backfill.
        ChangeText {
            is_whole,
            is_no_news,
            has_usual_refusals: true,
            summary,
            ..ChangeText::new(document, self.is_dry_run)
        }
    }

    /// Returns lines for users with the evidence for directories, and the command that names one.
    fn below(item: &SessionBackfill, env: &Env) -> Vec<String> {
        let evidence = item.evidence.iter().map(|evidence| {
            let verdict = if evidence.counts { "counts" } else { "does not count: it belongs to another project" };
            format!("{}  ({}; {verdict})", env.tilde(&evidence.dir), text::one_line(&evidence.detail))
        });
        let names = (item.action == Action::Refuse { wants_dir: true }).then(|| {
            let command = format!("`rejoin backfill {} --in .`", shell::word(&item.id));
            format!("in the directory that it belongs to: {}", all_in_home(&command, &env.invocation.elsewhere))
        });
        evidence.chain(names).collect()
    }

    fn item<'a>(&'a self, at: usize, env: &Env) -> ItemJson<'a> {
        let ((session, item), result) = (&self.plan[at], &self.outcome.done[at]);
        let write = match &item.action {
            Action::Write { working_dir, created_at, source } => Some((working_dir, *created_at, *source)),
            Action::Keep | Action::Refuse { .. } => None,
        };
        let details = BackfillItem {
            working_dir: write.map(|(dir, ..)| dir.to_string_lossy()),
            created_at: write.map(|(_, at, _)| at),
            source: write.map(|(.., source)| source),
            evidence: &item.evidence,
        };
        let below = if *result == ItemResult::Unchanged { Vec::new() } else { Self::below(item, env) };
        let title = details.working_dir.clone();
        ItemJson {
            reason: Some(&item.reason),
            steps: write.map(|_| StepJson::new("write", &item.session_dir.join(FILE_NAME))).into_iter().collect(),
            details: Some(ItemDetails::Backfill(details)),
            shown: ShownItem { title, below, ..ShownItem::default() },
            ..ItemJson::new(Some((session.agent, &item.id)), "session-info", result, self.is_dry_run)
        }
    }
}
