//! `rejoin sync`

mod carry;
mod plan;

use crate::archive::Archive;
use crate::archive::machine::{self, MachineNotes};
use crate::change::apply::state_dir;
use crate::change::outcome::{ChangeOutcome, ItemResult};
use crate::cli::SyncArgs;
use crate::commands::relocate;
use crate::error::{Exit, Refusal, RefusalCode};
use crate::format::command_line;
use crate::session::Session;
use crate::system::env::Env;
use crate::system::reach;
use crate::view::render::json::change::{ChangeReport, ReportExtras};
use crate::view::render::sync::Syncing;
use crate::view::ui::Ui;
use changes::state_dir::StateDir;
use plan::{KnownArchive, SyncPlan};

pub(crate) fn run(args: &SyncArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    relocate::check_map(&args.map, env)?;
    let archive = Archive::open(env, args.archive_dir.as_deref());
    let state_dir = if args.change.dry_run {
        None
    } else {
        super::recover_first("sync", args.change.lock, env, ui)?;
        let state_dir = state_dir::open(env, "sync", args.change.lock.lock_timeout)?;
        archive.set_own(machine::name_here(&state_dir, env)?);
        Some(state_dir)
    };
    let notes = MachineNotes::read(archive.root(), env).map_err(anyhow::Error::msg)?;
    refuse_unmounted(&archive, &notes, args, env)?;
    let holdings = archive.holdings();
    super::warn_of_problems(ui, env, &holdings.problems);
    let mapping = plan::mapping(args, &holdings, env);
    let known = KnownArchive { archive: &archive, holdings: &holdings, notes: &notes, mapping };
    let (sessions, mut plan) = plan::plan(args, &known, env, ui)?;
    for row in &mut plan.left {
        row.is_known = notes.get(row.agent, &row.id).and_then(|noted| noted.reported.as_ref()) == Some(&row.digest());
    }
    super::change::check_fingerprint(&plan.restore.change, &args.change, env)?;
    let sent: Vec<Session> = sessions.into_iter().filter(|session| plan.sent.contains(&session.key())).collect();
    let mut done = match &state_dir {
        None => carry::planned(&sent, &archive, env)?,
        Some(state_dir) => carry::carry_out(args, &plan, &sent, &archive, state_dir, env, ui)?,
    };
    done.sent.items.retain(|item| item.done != ItemResult::Unchanged);
    let answer = Syncing {
        dir: archive.root(),
        sent: &done.sent.items,
        report: ChangeReport {
            followed: done.followed.run.as_deref(),
            look: ReportExtras::from_args(&args.change),
            ..ChangeReport::new(&plan.restore.change, done.outcome.as_ref())
        },
        brought: &plan.brought,
        left: &plan.left,
        deleted: plan.deleted,
        unchanged: plan.unchanged(&done.sent),
        is_quiet: ui.is_quiet(),
    };
    ui.answer(args.format, env, &answer.answer(env))?;
    if let Some(state_dir) = &state_dir {
        // The sync itself is done; the next quiet sync reports the same again.
        if let Err(error) = note_reported(&plan, &archive, state_dir) {
            ui.warn(&format!("cannot note which sessions were reported: {error:#}"));
        }
    }
    done.sent.warnings.iter().for_each(|warning| ui.warn(warning));
    if let [first, rest @ ..] = plan.restore.left_out.as_slice() {
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        ui.print_note(&format!("Files that an agent runs stay in the archive: {}{more}.", env.tilde(first)));
    }
    // The answer names what was changed before the error.
    if let Some(error) = done.error {
        return Err(error);
    }
    let is_whole = done.sent.is_whole() && done.outcome.as_ref().is_none_or(ChangeOutcome::is_whole);
    let is_in_step = !done.followed.is_partial && plan.left.iter().all(|left| left.is_usual());
    Ok(if is_whole && is_in_step { Exit::Ok } else { Exit::Partial })
}

/// Records the sessions that were reported as skipped, so that a quiet sync reports each once.
fn note_reported(plan: &SyncPlan<'_>, archive: &Archive, state_dir: &StateDir) -> anyhow::Result<()> {
    let mut notes =
        MachineNotes::read_in(state_dir.disk(), state_dir.path(), archive.root()).map_err(anyhow::Error::msg)?;
    for (agent, id) in plan.compared.keys().filter(|(agent, id)| notes.get(*agent, id).is_some()).collect::<Vec<_>>() {
        notes.entry(*agent, id).reported = None;
    }
    for row in plan.left.iter().filter(|row| !row.is_usual()) {
        notes.entry(row.agent, &row.id).reported = Some(row.digest());
    }
    notes.save(state_dir)
}

/// Refuses an archive that lacks the directory of this machine although there was one: its disk may not be mounted.
fn refuse_unmounted(archive: &Archive, notes: &MachineNotes, args: &SyncArgs, env: &Env) -> Result<(), Refusal> {
    let is_there = archive.own().is_some_and(|own| reach::is_dir(own.dir()) == Some(true));
    if is_there || !notes.has_archived() || args.restore_deleted {
        return Ok(());
    }
    let dir = archive.root().display();
    let message =
        format!("the archive in {dir} lacks the directory of this machine, which has archived sessions there");
    let again = command_line::again(env, &[], &["--restore-deleted"]);
    Err(Refusal::new(RefusalCode::NoArchive, message)
        .hint(format!("mount it if it is on another disk; if it was removed on purpose, begin again with `{again}`")))
}
