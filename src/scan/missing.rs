//! Finds the messages of one copy of a session that another copy does not have.

use std::hash::BuildHasher as _;
use std::ops::ControlFlow;

use foldhash::quality::FixedState;
use foldhash::{HashMap, HashMapExt as _};

use crate::agent;
use crate::error::PathError;
use crate::session::branches::BranchFilter;
use crate::session::{Message, SessionCopy};

/// Messages that only one copy has.
#[derive(Debug, Default)]
pub(crate) struct MissingMessages {
    pub count: u64,
    pub first: Option<Message>,
    pub last: Option<Message>,
}

/// Reads both copies and returns the messages of `copy` that `kept` lacks. If `copy` has a text more often, the
/// additional ones count.
pub(crate) fn missing(kept: &SessionCopy, copy: &SessionCopy) -> Result<MissingMessages, PathError> {
    let mut known: HashMap<u64, u64> = HashMap::new();
    read(kept, &mut |message| *known.entry(digest(&message)).or_default() += 1)?;
    let mut missing = MissingMessages::default();
    read(copy, &mut |message| {
        if let Some(count) = known.get_mut(&digest(&message)).filter(|count| **count > 0) {
            *count -= 1;
            return;
        }
        missing.count += 1;
        if missing.first.is_none() {
            missing.first = Some(message.clone());
        }
        missing.last = Some(message);
    })?;
    Ok(missing)
}

fn read(copy: &SessionCopy, see: &mut dyn FnMut(Message)) -> Result<(), PathError> {
    let Some(agent) = agent::by_kind(copy.place.agent()) else { return Ok(()) };
    // A message is lost with its copy, whatever branch it is on.
    agent.messages_on(copy, BranchFilter::All, &mut |message| {
        see(message);
        ControlFlow::Continue(())
    })
}

fn digest(message: &Message) -> u64 {
    FixedState::default().hash_one((message.role.name(), &message.text))
}
