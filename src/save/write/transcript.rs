//! Writes the transcript of an Amplifier session that a program passes.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;

use crate::error::PathError;
use crate::save::transcript::{Counts, FILE_NAME, Unusable, Writer};
use crate::system::disk::{self, Access, Disk, Update};

/// The result of saving a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The file.
    pub(crate) path: PathBuf,
    /// Numbers of messages.
    pub(crate) counts: Counts,
    /// Set if the file differs from the old one.
    pub(crate) is_written: bool,
}

/// Saves the messages of a reader, with one in memory at a time.
pub(crate) fn from_reader(
    disk: &dyn Disk,
    session_dir: &Path,
    input: &mut dyn BufRead,
    is_lenient: bool,
) -> Result<Outcome, Unusable> {
    // Empty input creates no directory.
    if input.fill_buf().map_err(Unusable::Read)?.is_empty() {
        return Err(Unusable::Empty);
    }
    save(disk, session_dir, is_lenient, |writer| writer.read(input))
}

/// Saves a list of messages.
pub(crate) fn from_list(disk: &dyn Disk, session_dir: &Path, list: &RawValue) -> Result<Outcome, Unusable> {
    save(disk, session_dir, true, |writer| writer.list(list))
}

fn save(
    disk: &dyn Disk,
    session_dir: &Path,
    is_lenient: bool,
    write: impl FnOnce(Writer<'_>) -> Result<Counts, Unusable>,
) -> Result<Outcome, Unusable> {
    disk::make_dirs(disk, session_dir, Access::Usual).map_err(|error| PathError::new("create", session_dir, error))?;
    let path = session_dir.join(FILE_NAME);
    let mut update = Update::begin(disk, &path)?;
    let counts = write(Writer::new(&mut |line| update.write(line), is_lenient))?;
    let is_written = update.commit()?;
    Ok(Outcome { path, counts, is_written })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::disk::SYSTEM;

    #[test]
    fn empty_input_creates_no_directory() {
        let dir = tempfile::tempdir().expect("a directory");
        let session = dir.path().join("a/b");
        assert!(matches!(from_reader(&SYSTEM, &session, &mut std::io::empty(), false), Err(Unusable::Empty)));
        assert!(dir.path().join("a").symlink_metadata().is_err());
    }
}
