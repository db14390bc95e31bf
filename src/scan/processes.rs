//! The processes that use sessions.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::agent;
use crate::scan::LONG_TO_COUNT;
use crate::session::process::{Process, State};
use crate::session::{Liveness, Message, Session, SessionCopy};
use crate::system::env::Env;
use crate::system::process;

/// Checks which of these sessions are in use as thoroughly as each agent allows, which is too slow for every list.
pub(crate) fn verify(sessions: &mut [Session], env: &Env) {
    for agent in agent::all() {
        let own = sessions.iter_mut().filter(|session| session.agent == agent.kind());
        let mut copies: Vec<&mut SessionCopy> = own.flat_map(|session| &mut session.copies).collect();
        if !copies.is_empty() {
            agent.verify(&mut copies, env);
        }
    }
    mark_writers(&mut sessions.iter_mut().flat_map(|session| &mut session.copies).collect::<Vec<_>>());
    sessions.iter_mut().for_each(Session::assess);
}

/// Marks the copies to whose conversation a process may write, because it has the file open for that. Few agents say by a
/// lock that they do.
pub(crate) fn mark_writers(copies: &mut [&mut SessionCopy]) {
    let written = |copy: &SessionCopy| {
        agent::by_kind(copy.place.agent()).map(|agent| agent.written(&copy.place)).unwrap_or_default()
    };
    let files: Vec<Vec<PathBuf>> = copies.iter().map(|copy| written(copy)).collect();
    let all: Vec<&Path> = files.iter().flatten().map(PathBuf::as_path).collect();
    let writers = process::writers(&all).unwrap_or_default();
    for (copy, files) in copies.iter_mut().zip(&files).filter(|_| !writers.is_empty()) {
        let pid = files.iter().find_map(|file| writers.get(file));
        if let (Some(pid), false) = (pid, matches!(copy.liveness, Liveness::Live { .. })) {
            copy.liveness = Liveness::Live { pid: *pid };
        }
    }
}

/// Notes the process of each session that is in use, or may be.
pub(crate) fn note(sessions: &mut [Session]) {
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

/// Returns the last message of a copy. A transcript that cannot be read, or is too long to read for that, has none.
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
