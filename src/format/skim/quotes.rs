//! Finds the quotes in JSON, forwards or backwards, and checks whether its strings are valid.

use memchr::{memchr, memrchr};
use wide::u8x16;

/// Number of bytes scanned at once, one bit each.
const PIECE: usize = u64::BITS as usize;

/// The validation of skipped strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SkippedTexts {
    /// Finds only where strings end.
    Ends,
    /// Rejects everything in strings that a parser would reject.
    Sound,
}

/// The unescaped quotes, from the first one on. Most strings are ids, times and short names, so several end in one
/// piece.
pub(super) struct Quotes<'a> {
    bytes: &'a [u8],
    texts: SkippedTexts,
    /// Start and end of the current piece.
    start: usize,
    end: usize,
    /// The quotes in the piece that were not returned yet.
    quotes: u64,
    backslashes: u64,
    /// Set if a backslash at the end of the piece escapes the next byte.
    is_next_escaped: bool,
}

impl<'a> Quotes<'a> {
    pub(super) fn new(bytes: &'a [u8], texts: SkippedTexts) -> Self {
        Self { bytes, texts, start: 0, end: 0, quotes: 0, backslashes: 0, is_next_escaped: false }
    }

    /// Returns the position of the next quote; `None` at the end, and after an invalid string.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<usize> {
        if self.quotes == 0 {
            self.look_on()?;
        }
        let at = self.start + self.quotes.trailing_zeros() as usize;
        self.quotes &= self.quotes - 1;
        Some(at)
    }

    /// Returns whether a backslash is between `from` and `to`, the quote that was returned last.
    #[inline(always)]
    pub(super) fn has_backslash(&self, from: usize, to: usize) -> bool {
        match from.checked_sub(self.start) {
            Some(from) => self.backslashes & ((1 << (to - self.start)) - 1) >> from << from != 0,
            None => memchr(b'\\', &self.bytes[from..to]).is_some(),
        }
    }

    #[inline(never)]
    fn look_on(&mut self) -> Option<()> {
        self.mark_from(self.end)?;
        while self.quotes == 0 {
            let mut next = self.end;
            if self.texts == SkippedTexts::Ends {
                next += memchr(b'"', self.bytes.get(next..)?)?;
                self.is_next_escaped = is_escaped(self.bytes, next);
            }
            self.mark_from(next)?;
        }
        Some(())
    }

    fn mark_from(&mut self, start: usize) -> Option<()> {
        let rest = self.bytes.get(start..).filter(|rest| !rest.is_empty())?;
        (self.start, self.end) = (start, start + PIECE);
        match rest.first_chunk() {
            Some(piece) => self.mark(piece),
            None => self.mark(&padded(rest, 0)),
        }
    }

    #[inline(always)]
    fn mark(&mut self, piece: &[u8; PIECE]) -> Option<()> {
        self.backslashes = marked(piece, |part| part.simd_eq(u8x16::splat(b'\\')));
        let escaped = self.escaped();
        self.quotes = marked(piece, |part| part.simd_eq(u8x16::splat(b'"'))) & !escaped;
        let is_sound = || !has_control(piece) && (escaped == 0 || self.are_escapes(escaped));
        if self.texts == SkippedTexts::Sound && !is_sound() {
            // Return nothing from here on.
            (self.quotes, self.end) = (0, usize::MAX);
            return None;
        }
        Some(())
    }

    /// Returns the bit of each byte after a backslash that is not escaped itself.
    #[inline(always)]
    fn escaped(&mut self) -> u64 {
        const EVEN: u64 = u64::MAX / 3;
        let carried = u64::from(self.is_next_escaped);
        // Every second backslash of a run is escaped itself. The addition carries from the first one of a run to the
        // bit after its last.
        let backslashes = self.backslashes & !carried;
        let behind = backslashes << 1 | carried;
        let odd_starts = backslashes & !EVEN & !behind;
        let (sum, is_next_escaped) = odd_starts.overflowing_add(backslashes);
        self.is_next_escaped = is_next_escaped;
        (EVEN ^ sum << 1) & behind
    }

    /// Returns whether each of these bytes and the backslash before it form an escape that a parser accepts.
    fn are_escapes(&self, mut escaped: u64) -> bool {
        while escaped != 0 {
            let at = self.start + escaped.trailing_zeros() as usize;
            escaped &= escaped - 1;
            let is_known = match self.bytes.get(at) {
                Some(b'n' | b'"' | b'\\' | b't' | b'/' | b'b' | b'f' | b'r') => true,
                Some(b'u') => {
                    let digits = self.bytes.get(at + 1..at + 5);
                    digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
                }
                _ => false,
            };
            if !is_known {
                return false;
            }
        }
        true
    }
}

/// The quotes, from the last one backwards.
pub(super) struct QuotesBack<'a> {
    bytes: &'a [u8],
    /// End and start of the current piece.
    end: usize,
    start: usize,
    /// The quotes in the piece that were not returned yet; the last one is the highest bit.
    quotes: u64,
}

impl<'a> QuotesBack<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, end: bytes.len(), start: bytes.len(), quotes: 0 }
    }

    /// Returns the position of the previous quote, escaped or not.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<usize> {
        if self.quotes == 0 {
            self.look_back()?;
        }
        let from_end = self.quotes.leading_zeros() as usize;
        self.quotes ^= 1 << (PIECE - 1) >> from_end;
        Some(self.end - 1 - from_end)
    }

    /// Returns the position of the previous quote that begins a string.
    #[inline(always)]
    pub(super) fn next_start(&mut self) -> Option<usize> {
        let at = self.next()?;
        let follows_backslash = self.bytes.get(at.wrapping_sub(1)) == Some(&b'\\');
        if follows_backslash { self.start_from(at) } else { Some(at) }
    }

    fn start_from(&mut self, mut at: usize) -> Option<usize> {
        while is_escaped(self.bytes, at) {
            at = self.next()?;
        }
        Some(at)
    }

    #[inline(never)]
    fn look_back(&mut self) -> Option<()> {
        self.look_before(self.start);
        if self.quotes == 0 {
            let before = memrchr(b'"', &self.bytes[..self.start])?;
            self.look_before(before + 1);
        }
        Some(())
    }

    fn look_before(&mut self, end: usize) {
        let before = &self.bytes[..end];
        (self.end, self.start) = (end, end.saturating_sub(PIECE));
        let quotes = |piece: &[u8; PIECE]| marked(piece, |part| part.simd_eq(u8x16::splat(b'"')));
        self.quotes = before.last_chunk().map_or_else(|| quotes(&padded(before, PIECE - end)), quotes);
    }
}

/// Pads fewer bytes to a whole piece.
#[inline(never)]
fn padded(bytes: &[u8], start: usize) -> [u8; PIECE] {
    let mut piece = [b' '; PIECE];
    piece[start..start + bytes.len()].copy_from_slice(bytes);
    piece
}

/// Returns whether a byte of a piece is below the blank, which no string may contain.
#[inline(always)]
fn has_control(piece: &[u8; PIECE]) -> bool {
    let (parts, _) = piece.as_chunks();
    let part = |part: usize| u8x16::new(parts[part]);
    let least = part(0).min(part(1)).min(part(2).min(part(3)));
    least.min(u8x16::splat(b' ' - 1)).simd_eq(least).to_bitmask() & 0xffff != 0
}

/// Returns the bits of the bytes that `mark` marks.
#[inline(always)]
fn marked(piece: &[u8; PIECE], mark: impl Fn(u8x16) -> u8x16) -> u64 {
    let (parts, _) = piece.as_chunks();
    let bits = |part: usize| u64::from(mark(u8x16::new(parts[part])).to_bitmask());
    bits(0) | bits(1) << 16 | bits(2) << 32 | bits(3) << 48
}

/// Returns whether a quote is escaped.
fn is_escaped(bytes: &[u8], quote: usize) -> bool {
    bytes[..quote].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn search_finds_quotes_in_both_directions(
            parts in prop::collection::vec((0..200_usize, r#"["\\\\n]{1,3}"#), 0..12),
            rest in 0..200_usize,
        ) {
            let text: String = parts.iter().map(|(blanks, marks)| " ".repeat(*blanks) + marks).collect();
            let text = text + &" ".repeat(rest);
            let bytes = text.as_bytes();
            let all: Vec<usize> = text.match_indices('"').map(|(at, _)| at).collect();
            let expected: Vec<usize> = all.iter().copied().filter(|at| !is_escaped(bytes, *at)).collect();
            let mut quotes = Quotes::new(bytes, SkippedTexts::Ends);
            let mut last = 0;
            for at in &expected {
                prop_assert_eq!(quotes.next(), Some(*at));
                for from in [last, at.saturating_sub(3), at.saturating_sub(60).max(last), *at] {
                    prop_assert_eq!(quotes.has_backslash(from, *at), text[from..*at].contains('\\'), "{} {}", from, at);
                }
                last = *at;
            }
            prop_assert_eq!(quotes.next(), None);
            // A backslash before a blank, or at the end of the text, is not a valid escape.
            let mut sound = Quotes::new(bytes, SkippedTexts::Sound);
            let shown: Vec<usize> = std::iter::from_fn(|| sound.next()).collect();
            prop_assert!(expected.starts_with(&shown));
            let is_unsound = (text.clone() + " ").replace(r"\\", "").contains(r"\ ");
            prop_assert!(shown.len() == expected.len() || is_unsound);
            let mut back = QuotesBack::new(bytes);
            let shown: Vec<usize> = std::iter::from_fn(|| back.next()).collect();
            prop_assert!(shown.iter().rev().eq(&all));
            let mut back = QuotesBack::new(bytes);
            let starts: Vec<usize> = std::iter::from_fn(|| back.next_start()).collect();
            prop_assert!(starts.iter().rev().eq(&expected));
        }
    }
}
