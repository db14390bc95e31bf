//! Records the directory in which a session of Claude Code works, and removes the record.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::agent::cat::record::{DIRS, MAX_BYTES, file_name, live_dir};
use crate::error::PathError;
use crate::system::disk::{self, Access, Disk, For};
use crate::system::fsio;
use crate::system::names::is_same_dir;

/// Maximum attempts at writing a record while another process removes its directory.
const TRIES: usize = 20;

/// Records that a session works in `dir`, or that it is back at the project's root; writes nothing if that is
/// unchanged.
pub(crate) fn record(disk: &dyn Disk, project: &Path, session_id: &str, dir: &Path) -> Result<(), PathError> {
    if is_same_dir(project, dir) {
        return forget(disk, project, session_id);
    }
    let contents = dir.as_os_str().as_bytes();
    let path = path(disk, project, session_id)?;
    if contents.len() as u64 > MAX_BYTES {
        return Err(PathError::new("write", &path, io::Error::other("the directory's path is too long")));
    }
    if disk::read_if_present(disk, &path, MAX_BYTES).is_ok_and(|old| old.as_deref() == Some(contents)) {
        return Ok(());
    }
    let write = || {
        make_dirs(disk, project)?;
        // Saved atomically: a truncated path would name another directory.
        disk::save(disk, &path, Access::Private, contents)
    };
    let mut outcome = write();
    for _ in 1..TRIES {
        match &outcome {
            Err(error) if error.kind() == io::ErrorKind::NotFound && disk.open_dir(project).is_ok() => {
                outcome = write()
            }
            _ => break,
        }
    }
    outcome
}

/// Returns the last recorded directory of a session, if it still is a directory.
pub(crate) fn recorded(disk: &dyn Disk, project: &Path, session_id: &str) -> Result<Option<PathBuf>, PathError> {
    let contents = fsio::read_if_present(&path(disk, project, session_id)?, MAX_BYTES)?;
    Ok(contents.and_then(|contents| live_dir(&contents)))
}

/// Removes a session's record, and the directories that are then empty.
pub(crate) fn forget(disk: &dyn Disk, project: &Path, session_id: &str) -> Result<(), PathError> {
    let path = path(disk, project, session_id)?;
    let remove = || {
        let (dir, name) = disk::open_parent(disk, &path)?;
        match disk::look_if_present(disk, (&dir, &name))?.map(|look| look.kind) {
            None => Err(io::ErrorKind::NotFound.into()),
            Some(fsio::EntryKind::File) => disk.unlink((&dir, &name)).and_then(|()| disk.sync(&dir)),
            Some(_) => Err(io::Error::other("it is not a regular file")),
        }
    };
    match remove() {
        // Another process may have been faster.
        Err(error) if fsio::is_absent(error.kind()) => return Ok(()),
        removed => removed.map_err(|error| PathError::new("remove", &path, error))?,
    }
    let remove_empty = |dir: &Path| {
        let removed = disk::open_parent(disk, dir).and_then(|(above, name)| disk.remove_dir((&above, &name)));
        removed.is_ok()
    };
    let dirs = path.ancestors().skip(1).take(DIRS.len());
    let _ = dirs.take_while(|dir| remove_empty(dir)).count();
    Ok(())
}

/// Creates the directories of records in a project, which must exist.
fn make_dirs(disk: &dyn Disk, project: &Path) -> Result<(), PathError> {
    let mut path = project.to_owned();
    let mut dir = disk.open_dir(project).map_err(|error| PathError::new("enter", project, error))?;
    for name in DIRS.map(OsStr::new) {
        path.push(name);
        let made = match disk.make_dir((&dir, name), Access::Usual) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made.and_then(|()| disk.sync(&dir)),
        };
        dir = made
            .and_then(|()| disk.open((&dir, name), For::Dir))
            .map_err(|error| PathError::new("create", &path, error))?;
    }
    Ok(())
}

/// Returns the record's path; refuses a link in its components, which could point anywhere.
///
/// `.claude` is not an exception: it may have come with a repository.
fn path(disk: &dyn Disk, project: &Path, session_id: &str) -> Result<PathBuf, PathError> {
    let mut path = project.to_owned();
    for name in DIRS {
        path.push(name);
        let look = disk::open_parent(disk, &path).and_then(|(dir, name)| disk.read_metadata((&dir, &name)));
        if look.is_ok_and(|look| look.kind == fsio::EntryKind::Symlink) {
            let why = io::Error::other("it is a symbolic link, which is not followed");
            return Err(PathError::new("enter", &path, why));
        }
    }
    let name = file_name(session_id).ok_or_else(|| {
        PathError::new("write", &path, io::Error::other("the session's id cannot be part of a file name"))
    })?;
    Ok(path.join(name))
}
