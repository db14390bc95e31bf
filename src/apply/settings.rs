//! Reads and writes a settings.json of Claude Code.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::PathError;
use crate::fsio::{self, Access, Saving};

/// Settings of this size nobody has written.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// A settings.json as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct File {
    /// Where it really is: settings are often links into a repository of their owner's.
    pub(crate) path: PathBuf,
    /// What it holds; `None` when there is none.
    pub(crate) text: Option<String>,
}

/// Reads settings, through links.
pub(crate) fn read(path: &Path) -> Result<File, PathError> {
    let fail = |error| PathError::new("read", path, error);
    let path = match path.canonicalize() {
        Ok(path) => path,
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail(error)),
        Err(_) if path.symlink_metadata().is_ok() => {
            return Err(fail(io::Error::other("it is a symbolic link to nothing")));
        }
        Err(_) => return Ok(File { path: path.to_owned(), text: None }),
    };
    let bytes = fsio::read_bounded(&path, MAX_BYTES)?;
    let text = String::from_utf8(bytes).map_err(|_| fail(io::Error::other("it is not UTF-8")))?;
    Ok(File { path, text: Some(text) })
}

/// Writes the new text where the old one was read, or removes the file, unless another program changed it meanwhile.
pub(crate) fn apply(old: &File, new: Option<&str>) -> Result<(), PathError> {
    if read(&old.path)? != *old {
        return Err(PathError::new("write", &old.path, io::Error::other("another program has changed it meanwhile")));
    }
    let dir = old.path.parent().unwrap_or(&old.path);
    let Some(new) = new else {
        fsio::remove_file(&old.path)?;
        // It was made for the file, or it holds nothing that anybody misses.
        fsio::remove_empty_dir(dir);
        return Ok(());
    };
    fsio::create_dirs(dir)?;
    let mut saving = Saving::begin(&old.path, Access::Usual)?;
    saving.write(new.as_bytes())?;
    saving.commit()
}
