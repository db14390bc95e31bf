//! Writes files in pieces under a temporary name, and renames them into place when they are complete.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{Access, Disk, For, Handle, ITSELF, look_if_present, open_parent};
use crate::disk::{Buffer, EntryKind, EntryMetadata, PIECE, is_absent};
use crate::error::PathError;

/// A file that is being written: readers see the old one, or none, until it is committed.
///
/// A replaced file keeps its mode and owner, unless it is to be private; a new one gets the owner of its directory. Links, devices and directories
/// are not replaced. A file that is dropped without a commit is removed.
#[derive(Debug)]
pub struct Saving<'d> {
    disk: &'d dyn Disk,
    path: PathBuf,
    dir: Handle,
    /// The directory's metadata before the temporary file was created.
    dir_before: EntryMetadata,
    name: OsString,
    old: Option<EntryMetadata>,
    file: Handle,
    /// The temporary name; `None` after the rename.
    temporary: Option<OsString>,
    pending: Vec<u8>,
}

impl<'d> Saving<'d> {
    /// Begins a file; its directory must exist.
    pub fn begin(disk: &'d dyn Disk, path: &Path, access: Access) -> Result<Self, PathError> {
        let fail = |action| move |error| PathError::new(action, path, error);
        let parent = path.parent().zip(path.file_name()).ok_or_else(|| io::Error::other("it has no directory"));
        let (dir, name) =
            parent.and_then(|(dir, name)| Ok((disk.open_for_writing(dir)?, name.to_owned()))).map_err(fail("write"))?;
        let dir_before = disk.read_open_metadata(&dir).map_err(fail("write"))?;
        let old = look_if_present(disk, (&dir, &name)).map_err(fail("replace"))?;
        if old.is_some_and(|old| old.kind != EntryKind::File) {
            return Err(fail("replace")(io::Error::other("it is not a regular file")));
        }
        let old = old.filter(|_| access != Access::Private);
        let mut number = 0_u32;
        let (file, temporary) = loop {
            let temporary = OsString::from(format!(".rejoin-{}-{number}.tmp", std::process::id()));
            match disk.open((&dir, &temporary), For::New(access)) {
                // Another thread uses the name, or a killed process with the same pid left it, perhaps in another
                // container.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                opened => break (opened.map_err(fail("write"))?, temporary),
            }
        };
        let (path, temporary) = (path.to_owned(), Some(temporary));
        Ok(Self { disk, path, dir, dir_before, name, old, file, temporary, pending: Vec::new() })
    }

    /// Moves the file into place and syncs it.
    pub fn commit(mut self) -> Result<(), PathError> {
        self.finish().and_then(|()| self.move_into_place(true)).map_err(|error| self.failed(error))
    }

    /// Moves the file into place without syncing it: a crash of the whole system may lose it.
    pub fn commit_soon(mut self) -> Result<(), PathError> {
        self.finish().and_then(|()| self.move_into_place(false)).map_err(|error| self.failed(error))
    }

    /// Moves the file into place if the path is free, syncs it, and returns whether it did.
    pub fn commit_new(mut self) -> Result<bool, PathError> {
        let put = self.finish().and_then(|()| {
            self.disk.sync(&self.file)?;
            let Some(temporary) = &self.temporary else { return Ok(false) };
            match self.disk.rename_to_free((&self.dir, temporary), (&self.dir, &self.name)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
                moved => moved?,
            }
            self.temporary = None;
            self.disk.sync(&self.dir)?;
            Ok(true)
        });
        put.map_err(|error| self.failed(error))
    }

    /// Commits, and restores the times that the old file and the directory had.
    fn commit_with_times(mut self) -> Result<(), PathError> {
        let put = self.finish().and_then(|()| {
            if let (Some(old), Some(temporary)) = (&self.old, &self.temporary) {
                self.disk.set_times((&self.dir, temporary), (old.accessed, old.modified))?;
            }
            self.move_into_place(true)?;
            // The new file is in place; failing to restore the directory's times is not an error.
            let EntryMetadata { accessed, modified, .. } = self.dir_before;
            let _ = self.disk.set_times((&self.dir, ITSELF.as_ref()), (accessed, modified));
            Ok(())
        });
        put.map_err(|error| self.failed(error))
    }

    /// Writes the buffered bytes, and sets owner, extended attributes and mode.
    fn finish(&mut self) -> io::Result<()> {
        self.write_out()?;
        let (disk, dir, Some(temporary)) = (self.disk, &self.dir, &self.temporary) else { return Ok(()) };
        let Some(old) = &self.old else { return Ok(()) };
        if disk.read_open_metadata(&self.file)?.owner != old.owner {
            // Only root can change the owner; other users have to keep the file as their own.
            let _ = disk.set_owner((dir, temporary), old.owner);
        }
        disk.copy_extended(&disk.open((dir, &self.name), For::Reading)?, &self.file)?;
        disk.set_mode((dir, temporary), old.mode)
    }

    fn move_into_place(&mut self, is_synced: bool) -> io::Result<()> {
        if is_synced {
            self.disk.sync(&self.file)?;
        }
        if let Some(temporary) = &self.temporary {
            self.disk.rename((&self.dir, temporary), (&self.dir, &self.name))?;
            self.temporary = None;
        }
        if is_synced { self.disk.sync(&self.dir) } else { Ok(()) }
    }

    fn write_out(&mut self) -> io::Result<()> {
        if !self.pending.is_empty() {
            self.disk.add(&self.file, &self.pending)?;
            self.pending.clear();
        }
        Ok(())
    }

    fn failed(&self, error: io::Error) -> PathError {
        // After the rename, only a power loss can revert the file.
        PathError::new(if self.temporary.is_some() { "write" } else { "sync" }, &self.path, error)
    }
}

impl Write for Saving<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        if self.pending.len() >= PIECE {
            self.write_out()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_out()
    }
}

impl Drop for Saving<'_> {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = self.disk.unlink((&self.dir, temporary));
        }
    }
}

/// Begins a file and writes its contents.
fn saving<'d>(disk: &'d dyn Disk, path: &Path, access: Access, contents: &[u8]) -> Result<Saving<'d>, PathError> {
    let mut saving = Saving::begin(disk, path, access)?;
    saving.write_all(contents).map_err(|error| saving.failed(error))?;
    Ok(saving)
}

/// Writes a file with these contents and syncs it.
pub fn save(disk: &dyn Disk, path: &Path, access: Access, contents: &[u8]) -> Result<(), PathError> {
    saving(disk, path, access, contents)?.commit()
}

/// Writes a private file with these contents if the path is free, and returns whether it did.
pub fn save_new(disk: &dyn Disk, path: &Path, contents: &[u8]) -> Result<bool, PathError> {
    saving(disk, path, Access::Private, contents)?.commit_new()
}

/// Replaces the file at `path`, so that readers see the old contents or the new ones, never a part.
///
/// A replaced file keeps its mode, owner and times, a new one is private and gets the owner of its directory. The
/// directory keeps its modification time, because programs order and clean up data by it: a repair must not make old
/// data look fresh. Use [`Saving`] for files that a program saves itself.
pub fn replace(disk: &dyn Disk, path: &Path, contents: &[u8]) -> Result<(), PathError> {
    saving(disk, path, Access::Kept, contents)?.commit_with_times()
}

/// A file that is written in pieces, but only if it differs from the existing one.
///
/// As long as the pieces equal the old file, nothing is written; at the first difference the equal part is copied. So
/// the memory used does not depend on the size of the file.
#[derive(Debug)]
pub struct FileUpdate<'d> {
    disk: &'d dyn Disk,
    path: PathBuf,
    state: UpdateState<'d>,
}

#[derive(Debug)]
enum UpdateState<'d> {
    /// The old file begins with the pieces so far.
    Same(OldFile),
    /// The pieces differ from the old file, or there is no old file.
    Different(Box<Saving<'d>>),
}

/// The existing file, compared with the pieces.
#[derive(Debug)]
struct OldFile {
    file: Handle,
    /// Number of equal bytes.
    bytes: u64,
    /// The next bytes of the file, from `at` to `end`.
    buffer: Buffer,
    at: usize,
    end: usize,
}

impl OldFile {
    /// Returns the next bytes; empty at the end of the file.
    fn next(&mut self, disk: &dyn Disk) -> io::Result<&[u8]> {
        if self.at == self.end {
            (self.at, self.end) = (0, disk.read_at(&self.file, &mut self.buffer, self.bytes)?);
        }
        Ok(&self.buffer[self.at..self.end])
    }
}

impl<'d> FileUpdate<'d> {
    /// Begins the new contents of a file; its directory must exist.
    pub fn begin(disk: &'d dyn Disk, path: &Path) -> Result<Self, PathError> {
        let opened = open_parent(disk, path).and_then(|(dir, name)| disk.open((&dir, &name), For::Reading));
        let state = match opened {
            Ok(file) => UpdateState::Same(OldFile { file, bytes: 0, buffer: Buffer::new(PIECE), at: 0, end: 0 }),
            Err(error) if is_absent(error.kind()) => {
                UpdateState::Different(Box::new(Saving::begin(disk, path, Access::Kept)?))
            }
            Err(error) => return Err(PathError::new("read", path, error)),
        };
        Ok(Self { disk, path: path.to_owned(), state })
    }

    /// Appends to the contents.
    pub fn write(&mut self, mut piece: &[u8]) -> Result<(), PathError> {
        while !piece.is_empty() {
            match &mut self.state {
                UpdateState::Different(saving) => return saving.write_all(piece).map_err(|error| saving.failed(error)),
                UpdateState::Same(old) => {
                    let next = old.next(self.disk).map_err(|error| PathError::new("read", &self.path, error))?;
                    let common = next.iter().zip(piece).take_while(|(a, b)| a == b).count();
                    let is_different = common < next.len().min(piece.len()) || next.is_empty();
                    old.at += common;
                    old.bytes += common as u64;
                    piece = &piece[common..];
                    if is_different {
                        self.part_ways()?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Moves the file into place if it differs from the existing one, and returns whether it does.
    pub fn commit(mut self) -> Result<bool, PathError> {
        if let UpdateState::Same(old) = &mut self.state {
            let rest = old.next(self.disk).map_err(|error| PathError::new("read", &self.path, error))?;
            if rest.is_empty() {
                return Ok(false);
            }
            self.part_ways()?;
        }
        match self.state {
            UpdateState::Different(saving) => saving.commit().map(|()| true),
            UpdateState::Same(_) => Ok(false),
        }
    }

    fn part_ways(&mut self) -> Result<(), PathError> {
        let UpdateState::Same(OldFile { file: old, bytes, .. }) = &self.state else { return Ok(()) };
        let fail = |error| PathError::new("read", &self.path, error);
        let mut saving = Saving::begin(self.disk, &self.path, Access::Kept)?;
        let (mut buffer, mut offset) = (Buffer::new(PIECE), 0);
        while offset < *bytes {
            let requested = usize::try_from(*bytes - offset).unwrap_or(PIECE).min(PIECE);
            let count = self.disk.read_at(old, &mut buffer[..requested], offset).map_err(fail)?;
            if count == 0 {
                return Err(fail(io::Error::other("it became shorter in the meantime")));
            }
            saving.write_all(&buffer[..count]).map_err(|error| saving.failed(error))?;
            offset += count as u64;
        }
        self.state = UpdateState::Different(Box::new(saving));
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::tests::SYSTEM;

    /// Writes contents in pieces of `piece` bytes and returns whether the file was written.
    fn update(path: &Path, contents: &[u8], piece: usize) -> bool {
        let mut update = FileUpdate::begin(&SYSTEM, path).expect("a beginning");
        contents.chunks(piece).for_each(|piece| update.write(piece).expect("a piece"));
        update.commit().expect("an end")
    }

    #[test]
    fn update_replaces_file_only_if_content_differs() {
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
    fn dropped_update_removes_its_temporary_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("file");
        std::fs::write(&path, "old").expect("a file");
        let mut update = FileUpdate::begin(&SYSTEM, &path).expect("a beginning");
        update.write(b"new").expect("a piece");
        assert_eq!(std::fs::read_dir(dir.path()).expect("a listing").count(), 2);
        drop(update);
        assert_eq!(std::fs::read(&path).expect("contents"), b"old");
        assert_eq!(std::fs::read_dir(dir.path()).expect("a listing").count(), 1);
    }

    #[test]
    fn save_new_never_overwrites_existing_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("file");
        let save = |text: &[u8]| save_new(&SYSTEM, &path, text);
        assert!(save(b"first").expect("a file"));
        assert!(!save(b"second").expect("a refusal"));
        assert_eq!(std::fs::read(&path).expect("contents"), b"first");
        assert_eq!(path.metadata().expect("metadata").mode() & 0o777, 0o600);
    }

    #[test]
    fn replace_keeps_mode_and_times() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("info.json");
        std::fs::write(&path, "old").expect("a file");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("a mode");
        let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let times = std::fs::FileTimes::new().set_modified(then).set_accessed(then);
        File::options().write(true).open(&path).and_then(|file| file.set_times(times)).expect("times");
        File::open(dir.path()).and_then(|dir| dir.set_times(times)).expect("times");

        replace(&SYSTEM, &path, b"new").expect("a replacement");

        let metadata = path.metadata().expect("metadata");
        assert_eq!(std::fs::read(&path).expect("contents"), b"new");
        assert_eq!(metadata.mode() & 0o777, 0o640);
        assert_eq!(metadata.modified().expect("a time"), then);
        assert_eq!(dir.path().metadata().and_then(|dir| dir.modified()).expect("a time"), then);
        assert_eq!(std::fs::read_dir(dir.path()).expect("a listing").count(), 1, "no temporary file is left");
    }

    #[test]
    fn replace_creates_private_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("new.json");
        replace(&SYSTEM, &path, b"{}").expect("a file");
        assert_eq!(path.metadata().expect("metadata").mode() & 0o777, 0o600);
    }

    #[test]
    fn replace_refuses_symbolic_link() {
        let dir = tempfile::tempdir().expect("a directory");
        let (target, link) = (dir.path().join("target"), dir.path().join("link"));
        std::fs::write(&target, "x").expect("a file");
        std::os::unix::fs::symlink(&target, &link).expect("a link");
        assert!(replace(&SYSTEM, &link, b"y").is_err());
        assert_eq!(std::fs::read(&target).expect("contents"), b"x");
        assert_eq!(std::fs::read_dir(dir.path()).expect("a listing").count(), 2, "no temporary file is left");
    }
}
