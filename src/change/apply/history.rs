//! Earlier runs in the state directory of an environment.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::change::apply::bounds::is_agent;
use crate::change::apply::state_dir::is_busy;
use crate::error::PathError;
use crate::system::disk::{self, Access, SYSTEM};
use crate::system::env::Env;
use crate::system::state_file;
use changes::history::History;
use changes::journal::{ItemRecord, ItemState, Run, StepRecord};
use changes::state_dir::{StateDir, order};

/// The file with the newest run whose trash was deleted immediately. Its journal is gone, so `undo` would otherwise
/// select the run before it.
const PERMANENT: &str = "permanent.json";

/// A run that cannot be undone, because `--permanent` deleted its trash.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Permanent {
    run: String,
    /// The command.
    pub verb: String,
}

impl Permanent {
    /// Records a run before its trash is deleted.
    pub(crate) fn record_permanent(state_dir: &StateDir, run: &str, verb: &str) -> anyhow::Result<()> {
        let noted = state_file::to_json(&Self { run: run.to_owned(), verb: verb.to_owned() })?;
        Ok(disk::save(state_dir.disk(), &state_dir.path().join(PERMANENT), Access::Private, &noted)?)
    }

    /// Returns the newest permanently deleted run if it is later than `run`.
    pub(crate) fn after(run: &str, env: &Env) -> anyhow::Result<Option<Self>> {
        let noted: Self = state_file::read(&SYSTEM, &env.state_dir().join(PERMANENT)).map_err(anyhow::Error::msg)?;
        Ok(Some(noted).filter(|noted| order(&noted.run) > order(run)))
    }
}

/// Reads the journals; needs no lock and writes nothing.
pub(crate) fn read(env: &Env) -> Result<History, PathError> {
    History::read(&SYSTEM, &env.state_dir(), env.clock.now, is_agent)
}

/// Returns the interrupted runs; none while a run is in progress. Reads no other journal.
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

/// Returns the sessions that runs removed and no later run restored, newest first.
pub(crate) fn in_trash(history: &History) -> Vec<(&Run, &ItemRecord)> {
    // A session that a later run restored is not restored from an earlier one.
    let mut later = BTreeSet::new();
    let mut entries: Vec<(&Run, &ItemRecord)> = Vec::new();
    for run in &history.runs {
        // A rename keeps the old version of a file there.
        let kept = run.trash().map(|(item, _)| &run.items[item].0).filter(|record| record.code != "title");
        entries.extend(kept.filter(|record| !later.contains(&(&record.agent, &record.id))).map(|record| (run, record)));
        let is_put = |step: &StepRecord| matches!(step, StepRecord::Put { .. });
        let stays = |state: &ItemState| matches!(state, ItemState::Done | ItemState::Stuck(_));
        let put = run.items.iter().filter(|(record, state)| stays(state) && record.steps.iter().any(is_put));
        later.extend(put.map(|(record, _)| (&record.agent, &record.id)));
    }
    entries
}
