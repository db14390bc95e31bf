//! A backfill's plan or outcome.

use serde::Serialize;

use crate::agent::amplifier::session_info::FILE_NAME;
use crate::change::outcome::{ItemResult, Outcome};
use crate::change::plan::backfill::{Action, Item};
use crate::change::plan::change::Unplanned;
use crate::format::text;
use crate::session::{Problem, Session};
use crate::system::env::Env;
use crate::view::render::answer::Answer;
use crate::view::render::change::{Summary, Text};
use crate::view::render::items::List;
use crate::view::render::json::change::{ChangeJson, ItemJson, StepJson, Totals, kind};
use crate::view::render::json::details::{BackfillItem, ItemDetails};

/// A plan or its outcome.
pub(crate) struct Report<'a> {
    /// Set if nothing was written.
    pub is_dry_run: bool,
    /// Each session with its action.
    pub plan: &'a [(&'a Session, Item)],
    /// The outcome; in a dry run, the expected one.
    pub outcome: &'a Outcome,
    /// Paths that could not be read.
    pub problems: &'a [Problem],
    /// Set to show every session on a terminal, too.
    pub is_whole: bool,
}

impl Answer for Report<'_> {
    fn object(&self) -> (&'static str, impl Serialize) {
        (kind(self.is_dry_run), self.document())
    }

    fn change<'a>(&'a self, _: &'a Env) -> Option<Text<'a>> {
        let is_news = |result: &ItemResult| !matches!(result, ItemResult::Unchanged | ItemResult::Refused(_));
        let Totals { done, unchanged, skipped, refused, failed, .. } = Totals::of(&self.outcome.done, false);
        let would = if self.is_dry_run { "would be " } else { "" };
        let parts = vec![format!("{would}recorded, {unchanged} already good, {refused} refused")];
        let mut summary = Summary { subject: text::count(done, "directory"), parts, ..Summary::default() };
        summary.add(failed + skipped, "failed");
        let is_no_news = !self.outcome.done.iter().any(is_news);
        let text = Text::new(self.document(), self.is_dry_run);
        // Every backfill refuses a session without a known directory.
        Some(Text { is_whole: self.is_whole, is_no_news, has_usual_refusals: true, summary, ..text })
    }
}

impl Report<'_> {
    fn document(&self) -> ChangeJson<'_> {
        let items = List::counted(self.plan.len(), |at| self.item(at));
        ChangeJson {
            not_planned: self.problems.iter().map(Unplanned::from).collect(),
            run: self.outcome.run.as_deref(),
            ..ChangeJson::new("backfill", self.is_dry_run, items, &self.outcome.done)
        }
    }

    fn item(&self, at: usize) -> ItemJson<'_> {
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
            wants_dir: item.action == (Action::Refuse { wants_dir: true }),
        };
        ItemJson {
            reason: Some(&item.reason),
            steps: write.map(|_| StepJson::new("write", &item.session_dir.join(FILE_NAME))).into_iter().collect(),
            details: Some(ItemDetails::Backfill(details)),
            ..ItemJson::new(Some((session.agent, &item.id)), "session-info", result, self.is_dry_run)
        }
    }
}
