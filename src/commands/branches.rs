//! The branches of a conversation with their counts, and the note about hidden ones.

use std::ops::ControlFlow;

use crate::agent;
use crate::error::PathError;
use crate::scan::off_branch::OffBranch;
use crate::session::branches::{ACTIVE, Branch, BranchFilter};
use crate::session::{Message, SessionCopy};

/// Maximum branches whose fork is searched for; each takes one more pass over the transcript.
const MOST_FORKS: usize = 50;

/// Returns every branch with the counts of its messages, the active one first.
pub(super) fn all(copy: &SessionCopy) -> Result<Vec<Branch>, PathError> {
    let Some(agent) = agent::by_kind(copy.place.agent()) else { return Ok(Vec::new()) };
    let count = agent.branches(copy)?.count();
    let mut branches: Vec<Branch> = (ACTIVE..=count).map(Branch::new).collect();
    agent.messages_on(copy, BranchFilter::All, &mut |message| {
        let number = message.branch.unwrap_or(ACTIVE);
        if let Some(branch) = branches.get_mut(usize::from(number) - 1) {
            branch.add(&message);
        }
        ControlFlow::Continue(())
    })?;
    for branch in branches.iter_mut().skip(1).take(MOST_FORKS) {
        let mut before: Option<Message> = None;
        agent.messages_on(copy, BranchFilter::Number(branch.number), &mut |message| {
            if message.branch == Some(branch.number) {
                return ControlFlow::Break(());
            }
            before = Some(message);
            ControlFlow::Continue(())
        })?;
        branch.after = before.map(|message| message.text);
    }
    // A tool's result between two branches says nothing of either.
    branches.retain(|branch| branch.number == ACTIVE || branch.messages > 0);
    Ok(branches)
}

/// Returns a note if a conversation has branches that are not shown.
pub(super) fn note(copy: &SessionCopy, wanted: BranchFilter) -> Option<String> {
    let OffBranch { messages, branches, .. } =
        Some(copy).filter(|_| wanted == BranchFilter::Active).and_then(OffBranch::of)?;
    let said = if messages == 1 { "1 message is".to_owned() } else { format!("{messages} messages are") };
    Some(match branches {
        1 => format!("{said} on another branch; --branch 2 prints it, and --all-branches prints all."),
        _ => format!("{said} on {branches} other branches; --branch N prints one, and --all-branches prints all."),
    })
}
