//! Stuck conversations.

use std::ops::ControlFlow;

use crate::agent;
use crate::scan::LONG_TO_COUNT;
use crate::session::Copy;
use crate::session::stuck::{Stuck, Watch};

/// Reads a copy to its end to decide whether its conversation is stuck. `None` for one that cannot be read or is very long.
pub(crate) fn of(copy: &Copy) -> Option<Stuck> {
    let agent = agent::by_kind(copy.place.agent())?;
    agent.about().api_error.filter(|_| copy.transcript_bytes <= LONG_TO_COUNT)?;
    let mut watch = Watch::default();
    let read = agent.messages(copy, &mut |message| {
        watch.see(&message);
        ControlFlow::Continue(())
    });
    read.ok().and_then(|()| watch.finish())
}
