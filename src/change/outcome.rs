//! Results of a change, item by item.

pub(crate) use changes::outcome::ItemResult;

/// Result of a run.
#[derive(Debug, Default)]
pub(crate) struct ChangeOutcome {
    /// The run's name, for `rejoin undo`; `None` if nothing was changed.
    pub run: Option<String>,
    /// The result of each item, in the plan's order.
    pub done: Vec<ItemResult>,
    /// The result of each session handed to its agent for removal, in the plan's order.
    pub handed: Vec<ItemResult>,
    /// Reason why a loss of power may still revert the run.
    pub doubt: Option<String>,
}

impl ChangeOutcome {
    /// Checks whether every item was done, and everything is on the disk.
    pub(crate) fn is_whole(&self) -> bool {
        self.doubt.is_none() && self.done.iter().chain(&self.handed).all(|done| *done == ItemResult::Done)
    }
}

impl From<changes::outcome::RunOutcome> for ChangeOutcome {
    fn from(outcome: changes::outcome::RunOutcome) -> Self {
        Self { run: outcome.run, done: outcome.done, handed: Vec::new(), doubt: outcome.doubt }
    }
}
