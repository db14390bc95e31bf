//! Reverts half-done items of interrupted runs before anything else is changed.

use jiff::Timestamp;

use crate::error::PathError;
use crate::error::Problem;
use crate::history::History;
use crate::journal::{ItemRecord, ItemState, Journal, JournalEvent, Run};
use crate::state_dir::StateDir;
use crate::undo::hindrance::{Hindrance, LookAgain};
use crate::undo::put_back::{context, is_touched, put_back};
use crate::undo::{name_of, not_understood};

/// Reverts half-done items of interrupted runs; finished items stay, and can be undone.
///
/// A run that cannot be reverted or read keeps everything and is named.
pub fn recover(state_dir: &StateDir, now: Timestamp, look: &mut LookAgain<'_>) -> Result<Vec<String>, PathError> {
    let (mut recovered, disk) = (Vec::new(), state_dir.disk());
    for path in History::unsettled(disk, state_dir.path())? {
        match Run::read(disk, (&state_dir.runs, path.file_name().unwrap_or_default()), &path, state_dir.bounds.is_known)
        {
            Ok(Some(run)) => recovered.extend(recover_run(state_dir, &run, now, look)),
            // It was cut off before its first line, so it did nothing.
            Ok(None) => {
                let problem = Problem { path, reason: "it is empty, but something lies in its trash".to_owned() };
                if !state_dir.forget(name_of(&problem)) {
                    recovered.push(not_understood(&problem, state_dir));
                }
            }
            Err(error) => {
                let problem = Problem { reason: error.reason(), path: error.path };
                recovered.push(not_understood(&problem, state_dir));
            }
        }
    }
    Ok(recovered)
}

pub(super) fn recover_run(state_dir: &StateDir, run: &Run, now: Timestamp, look: &mut LookAgain<'_>) -> Vec<String> {
    let Run { id, verb, .. } = run;
    let recovered = if run.is_purged {
        crate::trash::finish_purge(state_dir, id).map(|()| Vec::new())
    } else if run.has_ended {
        let stuck = run.items.iter().filter_map(|(record, state)| match state {
            ItemState::Stuck(why) => Some((record, why.as_str())),
            ItemState::Begun => Some((record, "it began, and nothing says how it ended")),
            _ => None,
        });
        Ok(stuck.map(|(record, why)| stuck_at(run, record, why)).collect())
    } else {
        put_back_cut_off(state_dir, run, now, look)
    };
    recovered
        .unwrap_or_else(|error| vec![format!("run {id} ({verb}) is stuck: {error}; `rejoin undo {id}` tries again")])
}

/// Returns the message for a stuck item.
fn stuck_at(Run { id, verb, .. }: &Run, record: &ItemRecord, why: &str) -> String {
    format!("run {id} ({verb}) is stuck at {}: {why}; `rejoin undo {id}` tries again", record.label)
}

fn put_back_cut_off(
    state_dir: &StateDir,
    run: &Run,
    now: Timestamp,
    look: &mut LookAgain<'_>,
) -> Result<Vec<String>, PathError> {
    let context = context(state_dir, run)?;
    let mut journal = Journal::reopen(state_dir, &run.id)?;
    let (mut recovered, mut stuck, mut is_waiting) = (Vec::new(), run.is_stuck(), false);
    for (record, state) in run.items.iter().rev() {
        if let ItemState::Stuck(why) = state {
            recovered.push(stuck_at(run, record, why));
        }
        if !matches!(state, ItemState::Begun | ItemState::Planned) {
            continue;
        }
        if *state == ItemState::Planned && !is_touched(&context, record) {
            continue;
        }
        let what = format!("run {} ({}) was interrupted at {}", run.id, run.verb, record.label);
        if let Some(Hindrance { why, .. }) = look(record).filter(|hindrance| hindrance.is_held) {
            is_waiting = true;
            recovered
                .push(format!("{what}, which is left as it is: {why}; `rejoin undo {}` puts it back later", run.id));
            continue;
        }
        match put_back(&context, run, record, None) {
            Ok(()) => {
                journal
                    .write(&JournalEvent::Left { item: record.item, reason: "the run was interrupted".to_owned() })?;
                recovered.push(format!("{what}; that item was undone"));
            }
            Err(left) => {
                let reason = left.why().unwrap_or_default().to_owned();
                stuck = true;
                let again = format!("`rejoin undo {}` tries again", run.id);
                recovered.push(format!("{what}, which could not be undone: {reason}; {again}"));
                journal.write(&JournalEvent::Stuck { item: record.item, reason })?;
            }
        }
    }
    if !is_waiting {
        journal.write(&JournalEvent::End { at: now, stuck })?;
    }
    journal.sync()?;
    if !stuck && !is_waiting {
        state_dir.remove_if_empty(&run.id);
    }
    Ok(recovered)
}
