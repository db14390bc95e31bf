//! A compressed file. It can only be read from its start, so both ends of the content are kept.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _, SeekFrom};

use zstd::Decoder;

use super::LAST_WINDOW;

/// Maximum number of bytes that are decompressed to reach the end; the end of a larger file is unknown.
pub(super) const MAX_UNPACKED: u64 = 64 * 1024 * 1024;
/// Number of bytes kept of the end: no series of windows reaches further back.
const KEPT_END: usize = 2 * LAST_WINDOW;

/// The two ends of a compressed file.
#[derive(Debug, Default)]
pub(super) struct UnpackedEnds {
    first: Vec<u8>,
    last: Vec<u8>,
    /// Number of bytes that were decompressed.
    pub(super) len: u64,
    /// Set if the content continues after the part that was decompressed.
    pub(super) is_cut: bool,
}

impl UnpackedEnds {
    pub(super) fn decompress(file: &File) -> io::Result<Self> {
        let mut source = Decoder::new(file)?.take(MAX_UNPACKED + 1);
        let (mut unpacked, mut part) = (Self::default(), vec![0; 64 * 1024]);
        loop {
            let count = match source.read(&mut part) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // A truncated compressed file is treated like a truncated plain file: use the part that decompressed.
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
        let requested = part.len().min(LAST_WINDOW - self.first.len());
        self.first.extend_from_slice(&part[..requested]);
        if self.last.len() >= 2 * KEPT_END {
            self.last.drain(..self.last.len() - KEPT_END);
        }
        self.last.extend_from_slice(part);
        self.len += part.len() as u64;
    }

    /// Returns a range near the start or near the end; empty if neither end contains it.
    pub(super) fn range(&self, start: u64, end: u64) -> &[u8] {
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

/// The source of a stream of lines.
pub(super) enum LineSource {
    Plain(File),
    Packed(Decoder<'static, BufReader<File>>),
}

impl LineSource {
    /// Reads a file from an offset in its content.
    pub(super) fn open_at(file: &File, is_packed: bool, start: u64) -> io::Result<Self> {
        let mut file = file.try_clone()?;
        if !is_packed {
            file.seek(SeekFrom::Start(start))?;
            return Ok(Self::Plain(file));
        }
        file.rewind()?;
        let mut content = Self::Packed(Decoder::new(file)?);
        io::copy(&mut (&mut content).take(start), &mut io::sink())?;
        Ok(content)
    }
}

impl Read for LineSource {
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

impl std::fmt::Debug for LineSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Plain(_) => "Plain",
            Self::Packed(_) => "Packed",
        })
    }
}
