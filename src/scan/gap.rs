//! Sessions that were active before and after a time span, and whether they were active in it.

use std::ops::ControlFlow;

use jiff::Timestamp;

use super::Scan;
use crate::agent;
use crate::session::Session;
use crate::session::branches::BranchFilter;
use crate::session::select::Filter;
use crate::system::parallel;

impl Scan {
    /// Drops the sessions that were active before `since` and after `until`, but not in between. Only those are read again.
    pub(crate) fn drop_idle(&mut self, filter: &Filter) {
        if filter.since.is_none() || filter.until.is_none() {
            return;
        }
        let is_active = |session: &Session| match filter.gap(session) {
            Some((since, until)) if filter.matches(session) => was_active(session, since, until),
            _ => true,
        };
        let mut active = parallel::map(&self.sessions, is_active).into_iter();
        self.sessions.retain(|_| active.next().unwrap_or(true));
    }
}

/// Returns whether a message has a time in the span. A session that cannot be read, or with a message without a time, counts
/// as active.
fn was_active(session: &Session, since: Timestamp, until: Timestamp) -> bool {
    let Some(agent) = agent::by_kind(session.agent) else { return true };
    let mut is_active = false;
    let read = agent.messages_on(session.copy(), BranchFilter::All, &mut |message| {
        is_active = message.at.is_none_or(|at| since <= at && at < until);
        if is_active { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    is_active || read.is_err()
}
