//! Reasons why a step was not done, and their texts.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// Reason why a step was not done.
#[derive(Debug, thiserror::Error)]
pub(in crate::change::apply) enum StepError {
    /// Another program changed the path after the plan was made.
    #[error("{0}")]
    Changed(String),
    /// A system call failed.
    #[error("{what} {}: {}", path.display(), crate::error::reason(error))]
    Failed {
        /// The attempted operation.
        what: &'static str,
        /// The path.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
}

pub(super) fn failed(what: &'static str, path: &Path) -> impl Fn(io::Error) -> StepError {
    move |error| StepError::Failed { what, path: path.to_owned(), error }
}

pub(super) fn changed(path: &Path) -> StepError {
    StepError::Changed(format!("{} was changed by another program in the meantime", path.display()))
}

pub(super) fn changed_since(path: &Path) -> String {
    format!("{} has changed since", path.display())
}

pub(super) fn in_the_way(path: &Path) -> StepError {
    StepError::Changed(format!("{} exists again and is newer", path.display()))
}

/// Checks whether a call failed for one of these reasons.
pub(super) fn is(error: &io::Error, reasons: &[Errno]) -> bool {
    reasons.iter().any(|reason| error.raw_os_error() == Some(reason.raw_os_error()))
}
