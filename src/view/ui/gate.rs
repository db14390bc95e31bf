//! The last filter before a stream: even if a renderer forgets to escape, a terminal and the lines of a pipe get only
//! text.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::format::{shown, text};

/// The style codes of rejoin and its highlight; any other code came with foreign text.
const OWN_CODES: [&str; 7] = ["", "0", "1", "2", "4", "7", "38;5;163"];

/// A stream that lets through lines, tabs and, if colours are enabled, rejoin's own colours.
///
/// Each write must be whole characters, as those of `write!` are.
#[derive(Debug)]
pub(super) struct OutputFilter<W> {
    out: W,
    has_colors: bool,
}

impl<W: Write> OutputFilter<W> {
    pub(super) fn new(out: W, has_colors: bool) -> Self {
        Self { out, has_colors }
    }

    pub(super) fn inner(&mut self) -> &mut W {
        &mut self.out
    }
}

impl<W: Write> Write for OutputFilter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if shown::is_only_shown(bytes) {
            // A partial write could end inside a character.
            return self.out.write_all(bytes).map(|()| bytes.len());
        }
        self.out.write_all(guarded(&String::from_utf8_lossy(bytes), self.has_colors).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Escapes all characters that a terminal interprets, except lines, tabs and, if colours are enabled, own colours.
pub(super) fn guarded(text: &str, has_colors: bool) -> Cow<'_, str> {
    if text.split(['\n', '\t']).all(shown::is_harmless) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for (at, piece) in text.split("\x1b[").enumerate() {
        let own = piece.split_once('m').filter(|(code, _)| has_colors && at > 0 && OWN_CODES.contains(code));
        let rest = match own {
            Some((code, rest)) => {
                safe.extend(["\x1b[", code, "m"]);
                rest
            }
            None if at > 0 => {
                safe.push_str("\\u{1b}[");
                piece
            }
            None => piece,
        };
        for (at, field) in rest.split('\t').enumerate() {
            safe.push_str(if at > 0 { "\t" } else { "" });
            safe.push_str(&text::printable(field));
        }
    }
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(text: &str, has_colors: bool) -> String {
        let mut gate = OutputFilter::new(Vec::new(), has_colors);
        gate.write_all(text.as_bytes()).expect("a write");
        String::from_utf8(gate.out).expect("text")
    }

    #[test]
    fn gate_passes_lines_tabs_and_own_colors() {
        let text = format!("{0}a{0:#}\tb\n日本\n", crate::cli::colors::HIGHLIGHT);
        assert_eq!(through(&text, true), text);
        assert_eq!(through(&text, false), "\\u{1b}[1m\\u{1b}[38;5;163ma\\u{1b}[0m\tb\n日本\n");
    }

    /// Accepts a few bytes at a time, like a nearly full pipe.
    struct Little(Vec<u8>);

    impl Write for Little {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(4);
            self.0.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn partial_write_splits_no_character() {
        let mut gate = OutputFilter::new(Little(Vec::new()), false);
        gate.write_all("日本語x".as_bytes()).expect("a text");
        assert_eq!(gate.out.0, "日本語x".as_bytes());
    }

    #[test]
    fn gate_finds_control_character_at_any_offset() {
        for before in 0..70 {
            for (c, is_shown) in
                [('~', true), ('é', true), ('日', true), ('\u{7f}', false), ('\r', false), ('\u{9b}', false)]
            {
                let text = format!("{}{c}{}", "a".repeat(before), "\n".repeat(40));
                assert_eq!(shown::is_only_shown(text.as_bytes()), is_shown, "{before} {c:?}");
                assert_eq!(through(&text, true) == text, is_shown);
            }
            let cut = [&b"a".repeat(before)[..], &"日".as_bytes()[..2]].concat();
            assert!(!shown::is_only_shown(&cut));
        }
    }

    #[test]
    fn gate_escapes_terminal_commands() {
        for (text, expected) in [
            ("a\x1b[2Jb", "a\\u{1b}[2Jb"),
            ("\x1b[8mhidden", "\\u{1b}[8mhidden"),
            ("\x1b]52;c;x\x07", "\\u{1b}]52;c;x\\u{7}"),
            ("\u{9b}31m\u{7f}\r", "\\u{9b}31m\\u{7f}\\r"),
            ("\u{202e}\u{200b}", "\\u{202e}\\u{200b}"),
            ("\x1b[", "\\u{1b}["),
        ] {
            assert_eq!(through(text, true), expected);
        }
    }
}
