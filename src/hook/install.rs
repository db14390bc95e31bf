//! Reads a settings.json of Claude Code, and changes it so that the change can be undone.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::change::apply::run;
use crate::change::outcome::ItemResult;
use crate::change::plan::change::{Change, ChangeItem, Contents, ItemSubject, Step};
use crate::error::PathError;
use crate::system::env::Env;
use crate::system::fsio;
use crate::system::reach;
use crate::system::stamp::{self, Stamp};

/// Maximum size of a settings file in bytes.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// A settings.json and its contents when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct File {
    /// Its resolved path: settings are often links into the user's own repository.
    path: PathBuf,
    /// Its contents; `None` if there is no file.
    pub(crate) text: Option<String>,
    stamp: Option<Stamp>,
}

/// Reads settings, through links.
pub(crate) fn read(path: &Path) -> Result<File, PathError> {
    let fail = |error| PathError::new("read", path, error);
    let real = match reach::canonicalize(path) {
        Ok(real) => real,
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail(error)),
        Err(_) if path.symlink_metadata().is_ok() => {
            return Err(fail(io::Error::other("it is a symbolic link to nothing")));
        }
        Err(_) => return Ok(File { path: path.to_owned(), text: None, stamp: None }),
    };
    // Taken before the file is read, so a later write changes the stamp.
    let stamp = stamp::take_stamp(&real)?;
    let bytes = fsio::read_bounded(&real, MAX_BYTES)?;
    let text = String::from_utf8(bytes).map_err(|_| fail(io::Error::other("it is not UTF-8")))?;
    Ok(File { path: real, text: Some(text), stamp: Some(stamp) })
}

/// Writes the new text in place of the old one, or moves the file to the trash, and returns the run's name.
///
/// Settings that another program has changed since are left alone.
pub(crate) fn apply(
    old: &File,
    new: Option<&str>,
    reason: &str,
    env: &Env,
    patience: Duration,
) -> anyhow::Result<Option<String>> {
    let mut steps = Vec::new();
    match (new, &old.stamp) {
        (Some(new), stamp) => {
            let missing: Vec<&Path> =
                old.path.ancestors().skip(1).take_while(|dir| reach::exists(dir) == Some(false)).collect();
            steps.extend(missing.into_iter().rev().map(|dir| Step::MakeDir { path: dir.to_owned() }));
            let contents = Contents::Bytes(new.as_bytes().to_vec());
            steps.push(Step::Write { path: old.path.clone(), contents, stamp: stamp.clone().map(Box::new) });
        }
        (None, Some(stamp)) => steps.push(Step::Trash { path: old.path.as_path().into(), stamp: stamp.clone() }),
        (None, None) => return Ok(None),
    }
    let item = ChangeItem::new(ItemSubject::Other("claude settings".into()), "hooks", reason, steps);
    let outcome = run::run(&Change::new("hook", vec![item]), env, patience)?;
    match outcome.done.into_iter().next() {
        Some(ItemResult::Skipped(why) | ItemResult::Failed(why)) => {
            Err(PathError::new("change", &old.path, io::Error::other(why)).into())
        }
        _ => Ok(outcome.run),
    }
}
