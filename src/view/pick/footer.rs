//! The footer with the active keys, and the questions that replace the list.

use anstyle::Style;

use super::backend::Refused;
use super::help;
use super::layout::Area;
use super::line::{Line, wrapped};
use super::state::{Mode, State};
use crate::format::text;
use crate::view::ui::Styles;

/// Returns the last line of the screen.
pub(super) fn line(state: &State, columns: usize, styles: &Styles) -> Line {
    let keys: Vec<help::Name> = match &state.mode {
        Mode::List => help::actions(state.purpose).collect(),
        Mode::Help(_) => vec![("up down", "scroll"), ("esc", "back")],
        Mode::Sure { .. } => vec![("y", "delete"), ("n", "keep"), ("esc", "back")],
        Mode::Ways { .. } => vec![("enter", "runs it"), ("^Y", "copy"), ("up down", "move"), ("esc", "back")],
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
        Line::plain("It goes to the trash; `rejoin undo` restores it."),
    ];
    if items.len() > 1 {
        lines[1] = Line::plain("They go to the trash; `rejoin undo` restores them.");
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
