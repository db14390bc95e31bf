//! Writes the transcript of an Amplifier session that a program passes.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;

use crate::error::PathError;
use crate::save::transcript::{FILE_NAME, MessageCounts, TranscriptWriter, UnwritableMessages};
use crate::system::disk::{self, Access, Disk, FileUpdate};

/// The result of saving a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SavedTranscript {
    /// The file.
    pub(crate) path: PathBuf,
    /// Numbers of messages.
    pub(crate) counts: MessageCounts,
    /// Set if the file differs from the old one.
    pub(crate) is_written: bool,
}

/// Saves the messages of a reader, with one in memory at a time.
pub(crate) fn from_reader(
    disk: &dyn Disk,
    session_dir: &Path,
    input: &mut dyn BufRead,
    is_lenient: bool,
) -> Result<SavedTranscript, UnwritableMessages> {
    // Empty input creates no directory.
    if input.fill_buf().map_err(UnwritableMessages::Read)?.is_empty() {
        return Err(UnwritableMessages::Empty);
    }
    save(disk, session_dir, is_lenient, |writer| writer.read(input))
}

/// Saves a list of messages.
pub(crate) fn from_list(
    disk: &dyn Disk,
    session_dir: &Path,
    list: &RawValue,
) -> Result<SavedTranscript, UnwritableMessages> {
    save(disk, session_dir, true, |writer| writer.list(list))
}

fn save(
    disk: &dyn Disk,
    session_dir: &Path,
    is_lenient: bool,
    write: impl FnOnce(TranscriptWriter<'_>) -> Result<MessageCounts, UnwritableMessages>,
) -> Result<SavedTranscript, UnwritableMessages> {
    disk::make_dirs(disk, session_dir, Access::Usual).map_err(|error| PathError::new("create", session_dir, error))?;
    let path = session_dir.join(FILE_NAME);
    let mut update = FileUpdate::begin(disk, &path)?;
    let counts = write(TranscriptWriter::new(&mut |line| update.write(line), is_lenient))?;
    let is_written = update.commit()?;
    Ok(SavedTranscript { path, counts, is_written })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::disk::SYSTEM;

    #[test]
    fn empty_input_creates_no_directory() {
        let dir = tempfile::tempdir().expect("a directory");
        let session = dir.path().join("a/b");
        assert!(matches!(from_reader(&SYSTEM, &session, &mut std::io::empty(), false), Err(UnwritableMessages::Empty)));
        assert!(dir.path().join("a").symlink_metadata().is_err());
    }
}
