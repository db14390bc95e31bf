//! `rejoin delete`

mod copies;

use super::{change, removal, via_agent};
use crate::archive::Archive;
use crate::change::apply::run::run_locked;
use crate::change::apply::state_dir;
use crate::change::outcome::ChangeOutcome;
use crate::cli::DeleteArgs;
use crate::commands::find;
use crate::error::Exit;
use crate::scan::ScanScope;
use crate::system::env::Env;
use crate::view::render::json::change::{ChangeReport, ReportExtras};
use crate::view::ui::Ui;

pub(crate) fn run(args: &DeleteArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    args.sessions.iter().try_for_each(removal::refuse_latest)?;
    let filter = super::choose(super::place_filter(&args.place, env)?, &args.choice, env, ui)?;
    if !args.copy.is_empty() {
        return copies::run(args, &filter, env, ui);
    }
    if let Err(refusal) = removal::needs_confirmation(&args.removal, env) {
        // If the plan is refused anyway, that reason is reported: `--yes` would not help.
        let named = find::Finder::new(&filter, ScanScope::GLANCE, env, ui).find_all("delete", &args.sessions)?;
        removal::plan(&named, args.removal.via_agent, env)?;
        return Err(refusal.into());
    }
    if !args.removal.change.dry_run {
        super::recover_first("delete", args.removal.change.lock, env, ui)?;
    }
    let named = find::Finder::new(&filter, ScanScope::GLANCE, env, ui).find_all("delete", &args.sessions)?;
    let change = removal::plan(&named, args.removal.via_agent, env)?;
    change::check_fingerprint(&change, &args.removal.change, env)?;
    removal::ask_before_removal(&change, &args.removal, env, ui)?;

    let (mut outcome, mut failed) = (None, Vec::new());
    if !args.removal.change.dry_run {
        // One lock until the trash is purged, so that no other process intervenes.
        let lock = args.removal.change.lock;
        let state_dir = state_dir::open(env, "delete", lock.lock_timeout)?;
        // Run the steps that can fail for all items before any change.
        let (_, handed) = via_agent::carry_out(&change.handed, &Archive::open(env, None), lock, &state_dir, env, ui)?;
        let outcome = outcome.insert(ChangeOutcome::default());
        if !change.items.is_empty() {
            let mut progress = ui.progress("Removing", change.items.len());
            *outcome = run_locked(&state_dir, &change, env, &mut |done| progress.show_done(done))?;
        }
        outcome.handed = handed;
        if args.removal.permanent {
            failed = removal::purge("delete", outcome, &state_dir, env)?.failed;
        }
    }
    let is_permanent = args.removal.permanent && failed.is_empty();
    let overview = removal::overview(&change, &args.removal, args.format.is_table(), env);
    let look = ReportExtras { overview: &overview, ..ReportExtras::from_args(&args.removal.change) };
    let report = ChangeReport { is_permanent, look, ..ChangeReport::new(&change, outcome.as_ref()) };
    ui.answer(args.format, env, &report.answer(env))?;
    outcome.iter().for_each(|outcome| removal::note_stale_list_entries(&change, outcome, ui));
    failed.iter().for_each(|why| ui.warn(&format!("what was removed is not deleted permanently: {why}")));
    Ok(if failed.is_empty() { change::exit(outcome.as_ref()) } else { Exit::Partial })
}
