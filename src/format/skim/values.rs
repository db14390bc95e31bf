//! Finds where JSON values begin and end, without parsing them.

use serde::de::IgnoredAny;

use super::quotes::{Quotes, QuotesBack};

/// Maximum depth of nested lists and objects, one bit each.
const MAX_DEPTH: u32 = 64;

/// Returns the name of a member and the start of its value; `None` if the name is escaped.
#[inline(always)]
pub(super) fn name<'a>(bytes: &'a [u8], at: usize, quotes: &mut Quotes<'a>) -> Option<(&'a [u8], usize)> {
    let start = token(bytes, at, b'"')?;
    quotes.next();
    let end = quotes.next()?;
    if quotes.has_backslash(start, end) {
        return None;
    }
    Some((&bytes[start..end], blank(bytes, token(bytes, end + 1, b':')?)))
}

/// Returns the position after `sign`, which may follow blanks; `None` if another byte follows.
#[inline(always)]
pub(super) fn token(bytes: &[u8], at: usize, sign: u8) -> Option<usize> {
    let at = blank(bytes, at);
    (bytes.get(at) == Some(&sign)).then_some(at + 1)
}

/// Returns the end of a run of blanks.
#[inline(always)]
pub(super) fn blank(bytes: &[u8], at: usize) -> usize {
    // Most agents write no blanks.
    if bytes.get(at).is_some_and(|byte| *byte > b' ') { at } else { behind_blanks(bytes, at) }
}

#[inline(never)]
fn behind_blanks(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count()
}

/// Returns the end of a value. `quotes` must have no quote before the value left, and has none inside of it afterwards.
#[inline(always)]
pub(super) fn value(bytes: &[u8], at: usize, quotes: &mut Quotes<'_>) -> Option<usize> {
    match bytes.get(at)? {
        b'"' => string(quotes),
        b'{' | b'[' => nested(bytes, at, quotes),
        _ => plain(bytes, at),
    }
}

/// Returns the end of the string that begins with the next quote.
#[inline(always)]
fn string(quotes: &mut Quotes<'_>) -> Option<usize> {
    quotes.next();
    Some(quotes.next()? + 1)
}

/// Returns the start of the string that ends at `stop`.
#[inline(always)]
pub(super) fn string_before(bytes: &[u8], stop: usize, quotes: &mut QuotesBack<'_>) -> Option<usize> {
    bytes[..stop].last().filter(|last| **last == b'"')?;
    quotes.next();
    quotes.next_start()
}

/// Returns the position of `sign` before `stop`, with optional blanks in between.
#[inline]
pub(super) fn token_before(bytes: &[u8], stop: usize, sign: u8) -> Option<usize> {
    blank_before(bytes, stop).checked_sub(1).filter(|at| bytes[*at] == sign)
}

/// Returns the start of the run of blanks that ends at `stop`.
#[inline]
pub(super) fn blank_before(bytes: &[u8], stop: usize) -> usize {
    // Most agents write no blanks.
    match bytes[..stop].last() {
        Some(byte) if *byte > b' ' => stop,
        _ => bytes[..stop].trim_ascii_end().len(),
    }
}

/// Returns the start of the number, `true`, `false` or `null` that ends at `stop`.
pub(super) fn plain_before(bytes: &[u8], stop: usize) -> Option<usize> {
    let start = stop - bytes[..stop].iter().rev().take_while(|byte| is_plain(**byte)).count();
    plain(bytes, start).filter(|end| *end == stop).map(|_| start)
}

/// Returns the end of a list or an object.
#[inline(never)]
fn nested(bytes: &[u8], mut at: usize, quotes: &mut Quotes<'_>) -> Option<usize> {
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
                        at = key(bytes, at, quotes)?;
                        continue;
                    }
                    _ => continue,
                }
            }
            b'"' => at = string(quotes)?,
            _ => at = plain(bytes, at)?,
        }
        loop {
            at = blank(bytes, at);
            match (bytes.get(at)?, objects & 1 == 1) {
                (b',', true) => {
                    at = key(bytes, at + 1, quotes)?;
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

/// Returns the start of the value of the member whose name is at `at`.
fn key(bytes: &[u8], at: usize, quotes: &mut Quotes<'_>) -> Option<usize> {
    token(bytes, at, b'"')?;
    token(bytes, string(quotes)?, b':')
}

/// Returns the end of a number, `true`, `false` or `null`.
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
