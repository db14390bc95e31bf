//! The lines above the list: the typed text, and the number of matches.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::layout::ScreenLayout;
use super::line::StyledLine;
use super::state::{ListOrder, PickerState};
use crate::format::text;
use crate::view::ui::Styles;

/// Returns the line for typing, and the column of the cursor in it; a long text is cut around the cursor.
pub(super) fn prompt(state: &PickerState, layout: ScreenLayout) -> (StyledLine, usize) {
    let room = layout.columns.saturating_sub(3);
    let (before, all) = (state.edit.before(), state.edit.text());
    let left = end_of(before, room);
    let mut line = StyledLine::plain("> ");
    line.push(anstyle::Style::new(), &left);
    let column = line.width();
    line.push(anstyle::Style::new(), &all[before.len()..]);
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
pub(super) fn status(state: &PickerState, styles: &Styles) -> StyledLine {
    if let Some(note) = &state.note {
        return StyledLine::styled(styles.strong, &text::one_line(note));
    }
    if let Some(problem) = &state.query.problem {
        return StyledLine::styled(styles.warning, &text::one_line(&problem.to_string()));
    }
    let message_clause = match state.said_count() {
        0 => String::new(),
        1 => " (1 by its messages)".to_owned(),
        count => format!(" ({count} by their messages)"),
    };
    let mut words =
        vec![format!("{} of {}{message_clause}", state.matches.len(), text::count(state.items.len(), "session"))];
    // A filter that matches nothing is the reason why the words match nothing.
    let is_empty = state.matches.is_empty() && !state.is_loading;
    let why = state.unmatched.as_ref().or(state.no_match.as_ref()).filter(|_| is_empty);
    words.extend(why.map(|why| text::one_line(why).into_owned()));
    match state.marked_count() {
        0 => {}
        count => words.push(format!("{count} marked")),
    }
    match state.order {
        ListOrder::Activity => {}
        ListOrder::Size => words.push("largest first".to_owned()),
        ListOrder::Directory => words.push("by directory".to_owned()),
    }
    let doing = [
        (state.is_loading, "reading…".to_owned()),
        (state.is_searching, "searching messages…".to_owned()),
        (state.busy.is_some(), format!("{}…", state.busy.unwrap_or_default())),
        (state.problems > 0, format!("{} unreadable", state.problems)),
    ];
    words.extend(doing.into_iter().filter(|(is, _)| *is).map(|(_, words)| words));
    StyledLine::styled(styles.faint, &words.join(", "))
}
