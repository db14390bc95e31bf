//! Reasons why a copy must not be changed: it is behind a link out of its store, a process uses it, or its agent was
//! never measured.

use std::path::Path;

use crate::agent;
use crate::session::{Liveness, Located, SessionCopy, Store};
use crate::system::links;

/// Returns the reason to leave a copy alone: it is behind a link out of its store, its agent was never measured, or a
/// process uses it, or may.
pub(crate) fn left_alone(copy: &SessionCopy) -> Option<String> {
    out_of_store(&copy.place).or_else(|| only_read(&copy.place)).or_else(|| in_use(copy))
}

/// Returns a reason if the files of a copy's agent were never measured.
pub(crate) fn only_read(place: &Located) -> Option<String> {
    agent::about(place.agent()).only_read()
}

/// Returns a reason if a link in the store points to a copy outside: such files are read, but other stores may share them.
pub(crate) fn out_of_store(place: &Located) -> Option<String> {
    behind_link(&place.store, &place.path)
}

/// Like [`out_of_store`], for any path below the root of a store.
pub(crate) fn behind_link(store: &Store, path: &Path) -> Option<String> {
    let link = links::out_of(&store.root, path)?;
    Some(format!("{} is a link that leads out of the store, so what is behind it is not changed", link.display()))
}

/// Returns a reason if a process uses a copy, or may.
pub(crate) fn in_use(copy: &SessionCopy) -> Option<String> {
    match &copy.liveness {
        Liveness::Live { pid } => Some(format!("it is in use by process {pid}")),
        Liveness::Maybe { why } => Some(format!("it may be in use: {why}")),
        Liveness::Idle => None,
    }
}
