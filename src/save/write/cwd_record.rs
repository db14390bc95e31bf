//! Records where a session of Claude Code works, and takes the record away again.

use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::agent::cat::record::{DIRS, MAX_BYTES, file_name, live_dir};
use crate::error::PathError;
use crate::system::fsio::{self, Access, Saving};
use crate::system::names::is_same_dir;
use crate::system::reach;

/// How often a record is tried whose directory another process removes in the same moment.
const TRIES: usize = 20;

/// Records that a session works in `dir`, or that it is back at the project's root; unchanged, it writes nothing.
pub(crate) fn record(project: &Path, session_id: &str, dir: &Path) -> Result<(), PathError> {
    if is_same_dir(project, dir) {
        return forget(project, session_id);
    }
    let contents = dir.as_os_str().as_bytes();
    let path = path(project, session_id)?;
    if contents.len() as u64 > MAX_BYTES {
        return Err(PathError::new("write", &path, io::Error::other("the directory's path is too long")));
    }
    if fsio::read_if_present(&path, MAX_BYTES).is_ok_and(|old| old.as_deref() == Some(contents)) {
        return Ok(());
    }
    let write = || {
        let mut dir = project.to_owned();
        for name in DIRS {
            dir.push(name);
            fsio::create_dir(&dir)?;
        }
        let mut saving = Saving::begin(&path, Access::Private)?;
        saving.write(contents)?;
        // A record that a power cut takes is no loss, and the agent waits.
        saving.commit_soon()
    };
    let mut outcome = write();
    for _ in 1..TRIES {
        match &outcome {
            Err(error) if error.kind() == io::ErrorKind::NotFound && reach::is_dir(project) == Some(true) => {
                outcome = write()
            }
            _ => break,
        }
    }
    outcome
}

/// Returns where a session worked last, if that is still a directory.
pub(crate) fn recorded(project: &Path, session_id: &str) -> Result<Option<PathBuf>, PathError> {
    let contents = fsio::read_if_present(&path(project, session_id)?, MAX_BYTES)?;
    Ok(contents.and_then(|contents| live_dir(&contents)))
}

/// Removes a session's record, and the directories that hold nothing without it.
pub(crate) fn forget(project: &Path, session_id: &str) -> Result<(), PathError> {
    let path = path(project, session_id)?;
    if fsio::remove_file(&path)? {
        let dirs = path.ancestors().skip(1).take(DIRS.len());
        let _ = dirs.take_while(|dir| fsio::remove_empty_dir(dir)).count();
    }
    Ok(())
}

/// Returns the record's path; a link on the way could lead anywhere and is refused.
///
/// `.claude` is no exception: it may have come with a repository.
fn path(project: &Path, session_id: &str) -> Result<PathBuf, PathError> {
    let mut path = project.to_owned();
    for name in DIRS {
        path.push(name);
        if path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink()) {
            let why = io::Error::other("it is a symbolic link, which is not followed");
            return Err(PathError::new("enter", &path, why));
        }
    }
    let name = file_name(session_id).ok_or_else(|| {
        PathError::new("write", &path, io::Error::other("the session's id cannot be part of a file name"))
    })?;
    Ok(path.join(name))
}
