//! A quick look for words that are near to one in the bytes of a transcript, before anything is parsed.

use std::path::Path;

use super::probe::any_window;
use crate::format::nearly::slips;
use crate::session::words::fold::{folded, parts};

/// Bytes of one window that the next one repeats, so that a word at its end is seen whole.
const OVERLAP: usize = 64;

/// A word, and the letters that it has.
#[derive(Debug)]
pub(super) struct NearBytes<'a> {
    word: &'a str,
    letters: u64,
    most: usize,
}

impl<'a> NearBytes<'a> {
    /// Makes the filter for a word of ASCII; `None` for another one, which may be escaped in many ways.
    pub(super) fn of(word: &'a str) -> Option<Self> {
        // A word of eight letters or more may have two wrong ones.
        let most = if word.len() < 8 { 1 } else { 2 };
        word.is_ascii().then(|| Self { word, letters: letters(word.as_bytes()), most })
    }

    /// Returns whether a file may have a near word.
    pub(super) fn may_be_in_file(&self, path: &Path) -> bool {
        any_window(path, u64::MAX, OVERLAP, &|bytes| self.may_be_in(bytes))
    }

    /// Returns whether a part of a file may have a near word. Names of JSON members are left out.
    pub(super) fn may_be_in(&self, bytes: &[u8]) -> bool {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
        let mut start = 0;
        while let Some(at) = bytes[start..].iter().position(is_part).map(|at| start + at) {
            let end = bytes[at..].iter().position(|byte| !is_part(byte)).map_or(bytes.len(), |length| at + length);
            let is_name = bytes[end..].starts_with(b"\":");
            start = end;
            // A letter behind a backslash is part of an escape, such as that of the end of a line.
            let escape = match (at.checked_sub(1).map(|before| bytes[before]), bytes[at]) {
                (Some(b'\\'), b'u') => 5,
                (Some(b'\\'), _) => 1,
                _ => 0,
            };
            let at = (at + escape).min(end);
            if !is_name && self.is_near(&bytes[at..end]) {
                return true;
            }
        }
        false
    }

    fn is_near(&self, token: &[u8]) -> bool {
        let is_here = |token: &[u8]| {
            let may_be = token.len().abs_diff(self.word.len()) <= self.most
                && usize::try_from((letters(token) ^ self.letters).count_ones())
                    .is_ok_and(|count| count <= 2 * self.most);
            may_be && str::from_utf8(token).is_ok_and(|token| slips(&token.to_ascii_lowercase(), self.word).is_some())
        };
        if !token.is_ascii() {
            return std::str::from_utf8(token).map_or(true, |token| slips(&folded(token), self.word).is_some());
        }
        // Only a longer word has parts that are near.
        is_here(token)
            || token.len() > self.word.len()
                && token.iter().any(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
                && str::from_utf8(token).is_ok_and(|token| parts(token).any(|part| is_here(&token.as_bytes()[part])))
    }
}

/// Returns a bit for each letter and digit of ASCII, in any case.
fn letters(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |letters, byte| letters | 1 << (byte.to_ascii_lowercase() & 63))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_seen_in_the_bytes_of_json() {
        let is_in = |word: &str, json: &str| NearBytes::of(word).expect("a word of ASCII").may_be_in(json.as_bytes());
        for (word, json) in [
            ("realy", r#"{"text":"the relay is"}"#),
            ("rlay", r#"{"text":"The RELAY"}"#),
            ("realy", r#"{"text":"one\nrelay"}"#),
            ("realy", r#"{"text":"\u00e4relay"}"#),
            ("realy", r#"{"text":"a rélay"}"#),
            ("budgte", r#"{"text":"let retryBudget"}"#),
            ("certficaet", r#"{"text":"certificate"}"#),
        ] {
            assert!(is_in(word, json), "{word} in {json}");
        }
        for (word, json) in [("conten", r#"{"content":"x"}"#), ("qqzz", "a zz"), ("realy", r#"{"text":"a player"}"#)] {
            assert!(!is_in(word, json), "{word} in {json}");
        }
    }
}
