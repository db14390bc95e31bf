//! Checks whether a process writes to the files of a session, because few agents record their processes.

use std::path::{Path, PathBuf};

use super::{Programs, about, by_kind};
use crate::session::{Liveness, SessionCopy};
use crate::system::process;

/// Marks the copies that a program names on its command line, or whose conversation a process has open for writing.
/// Includes those that were just written and so may be in use. This is too slow for every list.
pub(crate) fn mark_writers(copies: &mut [&mut SessionCopy]) {
    let written = |copy: &SessionCopy| by_kind(copy.place.agent()).map(|agent| agent.written(&copy.place));
    let files: Vec<Vec<PathBuf>> = copies.iter().map(|copy| written(copy).unwrap_or_default()).collect();
    let all: Vec<&Path> = files.iter().flatten().map(PathBuf::as_path).collect();
    let programs = Programs::now();
    for copy in copies.iter_mut() {
        if let Some(pid) = programs.user_of(&copy.place) {
            copy.liveness = Liveness::Live { pid };
        }
    }
    if all.is_empty() {
        return;
    }
    let writers = process::writers(&all);
    let are_idle = |(copy, files): &(&mut &mut SessionCopy, &Vec<PathBuf>)| {
        !files.is_empty() && !matches!(copy.liveness, Liveness::Live { .. })
    };
    for (copy, files) in copies.iter_mut().zip(&files).filter(are_idle) {
        match writers.as_ref().map(|writers| files.iter().find_map(|file| writers.get(file))) {
            Some(Some(pid)) => copy.liveness = Liveness::Live { pid: *pid },
            None if copy.liveness == Liveness::Idle && about(copy.place.agent()).has_open_file_only => {
                let why = "this system does not report which processes have its file open".to_owned();
                copy.liveness = Liveness::Maybe { why };
            }
            _ => {}
        }
    }
}
