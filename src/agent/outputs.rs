//! The output of background tasks, which an agent writes outside of its stores.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{about, all};
use crate::agent::listing::tree_size;
use crate::error::reason;
use crate::session::{AgentKind, Problem};
use crate::system::env::Env;
use crate::system::reach;

/// The output directories of sessions, by agent and full id.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outputs {
    by_session: BTreeMap<(AgentKind, String), Vec<PathBuf>>,
    /// Directories that could not be read.
    pub problems: Vec<Problem>,
}

impl Outputs {
    /// Lists the output directories of every agent: `<project>/<id>` below its output directory.
    pub(crate) fn read(env: &Env) -> Self {
        let mut outputs = Self::default();
        for agent in all().iter().map(|agent| agent.kind()) {
            let Some(root) = about(agent).output_dir.and_then(|dir| dir.path(env)) else { continue };
            for project in outputs.dirs_in(&root) {
                for dir in outputs.dirs_in(&project) {
                    if let Some(id) = dir.file_name().and_then(|name| name.to_str()) {
                        outputs.by_session.entry((agent, id.to_owned())).or_default().push(dir);
                    }
                }
            }
        }
        outputs
    }

    /// Lists the directories in a directory, in order, without links.
    fn dirs_in(&mut self, dir: &Path) -> Vec<PathBuf> {
        let entries = reach::read_dir(dir).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
        let entries = entries.unwrap_or_else(|error| {
            if error.kind() != ErrorKind::NotFound {
                self.problems.push(Problem { path: dir.to_owned(), reason: reason(&error) });
            }
            Vec::new()
        });
        let dirs = entries.iter().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let mut dirs: Vec<PathBuf> = dirs.map(std::fs::DirEntry::path).collect();
        dirs.sort();
        dirs
    }

    /// Returns the output directories of a session.
    pub(crate) fn dirs_of_session(&self, agent: AgentKind, id: &str) -> &[PathBuf] {
        self.by_session.get(&(agent, id.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// Returns the size of a session's output in bytes.
    pub(crate) fn size_bytes(&self, agent: AgentKind, id: &str) -> u64 {
        self.dirs_of_session(agent, id).iter().map(|dir| tree_size(dir)).sum()
    }

    /// Returns each output directory with the agent and the id of its session.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (AgentKind, &str, &Path)> {
        let dirs = self.by_session.iter();
        dirs.flat_map(|((agent, id), dirs)| dirs.iter().map(move |dir| (*agent, id.as_str(), dir.as_path())))
    }
}
