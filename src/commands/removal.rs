//! What the verbs that remove sessions share: who is asked, and what becomes of the trash.

use crate::change::apply::run::Outcome;
use crate::change::apply::state_dir::StateDir;
use crate::change::apply::trash::{self, Purge, Purged};
use crate::cli::RemovalArgs;
use crate::error::{Exit, PathError, Refusal};
use crate::format::text;
use crate::system::env::Env;
use crate::view::ui::Ui;

/// Refuses at once where a yes will be needed and nobody can be asked: a cron job should fail on its first day.
pub(super) fn needs_somebody(args: &RemovalArgs, env: &Env) -> Result<(), Refusal> {
    let is_agreed = args.yes || args.change.dry_run || args.change.apply.is_some();
    if is_agreed || (env.stdin_is_terminal && env.stderr_is_terminal) {
        return Ok(());
    }
    let message = "removing sessions needs confirmation, but there is no terminal to ask on";
    Err(Refusal::new(Exit::Usage, "needs-yes", message).hint("check the plan with --dry-run, then pass --yes"))
}

/// Asks before so many sessions are removed, unless that was agreed to already.
pub(super) fn ask(sessions: usize, bytes: u64, args: &RemovalArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<()> {
    if args.yes || args.change.dry_run || args.change.apply.is_some() {
        return Ok(());
    }
    let (what, size) = (text::count(sessions, "session"), text::size(bytes));
    let question = match args.permanent {
        true => format!("Delete {what} ({size}) for good?"),
        false => format!("Move {what} ({size}) to the trash?"),
    };
    super::confirm_or_refuse(&question, env, ui)
}

/// Deletes for good what a run has just taken away; one that keeps something in the trash can still be undone.
pub(super) fn purge(outcome: &mut Outcome, state_dir: &StateDir, env: &Env) -> Result<Purged, PathError> {
    let Some(run) = outcome.run.clone() else { return Ok(Purged::default()) };
    let purged = trash::purge(state_dir, env.now, &Purge::Runs(vec![run]))?;
    if purged.failed.is_empty() {
        outcome.run = None;
    }
    Ok(purged)
}
