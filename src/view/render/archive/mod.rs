//! The results of archiving, the content of the archive, and its soundness.

mod list;
mod show;
mod verify;

use std::io::{self, Write};

use serde::Serialize;

use crate::archive::write::{Item, Report, in_use};
use crate::change::outcome::ItemResult;
use crate::format::path_json::PathJson;
use crate::format::text;
use crate::system::env::Env;
use crate::view::render::answer::Answer;
use crate::view::render::change::not_done;
use crate::view::render::items::List;
use crate::view::render::json::change::{ChangeJson, ItemJson, Totals, kind};
use crate::view::render::json::details::{ArchiveDetails, ArchiveItem, Details, ItemDetails};
use crate::view::render::table;
use crate::view::ui::Styles;

pub(crate) use list::*;
pub(crate) use show::*;

/// Maximum columns of a title.
const TITLE: usize = 60;

/// The sessions that were archived, or would be.
pub(crate) struct Archiving<'a> {
    /// The result of each session.
    pub report: &'a Report<'a>,
    /// Set if nothing was written.
    pub is_dry_run: bool,
}

impl Answer for Archiving<'_> {
    fn object(&self) -> (&'static str, impl Serialize) {
        let Self { report, is_dry_run } = *self;
        let items = List::of(&report.items, move |item| item_json(item, is_dry_run));
        let details = ArchiveDetails {
            archive: PathJson::from(report.dir.as_path()),
            size_bytes: report.items.iter().map(|item| item.size_bytes).sum(),
            stored_bytes: stored_bytes(report),
            removed_bytes: report.removed_bytes,
        };
        let results = report.items.iter().map(|item| &item.done);
        let document = ChangeJson {
            warnings: report.warnings.clone(),
            details: Some(Details::Archive(details)),
            ..ChangeJson::new("archive", is_dry_run, items, results)
        };
        (kind(is_dry_run), document)
    }

    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        text(out, env, styles, self.report, self.is_dry_run)
    }

    /// Writes one line for a run that no one is watching, if something happened.
    fn brief(&self, out: &mut impl Write, env: &Env, _: &Styles) -> io::Result<()> {
        let is_news = |item: &Item<'_>| matches!(item.done, ItemResult::Done | ItemResult::Failed(_));
        let has_news = self.report.items.iter().any(is_news);
        if has_news { writeln!(out, "rejoin archive: {}", sentence(env, self.report, false)) } else { Ok(()) }
    }
}

fn stored_bytes(report: &Report<'_>) -> u64 {
    report.items.iter().map(|item| item.stored_bytes).sum()
}

/// Converts an archived session to the JSON contract.
pub(crate) fn item_json<'a>(item: &'a Item<'_>, is_dry_run: bool) -> ItemJson<'a> {
    let Item { session, done, number, files, size_bytes, stored_bytes, .. } = item;
    let (in_use, state, files, stored_bytes) = (in_use(session), *number, *files, *stored_bytes);
    ItemJson {
        size_bytes: *size_bytes,
        details: Some(ItemDetails::Archive(ArchiveItem { in_use, state, files, stored_bytes })),
        ..ItemJson::new(Some((session.agent, session.id())), "archive", done, is_dry_run)
    }
}

/// Writes one line per session that was not there already, and a summary.
fn text(out: &mut impl Write, env: &Env, styles: &Styles, report: &Report<'_>, is_dry_run: bool) -> io::Result<()> {
    let faint = styles.faint;
    for item in report.items.iter().filter(|item| item.done != ItemResult::Unchanged) {
        let label = format!("{} {}", item.session.agent, item.session.id());
        if !not_done(out, styles, &label, &item.done)? {
            let (verb, new) = if is_dry_run { ("would archive", "would be added") } else { ("archived", "added") };
            let (label, size) = (text::one_line(&label), text::size(item.size_bytes));
            let most = if is_dry_run { "at most " } else { "" };
            let new = match item.stored_bytes {
                bytes if is_dry_run && bytes == item.size_bytes => String::new(),
                bytes => format!(", {most}{} {new}", text::size(bytes)),
            };
            let title = table::title(item.session);
            let title = text::truncated(&title, env.terminal.room(TITLE));
            writeln!(out, "{verb}  {label}  {title}  {faint}({size}{new}){faint:#}")?;
        }
        if let Some(why) = in_use(item.session) {
            writeln!(out, "      {faint}{}; it is archived as it is now{faint:#}", text::one_line(&why))?;
        }
    }
    writeln!(out, "{}", sentence(env, report, is_dry_run))
}

fn sentence(env: &Env, report: &Report<'_>, is_dry_run: bool) -> String {
    let results = report.items.iter().map(|item| &item.done);
    let Totals { done, unchanged, refused, failed, .. } = Totals::of(results, false);
    let verb = if is_dry_run { "to archive" } else { "archived" };
    let mut line = format!("{done} {verb}, {unchanged} unchanged");
    for (count, what) in [(refused, "refused"), (failed, "failed")].iter().filter(|(count, _)| *count > 0) {
        line.push_str(&format!(", {count} {what}"));
    }
    let dir = env.tilde(&report.dir);
    // Shared files and compression are only known when the archive is written.
    let new = match stored_bytes(report) {
        0 => "Nothing".to_owned(),
        bytes if is_dry_run => format!("At most {}", text::size(bytes)),
        bytes => text::size(bytes),
    };
    format!("{line}. {new} new in {}.", text::one_line(&dir))
}
