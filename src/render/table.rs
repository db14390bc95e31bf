//! Listings for people and for pipes.

use std::io::{self, Write};

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Row, Table, Width};

use super::text;
use crate::env::Env;
use crate::select::{Name, short_lengths};
use crate::session::{AgentKind, Health, Liveness, Session, SessionKind};
use crate::ui::Styles;

/// Columns that a title never shrinks below, and a directory never grows beyond.
const NARROWEST_TITLE: u16 = 12;
const WIDEST_DIR: usize = 40;

/// Writes a table that fits the terminal, one line a session.
pub fn sessions(
    out: &mut impl Write,
    env: &Env,
    styles: &Styles,
    sessions: &[Session],
    names: &[Name<'_>],
) -> io::Result<()> {
    if sessions.is_empty() {
        return Ok(());
    }
    let lengths = short_lengths(names);
    let by_name: std::collections::HashMap<(AgentKind, &str), usize> =
        names.iter().zip(&lengths).map(|(name, length)| ((name.agent, name.id), *length)).collect();

    let has_counts = sessions.iter().any(|session| session.copy().prompts.is_some());
    let width = env.width.unwrap_or(120);
    let mut table = Table::new();
    table
        .load_style(comfy_table::presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width);
    let mut header = vec!["AGENT", "ID", "TITLE", "DIRECTORY", "ACTIVE", "SIZE"];
    if has_counts {
        header.extend(["PROMPTS", "REPLIES"]);
    }
    header.push("MARKS");
    table.set_header(&header);
    for session in sessions {
        let length = by_name.get(&(session.agent, session.id.as_str())).copied().unwrap_or(session.id.len());
        let id = text::one_line(&session.id[..length]).into_owned();
        let copy = session.copy();
        let dir = session.launch_dir().map_or_else(|| "?".to_owned(), |dir| env.tilde(dir));
        let dir = text::truncated_path(&text::one_line(&dir), WIDEST_DIR.min(usize::from(width) / 4)).into_owned();
        let mut cells = vec![
            Cell::new(session.agent.name()),
            Cell::new(id),
            Cell::new(text::truncated(&title(session), 200)),
            Cell::new(dir),
            Cell::new(active(session, env)),
            Cell::new(text::size(copy.size_bytes)).set_alignment(CellAlignment::Right),
        ];
        if has_counts {
            let count = |count: Option<u64>| Cell::new(count.map_or_else(String::new, |count| count.to_string()));
            cells.push(count(copy.prompts).set_alignment(CellAlignment::Right));
            cells.push(count(copy.replies).set_alignment(CellAlignment::Right));
        }
        cells.push(Cell::new(marks(session).join(", ")));
        let mut row = Row::from(cells);
        row.max_height(1);
        table.add_row(row);
    }
    table.set_truncation_indicator("…");
    for (at, name) in header.iter().enumerate() {
        if let Some(column) = table.column_mut(at) {
            column.set_padding((0, 2));
            match *name {
                "TITLE" => {
                    column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(NARROWEST_TITLE)));
                }
                "MARKS" => {}
                _ => {
                    column.set_constraint(ColumnConstraint::ContentWidth);
                }
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

/// Writes one line a session for a pipe: fields separated by tabs, nothing shortened.
pub fn lines(out: &mut impl Write, sessions: &[Session]) -> io::Result<()> {
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
pub fn title(session: &Session) -> String {
    match session.label() {
        Some(label) => text::one_line(label).into_owned(),
        None => "(no prompt)".to_owned(),
    }
}

/// Says when a session was last active; JidoCode's are closed when they are on disk.
pub fn active(session: &Session, env: &Env) -> String {
    let ago = text::ago(session.active_at(), env.now);
    let is_closed = session.agent == AgentKind::Jido
        && session.copy().active_at.as_ref().is_some_and(|at| at.source == "closed_at");
    if is_closed { format!("closed {ago}") } else { ago }
}

/// Returns the short words of a table for what is out of the ordinary.
pub fn marks(session: &Session) -> Vec<String> {
    let copy = session.copy();
    let mut marks = Vec::new();
    match copy.liveness {
        Liveness::Live { .. } => marks.push("live".to_owned()),
        Liveness::Maybe { .. } => marks.push("maybe live".to_owned()),
        Liveness::Idle => {}
    }
    // A plain empty session has the mark of its trouble already.
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
