//! Line-wise JSON files, read in windows from both ends or streamed whole, in bounded memory.
//!
//! A transcript can be 10 GB and one of its lines 200 MB. `list` needs a few fields near the two
//! ends, so it looks through windows that grow until the fields are seen. Lines end at `\n`
//! bytes only: transcripts hold U+2028 and its like raw inside strings.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use jiff::Timestamp;
use memchr::{memchr, memrchr};

use crate::error::PathError;
use crate::fsio;

/// The first look from either end, unless more of the end is wanted.
const FIRST_WINDOW: usize = 8 * 1024;
/// How far a window grows at most; what is not seen in it is not known.
const LAST_WINDOW: usize = 1024 * 1024;
/// How much a window grows at a time.
const GROWTH: usize = 8;
/// The longest line that is looked into when a file is streamed.
pub const LONGEST_LINE: usize = 8 * 1024 * 1024;

/// A line-wise file that is open for reading.
#[derive(Debug)]
pub struct Jsonl {
    file: File,
    len: u64,
    modified: Option<Timestamp>,
    head: Vec<u8>,
    tail: usize,
}

impl Jsonl {
    /// Opens a regular file, never a link, a FIFO or a device.
    pub fn open(path: &Path) -> Result<Self, PathError> {
        let (file, metadata) = fsio::open_regular(path)?;
        let modified = metadata.modified().ok().and_then(|time| Timestamp::try_from(time).ok());
        Ok(Self { file, len: metadata.len(), modified, head: Vec::new(), tail: FIRST_WINDOW })
    }

    /// Opens a file as [`Jsonl::open`] does; `None` when there is none.
    pub fn open_if_present(path: &Path) -> Result<Option<Self>, PathError> {
        match Self::open(path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Says how much of the end will be looked at in any case: it is then read at once, and with it the
    /// whole of a file that is no larger.
    pub fn with_tail(self, tail: usize) -> Self {
        Self { tail, ..self }
    }

    /// Returns the size in bytes at the time of opening.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Tells whether the file has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the modification time.
    pub fn modified(&self) -> Option<Timestamp> {
        self.modified
    }

    /// Reads the whole file at once, for one that is known to be small.
    pub fn whole(&mut self) -> io::Result<&[u8]> {
        let wanted = usize::try_from(self.len).map_err(io::Error::other)?;
        if self.head.len() < wanted {
            self.grow_head(wanted)?;
        }
        Ok(&self.head)
    }

    /// Shows lines from the start until `see` returns `true` or the window is at its limit.
    ///
    /// Returns whether every line of the file was shown.
    pub fn from_start(&mut self, mut see: impl FnMut(&[u8]) -> bool) -> io::Result<bool> {
        let mut start = 0;
        loop {
            while let Some(length) = memchr(b'\n', &self.head[start..]) {
                let line = &self.head[start..start + length];
                start += length + 1;
                if !line.is_empty() && see(line) {
                    return Ok(false);
                }
            }
            if self.head.len() as u64 >= self.len {
                let rest = &self.head[start..];
                return Ok(rest.is_empty() || !see(rest));
            }
            if self.head.len() >= LAST_WINDOW {
                return Ok(false);
            }
            let wanted = match self.head.len() {
                0 if self.len <= self.tail as u64 => self.tail,
                0 => FIRST_WINDOW,
                length => (length * GROWTH).min(LAST_WINDOW),
            };
            self.grow_head(wanted)?;
        }
    }

    /// Shows lines from the end backwards until `see` returns `true` or the window is at its limit.
    ///
    /// The second argument of `see` tells whether the line was ended by a newline.
    pub fn from_end(mut self, mut see: impl FnMut(&[u8], bool) -> bool) -> io::Result<()> {
        let (mut window, mut start) = if self.head.len() as u64 >= self.len {
            (std::mem::take(&mut self.head), 0)
        } else {
            let start = self.len.saturating_sub(self.tail as u64);
            (self.read_range(start, self.len)?, start)
        };
        let mut width = self.tail;
        let mut is_ended = window.last() == Some(&b'\n');
        if is_ended {
            window.pop();
        }
        loop {
            while let Some(newline) = memrchr(b'\n', &window) {
                let line = &window[newline + 1..];
                if !line.is_empty() && see(line, is_ended) {
                    return Ok(());
                }
                window.truncate(newline);
                is_ended = true;
            }
            if start == 0 {
                if !window.is_empty() {
                    see(&window, is_ended);
                }
                return Ok(());
            }
            if width >= LAST_WINDOW {
                return Ok(());
            }
            // Only the line that the old window cut is kept; what was shown is not held on to.
            width = (width * GROWTH).min(LAST_WINDOW);
            let earlier = start.saturating_sub(width as u64);
            let mut longer = self.read_range(earlier, start)?;
            longer.append(&mut window);
            (window, start) = (longer, earlier);
        }
    }

    /// Turns to reading the whole file from its start, line by line.
    pub fn into_lines(mut self) -> io::Result<Lines> {
        self.file.rewind()?;
        Ok(Lines { reader: BufReader::with_capacity(128 * 1024, self.file), line: Vec::new(), number: 0 })
    }

    fn grow_head(&mut self, wanted: usize) -> io::Result<()> {
        let end = (wanted as u64).min(self.len);
        let more = self.read_range(self.head.len() as u64, end)?;
        if more.is_empty() {
            // The file shrank while it was read: what is there is all there is.
            self.len = self.head.len() as u64;
        }
        self.head.extend_from_slice(&more);
        Ok(())
    }

    fn read_range(&self, start: u64, end: u64) -> io::Result<Vec<u8>> {
        let length = usize::try_from(end.saturating_sub(start)).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        let mut filled = 0;
        while filled < length {
            match self.file.read_at(&mut bytes[filled..], start + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }
}

/// Shows each line of a file until `see` breaks; `None` stands for one that is too long to look into.
///
/// A file that is not there has no lines.
pub fn each_line(path: &Path, see: &mut dyn FnMut(Option<&[u8]>) -> ControlFlow<()>) -> Result<(), PathError> {
    let Some(file) = Jsonl::open_if_present(path)? else { return Ok(()) };
    let fail = |error| PathError::new("read", path, error);
    let mut lines = file.into_lines().map_err(fail)?;
    while let Some(line) = lines.next_line().map_err(fail)? {
        if see(line.bytes).is_break() {
            break;
        }
    }
    Ok(())
}

/// A whole file, one line at a time; it holds one line at most.
#[derive(Debug)]
pub struct Lines {
    reader: BufReader<File>,
    line: Vec<u8>,
    number: u64,
}

/// One line of a streamed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Counted from 1.
    pub number: u64,
    /// Its bytes without the newline; `None` when it is longer than [`LONGEST_LINE`].
    pub bytes: Option<&'a [u8]>,
    /// Whether a newline ended it.
    pub is_ended: bool,
}

impl Lines {
    /// Returns the next line that is not empty.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            self.line.clear();
            self.line.shrink_to(LONGEST_LINE / 8);
            let mut is_too_long = false;
            let mut is_ended = false;
            let mut was_read = false;
            while !is_ended {
                let available = match self.reader.fill_buf() {
                    Ok([]) => break,
                    Ok(available) => available,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error),
                };
                was_read = true;
                let (part, used) = match memchr(b'\n', available) {
                    Some(newline) => {
                        is_ended = true;
                        (&available[..newline], newline + 1)
                    }
                    None => (available, available.len()),
                };
                is_too_long |= self.line.len() + part.len() > LONGEST_LINE;
                if is_too_long {
                    self.line.clear();
                } else {
                    self.line.extend_from_slice(part);
                }
                self.reader.consume(used);
            }
            if !was_read {
                return Ok(None);
            }
            self.number += 1;
            if is_too_long || !self.line.is_empty() {
                let bytes = (!is_too_long).then_some(self.line.as_slice());
                return Ok(Some(Line { number: self.number, bytes, is_ended }));
            }
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out the files that they look at")]
mod tests {
    use super::*;

    fn file(contents: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x.jsonl");
        std::fs::write(&path, contents).expect("a file");
        (dir, path)
    }

    fn all_from_start(path: &Path) -> Vec<String> {
        let mut seen = Vec::new();
        let complete = Jsonl::open(path)
            .expect("a file")
            .from_start(|line| {
                seen.push(String::from_utf8_lossy(line).into_owned());
                false
            })
            .expect("lines");
        assert!(complete);
        seen
    }

    fn all_from_end(path: &Path) -> Vec<(String, bool)> {
        let mut seen = Vec::new();
        let see = |line: &[u8], is_ended| {
            seen.push((String::from_utf8_lossy(line).into_owned(), is_ended));
            false
        };
        Jsonl::open(path).expect("a file").from_end(see).expect("lines");
        seen
    }

    #[test]
    fn both_ends_see_the_same_lines() {
        let text: String = (0..20_000).map(|number| format!("line {number}\n")).collect();
        let (_dir, path) = file(text.as_bytes());
        let forward = all_from_start(&path);
        let mut backward: Vec<String> = all_from_end(&path).into_iter().map(|(line, _)| line).collect();
        backward.reverse();
        assert_eq!(forward.len(), 20_000);
        assert_eq!(forward, backward);
    }

    #[test]
    fn lines_across_the_edges_of_windows_are_whole() {
        for length in [FIRST_WINDOW - 1, FIRST_WINDOW, FIRST_WINDOW + 1, FIRST_WINDOW * GROWTH + 3] {
            let text = format!("first\n{}\nlast\n", "x".repeat(length));
            let (_dir, path) = file(text.as_bytes());
            assert_eq!(all_from_start(&path).len(), 3, "{length}");
            let backward = all_from_end(&path);
            assert_eq!(backward.len(), 3, "{length}");
            assert_eq!(backward[1].0.len(), length);
            assert_eq!(backward[2].0, "first");
        }
    }

    #[test]
    fn how_much_of_the_end_is_read_at_once_changes_nothing_in_what_is_shown() {
        let text: String = (0..20_000).map(|number| format!("line {number}\n")).collect();
        for length in [10, 1000, 5000, text.len()] {
            let (_dir, path) = file(&text.as_bytes()[..length]);
            for tail in [1, 999, 1000, 1001, 96 * 1024] {
                let mut file = Jsonl::open(&path).expect("a file").with_tail(tail);
                let (mut forward, mut backward) = (Vec::new(), Vec::new());
                let from_start = |line: &[u8]| {
                    forward.push(line.to_vec());
                    false
                };
                assert!(file.from_start(from_start).expect("lines"));
                let from_end = |line: &[u8], _| {
                    backward.push(line.to_vec());
                    false
                };
                file.from_end(from_end).expect("lines");
                backward.reverse();
                assert_eq!(
                    forward.concat().len() + forward.len(),
                    length + usize::from(!text[..length].ends_with('\n'))
                );
                assert_eq!(forward, backward, "{length} bytes, {tail} of the end");
            }
        }
    }

    #[test]
    fn an_unterminated_last_line_is_shown_as_such() {
        let (_dir, path) = file(b"one\n\ntwo");
        assert_eq!(all_from_start(&path), ["one", "two"]);
        assert_eq!(all_from_end(&path), [("two".to_owned(), false), ("one".to_owned(), true)]);
    }

    #[test]
    fn unicode_line_separators_do_not_end_a_line() {
        let (_dir, path) = file("a\u{2028}b\u{85}c\n".as_bytes());
        assert_eq!(all_from_start(&path), ["a\u{2028}b\u{85}c"]);
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_is_read() {
        let mut text = b"one\n".to_vec();
        text.resize(text.len() + LONGEST_LINE + 1, b'x');
        text.extend_from_slice(b"\nthree");
        let (_dir, path) = file(&text);
        let mut lines = Jsonl::open(&path).map(|file| file.into_lines().expect("lines")).expect("a file");
        let one = lines.next_line().expect("a line").expect("a line");
        assert_eq!((one.number, one.bytes, one.is_ended), (1, Some(b"one".as_slice()), true));
        let two = lines.next_line().expect("a line").expect("a line");
        assert_eq!((two.number, two.bytes), (2, None));
        let three = lines.next_line().expect("a line").expect("a line");
        assert_eq!((three.number, three.bytes, three.is_ended), (3, Some(b"three".as_slice()), false));
        assert_eq!(lines.next_line().expect("an end"), None);
    }

    #[test]
    fn what_lies_beyond_the_widest_window_is_not_looked_at() {
        let mut text = vec![b'x'; 3 * LAST_WINDOW];
        text.extend_from_slice(b"\nlast\n");
        let (_dir, path) = file(&text);
        let mut seen = 0;
        let complete = Jsonl::open(&path)
            .expect("a file")
            .from_start(|_| {
                seen += 1;
                false
            })
            .expect("lines");
        assert!(!complete);
        assert_eq!(seen, 0);
        assert_eq!(all_from_end(&path), [("last".to_owned(), true)]);
    }
}
