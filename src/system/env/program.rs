//! Programs: the search along `PATH`.

use std::path::{Path, PathBuf};

use super::Env;
use crate::system::reach;

/// The result of a search for a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProgramSearch {
    /// The program can be executed.
    Found(PathBuf),
    /// A file with that name exists, but cannot be executed.
    NotExecutable(PathBuf),
    /// No file of that name exists.
    Missing,
}

fn is_executable(path: &Path) -> bool {
    reach::is_file(path) && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

impl Env {
    /// Finds a program as a shell does: by its path, or in the directories of `PATH`.
    pub(crate) fn find_program(&self, name: &str) -> ProgramSearch {
        if name.contains('/') {
            return ProgramSearch::Found(PathBuf::from(name));
        }
        let mut unusable = None;
        for dir in self.variable("PATH").into_iter().flat_map(std::env::split_paths) {
            let path = dir.join(name);
            if is_executable(&path) {
                return ProgramSearch::Found(path);
            }
            unusable = unusable.or(Some(path).filter(|path| reach::is_file(path)));
        }
        unusable.map_or(ProgramSearch::Missing, ProgramSearch::NotExecutable)
    }
}
