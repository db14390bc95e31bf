//! Streams the contents of a file in pieces: it is never held as a whole.

use std::io;
use std::ops::Range;

use sha2::{Digest as _, Sha256};

use crate::disk::{Buffer, PIECE};
use crate::disk::{Disk, For, NameInDir};
use crate::plan::Contents;
use crate::plan::Edit;
use crate::stamp::hex;
use crate::step::step_dir::StepDir;

/// Passes the contents of a file to `see`, piece by piece; returns their SHA-256.
pub(super) fn each_piece(
    disk: &dyn Disk,
    contents: &Contents,
    mut see: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<String> {
    let mut digest = Sha256::new();
    let mut add = |piece: &[u8]| {
        digest.update(piece);
        see(piece)
    };
    match contents {
        Contents::Bytes(bytes) => add(bytes)?,
        Contents::Joined(parts) => {
            for part in parts {
                let step_dir = StepDir::open_parent(disk, part)?;
                each_piece_of(disk, step_dir.name_in_dir(), 0..u64::MAX, &mut add)?;
            }
        }
        Contents::Edited { from, edits } => {
            let (step_dir, mut kept) = (StepDir::open_parent(disk, from)?, 0);
            for Edit { at, removed, inserted } in edits {
                each_piece_of(disk, step_dir.name_in_dir(), kept..*at, &mut add)?;
                add(inserted)?;
                kept = at + removed;
            }
            each_piece_of(disk, step_dir.name_in_dir(), kept..u64::MAX, &mut add)?;
        }
    }
    Ok(hex(&digest.finalize()))
}

/// Passes a range of a file, up to the end of the file, to `see`, piece by piece.
pub(super) fn each_piece_of(
    disk: &dyn Disk,
    at: NameInDir<'_>,
    range: Range<u64>,
    see: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let file = disk.open(at, For::Reading)?;
    let (mut piece, mut offset) = (Buffer::new(PIECE), range.start);
    while offset < range.end {
        let requested = usize::try_from(range.end - offset).unwrap_or(PIECE).min(PIECE);
        let count = disk.read_at(&file, &mut piece[..requested], offset)?;
        if count == 0 {
            return Ok(());
        }
        see(&piece[..count])?;
        offset += count as u64;
    }
    Ok(())
}
