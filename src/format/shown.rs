//! Finds characters and bytes that a terminal interprets instead of showing.

use wide::u8x16;

/// Returns whether `c` is a control character, reorders text, or is a zero-width character that makes two texts look
/// alike.
pub(super) fn is_hostile(c: char) -> bool {
    // Nearly all text is plain.
    if matches!(c, ' '..='~') {
        return false;
    }
    c.is_control()
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{061c}' | '\u{fff9}'..='\u{fffb}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// Returns whether a text is one line without hostile characters.
pub(crate) fn is_harmless(text: &str) -> bool {
    !text.contains(is_hostile)
}

/// Returns whether bytes are text that a terminal only shows; lines and tabs are allowed.
pub(crate) fn is_only_shown(bytes: &[u8]) -> bool {
    let mut rest = &bytes[plain(bytes)..];
    while !rest.is_empty() {
        let beyond_ascii = rest.iter().take_while(|byte| **byte >= 0x80).count();
        match std::str::from_utf8(&rest[..beyond_ascii]) {
            Ok(text) if beyond_ascii > 0 && is_harmless(text) => {}
            _ => return false,
        }
        rest = &rest[beyond_ascii..];
        rest = &rest[plain(rest)..];
    }
    true
}

/// Returns the number of leading bytes that are printable ASCII, line ends or tabs.
fn plain(bytes: &[u8]) -> usize {
    let plain = |piece: &[u8; 16]| {
        let piece = u8x16::new(*piece);
        printable_ascii(piece) | piece.simd_eq(u8x16::splat(b'\n')) | piece.simd_eq(u8x16::splat(b'\t'))
    };
    let (pieces, rest) = bytes.as_chunks();
    let are_plain = |four: &&[[u8; 16]; 4]| {
        let both = |at| plain(&four[at]) & plain(&four[at + 1]);
        (both(0) & both(2)).to_bitmask() & 0xffff == 0xffff
    };
    let mut at = 64 * pieces.as_chunks().0.iter().take_while(are_plain).count();
    for piece in &pieces[at / 16..] {
        let others = !plain(piece).to_bitmask() & 0xffff;
        if others != 0 {
            return at + others.trailing_zeros() as usize;
        }
        at += 16;
    }
    at + rest.iter().take_while(|byte| matches!(byte, b'\n' | b'\t' | b' '..=b'~')).count()
}

/// Returns whether all bytes are printable ASCII other than `byte`.
pub(super) fn is_printable_ascii_without(byte: u8, bytes: &[u8]) -> bool {
    let are = |piece: u8x16| {
        let others = printable_ascii(piece) & !piece.simd_eq(u8x16::splat(byte));
        others.to_bitmask() & 0xffff == 0xffff
    };
    let (pieces, rest) = bytes.as_chunks();
    let mut last = [b' '; 16];
    last[..rest.len()].copy_from_slice(rest);
    pieces.iter().all(|piece| are(u8x16::new(*piece))) && are(u8x16::new(last))
}

/// Marks each byte that is printable ASCII.
#[expect(clippy::arithmetic_side_effects, reason = "it wraps around, and is meant to")]
fn printable_ascii(bytes: u8x16) -> u8x16 {
    // A byte below the blank wraps around to a large number.
    let from_blank = bytes - u8x16::splat(b' ');
    from_blank.min(u8x16::splat(b'~' - b' ')).simd_eq(from_blank)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn wide_ascii_check_equals_bytewise_check(
            text in prop_oneof!["[ -~]{0,40}", r"[ -~\\\t\x7f\u{e9}]{0,40}"],
        ) {
            let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'\\');
            prop_assert_eq!(is_printable_ascii_without(b'\\', text.as_bytes()), is_plain);
        }

        #[test]
        fn search_finds_control_character_at_any_position(before in "[ -~\n\t]{0,150}", mark in "\u{7f}|\u{1b}|\r|\u{202e}|\u{e9}|", after in "[ -~\u{e9}]{0,80}") {
            let is_shown = matches!(mark.as_str(), "" | "\u{e9}");
            prop_assert_eq!(is_only_shown((before + &mark + &after).as_bytes()), is_shown);
        }
    }
}
