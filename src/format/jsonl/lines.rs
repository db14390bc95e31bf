//! Streams a whole file line by line, with one line in memory.

use std::collections::BTreeSet;
use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use memchr::{memchr, memmem};

use super::unpacked::Source;
use super::{Jsonl, MAX_LINE, without_nul};
use crate::error::PathError;
use crate::session::{Message, Role, Visitor};
use crate::system::fsio::BufReader;

/// Maximum number of bytes from the end of a file that are searched for its last messages.
const REACH_OF_LAST: usize = 16 * 1024 * 1024;

/// Calls `see` with each line of a file until it breaks; `None` represents a line that is too long to load.
///
/// A missing file has no lines.
pub(crate) fn each_line(path: &Path, see: &mut dyn FnMut(Option<&[u8]>) -> ControlFlow<()>) -> Result<(), PathError> {
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
    wanted: &BTreeSet<usize>,
    see: &mut dyn FnMut(usize, Line<'_>),
) -> Result<(), PathError> {
    let (mut lines, last) = (Jsonl::open(path)?.into_lines()?, wanted.last().map_or(0, |last| last + 1));
    for at in 0..last {
        let Some(line) = lines.next_line()? else { break };
        if wanted.contains(&at) {
            see(at, line);
        }
    }
    Ok(())
}

/// Calls `see` with the messages of each line until it breaks, and with a placeholder for a line that is too long to
/// load.
pub(crate) fn each_message<M: IntoIterator<Item = Message>>(
    path: &Path,
    see: &mut Visitor<'_>,
    mut messages: impl FnMut(&[u8]) -> Option<M>,
) -> Result<(), PathError> {
    each_line(path, &mut |line| match line {
        Some(line) => messages(line).into_iter().flatten().try_for_each(&mut *see),
        None => see(too_long()),
    })
}

/// Returns the last `count` messages of a file whose lines are independent, without reading from the start. `None` if
/// the end of the file holds fewer.
pub(crate) fn last_messages<M: IntoIterator<Item = Message>>(
    path: &Path,
    count: usize,
    mut messages: impl FnMut(&[u8]) -> Option<M>,
) -> Result<Option<Vec<Message>>, PathError> {
    let Some(file) = Jsonl::open_if_present(path)? else { return Ok(None) };
    // In reverse order.
    let mut last: Vec<Message> = Vec::new();
    file.with_reach(REACH_OF_LAST).lines_backward(|line, _| {
        let start = last.len();
        if line.len() > MAX_LINE {
            last.push(too_long())
        } else {
            last.extend(messages(line).into_iter().flatten())
        }
        last[start..].reverse();
        last.len() >= count
    })?;
    let is_enough = last.len() >= count;
    last.truncate(count);
    last.reverse();
    Ok(is_enough.then_some(last))
}

/// Returns the placeholder message for a line that is too long to load.
pub(crate) fn too_long() -> Message {
    let text = format!("[a record of more than {} MiB, which is left out]", MAX_LINE >> 20);
    Message::new(Role::System, text, None)
}

/// Returns whether a message is the placeholder for a line that is too long to load.
pub(crate) fn is_too_long(message: &Message) -> bool {
    message.role == Role::System && message.at.is_none() && message.text == too_long().text
}

/// Calls `see` with the lines of a file that contain `bytes`, so that most lines need no parsing.
pub(crate) fn each_line_with(path: &Path, bytes: &[u8], see: &mut dyn FnMut(&[u8])) -> Result<(), PathError> {
    let finder = memmem::Finder::new(bytes);
    each_line(path, &mut |line| {
        line.into_iter().filter(|line| finder.find(line).is_some()).for_each(&mut *see);
        ControlFlow::Continue(())
    })
}

/// A line-by-line reader of a whole file; holds at most one line in memory.
#[derive(Debug)]
pub(crate) struct Lines {
    path: PathBuf,
    reader: BufReader<io::Take<Source>>,
    line: Vec<u8>,
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
    /// The bytes without the newline; `None` if the line is longer than [`MAX_LINE`], or than the limit of
    /// [`Lines::up_to`].
    pub bytes: Option<&'a [u8]>,
    /// Set if the line ends with a newline.
    pub is_ended: bool,
}

impl Lines {
    pub(super) fn new(path: PathBuf, source: Source, limit: u64) -> Self {
        let reader = BufReader::with_capacity(128 * 1024, source.take(limit));
        Self { path, reader, line: Vec::new(), max_line: MAX_LINE, is_skipped: None, number: 0, offset: 0 }
    }

    /// Sets the maximum length of a line; longer lines are skipped.
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
            let mut is_too_long = false;
            let mut is_ended = false;
            let mut was_read = false;
            let start = self.offset;
            while !is_ended {
                let available = match self.reader.fill_buf() {
                    Ok([]) => break,
                    Ok(available) => available,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(PathError::new("read", &self.path, error)),
                };
                was_read = true;
                let (part, used) = match memchr(b'\n', available) {
                    Some(newline) => {
                        is_ended = true;
                        (&available[..newline], newline + 1)
                    }
                    None => (available, available.len()),
                };
                is_too_long |= self.line.len() + part.len() > self.max_line;
                if is_too_long {
                    self.line.clear();
                } else {
                    self.line.extend_from_slice(part);
                }
                self.reader.consume(used);
                self.offset += used as u64;
            }
            if !was_read {
                return Ok(None);
            }
            self.number += 1;
            let nul = self.line.iter().take_while(|byte| **byte == 0).count();
            let is_skipped = |line: &[u8]| self.is_skipped.is_some_and(|is_skipped| is_skipped(line));
            if is_too_long || (nul < self.line.len() && !is_skipped(&self.line)) {
                let bytes = (!is_too_long).then_some(without_nul(&self.line));
                return Ok(Some(Line { number: self.number, start: start + nul as u64, bytes, is_ended }));
            }
        }
    }
}
