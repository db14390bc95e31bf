//! The footer with the active keys, and the questions that replace the list.

use std::borrow::Cow;

use anstyle::Style;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::backend::Refused;
use super::help;
use super::layout::{Area, Layout};
use super::line::{Line, wrapped};
use super::state::{Mode, Order, State};
use crate::format::text;
use crate::view::ui::Styles;

/// Returns the last line of the screen.
pub(super) fn line(state: &State, columns: usize, styles: &Styles) -> Line {
    let keys: Vec<help::Name> = match &state.mode {
        Mode::List => help::actions(state.purpose).collect(),
        Mode::Help(_) => vec![("up down", "scroll"), ("esc", "back")],
        Mode::Sure { .. } => vec![("y", "delete"), ("n", "keep"), ("esc", "back")],
        Mode::Ways { .. } => vec![("enter", "do it"), ("^Y", "copy"), ("up down", "move"), ("esc", "back")],
    };
    let mut line = Line::default();
    for (key, what) in keys {
        let mut next = line.clone();
        next.push(styles.faint, if line.width() > 0 { "  " } else { "" });
        next.push(styles.strong, key);
        next.push(styles.faint, &format!(" {what}"));
        if next.width() <= columns {
            line = next;
        }
    }
    line
}

/// Asks whether to delete sessions, and names each if there is room.
pub(super) fn question(state: &State, items: &[usize], bytes: u64, body: Area, styles: &Styles) -> Vec<Line> {
    let what = text::count(items.len(), "session");
    let mut lines = vec![
        Line::styled(styles.warning, &format!("Delete {what} ({})?  y/N", text::size(bytes))),
        Line::plain("It goes to the trash; `rejoin undo` brings it back."),
    ];
    if items.len() > 1 {
        lines[1] = Line::plain("They go to the trash; `rejoin undo` brings them back.");
    }
    let room = body.rows.saturating_sub(lines.len()).max(1);
    let named = if items.len() > room { room - 1 } else { items.len() };
    for at in items.iter().take(named) {
        let item = &state.items[*at];
        let mut line = Line::styled(styles.header, &format!("  {}  ", item.title));
        let about = format!("{}, {}, {}", item.key.0, item.dir, item.active);
        line = line.cut(body.columns.saturating_sub(about.len() + 1).max(body.columns / 2));
        line.append(&Line::plain(&format!(" {about}")));
        lines.push(line);
    }
    if named < items.len() {
        lines.push(Line::styled(styles.faint, &format!("  and {} more", items.len() - named)));
    }
    // A screen of a few lines shows at least the question.
    lines.into_iter().take(body.rows.max(1)).map(|line| line.cut(body.columns)).collect()
}

/// Returns the reason why a session is not resumed, in this style, and the possible actions.
pub(super) fn ways(refused: &Refused, style: Style, cursor: usize, body: Area, styles: &Styles) -> Vec<Line> {
    let why: Vec<Line> = wrapped(&text::one_line(&refused.why), body.columns, 4)
        .iter()
        .map(|words| Line::styled(style, words))
        .collect();
    let mut lines = Vec::new();
    let mut here = 0;
    for (at, way) in refused.ready.iter().enumerate() {
        let is_here = at == cursor;
        if is_here {
            here = lines.len();
        }
        let sign = if is_here { "> " } else { "  " };
        let line = Line::plain(&format!("{sign}{}", way.line));
        lines.push(if is_here { line.cut(body.columns).chosen(styles.chosen, body.columns) } else { line });
        lines.push(Line::plain(&format!("    {}", text::one_line(&way.why))));
    }
    let room = body.rows.saturating_sub(why.len() + 1);
    let top = (here + 2).saturating_sub(room).min(here);
    let shown = lines.into_iter().skip(top).take(room.max(1));
    // On a screen of a few lines, the actions matter more than the reason.
    let why = if body.rows > 3 { why } else { Vec::new() };
    let gap = (body.rows > 5).then(Line::default);
    let all = why.into_iter().chain(gap).chain(shown);
    all.take(body.rows.max(1)).map(|line| line.cut(body.columns)).collect()
}

/// Returns the line for typing, and the column of the cursor in it; a long text is cut around the cursor.
pub(super) fn prompt(state: &State, layout: Layout) -> (Line, usize) {
    let room = layout.columns.saturating_sub(3);
    let (before, all) = (state.edit.before(), state.edit.text());
    let left = end_of(before, room);
    let mut line = Line::plain("> ");
    line.push(Style::new(), &left);
    let column = line.width();
    line.push(Style::new(), &all[before.len()..]);
    (line.cut(layout.columns.max(3)), column.min(layout.columns))
}

/// Cuts text to a width in columns, and keeps its end.
fn end_of(text: &str, width: usize) -> Cow<'_, str> {
    if text.width() <= width {
        return Cow::Borrowed(text);
    }
    let mut left = width.saturating_sub(1);
    let fits = |c: &char| left.checked_sub(c.width().unwrap_or(0)).map(|rest| left = rest).is_some();
    let count = text.chars().rev().take_while(fits).count();
    let start = text.char_indices().rev().take(count).last().map_or(text.len(), |(at, _)| at);
    Cow::Owned(format!("…{}", &text[start..]))
}

/// Shows the number of matches and the work in progress, or the last message.
pub(super) fn status(state: &State, styles: &Styles) -> Line {
    if let Some(note) = &state.note {
        return Line::styled(styles.strong, &text::one_line(note));
    }
    if let Some(problem) = &state.query.problem {
        return Line::styled(styles.warning, &text::one_line(problem));
    }
    let mut words = vec![format!("{} of {} sessions", state.matches.len(), state.items.len())];
    words.extend(
        state.no_match.clone().filter(|_| state.matches.is_empty()).map(|why| text::one_line(&why).into_owned()),
    );
    match state.said_count() {
        0 => {}
        count => words.push(format!("{count} by what was said")),
    }
    match state.marked_count() {
        0 => {}
        count => words.push(format!("{count} marked")),
    }
    match state.order {
        Order::Activity => {}
        Order::Size => words.push("largest first".to_owned()),
        Order::Directory => words.push("by directory".to_owned()),
    }
    let doing = [
        (state.is_loading, "reading…".to_owned()),
        (state.is_searching, "searching messages…".to_owned()),
        (state.busy.is_some(), format!("{}…", state.busy.unwrap_or_default())),
        (state.problems > 0, format!("{} unreadable", state.problems)),
    ];
    words.extend(doing.into_iter().filter(|(is, _)| *is).map(|(_, words)| words));
    Line::styled(styles.faint, &words.join(", "))
}
