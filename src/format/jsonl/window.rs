//! A part of a file in memory.

use std::fs::File;
use std::io;
use std::ops::Deref;

use rustix::io::Errno;

use crate::system::fsio::{Buffer, PAGE};

/// Consecutive bytes of a file, at the same offset within a page as in the file.
#[derive(Debug, Default)]
pub(super) struct Window {
    buffer: Buffer,
    start: usize,
    end: usize,
}

impl Window {
    /// Reserves room for bytes from an offset in a file.
    pub(super) fn new(length: usize, offset: u64) -> Self {
        let start = usize::try_from(offset % PAGE as u64).unwrap_or_default();
        Self { buffer: Buffer::new(start + length), start, end: start }
    }

    /// Appends `length` bytes of the file from `offset`; fewer if the file shrank.
    pub(super) fn read(&mut self, file: &File, mut offset: u64, length: usize) -> io::Result<()> {
        self.make_room(length);
        let requested = self.end + length;
        while self.end < requested {
            match rustix::io::pread(file, &mut self.buffer[self.end..requested], offset) {
                Ok(0) => break,
                Ok(count) => {
                    self.end += count;
                    offset += count as u64;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Appends bytes.
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        self.make_room(bytes.len());
        self.buffer[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    fn make_room(&mut self, length: usize) {
        if self.end + length > self.buffer.len() {
            let mut longer = Buffer::new(self.end + length);
            longer[self.start..self.end].copy_from_slice(self);
            self.buffer = longer;
        }
    }
}

impl Deref for Window {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_keeps_page_offset_of_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("transcript");
        let contents: Vec<u8> = (0..60_000_u32).map(|n| n.to_le_bytes()[usize::from(n % 3 == 0)]).collect();
        crate::system::disk::replace(&crate::system::disk::SYSTEM, &path, &contents).expect("a file");
        let (file, _) = crate::system::fsio::open_regular(&path).expect("a file");
        for (offset, length) in [(0, 8192), (1, 5000), (4096, 10), (4095, 40_000), (50_000, 20_000)] {
            let mut window = Window::new(length, offset);
            window.read(&file, offset, length).expect("bytes");
            let start = usize::try_from(offset).expect("a small number");
            assert_eq!(*window, contents[start..contents.len().min(start + length)]);
            assert_eq!(window.as_ptr().addr() % PAGE, start % PAGE);
        }
    }

    #[test]
    fn window_appends_following_bytes() {
        let mut window = Window::new(3, 5000);
        window.extend(b"abc");
        window.extend(&[b'd'; 40_000]);
        assert_eq!((&window[..5], window.len()), (&b"abcdd"[..], 40_003));
    }
}
