//! Requests for the messages of records, and the answers.

use crate::session::Message;

/// The part of a record that a caller wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    /// Its messages.
    Messages,
    /// The number of its messages.
    Count,
    /// Nothing.
    Nothing,
}

/// The messages of a record, or their number.
#[derive(Debug)]
pub(crate) enum Said {
    /// A message of it.
    Message(Message),
    /// So many, and none is of interest.
    Uninteresting(u64),
}
