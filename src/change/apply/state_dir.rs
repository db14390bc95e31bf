//! Where changes are made: the state directory with its lock, journals and trash.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::change::apply::fault::Fault;
use crate::change::apply::journal::{Event, Run};
use crate::change::apply::lock::Lock;
use crate::change::apply::{private_dir, tree};
use crate::error::PathError;
use crate::format::jsonl::Jsonl;
use crate::session::Problem;
use crate::system::env::Env;

/// The state directory, locked for one run.
#[derive(Debug)]
pub(crate) struct StateDir {
    pub(crate) runs: PathBuf,
    pub(crate) trash: PathBuf,
    /// Where a run makes ready what it puts somewhere.
    ready: PathBuf,
    pub(crate) fault: Fault,
    _lock: Lock,
}

impl StateDir {
    /// Makes what is missing of the state directory and takes the lock.
    pub(crate) fn open(env: &Env, verb: &str, patience: Duration) -> anyhow::Result<Self> {
        let state = env.state_dir();
        let fault = Fault::from_env(env);
        let (runs, trash) = (state.join("runs"), state.join("trash"));
        for dir in [&state, &runs, &trash] {
            fault
                .point()
                .and_then(|()| tree::make_private_dirs(dir))
                .map_err(|error| PathError::new("make", dir, error))?;
        }
        let lock = Lock::take(&state.join("lock"), verb, env.now, patience)?;
        let state_dir = Self { runs, trash, ready: state.join("ready"), fault, _lock: lock };
        // A run that was killed may have left something, and nobody else is at work now.
        state_dir.clear_ready().map_err(|error| PathError::new("remove", &state_dir.ready, error))?;
        // This is in nobody's way.
        let _ = private_dir::clear_left(&state, &state_dir.fault);
        Ok(state_dir)
    }

    /// Removes what was made ready and not put anywhere.
    pub(crate) fn clear_ready(&self) -> std::io::Result<()> {
        tree::remove(&self.ready, &self.fault)
    }

    /// Returns the journal of a run.
    pub(super) fn journal_of(&self, run: &str) -> PathBuf {
        self.runs.join(format!("{run}.jsonl"))
    }

    /// Forgets a run that changed nothing, and returns whether that is so: as long as anything lies in its trash, it
    /// stays as it is.
    pub(super) fn forget(&self, run: &str) -> bool {
        let is_gone = self.remove_if_empty(&self.trash_of(run));
        is_gone && self.fault.point().and_then(|()| tree::remove(&self.journal_of(run), &self.fault)).is_ok()
    }

    /// Removes a run's directory in the trash once nothing is in it; returns whether it is gone.
    pub(super) fn remove_if_empty(&self, trash: &Path) -> bool {
        #[expect(clippy::disallowed_methods, reason = "apply keeps the trash")]
        let removed = self.fault.point().and_then(|()| std::fs::remove_dir(trash));
        let _ = tree::sync_dir(&self.trash);
        removed.is_ok() || removed.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    }

    /// Returns where a run keeps what it took away.
    pub(crate) fn trash_of(&self, run: &str) -> PathBuf {
        self.trash.join(run)
    }
}

/// What is known of earlier runs, newest first.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The runs.
    pub runs: Vec<Run>,
    /// Journals that are not understood, and what lies in the trash without one; all of that is left alone.
    pub problems: Vec<Problem>,
}

impl History {
    /// Reads the journals; needs no lock and writes nothing.
    pub(crate) fn read(env: &Env) -> Result<Self, PathError> {
        let state = env.state_dir();
        Self::read_dirs(&state.join("runs"), &state.join("trash"))
    }

    /// Tells whether there is a run of this name, be it one that cannot be read.
    pub(crate) fn has(&self, run: &str) -> bool {
        let is_its = |problem: &Problem| problem.path.file_stem().is_some_and(|name| name == run);
        self.runs.iter().any(|known| known.id == run) || self.problems.iter().any(is_its)
    }

    /// Returns the journals that do not end as that of a run which came to its end, with nothing of it stuck.
    pub(crate) fn unsettled(runs: &Path) -> Result<Vec<PathBuf>, PathError> {
        let mut paths = journals(runs)?;
        paths.retain(|path| !is_settled(path));
        Ok(paths)
    }

    pub(super) fn read_dirs(runs: &Path, trash: &Path) -> Result<Self, PathError> {
        let mut history = Self::default();
        let journals = journals(runs)?;
        for path in &journals {
            match Run::read(path) {
                Ok(run) => history.runs.extend(run),
                Err(error) => history.problems.push(Problem { reason: error.reason(), path: error.path }),
            }
        }
        let known: HashSet<_> = journals.iter().filter_map(|path| path.file_stem()).collect();
        for path in entries(trash)? {
            if path.file_name().is_some_and(|name| !known.contains(name)) {
                history.problems.push(Problem { path, reason: "there is no journal of it".to_owned() });
            }
        }
        // Runs of one second have numbers, of which a longer one is the later.
        history.runs.sort_by_key(|run| (run.at, run.id.len(), run.id.clone()));
        history.runs.reverse();
        Ok(history)
    }
}

/// Lists a directory by name; one that is not there is empty.
fn entries(dir: &Path) -> Result<Vec<PathBuf>, PathError> {
    let fail = |error| PathError::new("read", dir, error);
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(fail)?,
    };
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>().map_err(fail)?;
    paths.sort();
    Ok(paths)
}

fn journals(runs: &Path) -> Result<Vec<PathBuf>, PathError> {
    let mut paths = entries(runs)?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    Ok(paths)
}

/// Tells by its last line whether a journal is that of a run which came to its end.
fn is_settled(path: &Path) -> bool {
    let Ok(file) = Jsonl::open(path) else { return false };
    let mut is_settled = false;
    let read = file.lines_backward(|line, is_ended| {
        is_settled = is_ended && matches!(serde_json::from_slice(line), Ok(Event::End { stuck: false, .. }));
        true
    });
    read.is_ok() && is_settled
}

/// Returns the journal of a run.
pub(crate) fn journal(env: &Env, run: &str) -> PathBuf {
    env.state_dir().join("runs").join(format!("{run}.jsonl"))
}

/// Tells whether a run is changing something right now.
pub(crate) fn is_busy(env: &Env) -> bool {
    Lock::is_held(&env.state_dir().join("lock"))
}
