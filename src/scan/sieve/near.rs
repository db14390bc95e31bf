//! Finds words that are similar to a word, in the bytes of a transcript.

use std::ops::Range;

use crate::session::nearly::{most_slips, slips};
use crate::session::terms::fold::{folded, parts, tokens};

/// Minimum length of a word for a fuzzy match: a shorter word is similar to too many.
const SHORTEST: usize = 4;
/// Length of an escape in JSON that is directly before a word, such as `u00e4`.
const ESCAPE: usize = 5;

/// The form in which bytes contain a text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Encoding {
    /// As a string of JSON, with escapes.
    #[default]
    Json,
    /// As it is.
    Text,
}

/// A filter for words that are similar to an ASCII word.
#[derive(Debug)]
pub(super) struct NearWord {
    word: String,
    letters: u64,
}

impl NearWord {
    /// Creates the filter for a word; `None` unless it is ASCII, because any other word may be escaped in many ways.
    pub(super) fn from_word(word: &str) -> Option<Self> {
        let is_possible = has_near(word) && word.is_ascii();
        is_possible.then(|| Self { word: word.to_owned(), letters: letters(word.as_bytes()) })
    }

    /// Returns pieces of the word; each similar word contains at least one of them.
    ///
    /// The word is cut into one piece more than the typing errors that a similar word may have. Each error changes one
    /// piece, so one piece is unchanged, unless two letters were swapped across a cut. An additional piece has these
    /// letters in that order.
    pub(super) fn pieces(&self) -> Vec<Vec<u8>> {
        let word = self.word.as_bytes();
        let cuts = cuts(word.len(), most_slips(&self.word) + 1);
        let mut pieces: Vec<Vec<u8>> = cuts.iter().map(|cut| word[cut.clone()].to_vec()).collect();
        for (at, pair) in cuts.windows(2).enumerate() {
            let cut = pair[1].start;
            // The letters at the other cuts may be swapped, too.
            let start = pair[0].start + usize::from(at > 0);
            let end = pair[1].end - usize::from(at + 2 < cuts.len());
            let mut swapped = word.to_vec();
            swapped.swap(cut - 1, cut);
            pieces.push(swapped[start..end].to_vec());
        }
        pieces
    }

    /// Returns whether the ASCII letters and digits at a position are a similar word. Names of JSON members are not.
    pub(super) fn is_near(&self, bytes: &[u8], token: &Range<usize>, encoding: Encoding) -> bool {
        if encoding == Encoding::Text {
            return self.is_near_word(&bytes[token.clone()]);
        }
        if bytes[token.end..].starts_with(b"\":") {
            return false;
        }
        // A letter after a backslash is part of an escape, such as that of a line break, unless the backslash is escaped.
        let is_after_backslash = token.start > 0 && bytes[token.start - 1] == b'\\';
        let escape = if bytes[token.start] == b'u' { ESCAPE } else { 1 };
        let after_escape = (token.start + escape).min(token.end)..token.end;
        is_after_backslash && self.is_near_word(&bytes[after_escape]) || self.is_near_word(&bytes[token.clone()])
    }

    fn is_near_word(&self, word: &[u8]) -> bool {
        // A typing error removes at most one letter.
        let missing = (self.letters & !letters(word)).count_ones() as usize;
        if missing > most_slips(&self.word) {
            return false;
        }
        let near = |token: &str| slips(&folded(token), &self.word).is_some();
        let any = |token: &str| near(token) || parts(token).any(|part| near(&token[part]));
        str::from_utf8(word).is_ok_and(|text| tokens(text).any(|token| any(&text[token])))
    }
}

/// Returns whether words similar to a word are searched for.
pub(super) fn has_near(word: &str) -> bool {
    word.chars().count() >= SHORTEST
}

/// Returns the ASCII letters and digits around a position.
pub(super) fn token_at(bytes: &[u8], at: usize) -> Range<usize> {
    let is_in_word = |byte: &&u8| byte.is_ascii_alphanumeric();
    let before = bytes[..at].iter().rev().take_while(is_in_word).count();
    let after = bytes[at..].iter().take_while(is_in_word).count();
    at - before..at + after
}

/// Divides a length into parts as equal as possible.
fn cuts(length: usize, parts: usize) -> Vec<Range<usize>> {
    (0..parts).map(|part| part * length / parts..(part + 1) * length / parts).collect()
}

/// Returns a bit for each letter and digit, in any case.
fn letters(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |letters, byte| letters | 1 << (byte.to_ascii_lowercase() & 63))
}
