//! The footer with the active keys, and the questions that replace the list.

use anstyle::Style;

use super::backend::RefusedResume;
use super::help;
use super::layout::Area;
use super::line::{StyledLine, wrapped};
use super::state::{Mode, PickerState};
use crate::format::text;
use crate::view::ui::Styles;

/// Returns the last line of the screen.
pub(super) fn line(state: &PickerState, columns: usize, styles: &Styles) -> StyledLine {
    let keys: Vec<help::KeyHelp> = match &state.mode {
        Mode::List => help::actions(state.purpose).collect(),
        Mode::Help(_) => vec![("up down", "scroll"), ("esc", "back")],
        Mode::Sure { .. } => vec![("y", "delete"), ("n", "keep"), ("esc", "back")],
        Mode::Ways { refused, cursor, .. } => {
            // The text of any other action says what enter does.
            let is_run = refused.ready.get(*cursor).is_some_and(|way| way.how.is_some());
            let enter = is_run.then_some(("enter", "runs it"));
            enter.into_iter().chain([("^Y", "copy"), ("up down", "move"), ("esc", "back")]).collect()
        }
    };
    let mut line = StyledLine::default();
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
pub(super) fn question(
    state: &PickerState,
    items: &[usize],
    bytes: u64,
    body: Area,
    styles: &Styles,
) -> Vec<StyledLine> {
    let what = text::count(items.len(), "session");
    let mut lines = vec![
        StyledLine::styled(styles.warning, &format!("Delete {what} ({})?  y/N", text::size(bytes))),
        StyledLine::plain("It goes to the trash; `rejoin undo` restores it."),
    ];
    if items.len() > 1 {
        lines[1] = StyledLine::plain("They go to the trash; `rejoin undo` restores them.");
    }
    let room = body.rows.saturating_sub(lines.len()).max(1);
    let named = if items.len() > room { room - 1 } else { items.len() };
    for at in items.iter().take(named) {
        let item = &state.items[*at];
        let mut line = StyledLine::styled(styles.header, &format!("  {}  ", item.title));
        let about = format!("{}, {}, {}", item.key.0, item.dir, item.active);
        line = line.cut(body.columns.saturating_sub(about.len() + 1).max(body.columns / 2));
        line.append(&StyledLine::plain(&format!(" {about}")));
        lines.push(line);
    }
    if named < items.len() {
        lines.push(StyledLine::styled(styles.faint, &format!("  and {} more", items.len() - named)));
    }
    // A screen with few lines shows at least the question.
    lines.into_iter().take(body.rows.max(1)).map(|line| line.cut(body.columns)).collect()
}

/// Returns the reason why a session is not resumed, in this style, and the possible actions.
pub(super) fn ways(
    refused: &RefusedResume,
    style: Style,
    cursor: usize,
    body: Area,
    styles: &Styles,
) -> Vec<StyledLine> {
    let why: Vec<StyledLine> = wrapped(&text::one_line(&refused.why), body.columns, 4)
        .iter()
        .map(|words| StyledLine::styled(style, words))
        .collect();
    let mut lines = Vec::new();
    let mut here = 0;
    for (at, way) in refused.ready.iter().enumerate() {
        let is_here = at == cursor;
        if is_here {
            here = lines.len();
        }
        let sign = if is_here { "> " } else { "  " };
        let line = StyledLine::plain(&format!("{sign}{}", way.line));
        lines.push(if is_here { line.cut(body.columns).chosen(styles.chosen, body.columns) } else { line });
        lines.push(StyledLine::plain(&format!("    {}", text::one_line(&way.why))));
    }
    let room = body.rows.saturating_sub(why.len() + 1);
    let top = (here + 2).saturating_sub(room).min(here);
    let shown = lines.into_iter().skip(top).take(room.max(1));
    // On a screen with few lines, the actions are more important than the reason.
    let why = if body.rows > 3 { why } else { Vec::new() };
    let gap = (body.rows > 5).then(StyledLine::default);
    let all = why.into_iter().chain(gap).chain(shown);
    all.take(body.rows.max(1)).map(|line| line.cut(body.columns)).collect()
}
