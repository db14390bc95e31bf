//! The tokens and the cost of sessions, as far as their agents record them.

use rayon::iter::{IntoParallelRefMutIterator as _, ParallelIterator as _};

use crate::agent;
use crate::error::PathError;
use crate::session::{Problem, Session, SessionCopy};
use crate::system::watch::Watcher;

/// Notes the usage of each session, and returns the files that could not be read. Reads every transcript to its end.
pub(crate) fn note(sessions: &mut [Session], watcher: &Watcher) -> Vec<Problem> {
    watcher.begin(sessions.len());
    let noted = sessions.par_iter_mut().map(|session| {
        let noted = note_of(&mut session.copies[0]);
        watcher.done(1);
        noted
    });
    noted
        .filter_map(|noted| noted.err().map(|error| Problem { path: error.path.clone(), reason: error.reason() }))
        .collect()
}

/// Notes the usage of a copy.
pub(crate) fn note_of(copy: &mut SessionCopy) -> Result<(), PathError> {
    if let Some(agent) = agent::by_kind(copy.place.agent()) {
        copy.usage = agent.usage(copy)?;
    }
    Ok(())
}
