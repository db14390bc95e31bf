//! The content of a file, on the disk or in the archive, and the comparison of two contents.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::archive::MachineDir;
use crate::archive::chunks::{CHUNK_BYTES, digest};
use crate::session::mapping::Mapping;
use crate::system::fsio;

/// Content that may be read.
#[derive(Clone, Debug)]
pub(super) enum ReadableContent<'a> {
    /// A file on the disk.
    OnDisk(PathBuf),
    /// Chunks in the directory of a machine, in order.
    Archived(MachineDir, &'a [String]),
}

/// The relation of one content to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContentOrder {
    Same,
    /// The first one begins with all of the second one, and has more.
    Longer,
    /// The second one begins with all of the first one, and has more.
    Shorter,
    Differs,
}

enum Chunks<'a> {
    OnDisk(File, &'a Path),
    Archived(&'a MachineDir, std::slice::Iter<'a, String>),
}

/// A chunk with its digest, and with its bytes if they were read for the digest.
struct Chunk<'a> {
    name: std::borrow::Cow<'a, str>,
    bytes: Bytes<'a>,
}

enum Bytes<'a> {
    Read(Vec<u8>),
    In(&'a MachineDir),
}

impl<'a> ReadableContent<'a> {
    fn chunks(&'a self) -> Result<Chunks<'a>, String> {
        Ok(match self {
            Self::OnDisk(path) => Chunks::OnDisk(fsio::open_regular(path).map_err(|error| error.to_string())?.0, path),
            Self::Archived(dir, chunks) => Chunks::Archived(dir, chunks.iter()),
        })
    }
}

impl<'a> Chunks<'a> {
    fn next(&mut self) -> Result<Option<Chunk<'a>>, String> {
        match self {
            Self::Archived(dir, names) => {
                Ok(names.next().map(|name| Chunk { name: name.as_str().into(), bytes: Bytes::In(dir) }))
            }
            Self::OnDisk(file, path) => {
                let mut bytes = Vec::new();
                let read = file.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut bytes);
                read.map_err(|error| format!("cannot read {}: {}", path.display(), crate::error::reason(&error)))?;
                let name = digest(&bytes).into();
                Ok((!bytes.is_empty()).then_some(Chunk { name, bytes: Bytes::Read(bytes) }))
            }
        }
    }
}

impl Chunk<'_> {
    fn bytes(self) -> Result<Vec<u8>, String> {
        match self.bytes {
            Bytes::Read(bytes) => Ok(bytes),
            Bytes::In(dir) => dir.content(&self.name),
        }
    }
}

/// Compares two contents chunk by chunk. Only the last chunk of a content is shorter than the others, so the first two
/// that differ show the longer content.
///
/// # Errors
///
/// A file cannot be read, or the archive lacks a required chunk.
///
/// Two contents of one chunk are equal if they differ only in directories that the mapping makes equal.
pub(super) fn compare(
    ours: &ReadableContent<'_>,
    theirs: &ReadableContent<'_>,
    mapping: &Mapping,
) -> Result<ContentOrder, String> {
    let (mut ours, mut theirs) = (ours.chunks()?, theirs.chunks()?);
    let mut is_first = true;
    loop {
        match (ours.next()?, theirs.next()?) {
            (None, None) => return Ok(ContentOrder::Same),
            (Some(_), None) => return Ok(ContentOrder::Longer),
            (None, Some(_)) => return Ok(ContentOrder::Shorter),
            (Some(our), Some(their)) if our.name == their.name => {}
            (Some(our), Some(their)) => {
                let (our, their) = (our.bytes()?, their.bytes()?);
                let are_small = is_first && our.len().max(their.len()) < CHUNK_BYTES;
                return Ok(match () {
                    () if their.starts_with(&our) => ContentOrder::Shorter,
                    () if our.starts_with(&their) => ContentOrder::Longer,
                    () if are_small && mapping.in_text(&our) == mapping.in_text(&their) => ContentOrder::Same,
                    () => ContentOrder::Differs,
                });
            }
        }
        is_first = false;
    }
}
