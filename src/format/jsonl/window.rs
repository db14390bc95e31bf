//! A part of a file in memory.

use std::fs::File;
use std::io;
use std::ops::Deref;

use rustix::io::Errno;

use crate::system::fsio::{Buffer, PAGE};

/// Bytes of a file that follow one another, as far into their page as they are in the file.
#[derive(Debug, Default)]
pub(super) struct Window {
    buffer: Buffer,
    start: usize,
    end: usize,
}

impl Window {
    /// Makes room for bytes from a place in a file.
    pub(super) fn new(length: usize, offset: u64) -> Self {
        let start = usize::try_from(offset % PAGE as u64).unwrap_or_default();
        Self { buffer: Buffer::new(start + length), start, end: start }
    }

    /// Adds what a file has from a place on; fewer bytes than are wanted when it shrank.
    pub(super) fn read(&mut self, file: &File, mut offset: u64, length: usize) -> io::Result<()> {
        self.make_room(length);
        let wanted = self.end + length;
        while self.end < wanted {
            match rustix::io::pread(file, &mut self.buffer[self.end..wanted], offset) {
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

    /// Adds bytes that follow.
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        self.make_room(bytes.len());
        self.buffer[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    pub(super) fn truncate(&mut self, length: usize) {
        self.end = self.end.min(self.start + length);
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
