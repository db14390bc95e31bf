//! A whole file, one line at a time, in the memory of one line.

use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use memchr::{memchr, memmem};

use super::unpacked::Source;
use super::{Jsonl, MAX_LINE, without_nul};
use crate::error::PathError;
use crate::session::{Message, Role};
use crate::system::fsio::BufReader;

/// How much of the end of a file is searched for its last messages at a time at most.
const REACH_OF_LAST: usize = 16 * 1024 * 1024;

/// Shows each line of a file until `see` breaks; `None` stands for one that is too long to look into.
///
/// A file that is not there has no lines.
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

/// Shows the messages of each line until `see` breaks, and in place of a line that is too long to look into, that it is.
pub(crate) fn each_message<M: IntoIterator<Item = Message>>(
    path: &Path,
    see: &mut dyn FnMut(Message) -> ControlFlow<()>,
    mut messages: impl FnMut(&[u8]) -> Option<M>,
) -> Result<(), PathError> {
    each_line(path, &mut |line| match line {
        Some(line) => messages(line).into_iter().flatten().try_for_each(&mut *see),
        None => see(too_long()),
    })
}

/// Returns the last messages of a file in which each line stands for itself, without reading what comes before them; `None`
/// where its end does not hold so many.
pub(crate) fn last_messages<M: IntoIterator<Item = Message>>(
    path: &Path,
    count: usize,
    mut messages: impl FnMut(&[u8]) -> Option<M>,
) -> Result<Option<Vec<Message>>, PathError> {
    let Some(file) = Jsonl::open_if_present(path)? else { return Ok(None) };
    // The last comes first.
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

/// Returns what stands for the messages of a line that is too long to look into.
pub(crate) fn too_long() -> Message {
    let text = format!("[a record of more than {} MiB, which is left out]", MAX_LINE >> 20);
    Message::new(Role::System, text, None)
}

/// Shows the lines of a file in which some bytes are; so most need not be parsed.
pub(crate) fn each_line_with(path: &Path, bytes: &[u8], see: &mut dyn FnMut(&[u8])) -> Result<(), PathError> {
    let finder = memmem::Finder::new(bytes);
    each_line(path, &mut |line| {
        line.into_iter().filter(|line| finder.find(line).is_some()).for_each(&mut *see);
        ControlFlow::Continue(())
    })
}

/// A whole file, one line at a time; it holds one line at most.
#[derive(Debug)]
pub(crate) struct Lines {
    path: PathBuf,
    reader: BufReader<io::Take<Source>>,
    line: Vec<u8>,
    max_line: usize,
    number: u64,
    offset: u64,
}

/// One line of a streamed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// Counted from 1.
    pub number: u64,
    /// Where it begins in the file, in bytes.
    pub start: u64,
    /// Its bytes without the newline; `None` when it is longer than [`MAX_LINE`], or than the limit of [`Lines::up_to`].
    pub bytes: Option<&'a [u8]>,
    /// Whether a newline ended it.
    pub is_ended: bool,
}

impl Lines {
    pub(super) fn new(path: PathBuf, source: Source, limit: u64) -> Self {
        let reader = BufReader::with_capacity(128 * 1024, source.take(limit));
        Self { path, reader, line: Vec::new(), max_line: MAX_LINE, number: 0, offset: 0 }
    }

    /// Sets the length of the longest line that is read.
    pub(crate) fn up_to(self, max_line: usize) -> Self {
        Self { max_line, ..self }
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
            if is_too_long || nul < self.line.len() {
                let bytes = (!is_too_long).then_some(without_nul(&self.line));
                return Ok(Some(Line { number: self.number, start: start + nul as u64, bytes, is_ended }));
            }
        }
    }
}
