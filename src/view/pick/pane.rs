//! The preview: facts about the highlighted session, and the end of its conversation.

use super::layout::Area;
use super::line::{StyledLine, wrapped};
use super::preview::{FactLine, Preview, PreviewMessage as Message};
use super::state::PickerState;
use crate::format::text;
use crate::session::Role;
use crate::view::ui::Styles;

/// Maximum lines of a message.
const MAX_LINES: usize = 12;

/// The contents of the preview.
#[derive(Clone, Copy, Debug)]
pub(super) struct PreviewContent<'a> {
    pub(super) facts: &'a [FactLine],
    pub(super) preview: Option<&'a Preview>,
}

/// Returns the lines of the preview, and notes the scroll range.
pub(super) fn lines(
    state: &mut PickerState,
    shown: PreviewContent<'_>,
    area: Area,
    styles: &Styles,
) -> Vec<StyledLine> {
    if area.rows == 0 || state.highlighted().is_none() {
        return Vec::new();
    }
    let mut lines = facts(state, shown, area, styles);
    let (conversation, found) = conversation(state, shown.preview, area.columns, styles);
    let room = area.rows.saturating_sub(lines.len());
    state.most_scroll = conversation.len().saturating_sub(room);
    if !state.is_scrolled {
        // The line above the match is visible as context.
        state.scroll = found.map_or(0, |line| state.most_scroll.saturating_sub(line.saturating_sub(1)));
    }
    state.scroll = state.scroll.min(state.most_scroll);
    let first = state.most_scroll - state.scroll;
    lines.extend(conversation.into_iter().skip(first).take(room));
    lines.into_iter().map(|line| line.cut(area.columns)).collect()
}

/// Returns the facts, in at most half of the lines.
fn facts(state: &mut PickerState, shown: PreviewContent<'_>, area: Area, styles: &Styles) -> Vec<StyledLine> {
    let title = state.highlighted().map(|at| state.items[at].title.clone()).unwrap_or_default();
    let mut lines: Vec<StyledLine> = Vec::new();
    let is_roomy = area.rows >= 12;
    if is_roomy {
        for words in wrapped(&title, area.columns, 2) {
            let places = state.places(&words);
            lines.push(StyledLine::with_places(&words, &places, styles.header, styles.found));
        }
    }
    for (at, fact) in shown.facts.iter().enumerate() {
        let style = match (fact.is_warning, at) {
            (true, _) => styles.warning,
            (false, 0) if !is_roomy => styles.header,
            (false, _) => anstyle::Style::new(),
        };
        let most = if is_roomy { 2 } else { 1 };
        let wrapped = wrapped(&fact.words, area.columns, most);
        lines.extend(wrapped.iter().map(|words| StyledLine::styled(style, words)));
    }
    lines.truncate((area.rows / 2).max(2));
    if is_roomy {
        lines.push(StyledLine::default());
    }
    lines
}

/// Returns the name of a role, with the number of its branch unless that is the active one.
pub(super) fn named(role: Role, branch: Option<u16>) -> String {
    branch.map_or_else(|| role.name().to_owned(), |number| format!("{} (branch {number})", role.name()))
}

/// Returns the lines of the messages, and the number of the line with the match.
fn conversation(
    state: &mut PickerState,
    preview: Option<&Preview>,
    columns: usize,
    styles: &Styles,
) -> (Vec<StyledLine>, Option<usize>) {
    let messages = match preview {
        None => return (Vec::new(), None),
        Some(Preview::TooLarge(bytes)) => {
            let words = format!("its transcript is too large to be shown here ({})", text::size(*bytes));
            return (vec![StyledLine::plain(&words)], None);
        }
        Some(Preview::Unreadable(why)) => {
            let words = format!("its transcript cannot be read: {}", text::one_line(why));
            return (vec![StyledLine::styled(styles.warning, &words)], None);
        }
        Some(Preview::Messages(messages)) => messages,
    };
    let best = state.only_said().map(|best| best.hit.clone());
    let around = best.as_ref().map(|hit| {
        let around = [hit.before.as_str(), &hit.found, &hit.after].concat();
        text::one_line(around.trim_matches('…')).into_owned()
    });
    let (mut lines, mut found) = (Vec::new(), None);
    for Message { role, branch, words } in messages {
        let name = named(*role, *branch);
        let name = name.as_str();
        let has_it = found.is_none() && around.as_deref().is_some_and(|around| words.contains(around));
        let first = lines.len();
        for (at, words) in wrapped(&format!("{name}: {words}"), columns, MAX_LINES).iter().enumerate() {
            let mut line = StyledLine::default();
            let rest = match words.strip_prefix(name).filter(|_| at == 0) {
                Some(rest) => {
                    line.push(styles.header, name);
                    rest
                }
                None => words,
            };
            if has_it && best.as_ref().is_some_and(|hit| found.is_none() && rest.contains(&hit.found)) {
                found = Some(lines.len());
            }
            let places = state.places(rest);
            line.append(&StyledLine::with_places(rest, &places, anstyle::Style::new(), styles.found));
            lines.push(line);
        }
        if has_it {
            found = found.or(Some(first));
        }
    }
    (lines, found)
}
