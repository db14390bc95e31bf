//! From the bytes that a terminal sends to keys.

/// What a person pressed, as far as the picker cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Erase,
    EraseWord,
    EraseAll,
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Take,
    Leave,
}

/// The longest sequence that a key sends; a longer one is none.
const MAX_SEQUENCE: usize = 32;
const ESCAPE: u8 = 0x1b;

/// Bytes that have come; the last ones may be the start of an unfinished key.
#[derive(Debug, Default)]
pub(super) struct Keys(Vec<u8>);

impl Keys {
    /// Adds what was typed.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Tells whether what has come is the beginning of something.
    pub(super) fn is_unfinished(&self) -> bool {
        !self.0.is_empty()
    }

    /// Says that nothing more comes: an escape alone is the key of that name, other beginnings are nothing.
    pub(super) fn finish(&mut self) -> Option<Key> {
        let is_escape = self.0 == [ESCAPE];
        self.0.clear();
        is_escape.then_some(Key::Leave)
    }
}

impl Iterator for Keys {
    type Item = Key;

    /// Returns the next key that is complete.
    fn next(&mut self) -> Option<Key> {
        loop {
            let (length, key) = decode(&self.0)?;
            self.0.drain(..length);
            if key.is_some() {
                return key;
            }
        }
    }
}

/// Returns how many bytes the first key takes and which one it is; `None` while it is not complete.
fn decode(bytes: &[u8]) -> Option<(usize, Option<Key>)> {
    let key = match *bytes.first()? {
        ESCAPE => return decode_escape(bytes),
        0x03 | 0x04 => Some(Key::Leave),
        b'\r' | b'\n' => Some(Key::Take),
        0x08 | 0x7f => Some(Key::Erase),
        0x0e => Some(Key::Down),
        0x10 => Some(Key::Up),
        0x15 => Some(Key::EraseAll),
        0x17 => Some(Key::EraseWord),
        byte if byte < 0x20 => None,
        _ => return decode_char(bytes),
    };
    Some((1, key))
}

fn decode_char(bytes: &[u8]) -> Option<(usize, Option<Key>)> {
    let length = match bytes[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    let whole = bytes.get(..length.min(bytes.len()))?;
    match std::str::from_utf8(whole) {
        Ok(text) => Some((length, text.chars().next().filter(|c| !c.is_control()).map(Key::Char))),
        Err(error) if error.error_len().is_none() => None,
        Err(_) => Some((1, None)),
    }
}

fn decode_escape(bytes: &[u8]) -> Option<(usize, Option<Key>)> {
    match bytes.get(1)? {
        b'[' => {
            let Some(end) = bytes[2..].iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
                return (bytes.len() > MAX_SEQUENCE).then_some((bytes.len(), None));
            };
            Some((end + 3, sequence(&bytes[2..end + 2], bytes[end + 2])))
        }
        b'O' => bytes.get(2).map(|letter| (3, sequence(b"", *letter))),
        0x7f => Some((2, Some(Key::EraseWord))),
        &ESCAPE => Some((1, Some(Key::Leave))),
        _ => Some((2, None)),
    }
}

/// Returns the key of a sequence; what a held shift or control adds does not matter.
fn sequence(parameters: &[u8], letter: u8) -> Option<Key> {
    let first = parameters.split(|byte| *byte == b';').next().unwrap_or_default();
    match (letter, first) {
        (b'A', _) => Some(Key::Up),
        (b'B', _) => Some(Key::Down),
        (b'H', _) | (b'~', b"1" | b"7") => Some(Key::First),
        (b'F', _) | (b'~', b"4" | b"8") => Some(Key::Last),
        (b'~', b"5") => Some(Key::PageUp),
        (b'~', b"6") => Some(Key::PageDown),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        let mut keys = Keys::default();
        keys.push(bytes);
        keys.collect()
    }

    #[test]
    fn every_key_is_known_by_what_terminals_send_for_it() {
        for (bytes, expected) in [
            (b"\x1b[A".as_slice(), Key::Up),
            (b"\x1bOA", Key::Up),
            (b"\x10", Key::Up),
            (b"\x1b[1;5B", Key::Down),
            (b"\x0e", Key::Down),
            (b"\x1b[5~", Key::PageUp),
            (b"\x1b[6;2~", Key::PageDown),
            (b"\x1b[H", Key::First),
            (b"\x1b[1~", Key::First),
            (b"\x1bOF", Key::Last),
            (b"\r", Key::Take),
            (b"\x03", Key::Leave),
            (b"\x1b\x1b[", Key::Leave),
            (b"\x7f", Key::Erase),
            (b"\x17", Key::EraseWord),
            (b"\x15", Key::EraseAll),
            ("é".as_bytes(), Key::Char('é')),
            ("日".as_bytes(), Key::Char('日')),
        ] {
            assert_eq!(keys(bytes), [expected], "{bytes:?}");
        }
    }

    #[test]
    fn what_is_no_key_of_ours_is_swallowed_whole() {
        assert_eq!(
            keys(b"a\x1b[3~b\x1b[<0;10;20Mc\x1bxd\x00\xff\xc3\x28"),
            "abcd(".chars().map(Key::Char).collect::<Vec<_>>()
        );
        assert_eq!(keys("\u{9b}A".as_bytes()), [Key::Char('A')], "a control character of two bytes");
    }

    #[test]
    fn a_key_may_come_in_pieces() {
        let mut keys = Keys::default();
        for (piece, expected) in [
            (b"\x1b".as_slice(), None),
            (b"[", None),
            (b"B", Some(Key::Down)),
            (b"\xe6\x97", None),
            (b"\xa5", Some(Key::Char('日'))),
        ] {
            keys.push(piece);
            assert_eq!(keys.next(), expected, "{piece:?}");
        }
        assert!(!keys.is_unfinished());
    }

    #[test]
    fn an_escape_that_nothing_follows_is_a_key_and_other_beginnings_are_none() {
        for (bytes, expected) in [(b"\x1b".as_slice(), Some(Key::Leave)), (b"\x1b[1", None), (b"\xe6", None)] {
            let mut keys = Keys::default();
            keys.push(bytes);
            assert_eq!(keys.next(), None);
            assert!(keys.is_unfinished());
            assert_eq!(keys.finish(), expected, "{bytes:?}");
            assert!(!keys.is_unfinished());
        }
        let mut endless = Keys::default();
        endless.push(&[b"\x1b[".as_slice(), &[b'1'; 100]].concat());
        assert_eq!((endless.next(), endless.is_unfinished()), (None, false));
    }
}
