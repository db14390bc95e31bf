//! Carries out a sync: archives states, restores files, and updates the records of this machine.

use std::collections::BTreeSet;

use super::plan::{Compared, SessionKey, SyncPlan};
use crate::archive::Archive;
use crate::archive::machine::MachineNotes;
use crate::archive::write::{self, ArchiveOptions, ArchiveReport};
use crate::change::apply::run;
use crate::change::hindrance;
use crate::change::outcome::{ChangeOutcome, ItemResult};
use crate::change::relocation::{self, MoveOptions};
use crate::cli::SyncArgs;
use crate::scan::{self, ScanScope, processes};
use crate::session::{AgentKind, Session};
use crate::system::env::Env;
use crate::view::ui::Ui;
use changes::state_dir::StateDir;

/// The result of a sync.
pub(super) struct Done<'s> {
    pub(super) sent: ArchiveReport<'s>,
    pub(super) outcome: Option<ChangeOutcome>,
    pub(super) followed: Followed,
    /// The error that ended the sync.
    pub(super) error: Option<anyhow::Error>,
}

/// The move of received sessions to their directories here.
#[derive(Default)]
pub(super) struct Followed {
    /// The run; `None` if nothing was moved.
    pub(super) run: Option<String>,
    /// Set if a session keeps the directory of the other machine.
    pub(super) is_partial: bool,
    /// The sessions that are in use now, which the next sync moves.
    again: BTreeSet<SessionKey>,
}

/// Plans the states to archive.
pub(super) fn planned<'s>(sent: &'s [Session], archive: &Archive, env: &Env) -> anyhow::Result<Done<'s>> {
    let options = ArchiveOptions { is_dry_run: true, patience: std::time::Duration::ZERO, ..ArchiveOptions::default() };
    let sent = write::archive(sent, archive, options, None, env, &mut |_| {})?;
    Ok(Done { sent, outcome: None, followed: Followed::default(), error: None })
}

/// Carries the plan out; the caller holds the lock.
pub(super) fn carry_out<'s>(
    args: &SyncArgs,
    plan: &SyncPlan<'_>,
    sent: &'s [Session],
    archive: &Archive,
    state_dir: &StateDir,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<Done<'s>> {
    let options = ArchiveOptions {
        patience: args.change.lock.lock_timeout,
        forgets_missing: args.restore_deleted,
        ..ArchiveOptions::default()
    };
    let mut progress = ui.progress("Archiving", sent.len());
    let sent = write::archive(sent, archive, options, Some(state_dir), env, &mut |done| progress.show_done(done))?;
    drop(progress);
    let mut done = Done { sent, outcome: None, followed: Followed::default(), error: None };
    done.error = bring(&mut done, plan, (archive, options), state_dir, env, ui).err();
    Ok(done)
}

/// Restores the states of other machines here, and archives them as states of this machine.
fn bring(
    done: &mut Done<'_>,
    plan: &SyncPlan<'_>,
    (archive, options): (&Archive, ArchiveOptions),
    state_dir: &StateDir,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    let read_notes = || MachineNotes::read(archive.root(), env).map_err(anyhow::Error::msg);
    let mut notes = read_notes()?;
    let failed: BTreeSet<SessionKey> =
        done.sent.items.iter().filter(|item| item.done.why().is_some()).map(|item| item.session.key()).collect();
    for (key, Compared { stamp, contained }) in plan.compared.iter().filter(|(key, _)| !failed.contains(*key)) {
        let noted = notes.entry(key.0, &key.1);
        (noted.stamp, noted.contained) = (Some(stamp.clone()), contained.clone());
    }
    let items = || plan.restore.change.items.iter().filter_map(|item| item.about.session());
    for (kind, id) in items() {
        notes.entry(kind, id).is_arriving = true;
    }
    notes.save(state_dir)?;
    let outcome = plan.restore.apply_locked(state_dir, env)?;
    let mut came = plan.arriving.clone();
    let results = plan.restore.change.items.iter().zip(&outcome.done);
    let arrived =
        results.filter(|(_, result)| **result == ItemResult::Done).filter_map(|(item, _)| item.about.session());
    came.extend(arrived.map(|(kind, id)| (kind, id.to_owned())));
    done.outcome = Some(outcome);
    if !came.is_empty() {
        let agents: Vec<AgentKind> =
            came.iter().map(|(agent, _)| *agent).collect::<BTreeSet<_>>().into_iter().collect();
        let arrived = env.after_arrival();
        let read =
            || scan::locate(env, &agents).read_all(&arrived, ScanScope { sizes: false, ..ScanScope::GLANCE }).sessions;
        let mut sessions = read();
        processes::verify(&mut sessions);
        follow(&mut done.followed, plan, &came, &sessions, state_dir, env, ui)?;
        if done.followed.run.is_some() {
            sessions = read();
        }
        sessions.retain(|session| came.contains(&session.key()));
        let report = write::archive(&sessions, archive, options, Some(state_dir), env, &mut |_| {})?;
        report.items.iter().filter_map(|item| Some((item, item.done.why()?))).for_each(|(item, why)| {
            ui.warn(&format!("{} {} is not archived yet: {why}", item.session.agent, item.session.id()));
        });
        notes = read_notes()?;
    }
    let settled: Vec<SessionKey> = items().map(|(kind, id)| (kind, id.to_owned())).chain(came).collect();
    for key in settled.into_iter().filter(|key| !done.followed.again.contains(key)) {
        notes.entry(key.0, &key.1).is_arriving = false;
    }
    notes.save(state_dir)
}

/// Moves the received sessions to their directories here.
fn follow(
    followed: &mut Followed,
    plan: &SyncPlan<'_>,
    came: &BTreeSet<SessionKey>,
    sessions: &[Session],
    state_dir: &StateDir,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    if plan.mapping.pairs().is_empty() {
        return Ok(());
    }
    let wish = MoveOptions { mapping: plan.mapping, only: Some(came), all_references: false };
    let planned = relocation::plan(sessions, wish, env)?;
    for left in &planned.left {
        followed.is_partial = true;
        ui.warn(&format!("{} keeps the directory of the other machine: {}", left.about, left.reason));
    }
    let is_used = |session: &&Session| session.copies.iter().any(|copy| hindrance::in_use(copy).is_some());
    followed.again = sessions.iter().filter(is_used).map(Session::key).collect();
    if planned.sessions() == 0 {
        return Ok(());
    }
    let outcome = run::run_arrived(state_dir, &planned.change, env)?;
    for (item, done) in planned.change.items.iter().zip(&outcome.done) {
        let Some(why) = done.why() else { continue };
        followed.is_partial = true;
        ui.warn(&format!("{} keeps the directory of the other machine: {why}", item.about));
        followed.again.extend(item.about.session().map(|(agent, id)| (agent, id.to_owned())));
    }
    followed.run = outcome.run;
    Ok(())
}
