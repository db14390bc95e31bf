//! Breaks the lines of an answer between words, so that every renderer fits a terminal of any width.

use std::io::{self, Write};

use crate::format::wrap;

/// A stream whose lines are at most as wide as the terminal, if a width is set.
#[derive(Debug)]
pub(super) struct FoldingStream<W> {
    out: W,
    width: Option<usize>,
    /// The beginning of a line whose end is not written yet.
    line: Vec<u8>,
}

impl<W: Write> FoldingStream<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, width: None, line: Vec::new() }
    }

    pub(super) fn inner(&mut self) -> &mut W {
        &mut self.out
    }

    /// Sets the width at which lines are wrapped from now on; `None` for no wrapping.
    pub(super) fn set_width(&mut self, width: Option<usize>) -> io::Result<()> {
        self.end_line()?;
        self.width = width;
        Ok(())
    }

    /// Writes the beginning of a line.
    fn end_line(&mut self) -> io::Result<()> {
        let (line, width) = (std::mem::take(&mut self.line), self.width.unwrap_or(usize::MAX));
        // No character has more columns than bytes.
        if line.len() <= width {
            return self.out.write_all(&line);
        }
        let text = String::from_utf8_lossy(&line);
        let own = text.trim_end_matches('\n');
        self.out.write_all((wrap::folded(own, width).join("\n") + &text[own.len()..]).as_bytes())
    }
}

impl<W: Write> Write for FoldingStream<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.width.is_none() {
            // A partial write could end inside a character.
            return self.out.write_all(bytes).map(|()| bytes.len());
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.end_line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.end_line()?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fold_wraps_lines_only_while_width_is_set() {
        let mut fold = FoldingStream::new(Vec::new());
        fold.write_all(b"one two three\n").expect("a write");
        fold.set_width(Some(8)).expect("a width");
        fold.write_all(b"one two ").and_then(|()| fold.write_all("three\ndéjà vu\nfour".as_bytes())).expect("a write");
        fold.set_width(None).expect("no width");
        fold.write_all(b" five six\n").expect("a write");
        let text = String::from_utf8(fold.out).expect("text");
        assert_eq!(text, "one two three\none two\nthree\ndéjà vu\nfour five six\n");
    }
}
