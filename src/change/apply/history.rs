//! The earlier runs: their journals in the state directory, and what in the trash has no journal.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::change::apply::journal::{self, Run};
use crate::change::apply::state_dir::order;
use crate::error::PathError;
use crate::session::Problem;
use crate::system::disk::{Disk, Handle, System};
use crate::system::env::Env;

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
        Self::read_on(&System::default(), &env.state_dir(), env.clock.now)
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
