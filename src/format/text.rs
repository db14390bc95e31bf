//! Formats text for terminals: foreign text made harmless, times, sizes, paths.
//!
//! Titles, prompts, paths and ids come from other programs, and a terminal executes the control sequences it receives.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use std::path::Path;

pub(crate) use changes::stamp::hex;
use jiff::Timestamp;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::shown::{is_hostile, is_printable_ascii_without};
use crate::session::CLOCK_SKEW;

/// Returns a path as text; bytes that are not UTF-8 are replaced.
pub(crate) fn of_path(path: &Path) -> Cow<'_, str> {
    // Nearly every path is UTF-8, and checking that is faster than a lossy conversion.
    path.to_str().map_or_else(|| path.to_string_lossy(), Cow::Borrowed)
}

/// Escapes the characters that could control a terminal, or hide or reorder text; line ends stay.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    escape(text, |c| c != '\n' && is_hostile(c))
}

/// Escapes hostile characters and flattens the text to one line; each run of white space becomes one blank.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    let is_clean = !text.contains(|c: char| is_hostile(c) || (c.is_whitespace() && c != ' ')) && !text.contains("  ");
    if is_clean {
        return Cow::Borrowed(text.trim());
    }
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Cow::Owned(escape(&joined, is_hostile).into_owned())
}

/// Escapes hostile characters and line ends, so that text such as a command is on one line; keeps every blank.
pub(crate) fn unbroken(text: &str) -> Cow<'_, str> {
    escape(text, is_hostile)
}

/// Removes the codes with which a program styles its text on a terminal.
pub(crate) fn without_styles(text: &str) -> String {
    let is_number = |c: char| c.is_ascii_digit() || c == ';';
    let mut pieces = text.split("\x1b[");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| match piece.trim_start_matches(is_number).strip_prefix('m') {
        Some(rest) => text + rest,
        None => text + "\x1b[" + piece,
    })
}

/// Escapes tabs, newlines and backslashes for one field of a line, so that no information is lost.
pub(crate) fn field(text: &str) -> Cow<'_, str> {
    if is_printable_ascii_without(b'\\', text.as_bytes()) {
        // The case for nearly all text.
        return Cow::Borrowed(text);
    }
    escape(text, |c| c == '\\' || is_hostile(c))
}

fn escape(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            _ if !is_escaped(c) => safe.push(c),
            '\t' => safe.push_str("\\t"),
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\\' => safe.push_str("\\\\"),
            _ => {
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    Cow::Owned(safe)
}

/// Cuts text to a width in columns, with an ellipsis for the missing part.
pub(crate) fn truncated(text: &str, width: usize) -> Cow<'_, str> {
    if width == 0 {
        return Cow::Borrowed("");
    }
    let mut used = 0;
    let mut last_fit = 0;
    for (at, c) in text.char_indices() {
        let columns = c.width().unwrap_or(0);
        if used + columns > width {
            return Cow::Owned(format!("{}…", &text[..last_fit]));
        }
        used += columns;
        if used < width {
            last_fit = at + c.len_utf8();
        }
    }
    Cow::Borrowed(text)
}

/// Cuts a path in its middle to a width in columns. Keeps the last part, which is the most informative, and as much of
/// the beginning as fits.
pub(crate) fn truncated_path(path: &str, width: usize) -> Cow<'_, str> {
    if path.width() <= width {
        return Cow::Borrowed(path);
    }
    let parts: Vec<&str> = path.split('/').collect();
    let joined = |head: usize, tail: usize| {
        let (head, tail) = (parts[..head].join("/"), parts[parts.len() - tail..].join("/"));
        if head.is_empty() { format!("…/{tail}") } else { format!("{head}/…/{tail}") }
    };
    // An absolute path begins with an empty component, which alone identifies nothing.
    let first = if path.starts_with('/') { 2 } else { 1 };
    let fits = |head: usize, tail: usize| head + tail < parts.len() && joined(head, tail).width() <= width;
    let mut tail = 1;
    if !fits(0, tail) {
        return truncated_middle(parts.last().copied().unwrap_or(path), width);
    }
    let mut head = if fits(first, tail) { first } else { 0 };
    while fits(head, tail + 1) {
        tail += 1;
    }
    while head > 0 && fits(head + 1, tail) {
        head += 1;
    }
    Cow::Owned(joined(head, tail))
}

/// Cuts text to a width in columns in its middle.
fn truncated_middle(text: &str, width: usize) -> Cow<'_, str> {
    if text.width() <= width || width == 0 {
        return truncated(text, width);
    }
    let mut left = (width - 1) / 2;
    let mut start = text.len();
    for (at, c) in text.char_indices().rev() {
        let columns = c.width().unwrap_or(0);
        if columns > left {
            break;
        }
        left -= columns;
        start = at;
    }
    // The beginning gets the remaining width, including the ellipsis.
    let end = &text[start..];
    Cow::Owned(format!("{}{end}", truncated(text, width - end.width())))
}

/// Formats a number in short form: 950, 12.3k, 4.5M.
pub(crate) fn short(number: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    match UNITS.iter().find(|(unit, _)| number >= *unit) {
        Some((unit, name)) => {
            let scaled = number / (unit / 10);
            format!("{}.{}{name}", scaled / 10, scaled % 10)
        }
        None => number.to_string(),
    }
}

/// The age in seconds of a time that another clock, which may be ahead, calls the present.
const AHEAD: i64 = -CLOCK_SKEW.as_secs();

/// Formats the age of a time like JidoCode; used for the times of all agents.
pub(crate) fn ago(then: Option<Timestamp>, now: Timestamp) -> String {
    let Some(then) = then else { return "unknown".to_owned() };
    // JidoCode also truncates to seconds before the subtraction.
    let seconds = now.as_second() - then.as_second();
    match seconds {
        AHEAD..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..7_200 => "1 hour ago".to_owned(),
        7_200..86_400 => format!("{} hours ago", seconds / 3_600),
        86_400..172_800 => "yesterday".to_owned(),
        172_800..604_800 => format!("{} days ago", seconds / 86_400),
        _ => then.strftime("%Y-%m-%d").to_string(),
    }
}

/// Formats the age of a time in at most four characters, for narrow columns: "5m", "20h", "3d", "7w".
pub(crate) fn short_ago(then: Option<Timestamp>, now: Timestamp) -> String {
    let Some(then) = then else { return "?".to_owned() };
    match now.as_second() - then.as_second() {
        ..AHEAD => ">now".to_owned(),
        AHEAD..60 => "now".to_owned(),
        seconds @ 60..3_600 => format!("{}m", seconds / 60),
        seconds @ 3_600..86_400 => format!("{}h", seconds / 3_600),
        seconds @ 86_400..1_209_600 => format!("{}d", seconds / 86_400),
        seconds @ 1_209_600..31_536_000 => format!("{}w", seconds / 604_800),
        seconds => format!("{}y", seconds / 31_536_000),
    }
}

/// Formats a number with its noun: "0 sessions", "1 session", "2 directories", "3 days".
pub(crate) fn count<N: Copy + Display + PartialEq + From<u8>>(number: N, one: &str) -> String {
    match one.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        _ if number == N::from(1) => format!("1 {one}"),
        Some(stem) => format!("{number} {stem}ies"),
        None => format!("{number} {one}s"),
    }
}

/// Makes a sentence of a clause: a capital letter and a period.
pub(crate) fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).chain(['.']).collect()
}

/// Formats a length of time: "14 days", "1 month, 2 days".
pub(crate) fn span(span: jiff::Span) -> String {
    let printer = jiff::fmt::friendly::SpanPrinter::new().designator(jiff::fmt::friendly::Designator::Verbose);
    let printer =
        printer.spacing(jiff::fmt::friendly::Spacing::BetweenUnitsAndDesignators).comma_after_designator(true);
    printer.span_to_string(&span)
}

/// Joins names for a sentence: "gemini, qwen and copilot".
pub(crate) fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Writes items after a head, separated by commas, in lines of at most this width unless one item alone is wider.
pub(crate) fn flowed(head: &str, items: &[String], width: usize) -> Vec<String> {
    let mut lines = vec![head.to_owned()];
    for (at, item) in items.iter().enumerate() {
        let end = if at + 1 == items.len() { "." } else { "," };
        let item = format!(" {item}{end}");
        match lines.last_mut() {
            Some(line) if line.width() + item.width() <= width => line.push_str(&item),
            _ => lines.push(format!(" {item}")),
        }
    }
    lines
}

/// Formats a size in bytes with at most three digits.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    #[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 || value >= 9.95 {
        format!("{value:.0} {}", UNITS[unit])
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_format_counts_and_lists() {
        let counts = [(0, "0 sessions"), (1, "1 session"), (2, "2 sessions")];
        for (number, expected) in counts {
            assert_eq!(count(number, "session"), expected);
        }
        assert_eq!(
            (count(1_u64, "directory"), count(2_u64, "directory")),
            ("1 directory".into(), "2 directories".into())
        );
        let lists = [(&["gemini"][..], "gemini"), (&["gemini", "qwen", "copilot"], "gemini, qwen and copilot")];
        for (names, expected) in lists {
            assert_eq!(list(names), expected);
        }
    }

    #[test]
    fn long_list_wraps_over_several_lines() {
        let items = ["one", "two", "three"].map(str::to_owned);
        assert_eq!(flowed("Numbers:", &items, 40), ["Numbers: one, two, three."]);
        assert_eq!(flowed("Numbers:", &items, 18), ["Numbers: one, two,", "  three."]);
        assert_eq!(flowed("Numbers:", &items, 1), ["Numbers:", "  one,", "  two,", "  three."]);
    }

    #[test]
    fn escape_codes_in_title_do_not_reach_terminal() {
        assert_eq!(one_line("ok\x1b]52;c;evil\x07"), "ok\\u{1b}]52;c;evil\\u{7}");
        assert_eq!(printable("a\x1b[2Jb\nc"), "a\\u{1b}[2Jb\nc");
        assert_eq!(printable("a\u{9b}2J"), "a\\u{9b}2J");
    }

    #[test]
    fn display_escapes_invisible_and_bidi_characters() {
        assert_eq!(one_line("a\u{202e}b\u{200b}c\u{feff}\u{e0041}"), "a\\u{202e}b\\u{200b}c\\u{feff}\\u{e0041}");
    }

    #[test]
    fn escaping_borrows_clean_text() {
        assert!(matches!(one_line("fix the parser"), Cow::Borrowed("fix the parser")));
        assert!(matches!(printable("a\nb"), Cow::Borrowed(_)));
    }

    #[test]
    fn multiline_title_becomes_one_line() {
        assert_eq!(one_line(" a \n\t b\r\nc "), "a b c");
        assert_eq!(field("a\tb\nc\\"), "a\\tb\\nc\\\\");
    }

    #[test]
    fn cut_text_has_the_requested_width() {
        assert_eq!(truncated("abcdef", 6), "abcdef");
        assert_eq!(truncated("abcdefg", 6), "abcde…");
        assert_eq!(truncated("日本語", 5), "日本…");
    }

    #[test]
    fn display_truncates_path_in_the_middle() {
        for (path, width, expected) in [
            ("/x", 8, "/x"),
            ("/home/ana/work/x", 16, "/home/ana/work/x"),
            ("/home/ana/work/x", 15, "/home/…/work/x"),
            ("/home/ana/work/x", 13, "/home/ana/…/x"),
            ("/home/ana/work/x", 8, "…/work/x"),
            ("/home/ana/work/x", 3, "…/x"),
            ("~/work/clients/acme/shop", 20, "~/work/…/acme/shop"),
            ("~/a/a-very-long-last-part", 12, "a-very…-part"),
            ("/a/日本語の名前", 7, "日本…前"),
            ("/a/b", 0, ""),
            ("plain", 3, "p…n"),
        ] {
            let cut = truncated_path(path, width);
            assert_eq!(cut, expected, "{path} {width}");
            assert!(cut.width() <= width, "{path} {width}");
        }
    }

    #[test]
    fn ages_have_format_of_jidocode() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().expect("a time");
        for (then, expected) in [
            ("2026-03-01T12:00:30Z", "just now"),
            ("2026-03-01T12:06:00Z", "2026-03-01"),
            ("2036-01-01T00:00:00Z", "2036-01-01"),
            ("2026-03-01T11:59:01Z", "just now"),
            ("2026-03-01T11:59:00.95Z", "1 min ago"),
            ("2026-03-01T11:00:01Z", "59 min ago"),
            ("2026-03-01T11:00:00Z", "1 hour ago"),
            ("2026-03-01T10:00:00Z", "2 hours ago"),
            ("2026-02-28T12:00:00Z", "yesterday"),
            ("2026-02-27T12:00:01Z", "yesterday"),
            ("2026-02-27T12:00:00Z", "2 days ago"),
            ("2026-02-22T12:00:01Z", "6 days ago"),
            ("2026-02-22T12:00:00Z", "2026-02-22"),
        ] {
            assert_eq!(ago(then.parse().ok(), now), expected, "{then}");
        }
        assert_eq!(ago(None, now), "unknown");
    }

    #[test]
    fn short_ages_have_four_characters_at_most() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().expect("a time");
        for (then, expected) in [
            ("2026-03-01T12:00:30Z", "now"),
            ("2027-03-01T12:00:00Z", ">now"),
            ("2026-03-01T11:01:00Z", "59m"),
            ("2026-02-28T12:01:00Z", "23h"),
            ("2026-02-16T12:00:00Z", "13d"),
            ("2026-02-15T12:00:00Z", "2w"),
            ("2025-03-02T12:00:00Z", "52w"),
            ("2024-03-01T12:00:00Z", "2y"),
        ] {
            assert_eq!(short_ago(then.parse().ok(), now), expected, "{then}");
        }
        assert_eq!(short_ago(None, now), "?");
    }

    #[test]
    fn sizes_have_three_figures_at_most() {
        for (bytes, expected) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 KiB"),
            (10_240, "10 KiB"),
            (1_048_576, "1.0 MiB"),
            (2_147_483_648, "2.0 GiB"),
            (u64::MAX, "16384 PiB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
    }
}
