//! Reasons, found by the caller, for not undoing an item.

use crate::journal::ItemRecord;

/// Reason to leave an item alone.
#[derive(Debug)]
pub struct Hindrance {
    /// The reason.
    pub why: String,
    /// Set if a process holds its data, or may; otherwise that is unknown, and does not prevent a recovery.
    pub is_held: bool,
}

#[cfg(test)]
impl Hindrance {
    /// Makes the reason for a item whose data a process holds.
    pub(crate) fn held_by_process(why: &str) -> Self {
        Self { why: why.to_owned(), is_held: true }
    }
}

/// Returns the reason to leave an item alone, if any.
pub type LookAgain<'l> = dyn FnMut(&ItemRecord) -> Option<Hindrance> + 'l;
