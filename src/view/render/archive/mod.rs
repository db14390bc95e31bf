//! The results of archiving, the contents of the archive, and its verification.

mod list;
mod show;

use std::collections::BTreeSet;
use std::io::{self, Write};

use serde::Serialize;

use crate::archive::Archive;
use crate::archive::verify::{FaultKind, VerifyAnswer};
use crate::archive::write::{ArchiveReport, ArchivedItem, in_use};
use crate::change::outcome::ItemResult;
use crate::change::plan::change::Unplanned;
use crate::format::command_line::in_home;
use crate::format::path_json::PathJson;
use crate::format::{shell, text};
use crate::system::env::Env;
use crate::view::render::answer::Answer;
use crate::view::render::change::{ChangeSummary, ChangeText, ReportWords};
use crate::view::render::items::ItemList;
use crate::view::render::json::change::{ChangeJson, ItemJson, ShownItem, Totals};
use crate::view::render::json::details::{ArchiveDetails, ArchiveItem, CommandMembers, ItemDetails};
use crate::view::render::table;
use crate::view::ui::Styles;
pub(crate) use list::*;
pub(crate) use show::*;

/// Returns the answer of `archive`.
pub(crate) fn answer<'a>(report: &'a ArchiveReport<'_>, env: &Env) -> ChangeText<'a> {
    let is_news = |item: &ArchivedItem<'_>| matches!(item.done, ItemResult::Done | ItemResult::Failed(_));
    let is_no_news = !report.items.iter().any(is_news) && report.unread.is_empty();
    let (is_whole, summary) = (report.is_whole, summary(env, report));
    ChangeText {
        is_whole,
        is_no_news,
        has_usual_refusals: true,
        summary,
        ..ChangeText::new(document(report), report.is_dry_run)
    }
}

fn document<'a>(report: &'a ArchiveReport<'_>) -> ChangeJson<'a> {
    let is_dry_run = report.is_dry_run;
    let items = ItemList::from_items(&report.items, move |item| item_json(item, is_dry_run));
    let details = ArchiveDetails {
        archive: PathJson::from(report.dir.as_path()),
        size_bytes: report.items.iter().map(|item| item.size_bytes).sum(),
        stored_bytes: stored_bytes(report),
        removed_bytes: report.removed_bytes,
    };
    ChangeJson {
        not_planned: report.unread.iter().map(Unplanned::from).collect(),
        warnings: report.warnings.clone(),
        details: Some(CommandMembers::Archive(details)),
        ..ChangeJson::new("archive", is_dry_run, items, report.items.iter().map(|item| &item.done))
    }
}

fn stored_bytes(report: &ArchiveReport<'_>) -> u64 {
    report.items.iter().map(|item| item.stored_bytes).sum()
}

/// Converts an archived session to the JSON contract.
pub(crate) fn item_json<'a>(item: &'a ArchivedItem<'_>, is_dry_run: bool) -> ItemJson<'a> {
    let ArchivedItem { session, done, number, files, size_bytes, stored_bytes, .. } = item;
    let (in_use, state, files, stored_bytes) = (in_use(session), *number, *files, *stored_bytes);
    let size = text::size(*size_bytes);
    let note = match is_dry_run && *done == ItemResult::Done {
        true if stored_bytes == *size_bytes => size,
        true => format!("{size}; the archive would grow by at most {}", text::size(stored_bytes)),
        false => format!("{size}; the archive grew by {}", text::size(stored_bytes)),
    };
    ItemJson {
        size_bytes: *size_bytes,
        shown: ShownItem {
            note: Some(note),
            below: in_use.iter().map(|why| format!("{why}; it is archived as it is now")).collect(),
            word: Some(ReportWords::for_verb("archive").word(is_dry_run)),
            title: Some(table::title(session).into()),
            ..ShownItem::default()
        },
        details: Some(ItemDetails::Archive(ArchiveItem { in_use, state, files, stored_bytes })),
        ..ItemJson::new(Some((session.agent, session.id())), "archive", done, is_dry_run)
    }
}

fn summary(env: &Env, report: &ArchiveReport<'_>) -> ChangeSummary {
    let is_plan = report.is_dry_run;
    let results = report.items.iter().map(|item| &item.done);
    let Totals { done, unchanged, refused, failed, .. } = Totals::from_results(results, false);
    let would = if is_plan { "would be " } else { "" };
    let parts = vec![format!("{would}archived, {unchanged} unchanged")];
    let mut summary = ChangeSummary { subject: text::count(done, "session"), parts, ..ChangeSummary::default() };
    summary.add(refused, "refused");
    summary.add(failed, "failed");
    if !report.unread.is_empty() {
        summary.parts.push(format!("{} could not be read", text::count(report.unread.len(), "path")));
    }
    let dir = env.tilde(&report.dir);
    // Shared files and compression are only known when the archive is written.
    summary.tail = match stored_bytes(report) {
        0 => format!(" Nothing is new in {dir}."),
        bytes if is_plan => format!(" {dir} would grow by at most {}.", text::size(bytes)),
        bytes => format!(" {dir} grew by {}.", text::size(bytes)),
    };
    summary
}

impl Answer for VerifyAnswer {
    fn object(&self) -> (&'static str, impl Serialize) {
        ("archive-verify", self)
    }

    /// Writes the damaged files, and a summary.
    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let Styles { warning, faint, .. } = styles;
        for fault in &self.faults {
            let path = env.tilde(&fault.path);
            let (code, reason) = (fault.kind.name(), text::one_line(&fault.reason));
            writeln!(out, "{warning}{code}{warning:#}  {}  {reason}", text::one_line(&path))?;
            for hurt in &fault.hurt {
                let (id, path) = (text::one_line(&hurt.id), env.tilde(&hurt.path));
                writeln!(
                    out,
                    "      {faint}{} {id}, state {}: {}{faint:#}",
                    hurt.agent,
                    hurt.number,
                    text::one_line(&path)
                )?;
            }
        }
        let hurt: BTreeSet<_> = self.faults.iter().flat_map(|fault| &fault.hurt).map(|at| (at.agent, &at.id)).collect();
        let option = Archive::option(&self.archive, env);
        for (agent, id) in hurt {
            let name = shell::selector(agent, id);
            let command = format!("rejoin archive --full {name}{option}");
            let command = in_home(&command, &env.invocation.elsewhere);
            writeln!(out, "{faint}`{command}` repairs what that session still has.{faint:#}")?;
        }
        if self.faults.iter().any(|fault| fault.kind == FaultKind::MissingManifest) {
            let command =
                in_home(&format!("rejoin archive --every --full{option}"), &env.invocation.elsewhere).into_owned();
            writeln!(out, "{faint}`{command}` forgets states that are gone.{faint:#}")?;
        }
        let Self { archive, sessions, snapshots: states, blobs, stored_bytes, unneeded, .. } = self;
        let verdict = match self.faults.len() {
            0 => "no damage found".to_owned(),
            faults => text::count(faults, "fault"),
        };
        let dir = env.tilde(archive);
        let size = text::size(*stored_bytes);
        writeln!(
            out,
            "{} in {}, {}, {size} in {}: {verdict}.",
            text::count(*sessions, "session"),
            text::count(*states, "state"),
            text::count(*blobs, "blob"),
            text::one_line(&dir)
        )?;
        if self.incomplete > 0 {
            let states = text::count(self.incomplete, "state");
            writeln!(out, "{faint}{states} of other machines: a part is not here, or not yet.{faint:#}")?;
        }
        if *unneeded > 0 {
            let files = text::count(*unneeded, "unneeded file");
            let command = format!("rejoin archive --every{option}");
            let command = in_home(&command, &env.invocation.elsewhere);
            writeln!(out, "{faint}The next `{command}` removes {files}.{faint:#}")?;
        }
        Ok(())
    }
}
