//! Undoes one item: every step of it, unless one of them is blocked.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::io;

use crate::disk::{Access, For};
use crate::error::PathError;
use crate::journal::{ItemRecord, ItemState, Journal, JournalEvent, Run, StepRecord};
use crate::outcome::ItemResult;
use crate::state_dir::StateDir;
use crate::step::{StepContext, StepError, StepState};

/// Returns the context of an earlier run's steps; makes its missing directory in the trash for reverted entries. Fails if
/// the run names a path outside the bounds.
pub(super) fn context<'a>(state_dir: &'a StateDir, run: &'a Run) -> Result<StepContext<'a>, PathError> {
    let outside = run
        .items
        .iter()
        .find_map(|(record, _)| state_dir.bounds.check(record.steps.iter().flat_map(StepRecord::paths)).err());
    if let Some(why) = outside {
        return Err(PathError::new(
            "undo",
            &state_dir.journal_of(&run.id),
            io::Error::other(format!("{why}, or move this journal away")),
        ));
    }
    let (disk, at) = (state_dir.disk(), (&state_dir.trash, OsStr::new(&run.id)));
    let opened = match disk.open(at, For::Dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => disk
            .make_dir(at, Access::Private)
            .and_then(|()| disk.sync(&state_dir.trash))
            .and_then(|()| disk.open(at, For::Dir)),
        opened => opened,
    };
    let trash = opened.map_err(|error| PathError::new("open", &state_dir.trash_of(&run.id), error))?;
    let made = RefCell::new(run.made.clone());
    Ok(StepContext { disk, run: &run.id, trash, made, resolved: RefCell::default() })
}

/// Fails with the reason if a step of an item is blocked.
pub(super) fn is_free(context: &StepContext<'_>, record: &ItemRecord) -> Result<(), String> {
    record.steps.iter().enumerate().try_for_each(|(at, step)| match context.standing(step) {
        // The obstacle is from a later step, which is undone first.
        Ok(StepState::Blocked(_)) if is_replaced(context, step, &record.steps[at + 1..]) => Ok(()),
        Ok(StepState::Blocked(why)) => Err(why),
        Ok(_) => Ok(()),
        Err(error) => Err(format!("cannot check {}: {error}", step.path().display())),
    })
}

/// Checks whether a later step created an entry at the path that this one cleared.
fn is_replaced(context: &StepContext<'_>, step: &StepRecord, later: &[StepRecord]) -> bool {
    let mut later = later.iter().filter(|later| matches!(later, StepRecord::Put { .. }) && later.path() == step.path());
    matches!(step, StepRecord::Trash { .. }) && later.any(|put| matches!(context.standing(put), Ok(StepState::After)))
}

/// Undoes every step of an item, the last first, unless one of them is blocked. Fails with the result of the item.
pub(super) fn put_back(
    context: &StepContext<'_>,
    run: &Run,
    record: &ItemRecord,
    journal: Option<&mut Journal<'_>>,
) -> Result<(), ItemResult> {
    is_free(context, record).map_err(ItemResult::Refused)?;
    let is_done = run.items.get(record.item).is_some_and(|(_, state)| *state == ItemState::Done);
    let failed = |error: StepError| {
        let is_back = |step| !matches!(context.standing(step), Ok(StepState::After));
        if is_done && record.steps.iter().any(is_back) {
            ItemResult::Failed(format!("{error}; a part of it is back"))
        } else {
            ItemResult::Refused(error.to_string())
        }
    };
    if let Some(journal) = journal {
        let dir_times = record.steps.iter().map(|step| context.dir_times(step.path())).collect();
        let undoing = JournalEvent::Undoing { item: record.item, dir_times };
        journal.write(&undoing).map_err(|error| ItemResult::Refused(error.to_string()))?;
    }
    for (at, step) in record.steps.iter().enumerate().rev() {
        context.revert(step).map_err(failed)?;
        // An incomplete step may not have restored the directory's times itself.
        let place = (record.item, at);
        let half_done = run.dir_times.get(&place).filter(|_| !is_done);
        if let Some(times) = half_done.or(run.undo_times.get(&place)) {
            context.restore_dir_times(step, *times).map_err(failed)?;
        }
    }
    Ok(())
}

/// Checks whether anything shows that an item was begun, though the journal does not.
pub(super) fn is_touched(context: &StepContext<'_>, record: &ItemRecord) -> bool {
    record.steps.iter().any(|step| !matches!(context.is_touched(step), Ok(false)))
}
