//! Sessions in numbers: bars for users, lines for pipes, JSON for scripts.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::cli::Format;
use crate::format::text;
use crate::session::stats::{SessionTally, StatsKey};
use crate::session::usage::Tokens;
use crate::system::env::Env;
use crate::view::grid::{self, Column, Fit};
use crate::view::render::answer::Answer;
use crate::view::render::rows;
use crate::view::render::table::shown_dir;
use crate::view::ui::Styles;

/// Maximum rows of a group that are shown to users by default.
const MAX_ROWS: usize = 10;
/// Maximum columns of a bar.
const MAX_BAR: usize = 24;
/// Minimum width of a name; numbers are dropped before it shrinks below.
const LEAST_NAME: usize = 24;

/// The answer of `stats`.
#[derive(Debug, Serialize)]
pub(crate) struct Stats {
    /// The sessions by each requested key.
    pub rows: Vec<StatsRow>,
    /// The numbers of all sessions together.
    pub total: SessionTally,
    /// Set to show every row to users.
    #[serde(skip)]
    pub is_whole: bool,
}

/// The sessions of one value of a key.
#[derive(Debug, Serialize)]
pub(crate) struct StatsRow {
    /// The key of the group.
    pub by: StatsKey,
    /// The agent, the directory, the model, the Monday of the week, or the agent and id of the session; `null` when it is not known.
    pub key: Option<String>,
    /// The numbers of the group.
    #[serde(flatten)]
    pub tally: SessionTally,
    /// The short id and the title of a session for users.
    #[serde(skip)]
    pub label: Option<(String, String)>,
}

/// The columns of rows.
const COLUMNS: [&str; 11] = [
    "by",
    "key",
    "sessions",
    "prompts",
    "replies",
    "size_bytes",
    "active_days",
    "input",
    "cached",
    "output",
    "cost_usd",
];

impl StatsRow {
    fn cells(&self) -> [String; 11] {
        let SessionTally { sessions, prompts, replies, size_bytes, days, tokens, cost, .. } = &self.tally;
        let number = |of: fn(&Tokens) -> u64| tokens.as_ref().map(|it| of(it).to_string()).unwrap_or_default();
        [
            self.by.name().to_owned(),
            self.key.clone().unwrap_or_default(),
            sessions.to_string(),
            prompts.to_string(),
            replies.to_string(),
            size_bytes.to_string(),
            days.len().to_string(),
            number(|it| it.input),
            number(|it| it.cached),
            number(|it| it.output),
            cost.map(|cost| cost.dollars().to_string()).unwrap_or_default(),
        ]
    }
}

impl Stats {
    fn text(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let width = env.terminal.columns();
        let SessionTally { sessions, prompts, replies, size_bytes, output_bytes, days, tokens, cost, cost_sessions } =
            &self.total;
        let mut clauses = vec![
            text::count(*sessions, "session"),
            text::count(*prompts, "prompt"),
            text::count(*replies, "reply"),
            text::size(*size_bytes),
            format!("{} with activity", text::count(days.len() as u64, "day")),
        ];
        clauses.extend(
            (*output_bytes > 0).then(|| format!("{} of output of background tasks", text::size(*output_bytes))),
        );
        clauses.extend(tokens.iter().flat_map(in_words));
        clauses.extend(cost.map(|cost| match *cost_sessions {
            0 => format!("{cost} recorded for sub-agents"),
            known => format!("{cost} recorded for {known} of {}", text::count(*sessions, "session")),
        }));
        for line in text::flowed("In all:", &clauses, width) {
            writeln!(out, "{line}")?;
        }
        for group in self.rows.chunk_by(|row, next| row.by == next.by) {
            writeln!(out)?;
            self.group(out, group, width, env, styles)?;
        }
        Ok(())
    }

    fn group(
        &self,
        out: &mut impl Write,
        all: &[StatsRow],
        width: usize,
        env: &Env,
        styles: &Styles,
    ) -> io::Result<()> {
        let Styles { header, strong, faint, .. } = styles;
        let Some(by) = all.first().map(|row| row.by) else { return Ok(()) };
        let skipped = if self.is_whole { 0 } else { all.len().saturating_sub(MAX_ROWS) };
        // By week, the last rows are shown, by other keys the first.
        let shown = if by == StatsKey::Week { &all[skipped..] } else { &all[..all.len() - skipped] };
        let fit = if by == StatsKey::Project { Fit::Path } else { Fit::Text };
        let tallies = shown.iter().map(|row| &row.tally);
        let mut columns = vec![
            Column::new(&by.name().to_uppercase(), fit, shown.iter().map(|row| name(row, env))),
            Column::new("SESSIONS", Fit::Number, tallies.clone().map(|tally| tally.sessions.to_string())),
            Column::new("PROMPTS", Fit::Number, tallies.clone().map(|tally| tally.prompts.to_string())),
            Column::new("SIZE", Fit::Number, tallies.clone().map(|tally| text::size(tally.size_bytes))),
            Column::new("DAYS", Fit::Number, tallies.clone().map(|tally| tally.days.len().to_string())),
        ];
        if self.total.tokens.is_some() {
            let both = |it: Tokens| text::short(it.total());
            columns.push(Column::new(
                "TOKENS",
                Fit::Number,
                tallies.clone().map(|tally| tally.tokens.map(both).unwrap_or_default()),
            ));
        }
        if self.total.cost.is_some() {
            let cost = |tally: &SessionTally| tally.cost.map(|cost| cost.to_string()).unwrap_or_default();
            columns.push(Column::new("COST", Fit::Number, tallies.map(cost)));
        }
        while columns.len() > 2 && grid::needed(&columns, [LEAST_NAME; 2]) > width {
            columns.pop();
        }
        if by == StatsKey::Session {
            columns.remove(1);
        }
        let bar = width.saturating_sub(grid::needed(&columns, [usize::MAX; 2]) + 2).min(MAX_BAR);
        if bar > 0 && by != StatsKey::Session {
            let most = shown.iter().map(|row| row.tally.sessions).max().unwrap_or(1).max(1);
            let bars = shown.iter().map(|row| bar_of(row.tally.sessions, most, bar));
            columns.push(Column::new("", Fit::Whole, bars).styled(*strong));
        }
        grid::write(out, columns, width, *header)?;
        if skipped > 0 {
            let which = if by == StatsKey::Week { "earlier" } else { "more" };
            writeln!(out, "{faint}{skipped} {which}: rejoin stats --by {}{faint:#}", by.name())?;
        }
        Ok(())
    }
}

/// Formats tokens in words: those that models read, and those that they wrote.
pub(super) fn in_words(tokens: &Tokens) -> [String; 2] {
    let Tokens { input, cached, output } = *tokens;
    let of_cache = if cached == 0 { String::new() } else { format!(" ({} of them from a cache)", text::short(cached)) };
    [format!("{} tokens read{of_cache}", text::short(input)), format!("{} tokens written", text::short(output))]
}

/// Returns a bar of blocks; its last block may be narrower.
fn bar_of(count: u64, most: u64, width: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = usize::try_from((count * 8 * width as u64).div_ceil(most)).unwrap_or(0);
    format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8])
}

fn name(row: &StatsRow, env: &Env) -> String {
    match (row.by, row.key.as_deref()) {
        (_, None) => "(unknown)".to_owned(),
        (StatsKey::Project, Some(dir)) => text::one_line(&shown_dir(Path::new(dir), env)).into_owned(),
        (StatsKey::Session, Some(key)) => {
            let (agent, id) = key.split_once(':').unwrap_or_default();
            let (short, title) = row.label.as_ref().map_or((id, ""), |(short, title)| (short, title));
            text::one_line(&format!("{agent} {short} {title}")).into_owned()
        }
        (_, Some(key)) => text::one_line(key).into_owned(),
    }
}

impl Answer for Stats {
    fn object(&self) -> (&'static str, impl Serialize) {
        ("stats", self)
    }

    fn is_list(&self) -> bool {
        true
    }

    fn rows(&self, out: &mut impl Write, format: Format) -> io::Result<()> {
        rows::head(out, format, COLUMNS)?;
        self.rows.iter().try_for_each(|row| rows::row(out, format, row.cells()))
    }

    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        self.text(out, env, styles)
    }
}
