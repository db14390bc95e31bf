//! Copies files and keeps their holes.

use std::io;

use super::{Disk, Handle};
use crate::disk::PIECE;

/// Writes a new file from its start, with a hole in place of each [`PIECE`] of zeros only.
///
/// The holes of the original are not queried, because not every system reports them; a copy may have more holes.
#[derive(Debug)]
pub struct Sparse<'a> {
    disk: &'a dyn Disk,
    file: &'a Handle,
    /// The length so far, including a hole at the end.
    length: u64,
    /// The length on the disk.
    written: u64,
}

impl<'a> Sparse<'a> {
    /// Creates a writer for a new, empty file.
    pub fn new(disk: &'a dyn Disk, file: &'a Handle) -> Self {
        Self { disk, file, length: 0, written: 0 }
    }

    /// Appends bytes.
    pub fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        static ZEROS: [u8; PIECE] = [0; PIECE];
        for piece in bytes.chunks(PIECE) {
            if *piece != ZEROS[..piece.len()] {
                self.end()?;
                self.disk.add(self.file, piece)?;
                self.written += piece.len() as u64;
            }
            self.length += piece.len() as u64;
        }
        Ok(())
    }

    /// Extends the file to its full length if it ends with a hole.
    pub fn end(&mut self) -> io::Result<()> {
        if self.written < self.length {
            self.disk.set_length(self.file, self.length)?;
            self.written = self.length;
        }
        Ok(())
    }
}
