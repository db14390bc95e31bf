//! Where changes are made: the state directory with its lock, journals and trash.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::change::apply::journal::{self, Run};
use crate::change::apply::lock::Lock;
use crate::change::apply::{private_dir, tree};
use crate::error::PathError;
use crate::session::Problem;
use crate::system::disk::{self, Access, Disk, Handle, System};
use crate::system::env::Env;

/// The state directory, locked for one verb.
#[derive(Debug)]
pub(crate) struct StateDir {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    /// The directory itself, that of the journals and that of the trash.
    state: Handle,
    pub(super) runs: Handle,
    pub(super) trash: Handle,
    _lock: Lock,
}

impl StateDir {
    /// Makes what is missing of the state directory and takes the lock.
    pub(crate) fn open(env: &Env, verb: &str, patience: Duration) -> anyhow::Result<Self> {
        Self::open_on(Arc::new(System::new(env)), env.state_dir(), env.now, verb, patience)
    }

    /// Does the same on this disk, in the directory `path`.
    pub(crate) fn open_on(
        disk: Arc<dyn Disk>,
        path: PathBuf,
        now: Timestamp,
        verb: &str,
        patience: Duration,
    ) -> anyhow::Result<Self> {
        let make = |path: &Path| {
            disk::make_dirs(&*disk, path, Access::Private).map_err(|error| PathError::new("create", path, error))
        };
        let state = make(&path)?;
        let (runs, trash) = (make(&path.join("runs"))?, make(&path.join("trash"))?);
        let lock = Lock::take(&*disk, (&state, &path), verb, now, patience)?;
        let state_dir = Self { disk, path, state, runs, trash, _lock: lock };
        // A killed run may have left something, and no other run is active now.
        state_dir.clear_ready().map_err(|error| PathError::new("remove", &state_dir.path.join(READY), error))?;
        // It is in no one's way.
        let _ = private_dir::clear_left(&*state_dir.disk, &state_dir.state);
        Ok(state_dir)
    }

    /// Returns the disk that it is on.
    pub(crate) fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    /// Returns its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes what was made ready and not put anywhere.
    pub(crate) fn clear_ready(&self) -> io::Result<()> {
        tree::remove(self.disk(), (&self.state, OsStr::new(READY)))
    }

    /// Returns the latest second and number among the names in the journals and in the trash.
    pub(super) fn newest_order(&self) -> Result<Option<(String, u64)>, PathError> {
        let list = |dir| self.disk.list(dir).map_err(|error| PathError::new("read", &self.path, error));
        let names = list(&self.runs)?.into_iter().chain(list(&self.trash)?);
        let orders = names.filter_map(|name| {
            let (second, number) = order(name.to_str()?.trim_end_matches(".jsonl"))?;
            Some((second.to_owned(), number))
        });
        Ok(orders.max())
    }

    /// Forgets a run that changed nothing, and returns whether that is so: as long as anything lies in its trash, it
    /// stays as it is.
    pub(super) fn forget(&self, run: &str) -> bool {
        self.remove_if_empty(run) && tree::remove(self.disk(), (&self.runs, &journal_name(run))).is_ok()
    }

    /// Removes a run's directory in the trash once nothing is in it; returns whether it is gone.
    pub(super) fn remove_if_empty(&self, run: &str) -> bool {
        let removed = self.disk.remove_dir((&self.trash, OsStr::new(run)));
        let is_gone = removed.is_ok() || removed.is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        let _ = self.disk.sync(&self.trash);
        is_gone
    }

    /// Returns where the journal of a run is, for a person to read.
    pub(super) fn journal_of(&self, run: &str) -> PathBuf {
        self.path.join("runs").join(journal_name(run))
    }

    /// Returns where a run keeps what it took away, for a person to read.
    pub(super) fn trash_of(&self, run: &str) -> PathBuf {
        self.path.join("trash").join(run)
    }
}

/// The directory in the state directory where a run makes ready what it puts somewhere.
pub(crate) const READY: &str = "ready";

/// Returns the order of a run among all, by its name: the second that the name begins with, and its number among the runs of
/// that second. `None` if it is not the name of a run.
pub(super) fn order(run: &str) -> Option<(&str, u64)> {
    let (second, rest) = run.split_at_checked(SECOND.len())?;
    let is_second = second.bytes().zip(SECOND).all(|(byte, pattern)| match pattern {
        b'0' => byte.is_ascii_digit(),
        _ => byte == *pattern,
    });
    let number = if rest.is_empty() { 1 } else { rest.strip_prefix('-')?.parse().ok()? };
    is_second.then_some((second, number))
}

/// Pattern of the beginning of a run's name, with a 0 for each digit.
const SECOND: &[u8; 15] = b"00000000-000000";

/// Returns the name of a run's journal.
pub(super) fn journal_name(run: &str) -> OsString {
    format!("{run}.jsonl").into()
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
        Self::read_on(&System::default(), &env.state_dir(), env.now)
    }

    /// Returns whether there is a run of this name, be it one that cannot be read.
    pub(crate) fn has(&self, run: &str) -> bool {
        let is_its = |problem: &Problem| problem.path.file_stem().is_some_and(|name| name == run);
        self.runs.iter().any(|known| known.id == run) || self.problems.iter().any(is_its)
    }

    /// Returns the journals that do not end as that of a run which came to its end, with nothing of it stuck, each with
    /// the name of its run.
    pub(super) fn unsettled(disk: &dyn Disk, state: &Path) -> Result<Vec<PathBuf>, PathError> {
        let runs = state.join("runs");
        let Some((dir, names)) = entries(disk, &runs)? else { return Ok(Vec::new()) };
        let unsettled = names.iter().filter(|name| is_journal(name) && !journal::is_settled(disk, (&dir, name)));
        Ok(unsettled.map(|name| runs.join(name)).collect())
    }

    /// Reads the journals in a state directory at the time `now`.
    pub(super) fn read_on(disk: &dyn Disk, state: &Path, now: Timestamp) -> Result<Self, PathError> {
        let mut history = Self::default();
        let (runs, trash) = (state.join("runs"), state.join("trash"));
        let mut known: HashSet<OsString> = HashSet::new();
        if let Some((dir, names)) = entries(disk, &runs)? {
            for name in names.into_iter().filter(|name| is_journal(name)) {
                let path = runs.join(&name);
                known.extend(path.file_stem().map(OsStr::to_owned));
                match Run::read(disk, (&dir, &name), &path) {
                    Ok(run) => history.runs.extend(run),
                    Err(error) => history.problems.push(Problem { reason: error.reason(), path }),
                }
            }
        }
        let kept = entries(disk, &trash)?.map(|(_, names)| names).unwrap_or_default();
        for name in kept.into_iter().filter(|name| !known.contains(name)) {
            history.problems.push(Problem { path: trash.join(name), reason: "there is no journal of it".to_owned() });
        }
        history.runs.sort_by(|one, other| order(&other.id).cmp(&order(&one.id)));
        // A clock that was behind for a moment makes no trash old. One that was ahead makes none of later runs young for longer
        // than until that time.
        let mut since = Timestamp::MIN;
        for run in history.runs.iter_mut().rev().filter(|run| run.at <= now) {
            since = since.max(run.at);
            run.kept_since = Some(since);
        }
        Ok(history)
    }
}

/// Opens and lists a directory; `None` when it is not there.
fn entries(disk: &dyn Disk, dir: &Path) -> Result<Option<(Handle, Vec<OsString>)>, PathError> {
    let fail = |error| PathError::new("read", dir, error);
    match disk.open_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => {
            let opened = opened.map_err(fail)?;
            let names = disk.list(&opened).map_err(fail)?;
            Ok(Some((opened, names)))
        }
    }
}

fn is_journal(name: &OsStr) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "jsonl")
}

/// Returns the journal of a run.
pub(crate) fn journal(env: &Env, run: &str) -> PathBuf {
    env.state_dir().join("runs").join(format!("{run}.jsonl"))
}

/// Returns whether a run is changing something right now.
pub(crate) fn is_busy(env: &Env) -> bool {
    Lock::is_held(&env.state_dir())
}
