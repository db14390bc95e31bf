//! Carries a sync out: states to the archive, files to this machine, and the record of this machine before and after.

use std::collections::BTreeSet;

use super::plan::{Key, Plan};
use crate::agent;
use crate::archive::Archive;
use crate::archive::sync::machines::{self, Held, Machine};
use crate::archive::sync::state::Here;
use crate::archive::write::{self, ArchiveOptions, Report};
use crate::change::apply::run;
use crate::change::apply::state_dir::StateDir;
use crate::change::hindrance;
use crate::change::outcome::{ItemResult, Outcome};
use crate::change::relocation::{self, Wish};
use crate::cli::SyncArgs;
use crate::scan::{self, Wanted, processes};
use crate::session::{AgentKind, Session};
use crate::system::env::Env;
use crate::view::ui::Ui;

/// The result of a sync.
pub(super) struct Done<'s> {
    pub(super) sent: Report<'s>,
    pub(super) outcome: Option<Outcome>,
    pub(super) followed: Followed,
}

/// The move of received sessions to their directories here.
#[derive(Default)]
pub(super) struct Followed {
    /// The run; `None` if nothing was moved.
    pub(super) run: Option<String>,
    /// Set if a session keeps the directory of the other machine.
    pub(super) is_partial: bool,
    /// The sessions that the next sync moves, because they are in use now.
    again: BTreeSet<Key>,
}

/// Plans the states that go into the archive.
pub(super) fn planned<'s>(sent: &'s [Session], archive: &Archive, env: &Env) -> anyhow::Result<Done<'s>> {
    let options = ArchiveOptions { is_dry_run: true, is_full: false, patience: std::time::Duration::ZERO };
    let sent = write::archive(sent, archive, options, None, env, &mut |_| {})?;
    Ok(Done { sent, outcome: None, followed: Followed::default() })
}

/// Carries the plan out under the lock that is held.
pub(super) fn carry_out<'s>(
    args: &SyncArgs,
    plan: &Plan<'_>,
    sent: &'s [Session],
    archive: &Archive,
    state_dir: &StateDir,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<Done<'s>> {
    let options = ArchiveOptions { is_dry_run: false, is_full: false, patience: args.change.lock.lock_timeout };
    let mut own = plan.own.clone();
    let mut progress = ui.progress("Archiving", sent.len());
    let sent = write::archive(sent, archive, options, Some(state_dir), env, &mut |done| progress.at(done))?;
    drop(progress);
    for item in sent.items.iter().filter(|item| matches!(item.done, ItemResult::Done | ItemResult::Unchanged)) {
        let (kind, id) = item.session.key();
        let stamp = plan.sent.get(&(kind, id.clone())).cloned();
        if let Some(state) = item.digest.clone() {
            own.set(kind, &id, Held { state, stamp, deleted_at: None });
        }
    }
    // During the run, a session that is named without a stamp may be here or not.
    let mut unsettled = own.clone();
    for ((kind, id), state) in &plan.states {
        unsettled.set(*kind, id, Held { state: state.clone(), stamp: None, deleted_at: None });
    }
    let written = save(unsettled, plan.before.as_ref(), archive, env)?;
    machines::remember(archive.root(), state_dir, env)?;
    let outcome = plan.restore.apply_locked(state_dir, env)?;
    let mut came: BTreeSet<Key> = plan.unsettled.iter().cloned().collect();
    for (item, done) in plan.restore.change.items.iter().zip(&outcome.done) {
        let Some((kind, id)) = item.about.session().filter(|_| *done == ItemResult::Done) else { continue };
        came.insert((kind, id.to_owned()));
    }
    let mut followed = Followed::default();
    if !came.is_empty() {
        let agents: Vec<AgentKind> =
            came.iter().map(|(agent, _)| *agent).collect::<BTreeSet<_>>().into_iter().collect();
        let arrived = env.after_arrival();
        let read = || scan::locate(env, &agents).read_all(&arrived, Wanted { sizes: false, ..Wanted::GLANCE }).sessions;
        let mut sessions = read();
        processes::verify(&mut sessions);
        followed = follow(plan, &came, &sessions, state_dir, env, ui)?;
        if followed.run.is_some() {
            sessions = read();
        }
        for (key, mut held) in settled(plan, &came, &sessions) {
            // Without a stamp, the next sync tries again.
            held.stamp = held.stamp.filter(|_| !followed.again.contains(&key));
            own.set(key.0, &key.1, held);
        }
    }
    save(own, Some(&written), archive, env)?;
    Ok(Done { sent, outcome: Some(outcome), followed })
}

/// Writes the record of this machine if it changed, and returns the current one.
fn save(own: Machine, before: Option<&Machine>, archive: &Archive, env: &Env) -> anyhow::Result<Machine> {
    let mut own = own;
    own.hostname.clone_from(&env.hostname);
    if before == Some(&own) {
        return Ok(own);
    }
    own.written_at = env.clock.now;
    archive.write_machine(&own)?;
    Ok(own)
}

/// Moves the received sessions to their directories here.
fn follow(
    plan: &Plan<'_>,
    came: &BTreeSet<Key>,
    sessions: &[Session],
    state_dir: &StateDir,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<Followed> {
    let mut followed = Followed::default();
    if plan.mapping.pairs().is_empty() {
        return Ok(followed);
    }
    let wish = Wish { mapping: plan.mapping, only: Some(came), all_references: false };
    let planned = relocation::plan(sessions, wish, env)?;
    for left in &planned.left {
        followed.is_partial = true;
        ui.warn(&format!("{} keeps the directory of the other machine: {}", left.about, left.reason));
    }
    let is_used = |session: &&Session| session.copies.iter().any(|copy| hindrance::in_use(copy).is_some());
    followed.again = sessions.iter().filter(is_used).map(Session::key).collect();
    if planned.sessions() == 0 {
        return Ok(followed);
    }
    let outcome = run::run_arrived(state_dir, &planned.change, env)?;
    for (item, done) in planned.change.items.iter().zip(&outcome.done) {
        let Some(why) = done.why() else { continue };
        followed.is_partial = true;
        ui.warn(&format!("{} keeps the directory of the other machine: {why}", item.about));
        followed.again.extend(item.about.session().map(|(agent, id)| (agent, id.to_owned())));
    }
    followed.run = outcome.run;
    Ok(followed)
}

/// Returns the record entries of the received sessions.
fn settled(plan: &Plan<'_>, came: &BTreeSet<Key>, sessions: &[Session]) -> Vec<(Key, Held)> {
    let here: Vec<&Session> = sessions.iter().filter(|session| came.contains(&session.key())).collect();
    let find = agent::belongings_of_many();
    let held = here.into_iter().filter_map(|session| {
        let key = session.key();
        let state = plan.states.get(&key)?.clone();
        // Its agent may have continued it already. Without a stamp, the next sync compares its content.
        let row = plan.brought.iter().find(|row| (row.session.agent, row.session.id()) == (key.0, &*key.1))?;
        let is_as_it_came = row.session.active_at() == session.active_at();
        let look = Here::look(session, agent::by_kind(session.agent)?, &find).ok();
        // Files that only this machine has go into the archive with the next sync.
        let stamp = look.map(|here| here.stamp()).filter(|_| is_as_it_came && !plan.has_more.contains(&key));
        Some((key, Held { state, stamp, deleted_at: None }))
    });
    held.collect()
}
