//! Memory that files are read into: where the system copies fast, and used again.
//!
//! Linux copies with one instruction, `rep movsb`, where the processor says that this is fast for any length. AMD's Zen 3
//! and 4 say so, and are five times as slow where the memory lies 1 to 31 bytes further into its page than the bytes do in
//! theirs: 4.2 µs for 8 KiB, and not 0.8 (EPYC 7003, Linux 6.12, 2026-11). What an allocator gives often lies so: 16 bytes into
//! a page, from 128 KiB with glibc and from 4 KiB with musl. And musl gives what was freed back to the system at once, which has
//! to clear it before it is used again.

use std::cell::RefCell;
use std::io::{self, Read};
use std::ops::{Deref, DerefMut};

/// What is a page everywhere; where pages are larger, places in them agree all the more.
pub(crate) const PAGE: usize = 4096;
/// How much of a file is held at once where it is read piece by piece.
pub(crate) const PIECE: usize = 64 * 1024;
/// Memory comes in multiples of this, so that one piece does for many lengths.
const UNIT: usize = 16 * 1024;
/// The longest piece that is kept to be used again, and how many of them a thread keeps.
const LONGEST_KEPT: usize = 256 * 1024;
const MOST_KEPT: usize = 3;

thread_local! {
    static KEPT: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// So many bytes to read into, from the start of a page on. Anything may be in them.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl Buffer {
    pub(crate) fn new(length: usize) -> Self {
        let wanted = length + PAGE;
        let kept = KEPT.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            // What was used last is most likely near the processor still.
            let fitting = kept.iter().rposition(|bytes| bytes.len() >= wanted)?;
            Some(kept.remove(fitting))
        });
        let bytes = kept.ok().flatten().unwrap_or_else(|| vec![0; wanted.next_multiple_of(UNIT)]);
        let start = bytes.as_ptr().addr().wrapping_neg() % PAGE;
        Self { bytes, start, length }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if !(1..=LONGEST_KEPT).contains(&self.bytes.len()) {
            return;
        }
        let bytes = std::mem::take(&mut self.bytes);
        // A thread that ends keeps nothing.
        let _ = KEPT.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            kept.push(bytes);
            if kept.len() > MOST_KEPT {
                kept.remove(0);
            }
        });
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.length]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
    }
}

/// What the standard library's reader of this name does, with such a buffer.
#[derive(Debug)]
pub(crate) struct BufReader<R> {
    source: R,
    buffer: Buffer,
    at: usize,
    end: usize,
}

impl<R> BufReader<R> {
    pub(crate) fn with_capacity(capacity: usize, source: R) -> Self {
        Self { source, buffer: Buffer::new(capacity), at: 0, end: 0 }
    }
}

impl<R: Read> BufReader<R> {
    /// Returns what was read and not used yet, and reads on where that is nothing; no bytes at the end.
    pub(crate) fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.end {
            (self.at, self.end) = (0, 0);
            self.end = self.source.read(&mut self.buffer)?;
        }
        Ok(&self.buffer[self.at..self.end])
    }

    pub(crate) fn consume(&mut self, count: usize) {
        self.at = (self.at + count).min(self.end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_begins_with_a_page_and_is_used_again() {
        let buffers: Vec<Buffer> = (1..40).map(|length| Buffer::new(length * 7777)).collect();
        assert!(buffers.iter().all(|buffer| buffer.as_ptr().addr() % PAGE == 0));
        assert_eq!(buffers[2].len(), 3 * 7777);
        drop(buffers);
        let mut first = Buffer::new(20_000);
        first.fill(7);
        drop(first);
        assert!(Buffer::new(10_000).iter().all(|byte| *byte == 7), "it is the same memory");
        let (one, other) = (Buffer::new(10), Buffer::new(10));
        assert_ne!(one.as_ptr(), other.as_ptr());
    }

    #[test]
    fn a_thread_keeps_few_buffers_and_no_long_one() {
        drop((0..10).map(|_| Buffer::new(100)).collect::<Vec<_>>());
        drop(Buffer::new(LONGEST_KEPT));
        drop(Buffer::default());
        let kept: Vec<usize> = KEPT.with_borrow(|kept| kept.iter().map(Vec::len).collect());
        assert_eq!(kept, [UNIT; MOST_KEPT]);
    }

    #[test]
    fn a_reader_gives_every_byte_once() {
        let mut reader = BufReader::with_capacity(4, &b"abcdef"[..]);
        let mut next = |used: usize| {
            reader.consume(used);
            reader.fill_buf().expect("bytes in memory").to_vec()
        };
        assert_eq!([0, 3, 1, 0, 2, 0].map(&mut next), [&b"abcd"[..], b"d", b"ef", b"ef", b"", b""]);
    }
}
