//! Stuck conversations.

use std::ops::ControlFlow;

use crate::agent;
use crate::scan::LONG_TO_COUNT;
use crate::session::SessionCopy;
use crate::session::stuck::{Stuck, Watch};

/// Number of messages at the end among which a stuck conversation has an error.
const END: usize = 4;

/// Reads a copy to its end to decide whether its conversation is stuck. `None` for one that cannot be read or is very long.
pub(crate) fn of(copy: &SessionCopy) -> Option<Stuck> {
    let agent = agent::by_kind(copy.place.agent())?;
    agent.about().api_error.filter(|_| copy.transcript_bytes <= LONG_TO_COUNT)?;
    // Most conversations end without an error, and need not be read whole.
    if let Ok(Some(last)) = agent.last_messages(copy, END)
        && !last.iter().any(|message| message.is_error)
    {
        return None;
    }
    let mut watch = Watch::default();
    let read = agent.messages(copy, &mut |message| {
        watch.see(&message);
        ControlFlow::Continue(())
    });
    let mut stuck = read.ok().and_then(|()| watch.finish(copy.transcript_bytes))?;
    stuck.causes = agent.stuck_causes(copy).unwrap_or_default();
    stuck.causes.retain(|found| found.cause.fits(&stuck.error));
    Some(stuck)
}
