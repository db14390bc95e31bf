//! Requests for the messages of a record: their number or their text.

use crate::session::Message;

/// The part of a record that a caller needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    /// The messages of the record.
    Messages,
    /// The number of messages in the record.
    Count,
    /// Nothing.
    Nothing,
}

/// The messages of a record, or their number.
#[derive(Debug)]
pub(crate) enum Said {
    /// One message of the record.
    Message(Message),
    /// The number of messages that were skipped.
    Uninteresting(u64),
}
