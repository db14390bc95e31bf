//! The results of archiving, the content of the archive, and its soundness.

mod list;
mod show;

use std::collections::BTreeSet;
use std::io::{self, Write};

use serde::Serialize;

use crate::archive::Archive;
use crate::archive::verify::{FaultKind, Verdict};
use crate::archive::write::{Item, Report, in_use};
use crate::change::outcome::ItemResult;
use crate::change::plan::change::Unplanned;
use crate::format::command_line::in_home;
use crate::format::path_json::PathJson;
use crate::format::{shell, text};
use crate::session::Problem;
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

impl Answer for Report<'_> {
    fn object(&self) -> (&'static str, impl Serialize) {
        let is_dry_run = self.is_dry_run;
        let items = List::of(&self.items, move |item| item_json(item, is_dry_run));
        let details = ArchiveDetails {
            archive: PathJson::from(self.dir.as_path()),
            size_bytes: self.items.iter().map(|item| item.size_bytes).sum(),
            stored_bytes: stored_bytes(self),
            removed_bytes: self.removed_bytes,
        };
        let results = self.items.iter().map(|item| &item.done);
        let document = ChangeJson {
            not_planned: self.unread.iter().map(Unplanned::from).collect(),
            warnings: self.warnings.clone(),
            details: Some(Details::Archive(details)),
            ..ChangeJson::new("archive", is_dry_run, items, results)
        };
        (kind(is_dry_run), document)
    }

    /// Writes one line per session that was not there already, and a summary.
    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let is_dry_run = self.is_dry_run;
        let faint = styles.faint;
        for item in self.items.iter().filter(|item| item.done != ItemResult::Unchanged) {
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
        writeln!(out, "{}", sentence(env, self))
    }

    /// Writes one line for a run that no one is watching, if something happened.
    fn brief(&self, out: &mut impl Write, env: &Env, _: &Styles) -> io::Result<()> {
        let is_news = |item: &Item<'_>| matches!(item.done, ItemResult::Done | ItemResult::Failed(_));
        let has_news = self.items.iter().any(is_news) || !self.unread.is_empty();
        if has_news { writeln!(out, "rejoin archive: {}", sentence(env, self)) } else { Ok(()) }
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

fn sentence(env: &Env, report: &Report<'_>) -> String {
    let is_dry_run = report.is_dry_run;
    let results = report.items.iter().map(|item| &item.done);
    let Totals { done, unchanged, refused, failed, .. } = Totals::of(results, false);
    let verb = if is_dry_run { "to archive" } else { "archived" };
    let mut line = format!("{done} {verb}, {unchanged} unchanged");
    for (count, what) in [(refused, "refused"), (failed, "failed")].iter().filter(|(count, _)| *count > 0) {
        line.push_str(&format!(", {count} {what}"));
    }
    if let Some(Problem { path, reason }) = report.unread.first() {
        let paths = text::count(report.unread.len(), "path");
        let (path, reason) = (env.tilde(path), text::one_line(reason));
        line.push_str(&format!(", {paths} could not be read ({}: {reason})", text::one_line(&path)));
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

impl Answer for Verdict {
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
            let name = format!("{agent}:{id}");
            let command = format!("rejoin archive --full {}{option}", shell::word(&name));
            let command = in_home(&command, &env.invocation.elsewhere);
            writeln!(out, "{faint}`{command}` repairs what that session still has.{faint:#}")?;
        }
        if self.faults.iter().any(|fault| fault.kind == FaultKind::MissingManifest) {
            let command =
                in_home(&format!("rejoin archive --every --full{option}"), &env.invocation.elsewhere).into_owned();
            writeln!(out, "{faint}`{command}` forgets states that are gone for good.{faint:#}")?;
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
