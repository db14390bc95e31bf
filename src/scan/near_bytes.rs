//! A quick look for words that are near to one in the bytes of a transcript, before anything is parsed.

use std::path::Path;

use super::probe::any_window;
use crate::format::nearly::slips;
use crate::session::words::fold::{folded, parts, tokens};

/// Bytes of one window that the next one repeats, so that a word at its end is seen whole.
const OVERLAP: usize = 64;

/// A word, and the letters that it has.
#[derive(Debug)]
pub(crate) struct NearBytes<'a> {
    word: &'a str,
    letters: u64,
    /// The most slips.
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
        let mut start = 0;
        for (at, byte) in bytes.iter().enumerate() {
            if !IN_WORDS[usize::from(*byte)] {
                if self.is_near_at(bytes, start, at) {
                    return true;
                }
                start = at + 1;
            }
        }
        self.is_near_at(bytes, start, bytes.len())
    }

    /// Returns whether a word may be near that ends at a place, with what is directly before it.
    fn is_near_at(&self, bytes: &[u8], start: usize, end: usize) -> bool {
        if end - start < self.word.len() - self.most || bytes[end..].starts_with(b"\":") {
            return false;
        }
        // A letter behind a backslash is part of an escape, such as that of the end of a line.
        let escape = match (start.checked_sub(1).map(|before| bytes[before]), bytes[start]) {
            (Some(b'\\'), b'u') => ESCAPE,
            (Some(b'\\'), _) => 1,
            _ => 0,
        };
        self.is_near(&bytes[(start + escape).min(end)..end])
    }

    fn is_near(&self, token: &[u8]) -> bool {
        // A slip takes at most one letter away.
        if (self.letters & !letters(token)).count_ones() as usize > self.most {
            return false;
        }
        let near = |token: &str| slips(&folded(token), self.word).is_some();
        let any = |token: &str| near(token) || parts(token).any(|part| near(&token[part]));
        match str::from_utf8(token) {
            // A dash or a quotation mark is next to a word, a letter with an accent is part of it.
            Ok(text) => tokens(text).any(|token| any(&text[token])),
            Err(_) => true,
        }
    }
}

/// The bytes of words: letters and digits of ASCII, and anything beyond.
const IN_WORDS: [bool; 256] = {
    let mut in_words = [true; 256];
    let mut at: u8 = 0;
    while at < 128 {
        in_words[at as usize] = at.is_ascii_alphanumeric();
        at += 1;
    }
    in_words
};
/// Letters of an escape in JSON that are directly before a word, such as `u00e4`.
const ESCAPE: usize = 5;

/// Returns a bit for each letter and digit of ASCII, in any case; all bits if there is anything beyond ASCII, which may have
/// any of them as its base.
fn letters(bytes: &[u8]) -> u64 {
    let bit = |byte: &u8| if byte.is_ascii() { 1 << (byte.to_ascii_lowercase() & 63) } else { u64::MAX };
    bytes.iter().fold(0, |letters, byte| letters | bit(byte))
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
            ("realy", r#"{"text":"the relay—not…"}"#),
            ("realy", r#"{"text":"„relayQueue“"}"#),
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
