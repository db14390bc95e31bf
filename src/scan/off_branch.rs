//! The messages that an agent's resume does not show, because they are on other branches.

use std::ops::ControlFlow;

use jiff::Timestamp;

use crate::agent;
use crate::session::branches::BranchFilter;
use crate::session::{Role, SessionCopy};

/// The messages on other branches than the one that a resume continues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OffBranch {
    /// Their number, without calls and results of tools.
    pub messages: u64,
    /// Number of these branches.
    pub branches: u16,
    /// The time of the last one.
    pub newest: Option<Timestamp>,
    /// The time of the last message that a resume shows.
    pub shown_until: Option<Timestamp>,
}

impl OffBranch {
    /// Reads a conversation; `None` if it has one branch, or cannot be read.
    pub(crate) fn of(copy: &SessionCopy) -> Option<Self> {
        let agent = agent::by_kind(copy.place.agent())?;
        let branches = agent.branches(copy).ok()?.count().checked_sub(1).filter(|others| *others > 0)?;
        let mut found = Self { branches, ..Self::default() };
        let read = agent.messages_on(copy, BranchFilter::All, &mut |message| {
            match message.branch {
                None => found.shown_until = found.shown_until.max(message.at),
                Some(_) => {
                    found.messages += u64::from(message.role != Role::Tool);
                    found.newest = found.newest.max(message.at);
                }
            }
            ControlFlow::Continue(())
        });
        read.ok().filter(|()| found.messages > 0).map(|()| found)
    }

    /// Returns whether the newest message is one of them.
    pub(crate) fn has_newest(&self) -> bool {
        self.newest > self.shown_until
    }
}
