//! Plans of verbs that change files: shows a plan, or applies exactly the plan that was shown.

use std::time::Duration;

use crate::change::apply::run;
use crate::change::apply::state_dir;
use crate::change::outcome::ChangeOutcome;
use crate::change::plan::change::Change;
use crate::cli::{ChangeArgs, FormatArgs};
use crate::error::{Exit, Refusal, RefusalCode};
use crate::format::command_line;
use crate::system::env::Env;
use crate::view::render::json::change::{ChangeReport, ReportExtras};
use crate::view::ui::Ui;

/// Shows a change or applies it, and prints the result.
pub(super) fn carry_out(
    change: &Change,
    args: &ChangeArgs,
    format: FormatArgs,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<Exit> {
    let outcome = apply(change, args, env)?;
    print(change, outcome.as_ref(), args, format, env, ui)?;
    Ok(exit(outcome.as_ref()))
}

/// Like [`carry_out`], for a change of one of rejoin's own files: plans and applies it under one lock, so that
/// concurrent runs lose no change.
pub(super) fn carry_out_locked(
    verb: &str,
    plan: impl FnOnce() -> anyhow::Result<Change>,
    args: &ChangeArgs,
    format: FormatArgs,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<Exit> {
    if args.dry_run {
        return carry_out(&plan()?, args, format, env, ui);
    }
    let state_dir = state_dir::open(env, verb, args.lock.lock_timeout)?;
    let change = plan()?;
    let outcome = apply_with(&change, args, env, |_| Ok(run::run_locked(&state_dir, &change, env, &mut |_| {})?))?;
    drop(state_dir);
    print(&change, outcome.as_ref(), args, format, env, ui)?;
    Ok(exit(outcome.as_ref()))
}

/// Prints a plan, or its outcome.
pub(super) fn print(
    change: &Change,
    outcome: Option<&ChangeOutcome>,
    args: &ChangeArgs,
    format: FormatArgs,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<()> {
    let report = ChangeReport { look: ReportExtras::from_args(args), ..ChangeReport::new(change, outcome) };
    Ok(ui.answer(format, env, &report.answer(env))?)
}

/// Applies a change, unless only its plan is requested. Refuses a change that differs from the plan that was shown.
pub(super) fn apply(change: &Change, args: &ChangeArgs, env: &Env) -> anyhow::Result<Option<ChangeOutcome>> {
    apply_with(change, args, env, |patience| run::run(change, env, patience))
}

/// Like [`apply`], with another function to carry the change out.
pub(super) fn apply_with(
    change: &Change,
    args: &ChangeArgs,
    env: &Env,
    run: impl FnOnce(Duration) -> anyhow::Result<ChangeOutcome>,
) -> anyhow::Result<Option<ChangeOutcome>> {
    if args.dry_run {
        return Ok(None);
    }
    check_fingerprint(change, args, env)?;
    Ok(Some(run(args.lock.lock_timeout)?))
}

/// Refuses a change that differs from the plan that was shown.
pub(super) fn check_fingerprint(change: &Change, args: &ChangeArgs, env: &Env) -> Result<(), Refusal> {
    let found = change.fingerprint();
    match &args.apply {
        Some(expected) if *expected != found => {
            let message = format!("the plan has changed since it was shown; its fingerprint is now {found}");
            let plan = command_line::again(env, &["--apply=", "--yes", "-y"], &["--dry-run"]);
            Err(Refusal::new(RefusalCode::PlanChanged, message).hint(format!("see the new plan with `{plan}`")))
        }
        _ => Ok(()),
    }
}

/// Returns the exit status of an outcome.
pub(super) fn exit(outcome: Option<&ChangeOutcome>) -> Exit {
    if outcome.is_none_or(ChangeOutcome::is_whole) { Exit::Ok } else { Exit::Partial }
}
