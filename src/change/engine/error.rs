//! Reasons why a run does not begin.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::PathError;

/// Reason why a run, an undo or a recovery did not begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The system refused an operation.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Another run holds the lock.
    #[error("another run holds the lock")]
    Locked {
        /// The run that holds it; `None` if its note cannot be read.
        holder: Option<Holder>,
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
    #[error("what run {0} removed was purged from the trash")]
    Purged(String),
}

/// The process that holds the lock.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Holder {
    /// Its process id.
    pub pid: u32,
    /// The verb of its run.
    pub verb: String,
    /// The start of its run.
    pub since: Timestamp,
}
