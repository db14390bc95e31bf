//! Reads small files next to conversations, and settings; sessions are listed even if these are unreadable.

use std::fmt::Display;
use std::path::Path;

use crate::error::PathError;
use crate::session::{Problem, SessionCopy};
use crate::system::fsio;

/// Maximum size of a settings file in bytes.
const MAX_SETTINGS: u64 = 4 * 1024 * 1024;

/// Reads the settings of a program; `None` if the file is missing or unreadable.
pub(super) fn settings(path: &Path) -> Option<String> {
    let bytes = fsio::read_if_present(path, MAX_SETTINGS).ok().flatten()?;
    String::from_utf8(bytes).ok()
}

/// Reads the settings of a program that allows comments in them, without the comments.
pub(super) fn settings_without_comments(path: &Path) -> Option<String> {
    let mut text = settings(path)?;
    json_strip_comments::strip(&mut text).ok()?;
    Some(text)
}

/// Reads a file of a session if it exists. An error becomes a note of the copy, in which the file is called `name`.
pub(super) fn read_or_note(copy: &mut SessionCopy, path: &Path, limit: u64, name: impl Display) -> Option<Vec<u8>> {
    let note = |error: PathError| copy.notes.push(format!("{name} cannot be read: {}", error.reason()));
    fsio::read_if_present(path, limit).map_err(note).ok().flatten()
}

/// Reads a file of a store if it exists. An error is added to `problems`.
pub(super) fn read_or_report(path: &Path, limit: u64, problems: &mut Vec<Problem>) -> Option<Vec<u8>> {
    let report = |error: PathError| problems.push(Problem { path: path.to_owned(), reason: error.reason() });
    fsio::read_if_present(path, limit).map_err(report).ok().flatten()
}
