//! Finds stuck conversations: those whose last messages are API errors that a retry does not fix.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use memchr::memmem;

use crate::agent::{self, Agent, SessionEnd};
use crate::format::jsonl::Jsonl;
use crate::scan::LONG_TO_COUNT;
use crate::session::stuck::{BranchMessages, Stuck};
use crate::session::{Session, SessionCopy, SessionKind};
use crate::system::parallel;

/// Number of messages at the end among which a stuck conversation has an error.
const END: usize = 4;

/// Number of messages at the end that usually include the last good reply.
const RECENT: usize = 16;
/// Number of bytes at the end of a transcript in which a stuck conversation has an error.
const END_BYTES: usize = 32 * 1024;

/// Notes which sessions are stuck. Reads only the end of most transcripts.
pub(crate) fn note(sessions: &mut [Session]) {
    let in_databases = database_ends(sessions);
    parallel::map(&mut *sessions, |session| session.is_stuck = is_stuck(session.copy()));
    for (at, end) in in_databases {
        sessions[at].is_stuck = end.is_error && of(sessions[at].copy()).is_some();
    }
}

/// Returns the ends of the sessions in databases, each with its place among the sessions. Queries each database once.
pub(crate) fn database_ends(sessions: &[Session]) -> Vec<(usize, SessionEnd)> {
    let mut by_database: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (at, session) in sessions.iter().enumerate() {
        let place = &session.copy().place;
        // No other agent deletes messages from a database, or records errors in it.
        let agent = agent::by_kind(session.agent).filter(|agent| agent.about().api_error.is_some());
        if agent.is_some_and(|agent| agent.agent_managed(place).is_some()) {
            by_database.entry((session.agent, &place.path)).or_default().push(at);
        }
    }
    let ends = by_database.into_iter().flat_map(|((kind, path), at)| {
        let ids: Vec<&str> = at.iter().map(|at| sessions[*at].id()).collect();
        // The scan reports a database that cannot be read.
        let ends = agent::by_kind(kind).and_then(|agent| agent.engine().session_ends(path, &ids).ok());
        at.into_iter().zip(ends.unwrap_or_default())
    });
    ends.collect()
}

/// Returns whether [`of`] finds a stuck conversation; reads a transcript whole only if its end does not decide.
fn is_stuck(copy: &SessionCopy) -> bool {
    let is_read = copy.transcript_bytes <= LONG_TO_COUNT && copy.kind != SessionKind::Subagent;
    let Some(agent) = agent::by_kind(copy.place.agent()).filter(|_| is_read) else { return false };
    if !agent.about().api_error.is_some_and(|mark| may_end_with(mark, agent, copy)) {
        return false;
    }
    match agent.last_messages(copy, RECENT) {
        Ok(Some(last)) if last.iter().any(BranchMessages::is_reply) => {
            let mut watch = BranchMessages::default();
            last.iter().for_each(|message| watch.add_message(message));
            watch.finish(copy.transcript_bytes).is_some()
        }
        Ok(Some(last)) if !last.iter().rev().take(END).any(|message| message.is_error) => false,
        _ => of(copy).is_some(),
    }
}

/// Returns whether the end of a transcript may have a record with this mark of an error.
fn may_end_with(mark: &str, agent: &dyn Agent, copy: &SessionCopy) -> bool {
    let Some(Ok(file)) = agent.transcript(&copy.place).map(|path| Jsonl::open(&path)) else { return false };
    let (mut has_mark, mut seen) = (false, 0);
    let read = file.with_tail(END_BYTES).lines_backward(&mut |line, _| {
        seen += line.len();
        has_mark = memmem::find(line, mark.as_bytes()).is_some();
        has_mark || seen >= END_BYTES
    });
    read.is_ok() && has_mark
}

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
    let mut watch = BranchMessages::default();
    let read = agent.messages(copy, &mut |message| {
        watch.add_message(&message);
        ControlFlow::Continue(())
    });
    let mut stuck = read.ok().and_then(|()| watch.finish(copy.transcript_bytes))?;
    stuck.causes = agent.stuck_causes(copy).unwrap_or_default();
    stuck.causes.retain(|found| found.cause.fits(&stuck.error));
    Some(stuck)
}
