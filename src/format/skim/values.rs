//! Where the values of JSON begin and end, without parsing them.

use serde::de::IgnoredAny;

use super::quotes::{Quotes, QuotesBack};

/// How deep lists and objects may lie in each other, a bit each.
const MAX_DEPTH: u32 = 64;

/// Returns the name of a member, and where its value begins; `None` if the name is escaped.
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

#[inline(never)]
fn behind_blanks(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count()
}

/// Returns where a value ends. No quote before it is left to be shown, and none in it then.
#[inline(always)]
pub(super) fn value(bytes: &[u8], at: usize, quotes: &mut Quotes<'_>) -> Option<usize> {
    match bytes.get(at)? {
        b'"' => string(quotes),
        b'{' | b'[' => nested(bytes, at, quotes),
        _ => plain(bytes, at),
    }
}

/// Returns where a string ends that begins with the next quote.
#[inline(always)]
fn string(quotes: &mut Quotes<'_>) -> Option<usize> {
    quotes.next();
    Some(quotes.next()? + 1)
}

/// Returns where a string begins that ends there.
#[inline(always)]
pub(super) fn string_before(bytes: &[u8], stop: usize, quotes: &mut QuotesBack<'_>) -> Option<usize> {
    bytes[..stop].last().filter(|last| **last == b'"')?;
    quotes.next();
    quotes.next_start()
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

/// Returns where the value of a member begins whose name is there.
fn key(bytes: &[u8], at: usize, quotes: &mut Quotes<'_>) -> Option<usize> {
    token(bytes, at, b'"')?;
    token(bytes, string(quotes)?, b':')
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
