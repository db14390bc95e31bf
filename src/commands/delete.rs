//! `rejoin delete`

use super::removal::Planned;
use super::{change, removal, via_agent};
use crate::archive::Archive;
use crate::change::apply::run::{ItemResult, Outcome, run_locked};
use crate::change::apply::state_dir::StateDir;
use crate::cli::DeleteArgs;
use crate::commands::find;
use crate::error::Exit;
use crate::scan::Wanted;
use crate::system::env::Env;
use crate::view::render::json::change::Report;
use crate::view::ui::Ui;

pub(crate) fn run(args: &DeleteArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    args.sessions.iter().try_for_each(removal::refuse_latest)?;
    let filter = super::place_filter(&args.place, env);
    if let Err(nobody) = removal::needs_somebody(&args.removal, env) {
        // What is refused anyway is no matter of a yes.
        let named = find::all_named("delete", &args.sessions, &filter, Wanted::GLANCE, env, ui)?;
        removal::plan(&named, args.removal.via_agent, env)?;
        return Err(nobody.into());
    }
    if !args.removal.change.dry_run {
        super::recover_first("delete", args.removal.change.lock, env, ui)?;
    }
    let named = find::all_named("delete", &args.sessions, &filter, Wanted::GLANCE, env, ui)?;
    let Planned { change, handed } = removal::plan(&named, args.removal.via_agent, env)?;
    change::check_fingerprint(&change, &handed, &args.removal.change, env)?;
    removal::ask(&change, &handed, &args.removal, env, ui)?;

    let (mut outcome, mut failed, mut handed_done) = (None, Vec::new(), Vec::new());
    if !args.removal.change.dry_run {
        // One lock until the trash is purged: nobody comes in between.
        let lock = args.removal.change.lock;
        let state_dir = StateDir::open(env, "delete", lock.lock_timeout)?;
        // First what may fail as a whole, as long as nothing has been changed.
        (_, handed_done) = via_agent::carry_out(&handed, &Archive::of(env, None), lock, &state_dir, env, ui)?;
        let outcome = outcome.insert(Outcome::default());
        if !change.items.is_empty() {
            let mut progress = ui.progress("Removing", change.items.len());
            *outcome = run_locked(&state_dir, &change, env, &mut |done| progress.at(done))?;
        }
        if args.removal.permanent {
            failed = removal::purge(outcome, &state_dir, env)?.failed;
        }
    }
    let is_permanent = args.removal.permanent && failed.is_empty();
    let (handed, handed_done) = (handed.as_slice(), handed_done.as_slice());
    let report = Report { change: &change, outcome: outcome.as_ref(), is_permanent, handed, handed_done };
    ui.answer(args.format, env, &report)?;
    outcome.iter().for_each(|outcome| removal::say_what_is_still_listed(&change, outcome, ui));
    failed.iter().for_each(|why| ui.warn(&format!("the trash could not be purged: {why}")));
    let is_whole = failed.is_empty() && handed_done.iter().all(|done| *done == ItemResult::Done);
    Ok(if is_whole { change::exit(outcome.as_ref()) } else { Exit::Partial })
}
