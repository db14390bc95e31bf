//! Checks whether a process has a session's file open, for agents without any other record of their processes.

use std::path::{Path, PathBuf};

use crate::session::{Liveness, SessionCopy};
use crate::system::process;

/// Marks the copies whose file a process has open for writing, including those that were written just now and so may be
/// in use. If the system does not show open files, no copy is known to be idle.
pub(super) fn mark_writers(copies: &mut [&mut SessionCopy]) {
    let paths: Vec<PathBuf> = copies.iter().map(|copy| copy.place.path.to_path_buf()).collect();
    let writers = process::writers(&paths.iter().map(PathBuf::as_path).collect::<Vec<&Path>>());
    for copy in copies.iter_mut().filter(|copy| !matches!(copy.liveness, Liveness::Live { .. })) {
        match writers.as_ref().map(|writers| writers.get(&*copy.place.path)) {
            Some(Some(pid)) => copy.liveness = Liveness::Live { pid: *pid },
            None if copy.liveness == Liveness::Idle => {
                let why = "this system does not report which processes have its file open".to_owned();
                copy.liveness = Liveness::Maybe { why };
            }
            _ => {}
        }
    }
}
