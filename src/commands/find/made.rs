//! The sub-agents of one session, found without reading every session of its agent.

use std::collections::BTreeSet;

use crate::agent;
use crate::format::text;
use crate::scan::{self, Wanted};
use crate::session::{Located, Session, SessionKind};
use crate::system::env::Env;
use crate::view::render::table;

/// Maximum sub-agents that a note names.
const NAMED: usize = 5;

/// Returns the sub-agents of a session, the oldest first: transcripts whose place names it, and transcripts next to it that
/// name it in their records, such as those of a team.
pub(crate) fn made_by(session: &Session, env: &Env) -> Vec<Session> {
    let Some(agent) = agent::by_kind(session.agent) else { return Vec::new() };
    let dirs: BTreeSet<_> = session.copies.iter().filter_map(|copy| copy.place.path.parent()).collect();
    let may_be = |place: &Located| {
        // A database names the parent of each sub-agent.
        let is_next_to =
            || agent.agent_managed(place).is_none() && place.path.parent().is_some_and(|dir| dirs.contains(dir));
        place.parent_id.as_deref() == Some(session.id()) || (place.parent_id.is_none() && is_next_to())
    };
    let scan = scan::locate(env, &[session.agent]).read_some(env, Wanted::GLANCE, may_be);
    let is_made = |other: &Session| {
        let copy = other.copy();
        copy.kind == SessionKind::Subagent && copy.parent_id.as_deref() == Some(session.id())
    };
    let mut made: Vec<Session> = scan.sessions.into_iter().filter(is_made).collect();
    made.sort_by_key(|session| session.copy().created_at.as_ref().map(|at| at.value));
    made
}

/// Names the sub-agents of a session in its notes.
pub(crate) fn note_made(session: &mut Session, made: &[Session]) {
    if made.is_empty() {
        return;
    }
    let name = |made: &Session| format!("{} ({})", made.id(), text::truncated(&table::title(made), 60));
    let mut names: Vec<String> = made.iter().take(NAMED).map(name).collect();
    names.extend((made.len() > NAMED).then(|| format!("and {} more", made.len() - NAMED)));
    session.copies[0].notes.push(format!("it has {}: {}", text::count(made.len(), "sub-agent"), names.join(", ")));
}
