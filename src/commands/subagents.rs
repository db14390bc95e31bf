//! Finds sub-agents whose files are inside the belongings of another session.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use crate::agent;
use crate::session::{AgentKind, Session, SessionKind};

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
