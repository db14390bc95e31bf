//! `rejoin cleanup`

mod planned;

use jiff::ToSpan as _;

use super::{change, removal};
use crate::change::apply::run::run_locked;
use crate::change::apply::state_dir;
use crate::change::outcome::ChangeOutcome;
use crate::change::plan::retention::{Policy, RetentionRule};
use crate::cli::CleanupArgs;
use crate::config::{KeepRule, in_words};
use crate::error::{Exit, PathError, Refusal, RefusalCode};
use crate::launch::briefings;
use crate::session::select::Filter;
use crate::session::when::When;
use crate::system::disk::SYSTEM;
use crate::system::env::{Clock, Env};
use crate::view::render::cleanup::CleanupReport;
use crate::view::ui::Ui;
use changes::trash::{self, Purge, Purged};
use planned::{CleanupPlan, plan};

pub(crate) fn run(args: &CleanupArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let settings = &CleanupSettings::from_args(args, env);
    settings.note.iter().for_each(|note| ui.print_note(note));
    if let Err(unattended) = removal::needs_confirmation(&args.removal, env) {
        // If the plan is refused anyway, that reason is the one to report: `--yes` would not help.
        let refusal = plan(settings, env, ui)?.refusal(settings, env);
        return Err(refusal.unwrap_or(unattended).into());
    }
    match clean_up(settings, env, ui) {
        // Another process holds the lock, so a cron job leaves the work to its next run.
        Err(error) if is_locked(&error) => {
            ui.print_note(&format!("{error:#}. Nothing was done."));
            let (plan, outcome, purged) = (CleanupPlan::default(), ChangeOutcome::default(), Purged::default());
            let report = plan.report(settings, Some(&outcome), &purged, env);
            ui.answer(args.format, env, &CleanupReport { is_locked: true, ..report }.answer(env))?;
            Ok(Exit::Ok)
        }
        outcome => outcome,
    }
}

fn is_locked(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Refusal>().is_some_and(|refusal| refusal.code == RefusalCode::Locked)
}

fn clean_up(settings: &CleanupSettings<'_>, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let args = settings.args;
    let removal = &args.removal;
    if !removal.change.dry_run {
        super::recover_first("cleanup", removal.change.lock, env, ui)?;
    }
    let mut plan = plan(settings, env, ui)?;
    let refusal = plan.refusal(settings, env);
    if removal.change.dry_run {
        let purged = Purged { runs: std::mem::take(&mut plan.due), ..Purged::default() };
        let overview = removal::overview(&plan.change, removal, args.format.is_table(), env);
        let mut report = plan.report(settings, None, &purged, env);
        report.change.look.overview = &overview;
        plan.print(settings, &report, env, ui)?;
        let has_findings = plan.has_work() || !purged.runs.is_empty();
        // As in `list`: freeing each session's memory costs more than it saves.
        std::mem::forget(plan);
        return match refusal {
            Some(refusal) => Err(refusal.into()),
            None if args.exit_code && has_findings => Ok(Exit::Findings),
            None => Ok(Exit::Ok),
        };
    }
    if let Some(refusal) = refusal {
        return Err(refusal.into());
    }
    change::check_fingerprint(&plan.change, &removal.change, env)?;
    if plan.has_work() {
        removal::ask_before_removal(&plan.change, removal, env, ui)?;
    }
    let (mut outcome, mut purged) = (ChangeOutcome::default(), Purged::default());
    let mut is_permanent = removal.permanent;
    if plan.has_work() || !plan.due.is_empty() {
        // One lock for all steps, so that no other process intervenes.
        let state_dir = state_dir::open(env, "cleanup", removal.change.lock.lock_timeout)?;
        if settings.archives {
            plan.archive(settings, &state_dir, env, ui)?;
        }
        // Run the steps that can fail for all items before any change.
        let handed = plan.hand_over(settings, &state_dir, env, ui)?;
        let mut progress = ui.progress("Removing", plan.change.items.len());
        outcome = run_locked(&state_dir, &plan.change, env, &mut |done| progress.show_done(done))?;
        outcome.handed = handed;
        drop(progress);
        if !plan.due.is_empty() {
            purged = trash::purge(&state_dir, env.clock.now, &Purge::Runs(plan.due.clone()))?;
        }
        if removal.permanent {
            let mut failed = removal::purge("cleanup", &mut outcome, &state_dir, env)?.failed;
            is_permanent = failed.is_empty();
            purged.failed.append(&mut failed);
        }
    }
    remove_briefings(env, ui);
    let mut report = plan.report(settings, Some(&outcome), &purged, env);
    report.change.is_permanent = is_permanent;
    plan.print(settings, &report, env, ui)?;
    removal::note_stale_list_entries(&plan.change, &outcome, ui);
    let totals = report.change.totals();
    let has_failed = totals.failed + totals.skipped > 0 || !plan.unplanned.is_empty() || !purged.failed.is_empty();
    Ok(if has_failed { Exit::Partial } else { Exit::Ok })
}

/// Removes the old files of `resume --with`. A failure is only a warning.
fn remove_briefings(env: &Env, ui: &mut Ui) {
    let days = briefings::DAYS;
    match briefings::remove_old(&SYSTEM, env) {
        Ok(0) => {}
        Ok(1) => ui.print_note(&format!("Removed 1 briefing that is older than {days} days.")),
        Ok(count) => ui.print_note(&format!("Removed {count} briefings that are older than {days} days.")),
        Err(error) => ui.warn(&PathError::new("clean up", &briefings::dir(env), error).to_string()),
    }
}

/// Default age from which sessions are removed, in days.
const DEFAULT_DAYS: i32 = 30;

/// The options combined with the config file.
#[derive(Debug)]
struct CleanupSettings<'a> {
    /// The options as they were typed.
    pub args: &'a CleanupArgs,
    /// Decides which sessions to remove.
    pub policy: Policy,
    /// The sessions that each rule of the policy keeps.
    pub rules: Vec<Filter>,
    /// Set to archive everything before it is removed.
    pub archives: bool,
    /// Age from which the trash is purged.
    pub trash_keep: When,
    /// Names the options that the config file adds.
    pub note: Option<String>,
}

impl<'a> CleanupSettings<'a> {
    /// Reads the config file for options that are not given.
    fn from_args(args: &'a CleanupArgs, env: &Env) -> Self {
        let config = &env.config.cleanup;
        let is_aged = args.max_total.is_none() && !args.any_age;
        let default_age = config.older_than.unwrap_or(When::Ago(DEFAULT_DAYS.days()));
        let age = args.older_than.or_else(|| is_aged.then_some(default_age));
        let policy = Policy {
            now: env.clock.now,
            cutoff: age.map(|age| env.clock.before(age)),
            is_relative: age.is_some_and(When::is_relative),
            keep_last: args.keep_last.or(config.keep_last).unwrap_or_default(),
            rules: config.keep.iter().map(|rule| rule_of(rule, &env.clock)).collect(),
            max_total: args.max_total,
            only_empty: args.empty,
            all: args.any_age,
            takes_unknown_format: args.unknown_format,
        };
        let filter = |rule: &KeepRule| crate::commands::dir_filter(&rule.agents, rule.dir.as_deref(), env);
        Self {
            args,
            policy,
            rules: config.keep.iter().map(filter).collect(),
            archives: args.archive || config.archives,
            trash_keep: args.trash_keep.unwrap_or_else(|| config.trash_keep()),
            note: config_note(args, env),
        }
    }
}

/// Converts a rule of the config file.
fn rule_of(rule: &KeepRule, clock: &Clock) -> RetentionRule {
    RetentionRule { since: rule.since.map(|since| clock.before(since)), last: rule.last }
}

/// Names the options that the config file adds.
fn config_note(args: &CleanupArgs, env: &Env) -> Option<String> {
    let is_aged = args.older_than.is_none() && args.max_total.is_none() && !args.any_age;
    let can_add = [
        ("older-than", is_aged),
        ("keep-last", args.keep_last.is_none()),
        ("trash-keep", args.trash_keep.is_none()),
        ("archive", !args.archive && env.config.cleanup.archives),
    ];
    let file = env.tilde(&env.config_file());
    let added = can_add.iter().filter(|(_, can_add)| *can_add).filter_map(|(option, _)| {
        let set = env.config.setting(&format!("cleanup.{option}"))?;
        let value = if *option == "archive" { String::new() } else { format!(" {}", in_words(&set.value)) };
        Some(format!("--{option}{value} from {file}:{}", set.line))
    });
    let added: Vec<String> = added.collect();
    (!added.is_empty()).then(|| format!("The config file adds {}.", added.join(", ")))
}
