//! Undoes and recovers runs in an environment.

use std::time::Duration;

use crate::change::apply::in_use::InUse;
use crate::change::apply::{history, refusal, state_dir};
use crate::change::outcome::ItemResult;
use crate::format::command_line;
use crate::system::disk::SYSTEM;
use crate::system::env::Env;
use changes::history::History;
use changes::journal::ItemRecord;
use changes::undo::{self, UndoReport, Which};

/// Undoes a run, or the items that `wanted` selects. A dry run changes nothing; then the items have their expected results.
pub(crate) fn undo(
    which: &Which,
    requested: impl Fn(&ItemRecord) -> bool,
    is_dry_run: bool,
    env: &Env,
    patience: Duration,
) -> anyhow::Result<UndoReport> {
    if is_dry_run {
        // Does not create the state directory if the run does not exist.
        undo::find_run(&history::read(env)?, which).map_err(refusal)?;
    }
    let state_dir = state_dir::open(env, "undo", patience)?;
    let mut in_use = InUse::default();
    let mut look = |record: &ItemRecord| in_use.why(record, env);
    let report = undo::undo(&state_dir, which, requested, is_dry_run, env.clock.now, &mut look);
    let mut report = report.map_err(refusal)?;
    report.items = report.items.into_iter().map(|item| in_home(item, env)).collect();
    Ok(report)
}

/// Makes the commands in a reason act on the home and host of this run.
fn in_home(item: ItemResult, env: &Env) -> ItemResult {
    match item {
        ItemResult::Refused(why) => {
            ItemResult::Refused(command_line::all_in_home(&why, &env.invocation.elsewhere).into_owned())
        }
        item => item,
    }
}

/// Reverts half-done items of interrupted runs, before a plan is based on them.
///
/// Returns one line per item. Without an interrupted run, locks and writes nothing.
pub(crate) fn recover_first(env: &Env, verb: &str, patience: Duration) -> anyhow::Result<Vec<String>> {
    state_dir::refuse_other_owner(env)?;
    if History::unsettled(&SYSTEM, &env.state_dir())?.is_empty() {
        return Ok(Vec::new());
    }
    let (state_dir, mut in_use) = (state_dir::open(env, verb, patience)?, InUse::default());
    Ok(undo::recover(&state_dir, env.clock.now, &mut |record| in_use.why(record, env))?)
}
