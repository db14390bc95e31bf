//! Carries out a change in an environment, with a final check of each copy.

use std::cell::LazyCell;
use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use crate::agent::{self, Agent, Depth, Inspector, Programs, ReadContext};
use crate::change::apply::state_dir;
use crate::change::hindrance::{in_use, only_read, out_of_store};
use crate::change::outcome::ChangeOutcome;
use crate::change::plan::change::{Change, ChangeItem, PlannedCopy, Step};
use crate::error::PathError;
use crate::session::{Located, SessionCopy};
use crate::system::env::Env;
use crate::system::reach;
use changes::state_dir::StateDir;
use changes::{plan, run};

/// Applies a change, waiting at most `patience` for another run to end.
///
/// Continues after an item that fails. Fails as a whole only before the first change.
pub(crate) fn run(change: &Change, env: &Env, patience: Duration) -> anyhow::Result<ChangeOutcome> {
    if change.items.is_empty() {
        return Ok(ChangeOutcome::default());
    }
    Ok(run_locked(&state_dir::open(env, change.verb, patience)?, change, env, &mut |_| {})?)
}

/// Like [`run`], under a lock that the caller holds; reports the number of finished items to `watch` after each item.
pub(crate) fn run_locked(
    state_dir: &StateDir,
    change: &Change,
    env: &Env,
    watch: &mut dyn FnMut(usize),
) -> Result<ChangeOutcome, PathError> {
    let programs = LazyCell::new(Programs::now);
    let leaves = |step: &Step| matches!(step, Step::Trash { .. } | Step::Move { .. });
    let left = change.items.iter().filter(|item| item.steps.iter().any(leaves)).flat_map(|item| &item.seen);
    let left: HashSet<&Path> = left.map(|seen| &*seen.place.path).collect();
    // A client that waits for input would write the session at its old place again, with only the next prompt.
    let look = |seen: &PlannedCopy| {
        let is_left = left.contains(&*seen.place.path);
        look_again(seen, is_left.then(|| &*programs), env)
    };
    carry_out(state_dir, change, env, &look, watch)
}

/// Like [`run_locked`], for sessions that this process has just written: their new times do not show use.
pub(crate) fn run_arrived(state_dir: &StateDir, change: &Change, env: &Env) -> Result<ChangeOutcome, PathError> {
    let later = env.after_arrival();
    carry_out(state_dir, change, env, &|seen| look_again(seen, None, &later), &mut |_| {})
}

/// Carries out a change; `look` returns the reason to leave a copy alone.
fn carry_out(
    state_dir: &StateDir,
    change: &Change,
    env: &Env,
    look: &dyn Fn(&PlannedCopy) -> Option<String>,
    watch: &mut dyn FnMut(usize),
) -> Result<ChangeOutcome, PathError> {
    let items: Vec<_> = change.items.iter().map(planned).collect();
    let look = |number: usize| change.items[number].seen.iter().find_map(look);
    Ok(run::run(state_dir, (change.verb, &items), env.clock.now, &look, watch)?.into())
}

/// Converts an item to the engine's type.
fn planned(item: &ChangeItem) -> plan::RunItem<'_> {
    plan::RunItem {
        label: &item.about,
        owner: item.about.session().map(|(agent, id)| (agent.name(), id)),
        title: item.title.as_deref(),
        code: item.code,
        reason: &item.reason,
        needs: item.needs,
        after: item.after,
        steps: &item.steps,
    }
}

/// Checks a copy right before it is changed; returns the reason to leave it alone.
fn look_again(seen: &PlannedCopy, programs: Option<&Programs>, env: &Env) -> Option<String> {
    let agent = agent::by_kind(seen.place.agent())?;
    if let Some(why) = out_of_store(&seen.place).or_else(|| only_read(&seen.place)) {
        return Some(why);
    }
    let root = reach::canonicalize(&seen.place.store.root).ok();
    let dir = seen.place.path.parent().and_then(|dir| reach::canonicalize(dir).ok());
    if !root.zip(dir).is_some_and(|(root, dir)| dir.starts_with(root)) {
        return Some("it is no longer in its store".to_owned());
    }
    let mut copy = match read_again(agent, &seen.place, env) {
        Ok(copy) => copy,
        Err(error) => return Some(error.to_string()),
    };
    if let Some(programs) = programs {
        programs.mark(&mut copy);
    }
    if let Some(why) = in_use(&copy) {
        return Some(why);
    }
    let active_at = copy.active_at.as_ref().map(|at| at.value);
    let is_as_seen = active_at == seen.active_at && copy.transcript_bytes == seen.transcript_bytes;
    (!is_as_seen).then(|| "it was used in the meantime".to_owned())
}

/// Reads a copy right before it is changed.
pub(super) fn read_again(agent: &dyn Agent, place: &Located, env: &Env) -> Result<SessionCopy, PathError> {
    let notes = agent.notes_before_change(place, env);
    let inspector = Inspector::default();
    let context = ReadContext { env, notes: &notes, depth: Depth::Glance, sizes: false, inspector: &inspector };
    agent::read(agent, place.clone(), &context)
}
