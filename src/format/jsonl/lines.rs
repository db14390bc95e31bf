//! Streams a whole file line by line, with one line in memory.

use std::collections::BTreeSet;
use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use memchr::{memchr, memmem};
use sha2::{Digest as _, Sha256};

use super::condense::{Condenser, OF_TEXT, Offsets};
use super::unpacked::LineSource;
use super::{Jsonl, LAST_WINDOW, MAX_LINE, leading_nul, without_mark, without_nul};
use crate::error::PathError;
use crate::format::edit::Edit;
use crate::session::{Message, Visitor};
use crate::system::fsio::BufReader;

/// Maximum number of bytes from the end of a file that are searched for its last messages.
const REACH_OF_LAST: usize = 16 * 1024 * 1024;
/// Length from which texts in a long line are left out: a shortened line uses less memory than the longest other line.
const SHORTENED: usize = MAX_LINE / 2;

/// Calls `see` with each line of a file until it breaks. A missing file has no lines.
pub(crate) fn each_line(path: &Path, see: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), PathError> {
    let Some(file) = Jsonl::open_if_present(path)? else { return Ok(()) };
    let mut lines = file.into_lines()?;
    while let Some(line) = lines.next_line()? {
        if see(line.bytes).is_break() {
            break;
        }
    }
    Ok(())
}

/// Calls `see` with these lines of a file, by the numbers that [`each_line`] gives them, counted from 0.
pub(crate) fn each_line_at(
    path: &Path,
    requested: &BTreeSet<usize>,
    see: &mut dyn FnMut(usize, Line<'_>),
) -> Result<(), PathError> {
    let (mut lines, last) = (Jsonl::open(path)?.into_lines()?, requested.last().map_or(0, |last| last + 1));
    for at in 0..last {
        let Some(line) = lines.next_line()? else { break };
        if requested.contains(&at) {
            see(at, line);
        }
    }
    Ok(())
}

/// Calls `see` with the messages of each line until it breaks.
pub(crate) fn each_message<M: IntoIterator<Item = Message>>(
    path: &Path,
    see: &mut Visitor<'_>,
    mut messages: impl FnMut(&[u8]) -> Option<M>,
) -> Result<(), PathError> {
    each_line(path, &mut |line| messages(line).into_iter().flatten().try_for_each(&mut *see))
}

/// Returns the last `count` messages of a file whose lines are independent, without reading from the start. `None` if
/// the end of the file holds fewer.
pub(crate) fn last_messages<M: IntoIterator<Item = Message>>(
    path: &Path,
    count: usize,
    mut messages: impl FnMut(&[u8]) -> Option<M>,
) -> Result<Option<Vec<Message>>, PathError> {
    let Some(file) = Jsonl::open_if_present(path)? else { return Ok(None) };
    // The messages, in reverse order.
    let mut last: Vec<Message> = Vec::new();
    file.with_reach(REACH_OF_LAST).lines_backward(&mut |line, _| {
        let start = last.len();
        last.extend(messages(line).into_iter().flatten());
        last[start..].reverse();
        last.len() >= count
    })?;
    let is_enough = last.len() >= count;
    last.truncate(count);
    last.reverse();
    Ok(is_enough.then_some(last))
}

/// Returns whether the end of a message's text was left out, because its record is longer than [`MAX_LINE`].
pub(crate) fn is_shortened(message: &Message) -> bool {
    let ends = ['"', '}', ']'];
    message.text.trim_end_matches(ends).ends_with(OF_TEXT.trim_end_matches(ends))
}

/// Returns whether the end of a text in a line was left out.
pub(crate) fn lacks_text(line: &[u8]) -> bool {
    line.len() >= SHORTENED && memmem::find(line, OF_TEXT.as_bytes()).is_some()
}

/// A line-by-line reader of a whole file; holds at most one line in memory.
#[derive(Debug)]
pub(crate) struct LineReader {
    path: PathBuf,
    reader: BufReader<io::Take<LineSource>>,
    line: Vec<u8>,
    offsets: Offsets,
    max_line: usize,
    is_skipped: Option<fn(&[u8]) -> bool>,
    number: u64,
    offset: u64,
}

/// One line of a streamed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// Counted from 1.
    pub number: u64,
    /// Offset of the first byte in the file, in bytes.
    pub start: u64,
    /// The line without the newline, in UTF-8. A line that is longer than [`MAX_LINE`], or than the limit of
    /// [`LineReader::up_to`], is shortened.
    pub bytes: &'a [u8],
    /// Set if the line ends with a newline.
    pub is_ended: bool,
    /// A digest of the bytes that were replaced, if the line of the file is not UTF-8.
    pub replaced: Option<[u8; 32]>,
    /// A digest of the bytes that are left out, if the line is shortened.
    pub left_out: Option<[u8; 32]>,
    /// Number of bytes before [`Line::bytes`], and offsets that include them.
    skipped: usize,
    offsets: &'a [(usize, u64)],
}

impl Line<'_> {
    /// Returns digests of the bytes that are missing in [`Line::bytes`]. Two lines are equal only if these are equal,
    /// too.
    pub(crate) fn lost(&self) -> [Option<[u8; 32]>; 2] {
        [self.replaced, self.left_out]
    }

    /// Returns the number of NUL bytes that are left out before the line; 0 for the first one, which may have a mark there.
    pub(crate) fn nul_before(&self) -> u64 {
        if self.number > 1 { self.skipped as u64 } else { 0 }
    }

    /// Returns the offset in the file of a byte of the line.
    pub(crate) fn offset(&self, at: usize) -> u64 {
        let (start, at) = (self.start - self.skipped as u64, at + self.skipped);
        let before = self.offsets.iter().rfind(|(before, _)| *before <= at);
        let (before, of_file) = before.copied().unwrap_or_default();
        start + of_file + (at - before) as u64
    }

    /// Returns an edit of the line as an edit of the file.
    pub(crate) fn edit(&self, edit: Edit) -> Edit {
        let place = |at: u64| self.offset(usize::try_from(at).unwrap_or(usize::MAX));
        let (at, end) = (place(edit.at), place(edit.at + edit.removed));
        Edit { at, removed: end - at, ..edit }
    }
}

impl LineReader {
    pub(super) fn new(path: PathBuf, source: LineSource, offset: u64, limit: u64) -> Self {
        let reader = BufReader::with_capacity(128 * 1024, source.take(limit));
        let (line, offsets) = Default::default();
        Self { path, reader, line, offsets, max_line: MAX_LINE, is_skipped: None, number: 0, offset }
    }

    /// Sets the maximum length of a line; longer lines are shortened.
    pub(crate) fn up_to(self, max_line: usize) -> Self {
        Self { max_line, ..self }
    }

    /// Skips the lines for which this returns true.
    pub(crate) fn without(self, is_skipped: Option<fn(&[u8]) -> bool>) -> Self {
        Self { is_skipped, ..self }
    }

    /// Returns the next line that is not empty.
    pub(crate) fn next_line(&mut self) -> Result<Option<Line<'_>>, PathError> {
        loop {
            self.line.clear();
            self.line.shrink_to(MAX_LINE / 8);
            self.offsets.clear();
            let mut condenser: Option<Condenser> = None;
            let mut is_ended = false;
            let mut was_read = false;
            let mut start = self.offset;
            while !is_ended {
                let available = match self.reader.fill_buf() {
                    Ok([]) => break,
                    Ok(available) => available,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(PathError::new("read", &self.path, error)),
                };
                was_read = true;
                let (mut part, used) = match memchr(b'\n', available) {
                    Some(newline) => {
                        is_ended = true;
                        (&available[..newline], newline + 1)
                    }
                    None => (available, available.len()),
                };
                if self.line.is_empty() && condenser.is_none() {
                    // A file that was cut off by a crash may have any number of bytes that were never written.
                    let nul = leading_nul(part);
                    (part, start) = (&part[nul..], start + nul as u64);
                }
                if condenser.is_none() && self.line.len() + part.len() > self.max_line {
                    condenser
                        .insert(Condenser::new(self.max_line.min(SHORTENED)))
                        .push(&std::mem::take(&mut self.line));
                }
                match &mut condenser {
                    Some(condenser) => condenser.push(part),
                    None => {
                        if self.line.len() + part.len() > LAST_WINDOW {
                            // Growing the buffer in steps would leave freed smaller buffers behind.
                            self.line.reserve_exact(MAX_LINE.saturating_sub(self.line.len()));
                        }
                        self.line.extend_from_slice(part);
                    }
                }
                self.reader.consume(used);
                self.offset += used as u64;
            }
            if !was_read {
                return Ok(None);
            }
            self.number += 1;
            let left_out = condenser.map(|condenser| {
                let digest;
                (self.line, self.offsets, digest) = condenser.finish();
                digest
            });
            let replaced = decode(&mut self.line, &mut self.offsets);
            let mark = self.line.len() - without_mark(&self.line, start == 0).len();
            let nul = leading_nul(&self.line[mark..]);
            let skipped = mark + nul;
            if skipped < self.line.len() && !self.is_skipped.is_some_and(|is_skipped| is_skipped(&self.line)) {
                let bytes = without_nul(&self.line[skipped..]);
                let (number, offsets, start) = (self.number, &*self.offsets, start + skipped as u64);
                return Ok(Some(Line { number, start, bytes, is_ended, replaced, left_out, skipped, offsets }));
            }
        }
    }
}

/// Replaces bytes that are not UTF-8, as agents written in JavaScript do. Returns a digest of them; `None` if there are
/// none.
fn decode(line: &mut Vec<u8>, offsets: &mut Offsets) -> Option<[u8; 32]> {
    if str::from_utf8(line).is_ok() {
        return None;
    }
    let mut replaced = Sha256::new();
    let (mut decoded, mut later, mut at) = (Vec::with_capacity(line.len()), Offsets::new(), 0);
    let mut earlier = std::mem::take(offsets).into_iter().peekable();
    // The closest offset before the byte, in the line and in the file.
    let mut base = (0, 0);
    for chunk in line.utf8_chunks() {
        decoded.extend_from_slice(chunk.valid().as_bytes());
        let end = at + chunk.valid().len();
        while let Some((before, of_file)) = earlier.next_if(|(before, _)| *before <= end) {
            later.push((decoded.len() - (end - before), of_file));
            base = (before, of_file);
        }
        at = end + chunk.invalid().len();
        if !chunk.invalid().is_empty() {
            decoded.extend_from_slice("\u{fffd}".as_bytes());
            // A newline marks the end of each sequence.
            replaced.update(chunk.invalid());
            replaced.update(b"\n");
            later.push((decoded.len(), base.1 + (at - base.0) as u64));
        }
    }
    (*line, *offsets) = (decoded, later);
    Some(replaced.finalize().into())
}
