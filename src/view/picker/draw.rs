//! The picker as lines of text: what stands where for a size, and the bytes that put it on a screen.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::format::text;
use crate::system::terminal::Size;
use crate::view::picker::preview::Preview;
use crate::view::picker::state::{Item, State};
use crate::view::ui::Styles;

/// Lines that a message takes at most.
const MAX_LINES: usize = 3;
/// Terminals with fewer lines show no preview.
const LEAST_ROWS_FOR_PREVIEW: usize = 12;
/// What a title is worth showing in, before other columns go.
const NARROWEST_TITLE: usize = 16;
const WIDEST_DIR: usize = 40;
const GAP: usize = 2;

/// How many lines each part gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Columns that are written to; the last one stays free, because terminals differ in what they do there.
    columns: usize,
    has_status: bool,
    pub(super) list: usize,
    pub(super) preview: usize,
}

impl Layout {
    pub(super) fn of(size: Size) -> Self {
        let preview = if size.rows >= LEAST_ROWS_FOR_PREVIEW { size.rows * 2 / 5 } else { 0 };
        let has_status = size.rows >= 3;
        let list = size.rows.saturating_sub(1 + usize::from(has_status) + preview);
        Self { columns: size.columns.saturating_sub(1).max(1), has_status, list, preview }
    }
}

/// Writes everything at its place: the whole screen, and then the cursor behind what was typed.
pub(super) fn frame(state: &State, preview: Option<&Preview>, layout: Layout, styles: &Styles) -> String {
    let mut frame = "\x1b[?25l".to_owned();
    for (row, line) in lines(state, preview, layout, styles).iter().enumerate() {
        // What is too wide in spite of all counting is overwritten by the line below it.
        frame.push_str(&format!("\x1b[{};1H\x1b[K{line}", row + 1));
    }
    let column = prompt(state, layout).width() + 1;
    frame.push_str(&format!("\x1b[J\x1b[1;{column}H\x1b[?25h"));
    frame
}

fn lines(state: &State, preview: Option<&Preview>, layout: Layout, styles: &Styles) -> Vec<String> {
    let Styles { faint, .. } = styles;
    let mut lines = vec![prompt(state, layout)];
    if layout.has_status {
        let (matching, all) = state.counts();
        let status = format!("{matching} of {all} sessions; Enter resumes, Escape quits");
        lines.push(format!("{faint}{}{faint:#}", text::truncated(&status, layout.columns)));
    }
    lines.extend(state.window().map(|(item, is_here)| row(item, is_here, state, layout, styles)));
    if layout.preview > 0 {
        lines.resize(1 + usize::from(layout.has_status) + layout.list, String::new());
        lines.extend(state.item().into_iter().flat_map(|item| below(item, preview, layout, styles)));
    }
    lines
}

/// Returns the line that is typed on; of a long one the end is shown.
fn prompt(state: &State, layout: Layout) -> String {
    let query = text::one_line(&state.query);
    // A blank at the end has not been typed in vain.
    let blank = if state.query.ends_with(' ') { " " } else { "" };
    let room = layout.columns.saturating_sub(2);
    format!("> {}", text::truncated_path(&format!("{query}{blank}"), room))
}

fn row(item: &Item, is_here: bool, state: &State, layout: Layout, styles: &Styles) -> String {
    let widths = state.widths;
    let mut room = layout.columns.saturating_sub(2);
    // What matters least goes first where there is no room for all.
    let has_agent = take(&mut room, widths.agent);
    let has_active = take(&mut room, widths.active);
    let dir_width = widths.dir.min(WIDEST_DIR).min(room * 2 / 5);
    let has_dir = dir_width > 8 && take(&mut room, dir_width);
    let mut line = String::new();
    if has_agent {
        line.push_str(&padded(&item.agent, widths.agent + GAP));
    }
    let title = text::truncated(&item.title, room);
    if has_active || has_dir {
        line.push_str(&padded(&title, room + GAP));
    } else {
        line.push_str(&title);
    }
    if has_dir {
        let gap = if has_active { GAP } else { 0 };
        line.push_str(&padded(&text::truncated_path(&item.dir, dir_width), dir_width + gap));
    }
    if has_active {
        line.push_str(&item.active);
    }
    let Styles { strong, .. } = styles;
    let line = line.trim_end();
    if is_here { format!("{strong}> {line}{strong:#}") } else { format!("  {line}") }
}

/// Takes the room for a column if enough is left for the title.
fn take(room: &mut usize, width: usize) -> bool {
    let fits = *room >= NARROWEST_TITLE + width + GAP;
    *room -= if fits { width + GAP } else { 0 };
    fits
}

fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// Returns the lines below the list: which session it is, and the end of its conversation.
fn below(item: &Item, preview: Option<&Preview>, layout: Layout, styles: &Styles) -> Vec<String> {
    let Styles { header, faint, warning, .. } = styles;
    let columns = layout.columns;
    let mut lines = vec![
        format!("{faint}{}{faint:#}", "─".repeat(columns)),
        format!("{header}{}{header:#}", text::truncated(&format!("{} {}", item.agent, item.id), columns)),
        text::truncated_path(&item.dir, columns).into_owned(),
    ];
    let room = layout.preview.saturating_sub(lines.len());
    match preview {
        None => {}
        Some(Preview::TooLarge(bytes)) => {
            let words = format!("its transcript is too large to be shown here ({})", text::size(*bytes));
            lines.push(format!("{faint}{}{faint:#}", text::truncated(&words, columns)));
        }
        Some(Preview::Unreadable(why)) => {
            let words = format!("its transcript cannot be read: {}", text::one_line(why));
            lines.push(format!("{warning}{}{warning:#}", text::truncated(&words, columns)));
        }
        Some(Preview::Messages(messages)) => {
            // The newest messages are the ones that people know a session by.
            let mut said: Vec<Vec<String>> = Vec::new();
            let mut left = room;
            for (role, words) in messages.iter().rev() {
                let mut wrapped = wrapped(&format!("{}: {words}", role.name()), columns, MAX_LINES.min(left.max(1)));
                if wrapped.len() > left {
                    break;
                }
                left -= wrapped.len();
                let name = role.name();
                wrapped[0] = wrapped[0].replacen(name, &format!("{header}{name}{header:#}"), 1);
                said.push(wrapped);
            }
            lines.extend(said.into_iter().rev().flatten());
        }
    }
    lines.truncate(layout.preview);
    lines
}

/// Breaks text into lines of a width, at most so many; the last one shows that something is missing.
fn wrapped(words: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = words;
    while lines.len() + 1 < most && rest.width() > width {
        let mut used = 0;
        let fits = rest.char_indices().find(|(_, c)| {
            used += c.width().unwrap_or(0);
            used > width
        });
        let end = fits.map_or(rest.len(), |(at, _)| at);
        // A word is not broken unless it is longer than a line, and a line has one character at least.
        let is_between_words = rest[end..].starts_with(' ');
        let blank = rest[..end].rfind(' ').filter(|at| *at > 0 && !is_between_words);
        let end = blank.unwrap_or(end).max(rest.chars().next().map_or(0, char::len_utf8));
        lines.push(rest[..end].to_owned());
        rest = rest[end..].trim_start();
    }
    lines.push(text::truncated(rest, width).into_owned());
    lines
}

#[cfg(test)]
mod tests {
    use super::super::keys::Key;
    use super::super::state::tests::items;
    use super::*;
    use crate::session::Role;

    const LIST: [(&str, &str, &str); 3] = [
        ("claude", "Fix the parser of the configuration file", "~/work/a-directory/with/a/long/name"),
        ("amplifier", "日本語の題名です、とても長い題名です、本当に", "~/app"),
        ("jido", "x", "?"),
    ];

    fn drawn(columns: usize, rows: usize, keys: &[Key], preview: Option<&Preview>) -> Vec<String> {
        let mut state = State::new(items(&LIST));
        let layout = Layout::of(Size { columns, rows });
        state.fit(layout.list);
        for key in keys {
            state.press(*key);
        }
        lines(&state, preview, layout, &Styles::default())
    }

    #[test]
    fn a_usual_terminal_shows_every_column() {
        assert_eq!(
            drawn(80, 8, &[Key::Down, Key::Char('a'), Key::Char(' ')], None),
            [
                "> a ",
                "3 of 3 sessions; Enter resumes, Escape quits",
                "> claude     Fix the parser of the configur…  …tory/with/a/long/name  yesterday",
                "  amplifier  日本語の題名です、とても長い題…  ~/app                   yesterday",
                "  jido       x                                ?                       yesterday",
            ]
        );
    }

    #[test]
    fn nothing_is_wider_or_higher_than_the_terminal() {
        let messages = vec![(Role::User, "a b c ".repeat(50)), (Role::Assistant, "日本".repeat(200))];
        let previews = [
            None,
            Some(Preview::Messages(messages)),
            Some(Preview::TooLarge(1 << 40)),
            Some(Preview::Unreadable("no".repeat(99))),
        ];
        for columns in 1..130 {
            for rows in 1..30 {
                for preview in &previews {
                    let drawn = drawn(columns, rows, &[Key::Char('a'); 3][..columns % 3], preview.as_ref());
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
        assert_eq!(drawn(20, 1, &[], None), ["> "]);
        assert_eq!(drawn(20, 2, &[Key::Down], None), ["> ", "> 日本語の題名です…"]);
        assert_eq!(drawn(12, 4, &[], None), ["> ", "3 of 3 ses…", "> Fix the …", "  日本語の…"]);
    }

    #[test]
    fn the_end_of_the_conversation_is_below_the_list() {
        let messages = vec![
            (Role::User, "first".into()),
            (Role::Assistant, "one two three four five".into()),
            (Role::User, "last".into()),
        ];
        let drawn = drawn(21, 14, &[], Some(&Preview::Messages(messages)));
        assert_eq!(drawn[9], "─".repeat(20));
        assert_eq!(
            drawn[10..],
            ["claude 0000-aaaa", "…ry/with/a/long/name", "assistant: one two …", "user: last"].map(str::to_owned)
        );
    }

    #[test]
    fn long_messages_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 7, 3), ["one two", "three"]);
        assert_eq!(wrapped("abcdefghij", 4, 3), ["abcd", "efgh", "ij"]);
        assert_eq!(wrapped("one two three four five", 7, 2), ["one two", "three …"]);
        assert_eq!(wrapped("日本語", 1, 2).len(), 2);
        assert_eq!(wrapped("", 4, 3), [""]);
    }

    #[test]
    fn a_frame_puts_the_cursor_behind_what_was_typed() {
        let mut state = State::new(items(&LIST));
        state.press(Key::Char('日'));
        let layout = Layout::of(Size { columns: 40, rows: 5 });
        let frame = frame(&state, None, layout, &Styles::default());
        assert!(frame.starts_with("\x1b[?25l\x1b[1;1H\x1b[K> 日\x1b[2;1H\x1b[K1 of 3"), "{frame:?}");
        assert!(frame.ends_with("\x1b[J\x1b[1;5H\x1b[?25h"), "{frame:?}");
    }

    #[test]
    fn what_is_pasted_cannot_command_the_terminal() {
        let mut state = State::new(items(&LIST));
        state.press(Key::Char('\u{202e}'));
        assert_eq!(prompt(&state, Layout::of(Size { columns: 40, rows: 5 })), "> \\u{202e}");
    }
}
