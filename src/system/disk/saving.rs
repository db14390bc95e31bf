//! Files that are written beside their place, piece by piece, and put there whole.

use std::fs::{File, FileTimes, Metadata};
use std::io::{self, BufRead as _, BufReader, BufWriter, Seek as _, Write};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::PathError;
use crate::system::fsio::{copy_extended, open_regular, sync};

/// Who may read a file that is new; one that is replaced keeps its mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Nobody but its owner.
    Private,
    /// Whom the user's umask lets.
    Usual,
}

/// A file in the making: readers see the old one, or none, until it is committed.
///
/// A replaced file keeps its mode and owner, a new one gets the owner of its directory. Links, devices and
/// directories are not replaced. What is dropped without being committed is removed.
#[derive(Debug)]
pub(crate) struct Saving {
    path: PathBuf,
    dir: Metadata,
    old: Option<Metadata>,
    temporary: BufWriter<NamedTempFile>,
}

impl Saving {
    /// Begins a file; its directory must be there.
    pub(crate) fn begin(path: &Path, access: Access) -> Result<Self, PathError> {
        let fail = |action| move |error| PathError::new(action, path, error);
        let dir = path.parent().ok_or_else(|| fail("write")(io::Error::other("it has no directory")))?;
        let dir_metadata = dir.metadata().map_err(fail("write"))?;
        let old = match path.symlink_metadata() {
            Ok(metadata) if metadata.is_file() => Some(metadata),
            Ok(_) => return Err(fail("replace")(io::Error::other("it is not a regular file"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(fail("replace")(error)),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".rejoin-").suffix(".tmp");
        if access == Access::Usual {
            // The system takes the umask off.
            builder.permissions(PermissionsExt::from_mode(0o666));
        }
        let temporary = builder.tempfile_in(dir).map_err(fail("write"))?;
        Ok(Self { path: path.to_owned(), dir: dir_metadata, old, temporary: BufWriter::new(temporary) })
    }

    /// Adds to its contents.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), PathError> {
        self.temporary.write_all(bytes).map_err(|error| PathError::new("write", &self.path, error))
    }

    /// Returns where its contents are written.
    pub(crate) fn contents(&mut self) -> &mut impl Write {
        &mut self.temporary
    }

    /// Puts the file in its place and waits until the disk has it.
    pub(crate) fn commit(self) -> Result<(), PathError> {
        let path = self.path.clone();
        self.finish()?.put(true)?;
        sync_dir_of(&path).map(drop)
    }

    /// Puts the file in its place without waiting for the disk: a crash of the whole system may lose it.
    pub(crate) fn commit_soon(self) -> Result<(), PathError> {
        self.finish()?.put(false)
    }

    /// Puts the file in its place unless there is something, and returns whether it did.
    pub(crate) fn commit_new(self) -> Result<bool, PathError> {
        let Finished { path, file } = self.finish()?;
        let fail = |error| PathError::new("write", &path, error);
        sync(file.as_file()).map_err(fail)?;
        match file.persist_noclobber(&path) {
            Ok(_) => sync_dir_of(&path).map(|_| true),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(fail(error.error)),
        }
    }

    /// Commits with the times that the old file and the directory had.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that writes files")]
    pub(super) fn keep_times(self) -> Result<(), PathError> {
        let path = self.path.clone();
        let dir_times = times_of(&self.dir);
        let old_times = self.old.as_ref().map(times_of);
        let finished = self.finish()?;
        if let Some(times) = old_times {
            finished.file.as_file().set_times(times).map_err(|error| PathError::new("write", &path, error))?;
        }
        finished.put(true)?;
        let dir = sync_dir_of(&path)?;
        // The new file is in place; a directory time that cannot be put back must not make it a failure.
        let _ = dir.set_times(dir_times);
        Ok(())
    }

    /// Writes out what is held back, and sets owner and mode.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that writes files")]
    fn finish(self) -> Result<Finished, PathError> {
        let Self { path, dir, old, temporary } = self;
        let fail = |error| PathError::new("write", &path, error);
        let file = temporary.into_inner().map_err(|error| fail(error.into_error()))?;
        let made = file.as_file().metadata().map_err(fail)?;
        let (uid, gid) = old.as_ref().map_or((dir.uid(), dir.gid()), |old| (old.uid(), old.gid()));
        if (made.uid(), made.gid()) != (uid, gid) {
            // Only root may give a file away; for anyone else their own file is the best there is.
            let _ = std::os::unix::fs::fchown(file.as_file(), Some(uid), Some(gid));
        }
        if let Some(old) = &old {
            copy_extended(&open_regular(&path)?.0, file.as_file()).map_err(fail)?;
            let mode = PermissionsExt::from_mode(old.mode() & 0o7777);
            file.as_file().set_permissions(mode).map_err(fail)?;
        }
        Ok(Finished { path, file })
    }
}

/// A file whose contents are complete.
struct Finished {
    path: PathBuf,
    file: NamedTempFile,
}

impl Finished {
    fn put(self, is_synced: bool) -> Result<(), PathError> {
        let Self { path, file } = self;
        if is_synced {
            sync(file.as_file()).map_err(|error| PathError::new("write", &path, error))?;
        }
        file.persist(&path).map(drop).map_err(|error| PathError::new("replace", &path, error.error))
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that writes files")]
fn sync_dir_of(path: &Path) -> Result<File, PathError> {
    let dir = path.parent().unwrap_or(path);
    let handle = File::open(dir).map_err(|error| PathError::new("write", path, error))?;
    sync(&handle).map_err(|error| PathError::new("write", path, error))?;
    Ok(handle)
}

fn times_of(metadata: &Metadata) -> FileTimes {
    let times = FileTimes::new();
    match (metadata.accessed(), metadata.modified()) {
        (Ok(accessed), Ok(modified)) => times.set_accessed(accessed).set_modified(modified),
        _ => times,
    }
}

/// A file that is written piece by piece, but only if it comes out different from the one that is there.
///
/// As long as the pieces are what the old file holds, nothing is written; at the first difference the part
/// that is the same is copied. So the memory that it takes does not depend on the file.
#[derive(Debug)]
pub(crate) struct Update {
    path: PathBuf,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The old file has begun with every piece so far, which is so many bytes.
    Same { old: BufReader<File>, bytes: u64 },
    /// It has not, or there is none.
    Different(Box<Saving>),
}

impl Update {
    /// Begins the new contents of a file; its directory must be there.
    pub(crate) fn begin(path: &Path) -> Result<Self, PathError> {
        let state = match open_regular(path) {
            Ok((file, _)) => State::Same { old: BufReader::new(file), bytes: 0 },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                State::Different(Box::new(Saving::begin(path, Access::Private)?))
            }
            Err(error) => return Err(error),
        };
        Ok(Self { path: path.to_owned(), state })
    }

    /// Adds to the contents.
    pub(crate) fn write(&mut self, mut piece: &[u8]) -> Result<(), PathError> {
        while !piece.is_empty() {
            match &mut self.state {
                State::Different(saving) => return saving.write(piece),
                State::Same { old, bytes } => {
                    let here = old.fill_buf().map_err(|error| PathError::new("read", &self.path, error))?;
                    let common = here.iter().zip(piece).take_while(|(a, b)| a == b).count();
                    let is_different = common < here.len().min(piece.len()) || here.is_empty();
                    old.consume(common);
                    *bytes += common as u64;
                    piece = &piece[common..];
                    if is_different {
                        self.part_ways()?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Puts the file in its place if it differs from the one that is there, and returns whether it does.
    pub(crate) fn commit(mut self) -> Result<bool, PathError> {
        if let State::Same { old, .. } = &mut self.state {
            let rest = old.fill_buf().map_err(|error| PathError::new("read", &self.path, error))?;
            if rest.is_empty() {
                return Ok(false);
            }
            self.part_ways()?;
        }
        match self.state {
            State::Different(saving) => saving.commit().map(|()| true),
            State::Same { .. } => Ok(false),
        }
    }

    fn part_ways(&mut self) -> Result<(), PathError> {
        let State::Same { old, bytes } = &mut self.state else { return Ok(()) };
        let fail = |error| PathError::new("read", &self.path, error);
        let mut saving = Saving::begin(&self.path, Access::Private)?;
        old.rewind().map_err(fail)?;
        let mut left = *bytes;
        while left > 0 {
            let piece = old.fill_buf().map_err(fail)?;
            if piece.is_empty() {
                return Err(fail(io::Error::other("it became shorter in the meantime")));
            }
            let piece = &piece[..usize::try_from(left).unwrap_or(usize::MAX).min(piece.len())];
            let length = piece.len();
            saving.write(piece)?;
            old.consume(length);
            left -= length as u64;
        }
        self.state = State::Different(Box::new(saving));
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out the files that they look at")]
mod tests {
    use super::*;

    /// Writes contents in pieces of some bytes and returns whether the file was written.
    fn update(path: &Path, contents: &[u8], piece: usize) -> bool {
        let mut update = Update::begin(path).expect("a beginning");
        contents.chunks(piece).for_each(|piece| update.write(piece).expect("a piece"));
        update.commit().expect("an end")
    }

    #[test]
    fn a_file_is_written_only_if_it_comes_out_different() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("file");
        let long: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut changed = long.clone();
        changed[300_001] ^= 1;
        let all: [&[u8]; 8] = [b"", b"", &long, &long, &changed, &long[..1000], b"", b"x"];
        for piece in [7, 8192, 1_000_000] {
            for contents in all {
                let was_same = std::fs::read(&path).is_ok_and(|old| old == contents);
                assert_eq!(update(&path, contents, piece), !was_same, "{} bytes", contents.len());
                assert!(std::fs::read(&path).expect("contents") == contents);
            }
        }
        assert_eq!(std::fs::read_dir(dir.path()).expect("a listing").count(), 1, "no temporary file is left");
    }

    #[test]
    fn what_is_not_committed_leaves_the_old_file_and_nothing_else() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("file");
        std::fs::write(&path, "old").expect("a file");
        let mut update = Update::begin(&path).expect("a beginning");
        update.write(b"new").expect("a piece");
        assert_eq!(std::fs::read_dir(dir.path()).expect("a listing").count(), 2);
        drop(update);
        assert_eq!(std::fs::read(&path).expect("contents"), b"old");
        assert_eq!(std::fs::read_dir(dir.path()).expect("a listing").count(), 1);
    }

    #[test]
    fn a_new_file_is_never_put_over_another() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("file");
        let save = |text: &[u8]| {
            let mut saving = Saving::begin(&path, Access::Private)?;
            saving.write(text)?;
            saving.commit_new()
        };
        assert!(save(b"first").expect("a file"));
        assert!(!save(b"second").expect("a refusal"));
        assert_eq!(std::fs::read(&path).expect("contents"), b"first");
        assert_eq!(path.metadata().expect("metadata").mode() & 0o777, 0o600);
    }
}
