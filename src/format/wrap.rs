//! Wraps text to a width, between words.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Wraps a line to at most this width; all lines but the first begin with a margin.
///
/// A command in backquotes is one word, so that it can be pasted. A word that is longer than a line is not split.
pub(crate) fn broken(line: &str, width: usize, margin: usize) -> Vec<String> {
    let margin = margin.min(width / 2);
    let mut lines = Vec::new();
    let (mut start, mut used, mut gap, mut quoted) = (0, 0, None, 0);
    for (at, c) in line.char_indices() {
        if c == '`' && at >= quoted {
            quoted = end_of_quote(&line[at..]).map_or(at, |length| at + length);
        }
        if c == ' ' && at >= quoted && !line[start..at].trim_end().is_empty() {
            gap = Some(at);
        }
        used += c.width().unwrap_or(0);
        if let Some(at_gap) = gap.filter(|at_gap| used > width && *at_gap < at) {
            lines.push(piece(&line[start..at_gap], lines.len(), margin));
            start = at_gap + line[at_gap..].len() - line[at_gap..].trim_start_matches(' ').len();
            used = margin + line[start..(at + c.len_utf8()).max(start)].width();
            gap = None;
        }
    }
    lines.push(piece(&line[start..], lines.len(), margin));
    lines
}

fn piece(text: &str, before: usize, margin: usize) -> String {
    format!("{:indent$}{}", "", text.trim_end(), indent = if before > 0 { margin } else { 0 })
}

/// Returns the length of the quote at the beginning of a text, if it is closed.
fn end_of_quote(text: &str) -> Option<usize> {
    text[1..].find('`').map(|end| end + 2)
}

/// Wraps each line of a text; continuation lines are indented to the last column of their line.
pub(crate) fn in_columns(text: &str, width: usize) -> String {
    let mut wrapped = String::new();
    for line in text.split_inclusive('\n') {
        let own = line.trim_end_matches('\n');
        wrapped.extend([broken(own, width, last_column(own)).join("\n").as_str(), &line[own.len()..]]);
    }
    wrapped
}

/// Returns the column after the last gap of several blanks in a line, or after its indent.
fn last_column(line: &str) -> usize {
    let margin = line.len() - line.trim_start().len();
    let gap = line.rfind("  ").map_or(0, |at| at + 2);
    line[..margin.max(gap)].width()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
    fn a_column_continues_below_its_first_line() {
        let text = "A topic:\n\n  ab    one two three\n  c     four\n\nplain words that are long\n";
        let expected = "A topic:\n\n  ab    one two\n        three\n  c     four\n\nplain words that\nare long\n";
        assert_eq!(in_columns(text, 17), expected);
        assert_eq!(in_columns(text, 80), text);
        assert_eq!(in_columns("/a/path/that/is/too/long/to/fit\n", 10), "/a/path/that/is/too/long/to/fit\n");
    }

    proptest! {
        #[test]
        fn no_word_is_lost_or_shares_an_overlong_line(line in "[ab日` ]{0,60}", width in 1_usize..20) {
            let lines = broken(&line, width, 2);
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(words(&lines.join(" ")), words(&line));
            for line in lines.iter().filter(|line| line.width() > width) {
                prop_assert!(words(line).len() == 1 || line.contains('`'), "{line:?}");
            }
        }
    }
}
