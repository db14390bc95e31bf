//! Finds the messages that an agent's resume does not show: those on other branches, and those before a record whose
//! parent is missing.

use std::ops::ControlFlow;

use jiff::Timestamp;

use crate::agent;
use crate::format::jsonl::each_line_at;
use crate::session::branches::BranchFilter;
use crate::session::{Role, SessionCopy};

/// The messages that are not on the active branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OffBranch {
    /// Number of these messages, without calls and results of tools.
    pub messages: u64,
    /// Number of the other branches.
    pub branches: u16,
    /// The time of the last of these messages.
    pub newest: Option<Timestamp>,
    /// The time of the last message that a resume shows.
    pub shown_until: Option<Timestamp>,
    /// Number of messages that a resume shows, counted in the same way.
    pub shown: u64,
    /// Number of messages before a record whose parent is missing, counted in the same way.
    pub cut_off: u64,
    /// Number of the parts of the conversation with these messages.
    pub parts: u16,
    /// The times of the first and the last of these messages.
    pub cut_off_at: Option<(Timestamp, Timestamp)>,
    /// The records whose parents are missing, by the numbers of their lines, counted from 1.
    pub breaks: Vec<u64>,
}

impl OffBranch {
    /// Reads a conversation; `None` if it has one branch, or cannot be read.
    pub(crate) fn read_copy(copy: &SessionCopy) -> Option<Self> {
        let agent = agent::by_kind(copy.place.agent())?;
        let branches = agent.branches(copy).ok()?;
        let (mut breaks, broken) = (Vec::new(), branches.breaks().iter().map(|at| at.line).collect());
        let log = agent.transcript(&copy.place).filter(|_| !branches.breaks().is_empty());
        if let Some(log) = log {
            each_line_at(&log, &broken, &mut |_, line| breaks.push(line.number)).ok()?;
        }
        if branches.count() == 1 && breaks.is_empty() {
            return None;
        }
        let parts = branches.cut_off();
        let mut found = Self { branches: branches.count() - 1 - parts, parts, breaks, ..Self::default() };
        let read = agent.messages_on(copy, BranchFilter::All, &mut |message| {
            let counted = u64::from(message.role != Role::Tool);
            match message.branch {
                None => {
                    found.shown_until = found.shown_until.max(message.at);
                    found.shown += counted;
                }
                Some(number) if branches.is_cut_off(number) => {
                    found.cut_off += counted;
                    if let Some(at) = message.at {
                        let (from, to) = found.cut_off_at.unwrap_or((at, at));
                        found.cut_off_at = Some((from.min(at), to.max(at)));
                    }
                }
                Some(_) => {
                    found.messages += counted;
                    found.newest = found.newest.max(message.at);
                }
            }
            ControlFlow::Continue(())
        });
        read.ok().map(|()| found).filter(|found| found.messages + found.cut_off > 0)
    }

    /// Returns whether the newest message is not on the active branch.
    pub(crate) fn has_newest(&self) -> bool {
        self.newest > self.shown_until
    }
}
