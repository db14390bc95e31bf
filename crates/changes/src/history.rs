//! Earlier runs: their journals in the state directory, and trash without a journal.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::bounds::IsKnown;
use crate::disk::{Disk, Handle};
use crate::error::PathError;
use crate::error::Problem;
use crate::journal::{self, Run};
use crate::state_dir::order;

/// The earlier runs, newest first.
#[derive(Debug, Default)]
pub struct History {
    /// The runs.
    pub runs: Vec<Run>,
    /// Unreadable journals, and trash without a journal; all of that is left alone.
    pub problems: Vec<Problem>,
}

impl History {
    /// Checks whether a run with the given name exists, readable or not.
    pub fn has_run(&self, run: &str) -> bool {
        let is_its = |problem: &Problem| problem.path.file_stem().is_some_and(|name| name == run);
        self.runs.iter().any(|known| known.id == run) || self.problems.iter().any(is_its)
    }

    /// Returns the journals of runs that have not ended, or that ended with a stuck item.
    pub fn unsettled(disk: &dyn Disk, state: &Path) -> Result<Vec<PathBuf>, PathError> {
        let runs = state.join("runs");
        let Some((dir, names)) = entries(disk, &runs)? else { return Ok(Vec::new()) };
        let unsettled = names.iter().filter(|name| is_journal(name) && !journal::is_settled(disk, (&dir, name)));
        Ok(unsettled.map(|name| runs.join(name)).collect())
    }

    /// Reads the journals in a state directory at the time `now`; needs no lock and writes nothing.
    pub fn read(disk: &dyn Disk, state: &Path, now: Timestamp, is_known: IsKnown) -> Result<Self, PathError> {
        let mut history = Self::default();
        let (runs, trash) = (state.join("runs"), state.join("trash"));
        let mut known: HashSet<OsString> = HashSet::new();
        if let Some((dir, names)) = entries(disk, &runs)? {
            for name in names.into_iter().filter(|name| is_journal(name)) {
                let path = runs.join(&name);
                known.extend(path.file_stem().map(OsStr::to_owned));
                match Run::read(disk, (&dir, &name), &path, is_known) {
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
        // A clock that was slow for a while does not make trash look old. A clock that was fast delays only the runs up
        // to that time.
        let mut since = Timestamp::MIN;
        for run in history.runs.iter_mut().rev().filter(|run| run.at <= now) {
            since = since.max(run.at);
            run.kept_since = Some(since);
        }
        Ok(history)
    }
}

/// Opens and lists a directory; `None` if it does not exist.
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
