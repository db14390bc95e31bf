//! Where the values of JSON begin and end, without parsing them.

use memchr::{memchr, memchr2, memrchr};
use serde::de::IgnoredAny;

/// How deep lists and objects may lie in each other, a bit each.
const MAX_DEPTH: u32 = 64;

/// So many words of eight bytes are searched one by one before a search begins that looks at many bytes at once: most
/// strings are ids, times and short names.
const SHORT: usize = 6;

/// How closely texts are looked at that are passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Texts {
    /// For their end.
    Ends,
    /// For whatever a parser would not accept in them.
    Sound,
}

/// Returns the name of a member, and where its value begins; `None` if the name is escaped.
#[inline]
pub(super) fn name(bytes: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let start = token(bytes, at, b'"')?;
    let marks = |word| each_byte(word, b'"') | each_byte(word, b'\\');
    let end = first(bytes, start, marks, |rest| memchr2(b'"', b'\\', rest))?;
    let value = blank(bytes, token(bytes, end + 1, b':').filter(|_| bytes[end] == b'"')?);
    Some((&bytes[start..end], value))
}

/// Returns where a sign ends that stands there, blanks before it or not.
#[inline(always)]
pub(super) fn token(bytes: &[u8], at: usize, sign: u8) -> Option<usize> {
    let at = blank(bytes, at);
    (bytes.get(at) == Some(&sign)).then_some(at + 1)
}

/// Returns where blanks end.
#[inline(always)]
pub(super) fn blank(bytes: &[u8], at: usize) -> usize {
    // Most often there are none.
    if bytes.get(at).is_some_and(|byte| *byte > b' ') { at } else { behind_blanks(bytes, at) }
}

fn behind_blanks(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count()
}

/// Returns where a value ends.
#[inline]
pub(super) fn value(bytes: &[u8], at: usize, texts: Texts) -> Option<usize> {
    match bytes.get(at)? {
        b'"' => string(bytes, at, texts),
        b'{' | b'[' => nested(bytes, at, texts),
        _ => plain(bytes, at),
    }
}

/// Returns where a string ends that begins there.
#[inline]
fn string(bytes: &[u8], start: usize, texts: Texts) -> Option<usize> {
    if texts == Texts::Sound {
        return sound_string(bytes, start);
    }
    let mut at = start + 1;
    loop {
        at = quote(bytes, at)? + 1;
        if !is_escaped(bytes, at - 1) {
            return Some(at);
        }
    }
}

/// Returns where the next quote is.
#[inline]
fn quote(bytes: &[u8], at: usize) -> Option<usize> {
    first(bytes, at, |word| each_byte(word, b'"'), |rest| memchr(b'"', rest))
}

/// Returns where the first byte is that is marked in its word, or else the first that is found in the rest.
#[inline(always)]
fn first(bytes: &[u8], at: usize, marks: impl Fn(u64) -> u64, find: impl Fn(&[u8]) -> Option<usize>) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let (words, _) = rest.as_chunks();
    for (number, word) in words.iter().take(SHORT).enumerate() {
        let marks = marks(u64::from_le_bytes(*word));
        if marks != 0 {
            return Some(at + number * 8 + marks.trailing_zeros() as usize / 8);
        }
    }
    let passed = words.len().min(SHORT) * 8;
    Some(at + passed + find(&rest[passed..])?)
}

/// Returns where the last quote is before there.
#[inline]
fn quote_before(bytes: &[u8], stop: usize) -> Option<usize> {
    let (_, words) = bytes[..stop].as_rchunks();
    for (number, word) in words.iter().rev().take(SHORT).enumerate() {
        let quotes = each_byte(u64::from_le_bytes(*word), b'"');
        if quotes != 0 {
            return Some(stop - number * 8 - quotes.leading_zeros() as usize / 8 - 1);
        }
    }
    memrchr(b'"', &bytes[..stop - words.len().min(SHORT) * 8])
}

/// Sets the highest bit of each byte that is this one, and no other bit.
#[inline(always)]
fn each_byte(word: u64, byte: u8) -> u64 {
    const EACH: u64 = u64::from_ne_bytes([1; 8]);
    const REST: u64 = EACH * 0x7f;
    let differences = word ^ (EACH * u64::from(byte));
    !(((differences & REST) + REST) | differences | REST)
}

/// Does the same where each escape in it is one that a parser passes over.
fn sound_string(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        match &bytes[at..] {
            [b'"', ..] => return Some(at + 1),
            [_, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => at += 2,
            [_, b'u', a, b, c, d, ..] if [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()) => at += 6,
            _ => return None,
        }
    }
}

/// Returns where a string begins that ends there.
#[inline]
pub(super) fn string_before(bytes: &[u8], stop: usize) -> Option<usize> {
    let mut at = stop.checked_sub(1).filter(|at| bytes[*at] == b'"')?;
    loop {
        at = quote_before(bytes, at)?;
        if !is_escaped(bytes, at) {
            return Some(at);
        }
    }
}

/// Returns whether a quote stands for itself in a string.
#[inline]
fn is_escaped(bytes: &[u8], quote: usize) -> bool {
    bytes[..quote].last() == Some(&b'\\')
        && bytes[..quote].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// Returns where a sign is that stands before there, blanks between or not.
#[inline]
pub(super) fn token_before(bytes: &[u8], stop: usize, sign: u8) -> Option<usize> {
    blank_before(bytes, stop).checked_sub(1).filter(|at| bytes[*at] == sign)
}

/// Returns where the blanks begin that end there.
#[inline]
pub(super) fn blank_before(bytes: &[u8], stop: usize) -> usize {
    // Most often there are none.
    match bytes[..stop].last() {
        Some(byte) if *byte > b' ' => stop,
        _ => bytes[..stop].trim_ascii_end().len(),
    }
}

/// Returns where a number, `true`, `false` or `null` begins that ends there.
pub(super) fn plain_before(bytes: &[u8], stop: usize) -> Option<usize> {
    let start = stop - bytes[..stop].iter().rev().take_while(|byte| is_plain(**byte)).count();
    plain(bytes, start).filter(|end| *end == stop).map(|_| start)
}

/// Returns where a list or an object ends.
fn nested(bytes: &[u8], mut at: usize, texts: Texts) -> Option<usize> {
    let (mut objects, mut depth) = (0_u64, 0);
    loop {
        at = blank(bytes, at);
        match *bytes.get(at)? {
            open @ (b'{' | b'[') => {
                objects = objects << 1 | u64::from(open == b'{');
                depth += 1;
                if depth > MAX_DEPTH {
                    return None;
                }
                at = blank(bytes, at + 1);
                match (bytes.get(at)?, open) {
                    (b'}', b'{') | (b']', b'[') => {}
                    (_, b'{') => {
                        at = key(bytes, at, texts)?;
                        continue;
                    }
                    _ => continue,
                }
            }
            b'"' => at = string(bytes, at, texts)?,
            _ => at = plain(bytes, at)?,
        }
        loop {
            at = blank(bytes, at);
            match (bytes.get(at)?, objects & 1 == 1) {
                (b',', true) => {
                    at = key(bytes, at + 1, texts)?;
                    break;
                }
                (b',', false) => {
                    at += 1;
                    break;
                }
                (b'}', true) | (b']', false) => {
                    at += 1;
                    objects >>= 1;
                    depth -= 1;
                    if depth == 0 {
                        return Some(at);
                    }
                }
                _ => return None,
            }
        }
    }
}

/// Returns where the value of a member begins whose name is there.
fn key(bytes: &[u8], at: usize, texts: Texts) -> Option<usize> {
    let start = token(bytes, at, b'"')? - 1;
    token(bytes, string(bytes, start, texts)?, b':')
}

/// Returns where a number, `true`, `false` or `null` ends.
fn plain(bytes: &[u8], at: usize) -> Option<usize> {
    let word = &bytes[at..at + bytes[at..].iter().take_while(|byte| is_plain(**byte)).count()];
    let is_known = match word {
        b"null" | b"true" | b"false" => true,
        [b'1'..=b'9', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    (is_known || serde_json::from_slice::<IgnoredAny>(word).is_ok()).then_some(at + word.len())
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}
