//! Finds launch directories that have become links: an agent that is started there sees the directory to which they
//! lead, and may not find the sessions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::is_launched;
use crate::agent;
use crate::session::Session;
use crate::system::{names, parallel};

/// A launch directory that is a link, or below one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinkedDir {
    /// The directory to which it leads.
    pub target: PathBuf,
    /// The sessions that their agents do not find there, by their indexes.
    pub sessions: Vec<usize>,
}

/// Finds the launch directories that lead to directories where the agents of these sessions do not find them.
pub(crate) fn linked_dirs(sessions: &[Session]) -> BTreeMap<PathBuf, LinkedDir> {
    let mut by_dir: BTreeMap<&Path, Vec<usize>> = BTreeMap::new();
    for (at, session) in sessions.iter().enumerate() {
        if let Some(dir) =
            session.launch_dir().filter(|_| is_launched(session) && session.launch_dir_exists == Some(true))
        {
            by_dir.entry(dir).or_default().push(at);
        }
    }
    let look = |(dir, mut found): (&Path, Vec<usize>)| {
        let target = names::link_target(dir)?;
        found.retain(|at| agent::is_lost_behind_link(sessions[*at].copy(), &target));
        (!found.is_empty()).then(|| (dir.to_owned(), LinkedDir { target, sessions: found }))
    };
    parallel::map(by_dir, look).into_iter().flatten().collect()
}
