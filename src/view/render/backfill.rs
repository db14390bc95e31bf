//! A backfill's plan or outcome.

use std::io::{self, Write};

use serde::Serialize;

use crate::agent::amplifier::session_info::FILE_NAME;
use crate::change::outcome::{ItemResult, Outcome};
use crate::change::plan::backfill::{Action, Item};
use crate::change::plan::change::Unplanned;
use crate::format::command_line::in_home;
use crate::format::{shell, text};
use crate::session::{Problem, Session};
use crate::system::env::Env;
use crate::view::render::answer::Answer;
use crate::view::render::change::{not_done, undo_hint, undo_in_line};
use crate::view::render::items::List;
use crate::view::render::json::change::{ChangeJson, ItemJson, StepJson, Totals, kind};
use crate::view::render::json::details::{BackfillItem, ItemDetails};
use crate::view::ui::Styles;

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
}

impl Answer for Report<'_> {
    fn object(&self) -> (&'static str, impl Serialize) {
        let items = List::counted(self.plan.len(), |at| self.item(at));
        let document = ChangeJson {
            not_planned: self.problems.iter().map(Unplanned::from).collect(),
            run: self.outcome.run.as_deref(),
            ..ChangeJson::new("backfill", self.is_dry_run, items, &self.outcome.done)
        };
        (kind(self.is_dry_run), document)
    }

    /// Writes one line per session with its evidence below, and a summary.
    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let faint = styles.faint;
        for ((_, item), result) in self.plan.iter().zip(&self.outcome.done) {
            if !not_done(out, styles, &item.id, result)?
                && let Action::Write { working_dir, .. } = &item.action
            {
                let verb = if self.is_dry_run { "write" } else { "written" };
                let (id, reason) = (text::one_line(&item.id), text::one_line(&item.reason));
                let dir = text::field(&working_dir.to_string_lossy()).into_owned();
                writeln!(out, "{verb}  {id}  {dir}  {faint}({reason}){faint:#}")?;
            }
            if item.action != Action::Keep {
                for evidence in &item.evidence {
                    let verdict =
                        if evidence.counts { "counts" } else { "does not count: it belongs to another project" };
                    let dir = text::one_line(&env.tilde(&evidence.dir)).into_owned();
                    writeln!(out, "      {faint}{dir}  ({}; {verdict}){faint:#}", text::one_line(&evidence.detail))?;
                }
            }
            if item.action == (Action::Refuse { wants_dir: true }) {
                writeln!(
                    out,
                    "      in the directory that it belongs to: {}",
                    in_home(&format!("rejoin backfill {} --in .", shell::word(&item.id)), &env.invocation.elsewhere)
                )?;
            }
        }
        writeln!(out, "{}", self.sentence())?;
        undo_hint(out, self.outcome.run.as_deref(), None, env, styles)
    }

    fn brief(&self, out: &mut impl Write, env: &Env, _: &Styles) -> io::Result<()> {
        let is_news = |result: &ItemResult| !matches!(result, ItemResult::Unchanged | ItemResult::Refused(_));
        if !self.outcome.done.iter().any(is_news) {
            return Ok(());
        }
        let undo = undo_in_line(self.outcome.run.as_deref(), None, env);
        writeln!(out, "rejoin backfill: {}{undo}", self.sentence())
    }
}

impl Report<'_> {
    fn sentence(&self) -> String {
        let Totals { done, unchanged, skipped, refused, failed, .. } = Totals::of(&self.outcome.done, false);
        let verb = if self.is_dry_run { "would be written" } else { "written" };
        let failed = if failed + skipped > 0 { format!(", {} failed", failed + skipped) } else { String::new() };
        format!("{done} {verb}, {unchanged} already good, {refused} refused{failed}.")
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
        };
        ItemJson {
            reason: Some(&item.reason),
            steps: write.map(|_| StepJson::new("write", &item.session_dir.join(FILE_NAME))).into_iter().collect(),
            details: Some(ItemDetails::Backfill(details)),
            ..ItemJson::new(Some((session.agent, &item.id)), "session-info", result, self.is_dry_run)
        }
    }
}
