//! Requests for the messages of a record: their number or their text.

use crate::session::Message;

/// The part of a record that a caller needs.
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
    /// One of its messages.
    Message(Message),
    /// The number of messages, none of which is needed.
    Uninteresting(u64),
}
