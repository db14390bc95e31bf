//! Reads line-wise JSON files in bounded memory: in windows from both ends, or streamed whole.
//!
//! A transcript can be 10 GB and one of its lines 200 MB. `list` needs a few fields near the two ends, so it reads
//! windows that grow until the fields are found. A line that is too long to hold is shortened ([`condense`]). Lines end
//! at `\n` bytes only: transcripts hold U+2028 and similar characters unescaped inside strings. A byte order mark at
//! the start of a file is skipped, and bytes that are not UTF-8 are replaced.
//!
//! A file whose name ends in `.zst` is decompressed on the fly (Codex compresses cold sessions). It can only be read
//! from its start, so the part between its two ends is decompressed too, but not kept.

mod condense;
mod lines;
#[cfg(test)]
mod tests;
mod unpacked;
mod window;

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use memchr::{memchr, memmem, memrchr};

use crate::error::PathError;
use crate::format::json_text::lossy;
use crate::system::fsio;
pub(crate) use lines::{
    Line, LineReader, each_line, each_line_at, each_message, is_shortened, lacks_text, last_messages,
};
use unpacked::{LineSource, UnpackedEnds};
use window::Window;

/// Initial window size at either end in bytes, unless more of the end is requested.
const FIRST_WINDOW: usize = 8 * 1024;
/// Maximum window size in bytes, and number of bytes that are shown from either end; fields beyond are unknown.
const LAST_WINDOW: usize = 1024 * 1024;
/// Factor by which a window grows.
const GROWTH: usize = 8;
/// Maximum length in bytes of a line that is read as it is when a file is streamed.
pub(crate) const MAX_LINE: usize = 8 * 1024 * 1024;
/// Maximum number of bytes that are read of lines that are longer than a window.
const MAX_SKIPPED: u64 = 128 * 1024 * 1024;
/// The mark that some editors write at the start of a file.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// File name suffix of a compressed file.
const PACKED: &str = ".zst";

/// Strips NUL bytes from both ends of a line: after a power loss, file systems leave them for data that was never
/// written.
pub(crate) fn without_nul(line: &[u8]) -> &[u8] {
    let is_nul = |byte: &u8| *byte == 0;
    match (line.first().is_some_and(is_nul), line.last().is_some_and(is_nul)) {
        (false, false) => line,
        _ => {
            let line = &line[leading_nul(line)..];
            let nul = nul_in(line.rchunks(NUL.len()));
            let nul = nul + line[..line.len() - nul].iter().rev().take_while(|byte| **byte == 0).count();
            &line[..line.len() - nul]
        }
    }
}

/// A block of NUL bytes: a file may have gigabytes of them, so they are compared in blocks.
static NUL: [u8; 4096] = [0; 4096];

/// Returns the number of NUL bytes at the start of a line.
fn leading_nul(line: &[u8]) -> usize {
    if line.first().is_none_or(|byte| *byte != 0) {
        return 0;
    }
    let nul = nul_in(line.chunks(NUL.len()));
    nul + line[nul..].iter().take_while(|byte| **byte == 0).count()
}

/// Returns the length of the first blocks that have nothing but NUL bytes.
fn nul_in<'b>(blocks: impl Iterator<Item = &'b [u8]>) -> usize {
    blocks.take_while(|block| **block == NUL[..block.len()]).map(<[u8]>::len).sum()
}

/// Returns the first line of a file without a byte order mark, and any other line as it is.
pub(crate) fn without_mark(line: &[u8], is_first: bool) -> &[u8] {
    line.strip_prefix(BYTE_ORDER_MARK).filter(|_| is_first).unwrap_or(line)
}

/// Returns a line in UTF-8, like [`Line::bytes`].
pub(crate) fn in_utf8(line: &[u8]) -> Cow<'_, [u8]> {
    match lossy(line) {
        Cow::Borrowed(line) => Cow::Borrowed(line.as_bytes()),
        Cow::Owned(line) => Cow::Owned(line.into_bytes()),
    }
}

/// Returns a line of a window in UTF-8, without NUL bytes at its ends; empty if it has no other bytes.
fn readable(line: &[u8], is_first: bool) -> Cow<'_, [u8]> {
    in_utf8(without_nul(without_mark(line, is_first)))
}

/// Returns whether a file has one record per line, and is not compressed or a single document.
pub(crate) fn is_line_wise(path: &Path) -> bool {
    let is_jsonl = |path: &Path| path.extension().is_some_and(|extension| extension == "jsonl");
    is_jsonl(path)
        || (path.extension().is_some_and(|extension| extension == "backup") && is_jsonl(&path.with_extension("")))
}

/// Returns whether a file is compressed, by its name.
pub(crate) fn is_packed(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(PACKED.as_bytes())
}

/// A line-wise file that is open for reading.
#[derive(Debug)]
pub(crate) struct Jsonl {
    path: PathBuf,
    file: File,
    /// Both ends of a decompressed file; `None` for a plain one.
    unpacked: Option<UnpackedEnds>,
    /// The size on disk.
    len: u64,
    /// Length of the content, which is larger for a compressed file.
    end: u64,
    modified: Option<Timestamp>,
    changed: Option<Timestamp>,
    head: Window,
    tail: usize,
    reach: usize,
}

impl Jsonl {
    /// Opens a regular file, never a link, a FIFO or a device.
    pub(crate) fn open(path: &Path) -> Result<Self, PathError> {
        let (file, metadata) = fsio::open_regular(path)?;
        let modified = metadata.modified().ok().and_then(|time| Timestamp::try_from(time).ok());
        let changed = fsio::last_change(&metadata);
        let (len, mut end, mut unpacked) = (metadata.len(), metadata.len(), None);
        if is_packed(path) {
            let ends = UnpackedEnds::decompress(&file).map_err(|error| PathError::new("unpack", path, error))?;
            end = ends.len;
            unpacked = Some(ends);
        }
        let path = path.to_owned();
        Ok(Self {
            path,
            file,
            unpacked,
            len,
            end,
            modified,
            changed,
            head: Window::default(),
            tail: FIRST_WINDOW,
            reach: LAST_WINDOW,
        })
    }

    /// Opens a file like [`Jsonl::open`]; `None` if it does not exist.
    pub(crate) fn open_if_present(path: &Path) -> Result<Option<Self>, PathError> {
        match Self::open(path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sets the number of bytes at the end that are always read: in one call, and a file of this size or less is read
    /// whole.
    pub(crate) fn with_tail(self, tail: usize) -> Self {
        Self { tail, ..self }
    }

    /// Sets the number of bytes that are shown from the end.
    fn with_reach(self, reach: usize) -> Self {
        Self { reach, ..self }
    }

    /// Returns the size on disk in bytes at the time of opening.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Returns the modification time.
    pub(crate) fn modified(&self) -> Option<Timestamp> {
        self.modified
    }

    /// Returns the time of the last change; no record of the file can be newer.
    pub(crate) fn changed(&self) -> Option<Timestamp> {
        self.changed
    }

    /// Reads the whole file at once, for a file that is known to be small.
    pub(crate) fn whole(&mut self) -> Result<&[u8], PathError> {
        let requested = self.in_memory(self.end)?;
        if self.head.len() < requested {
            self.grow_head(requested)?;
        }
        Ok(&self.head)
    }

    /// Calls `see` with lines from the start until it returns `true`, or about [`LAST_WINDOW`] bytes were shown.
    ///
    /// Returns whether every line of the file was shown.
    pub(crate) fn lines_forward(&mut self, see: &mut dyn FnMut(&[u8]) -> bool) -> Result<bool, PathError> {
        let mut start = 0;
        loop {
            let head: &[u8] = &self.head;
            while let Some(length) = memchr(b'\n', &head[start..]) {
                let line = readable(&head[start..start + length], start == 0);
                start += length + 1;
                if !line.is_empty() && see(&line) {
                    return Ok(false);
                }
            }
            if head.len() as u64 >= self.end {
                let rest = readable(&head[start..], start == 0);
                return Ok(rest.is_empty() || !see(&rest));
            }
            if self.head.len() >= LAST_WINDOW {
                return self.long_lines_forward(start, see);
            }
            let requested = match self.head.len() {
                0 if self.end <= self.tail as u64 => self.tail,
                0 => FIRST_WINDOW,
                length => (length * GROWTH).min(LAST_WINDOW),
            };
            self.grow_head(requested)?;
        }
    }

    /// Continues [`Jsonl::lines_forward`] with a line that is longer than the window.
    fn long_lines_forward(&self, start: usize, see: &mut dyn FnMut(&[u8]) -> bool) -> Result<bool, PathError> {
        let (mut lines, mut shown) = (self.lines_from(start as u64, MAX_SKIPPED)?.up_to(LAST_WINDOW), start);
        while shown < LAST_WINDOW {
            let Some(line) = lines.next_line()? else { return Ok(!self.is_cut() && self.end <= MAX_SKIPPED) };
            shown += line.bytes.len();
            if see(line.bytes) {
                break;
            }
        }
        Ok(false)
    }

    /// Calls `see` with lines from the end backwards until it returns `true`, or about [`LAST_WINDOW`] bytes were shown.
    ///
    /// The second argument of `see` is `true` if the line ends with a newline.
    pub(crate) fn lines_backward(mut self, see: &mut dyn FnMut(&[u8], bool) -> bool) -> Result<(), PathError> {
        if self.is_cut() {
            return Ok(());
        }
        let (mut window, mut start) = if self.head.len() as u64 >= self.end {
            (std::mem::take(&mut self.head), 0)
        } else {
            let start = self.end.saturating_sub(self.tail as u64);
            (self.read_range(start, self.end)?, start)
        };
        let (mut width, mut shown) = (self.tail, 0);
        let mut rest: &[u8] = &window;
        let mut is_ended = rest.ends_with(b"\n");
        if is_ended {
            rest = &rest[..rest.len() - 1];
        }
        loop {
            while let Some(newline) = memrchr(b'\n', rest) {
                let line = readable(&rest[newline + 1..], false);
                shown += line.len();
                if !line.is_empty() && see(&line, is_ended) {
                    return Ok(());
                }
                rest = &rest[..newline];
                is_ended = true;
            }
            if start == 0 {
                let rest = readable(rest, true);
                if !rest.is_empty() {
                    see(&rest, is_ended);
                }
                return Ok(());
            }
            if shown >= self.reach {
                return Ok(());
            }
            if rest.len() >= LAST_WINDOW {
                let end = start + rest.len() as u64;
                let Some(line_start) = self.line_start(start)? else { return Ok(()) };
                let mut lines = self.lines_from(line_start, end - line_start)?.up_to(self.reach.min(MAX_LINE));
                if let Some(line) = lines.next_line()? {
                    shown += line.bytes.len();
                    if see(line.bytes, is_ended) {
                        return Ok(());
                    }
                }
                if line_start == 0 {
                    return Ok(());
                }
                (start, width, is_ended) = (line_start - 1, self.tail, true);
                rest = &[];
            }
            // Only the line that the old window cut is kept; lines that were shown are dropped.
            width = (width * GROWTH).min(LAST_WINDOW);
            let earlier = start.saturating_sub(width as u64);
            let mut longer = Window::new(self.in_memory(start - earlier)? + rest.len(), earlier);
            self.read_onto(&mut longer, earlier, start)?;
            longer.extend(rest);
            (window, start) = (longer, earlier);
            rest = &window;
        }
    }

    /// Returns the start of the line that reaches back from `before`; `None` if it is longer than [`MAX_SKIPPED`].
    fn line_start(&self, before: u64) -> Result<Option<u64>, PathError> {
        let (lowest, mut end) = (before.saturating_sub(MAX_SKIPPED), before);
        while end > lowest && self.unpacked.is_none() {
            let start = end.saturating_sub(LAST_WINDOW as u64).max(lowest);
            if let Some(newline) = memrchr(b'\n', &self.read_range(start, end)?) {
                return Ok(Some(start + newline as u64 + 1));
            }
            end = start;
        }
        Ok((end == 0).then_some(0))
    }

    /// Returns the offset of the first byte of the last line, which may be empty; `None` if it is longer than
    /// [`MAX_SKIPPED`].
    pub(crate) fn last_line_start(&self) -> Result<Option<u64>, PathError> {
        self.line_start(self.end)
    }

    /// Returns whether the last byte of the file is NUL.
    pub(crate) fn ends_in_nul(&self) -> Result<bool, PathError> {
        Ok(self.read_range(self.end.saturating_sub(1), self.end)?.ends_with(&[0]))
    }

    /// Returns the last line that contains `bytes`, for a line that the windows from the end did not reach. Reads at
    /// most `limit` bytes of the end, and finds no line of more than 128 KiB.
    pub(crate) fn last_line_with(&self, bytes: &[u8], limit: u64) -> Result<Option<Vec<u8>>, PathError> {
        let (lowest, reach) = (self.end.saturating_sub(limit), 64 * 1024);
        let mut start = self.end;
        while start > lowest && self.unpacked.is_none() {
            // Windows overlap, so that a match across a boundary is found too.
            let end = (start + bytes.len() as u64).min(self.end);
            start = start.saturating_sub(LAST_WINDOW as u64).max(lowest);
            let Some(found) = memmem::rfind(&self.read_range(start, end)?, bytes) else { continue };
            let found = start + found as u64;
            let from = found.saturating_sub(reach);
            let around = self.read_range(from, (found + reach).min(self.end))?;
            let (before, after) = around.split_at(self.in_memory(found - from)?);
            let line_start = memrchr(b'\n', before).map_or(0, |newline| newline + 1);
            let line_end = before.len() + memchr(b'\n', after).unwrap_or(after.len());
            return Ok(Some(around[line_start..line_end].to_vec()));
        }
        Ok(None)
    }

    /// Streams the whole file from its start, line by line.
    pub(crate) fn into_lines(self) -> Result<LineReader, PathError> {
        self.lines_within(u64::MAX)
    }

    /// Streams the file from its start, line by line, but at most `limit` bytes.
    pub(crate) fn lines_within(&self, limit: u64) -> Result<LineReader, PathError> {
        self.lines_from(0, limit)
    }

    /// Streams the file from the start of a line, line by line, but at most `limit` bytes.
    pub(crate) fn lines_from(&self, start: u64, limit: u64) -> Result<LineReader, PathError> {
        let source =
            LineSource::open_at(&self.file, self.unpacked.is_some(), start).map_err(|error| self.fail(error))?;
        Ok(LineReader::new(self.path.clone(), source, start, limit))
    }

    fn fail(&self, error: io::Error) -> PathError {
        PathError::new("read", &self.path, error)
    }

    fn in_memory(&self, length: u64) -> Result<usize, PathError> {
        usize::try_from(length).map_err(|error| self.fail(io::Error::other(error)))
    }

    fn is_cut(&self) -> bool {
        self.unpacked.as_ref().is_some_and(|unpacked| unpacked.is_cut)
    }

    fn grow_head(&mut self, requested: usize) -> Result<(), PathError> {
        let (before, end) = (self.head.len(), (requested as u64).min(self.end));
        let mut longer = Window::new(self.in_memory(end)?, 0);
        longer.extend(&self.head);
        self.read_onto(&mut longer, before as u64, end)?;
        self.head = longer;
        if self.head.len() == before {
            // The file shrank during the read: use the bytes that exist.
            self.end = before as u64;
        }
        Ok(())
    }

    fn read_range(&self, start: u64, end: u64) -> Result<Window, PathError> {
        let mut window = Window::new(self.in_memory(end.saturating_sub(start))?, start);
        self.read_onto(&mut window, start, end)?;
        Ok(window)
    }

    /// Appends a range of the file to the window; fewer bytes if the file shrank.
    fn read_onto(&self, window: &mut Window, start: u64, end: u64) -> Result<(), PathError> {
        match &self.unpacked {
            Some(unpacked) => window.extend(unpacked.range(start, end)),
            None => {
                let length = self.in_memory(end.saturating_sub(start))?;
                window.read(&self.file, start, length).map_err(|error| self.fail(error))?;
            }
        }
        Ok(())
    }
}
