//! Earlier runs in the state directory of an environment.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::change::apply::bounds::is_agent;
use crate::change::apply::state_dir::is_busy;
use crate::error::PathError;
use crate::system::disk::{self, SYSTEM};
use crate::system::env::Env;
use changes::history::History;
use changes::journal::{ItemRecord, Run, State, StepRecord};

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

/// Returns the sessions that runs removed, and that no later run put in place again; newest first.
pub(crate) fn in_trash(history: &History) -> Vec<(&Run, &ItemRecord)> {
    // A session that a later run put in place is not restored from an earlier one.
    let mut later = BTreeSet::new();
    let mut entries: Vec<(&Run, &ItemRecord)> = Vec::new();
    for run in &history.runs {
        let kept = run.trash().map(|(item, _)| &run.items[item].0);
        entries.extend(kept.filter(|record| !later.contains(&(&record.agent, &record.id))).map(|record| (run, record)));
        let is_put = |step: &StepRecord| matches!(step, StepRecord::Put { .. });
        let stays = |state: &State| matches!(state, State::Done | State::Stuck(_));
        let put = run.items.iter().filter(|(record, state)| stays(state) && record.steps.iter().any(is_put));
        later.extend(put.map(|(record, _)| (&record.agent, &record.id)));
    }
    entries
}
