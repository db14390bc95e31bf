//! A literal text to find, with or without its case.

use std::ops::Range;

use memchr::{memchr2_iter, memmem};

/// A text to find. It is not a pattern, so no character in it is special.
#[derive(Clone, Debug)]
pub(crate) struct Needle {
    text: String,
    /// Set if case matters.
    pub is_exact: bool,
    /// The lower-case letters, if the text is not ASCII and any case matches.
    folded: Vec<char>,
}

impl Needle {
    /// Creates a needle. A text without a capital letter matches in any case, as in other search tools.
    pub(crate) fn new(text: &str, is_exact: bool) -> Self {
        let is_exact = is_exact || text.chars().any(char::is_uppercase);
        let folded = if is_exact || text.is_ascii() { Vec::new() } else { fold(text.chars()).collect() };
        Self { text: text.to_owned(), is_exact, folded }
    }

    /// Returns the text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether letters beyond ASCII are compared in lower case.
    pub(super) fn is_folded(&self) -> bool {
        !self.folded.is_empty()
    }

    /// Finds the first match in a text, in bytes.
    pub(crate) fn find_in(&self, text: &str) -> Option<Range<usize>> {
        let (requested, bytes) = (self.text.as_bytes(), text.as_bytes());
        if self.is_exact {
            return memmem::find(bytes, requested).map(|at| at..at + requested.len());
        }
        let first = *requested.first()?;
        if self.folded.is_empty() {
            let is_here = |at: &usize| {
                bytes.get(*at..at + requested.len()).is_some_and(|found| found.eq_ignore_ascii_case(requested))
            };
            let mut places = memchr2_iter(first, first.to_ascii_uppercase(), bytes);
            return places.find(is_here).map(|at| at..at + requested.len());
        }
        text.char_indices().find_map(|(at, _)| Some(at..at + self.length_at(&text[at..])?))
    }

    /// Returns the length in bytes of a match at the beginning of a text.
    fn length_at(&self, text: &str) -> Option<usize> {
        let mut requested = self.folded.as_slice();
        for (at, letter) in text.char_indices() {
            for folded in letter.to_lowercase() {
                let (next, rest) = requested.split_first()?;
                if *next != folded {
                    return None;
                }
                requested = rest;
            }
            if requested.is_empty() {
                return Some(at + letter.len_utf8());
            }
        }
        None
    }
}

fn fold(text: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    text.flat_map(char::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_text(needle: &str, text: &str) -> Option<String> {
        Needle::new(needle, false).find_in(text).map(|place| text[place].to_owned())
    }

    #[test]
    fn lower_case_pattern_ignores_case() {
        assert_eq!(found_text("parser", "Fix the PARSER"), Some("PARSER".to_owned()));
        assert_eq!(found_text("Parser", "Fix the PARSER, Parser"), Some("Parser".to_owned()));
        assert_eq!(Needle::new("parser", true).find_in("PARSER"), None);
        assert_eq!(found_text("straße", "Die STRAßE"), Some("STRAßE".to_owned()));
        assert_eq!(found_text("élan", "vital ÉLAN"), Some("ÉLAN".to_owned()));
        assert_eq!(found_text("a.c", "abc"), None);
        assert_eq!(found_text("aab", "aaab"), Some("aab".to_owned()));
        assert_eq!(found_text("日本", "x日本y"), Some("日本".to_owned()));
    }
}
