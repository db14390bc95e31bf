//! Decodes the bytes of a terminal into keys and pasted text.

use std::time::{Duration, Instant};

use super::mouse::Mouse;
use crate::system::deadline;

/// A key, as far as the picker distinguishes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PickerKey {
    Char(char),
    /// Pasted text; nothing in it is a key.
    Pasted(String),
    Enter,
    Escape,
    Interrupt,
    Help,
    Left,
    Right,
    Start,
    End,
    Erase,
    Delete,
    EraseWord,
    EraseBefore,
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    PreviewUp,
    PreviewDown,
    Mark,
    MarkBack,
    Copy,
    Open,
    With,
    Remove,
    Pin,
    Sort,
    Group,
    Redraw,
    Suspend,
    Mouse(Mouse),
}

/// Time to wait for the rest of a key that begins with an escape.
const KEY_PATIENCE: Duration = Duration::from_millis(50);
/// Time that pasted text may pause before its end counts as lost.
const PASTE_PATIENCE: Duration = Duration::from_secs(2);
/// The longest sequence that a key sends.
const MAX_SEQUENCE: usize = 32;
/// Maximum bytes of pasted text that are kept.
const MAX_PASTED: usize = 4096;
const ESCAPE: u8 = 0x1b;
/// The sequences before and after pasted text, for a terminal with bracketed paste.
const PASTE: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// Bytes received so far; the last ones may be the start of an unfinished key.
#[derive(Debug, Default)]
pub(super) struct Keys {
    bytes: Vec<u8>,
    /// Pasted text received so far, until its end arrives.
    pasted: Option<Vec<u8>>,
}

impl Keys {
    /// Adds bytes from the terminal.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the time to wait for the rest of an unfinished key or paste.
    pub(super) fn patience(&self) -> Option<Duration> {
        match (&self.pasted, self.bytes.is_empty()) {
            (Some(_), _) => Some(PASTE_PATIENCE),
            (None, false) => Some(KEY_PATIENCE),
            (None, true) => None,
        }
    }

    /// Ends an unfinished key: an escape alone is that key, other beginnings are dropped.
    pub(super) fn finish(&mut self) -> Option<PickerKey> {
        let bytes = std::mem::take(&mut self.bytes);
        match self.pasted.take() {
            Some(pasted) => Some(text(&[pasted, bytes].concat())),
            None => (bytes == [ESCAPE]).then_some(PickerKey::Escape),
        }
    }

    /// Collects pasted bytes until the end sequence, then returns the text.
    fn paste(&mut self) -> Option<PickerKey> {
        let end = self.bytes.windows(PASTE_END.len()).position(|part| part == PASTE_END);
        // A part of the end sequence may have arrived.
        let taken = end.unwrap_or_else(|| self.bytes.len().saturating_sub(PASTE_END.len() - 1));
        let part = self.bytes.drain(..taken);
        let pasted = self.pasted.get_or_insert_default();
        pasted.extend(part);
        pasted.truncate(MAX_PASTED);
        end?;
        self.bytes.drain(..PASTE_END.len());
        self.pasted.take().map(|pasted| text(&pasted))
    }
}

/// Converts pasted bytes to one line.
fn text(pasted: &[u8]) -> PickerKey {
    let text = String::from_utf8_lossy(pasted);
    PickerKey::Pasted(text.split(|c: char| c.is_whitespace() || c.is_control()).collect::<Vec<_>>().join(" "))
}

impl Iterator for Keys {
    type Item = PickerKey;

    /// Returns the next complete key.
    fn next(&mut self) -> Option<PickerKey> {
        loop {
            if self.pasted.is_none() && self.bytes.starts_with(PASTE) {
                self.bytes.drain(..PASTE.len());
                self.pasted = Some(Vec::new());
            }
            if self.pasted.is_some() {
                return self.paste();
            }
            let (length, key) = decode(&self.bytes)?;
            self.bytes.drain(..length);
            if key.is_some() {
                return key;
            }
        }
    }
}

/// Returns the length of the first key in bytes, and the key; `None` while it is incomplete.
fn decode(bytes: &[u8]) -> Option<(usize, Option<PickerKey>)> {
    let key = match *bytes.first()? {
        ESCAPE => return decode_escape(bytes),
        // A user does not type text directly after enter: a terminal without bracketed paste has pasted it.
        b'\r' if bytes.get(1).is_some_and(|next| *next >= b' ' && *next != 0x7f) => Some(PickerKey::Char(' ')),
        b'\r' => Some(PickerKey::Enter),
        0x01 => Some(PickerKey::Start),
        0x02 => Some(PickerKey::Left),
        0x03 => Some(PickerKey::Interrupt),
        0x04 => Some(PickerKey::Delete),
        0x05 => Some(PickerKey::End),
        0x06 => Some(PickerKey::Right),
        0x07 => Some(PickerKey::Group),
        0x08 | 0x7f => Some(PickerKey::Erase),
        b'\t' => Some(PickerKey::Mark),
        b'\n' | 0x0e => Some(PickerKey::Down),
        0x0b | 0x10 => Some(PickerKey::Up),
        0x0c => Some(PickerKey::Redraw),
        0x1a => Some(PickerKey::Suspend),
        0x0f => Some(PickerKey::Open),
        0x12 => Some(PickerKey::With),
        0x13 => Some(PickerKey::Sort),
        0x14 => Some(PickerKey::Pin),
        0x15 => Some(PickerKey::EraseBefore),
        0x17 => Some(PickerKey::EraseWord),
        0x18 => Some(PickerKey::Remove),
        0x19 => Some(PickerKey::Copy),
        byte if byte < 0x20 => None,
        _ => return decode_char(bytes),
    };
    Some((1, key))
}

fn decode_char(bytes: &[u8]) -> Option<(usize, Option<PickerKey>)> {
    let length = match bytes[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    let whole = bytes.get(..length.min(bytes.len()))?;
    match std::str::from_utf8(whole) {
        Ok(text) => Some((length, text.chars().next().filter(|c| !c.is_control()).map(PickerKey::Char))),
        Err(error) if error.error_len().is_none() => None,
        Err(_) => Some((1, None)),
    }
}

fn decode_escape(bytes: &[u8]) -> Option<(usize, Option<PickerKey>)> {
    match bytes.get(1)? {
        b'[' => {
            let Some(end) = bytes[2..].iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
                return (bytes.len() > MAX_SEQUENCE).then_some((bytes.len(), None));
            };
            match (&bytes[2..end + 2], bytes[end + 2]) {
                // An old terminal sends three bytes after the sequence: the button and the place.
                (b"", b'M') => {
                    let [button, column, row] =
                        bytes.get(3..6)?.try_into().unwrap_or([0; 3]).map(|byte: u8| usize::from(byte));
                    let [button, column, row] = [button, column, row].map(|number| number.saturating_sub(32));
                    Some((6, Mouse::from_report(button, column, row).map(PickerKey::Mouse)))
                }
                (parameters, letter) => Some((end + 3, sequence(parameters, letter))),
            }
        }
        b'O' => bytes.get(2).map(|letter| (3, sequence(b"", *letter))),
        0x7f => Some((2, Some(PickerKey::EraseWord))),
        &ESCAPE => Some((1, Some(PickerKey::Escape))),
        _ => Some((2, None)),
    }
}

/// Returns the key of a sequence. Shift+arrow and Alt+arrow scroll the preview; other modifiers are ignored.
fn sequence(parameters: &[u8], letter: u8) -> Option<PickerKey> {
    if let Some(place) = parameters.strip_prefix(b"<") {
        let numbers = std::str::from_utf8(place).ok()?.split(';').map(|number| number.parse().ok());
        let numbers: Vec<usize> = numbers.collect::<Option<_>>()?;
        // A small letter means that the button was released.
        let [button, column, row] = numbers[..].try_into().ok().filter(|_| letter == b'M')?;
        return Mouse::from_report(button, column, row).map(PickerKey::Mouse);
    }
    let mut parameters = parameters.split(|byte| *byte == b';');
    let first = parameters.next().unwrap_or_default();
    let is_held = matches!(parameters.next(), Some(b"2" | b"3" | b"4"));
    match (letter, first) {
        (b'A', _) if is_held => Some(PickerKey::PreviewUp),
        (b'B', _) if is_held => Some(PickerKey::PreviewDown),
        (b'A', _) => Some(PickerKey::Up),
        (b'B', _) => Some(PickerKey::Down),
        (b'C', _) => Some(PickerKey::Right),
        (b'D', _) => Some(PickerKey::Left),
        (b'H', _) | (b'~', b"1" | b"7") => Some(PickerKey::First),
        (b'F', _) | (b'~', b"4" | b"8") => Some(PickerKey::Last),
        (b'P', _) | (b'~', b"11") => Some(PickerKey::Help),
        (b'Z', _) => Some(PickerKey::MarkBack),
        (b'~', b"3") => Some(PickerKey::Delete),
        (b'~', b"5") => Some(PickerKey::PageUp),
        (b'~', b"6") => Some(PickerKey::PageDown),
        _ => None,
    }
}

/// Decodes keys as their bytes arrive, with a time limit for an unfinished one.
#[derive(Default)]
pub(super) struct Typing {
    keys: Keys,
    until: Option<Instant>,
}

impl Typing {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.keys.push(bytes);
    }

    /// Returns the time at which the bytes of an unfinished key are decoded as they are.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Returns the keys that are complete.
    pub(super) fn pressed(&mut self, now: Instant) -> Vec<PickerKey> {
        let before = self.keys.patience();
        let is_due = self.until.is_some_and(|until| until <= now);
        let mut pressed: Vec<PickerKey> = is_due.then(|| self.keys.finish()).flatten().into_iter().collect();
        pressed.extend(&mut self.keys);
        self.until = match self.keys.patience() {
            None => None,
            // The time counts from the last byte of a key.
            Some(patience) if !pressed.is_empty() || self.until.is_none() || before != Some(patience) => {
                Some(deadline::after(patience))
            }
            Some(_) => self.until,
        };
        pressed
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::mouse::Point;
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<PickerKey> {
        let mut keys = Keys::default();
        keys.push(bytes);
        keys.collect()
    }

    fn typed(text: &str) -> Vec<PickerKey> {
        text.chars().map(PickerKey::Char).collect()
    }

    #[test]
    fn decoder_knows_every_key_sequence() {
        for (bytes, expected) in [
            (b"\x1b[A".as_slice(), PickerKey::Up),
            (b"\x1bOA", PickerKey::Up),
            (b"\x10", PickerKey::Up),
            (b"\x0b", PickerKey::Up),
            (b"\x1b[1;5B", PickerKey::Down),
            (b"\x0e", PickerKey::Down),
            (b"\n", PickerKey::Down),
            (b"\x1b[1;2A", PickerKey::PreviewUp),
            (b"\x1b[1;3B", PickerKey::PreviewDown),
            (b"\x1b[5~", PickerKey::PageUp),
            (b"\x1b[6;2~", PickerKey::PageDown),
            (b"\x1b[H", PickerKey::First),
            (b"\x1b[1~", PickerKey::First),
            (b"\x1bOF", PickerKey::Last),
            (b"\x1b[D", PickerKey::Left),
            (b"\x1b[C", PickerKey::Right),
            (b"\x1b[3~", PickerKey::Delete),
            (b"\x1b[Z", PickerKey::MarkBack),
            (b"\x1bOP", PickerKey::Help),
            (b"\t", PickerKey::Mark),
            (b"\r", PickerKey::Enter),
            (b"\x03", PickerKey::Interrupt),
            (b"\x12", PickerKey::With),
            (b"\x1b\x1b[", PickerKey::Escape),
            (b"\x7f", PickerKey::Erase),
            (b"\x1b\x7f", PickerKey::EraseWord),
            (b"\x1b[<0;10;20M", PickerKey::Mouse(Mouse::Click(Point { column: 9, row: 19 }))),
            (b"\x1b[<68;1;2M", PickerKey::Mouse(Mouse::WheelUp(Point { column: 0, row: 1 }))),
            (b"\x1b[<65;300;2M", PickerKey::Mouse(Mouse::WheelDown(Point { column: 299, row: 1 }))),
            (b"\x1b[M !\"", PickerKey::Mouse(Mouse::Click(Point { column: 0, row: 1 }))),
            (b"\x15", PickerKey::EraseBefore),
            ("é".as_bytes(), PickerKey::Char('é')),
            ("日".as_bytes(), PickerKey::Char('日')),
        ] {
            assert_eq!(keys(bytes), [expected], "{bytes:?}");
        }
    }

    #[test]
    fn parser_skips_unknown_sequences_completely() {
        assert_eq!(keys(b"a\x1b[2~b\x1b[<0;10;20mc\x1bxd\x00\xff\xc3\x28"), typed("abcd("));
        assert_eq!(keys(b"a\x1b[<2;10;20Mb\x1b[<0;0;1Mc\x1b[<0;1Md\x1b[M# !e"), typed("abcde"), "no click of ours");
        assert_eq!(keys("\u{9b}A".as_bytes()), typed("A"), "a control character of two bytes");
    }

    #[test]
    fn decoder_joins_split_key_sequences() {
        let mut keys = Keys::default();
        for (piece, expected) in [
            (b"\x1b".as_slice(), None),
            (b"[", None),
            (b"B", Some(PickerKey::Down)),
            (b"\xe6\x97", None),
            (b"\xa5", Some(PickerKey::Char('日'))),
        ] {
            keys.push(piece);
            assert_eq!(keys.next(), expected, "{piece:?}");
        }
        assert_eq!(keys.patience(), None);
    }

    #[test]
    fn parser_drops_incomplete_sequence_except_escape() {
        for (bytes, expected) in [(b"\x1b".as_slice(), Some(PickerKey::Escape)), (b"\x1b[1", None), (b"\xe6", None)] {
            let mut keys = Keys::default();
            keys.push(bytes);
            assert_eq!(keys.next(), None);
            assert_eq!(keys.patience(), Some(KEY_PATIENCE));
            assert_eq!(keys.finish(), expected, "{bytes:?}");
            assert_eq!(keys.patience(), None);
        }
        let mut endless = Keys::default();
        endless.push(&[b"\x1b[".as_slice(), &[b'1'; 100]].concat());
        assert_eq!((endless.next(), endless.patience()), (None, None));
    }

    #[test]
    fn pasted_bytes_are_text() {
        let pasted = |text: &str| PickerKey::Pasted(text.to_owned());
        assert_eq!(
            keys(b"a\x1b[200~fix\r\nit\x19\x18y\x1b[201~b"),
            [PickerKey::Char('a'), pasted("fix  it  y"), PickerKey::Char('b')]
        );
        let mut keys = Keys::default();
        for piece in [b"\x1b[200~one\r".as_slice(), b"two\x1b[2", b"01", b"~\r"] {
            keys.push(piece);
            let key = keys.next();
            assert_eq!(key, piece.starts_with(b"~").then(|| pasted("one two")), "{piece:?}");
        }
        assert_eq!(keys.next(), Some(PickerKey::Enter));
        // The end sequence may get lost.
        keys.push(b"\x1b[200~x\r");
        assert_eq!((keys.next(), keys.patience()), (None, Some(PASTE_PATIENCE)));
        assert_eq!((keys.finish(), keys.next()), (Some(pasted("x ")), None));
    }

    #[test]
    fn newline_within_one_chunk_is_not_enter() {
        assert_eq!(keys(b"one\rtwo"), typed("one two"));
        assert_eq!(keys(b"one\r").last(), Some(&PickerKey::Enter), "but one at the end may be typed quickly");
    }

    proptest! {
        #[test]
        fn pasted_text_is_never_a_key(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 0_usize..300) {
            let bytes = [PASTE, &bytes, PASTE_END].concat();
            let (first, rest) = bytes.split_at(cut.min(bytes.len()));
            let mut keys = Keys::default();
            keys.push(first);
            let mut found: Vec<PickerKey> = keys.by_ref().collect();
            keys.push(rest);
            found.extend(keys);
            // Only bytes after an end sequence in the middle count as typed.
            if bytes.windows(PASTE_END.len()).filter(|part| *part == PASTE_END).count() == 1 {
                prop_assert!(matches!(found.as_slice(), [PickerKey::Pasted(_)]), "{found:?}");
            }
        }
    }
}
