//! A backfill's plan or outcome.

use std::io::{self, Write};

use serde::Serialize;

use crate::agent::amplifier::session_info::FILE_NAME;
use crate::change::apply::backfill::BackfillResult;
use crate::change::plan::backfill::{Action, Item};
use crate::format::command_line::in_home;
use crate::format::{shell, text};
use crate::session::Problem;
use crate::system::env::Env;
use crate::view::render::answer::Answer;
use crate::view::render::items::List;
use crate::view::render::json::{BackfillItemJson, BackfillJson};
use crate::view::render::undo;
use crate::view::ui::Styles;

type Entry = (Item, Option<BackfillResult>);

/// A plan or its outcome.
pub(crate) struct Report<'a> {
    /// Whether nothing was written.
    pub is_dry_run: bool,
    /// Each planned item with what became of it.
    pub entries: &'a [Entry],
    /// The run that wrote something, for `rejoin undo`.
    pub run: Option<&'a str>,
    /// What could not be read.
    pub problems: &'a [Problem],
}

impl Answer for Report<'_> {
    fn object(&self) -> (&'static str, impl Serialize) {
        let Counts { written, kept, refused, failed } = Counts::of(self.entries);
        let fields = BackfillJson {
            items: List::of(self.entries, |(item, done)| item_json(item, done.as_ref())),
            written,
            kept,
            refused,
            failed,
            run: self.run,
            problems: self.problems,
        };
        (if self.is_dry_run { "backfill-plan" } else { "backfill-outcome" }, fields)
    }

    /// Writes a line a session, its evidence below, and a summary.
    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let Styles { warning, faint, .. } = styles;
        for (item, done) in self.entries {
            let result = result(item, done.as_ref());
            let id = text::one_line(&item.id);
            let reason = text::one_line(reason(item, done.as_ref()));
            match &item.action {
                Action::Keep => {}
                Action::Write { working_dir, .. } if !matches!(done, Some(BackfillResult::Failed(_))) => {
                    let dir = text::field(&working_dir.to_string_lossy()).into_owned();
                    writeln!(out, "{result} {id}  {dir}  {faint}({reason}){faint:#}")?;
                }
                _ => writeln!(out, "{warning}{result}{warning:#} {id}  {reason}")?,
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
                    in_home(&format!("rejoin backfill {} --in .", shell::word(&item.id)), &env.elsewhere())
                )?;
            }
        }
        let counts = Counts::of(self.entries);
        writeln!(out, "{}", counts.sentence(self.is_dry_run))?;
        if let Some(run) = self.run {
            undo::hint(out, run, env, styles)?;
        }
        Ok(())
    }

    fn brief(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let counts = Counts::of(self.entries);
        match counts.written + counts.failed {
            _ if self.is_dry_run => self.table(out, env, styles),
            0 => Ok(()),
            _ => writeln!(out, "rejoin backfill: {}{}", counts.sentence(false), undo::hint_in_line(self.run, env)),
        }
    }
}

struct Counts {
    written: usize,
    kept: usize,
    refused: usize,
    failed: usize,
}

impl Counts {
    fn sentence(&self, is_dry_run: bool) -> String {
        let Self { written, kept, refused, failed } = self;
        let verb = if is_dry_run { "would be written" } else { "written" };
        let failed = if *failed > 0 { format!(", {failed} failed") } else { String::new() };
        format!("{written} {verb}, {kept} already good, {refused} refused{failed}.")
    }

    fn of(outcome: &[Entry]) -> Self {
        let count =
            |words: &[&str]| outcome.iter().filter(|(item, done)| words.contains(&result(item, done.as_ref()))).count();
        Self {
            written: count(&["write", "written"]),
            kept: count(&["keep", "kept"]),
            refused: count(&["refuse", "refused"]),
            failed: count(&["failed"]),
        }
    }
}

fn result(item: &Item, done: Option<&BackfillResult>) -> &'static str {
    match (done, &item.action) {
        (None, Action::Write { .. }) => "write",
        (None, Action::Keep) => "keep",
        (None, Action::Refuse { .. }) => "refuse",
        (Some(BackfillResult::Written), _) => "written",
        (Some(BackfillResult::Kept), _) => "kept",
        (Some(BackfillResult::Refused), _) => "refused",
        (Some(BackfillResult::Failed(_)), _) => "failed",
    }
}

fn reason<'a>(item: &'a Item, done: Option<&'a BackfillResult>) -> &'a str {
    match done {
        Some(BackfillResult::Failed(why)) => why,
        _ => &item.reason,
    }
}

fn item_json<'a>(item: &'a Item, done: Option<&'a BackfillResult>) -> BackfillItemJson<'a> {
    let write = match &item.action {
        Action::Write { working_dir, created_at, source } => Some((working_dir, *created_at, *source)),
        _ => None,
    };
    BackfillItemJson {
        id: &item.id,
        path: item.session_dir.join(FILE_NAME).to_string_lossy().into_owned().into(),
        result: result(item, done),
        working_dir: write.map(|(dir, ..)| dir.to_string_lossy()),
        created_at: write.map(|(_, at, _)| at),
        source: write.map(|(.., source)| source),
        reason: reason(item, done),
        evidence: &item.evidence,
    }
}
