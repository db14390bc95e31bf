//! Requests for the messages of records, and the answers.

use crate::session::Message;

/// What is wanted of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    /// Its messages.
    Messages,
    /// How many messages it has.
    Count,
    /// Nothing.
    Nothing,
}

/// What was said in a record.
#[derive(Debug)]
pub(crate) enum Said {
    /// A message of it.
    Message(Message),
    /// So many, and none is of interest.
    Uninteresting(u64),
}
