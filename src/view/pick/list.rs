//! The lines of the list: sessions in columns, groups above them, matching messages below them.

use anstyle::Style;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::item::PickerItem;
use super::layout::Area;
use super::line::StyledLine;
use super::pane::named;
use super::state::{ListRow, PickerState};
use crate::format::text;
use crate::view::ui::Styles;

/// Minimum width of a title with its marks; other columns are dropped first.
const NARROWEST_TITLE: usize = 18;
/// Minimum width of the title column next to a directory.
const TITLE_BESIDE_DIR: usize = 28;
/// The width that titles keep before directories get more than the narrowest column.
const TITLE: usize = 60;
const NARROWEST_DIR: usize = 16;
const WIDEST_DIR: usize = 40;
/// Width for the marks of a session whose title needs the whole column.
const NARROWEST_MARKS: usize = 12;
const GAP: usize = 2;
/// Width of the signs before each line: the cursor, and the mark of the user.
const SIGNS: usize = 2;

/// Widths of the columns next to the title; 0 for a column that is dropped.
#[derive(Clone, Copy, Debug, Default)]
struct ColumnWidths {
    agent: usize,
    dir: usize,
    active: usize,
    title: usize,
}

impl ColumnWidths {
    /// Drops columns without room. Directories shrink before titles.
    fn for_items(items: &[PickerItem], is_grouped: bool, width: usize) -> Self {
        let widest = |of: &dyn Fn(&PickerItem) -> usize| items.iter().map(of).max().unwrap_or_default();
        let take = |width: usize, room: &mut usize| {
            let fits = width > 0 && *room >= NARROWEST_TITLE + width + GAP;
            *room -= if fits { width + GAP } else { 0 };
            if fits { width } else { 0 }
        };
        let mut room = width.saturating_sub(SIGNS);
        let agent = take(widest(&|item| item.key.0.name().len()), &mut room);
        let active = take(widest(&|item| item.active.width()), &mut room);
        let most = room.saturating_sub(TITLE + GAP).max(NARROWEST_DIR.min(room.saturating_sub(TITLE_BESIDE_DIR + GAP)));
        let dir = match widest(&|item| item.dir.width()).min(WIDEST_DIR).min(most) {
            dir if most > 8 && !is_grouped => take(dir, &mut room),
            _ => 0,
        };
        Self { agent, dir, active, title: room }
    }
}

/// Returns the lines in the window of the list.
pub(super) fn lines(state: &mut PickerState, area: Area, styles: &Styles) -> Vec<StyledLine> {
    let columns = ColumnWidths::for_items(&state.items, state.is_grouped, area.columns);
    let rows = state.window().to_vec();
    let lines = rows.iter().map(|row| match row {
        ListRow::Group(dir, count) => {
            let mut line =
                StyledLine::styled(styles.header, &text::truncated_path(dir, area.columns.saturating_sub(8)));
            line.push(styles.faint, &format!("  {count}"));
            line
        }
        ListRow::Session(at) => session(state, *at, columns, area.columns, styles),
        ListRow::Said(at) => message_line(state, *at, area.columns, styles),
    });
    lines.map(|line| line.cut(area.columns)).collect()
}

fn session(state: &mut PickerState, at: usize, columns: ColumnWidths, width: usize, styles: &Styles) -> StyledLine {
    let item = state.items[state.matches[at].item].clone();
    let is_here = state.is_here(at);
    let Styles { chosen, warning, found, .. } = *styles;
    let mut line = StyledLine::plain(if is_here { ">" } else { " " });
    line.append(&if state.is_marked(&item) { StyledLine::styled(warning, "*") } else { StyledLine::plain(" ") });
    if columns.agent > 0 {
        let name = item.key.0.name();
        let agent = StyledLine::with_places(name, &state.places(name), Style::new(), found);
        line.append(&agent.padded(columns.agent + GAP));
    }
    line.append(&title(state, &item, columns, styles));
    let mut column = |width: usize, text: StyledLine| {
        if width > 0 {
            line.push(Style::new(), &" ".repeat(GAP));
            line.append(&text.padded(width));
        }
    };
    let dir = text::truncated_path(&item.dir, columns.dir).into_owned();
    column(columns.dir, StyledLine::with_places(&dir, &state.places(&dir), Style::new(), found));
    column(columns.active, StyledLine::plain(&item.active));
    if is_here { line.cut(width).chosen(chosen, width) } else { line }
}

/// Returns the title as far as it fits, with the marks after it.
fn title(state: &mut PickerState, item: &PickerItem, columns: ColumnWidths, styles: &Styles) -> StyledLine {
    let mut marks = StyledLine::default();
    for mark in &item.marks {
        let places = state.places(&mark.word);
        let style = if mark.is_in_the_way { styles.warning } else { styles.faint };
        marks.push(styles.faint, if marks.width() == 0 { "  " } else { ", " });
        marks.append(&StyledLine::with_places(&mark.word, &places, style, styles.found));
    }
    let least = NARROWEST_MARKS.min(columns.title / 2);
    let marks = marks.cut(columns.title.saturating_sub(item.title.width()).max(least));
    let room = columns.title.saturating_sub(marks.width());
    let places = state.places(&item.title);
    let (text, places) = around(&item.title, places, room);
    let mut line = StyledLine::with_places(&text, &places, Style::new(), styles.found).cut(room);
    line.append(&marks);
    line.padded(columns.title)
}

/// Cuts the beginning of a text if a match in it would not be visible otherwise.
fn around(text: &str, places: Vec<usize>, room: usize) -> (String, Vec<usize>) {
    let Some(first) = places.first().copied() else { return (text.to_owned(), places) };
    let before: String = text.chars().take(first + 1).collect();
    if before.width() < room || room < 8 {
        return (text.to_owned(), places);
    }
    // The end of the text fills the remaining width.
    let mut rest = 0;
    let fits = text.chars().rev().take_while(|c| {
        rest += c.width().unwrap_or(0);
        rest <= room
    });
    let skipped = first.saturating_sub(room / 3).min(text.chars().count() - fits.count());
    let shown = std::iter::once('…').chain(text.chars().skip(skipped + 1)).collect();
    (shown, places.into_iter().filter(|place| *place > skipped).map(|place| place - skipped).collect())
}

fn message_line(state: &PickerState, at: usize, width: usize, styles: &Styles) -> StyledLine {
    let item = &state.items[state.matches[at].item];
    let Some(best) = state.said_in(&item.key) else { return StyledLine::default() };
    let mut line = StyledLine::styled(styles.faint, &format!("    {}: ", named(best.hit.role, best.hit.branch)));
    let more = if best.messages > 1 { format!("  +{}", best.messages - 1) } else { String::new() };
    let room = width.saturating_sub(line.width() + more.len());
    let [before, found, after] = crate::view::render::search::excerpt(&best.hit, room);
    line.push(Style::new(), &before);
    line.push(styles.found, &found);
    line.push(Style::new(), &after);
    line = line.cut(width.saturating_sub(more.len()));
    line.push(styles.faint, &more);
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_title_shows_the_match() {
        let text = "Summarise the log of last night in five lines for the morning mail";
        let at = text.find("mail").unwrap_or_default();
        let (shown, places) = around(text, vec![at], 40);
        assert_eq!(shown, "…ight in five lines for the morning mail");
        assert_eq!(shown.chars().nth(places[0]), Some('m'));
        let (shown, places) = around(text, vec![14], 12);
        assert_eq!((shown.chars().take(12).collect::<String>(), places), ("…he log of l".to_owned(), vec![4]));
        assert_eq!(around(text, vec![3], 40), (text.to_owned(), vec![3]));
    }
}
