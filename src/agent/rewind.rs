//! Rewound copies of sessions: a new session with the messages up to some point.

use std::path::PathBuf;

use crate::error::PathError;
use crate::session::SessionCopy;
use crate::session::branches::BranchFilter;

/// The point up to which messages are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub branch: BranchFilter,
    /// Number of messages of the branch that are kept.
    pub messages: u64,
}

/// A new session that is not written yet.
#[derive(Debug)]
pub(crate) struct Rewound {
    /// The file that is written.
    pub path: PathBuf,
    /// Its contents.
    pub bytes: Vec<u8>,
}

/// Creates a session with a new id from the messages of a copy, in the format of the agent's own fork. Fails if the copy
/// is unreadable or too large.
pub(crate) type Rewind = fn(&SessionCopy, Cut, &str) -> Result<Rewound, PathError>;
