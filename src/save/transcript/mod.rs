//! Converts messages to the lines of Amplifier's `transcript.jsonl`.
//!
//! The rules are those of amplifier-foundation d0d96f70 (`serialization.py`) and amplifier-distro
//! (`transcript_persistence.py`): the whole file is rewritten, since a compaction may change earlier messages.

mod message;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io::{BufRead, Read};

use serde::de::{Deserializer as _, Error as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::format::json_text::{decoded, elements};
use message::{fields, write_message};

/// The file's name in a session's directory.
pub(crate) const FILE_NAME: &str = "transcript.jsonl";
/// Maximum bytes of a message.
const MAX_MESSAGE: u64 = 256 * 1024 * 1024;

/// Numbers of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MessageCounts {
    /// Messages that were written.
    pub messages: u64,
    /// Messages with a role that is never written.
    pub left_out: u64,
    /// Messages that are not objects, if these may be skipped.
    pub unusable: u64,
}

/// The reason why messages cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnwritableMessages {
    /// There is no input; an empty list would be `[]`.
    #[error("standard input is empty; an empty list of messages is []")]
    Empty,
    /// The list is not JSON.
    #[error("the list of messages is not JSON: {0}")]
    NotJson(serde_json::Error),
    /// A line is not JSON.
    #[error("line {line} is not JSON: {error}")]
    BadLine {
        /// Its number, from 1.
        line: u64,
        /// The error of the parser.
        error: serde_json::Error,
    },
    /// A message is not an object.
    #[error("message {0} is not an object")]
    NotAnObject(u64),
    /// A message is longer than `MAX_MESSAGE`.
    #[error("line {0} is longer than {MAX_MESSAGE} bytes")]
    TooLong(u64),
    /// The messages cannot be read.
    #[error("cannot read the messages: {0}")]
    Read(std::io::Error),
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] crate::error::PathError),
}

/// A receiver of lines, one call per line.
pub(crate) type Sink<'a> = dyn FnMut(&[u8]) -> Result<(), crate::error::PathError> + 'a;

/// Converts messages to lines, one at a time.
pub(crate) struct TranscriptWriter<'a> {
    sink: &'a mut Sink<'a>,
    /// Set to skip a message that is not an object, as Amplifier does, and not to refuse it.
    is_lenient: bool,
    counts: MessageCounts,
    line: Vec<u8>,
}

impl fmt::Debug for TranscriptWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("counts", &self.counts).finish_non_exhaustive()
    }
}

impl<'a> TranscriptWriter<'a> {
    /// Creates a writer that passes its lines to `sink`.
    pub(crate) fn new(sink: &'a mut Sink<'a>, is_lenient: bool) -> Self {
        Self { sink, is_lenient, counts: MessageCounts::default(), line: Vec::new() }
    }

    /// Writes the messages of a reader: one list of messages, or one message per line.
    ///
    /// One message is held at a time. Input that breaks off is an error, so that half a conversation does not replace a
    /// whole one.
    pub(crate) fn read(mut self, input: &mut dyn BufRead) -> Result<MessageCounts, UnwritableMessages> {
        match first_byte(input).map_err(UnwritableMessages::Read)? {
            None => return Err(UnwritableMessages::Empty),
            Some(b'[') => self.read_list(input)?,
            Some(_) => self.read_lines(input)?,
        }
        Ok(self.counts)
    }

    /// Writes the messages of a list, which must be well-formed JSON.
    pub(crate) fn list(mut self, list: &RawValue) -> Result<MessageCounts, UnwritableMessages> {
        let text = list.get();
        for element in elements(text, 0) {
            self.message(&text[element])?;
        }
        Ok(self.counts)
    }

    fn read_list(&mut self, input: &mut dyn BufRead) -> Result<(), UnwritableMessages> {
        let mut failure = None;
        let mut deserializer = serde_json::Deserializer::from_reader(input);
        let outcome = deserializer.deserialize_seq(MessageListVisitor { writer: self, failure: &mut failure });
        if let Some(failure) = failure {
            return Err(failure);
        }
        outcome.and_then(|()| deserializer.end()).map_err(|error| match error.io_error_kind() {
            Some(kind) => UnwritableMessages::Read(kind.into()),
            None => UnwritableMessages::NotJson(error),
        })
    }

    fn read_lines(&mut self, input: &mut dyn BufRead) -> Result<(), UnwritableMessages> {
        let mut text = Vec::new();
        for line in 1.. {
            text.clear();
            let mut rest = Read::take(&mut *input, MAX_MESSAGE + 1);
            if rest.read_until(b'\n', &mut text).map_err(UnwritableMessages::Read)? == 0 {
                break;
            }
            if text.len() as u64 > MAX_MESSAGE {
                return Err(UnwritableMessages::TooLong(line));
            }
            if text.trim_ascii().is_empty() {
                continue;
            }
            let message: &RawValue =
                serde_json::from_slice(&text).map_err(|error| UnwritableMessages::BadLine { line, error })?;
            self.message(message.get())?;
        }
        Ok(())
    }

    /// Writes one message.
    fn message(&mut self, json: &str) -> Result<(), UnwritableMessages> {
        let fields = fields(json);
        if !json.starts_with('{') {
            if !self.is_lenient {
                let MessageCounts { messages, left_out, unusable } = self.counts;
                return Err(UnwritableMessages::NotAnObject(messages + left_out + unusable + 1));
            }
            self.counts.unusable += 1;
            return Ok(());
        }
        let role = fields.get("role").filter(|role| role.starts_with('"')).map(|role| decoded(role));
        if matches!(role.as_deref(), Some("system" | "developer")) {
            self.counts.left_out += 1;
            return Ok(());
        }
        self.line.clear();
        write_message(&fields, &mut self.line);
        self.line.push(b'\n');
        (self.sink)(&self.line)?;
        self.counts.messages += 1;
        Ok(())
    }
}

/// Skips white space and a byte order mark, and returns the next byte.
fn first_byte(input: &mut dyn BufRead) -> std::io::Result<Option<u8>> {
    loop {
        let bytes = input.fill_buf()?;
        let blanks =
            bytes.iter().take_while(|byte| byte.is_ascii_whitespace() || b"\xef\xbb\xbf".contains(byte)).count();
        let (is_end, first) = (bytes.is_empty(), bytes.get(blanks).copied());
        input.consume(blanks);
        if is_end || first.is_some() {
            return Ok(first);
        }
    }
}

struct MessageListVisitor<'w, 'a> {
    writer: &'w mut TranscriptWriter<'a>,
    failure: &'w mut Option<UnwritableMessages>,
}

impl<'de> Visitor<'de> for MessageListVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of messages")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(message) = list.next_element::<Box<RawValue>>()? {
            if let Err(failure) = self.writer.message(message.get()) {
                *self.failure = Some(failure);
                return Err(A::Error::custom("a message cannot be written"));
            }
        }
        Ok(())
    }
}
