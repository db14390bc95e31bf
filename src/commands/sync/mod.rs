//! `rejoin sync`

mod carry;
mod plan;

use std::io::{BufRead as _, Write as _};

use crate::archive::sync::exchange::{line, objects, receive};
use crate::archive::sync::machines::{self, Machine};
use crate::archive::{Archive, write};
use crate::change::apply::state_dir::StateDir;
use crate::change::outcome::Outcome;
use crate::cli::{Serve, SyncArgs};
use crate::commands::relocate;
use crate::error::{Exit, PathError, Refusal, RefusalCode};
use crate::format::command_line;
use crate::session::Session;
use crate::system::env::Env;
use crate::view::render::json::change::Report;
use crate::view::render::sync::Syncing;
use crate::view::ui::Ui;
use plan::Known;

pub(crate) fn run(args: &SyncArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    match args.serve {
        Some(part) => serve(part, args, env, ui),
        None => sync(args, env, ui, |answer, ui| Ok(ui.answer(args.format, env, answer)?)),
    }
}

/// Syncs with the archive, and shows the result.
pub(super) fn sync(
    args: &SyncArgs,
    env: &Env,
    ui: &mut Ui,
    show: impl FnOnce(&Syncing<'_>, &mut Ui) -> anyhow::Result<()>,
) -> anyhow::Result<Exit> {
    let archive = Archive::of(env, args.archive_dir.as_deref());
    relocate::check_map(&args.map, env)?;
    let state_dir = if args.change.dry_run {
        None
    } else {
        super::recover_first("sync", args.change.lock, env, ui)?;
        Some(StateDir::open(env, "sync", args.change.lock.lock_timeout)?)
    };
    let (name, own, others) = machines_of(&archive, state_dir.as_ref(), args, env, ui)?;
    let holdings = archive.holdings();
    super::warn_of_problems(ui, &holdings.problems);
    let has_record = own.is_some();
    let own = own.unwrap_or_else(|| Machine::new(name, env));
    let mapping = plan::mapping(args, &holdings, &others, env);
    let known = Known { archive: &archive, holdings: &holdings, own, has_record, others, mapping };
    let (sessions, plan) = plan::plan(args, &known, env, ui)?;
    super::change::check_fingerprint(&plan.restore.change, &args.change, env)?;
    let is_sent = |session: &Session| plan.sent.contains_key(&session.key());
    let sent: Vec<Session> = sessions.into_iter().filter(is_sent).collect();
    let done = match &state_dir {
        None => carry::planned(&sent, &archive, env)?,
        Some(state_dir) => carry::carry_out(args, &plan, &sent, &archive, state_dir, env, ui)?,
    };
    let answer = Syncing {
        dir: archive.root(),
        sent: &done.sent.items,
        report: Report {
            followed: done.followed.run.as_deref(),
            ..Report::new(&plan.restore.change, done.outcome.as_ref())
        },
        brought: &plan.brought,
        left: &plan.left,
        deleted: plan.deleted,
        unchanged: plan.unchanged,
    };
    show(&answer, ui)?;
    done.sent.warnings.iter().for_each(|warning| ui.warn(warning));
    let is_whole = done.sent.is_whole() && done.outcome.as_ref().is_none_or(Outcome::is_whole);
    let is_in_step = !done.followed.is_partial && plan.left.iter().all(|left| left.is_usual());
    Ok(if is_whole && is_in_step { Exit::Ok } else { Exit::Partial })
}

/// Reads the record of this machine, and those of the others.
fn machines_of(
    archive: &Archive,
    state_dir: Option<&StateDir>,
    args: &SyncArgs,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<(String, Option<Machine>, Vec<Machine>)> {
    let (mut machines, problems) = archive.machines();
    super::warn_of_problems(ui, &problems);
    let name = match state_dir {
        Some(state_dir) => machines::name_here(state_dir, env)?,
        None => machines::own_name(env).map_err(anyhow::Error::msg)?.unwrap_or_default(),
    };
    let own = machines.iter().position(|machine| machine.id == name).map(|at| machines.remove(at));
    let file = archive.record_of(&name);
    if let Some(problem) = problems.iter().find(|problem| problem.path == file) {
        // Only the record has the sessions that were deleted here.
        return Err(PathError::new("read", &problem.path, std::io::Error::other(problem.reason.clone())).into());
    }
    if own.is_none() && !args.restore_deleted && machines::has_synced(archive.root(), env) {
        let dir = archive.root().display();
        let message = format!("the archive in {dir} has no record of this machine, which has synced with it before");
        let again = command_line::again(env, &[], &["--restore-deleted"]);
        return Err(Refusal::new(RefusalCode::NoArchive, message)
            .hint(format!(
                "mount it if it is on another disk; if it was removed on purpose, begin again with `{again}`"
            ))
            .into());
    }
    Ok((name, own, machines))
}

/// The beginning of a line that names an object which the other machine wants.
pub(in crate::commands) const WANT: &str = "want ";

fn serve(part: Serve, args: &SyncArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let archive = Archive::of(env, args.archive_dir.as_deref());
    match part {
        Serve::List => {
            sync(args, env, ui, |_, _| Ok(()))?;
            for object in listed(&archive) {
                writeln!(ui.data(), "{object}")?;
            }
            ui.flush()?;
            Ok(Exit::Ok)
        }
        Serve::Exchange => {
            exchange(&archive, args, env, ui)?;
            sync(args, env, ui, |answer, ui| {
                ui.note(&answer.sentence(env));
                Ok(())
            })
        }
    }
}

/// Lists the objects of an archive.
pub(in crate::commands) fn listed(archive: &Archive) -> Vec<String> {
    objects(archive, &archive.holdings(), &archive.machines().0)
}

fn exchange(archive: &Archive, args: &SyncArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<()> {
    let own = machines::own_name(env).map_err(anyhow::Error::msg)?.unwrap_or_default();
    let mut wanted = Vec::new();
    {
        let _lock = write::lock(archive, env, args.change.lock.lock_timeout)?;
        for text in ui.input().lines() {
            let text = text?;
            match text.strip_prefix(WANT) {
                Some(object) => wanted.push(object.to_owned()),
                None => drop(receive(archive, &own, &text).map_err(anyhow::Error::msg)?),
            }
        }
    }
    for object in wanted {
        if let Some(text) = line(archive, &object)? {
            writeln!(ui.data(), "{text}")?;
        }
    }
    Ok(ui.flush()?)
}
