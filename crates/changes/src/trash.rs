//! The trash: entries that runs removed, until they are purged.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use jiff::Timestamp;

use crate::disk::For;
use crate::error::PathError;
use crate::history::History;
use crate::journal::{ItemState, Journal, JournalEvent, Run, StepRecord};
use crate::stamp;
use crate::state_dir::{StateDir, journal_name};
use crate::tree;

impl Run {
    /// Returns the items with entries in the trash, and the sizes of these in bytes.
    pub fn trash(&self) -> impl Iterator<Item = (usize, u64)> {
        // An item that was interrupted may have removed something.
        let stays = |state: &ItemState| matches!(state, ItemState::Begun | ItemState::Done | ItemState::Stuck(_));
        let is_kept = move |state: &ItemState| !self.is_purged && stays(state);
        self.items.iter().filter(move |(_, state)| is_kept(state)).filter_map(|(record, _)| {
            let sizes = record.steps.iter().filter_map(|step| match step {
                StepRecord::Trash { stamp, .. } => Some(stamp.size),
                StepRecord::Write { stamp, .. } => stamp.as_ref().map(|stamp| stamp.size),
                StepRecord::MakeDir { .. } | StepRecord::Put { .. } | StepRecord::Move { .. } => None,
            });
            let sizes: Vec<u64> = sizes.collect();
            (!sizes.is_empty()).then(|| (record.item, sizes.iter().sum()))
        })
    }
}

/// Result of a purge.
#[derive(Debug, Default)]
pub struct Purged {
    /// The runs without trash, which can no longer be undone.
    pub runs: Vec<String>,
    /// The bytes freed.
    pub freed_bytes: u64,
    /// Failures, one line each.
    pub failed: Vec<String>,
    /// Set if nothing was changed: then this is the expected result.
    pub is_dry_run: bool,
}

/// Returns the expected result of [`purge`], and changes nothing.
pub fn preview(history: &History, which: &Purge) -> Purged {
    let mut purged = Purged { is_dry_run: true, ..Purged::default() };
    for run in history.runs.iter().filter(|run| !run.is_purged && which.names(run)) {
        match obstacle(run) {
            Some(why) => purged.failed.push(format!("run {} keeps what it removed: {why}", run.id)),
            None => purged.runs.push(run.id.clone()),
        }
    }
    let runs = history.runs.iter().filter(|run| purged.runs.contains(&run.id));
    purged.freed_bytes = runs.flat_map(Run::trash).map(|(_, size_bytes)| size_bytes).sum();
    purged
}

/// Deletes the trash of the selected runs permanently.
///
/// Everything still in the trash afterwards is reported, for whatever reason.
pub fn purge(state_dir: &StateDir, now: Timestamp, which: &Purge) -> Result<Purged, PathError> {
    let history = History::read(state_dir.disk(), state_dir.path(), now, state_dir.bounds.is_known)?;
    let mut purged = Purged::default();
    for problem in &history.problems {
        let name = problem.path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        if which.names_as(name, None) {
            purged.failed.push(format!("run {name} is left as it is: {}", problem.reason));
        }
    }
    for run in history.runs.iter().filter(|run| which.names(run)) {
        let size = tree::size(state_dir.disk(), (&state_dir.trash, OsStr::new(&run.id)));
        let done = match obstacle(run) {
            Some(why) => Err(why.to_owned()),
            None => purge_run(state_dir, run, now).map_err(|error| error.to_string()),
        };
        let left = tree::size(state_dir.disk(), (&state_dir.trash, OsStr::new(&run.id)));
        purged.freed_bytes += size.saturating_sub(left);
        match done {
            Ok(()) => purged.runs.push(run.id.clone()),
            Err(why) => purged.failed.push(format!("run {} keeps {left} bytes in the trash: {why}", run.id)),
        }
    }
    Ok(purged)
}

/// Selects the runs to purge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purge {
    /// Every run.
    All,
    /// Runs before a time.
    Before(Timestamp),
    /// These runs.
    Runs(Vec<String>),
}

impl Purge {
    /// Checks whether a run's trash is selected and can be purged.
    pub fn means(&self, run: &Run) -> bool {
        self.names(run) && obstacle(run).is_none()
    }

    fn names(&self, run: &Run) -> bool {
        self.names_as(&run.id, run.kept_since)
    }

    fn names_as(&self, name: &str, kept_since: Option<Timestamp>) -> bool {
        match self {
            Self::All => true,
            Self::Before(time) => kept_since.is_some_and(|since| since < *time),
            Self::Runs(names) => names.iter().any(|requested| requested == name),
        }
    }
}

/// Returns the reason why a run keeps its trash.
fn obstacle(run: &Run) -> Option<&'static str> {
    if run.is_stuck() {
        Some("it could not be restored completely; undo it first")
    } else if !run.has_ended && !run.is_purged {
        Some("it was cut off; undo it first")
    } else {
        None
    }
}

/// Purges a run; if that fails, the remaining entries can still be restored.
fn purge_run(state_dir: &StateDir, run: &Run, now: Timestamp) -> Result<(), PathError> {
    if !run.is_purged {
        let mut journal = Journal::reopen(state_dir, &run.id)?;
        // Without a journal line, nothing is deleted.
        journal.write(&JournalEvent::End { at: now, stuck: false }).and_then(|()| journal.sync())?;
        empty(state_dir, &run.id).map_err(|error| PathError::new("remove", &state_dir.trash_of(&run.id), error))?;
        journal.write(&JournalEvent::Purged { at: now })?;
        journal.sync()?;
    }
    finish_purge(state_dir, &run.id)
}

/// Removes a run's trash. Renames each entry first, so that a part of it is never taken for the whole.
fn empty(state_dir: &StateDir, run: &str) -> io::Result<()> {
    let disk = state_dir.disk();
    let trash = match disk.open((&state_dir.trash, OsStr::new(run)), For::Dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    for name in disk.list(&trash)? {
        if Path::new(&name).extension().is_some_and(|ending| ending == "rest") {
            tree::remove(disk, (&trash, &name))?;
            continue;
        }
        let mut rest = name.clone();
        rest.push(".rest");
        let stamp = |rest: &OsStr| stamp::take_on(disk, (&trash, rest), Path::new(rest)).ok();
        disk.rename_to_free((&trash, &name), (&trash, &rest))?;
        disk.sync(&trash)?;
        let whole = stamp(&rest);
        if let Err(error) = tree::remove(disk, (&trash, &rest)) {
            // An entry that is still whole can be restored.
            if whole.is_some() && whole == stamp(&rest) {
                disk.rename_to_free((&trash, &rest), (&trash, &name)).and_then(|()| disk.sync(&trash))?;
            }
            return Err(error);
        }
    }
    disk.sync(&trash)
}

/// Removes the rest of a purged run.
pub(super) fn finish_purge(state_dir: &StateDir, run: &str) -> Result<(), PathError> {
    let disk = state_dir.disk();
    let trash = tree::remove(disk, (&state_dir.trash, OsStr::new(run))).and_then(|()| disk.sync(&state_dir.trash));
    trash.map_err(|error| PathError::new("remove", &state_dir.trash_of(run), error))?;
    let journal = tree::remove(disk, (&state_dir.runs, &journal_name(run)));
    journal.map_err(|error| PathError::new("remove", &state_dir.journal_of(run), error))
}
