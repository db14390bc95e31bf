//! Line-wise JSON files, read in windows from both ends or streamed whole, in bounded memory.
//!
//! A transcript can be 10 GB and one of its lines 200 MB. `list` needs a few fields near the two
//! ends, so it looks through windows that grow until the fields are seen. Lines end at `\n`
//! bytes only: transcripts hold U+2028 and its like raw inside strings.
//!
//! A file whose name ends in `.zst` is unpacked on the way (Codex packs cold sessions). It can only be read from its
//! start, so what lies between its two ends is unpacked too, but not kept.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Seek as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use memchr::{memchr, memmem, memrchr};
use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use zstd::Decoder;

use crate::error::PathError;
use crate::session::{Message, Role};
use crate::system::fsio;

/// The first look from either end, unless more of the end is wanted.
const FIRST_WINDOW: usize = 8 * 1024;
/// How far a window grows at most; what is not seen in it is not known.
const LAST_WINDOW: usize = 1024 * 1024;
/// How much a window grows at a time.
const GROWTH: usize = 8;
/// The longest line that is read when a file is streamed.
pub(crate) const MAX_LINE: usize = 8 * 1024 * 1024;
/// How the name of a packed file ends.
pub(crate) const PACKED: &str = "zst";
/// How far a packed file is unpacked for a look at its end; the end of a larger one is not known.
const MAX_UNPACKED: u64 = 64 * 1024 * 1024;
/// What is kept of the end of a packed file: no series of windows reaches further back.
const KEPT_END: usize = 2 * LAST_WINDOW;

/// A line-wise file that is open for reading.
#[derive(Debug)]
pub(crate) struct Jsonl {
    path: PathBuf,
    file: File,
    /// What was unpacked of a packed file.
    unpacked: Option<Unpacked>,
    /// The size on disk.
    len: u64,
    /// Where the content ends, which is further for a packed file.
    end: u64,
    modified: Option<Timestamp>,
    changed: Option<Timestamp>,
    head: Vec<u8>,
    tail: usize,
}

/// The two ends of a packed file.
#[derive(Debug, Default)]
struct Unpacked {
    first: Vec<u8>,
    last: Vec<u8>,
    len: u64,
    /// Whether more follows that was not unpacked.
    is_cut: bool,
}

impl Jsonl {
    /// Opens a regular file, never a link, a FIFO or a device.
    pub(crate) fn open(path: &Path) -> Result<Self, PathError> {
        let (file, metadata) = fsio::open_regular(path)?;
        let modified = metadata.modified().ok().and_then(|time| Timestamp::try_from(time).ok());
        let changed = fsio::last_change(&metadata);
        let (len, mut end, mut unpacked) = (metadata.len(), metadata.len(), None);
        if path.extension().is_some_and(|extension| extension == PACKED) {
            let ends = Unpacked::of(&file).map_err(|error| PathError::new("unpack", path, error))?;
            end = ends.len;
            unpacked = Some(ends);
        }
        let path = path.to_owned();
        Ok(Self { path, file, unpacked, len, end, modified, changed, head: Vec::new(), tail: FIRST_WINDOW })
    }

    /// Opens a file as [`Jsonl::open`] does; `None` when there is none.
    pub(crate) fn open_if_present(path: &Path) -> Result<Option<Self>, PathError> {
        match Self::open(path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Says how much of the end will be looked at in any case: it is then read at once, and with it the
    /// whole of a file that is no larger.
    pub(crate) fn with_tail(self, tail: usize) -> Self {
        Self { tail, ..self }
    }

    /// Returns the size on disk in bytes at the time of opening.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether the file has no bytes.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns what [`Jsonl::from_start`] has looked at: lines, and most often the beginning of another one.
    pub(crate) fn beginning(&self) -> &[u8] {
        &self.head
    }

    /// Returns the modification time.
    pub(crate) fn modified(&self) -> Option<Timestamp> {
        self.modified
    }

    /// Returns when it was last changed, so that nothing in it can be later.
    pub(crate) fn changed(&self) -> Option<Timestamp> {
        self.changed
    }

    /// Reads the whole file at once, for one that is known to be small.
    pub(crate) fn whole(&mut self) -> Result<&[u8], PathError> {
        let wanted = self.in_memory(self.end)?;
        if self.head.len() < wanted {
            self.grow_head(wanted)?;
        }
        Ok(&self.head)
    }

    /// Shows lines from the start until `see` returns `true` or the window is at its limit.
    ///
    /// Returns whether every line of the file was shown.
    pub(crate) fn lines_forward(&mut self, mut see: impl FnMut(&[u8]) -> bool) -> Result<bool, PathError> {
        let mut start = 0;
        loop {
            while let Some(length) = memchr(b'\n', &self.head[start..]) {
                let line = &self.head[start..start + length];
                start += length + 1;
                if !line.is_empty() && see(line) {
                    return Ok(false);
                }
            }
            if self.head.len() as u64 >= self.end {
                let rest = &self.head[start..];
                return Ok(rest.is_empty() || !see(rest));
            }
            if self.head.len() >= LAST_WINDOW {
                return Ok(false);
            }
            let wanted = match self.head.len() {
                0 if self.end <= self.tail as u64 => self.tail,
                0 => FIRST_WINDOW,
                length => (length * GROWTH).min(LAST_WINDOW),
            };
            self.grow_head(wanted)?;
        }
    }

    /// Shows lines from the end backwards until `see` returns `true` or the window is at its limit.
    ///
    /// The second argument of `see` is whether the line ends with a newline.
    pub(crate) fn lines_backward(mut self, mut see: impl FnMut(&[u8], bool) -> bool) -> Result<(), PathError> {
        if self.is_cut() {
            return Ok(());
        }
        let (mut window, mut start) = if self.head.len() as u64 >= self.end {
            (std::mem::take(&mut self.head), 0)
        } else {
            let start = self.end.saturating_sub(self.tail as u64);
            (self.read_range(start, self.end)?, start)
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

    /// Returns the last line that holds some bytes, where the windows from the end did not reach it: it looks at no
    /// more than `limit` bytes of the end, and finds no line of more than 128 KiB.
    pub(crate) fn last_line_with(&self, bytes: &[u8], limit: u64) -> Result<Option<Vec<u8>>, PathError> {
        let (lowest, reach) = (self.end.saturating_sub(limit), 64 * 1024);
        let mut start = self.end;
        while start > lowest && self.unpacked.is_none() {
            // Windows overlap, so that bytes across an edge are found too.
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

    /// Turns to reading the whole file from its start, line by line.
    pub(crate) fn into_lines(self) -> Result<Lines, PathError> {
        self.lines_within(u64::MAX)
    }

    /// Reads the file from its start, line by line, but no more bytes than `limit`.
    pub(crate) fn lines_within(&self, limit: u64) -> Result<Lines, PathError> {
        let source = self.source().map_err(|error| self.fail(error))?;
        let reader = BufReader::with_capacity(128 * 1024, source.take(limit));
        Ok(Lines { path: self.path.clone(), reader, line: Vec::new(), number: 0, offset: 0 })
    }

    fn source(&self) -> io::Result<Source> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        Ok(match self.unpacked {
            Some(_) => Source::Packed(Decoder::new(file)?),
            None => Source::Plain(file),
        })
    }

    fn fail(&self, error: io::Error) -> PathError {
        PathError::new("read", &self.path, error)
    }

    fn in_memory(&self, length: u64) -> Result<usize, PathError> {
        usize::try_from(length).map_err(|error| self.fail(io::Error::other(error)))
    }

    /// Returns the bytes of a line that [`Lines`] showed before; fewer when the file shrank since.
    pub(crate) fn again(&self, start: u64, length: usize) -> Result<Vec<u8>, PathError> {
        self.read_range(start, start.saturating_add(length as u64))
    }

    fn is_cut(&self) -> bool {
        self.unpacked.as_ref().is_some_and(|unpacked| unpacked.is_cut)
    }

    fn grow_head(&mut self, wanted: usize) -> Result<(), PathError> {
        let end = (wanted as u64).min(self.end);
        let mut head = std::mem::take(&mut self.head);
        let before = head.len();
        let read = self.read_onto(&mut head, before as u64, end);
        self.head = head;
        read?;
        if self.head.len() == before {
            // The file shrank while it was read: what is there is all there is.
            self.end = before as u64;
        }
        Ok(())
    }

    fn read_range(&self, start: u64, end: u64) -> Result<Vec<u8>, PathError> {
        let mut bytes = Vec::new();
        self.read_onto(&mut bytes, start, end)?;
        Ok(bytes)
    }

    /// Adds a range to what is there; fewer bytes when the file shrank.
    fn read_onto(&self, bytes: &mut Vec<u8>, start: u64, end: u64) -> Result<(), PathError> {
        if let Some(unpacked) = &self.unpacked {
            bytes.extend_from_slice(unpacked.range(start, end));
            return Ok(());
        }
        let length = self.in_memory(end.saturating_sub(start))?;
        let (before, wanted) = (bytes.len(), bytes.len() + length);
        bytes.reserve_exact(length);
        while bytes.len() < wanted {
            let at = start + (bytes.len() - before) as u64;
            // Memory that is about to be filled need not be cleared first.
            match rustix::io::pread(&self.file, spare_capacity(bytes), at) {
                Ok(0) => break,
                Ok(_) => {}
                Err(Errno::INTR) => {}
                Err(error) => return Err(self.fail(error.into())),
            }
        }
        // There may be room for more than was asked for.
        bytes.truncate(wanted);
        Ok(())
    }
}

impl Unpacked {
    fn of(file: &File) -> io::Result<Self> {
        let mut source = Decoder::new(file)?.take(MAX_UNPACKED + 1);
        let (mut unpacked, mut part) = (Self::default(), vec![0; 64 * 1024]);
        loop {
            let count = match source.read(&mut part) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // A packed file that was cut off is as a plain one that was: what is there is all there is.
                Err(_) if unpacked.len > 0 => 0,
                Err(error) => return Err(error),
            };
            if count == 0 {
                break;
            }
            unpacked.add(&part[..count]);
        }
        unpacked.is_cut = unpacked.len > MAX_UNPACKED;
        Ok(unpacked)
    }

    fn add(&mut self, part: &[u8]) {
        let wanted = part.len().min(LAST_WINDOW - self.first.len());
        self.first.extend_from_slice(&part[..wanted]);
        if self.last.len() >= 2 * KEPT_END {
            self.last.drain(..self.last.len() - KEPT_END);
        }
        self.last.extend_from_slice(part);
        self.len += part.len() as u64;
    }

    /// Returns a range that lies near the start, or else near the end.
    fn range(&self, start: u64, end: u64) -> &[u8] {
        let of = |bytes: &'_ [u8], offset: u64| -> Option<(usize, usize)> {
            let at = |position: u64| usize::try_from(position.checked_sub(offset)?).ok();
            Some((at(start)?, at(end)?)).filter(|(start, end)| start <= end && *end <= bytes.len())
        };
        let kept_from = self.len - self.last.len() as u64;
        match (of(&self.first, 0), of(&self.last, kept_from)) {
            (Some((start, end)), _) => &self.first[start..end],
            (None, Some((start, end))) => &self.last[start..end],
            (None, None) => &[],
        }
    }
}

/// Where lines are streamed from.
enum Source {
    Plain(File),
    Packed(Decoder<'static, BufReader<File>>),
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read(buffer),
            Self::Packed(file) => match file.read(buffer) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => Ok(0),
                read => read,
            },
        }
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Plain(_) => "Plain",
            Self::Packed(_) => "Packed",
        })
    }
}

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

/// Returns what stands for the messages of a line that is too long to look into.
pub(crate) fn too_long() -> Message {
    let text = format!("[a record of more than {} MiB, which is left out]", MAX_LINE >> 20);
    Message { role: Role::System, text, at: None }
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
    /// Its bytes without the newline; `None` when it is longer than [`MAX_LINE`].
    pub bytes: Option<&'a [u8]>,
    /// Whether a newline ended it.
    pub is_ended: bool,
}

impl Lines {
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
                is_too_long |= self.line.len() + part.len() > MAX_LINE;
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
            if is_too_long || !self.line.is_empty() {
                let bytes = (!is_too_long).then_some(self.line.as_slice());
                return Ok(Some(Line { number: self.number, start, bytes, is_ended }));
            }
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out the files that they look at")]
mod tests {
    use super::*;

    fn file(contents: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x.jsonl");
        std::fs::write(&path, contents).expect("a file");
        (dir, path)
    }

    fn all_from_start(path: &Path) -> Vec<String> {
        let mut seen = Vec::new();
        let complete = Jsonl::open(path)
            .expect("a file")
            .lines_forward(|line| {
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
        Jsonl::open(path).expect("a file").lines_backward(see).expect("lines");
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
                assert!(file.lines_forward(from_start).expect("lines"));
                let from_end = |line: &[u8], _| {
                    backward.push(line.to_vec());
                    false
                };
                file.lines_backward(from_end).expect("lines");
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
        text.resize(text.len() + MAX_LINE + 1, b'x');
        text.extend_from_slice(b"\nthree");
        let (_dir, path) = file(&text);
        let mut lines = Jsonl::open(&path).map(|file| file.into_lines().expect("lines")).expect("a file");
        let one = lines.next_line().expect("a line").expect("a line");
        assert_eq!((one.number, one.bytes, one.is_ended), (1, Some(b"one".as_slice()), true));
        let two = lines.next_line().expect("a line").expect("a line");
        assert_eq!((two.number, two.bytes), (2, None));
        let three = lines.next_line().expect("a line").expect("a line");
        assert_eq!((three.number, three.bytes, three.is_ended), (3, Some(b"three".as_slice()), false));
        let start = three.start;
        assert_eq!(lines.next_line().expect("an end"), None);
        let file = Jsonl::open(&path).expect("a file");
        assert_eq!(file.again(start, 5).expect("the line once more"), b"three");
        assert_eq!(file.again(start + 3, 5).expect("what is left"), b"ee");
    }

    #[test]
    fn a_packed_file_shows_the_same_lines_as_a_plain_one() {
        let text: String = (0..400_000).map(|number| format!("line {number}\n")).collect();
        for length in [0, 10, 5000, 1_500_000, text.len()] {
            let text = &text.as_bytes()[..length];
            let (dir, path) = file(text);
            let packed = dir.path().join("x.jsonl.zst");
            std::fs::write(&packed, zstd::encode_all(text, 3).expect("a packed file")).expect("a file");
            for tail in [1, 96 * 1024] {
                let from_start = |path| {
                    let (mut file, mut seen) = (Jsonl::open(path).expect("a file").with_tail(tail), Vec::new());
                    let see = |line: &[u8]| {
                        seen.push(line.to_vec());
                        false
                    };
                    (file.lines_forward(see).expect("lines"), seen)
                };
                assert_eq!(from_start(&packed), from_start(&path), "{length}");
            }
            assert_eq!(all_from_end(&packed), all_from_end(&path), "{length}");
            let streamed = |path| {
                let (mut lines, mut seen) =
                    (Jsonl::open(path).expect("a file").into_lines().expect("lines"), Vec::new());
                while let Some(line) = lines.next_line().expect("a line") {
                    seen.push((line.bytes.map(<[u8]>::to_vec), line.is_ended));
                }
                seen
            };
            assert_eq!(streamed(&packed), streamed(&path), "{length}");
        }
    }

    #[test]
    fn a_packed_file_that_was_cut_off_ends_where_it_can_be_unpacked() {
        // Numbers without a pattern, so that packing makes more than one block of them.
        let text: String =
            (0_u64..300_000).map(|number| format!("{:016x}\n", number.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        let packed = zstd::encode_all(text.as_bytes(), 3).expect("a packed file");
        let (dir, _) = file(b"");
        let path = dir.path().join("x.jsonl.zst");
        std::fs::write(&path, &packed[..packed.len() / 2]).expect("a file");
        let shown = all_from_end(&path);
        assert!(!shown.is_empty() && shown.len() < 300_000);
        std::fs::write(&path, b"not packed").expect("a file");
        assert!(Jsonl::open(&path).expect_err("an error").to_string().starts_with("cannot unpack"));
    }

    #[test]
    fn the_end_of_a_packed_file_is_not_looked_for_without_limit() {
        let (dir, _) = file(b"");
        let path = dir.path().join("x.jsonl.zst");
        let lines = io::repeat(b'x').take(MAX_UNPACKED).chain(&b"\nlast\n"[..]);
        let lines = (&b"first\n"[..]).chain(lines);
        std::fs::write(&path, zstd::encode_all(lines, 1).expect("a packed file")).expect("a file");
        let mut file = Jsonl::open(&path).expect("a file");
        let mut seen = Vec::new();
        let is_whole = file.lines_forward(|line| {
            seen.push(line.to_vec());
            false
        });
        assert!(!is_whole.expect("lines"));
        assert_eq!(seen, [b"first"]);
        assert_eq!(all_from_end(&path), []);
    }

    #[test]
    fn a_line_that_the_windows_do_not_reach_is_found_by_what_it_holds() {
        for filling in [0, 10, LAST_WINDOW - 12, LAST_WINDOW - 6, LAST_WINDOW, 3 * LAST_WINDOW + 5] {
            let text = format!("first wanted\n{{a wanted one}}\n{}\n", "x".repeat(filling));
            let (_dir, path) = file(text.as_bytes());
            let find = |limit| {
                let line = Jsonl::open(&path).expect("a file").last_line_with(b"wanted", limit).expect("a look");
                line.map(|line| String::from_utf8(line).expect("text"))
            };
            assert_eq!(find(u64::MAX).as_deref(), Some("{a wanted one}"), "{filling}");
            assert_eq!(find(filling as u64), None, "{filling}");
        }
        let (_dir, path) = file(b"wanted");
        let found = Jsonl::open(&path).expect("a file").last_line_with(b"wanted", 100).expect("a look");
        assert_eq!(found.as_deref(), Some(b"wanted".as_slice()));
    }

    #[test]
    fn what_lies_beyond_the_widest_window_is_not_looked_at() {
        let mut text = vec![b'x'; 3 * LAST_WINDOW];
        text.extend_from_slice(b"\nlast\n");
        let (_dir, path) = file(&text);
        let mut seen = 0;
        let complete = Jsonl::open(&path)
            .expect("a file")
            .lines_forward(|_| {
                seen += 1;
                false
            })
            .expect("lines");
        assert!(!complete);
        assert_eq!(seen, 0);
        assert_eq!(all_from_end(&path), [("last".to_owned(), true)]);
    }
}
