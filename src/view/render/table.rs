//! Listings for people and for pipes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};
use unicode_width::UnicodeWidthStr as _;

use crate::format::text;
use crate::session::select::ShortIds;
use crate::session::{Health, Liveness, Session, SessionKind};
use crate::system::env::Env;
use crate::view::ui::Styles;

/// Blanks between two columns.
const GAP: usize = 2;
/// The least that a title and a directory are worth showing in, and the most that a directory gets.
const NARROWEST_TITLE: usize = 14;
const NARROWEST_DIR: usize = 12;
const WIDEST_DIR: usize = 40;
/// Room for the marks on a narrow terminal.
const NARROWEST_MARKS: usize = 14;
/// What a table is fitted to where the terminal does not tell its width.
pub(super) const DEFAULT_WIDTH: u16 = 120;

/// The columns in their order; narrow terminals do without some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "UPPERCASE")]
enum Column {
    Agent,
    Id,
    Title,
    Directory,
    Active,
    Size,
    Prompts,
    Replies,
    Marks,
}

impl Column {
    fn name(self) -> &'static str {
        self.into()
    }

    fn is_number(self) -> bool {
        matches!(self, Self::Size | Self::Prompts | Self::Replies)
    }
}

/// Writes a table with these short ids, or without them lines for a pipe.
pub(crate) fn listing(
    out: &mut impl Write,
    env: &Env,
    styles: &Styles,
    sessions: &[Session],
    short: Option<&ShortIds>,
) -> io::Result<()> {
    match short {
        Some(short) => self::sessions(out, env, styles, sessions, short),
        None => lines(out, sessions),
    }
}

/// Writes a table that fits the terminal, one line a session.
fn sessions(
    out: &mut impl Write,
    env: &Env,
    styles: &Styles,
    sessions: &[Session],
    short: &ShortIds,
) -> io::Result<()> {
    if sessions.is_empty() {
        return Ok(());
    }
    let mut rows: Vec<BTreeMap<Column, String>> =
        sessions.iter().map(|session| row(session, short.get(session), env)).collect();
    if sessions.iter().all(|session| session.copy().prompts.is_none()) {
        drop_column(&mut rows, Column::Prompts);
        drop_column(&mut rows, Column::Replies);
    }
    fit(&mut rows, usize::from(env.width.unwrap_or(DEFAULT_WIDTH)));

    let columns: Vec<Column> = rows[0].keys().copied().collect();
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(columns.iter().map(|column| column.name()));
    for row in rows {
        table.add_row(row.into_values().map(Cell::new_owned));
    }
    for (at, name) in columns.iter().enumerate() {
        if let Some(column) = table.column_mut(at) {
            column.set_padding((0, u16::try_from(GAP).unwrap_or_default()));
            if name.is_number() {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    let bold = styles.header;
    for (at, line) in table.lines().enumerate() {
        let line = line.trim_end();
        if at == 0 {
            writeln!(out, "{bold}{line}{bold:#}")?;
        } else {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

fn row(session: &Session, id: &str, env: &Env) -> BTreeMap<Column, String> {
    let copy = session.copy();
    let dir = session.launch_dir().map_or_else(|| "?".to_owned(), |dir| env.tilde(dir));
    let count = |count: Option<u64>| count.map_or_else(String::new, |count| count.to_string());
    BTreeMap::from([
        (Column::Agent, session.agent.name().to_owned()),
        (Column::Id, text::one_line(id).into_owned()),
        (Column::Title, title(session)),
        (Column::Directory, text::one_line(&dir).into_owned()),
        (Column::Active, active(session, env)),
        (Column::Size, text::size(copy.size_bytes)),
        (Column::Prompts, count(copy.prompts)),
        (Column::Replies, count(copy.replies)),
        (Column::Marks, marks(session).join(", ")),
    ])
}

fn drop_column(rows: &mut [BTreeMap<Column, String>], column: Column) {
    for row in rows {
        row.remove(&column);
    }
}

/// Cuts titles and directories, and leaves out what matters least, until a row fits the width.
fn fit(rows: &mut [BTreeMap<Column, String>], width: usize) {
    let natural = |rows: &[BTreeMap<Column, String>], column: Column| {
        let cells = rows.iter().filter_map(|row| row.get(&column)).map(|cell| cell.width());
        cells.max().unwrap_or_default().max(column.name().len())
    };
    let fixed = |rows: &[BTreeMap<Column, String>]| {
        let columns = rows[0].keys().filter(|column| !matches!(column, Column::Title | Column::Directory));
        columns.map(|column| natural(rows, *column) + GAP).sum::<usize>()
    };
    let needed = |rows: &[BTreeMap<Column, String>]| {
        let dir = if rows[0].contains_key(&Column::Directory) { NARROWEST_DIR + GAP } else { 0 };
        fixed(rows) + NARROWEST_TITLE + dir
    };
    if needed(rows) > width {
        drop_column(rows, Column::Size);
    }
    if needed(rows) > width {
        cut(rows, Column::Marks, |marks| text::truncated(marks, NARROWEST_MARKS));
    }
    if needed(rows) > width {
        drop_column(rows, Column::Directory);
    }
    let room = width.saturating_sub(fixed(rows));
    let title = if rows[0].contains_key(&Column::Directory) {
        let room = room.saturating_sub(GAP);
        let dir = natural(rows, Column::Directory).min(WIDEST_DIR).min((room * 2 / 5).max(NARROWEST_DIR));
        cut(rows, Column::Directory, |path| text::truncated_path(path, dir));
        room.saturating_sub(dir)
    } else {
        room
    };
    cut(rows, Column::Title, |text| text::truncated(text, title.max(NARROWEST_TITLE)));
}

fn cut(rows: &mut [BTreeMap<Column, String>], column: Column, shorten: impl Fn(&str) -> Cow<'_, str>) {
    for cell in rows.iter_mut().filter_map(|row| row.get_mut(&column)) {
        if let Cow::Owned(short) = shorten(cell) {
            *cell = short;
        }
    }
}

/// Writes one line a session for a pipe: fields separated by tabs, nothing shortened.
fn lines(out: &mut impl Write, sessions: &[Session]) -> io::Result<()> {
    for session in sessions {
        let copy = session.copy();
        let dir = session.launch_dir().map(|dir| dir.to_string_lossy()).unwrap_or_default();
        let at = session.active_at().map(|at| at.to_string()).unwrap_or_default();
        let codes: Vec<&str> = session.health.iter().map(|health| health.code()).collect();
        let label = session.label().unwrap_or_default();
        writeln!(
            out,
            "{}\t{}\t{}\t{}\t{at}\t{}\t{}",
            session.agent,
            text::field(&session.id),
            text::field(label),
            text::field(&dir),
            copy.size_bytes,
            codes.join(",")
        )?;
    }
    Ok(())
}

/// Returns what people call a session, on one line.
pub(crate) fn title(session: &Session) -> String {
    match session.label() {
        Some(label) => text::one_line(label).into_owned(),
        None => "(no prompt)".to_owned(),
    }
}

/// Says when a session was last active; what an agent keeps only while it is closed tells when that was.
pub(crate) fn active(session: &Session, env: &Env) -> String {
    let ago = text::ago(session.active_at(), env.now);
    let is_closed = session.copy().active_at.as_ref().is_some_and(|at| at.source == "closed_at");
    if is_closed { format!("closed {ago}") } else { ago }
}

/// Returns the short words of a table for what is out of the ordinary.
pub(crate) fn marks(session: &Session) -> Vec<String> {
    let copy = session.copy();
    let mut marks = Vec::new();
    match copy.liveness {
        Liveness::Live { .. } => marks.push("live".to_owned()),
        Liveness::Maybe { .. } => marks.push("maybe live".to_owned()),
        Liveness::Idle => {}
    }
    // A plain empty session already has a mark.
    if !matches!(copy.kind, SessionKind::Main | SessionKind::Empty) {
        marks.push(copy.kind.name().to_owned());
    }
    marks.extend(session.pointers.iter().map(|pointer| pointer.agent.name().to_owned()));
    marks.extend(session.health.iter().map(|health| match health {
        Health::DuplicateSession => format!("{} copies", session.copies.len()),
        health => health.mark().to_owned(),
    }));
    marks.dedup();
    marks
}
