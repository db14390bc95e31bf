//! What was archived, what the archive holds, and whether it is sound.

mod list;
mod show;
mod verify;

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;

use crate::archive::write::{ArchiveResult, Item, Report, in_use};
use crate::format::text;
use crate::session::AgentKind;
use crate::system::env::Env;
use crate::view::render::answer::Answer;
use crate::view::render::items::List;
use crate::view::render::json::PathJson;
use crate::view::render::table;
use crate::view::ui::Styles;

pub(crate) use list::*;
pub(crate) use show::*;
pub(crate) use verify::*;

/// How many columns a title may have.
const TITLE: usize = 60;

/// The answer of `archive`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Archive", deny_unknown_fields)]
pub(crate) struct ArchiveJson<'a> {
    /// The archive's directory.
    pub archive: PathJson<'a>,
    /// Every session that was meant.
    pub items: List<'a, ArchiveItemJson<'a>>,
    #[serde(flatten)]
    pub summary: ArchiveSummary<'a>,
}

/// One session and what became of it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ArchiveItem", deny_unknown_fields)]
pub(crate) struct ArchiveItemJson<'a> {
    /// The agent that the session belongs to.
    pub agent: AgentKind,
    /// The full id.
    pub id: &'a str,
    /// `planned` in a plan; `archived`, `unchanged` (it is there already), `refused` (it cannot be archived) or
    /// `failed`.
    pub result: &'a str,
    /// Why it was refused or failed; `null` when it was not.
    pub reason: Option<&'a str>,
    /// Why it may have been in use while it was copied; `null` when it was not.
    pub in_use: Option<String>,
    /// Which state of it is the newest in the archive; `null` when none is.
    pub state: Option<u64>,
    /// How many files it has.
    pub files: usize,
    /// Their bytes.
    pub size_bytes: u64,
    /// The bytes that were written for it; in a plan, the most that it can be.
    pub stored_bytes: u64,
}

/// How many sessions came to what.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ArchiveSummary<'a> {
    /// How many were archived, or would be.
    pub archived: usize,
    /// How many are there already.
    pub unchanged: usize,
    /// How many cannot be archived.
    pub refused: usize,
    /// How many failed.
    pub failed: usize,
    /// The bytes of all of them.
    pub size_bytes: u64,
    /// The bytes that were written; in a plan, the most that it can be.
    pub stored_bytes: u64,
    /// The bytes that were removed, because nothing needs them any more.
    pub removed_bytes: u64,
    /// What else went wrong, a line each.
    pub warnings: &'a [String],
}

/// What was archived, or would be.
pub(crate) struct Archiving<'a> {
    /// What became of each session.
    pub report: &'a Report<'a>,
    /// Whether nothing was written.
    pub is_dry_run: bool,
}

impl Answer for Archiving<'_> {
    fn object(&self) -> (&'static str, impl Serialize) {
        let Self { report, is_dry_run, .. } = *self;
        let fields = ArchiveJson {
            archive: PathJson::from(report.dir.as_path()),
            items: List::of(&report.items, move |item| item_json(item, is_dry_run)),
            summary: summary(report),
        };
        (if is_dry_run { "archive-plan" } else { "archive-outcome" }, fields)
    }

    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        text(out, env, styles, self.report, self.is_dry_run)
    }

    fn brief(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        if self.is_dry_run { self.table(out, env, styles) } else { line(out, env, self.report) }
    }
}

fn summary<'a>(report: &'a Report<'_>) -> ArchiveSummary<'a> {
    let count = |is: fn(&ArchiveResult) -> bool| report.items.iter().filter(|item| is(&item.done)).count();
    ArchiveSummary {
        archived: count(|done| *done == ArchiveResult::Archived),
        unchanged: count(|done| *done == ArchiveResult::Unchanged),
        refused: count(|done| matches!(done, ArchiveResult::Refused(_))),
        failed: count(|done| matches!(done, ArchiveResult::Failed(_))),
        size_bytes: report.items.iter().map(|item| item.size_bytes).sum(),
        stored_bytes: report.items.iter().map(|item| item.stored_bytes).sum(),
        removed_bytes: report.removed_bytes,
        warnings: &report.warnings,
    }
}

fn item_json<'a>(item: &'a Item<'_>, is_dry_run: bool) -> ArchiveItemJson<'a> {
    let (result, reason) = match &item.done {
        ArchiveResult::Archived if is_dry_run => ("planned", None),
        ArchiveResult::Archived => ("archived", None),
        ArchiveResult::Unchanged => ("unchanged", None),
        ArchiveResult::Refused(why) => ("refused", Some(why.as_str())),
        ArchiveResult::Failed(why) => ("failed", Some(why.as_str())),
    };
    ArchiveItemJson {
        agent: item.session.agent,
        id: &item.session.id,
        result,
        reason,
        in_use: in_use(item.session),
        state: item.number,
        files: item.files,
        size_bytes: item.size_bytes,
        stored_bytes: item.stored_bytes,
    }
}

/// Writes a line for each session that was not there already, and a summary.
fn text(out: &mut impl Write, env: &Env, styles: &Styles, report: &Report<'_>, is_dry_run: bool) -> io::Result<()> {
    let Styles { warning, faint, .. } = styles;
    for item in &report.items {
        let label = format!("{} {}", item.session.agent, text::one_line(&item.session.id));
        match &item.done {
            ArchiveResult::Unchanged => continue,
            ArchiveResult::Refused(why) => {
                writeln!(out, "{warning}refused{warning:#}  {label}  {}", text::one_line(why))?
            }
            ArchiveResult::Failed(why) => {
                writeln!(out, "{warning}failed{warning:#}  {label}  {}", text::one_line(why))?
            }
            ArchiveResult::Archived => {
                let (verb, new) =
                    if is_dry_run { ("would archive", "new") } else { ("archived", "new with its manifest") };
                let size = text::size(item.size_bytes);
                let new = match is_dry_run && item.stored_bytes == item.size_bytes {
                    true => String::new(),
                    false => {
                        format!("; {}{} {new}", if is_dry_run { "at most " } else { "" }, text::size(item.stored_bytes))
                    }
                };
                let title = table::title(item.session);
                let title = text::truncated(&title, TITLE);
                writeln!(out, "{verb}  {label}  {title}  {faint}({size}{new}){faint:#}")?;
            }
        }
        if let Some(why) = in_use(item.session) {
            writeln!(out, "      {faint}{}; it is archived as it is now{faint:#}", text::one_line(&why))?;
        }
    }
    writeln!(out, "{}", sentence(env, report, is_dry_run))
}

fn sentence(env: &Env, report: &Report<'_>, is_dry_run: bool) -> String {
    let ArchiveSummary { archived, unchanged, refused, failed, stored_bytes, .. } = summary(report);
    let verb = if is_dry_run { "to archive" } else { "archived" };
    let mut line = format!("{archived} {verb}, {unchanged} unchanged");
    for (count, what) in [(refused, "refused"), (failed, "failed")].iter().filter(|(count, _)| *count > 0) {
        line.push_str(&format!(", {count} {what}"));
    }
    let dir = env.tilde(&report.dir);
    // What other sessions have in common, and compression, are known when it is written.
    let new = match stored_bytes {
        0 => "Nothing".to_owned(),
        bytes if is_dry_run => format!("At most {}", text::size(bytes)),
        bytes => text::size(bytes),
    };
    format!("{line}. {new} new in {}.", text::one_line(&dir))
}

/// Writes one line for a run that no one is watching, if something happened.
fn line(out: &mut impl Write, env: &Env, report: &Report<'_>) -> io::Result<()> {
    let has_news =
        report.items.iter().any(|item| matches!(item.done, ArchiveResult::Archived | ArchiveResult::Failed(_)));
    if has_news { writeln!(out, "rejoin archive: {}", sentence(env, report, false)) } else { Ok(()) }
}
