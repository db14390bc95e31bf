//! The contents of the trash, and the purged ones.

use std::io::{self, Write};

use jiff::Timestamp;
use serde::Serialize;

use crate::change::apply::in_use::agent_of;
use crate::change::outcome::ItemResult;
use crate::format::command_line::in_home;
use crate::format::text;
use crate::session::AgentKind;
use crate::system::env::Env;
use crate::view::grid::{self, Column, Fit};
use crate::view::render::answer::Answer;
use crate::view::render::items::List;
use crate::view::render::json::change::{ChangeJson, ItemJson, Totals, kind};
use crate::view::render::json::details::{ItemDetails, PurgeItem};
use crate::view::ui::Styles;
use changes::journal::ItemRecord;
use changes::trash::{Entry, Purged};

/// The answer of `trash list`.
#[derive(Serialize)]
pub(crate) struct TrashListJson<'a> {
    /// The entries, newest run first.
    pub entries: List<'a, TrashEntryJson<'a>>,
    /// Bytes of all entries.
    pub size_bytes: u64,
}

/// Something in the trash.
#[derive(Debug, Serialize)]
pub(crate) struct TrashEntryJson<'a> {
    /// The name of the entry for commands: RUN/NUMBER.
    pub entry: String,
    /// The run that took it away.
    pub run: &'a str,
    /// The verb of that run.
    pub verb: &'a str,
    /// When that run began.
    pub at: Timestamp,
    /// The agent that the session belongs to; `null` if it is about no session.
    pub agent: Option<AgentKind>,
    /// The session's full id; `null` if it is about no session.
    pub id: Option<&'a str>,
    /// The title of the session; `null` if it is not known.
    pub title: Option<&'a str>,
    /// The stable name of the reason.
    pub code: &'a str,
    /// Why it was taken away.
    pub reason: &'a str,
    /// The original paths.
    pub paths: Vec<String>,
    /// Its bytes.
    pub size_bytes: u64,
}

/// Returns the name of an entry for the command line.
pub(crate) fn name(entry: &Entry<'_>) -> String {
    format!("{}/{}", entry.run.id, entry.item)
}

fn record<'a>(entry: &Entry<'a>) -> &'a ItemRecord {
    &entry.run.items[entry.item].0
}

fn entry_json<'a>(entry: &Entry<'a>) -> TrashEntryJson<'a> {
    let record = record(entry);
    TrashEntryJson {
        entry: name(entry),
        run: &entry.run.id,
        verb: &entry.run.verb,
        at: entry.run.at,
        agent: agent_of(record),
        id: record.id.as_deref(),
        title: record.title.as_deref(),
        code: &record.code,
        reason: &record.reason,
        paths: record.steps.iter().map(|step| step.path().to_string_lossy().into_owned()).collect(),
        size_bytes: entry.size_bytes,
    }
}

impl Answer for [Entry<'_>] {
    const COUNTS_ITEMS: bool = true;

    fn object(&self) -> (&'static str, impl Serialize) {
        let size_bytes = self.iter().map(|entry| entry.size_bytes).sum();
        ("trash-list", TrashListJson { entries: List::of(self, entry_json), size_bytes })
    }

    fn is_list(&self) -> bool {
        true
    }

    /// Writes two lines per entry, and the sum.
    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let Styles { strong, faint, .. } = styles;
        let columns = vec![
            Column::new("", Fit::Whole, self.iter().map(name)).styled(*strong),
            Column::new("", Fit::Whole, self.iter().map(|entry| text::one_line(&entry.run.verb))),
            Column::new("", Fit::Whole, self.iter().map(|entry| text::one_line(&record(entry).label))),
            Column::new("", Fit::Number, self.iter().map(|entry| text::size(entry.size_bytes))),
            Column::new("", Fit::Whole, self.iter().map(|entry| text::ago(Some(entry.run.at), env.clock.now)))
                .styled(*faint),
        ];
        for (line, entry) in grid::lines(columns, usize::MAX).zip(self) {
            writeln!(out, "{line}")?;
            let ItemRecord { title, reason, .. } = record(entry);
            let about = match title {
                Some(title) if title != reason => format!("{title} ({reason})"),
                _ => reason.clone(),
            };
            writeln!(out, "      {faint}{}{faint:#}", text::one_line(&about))?;
        }
        if self.is_empty() {
            return Ok(());
        }
        let size = text::size(self.iter().map(|entry| entry.size_bytes).sum());
        let count = text::count(self.len(), "entry");
        let command = self.first().map(|first| first.run.undo_of(first.item)).unwrap_or_default();
        writeln!(
            out,
            "{count} in the trash, {size}. `{}` puts the first one back.",
            in_home(&command, &env.invocation.elsewhere)
        )
    }
}

impl Answer for Purged {
    fn object(&self) -> (&'static str, impl Serialize) {
        let is_plan = self.is_dry_run;
        let item = move |at: usize| ItemJson {
            details: Some(ItemDetails::Purge(PurgeItem { run: &self.runs[at] })),
            ..ItemJson::new(None, "purge", &ItemResult::Done, is_plan)
        };
        let results = self.runs.iter().map(|_| &ItemResult::Done);
        let document = ChangeJson::new("trash purge", is_plan, List::counted(self.runs.len(), item), results);
        let totals = Totals { freed_bytes: self.freed_bytes, ..document.totals };
        (kind(is_plan), ChangeJson { totals, warnings: self.failed.clone(), ..document })
    }

    /// Writes the deleted runs.
    fn table(&self, out: &mut impl Write, _: &Env, styles: &Styles) -> io::Result<()> {
        let Styles { warning, .. } = styles;
        for failed in &self.failed {
            writeln!(out, "{warning}failed{warning:#}  {}", text::one_line(failed))?;
        }
        if self.runs.is_empty() {
            return writeln!(out, "Nothing to purge.");
        }
        let runs = text::count(self.runs.len(), "run");
        if self.is_dry_run {
            return writeln!(out, "This would purge what {runs} removed: {} freed.", text::size(self.freed_bytes));
        }
        writeln!(out, "Purged what {runs} removed: {} freed.", text::size(self.freed_bytes))
    }

    fn brief(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        if self.runs.is_empty() && self.failed.is_empty() { Ok(()) } else { self.table(out, env, styles) }
    }
}
