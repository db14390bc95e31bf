//! A line of the screen: text in styles, of a known width.

use anstyle::{Effects, Style};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Pieces of harmless text, each with a style.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StyledLine(Vec<(Style, String)>);

impl StyledLine {
    pub(super) fn plain(text: &str) -> Self {
        Self::styled(Style::new(), text)
    }

    pub(super) fn styled(style: Style, text: &str) -> Self {
        let mut line = Self::default();
        line.push(style, text);
        line
    }

    /// Creates text with the characters at these places in another style.
    pub(super) fn with_places(text: &str, places: &[usize], style: Style, found: Style) -> Self {
        let mut line = Self::default();
        let mut next = places.iter().copied().peekable();
        for (at, c) in text.chars().enumerate() {
            let is_found = next.next_if_eq(&at).is_some();
            line.push(if is_found { found } else { style }, c.encode_utf8(&mut [0; 4]));
        }
        line
    }

    pub(super) fn push(&mut self, style: Style, text: &str) {
        match self.0.last_mut() {
            Some((last, before)) if *last == style => before.push_str(text),
            _ if text.is_empty() => {}
            _ => self.0.push((style, text.to_owned())),
        }
    }

    pub(super) fn append(&mut self, line: &Self) {
        line.0.iter().for_each(|(style, text)| self.push(*style, text));
    }

    pub(super) fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.width()).sum()
    }

    /// Returns the line in the style of the highlighted one, padded to the full width.
    pub(super) fn chosen(self, style: Style, width: usize) -> Self {
        if style == Style::new() {
            return self;
        }
        let over = |own: Style| own.effects(own.get_effects().remove(Effects::DIMMED) | style.get_effects());
        Self(self.padded(width).0.into_iter().map(|(own, text)| (over(own), text)).collect())
    }

    /// Cuts the line to a width, with an ellipsis for missing text.
    pub(super) fn cut(self, width: usize) -> Self {
        if self.width() <= width {
            return self;
        }
        let mut left = width.saturating_sub(1);
        let mut line = Self::default();
        let mut last = Style::new();
        'pieces: for (style, text) in self.0 {
            last = style;
            for c in text.chars() {
                let columns = c.width().unwrap_or(0);
                if columns > left {
                    break 'pieces;
                }
                left -= columns;
                line.push(style, c.encode_utf8(&mut [0; 4]));
            }
        }
        if width > 0 {
            line.push(last, "…");
        }
        line
    }

    /// Adds blanks up to a width.
    pub(super) fn padded(mut self, width: usize) -> Self {
        let missing = width.saturating_sub(self.width());
        self.push(Style::new(), &" ".repeat(missing));
        self
    }

    /// Returns the text with escape codes for its styles.
    pub(super) fn codes(&self) -> String {
        self.0.iter().map(|(style, text)| format!("{style}{text}{style:#}")).collect()
    }

    /// Returns the text without styles.
    #[cfg(test)]
    pub(super) fn text(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect::<String>().trim_end().to_owned()
    }
}

/// Breaks text into a limited number of lines of a width; the last line marks missing text.
pub(super) fn wrapped(words: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = words;
    while lines.len() + 1 < most && rest.width() > width {
        let mut used = 0;
        let fits = rest.char_indices().find(|(_, c)| {
            used += c.width().unwrap_or(0);
            used > width
        });
        let end = fits.map_or(rest.len(), |(at, _)| at);
        // A word is only broken if it is longer than a line, and a line has at least one character.
        let is_between_words = rest[end..].starts_with(' ');
        let blank = rest[..end].rfind(' ').filter(|at| *at > 0 && !is_between_words);
        let end = blank.unwrap_or(end).max(rest.chars().next().map_or(0, char::len_utf8));
        lines.push(rest[..end].to_owned());
        rest = rest[end..].trim_start();
    }
    lines.push(crate::format::text::truncated(rest, width).into_owned());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_width_determines_cut_and_padding() {
        let bold = Style::new().bold();
        let mut line = StyledLine::with_places("日本語 text", &[0, 4], Style::new(), bold);
        line.push(Style::new(), "!");
        assert_eq!((line.width(), line.text().as_str()), (12, "日本語 text!"));
        assert_eq!(line.codes(), "\u{1b}[1m日\u{1b}[0m本語 \u{1b}[1mt\u{1b}[0mext!");
        assert_eq!(line.clone().cut(5).text(), "日本…");
        assert_eq!(line.clone().cut(6).text(), "日本…");
        assert_eq!(line.clone().cut(6).padded(9).width(), 9);
        assert_eq!(line.clone().cut(12), line);
        assert_eq!(line.cut(0).width(), 0);
    }

    #[test]
    fn wrapped_message_breaks_between_words() {
        assert_eq!(wrapped("one two three", 7, 3), ["one two", "three"]);
        assert_eq!(wrapped("abcdefghij", 4, 3), ["abcd", "efgh", "ij"]);
        assert_eq!(wrapped("one two three four five", 7, 2), ["one two", "three …"]);
        assert_eq!(wrapped("日本語", 1, 2).len(), 2);
        assert_eq!(wrapped("", 4, 3), [""]);
    }
}
