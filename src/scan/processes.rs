//! Finds the processes that have sessions open, and their state.

use std::ops::ControlFlow;

use crate::agent;
use crate::scan::LONG_TO_COUNT;
use crate::session::process::{Process, State};
use crate::session::{Liveness, Message, Session, SessionCopy};
use crate::system::process;

/// Checks which of these sessions are in use. This is too slow for every list.
pub(crate) fn verify(sessions: &mut [Session]) {
    agent::mark_writers(&mut sessions.iter_mut().flat_map(|session| &mut session.copies).collect::<Vec<_>>());
    sessions.iter_mut().for_each(Session::assess);
}

/// Checks which of these sessions are in use, or may be, before their files are moved or removed.
pub(crate) fn verify_for_change(sessions: &mut [Session]) {
    verify(sessions);
    let programs = agent::Programs::now();
    for session in sessions {
        session.copies.iter_mut().for_each(|copy| programs.mark(copy));
        session.assess();
    }
}

/// Sets the process of each session that is in use, or may be.
pub(crate) fn note_processes(sessions: &mut [Session]) {
    for session in sessions {
        session.process = session.copy_in_use().map(process_of);
    }
}

fn process_of(copy: &SessionCopy) -> Process {
    let pid = match copy.liveness {
        Liveness::Live { pid } => Some(pid),
        Liveness::Maybe { .. } | Liveness::Idle => None,
    };
    let last = if pid.is_some() && copy.state.is_none() { last_message(copy) } else { None };
    let state = State::decide(&copy.liveness, copy.state, last.as_ref());
    Process { pid, started_at: pid.and_then(process::started_at), state }
}

/// Returns the last message of a copy; `None` for a transcript that cannot be read, or is too long for that.
fn last_message(copy: &SessionCopy) -> Option<Message> {
    let agent = agent::by_kind(copy.place.agent())?;
    if let Some(mut last) = agent.last_messages(copy, 1).ok()? {
        return last.pop();
    }
    let mut last = None;
    if copy.transcript_bytes <= LONG_TO_COUNT {
        let read = agent.messages(copy, &mut |message| {
            last = Some(message);
            ControlFlow::Continue(())
        });
        read.ok()?;
    }
    last
}
