//! Splits content into chunks, and packs a chunk for storage.
//!
//! A file is cut every [`CHUNK_BYTES`] from its start, so appending to a file changes only its last chunk. A stored
//! chunk, a blob, is one zstd frame followed by a seal: a skippable frame (RFC 8878, 3.1.2) with the SHA-256 of the
//! bytes before it. `zstd -d` skips the seal, and no bit of a blob can change unnoticed.

use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

use crate::format::text::hex;

/// Size of a chunk in bytes.
pub(crate) const CHUNK_BYTES: usize = 1024 * 1024;
/// Largest size of a blob: incompressible content grows by less than this.
pub(crate) const MAX_BLOB_BYTES: u64 = CHUNK_BYTES as u64 + 64 * 1024;

/// The magic number of a skippable frame and the length of its content, both in little-endian order.
const SEAL_HEAD: [u8; 8] = [0x5a, 0x2a, 0x4d, 0x18, 32, 0, 0, 0];
const SEAL_BYTES: usize = SEAL_HEAD.len() + 32;
/// The usual level of zstd: transcripts shrink to 17 %, at hundreds of megabytes per second.
const LEVEL: i32 = 3;

/// Passes the chunks of a file to `see` in order, each of [`CHUNK_BYTES`] except the last.
pub(crate) fn each_chunk<E: From<io::Error>>(
    reader: &mut impl Read,
    mut see: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut chunk = Vec::new();
    loop {
        chunk.clear();
        reader.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut chunk)?;
        if chunk.is_empty() {
            return Ok(());
        }
        see(&chunk)?;
    }
}

/// Returns the SHA-256 of some bytes, in hexadecimal: the name of a chunk.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Checks whether a text is a digest, and so is safe as a part of a file name.
pub(crate) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Packs a chunk into a blob.
pub(crate) fn pack(chunk: &[u8]) -> io::Result<Vec<u8>> {
    let mut blob = zstd::bulk::compress(chunk, LEVEL)?;
    let seal = Sha256::digest(&blob);
    blob.extend_from_slice(&SEAL_HEAD);
    blob.extend_from_slice(&seal);
    Ok(blob)
}

/// Unpacks a blob and checks the digest of its chunk; the error is the reason for the failure.
pub(crate) fn unpack(blob: &[u8], name: &str) -> Result<Vec<u8>, &'static str> {
    let at = blob.len().checked_sub(SEAL_BYTES).ok_or("it was cut off")?;
    let (frame, seal) = blob.split_at(at);
    if seal[..SEAL_HEAD.len()] != SEAL_HEAD || seal[SEAL_HEAD.len()..] != *Sha256::digest(frame) {
        return Err("its seal does not match its bytes");
    }
    let chunk = zstd::bulk::decompress(frame, CHUNK_BYTES).map_err(|_| "it cannot be unpacked")?;
    if digest(&chunk) != name {
        return Err("its contents do not match its name");
    }
    Ok(chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(bytes: &[u8]) -> Vec<String> {
        let mut names = Vec::new();
        each_chunk::<io::Error>(&mut &*bytes, |chunk| {
            names.push(digest(chunk));
            Ok(())
        })
        .expect("chunks");
        names
    }

    /// Bytes that have no two equal chunks.
    fn bytes(count: usize) -> Vec<u8> {
        (0_u32..).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).take(count).collect()
    }

    #[test]
    fn appending_changes_only_the_last_chunk() {
        let long = bytes(3 * CHUNK_BYTES + 100);
        let all = chunks(&long);
        assert_eq!(all.len(), 4);
        let before = chunks(&long[..2 * CHUNK_BYTES + 5]);
        assert_eq!((before.len(), &before[..2]), (3, &all[..2]));
        assert_ne!(before[2], all[2]);
        assert_eq!(chunks(&long[..2 * CHUNK_BYTES]), all[..2]);
        assert_eq!(chunks(b""), Vec::<String>::new());
    }

    #[test]
    fn blob_unpacks_and_detects_every_flipped_bit() {
        let chunk = bytes(300);
        let (blob, name) = (pack(&chunk).expect("a blob"), digest(&chunk));
        assert_eq!(unpack(&blob, &name).as_deref(), Ok(&chunk[..]));
        for bit in 0..blob.len() * 8 {
            let mut damaged = blob.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(unpack(&damaged, &name).is_err(), "bit {bit}");
        }
        for length in 0..blob.len() {
            assert!(unpack(&blob[..length], &name).is_err(), "{length} bytes");
        }
        assert!(unpack(&blob, &digest(b"other")).is_err());
    }

    #[test]
    fn incompressible_chunk_fits_in_the_largest_blob() {
        let mut state = 1_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u8
        })
        .take(CHUNK_BYTES)
        .collect();
        let blob = pack(&noise).expect("a blob");
        assert!(blob.len() as u64 <= MAX_BLOB_BYTES, "{}", blob.len());
        assert_eq!(unpack(&blob, &digest(&noise)).as_deref(), Ok(&noise[..]));
    }
}
