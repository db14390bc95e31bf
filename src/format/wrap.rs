//! Wraps text to a width, between words.

use std::ops::{Range, RangeInclusive};

use unicode_width::UnicodeWidthChar as _;

/// Wraps a line to at most this width; all lines but the first begin with a margin.
///
/// A command in backquotes is one word, so that it can be pasted. A word that is longer than a line is not split. The
/// codes of styles take no room.
pub(crate) fn broken(line: &str, width: usize, margin: usize) -> Vec<String> {
    split(line, width, (0, margin), 0..0)
}

/// Wraps a line of an answer; continuation lines are indented to its last column. A command is not split.
pub(crate) fn folded(line: &str, width: usize) -> Vec<String> {
    let (whole, (from, margin)) = (command(line), last_column(line, width));
    // Indent the rest of a wrapped line, so that it does not look like the next command.
    let more = if whole.start == margin && !whole.is_empty() { whole.start } else { 0 };
    split(line, width, (from, margin + more), whole)
}

/// Returns the width of a text in columns, without the codes of its styles.
pub(crate) fn columns(text: &str) -> usize {
    widths(text).map(|(_, _, width)| width).sum()
}

/// Returns each character with its offset and its width, which is 0 for those of a style's code.
fn widths(text: &str) -> impl Iterator<Item = (usize, char, usize)> {
    let mut is_code = false;
    text.char_indices().map(move |(at, c)| {
        let is_part = is_code || c == '\x1b';
        is_code = is_part && c != 'm';
        (at, c, if is_part { 0 } else { c.width().unwrap_or(0) })
    })
}

/// Like [`broken`]; breaks neither before the offset `from`, where a break would not help, nor inside the range `whole`.
fn split(line: &str, width: usize, (from, margin): (usize, usize), whole: Range<usize>) -> Vec<String> {
    let margin = margin.min(width / 2);
    let mut lines = Vec::new();
    let (mut start, mut used, mut gap, mut quoted) = (0, 0, None, 0);
    for (at, c, columns) in widths(line) {
        if c == '`' && at >= quoted {
            quoted = end_of_quote(&line[at..]).map_or(at, |length| at + length);
        }
        let is_whole = at < from || whole.contains(&at);
        if c == ' ' && at >= quoted && !is_whole && !line[start..at].trim_end().is_empty() {
            gap = Some(at);
        }
        used += columns;
        if let Some(at_gap) = gap.filter(|at_gap| used > width && *at_gap < at) {
            lines.push(piece(&line[start..at_gap], lines.len(), margin));
            start = at_gap + line[at_gap..].len() - line[at_gap..].trim_start_matches(' ').len();
            used = margin + self::columns(&line[start..(at + c.len_utf8()).max(start)]);
            gap = None;
        }
    }
    lines.push(piece(&line[start..], lines.len(), margin));
    lines
}

/// Finds a command or path to paste that is not quoted: the first column of a line below an item, or a column
/// that begins as a command for a shell does.
fn command(line: &str) -> Range<usize> {
    /// Indents of the paths and commands below an item.
    const BELOW: RangeInclusive<usize> = 4..=8;
    let indent = line.len() - line.trim_start().len();
    let end = |start: usize| line[start..].find("  ").map_or(line.len(), |gap| start + gap);
    if BELOW.contains(&indent) {
        return indent..end(indent);
    }
    let bytes = line.as_bytes();
    let mut starts = (2..line.len()).filter(|at| bytes[..*at].ends_with(b"  ") && bytes[*at] != b' ');
    starts
        .find(|at| ["cd ", "rejoin "].iter().any(|word| line[*at..].starts_with(word)))
        .map_or(0..0, |at| at..line.len())
}

fn piece(text: &str, before: usize, margin: usize) -> String {
    format!("{:indent$}{}", "", text.trim_end(), indent = if before > 0 { margin } else { 0 })
}

/// Returns the length of the quote at the beginning of a text, if it is closed.
fn end_of_quote(text: &str) -> Option<usize> {
    text[1..].find('`').map(|end| end + 2)
}

/// Returns the offset and the column after the last gap of several blanks in the left half of a line, or after its indent.
fn last_column(line: &str, width: usize) -> (usize, usize) {
    let end = |at: usize| line.len() - line[at..].trim_start_matches(' ').len();
    let gaps = line.match_indices("  ").map(|(at, _)| (end(at), columns(&line[..end(at)])));
    gaps.take_while(|(_, column)| *column <= width / 2).last().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_width::UnicodeWidthStr as _;

    use super::*;

    #[test]
    fn lines_break_between_words_and_keep_commands_whole() {
        let note = "22 more: `rejoin list --limit 0`, or `rejoin list --here` for this directory.";
        assert_eq!(
            broken(note, 30, 2),
            ["22 more:", "  `rejoin list --limit 0`, or", "  `rejoin list --here` for", "  this directory."]
        );
        assert_eq!(broken(note, 80, 2), [note]);
        assert_eq!(broken("a `b c", 4, 0), ["a `b", "c"], "a quote without an end is text");
        let long = "run `rejoin resume ID --in DIR` or wait";
        assert_eq!(broken(long, 20, 2), ["run", "  `rejoin resume ID --in DIR`", "  or wait"]);
        assert_eq!(broken("/a/path/that/is/too/long to fit", 10, 2), ["/a/path/that/is/too/long", "  to fit"]);
        assert_eq!(broken("    code that is long", 12, 0), ["    code", "that is long"]);
        assert_eq!(broken("日本 語の", 6, 0), ["日本", "語の"]);
        assert_eq!(broken("", 6, 2), [""]);
    }

    #[test]
    fn wrap_indents_row_to_its_last_column() {
        let left = "left  claude 31c5f2e8: the file was changed since";
        assert_eq!(folded(left, 30), ["left  claude 31c5f2e8: the", "      file was changed since"]);
        assert_eq!(folded("a sentence of words", 12), ["a sentence", "of words"]);
        let remedy = "    rejoin move OLD NEW --yes  records the new directory";
        assert_eq!(folded(remedy, 40), ["    rejoin move OLD NEW --yes  records", "        the new directory"]);
        let resume = "  resume        cd '/a b' && claude --resume 1";
        assert_eq!(folded(resume, 30), ["  resume", "  cd '/a b' && claude --resume 1"]);
        assert_eq!(folded("  in     /a/long/path", 18), ["  in     /a/long/path"]);
        let indented = "  in   rejoin show 1 of many";
        assert_eq!(folded(indented, 20), [indented], "after an odd number of blanks");
        let styled = "\x1b[1mwarning\x1b[0m one two";
        assert_eq!(folded(styled, 11), ["\x1b[1mwarning\x1b[0m one", "two"]);
        assert_eq!(columns("\x1b[38;5;163m日\x1b[0m "), 3);
    }

    #[test]
    fn wrap_indents_column_to_its_start() {
        assert_eq!(folded("  ab    one two three", 17), ["  ab    one two", "        three"]);
        assert_eq!(folded("plain words that are long", 17), ["plain words that", "are long"]);
        assert_eq!(
            folded("moved  a title  (a reason of words)", 26),
            ["moved  a title  (a reason", "       of words)"]
        );
        assert_eq!(folded("/a/path/that/is/too/long/to/fit", 10), ["/a/path/that/is/too/long/to/fit"]);
    }

    proptest! {
        #[test]
        fn wrap_loses_no_word(line in "[ab日` ]{0,60}", width in 1_usize..20) {
            let lines = broken(&line, width, 2);
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(words(&lines.join(" ")), words(&line));
            for line in lines.iter().filter(|line| line.width() > width) {
                prop_assert!(words(line).len() == 1 || line.contains('`'), "{line:?}");
            }
        }
    }
}
