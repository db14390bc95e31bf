//! What is in the trash, and what was purged from it.

use std::io::{self, Write};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::change::apply::trash::{Entry, Purged};
use crate::format::text;
use crate::session::AgentKind;
use crate::system::env::Env;
use crate::view::render::json::{FORMAT_VERSION, HeaderJson};
use crate::view::render::write_line;
use crate::view::ui::Styles;

/// The answer of `trash list`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TrashList", deny_unknown_fields)]
pub(crate) struct TrashListJson<'a> {
    /// The version of the contract.
    pub format_version: &'a str,
    /// `trash-list`.
    pub kind: &'a str,
    /// What is in it, newest run first.
    pub entries: Vec<TrashEntryJson<'a>>,
    /// All of it, in bytes.
    pub size_bytes: u64,
}

/// Something in the trash.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TrashEntry", deny_unknown_fields)]
pub(crate) struct TrashEntryJson<'a> {
    /// What to type to mean it: RUN/ITEM.
    pub entry: String,
    /// The run that took it away.
    pub run: &'a str,
    /// The verb of that run.
    pub verb: &'a str,
    /// When that run began.
    pub at: Timestamp,
    /// Whose session it is about; `null` when it is about none.
    pub agent: Option<AgentKind>,
    /// The session's full id; `null` when it is about none.
    pub id: Option<&'a str>,
    /// The stable name of the reason.
    pub code: &'a str,
    /// Why it was taken away.
    pub reason: &'a str,
    /// Where it was.
    pub paths: Vec<String>,
    /// Its bytes.
    pub size_bytes: u64,
}

/// The last line of an ndjson answer of `trash list`.
#[derive(Debug, Serialize)]
struct TrashSummary {
    kind: &'static str,
    entries: usize,
    size_bytes: u64,
}

/// Returns what to type to mean an entry.
pub(crate) fn name(entry: &Entry<'_>) -> String {
    format!("{}/{}", entry.run.id, entry.item)
}

fn entry_json<'a>(entry: &Entry<'a>) -> TrashEntryJson<'a> {
    let (record, _) = &entry.run.items[entry.item];
    TrashEntryJson {
        entry: name(entry),
        run: &entry.run.id,
        verb: &entry.run.verb,
        at: entry.run.at,
        agent: record.agent,
        id: record.id.as_deref(),
        code: &record.code,
        reason: &record.reason,
        paths: record.steps.iter().map(|step| step.path().to_string_lossy().into_owned()).collect(),
        size_bytes: entry.size_bytes,
    }
}

fn size(entries: &[Entry<'_>]) -> u64 {
    entries.iter().map(|entry| entry.size_bytes).sum()
}

/// Writes a line an entry, and the sum.
pub(crate) fn text(out: &mut impl Write, env: &Env, styles: &Styles, entries: &[Entry<'_>]) -> io::Result<()> {
    let Styles { strong, faint, .. } = styles;
    for entry in entries {
        let (record, _) = &entry.run.items[entry.item];
        let (name, verb, when) = (name(entry), &entry.run.verb, text::ago(Some(entry.run.at), env.now));
        let (label, size) = (text::one_line(&record.label), text::size(entry.size_bytes));
        writeln!(out, "{strong}{name}{strong:#}  {verb}  {label}  {size}  {faint}{when}{faint:#}")?;
        writeln!(out, "      {faint}{}{faint:#}", text::one_line(&record.reason))?;
    }
    writeln!(
        out,
        "{} in the trash, {}. `rejoin trash restore RUN/ITEM` puts one back.",
        entries.len(),
        text::size(size(entries))
    )
}

/// Writes one object.
pub(crate) fn json(out: &mut impl Write, entries: &[Entry<'_>]) -> io::Result<()> {
    let size_bytes = size(entries);
    let entries = entries.iter().map(entry_json).collect();
    write_line(out, &TrashListJson { format_version: FORMAT_VERSION, kind: "trash-list", entries, size_bytes })
}

/// Writes a header, a line an entry, and a summary.
pub(crate) fn ndjson(out: &mut impl Write, entries: &[Entry<'_>]) -> io::Result<()> {
    write_line(out, &HeaderJson { format_version: FORMAT_VERSION, kind: "trash-list" })?;
    entries.iter().try_for_each(|entry| write_line(out, &entry_json(entry)))?;
    write_line(out, &TrashSummary { kind: "summary", entries: entries.len(), size_bytes: size(entries) })
}

/// The answer of `trash purge`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PurgeOutcome", deny_unknown_fields)]
pub(crate) struct PurgeJson<'a> {
    /// The version of the contract.
    pub format_version: &'a str,
    /// `purge-outcome`.
    pub kind: &'a str,
    /// The runs whose trash is gone for good.
    pub runs: &'a [String],
    /// The bytes that became free.
    pub freed_bytes: u64,
    /// What could not be deleted, a line each.
    pub failed: &'a [String],
}

/// Writes what was deleted.
pub(crate) fn purged_text(out: &mut impl Write, styles: &Styles, purged: &Purged) -> io::Result<()> {
    let Styles { warning, .. } = styles;
    for failed in &purged.failed {
        writeln!(out, "{warning}failed{warning:#}  {}", text::one_line(failed))?;
    }
    let count = purged.runs.len();
    writeln!(out, "What {count} {} took away is deleted: {}.", plural(count), text::size(purged.freed_bytes))
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "run" } else { "runs" }
}

/// Writes one object.
pub(crate) fn purged_json(out: &mut impl Write, purged: &Purged) -> io::Result<()> {
    let Purged { runs, freed_bytes, failed } = purged;
    let kind = "purge-outcome";
    write_line(out, &PurgeJson { format_version: FORMAT_VERSION, kind, runs, freed_bytes: *freed_bytes, failed })
}

/// Writes a header, a line a run, and a summary.
pub(crate) fn purged_ndjson(out: &mut impl Write, purged: &Purged) -> io::Result<()> {
    #[derive(Serialize)]
    struct Line<'a> {
        run: &'a str,
    }
    #[derive(Serialize)]
    struct Summary<'a> {
        kind: &'static str,
        freed_bytes: u64,
        failed: &'a [String],
    }
    write_line(out, &HeaderJson { format_version: FORMAT_VERSION, kind: "purge-outcome" })?;
    purged.runs.iter().try_for_each(|run| write_line(out, &Line { run }))?;
    write_line(out, &Summary { kind: "summary", freed_bytes: purged.freed_bytes, failed: &purged.failed })
}
