//! The tokens and the cost of sessions, as far as their agents record them.

use crate::agent;
use crate::session::{Problem, Session, SessionCopy};
use crate::system::parallel;
use crate::system::watch::Watcher;

/// Notes the usage of each session for which it is not known, and returns the files that could not be read. Reads these
/// transcripts to their ends.
pub(crate) fn note(sessions: &mut [Session], watcher: &Watcher) -> Vec<Problem> {
    let copies = sessions.iter_mut().map(|session| &mut session.copies[0]);
    let copies: Vec<&mut SessionCopy> = copies.filter(|copy| copy.usage.is_none()).collect();
    watcher.begin(copies.len());
    let noted = parallel::map(copies, |copy| {
        let noted = agent::by_kind(copy.place.agent()).map_or(Ok(()), |agent| agent::read_usage(agent, copy));
        watcher.done(1);
        noted
    });
    let failed = noted.into_iter().filter_map(Result::err);
    failed.map(|error| Problem { path: error.path.clone(), reason: error.reason() }).collect()
}
