//! Errors: with the path of an operation, and reasons why a run does not begin.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::path_text::lossy;

/// An operation on a path that the system refused.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {}", path.display(), reason(cause))]
pub struct PathError {
    /// The operation that failed, as a verb: "read", "write".
    pub action: &'static str,
    /// The path of the operation.
    pub path: PathBuf,
    /// The system's error. It is not named `source`, which would make it the error's `source()`: a chain would print it
    /// twice.
    cause: io::Error,
}

impl PathError {
    /// Creates an error for an operation on a path.
    pub fn new(action: &'static str, path: &Path, cause: io::Error) -> Self {
        Self { action, path: path.to_owned(), cause }
    }

    /// Returns the system's reason alone, in lower case and without its number.
    pub fn reason(&self) -> String {
        reason(&self.cause)
    }

    /// Returns the kind of the system's error.
    pub fn kind(&self) -> io::ErrorKind {
        self.cause.kind()
    }
}

/// Returns the system's text for an error: "permission denied", not "Permission denied (os error 13)".
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    match (chars.next(), text.chars().nth(1)) {
        // An acronym ("EOF …") keeps its capitals.
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain(chars).collect(),
        _ => text.to_owned(),
    }
}

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// The path that could not be read.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// The system's reason.
    pub reason: String,
}

/// Reason why a run, an undo or a recovery did not begin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused an operation.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Another run holds the lock.
    #[error("another run holds the lock")]
    Locked {
        /// The run that holds it; `None` if its note cannot be read.
        holder: Option<LockHolder>,
        /// Time that was spent waiting for it.
        waited: Duration,
    },
    /// The journal of the run cannot be read.
    #[error("{0}")]
    UnreadableRun(String),
    /// No run can be undone.
    #[error("there is no run to undo")]
    NothingToUndo,
    /// No run has this name.
    #[error("there is no run {0}")]
    NoSuchRun(String),
    /// The trash of the run of this name was deleted.
    #[error("what run {0} removed was deleted permanently")]
    Purged(String),
}

/// The process that holds the lock.
#[derive(Debug, Serialize, Deserialize)]
pub struct LockHolder {
    /// Its process id.
    pub pid: u32,
    /// The verb of its run.
    pub verb: String,
    /// The start of its run.
    pub since: Timestamp,
}
