//! Words for people: foreign text made harmless, times, sizes, paths.
//!
//! Titles, prompts, paths and ids come from other programs, and a terminal obeys what it is sent.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};

use jiff::Timestamp;
use unicode_width::UnicodeWidthChar as _;

/// Makes text safe for a terminal: what could command it, hide or reorder is shown as an escape; lines stay.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    escape(text, |c| c != '\n' && is_hostile(c))
}

/// Makes text safe and puts it on one line, runs of white space becoming one blank.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    let is_clean = !text.contains(|c: char| is_hostile(c) || (c.is_whitespace() && c != ' ')) && !text.contains("  ");
    if is_clean {
        return Cow::Borrowed(text.trim());
    }
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Cow::Owned(escape(&joined, is_hostile).into_owned())
}

/// Writes text, such as a command, on one line, with every blank of it.
pub(crate) fn unbroken(text: &str) -> Cow<'_, str> {
    escape(text, is_hostile)
}

/// Tells whether text is one line that a terminal only shows.
pub(crate) fn is_harmless(text: &str) -> bool {
    !text.contains(is_hostile)
}

/// Writes text as one field of a line: tabs, newlines and backslashes escaped, so that nothing is lost.
pub(crate) fn field(text: &str) -> Cow<'_, str> {
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

/// Control characters, marks that reorder text, and characters of no width that make two texts look alike.
pub(super) fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{061c}' | '\u{fff9}'..='\u{fffb}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// Cuts text to a width in columns, with an ellipsis where something is missing.
pub(crate) fn truncated(text: &str, width: usize) -> Cow<'_, str> {
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

/// Cuts a path to a width in columns, keeping its end, which tells more than its beginning.
pub(crate) fn truncated_path(path: &str, width: usize) -> Cow<'_, str> {
    let columns: usize = path.chars().filter_map(|c| c.width()).sum();
    if columns <= width {
        return Cow::Borrowed(path);
    }
    let mut left = width.saturating_sub(1);
    let mut start = path.len();
    for (at, c) in path.char_indices().rev() {
        let columns = c.width().unwrap_or(0);
        if columns > left {
            break;
        }
        left -= columns;
        start = at;
    }
    Cow::Owned(format!("…{}", &path[start..]))
}

/// Says how long ago something was, in JidoCode's words, which every agent's times are shown in.
pub(crate) fn ago(then: Option<Timestamp>, now: Timestamp) -> String {
    let Some(then) = then else { return "unknown".to_owned() };
    // JidoCode, too, drops the fractions first and subtracts then.
    let seconds = now.as_second() - then.as_second();
    match seconds {
        ..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..7_200 => "1 hour ago".to_owned(),
        7_200..86_400 => format!("{} hours ago", seconds / 3_600),
        86_400..172_800 => "yesterday".to_owned(),
        172_800..604_800 => format!("{} days ago", seconds / 86_400),
        _ => then.strftime("%Y-%m-%d").to_string(),
    }
}

/// Says how many there are of something: "0 sessions", "1 session", "2 directories".
pub(crate) fn count<N: Copy + Display + PartialEq + From<u8>>(number: N, one: &str) -> String {
    match one.strip_suffix('y') {
        _ if number == N::from(1) => format!("1 {one}"),
        Some(stem) => format!("{number} {stem}ies"),
        None => format!("{number} {one}s"),
    }
}

/// Joins names in a sentence: "gemini, qwen and copilot".
pub(crate) fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Says a size in bytes with three figures at most.
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
    fn counts_and_lists_are_words_of_a_sentence() {
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
    fn escape_codes_in_a_title_do_not_reach_the_terminal() {
        assert_eq!(one_line("ok\x1b]52;c;evil\x07"), "ok\\u{1b}]52;c;evil\\u{7}");
        assert_eq!(printable("a\x1b[2Jb\nc"), "a\\u{1b}[2Jb\nc");
        assert_eq!(printable("a\u{9b}2J"), "a\\u{9b}2J");
    }

    #[test]
    fn marks_that_reorder_or_hide_text_are_shown() {
        assert_eq!(one_line("a\u{202e}b\u{200b}c\u{feff}\u{e0041}"), "a\\u{202e}b\\u{200b}c\\u{feff}\\u{e0041}");
    }

    #[test]
    fn clean_text_is_not_copied() {
        assert!(matches!(one_line("fix the parser"), Cow::Borrowed("fix the parser")));
        assert!(matches!(printable("a\nb"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_title_of_several_lines_becomes_one() {
        assert_eq!(one_line(" a \n\t b\r\nc "), "a b c");
        assert_eq!(field("a\tb\nc\\"), "a\\tb\\nc\\\\");
    }

    #[test]
    fn cut_text_has_the_width_that_was_asked_for() {
        assert_eq!(truncated("abcdef", 6), "abcdef");
        assert_eq!(truncated("abcdefg", 6), "abcde…");
        assert_eq!(truncated("日本語", 5), "日本…");
        assert_eq!(truncated_path("/home/ana/work/x", 8), "…/work/x");
        assert_eq!(truncated_path("/x", 8), "/x");
    }

    #[test]
    fn ages_are_said_in_jidocodes_words() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().expect("a time");
        for (then, expected) in [
            ("2026-03-01T12:00:30Z", "just now"),
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
