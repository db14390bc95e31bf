//! Where changes are made: the state directory with its lock, journals and trash.

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
    /// Journals that could not be read.
    pub problems: Vec<Problem>,
}

impl History {
    /// Reads the journals; needs no lock and writes nothing.
    pub(crate) fn read(env: &Env) -> Self {
        Self::read_dir(&env.state_dir().join("runs"))
    }

    /// Returns the journals that do not end as that of a run which came to its end.
    pub(crate) fn unsettled(dir: &Path) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = journals(dir).filter(|path| !has_ended(path)).collect();
        paths.sort();
        paths
    }

    pub(crate) fn read_dir(dir: &Path) -> Self {
        let mut history = Self::default();
        for path in journals(dir) {
            match Run::read(&path) {
                Ok(run) => history.runs.extend(run),
                Err(error) => history.problems.push(Problem { reason: error.reason(), path: error.path }),
            }
        }
        // Runs of one second have numbers, of which a longer one is the later.
        history.runs.sort_by_key(|run| (run.at, run.id.len(), run.id.clone()));
        history.runs.reverse();
        history
    }
}

fn journals(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
}

/// Tells by its last line whether a journal is that of a run which came to its end.
fn has_ended(path: &Path) -> bool {
    let Ok(file) = Jsonl::open(path) else { return false };
    let mut has_ended = false;
    let read = file.lines_backward(|line, _| {
        has_ended = matches!(serde_json::from_slice(line), Ok(Event::End { .. }));
        true
    });
    read.is_ok() && has_ended
}

/// Returns the journal of a run.
pub(crate) fn journal(env: &Env, run: &str) -> PathBuf {
    env.state_dir().join("runs").join(format!("{run}.jsonl"))
}

/// Tells whether a run is changing something right now.
pub(crate) fn is_busy(env: &Env) -> bool {
    Lock::is_held(&env.state_dir().join("lock"))
}
