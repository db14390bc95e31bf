//! The picker as lines of a screen: what stands where for a size, and the bytes that put it there.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::footer;
use super::help;
use super::line::{Line, wrapped};
use super::list;
use super::listing::Order;
use super::pane;
use super::preview::{Fact, Preview};
use super::state::{Mode, State};
use crate::format::text;
use crate::system::terminal::Size;
use crate::view::ui::Styles;

/// Terminals with fewer lines show no preview below the list.
const LEAST_ROWS_FOR_PREVIEW: usize = 14;
/// Terminals with fewer lines show no footer, and with even fewer no counts.
const LEAST_ROWS_FOR_FOOTER: usize = 5;
const LEAST_ROWS_FOR_STATUS: usize = 3;
/// From this width on the preview stands beside the list.
const LEAST_COLUMNS_FOR_BESIDE: usize = 110;
const LEAST_ROWS_FOR_BESIDE: usize = 8;

/// How many lines and columns each part gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Columns that are written to; the last one stays free, because terminals differ in what they do there.
    pub(super) columns: usize,
    pub(super) rows: usize,
    has_status: bool,
    has_footer: bool,
    pub(super) list: Area,
    pub(super) preview: Area,
}

/// How much room a part has; none if it is not shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

impl Layout {
    pub(super) fn of(size: Size) -> Self {
        let (columns, rows) = (size.columns.saturating_sub(1).max(1), size.rows);
        let (has_status, has_footer) = (rows >= LEAST_ROWS_FOR_STATUS, rows >= LEAST_ROWS_FOR_FOOTER);
        let body = rows.saturating_sub(1 + usize::from(has_status) + usize::from(has_footer));
        let whole = Area { columns, rows: body };
        let (list, preview) = if columns >= LEAST_COLUMNS_FOR_BESIDE && rows >= LEAST_ROWS_FOR_BESIDE {
            let list = columns * 11 / 20;
            (Area { columns: list, ..whole }, Area { columns: columns - list - 3, ..whole })
        } else if rows >= LEAST_ROWS_FOR_PREVIEW {
            let below = rows * 2 / 5;
            // A line parts the two.
            (Area { rows: body - below, ..whole }, Area { rows: below - 1, ..whole })
        } else {
            (whole, Area::default())
        };
        Self { columns, rows, has_status, has_footer, list, preview }
    }

    fn is_beside(self) -> bool {
        self.preview.rows > 0 && self.list.columns < self.columns
    }

    /// Returns how many lines and columns there are between what is typed and the footer.
    fn body(self) -> Area {
        let rows = self.rows.saturating_sub(1 + usize::from(self.has_status) + usize::from(self.has_footer));
        Area { columns: self.columns, rows }
    }
}

/// What the preview shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown<'a> {
    pub(super) facts: &'a [Fact],
    pub(super) preview: Option<&'a Preview>,
}

/// A line of the screen: what begins at its left edge, and what stands beside it from a column on.
type Pair = (Line, Option<(usize, Line)>);

/// Writes the lines that are not on the screen yet, and then the cursor where the next character goes.
#[derive(Debug, Default)]
pub(super) struct Painter {
    columns: usize,
    before: Vec<String>,
}

impl Painter {
    /// Forgets what is on the screen.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Returns what to send to the terminal.
    pub(super) fn frame(&mut self, state: &mut State, shown: Shown<'_>, layout: Layout, styles: &Styles) -> String {
        let mut lines: Vec<String> = screen(state, shown, layout, styles).iter().map(codes).collect();
        lines.resize(layout.rows, String::new());
        let mut frame = "\x1b[?25l".to_owned();
        if self.columns != layout.columns || self.before.len() != lines.len() {
            frame.push_str("\x1b[2J");
            self.before.clear();
            self.columns = layout.columns;
        }
        for (row, line) in lines.iter().enumerate() {
            let before = self.before.get(row).map_or("", String::as_str);
            if line != before {
                // What is too wide in spite of all counting is overwritten by the line below it.
                frame.push_str(&format!("\x1b[{};1H\x1b[K{}", row + 1, line.replace(ROW, &(row + 1).to_string())));
            }
        }
        self.before = lines;
        let column = prompt(state, layout).1 + 1;
        frame.push_str(&format!("\x1b[1;{column}H\x1b[?25h"));
        frame
    }
}

/// Stands for the number of the row in the code that goes to a column; it is in no text that is shown.
const ROW: &str = "\u{0}";

fn codes((left, right): &Pair) -> String {
    match right {
        // The place is named, so that a character that a terminal takes for wider does not move it.
        Some((column, right)) => format!("{}\x1b[{ROW};{}H\x1b[K{}", left.codes(), column + 1, right.codes()),
        None => left.codes(),
    }
}

fn screen(state: &mut State, shown: Shown<'_>, layout: Layout, styles: &Styles) -> Vec<Pair> {
    let single = |line: Line| (line, None);
    let mut lines = vec![single(prompt(state, layout).0)];
    if layout.has_status {
        lines.push(single(status(state, styles).cut(layout.columns)));
    }
    let body = layout.body();
    let start = lines.len();
    match state.mode.clone() {
        Mode::Help(top) => lines.extend(page_of_keys(state, top, body, styles).into_iter().map(single)),
        Mode::Sure { items, bytes } => {
            lines.extend(footer::question(state, &items, bytes, body, styles).into_iter().map(single));
        }
        Mode::Ways { refused, cursor, .. } => {
            lines.extend(footer::ways(&refused, cursor, body, styles).into_iter().map(single));
        }
        Mode::List => {
            let list = list::lines(state, layout.list, styles);
            let preview = pane::lines(state, shown, layout.preview, styles);
            if layout.is_beside() {
                let bar = |line: Option<&Line>| {
                    let mut beside = Line::styled(styles.faint, "│ ");
                    line.into_iter().for_each(|line| beside.append(line));
                    beside
                };
                lines.extend((0..body.rows).map(|at| {
                    let left = list.get(at).cloned().unwrap_or_default();
                    (left, Some((layout.list.columns + 1, bar(preview.get(at)))))
                }));
            } else {
                lines.extend(list.into_iter().map(single));
                if layout.preview.rows > 0 {
                    lines.resize(start + layout.list.rows, single(Line::default()));
                    lines.push(single(Line::styled(styles.faint, &"─".repeat(layout.columns))));
                    lines.extend(preview.into_iter().map(single));
                }
            }
        }
    }
    if layout.has_footer {
        lines.resize(layout.rows - 1, single(Line::default()));
        lines.push(single(footer::line(state, layout.columns, styles)));
    }
    lines.truncate(layout.rows);
    lines
}

/// Returns the line that is typed on, and the column of the cursor in it; of a long one, what is around that is shown.
fn prompt(state: &State, layout: Layout) -> (Line, usize) {
    let room = layout.columns.saturating_sub(3);
    let (before, all) = (state.edit.before(), state.edit.text());
    let left = end_of(before, room);
    let mut line = Line::plain("> ");
    line.push(anstyle::Style::new(), &left);
    let column = line.width();
    line.push(anstyle::Style::new(), &all[before.len()..]);
    (line.cut(layout.columns.max(3)), column.min(layout.columns))
}

/// Cuts text to a width in columns, so that its end is seen.
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

/// Says how many match and what goes on, or what was said last.
fn status(state: &State, styles: &Styles) -> Line {
    if let Some(note) = &state.note {
        return Line::styled(styles.strong, &text::one_line(note));
    }
    if let Some(problem) = &state.query.problem {
        return Line::styled(styles.warning, &text::one_line(problem));
    }
    let mut words = vec![format!("{} of {} sessions", state.matches.len(), state.items.len())];
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

fn page_of_keys(state: &State, top: usize, body: Area, styles: &Styles) -> Vec<Line> {
    const KEYS: usize = 24;
    let mut lines = Vec::new();
    for (name, keys) in help::pages(state.purpose) {
        lines.push(Line::styled(styles.header, name));
        for (key, what) in keys {
            let room = body.columns.saturating_sub(4).max(8);
            // Where both do not fit on a line, what it does stands below.
            if room < KEYS + 20 {
                lines.push(Line::styled(styles.strong, &format!("  {key}")));
                lines.extend(wrapped(&what, room, 9).iter().map(|words| Line::plain(&format!("    {words}"))));
                continue;
            }
            for (at, words) in wrapped(&what, room - KEYS, 9).iter().enumerate() {
                let mut line = Line::styled(styles.strong, &format!("  {}", if at == 0 { key } else { "" }));
                line = line.padded(KEYS + 2);
                line.push(anstyle::Style::new(), words);
                lines.push(line);
            }
        }
    }
    let last = lines.len().saturating_sub(body.rows);
    lines.into_iter().skip(top.min(last)).take(body.rows).map(|line| line.cut(body.columns)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::backend::{Ready, Refused};
    use super::super::keys::Key;
    use super::super::preview::Fact;
    use super::super::state::tests::{listed, said, typed};
    use super::*;
    use crate::format::shown;
    use crate::session::{AgentKind, Role};
    use proptest::prelude::*;

    const LIST: [(&str, &str); 3] = [
        ("Fix the parser of the configuration file", "/srv/a-directory/with/a/long/name"),
        ("日本語の題名です、とても長い題名です、本当に", "/srv/app"),
        ("x", "?"),
    ];

    fn drawn(state: &mut State, columns: usize, rows: usize, preview: Option<&Preview>) -> Vec<String> {
        let layout = Layout::of(Size { columns, rows });
        state.fit(layout.list.rows);
        let fact = |words: &str, is_warning| Fact { words: words.to_owned(), is_warning };
        let facts = [fact("claude 0000-aaaa", false), fact("~/app", false), fact("its directory is gone", true)];
        let shown = Shown { facts: &facts, preview };
        let text = |(left, right): &Pair| match right {
            Some((column, right)) => format!("{}{}", left.clone().padded(*column).codes(), right.codes()),
            None => left.codes(),
        };
        screen(state, shown, layout, &Styles::default()).iter().map(|pair| text(pair).trim_end().to_owned()).collect()
    }

    fn messages() -> Preview {
        Preview::Messages(vec![(Role::User, "a b c ".repeat(50)), (Role::Assistant, "日本".repeat(200))])
    }

    #[test]
    fn a_usual_terminal_shows_every_column_and_what_stands_in_the_way() {
        let mut state = listed(&LIST);
        state.items[0].marks.push(super::super::item::Mark { word: "dir gone".to_owned(), is_in_the_way: true });
        state.press(Key::Down);
        state.press(Key::Mark);
        assert_eq!(
            drawn(&mut state, 80, 8, None),
            [
                ">",
                "3 of 3 sessions, 1 marked",
                "  claude  Fix the parser of the con…  dir gone  /srv/…/a/long/name    yesterday",
                " *claude  日本語の題名です、とても長い題名で…   /srv/app              yesterday",
                "> claude  x                                     ?                     yesterday",
                "",
                "",
                "enter resume  ? all keys  ^Y copy  ^O open  ^X delete  tab mark  ^T pin",
            ]
        );
    }

    #[test]
    fn nothing_is_wider_or_higher_than_the_terminal() {
        let previews =
            [None, Some(messages()), Some(Preview::TooLarge(1 << 40)), Some(Preview::Unreadable("no".repeat(99)))];
        let way = Ready { line: "rejoin resume x".repeat(20), why: "why ".repeat(50), how: None };
        let refused = Refused { why: "日本 gone ".repeat(30), ready: vec![way; 9] };
        let ways = Mode::Ways { key: (AgentKind::Claude, "x".to_owned()), refused, cursor: 5 };
        let modes = [Mode::List, Mode::Help(3), Mode::Sure { items: vec![0, 1, 2], bytes: 1 << 40 }, ways];
        let mut state = listed(&LIST);
        state.is_grouped = true;
        typed(&mut state, "a");
        state.add_said(vec![((AgentKind::Claude, "0001-aaaa".to_owned()), said("日本"))]);
        for mode in modes {
            state.mode = mode;
            for columns in (1..130).step_by(3) {
                for rows in 1..30 {
                    let drawn = drawn(&mut state, columns, rows, previews[(columns + rows) % 4].as_ref());
                    assert!(drawn.len() <= rows, "{columns}x{rows}: {drawn:#?}");
                    // The shortest line that can be typed on is a sign and a blank.
                    let widest = drawn.iter().map(|line| line.width()).max();
                    assert!(widest < Some(columns.max(4)), "{columns}x{rows}: {drawn:#?}");
                }
            }
        }
    }

    #[test]
    fn a_tiny_terminal_still_shows_what_would_be_taken() {
        let mut state = listed(&LIST);
        assert_eq!(drawn(&mut state, 20, 1, None), [">"]);
        state.press(Key::Down);
        assert_eq!(drawn(&mut state, 20, 2, None), [">", "> 日本語の題名です…"]);
        assert_eq!(drawn(&mut state, 12, 4, None), [">", "3 of 3 ses…", "> 日本語の…", "  x"]);
    }

    #[test]
    fn of_what_is_typed_the_end_is_seen() {
        let mut state = listed(&LIST);
        typed(&mut state, "one two three");
        assert_eq!(drawn(&mut state, 20, 1, None), ["> one two three"]);
        assert_eq!(drawn(&mut state, 12, 1, None), ["> …o three"]);
        assert_eq!(drawn(&mut state, 5, 1, None), ["> …"]);
        typed(&mut state, "日本語");
        assert_eq!(drawn(&mut state, 10, 1, None), ["> …本語"]);
    }

    #[test]
    fn the_preview_stands_below_or_beside_the_list_and_scrolls() {
        let mut state = listed(&LIST);
        let below = drawn(&mut state, 60, 20, Some(&messages()));
        assert_eq!(below[11], "─".repeat(59));
        assert_eq!(below[12], "claude 0000-aaaa");
        assert!(below[18].starts_with('日'), "{below:#?}");
        let beside = drawn(&mut state, 130, 20, Some(&messages()));
        assert!(beside[2].contains("│ Fix the parser of the configuration file"), "{beside:#?}");
        assert!(beside[3].contains("│ claude 0000-aaaa"), "{beside:#?}");
        for _ in 0..99 {
            state.press(Key::PreviewUp);
        }
        let above = drawn(&mut state, 130, 20, Some(&messages()));
        assert!(above[7].contains("│ user: a b c a b"), "{above:#?}");
        state.press(Key::PreviewDown);
        assert_ne!(drawn(&mut state, 130, 20, Some(&messages())), above);
    }

    #[test]
    fn what_was_said_stands_below_its_session_and_what_was_found_in_a_long_title_is_seen() {
        let title = format!("{} needle in a haystack", "hay ".repeat(40));
        let mut state = listed(&[(&title, "/srv/app"), ("Other", "/srv/app")]);
        typed(&mut state, "needle");
        state.add_said(vec![((AgentKind::Claude, "0001-aaaa".to_owned()), said("needle"))]);
        let drawn = drawn(&mut state, 70, 7, None);
        assert_eq!(drawn[1], "2 of 2 sessions, 1 by what was said");
        assert!(drawn[2].contains("… hay hay needle in a h…") || drawn[2].contains("needle in a"), "{drawn:#?}");
        assert_eq!(drawn[4], "    user: so needle it  +2");
    }

    #[test]
    fn only_lines_that_changed_are_sent() {
        let mut state = listed(&LIST);
        let (layout, styles) = (Layout::of(Size { columns: 40, rows: 6 }), Styles::default());
        state.fit(layout.list.rows);
        let mut painter = Painter::default();
        let shown = Shown { facts: &[], preview: None };
        let first = painter.frame(&mut state, shown, layout, &styles);
        assert!(first.starts_with("\x1b[?25l\x1b[2J\x1b[1;1H\x1b[K> "), "{first:?}");
        assert!(first.ends_with("\x1b[1;3H\x1b[?25h"), "{first:?}");
        let again = painter.frame(&mut state, shown, layout, &styles);
        assert_eq!(again, "\x1b[?25l\x1b[1;3H\x1b[?25h");
        state.press(Key::Char('日'));
        state.press(Key::Char('x'));
        state.press(Key::Left);
        let typed = painter.frame(&mut state, shown, layout, &styles);
        assert!(typed.contains("> 日x") && typed.ends_with("\x1b[1;5H\x1b[?25h"), "{typed:?}");
        painter.forget();
        assert!(painter.frame(&mut state, shown, layout, &styles).contains("\x1b[2J"));
    }

    proptest! {
        #[test]
        fn whatever_is_typed_and_whatever_the_titles_are_no_command_reaches_the_terminal(
            title in ".{0,60}", pasted in ".{0,60}", columns in 1_usize..150, rows in 1_usize..30,
        ) {
            let mut state = listed(&[(&title, &pasted)]);
            state.press(Key::Pasted(pasted));
            let size = Size { columns, rows };
            let shown = Shown { facts: &[], preview: None };
            let frame = Painter::default().frame(&mut state, shown, Layout::of(size), &Styles::default());
            for part in frame.split('\x1b').skip(1) {
                let end = part.find(|c: char| c.is_ascii_alphabetic()).map_or("", |at| &part[at..=at]);
                prop_assert!(part.starts_with('[') && ["H", "K", "J", "h", "l", "m"].contains(&end), "{part:?}");
            }
            let own = |c: char| c == '\x1b';
            prop_assert!(frame.chars().filter(|c| !own(*c)).all(|c| shown::is_harmless(c.encode_utf8(&mut [0; 4]))));
        }
    }
}
