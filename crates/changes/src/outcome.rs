//! Results of a run, item by item.

/// The result of one item.
#[derive(Clone, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum ItemResult {
    /// Done; in a dry run, it would be.
    Done,
    /// The path was already as requested, or outside the request.
    Unchanged,
    /// Skipped, because the path changed after the plan was made.
    Skipped(String),
    /// Not tried, because the item cannot be done.
    Refused(String),
    /// Failed without traces; the reason. A failed undo is done in part.
    Failed(String),
}

impl ItemResult {
    /// Returns the reason why it was not done; `None` if it was, or if there was nothing to do.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Done | Self::Unchanged => None,
            Self::Skipped(why) | Self::Refused(why) | Self::Failed(why) => Some(why),
        }
    }
}

/// Result of a run.
#[derive(Debug, Default)]
pub struct RunOutcome {
    /// The run's name; `None` if nothing was changed.
    pub run: Option<String>,
    /// The result of each item, in the plan's order.
    pub done: Vec<ItemResult>,
    /// Reason why a loss of power may still revert the run.
    pub doubt: Option<String>,
}
