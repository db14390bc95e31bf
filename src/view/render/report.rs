//! The text of a plan of files, and of its outcome.

use crate::change::outcome::ItemResult;
use crate::change::plan::change::{Change, ChangeItem, ItemSubject, Step, Unplanned};
use crate::change::relocation::MOVED;
use crate::change::removal::is_session;
use crate::doctor::check::Finding;
use crate::format::text;
use crate::session::select::short_among;
use crate::session::when::When;
use crate::system::env::Env;
use crate::view::render::change::{ChangeText, ReportWords};
use crate::view::render::json::change::{ChangeJson, ChangeReport};
use crate::view::render::json::details::{CommandMembers, FixDetails, RestoreDetails};
use crate::view::render::json::doctor::FindingJson;

impl<'a> ChangeReport<'a> {
    /// Returns the answer of a command without details.
    pub(crate) fn answer(self, env: &Env) -> ChangeText<'a> {
        self.text(self.followed.map(|followed| CommandMembers::Restore(RestoreDetails { followed })), &[], env)
    }

    /// Returns the text that the reports of all commands share.
    pub(super) fn text(self, details: Option<CommandMembers<'a>>, left: &[Unplanned], env: &Env) -> ChangeText<'a> {
        let document = ChangeJson { not_planned: left.to_vec(), ..self.document(details) };
        let doubt = self.outcome.and_then(|outcome| outcome.doubt.as_deref());
        let doubt = doubt.map(|why| format!("A loss of power may still take this back: {why}."));
        // The space of old versions of moved files is not reported.
        let freed = if self.change.verb == "move" { String::new() } else { self.freed(document.totals.freed_bytes) };
        let free = self.free(document.totals.freed_bytes, env);
        let text = ChangeText::new(document, self.outcome.is_none());
        let ChangeText { mut summary, .. } = text;
        if let Some(first) = summary.parts.first_mut().filter(|_| !self.change.is_empty()) {
            let words = ReportWords::for_verb(self.change.verb);
            let is_of_copies =
                matches!(self.change.items.first(), Some(ChangeItem { about: ItemSubject::Part("a copy", ..), .. }));
            let unit = if is_of_copies && self.is_removal() { "copy" } else { words.unit };
            summary.subject = text::count(self.removed_count(), unit);
            *first =
                first.replace(words.did, if self.is_permanent { "deleted permanently" } else { words.did }) + &freed;
        }
        ChangeText {
            is_whole: self.look.is_whole,
            is_said_by_item: !self.is_permanent,
            overview: self.look.overview,
            summary,
            hints: doubt.into_iter().chain(free).collect(),
            followed: self.followed,
            ..text
        }
    }

    /// Explains when the space of removed sessions becomes free.
    fn free(&self, bytes: u64, env: &Env) -> Option<String> {
        let run = self.run().filter(|_| bytes > 0 && self.is_removal())?;
        let later = match self.look.trash_keep.unwrap_or_else(|| env.config.cleanup.trash_keep()) {
            When::Ago(age) => format!("`rejoin cleanup` frees the space after {}; ", text::span(age)),
            _ => String::new(),
        };
        Some(text::sentence(&format!("{later}`rejoin undo --purge {run}` frees it now")))
    }

    fn is_removal(&self) -> bool {
        ["cleanup", "delete"].contains(&self.change.verb)
    }

    /// Counts the sessions, or other subjects, that are or would be changed.
    pub(super) fn removed_count(&self) -> usize {
        let is_counted = |item: &ChangeItem| match self.change.verb {
            "move" => item.code == MOVED,
            _ => !self.is_removal() || is_session(item.code),
        };
        let goes = |done: Option<&ItemResult>| done.is_none_or(|done| *done == ItemResult::Done);
        let own = self.items().filter(|(item, done)| is_counted(item) && goes(*done)).count();
        own + self.handed().filter(|(_, done)| goes(*done)).count()
    }

    /// Describes the freed bytes; empty for a change that removes nothing.
    pub(super) fn freed(&self, bytes: u64) -> String {
        let trashes = |item: &ChangeItem| item.steps.iter().any(|step| matches!(step, Step::Trash { .. }));
        match self.change.items.iter().any(trashes) {
            _ if bytes == 0 => String::new(),
            false => String::new(),
            true if self.is_permanent => format!(", {}", text::size(bytes)),
            true => format!(", {} to the trash", text::size(bytes)),
        }
    }
}

/// Summarizes the repairs in a few lines, before the question and in place of the items.
pub(crate) fn repairs(change: &Change, env: &Env) -> Vec<String> {
    /// Maximum repairs that are named, and maximum paths of each.
    const ITEMS: usize = 10;
    const PATHS: usize = 2;
    let mut lines = Vec::new();
    for item in change.items.iter().take(ITEMS) {
        let id = item.about.session().map_or("", |(_, id)| id);
        let others = change.items.iter().filter_map(|other| Some(other.about.session()?.1));
        let about = item.about.to_string().replacen(id, short_among(id, others), 1);
        lines.push(format!("would repair  {about}  ({})", item.code));
        lines.extend(item.steps.iter().take(PATHS).map(|step| format!("      {}", env.tilde(step.path()))));
    }
    if change.items.len() > ITEMS {
        lines.push(format!("and {} more", change.items.len() - ITEMS));
    }
    lines
}

/// The answer of `doctor --fix`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fix<'a> {
    /// The change.
    pub report: ChangeReport<'a>,
    /// Repairs that could not be planned, each with the reason.
    pub unplanned: &'a [Unplanned],
    /// Findings that need a decision.
    pub undecided: &'a [Finding],
}

impl<'a> Fix<'a> {
    /// Returns the answer.
    pub(crate) fn answer(&self, env: &Env) -> ChangeText<'a> {
        let undecided = self.undecided.iter().map(FindingJson::from).collect();
        let mut text = self.report.text(Some(CommandMembers::Fix(FixDetails { undecided })), self.unplanned, env);
        text.all_option = "--all-findings";
        let count = self.undecided.len();
        if count > 0 {
            let need = if count == 1 { "problem needs" } else { "problems need" };
            text.hints.push(format!("{count} other {need} a decision; `rejoin doctor` names them."));
        }
        text
    }
}
