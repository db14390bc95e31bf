//! Earlier runs in the state directory of an environment.

use std::path::PathBuf;

use crate::change::apply::bounds::is_agent;
use crate::change::apply::state_dir::is_busy;
use crate::error::PathError;
use crate::system::disk::{self, SYSTEM};
use crate::system::env::Env;
use changes::history::History;
use changes::journal::Run;

/// Reads the journals; needs no lock and writes nothing.
pub(crate) fn read(env: &Env) -> Result<History, PathError> {
    History::read(&SYSTEM, &env.state_dir(), env.clock.now, is_agent)
}

/// Returns the runs that did not finish; none while a run is in progress. Reads no other journal.
pub(crate) fn interrupted(env: &Env) -> Vec<Run> {
    let paths = History::unsettled(&SYSTEM, &env.state_dir()).unwrap_or_default();
    if paths.is_empty() || is_busy(env) {
        return Vec::new();
    }
    let read = |path: PathBuf| {
        let (dir, name) = disk::open_parent(&SYSTEM, &path).ok()?;
        Run::read(&SYSTEM, (&dir, &name), &path, is_agent).ok().flatten()
    };
    paths.into_iter().filter_map(read).filter(Run::is_interrupted).collect()
}
