//! Finds sub-agents whose files are inside the belongings of another session.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use crate::agent;
use crate::format::text;
use crate::scan::{self, ScanScope};
use crate::session::{AgentKind, Located, Session, SessionKind};
use crate::system::env::Env;
use crate::view::render::table;

/// Returns the sub-agents that are in the belongings of another session, and so are moved with it.
pub(super) fn inner(sessions: &[Session]) -> BTreeSet<(AgentKind, String)> {
    let subagents: Vec<&Session> =
        sessions.iter().filter(|session| session.copy().kind == SessionKind::Subagent).collect();
    if subagents.is_empty() {
        return BTreeSet::new();
    }
    let copies = sessions.iter().flat_map(|session| &session.copies);
    let copies = copies.filter(|copy| copy.kind != SessionKind::Subagent);
    let find = agent::belongings_of_many();
    let belongings = copies.filter_map(|copy| find(&copy.place).ok()).map(|it| it.own.into_iter().chain(it.shared));
    let paths: HashSet<PathBuf> = belongings.flatten().collect();
    let is_inner = |path: &Path| path.ancestors().any(|path| paths.contains(path));
    let inner = subagents.into_iter().filter(|session| session.copies.iter().all(|copy| is_inner(&copy.place.path)));
    inner.map(|session| session.key()).collect()
}

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
    let scan = scan::locate(env, &[session.agent]).read_some(env, ScanScope::GLANCE, may_be);
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
