//! The trash: what runs took away, until it is purged.

use std::time::Duration;

use jiff::Timestamp;

use crate::change::apply::journal::{Event, Journal, Run, State, StepRecord};
use crate::change::apply::state_dir::{History, StateDir};
use crate::change::apply::tree;
use crate::error::PathError;
use crate::system::env::Env;

/// Something that lies in the trash.
#[derive(Clone, Debug)]
pub(crate) struct Entry<'a> {
    /// The run that took it away.
    pub run: &'a Run,
    /// The item of that run.
    pub item: usize,
    /// Its bytes.
    pub size_bytes: u64,
}

/// Returns what lies in the trash, newest run first.
pub(crate) fn entries(history: &History) -> impl Iterator<Item = Entry<'_>> {
    let kept = history.runs.iter().filter(|run| !run.is_purged);
    kept.flat_map(|run| {
        let done = run.items.iter().filter(|(_, state)| matches!(state, State::Done | State::Stuck(_)));
        done.filter_map(move |(record, _)| {
            let sizes = record.steps.iter().filter_map(|step| match step {
                StepRecord::Trash { stamp, .. } => Some(stamp.size),
                StepRecord::Write { stamp, .. } => stamp.as_ref().map(|stamp| stamp.size),
                StepRecord::MakeDir { .. } | StepRecord::Put { .. } => None,
            });
            let sizes: Vec<u64> = sizes.collect();
            (!sizes.is_empty()).then(|| Entry { run, item: record.item, size_bytes: sizes.iter().sum() })
        })
    })
}

/// What purging did.
#[derive(Debug, Default)]
pub(crate) struct Purged {
    /// The runs whose trash is gone; they can no longer be undone.
    pub runs: Vec<String>,
    /// The bytes that became free.
    pub freed_bytes: u64,
    /// What could not be purged, one line each.
    pub failed: Vec<String>,
}

/// Deletes for good what runs before a time took away, or what the named runs did.
pub(crate) fn purge(env: &Env, which: &Purge, patience: Duration) -> anyhow::Result<Purged> {
    let state_dir = StateDir::open(env, "trash purge", patience)?;
    let history = History::read_dir(&state_dir.runs);
    let mut purged = Purged::default();
    for run in &history.runs {
        if !which.means(run) {
            continue;
        }
        let size = crate::agent::tree_size(&state_dir.trash_of(&run.id));
        match purge_run(&state_dir, run, env) {
            Ok(()) => {
                purged.runs.push(run.id.clone());
                purged.freed_bytes += size;
            }
            Err(error) => purged.failed.push(error.to_string()),
        }
    }
    Ok(purged)
}

/// What is purged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Purge {
    /// Everything.
    All,
    /// What runs before this time took away.
    Before(Timestamp),
    /// What these runs took away.
    Runs(Vec<String>),
}

impl Purge {
    /// Tells whether a run's trash is meant; one that was cut off, or could not be put back, keeps it.
    pub(crate) fn means(&self, run: &Run) -> bool {
        let is_named = match self {
            Self::All => true,
            Self::Before(time) => run.at < *time,
            Self::Runs(names) => names.contains(&run.id),
        };
        is_named && run.has_ended && !run.is_stuck()
    }
}

fn purge_run(state_dir: &StateDir, run: &Run, env: &Env) -> Result<(), PathError> {
    if !run.is_purged {
        let mut journal = Journal::reopen(&state_dir.runs, &run.id, &state_dir.fault)?;
        journal.write(&Event::Purged { at: env.now })?;
        journal.sync()?;
    }
    finish_purge(state_dir, &run.id)
}

/// Removes what is left of a purged run.
pub(super) fn finish_purge(state_dir: &StateDir, run: &str) -> Result<(), PathError> {
    let trash = state_dir.trash_of(run);
    tree::remove(&trash, &state_dir.fault).map_err(|error| PathError::new("remove", &trash, error))?;
    let journal = state_dir.runs.join(format!("{run}.jsonl"));
    tree::remove(&journal, &state_dir.fault).map_err(|error| PathError::new("remove", &journal, error))
}
