//! `rejoin cleanup`

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan as _};

use super::{change, nowhere, removal, safe, via_agent};
use crate::archive::Archive;
use crate::change::apply::history::History;
use crate::change::apply::run::{ItemResult, Outcome, run_locked};
use crate::change::apply::state_dir::StateDir;
use crate::change::apply::trash::{self, Purge, Purged};
use crate::change::pins::Pins;
use crate::change::plan::change::{Change, Seen, Unplanned};
use crate::change::plan::handed::Handed;
use crate::change::plan::retention::{Family, Guard, Keep, Policy, Rule, Verdict};
use crate::change::removal::{Going, Summaries, cwd_records, day};
use crate::cli::CleanupArgs;
use crate::config::KeepRule;
use crate::error::{Exit, PathError, Refusal, RefusalCode};
use crate::format::command_line;
use crate::session::select::Filter;
use crate::session::when::When;
use crate::system::env::Env;
use crate::view::render::cleanup as render;
use crate::view::render::cleanup::{Archived, LeftToAgent, Report};
use crate::view::render::json::change::Report as ChangeReport;
use crate::view::ui::Ui;

/// What goes by age unless something else is asked for.
const DEFAULT_DAYS: i32 = 30;
/// How long what was removed stays in the trash unless something else is asked for.
const TRASH_DAYS: i32 = 14;

pub(crate) fn run(typed: &CleanupArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let (args, from_config) = &super::config::cleanup(typed, env);
    from_config.iter().for_each(|note| ui.note(note));
    if let Err(nobody) = removal::needs_somebody(&args.removal, env) {
        // What is refused anyway is no matter of a yes.
        let refusal = plan(args, env, ui)?.refusal(args, env);
        return Err(refusal.unwrap_or(nobody).into());
    }
    match clean_up(args, env, ui) {
        // Whoever holds the lock is at work; a cron job has nothing to add, and its next run comes.
        Err(error) if is_locked(&error) => {
            ui.note(&format!("{error:#}. Nothing was done."));
            let plan = Planned::default();
            let purged = Purged::default();
            ui.answer(args.format, env, &Report { is_locked: true, ..plan.report(args, None, &purged, env) })?;
            Ok(Exit::Ok)
        }
        outcome => outcome,
    }
}

fn is_locked(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Refusal>().is_some_and(|refusal| refusal.code == RefusalCode::Locked)
}

fn clean_up(args: &CleanupArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    let removal = &args.removal;
    if !removal.change.dry_run {
        super::recover_first("cleanup", removal.change.lock, env, ui)?;
    }
    let mut plan = plan(args, env, ui)?;
    let refusal = plan.refusal(args, env);
    if removal.change.dry_run {
        let purged = Purged { runs: std::mem::take(&mut plan.due), ..Purged::default() };
        plan.print(args, &plan.report(args, None, &purged, env), env, ui)?;
        let has_findings = plan.has_work() || !purged.runs.is_empty();
        // Giving back the memory of each session by itself takes longer than it is worth.
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
    change::check_fingerprint(&plan.change, &plan.handed, &removal.change, env)?;
    if plan.has_work() {
        removal::ask(&plan.change, &plan.handed, removal, env, ui)?;
    }
    let (mut outcome, mut purged) = (Outcome::default(), Purged::default());
    let mut is_permanent = removal.permanent;
    if plan.has_work() || !plan.due.is_empty() {
        // One lock for all of it: nobody comes in between.
        let state_dir = StateDir::open(env, "cleanup", removal.change.lock.lock_timeout)?;
        if args.archive {
            plan.archive(args, &state_dir, env, ui)?;
        }
        // What may fail as a whole comes first, as long as nothing has been changed.
        plan.hand_over(args, &state_dir, env, ui)?;
        let mut progress = ui.progress("Removing", plan.change.items.len());
        outcome = run_locked(&state_dir, &plan.change, env, &mut |done| progress.at(done))?;
        drop(progress);
        if !plan.due.is_empty() {
            purged = trash::purge(&state_dir, env.now, &Purge::Runs(plan.due.clone()))?;
        }
        if removal.permanent {
            let mut failed = removal::purge(&mut outcome, &state_dir, env)?.failed;
            is_permanent = failed.is_empty();
            purged.failed.append(&mut failed);
        }
    }
    let mut report = plan.report(args, Some(&outcome), &purged, env);
    report.change.is_permanent = is_permanent;
    plan.print(args, &report, env, ui)?;
    removal::say_what_is_still_listed(&plan.change, &outcome, ui);
    let is_left = |done: &ItemResult| matches!(done, ItemResult::Skipped(_));
    let has_failed = report.change.summary().failed > 0
        || plan.handed_done.iter().any(is_left)
        || !plan.unplanned.is_empty()
        || !purged.failed.is_empty();
    Ok(if has_failed { Exit::Partial } else { Exit::Ok })
}

/// What a cleanup is going to do, and what it leaves and why.
#[derive(Default)]
struct Planned {
    change: Change,
    /// What agents remove, and then what became of each.
    handed: Vec<Handed>,
    handed_done: Vec<ItemResult>,
    titles: Vec<Option<Box<str>>>,
    /// How many sub-agents each session has that goes.
    subagents: Vec<usize>,
    /// The archive that what goes is put into first.
    archive: Option<PathBuf>,
    archived: Archived,
    kept: BTreeMap<Keep, usize>,
    its_agents: Vec<LeftToAgent>,
    unplanned: Vec<Unplanned>,
    guards: Vec<Guard>,
    cutoff: Option<Timestamp>,
    /// The runs whose trash is purged.
    due: Vec<String>,
}

fn policy(args: &CleanupArgs, env: &Env) -> Policy {
    let is_aged = args.max_total.is_none() && !args.any_age;
    let age = args.older_than.or_else(|| is_aged.then(|| When::Ago(DEFAULT_DAYS.days())));
    Policy {
        now: env.now,
        cutoff: age.map(|age| age.before(env.now, &env.zone)),
        is_relative: age.is_some_and(When::is_relative),
        keep_last: args.keep_last.unwrap_or_default(),
        rules: env.config.cleanup.keep.iter().map(|rule| rule_of(rule, env)).collect(),
        max_total: args.max_total,
        only_empty: args.empty,
        all: args.any_age,
        takes_unknown_format: args.unknown_format,
    }
}

/// Returns what a rule of the config file keeps of the sessions that it means.
fn rule_of(rule: &KeepRule, env: &Env) -> Rule {
    Rule { since: rule.since.map(|since| since.before(env.now, &env.zone)), last: rule.last }
}

/// Returns which sessions a rule of the config file means.
fn rule_filter(rule: &KeepRule, env: &Env) -> Filter {
    super::dir_filter(&rule.agents, rule.dir.as_deref(), env)
}

fn plan(args: &CleanupArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Planned> {
    let pins = Pins::read(env)?;
    let policy = policy(args, env);
    let filter = super::place_filter(&args.place, env);
    let rules: Vec<Filter> = env.config.cleanup.keep.iter().map(|rule| rule_filter(rule, env)).collect();
    // Every agent is read, because the fuses compare with all there is.
    let showing = ui.watch("Reading");
    let mut summaries =
        Summaries::read(env, &[], &filter, &rules, policy.max_total.is_some(), Vec::new(), showing.watcher());
    summaries.via_agent = args.removal.via_agent;
    let archive = Archive::of(env, args.archive_dir.as_deref());
    let (families, guards) =
        summaries.decide(&policy, &pins, &args.exclude, |summaries, families| match args.archive {
            // None of them goes that is not archived first.
            true => families.iter().map(|family| summaries.owned_key(family.root())).collect(),
            false => {
                let handed = families.iter().map(Family::root).filter(|at| summaries.its_agents(*at).is_some());
                let mut archived = safe::archived(summaries, families, &archive, env);
                archived.extend(handed.map(|at| summaries.owned_key(at)));
                archived
            }
        });
    drop(showing);
    let mut planned = Planned { guards, cutoff: policy.cutoff, ..Planned::default() };
    planned.archive = args.archive.then(|| archive.root().to_owned());
    planned.change.verb = "cleanup";
    planned.note_kept(&summaries, &families);
    let newest = families.iter().filter_map(|family| family.active_at).filter(|at| *at <= env.now).max();
    let cutoff = policy.cutoff.filter(|_| !policy.only_empty);
    let records = cutoff.map(|cutoff| cwd_records(&mut summaries, cutoff, &filter, &pins, env)).unwrap_or_default();
    super::warn_of_problems(ui, &summaries.problems);
    let going = families.into_iter().filter(Family::goes).collect();
    planned.add(summaries, going, policy.only_empty);
    via_agent::weigh(&mut planned.handed, env);
    planned.titles.extend(records.iter().map(|_| None));
    planned.subagents.extend(records.iter().map(|_| 0));
    planned.change.items.extend(records);
    if !planned.has_work() && planned.kept.keys().all(|keep| *keep == Keep::NotAskedFor) {
        nowhere::note(&filter, env, ui);
    }
    planned.due = due(args, newest, env, ui)?;
    Ok(planned)
}

/// Returns the runs whose trash is old enough to be purged.
fn due(args: &CleanupArgs, newest: Option<Timestamp>, env: &Env, ui: &mut Ui) -> Result<Vec<String>, PathError> {
    let trash_keep = args.trash_keep.unwrap_or(When::Ago(TRASH_DAYS.days()));
    let before = trash_keep.before(env.now, &env.zone);
    let history = History::read(env)?;
    super::warn_of_problems(ui, &history.problems);
    let due = Purge::Before(before);
    let due: Vec<String> = history.runs.iter().filter(|run| due.means(run)).map(|run| run.id.clone()).collect();
    // With a clock that jumped ahead everything looks old, and this cannot be undone.
    let newest = history.runs.iter().filter_map(|run| run.kept_since).max().max(newest);
    if due.is_empty() || newest.is_some_and(|newest| newest >= before) || !trash_keep.is_relative() {
        return Ok(due);
    }
    ui.warn(
        "the trash was not purged: no session was active since its contents were removed, so the clock may be wrong",
    );
    Ok(Vec::new())
}

impl Planned {
    /// Counts what stays, and notes what only its agent can remove.
    fn note_kept(&mut self, summaries: &Summaries, families: &[Family]) {
        for family in families {
            if let Verdict::Stays(keep) = family.verdict {
                *self.kept.entry(keep).or_default() += 1;
            }
        }
        self.its_agents.reserve_exact(self.kept.get(&Keep::ItsAgents).copied().unwrap_or_default());
        for family in families.iter().filter(|family| family.verdict == Verdict::Stays(Keep::ItsAgents)) {
            let why = family.members.iter().find_map(|at| Some((*at, summaries.its_agents(*at)?)));
            self.its_agents.extend(why.map(|(at, why)| {
                let (agent, id) = summaries.key(at);
                LeftToAgent {
                    agent,
                    id: id.into(),
                    active_at: family.active_at,
                    reason: Arc::clone(why),
                    database: Arc::clone(&summaries.copies(at)[0].place.path),
                    removes_unasked: summaries.removes_unasked(at),
                }
            }));
        }
    }

    /// Plans to remove these families.
    fn add(&mut self, summaries: Summaries, going: Vec<Family>, only_empty: bool) {
        self.change.items.reserve_exact(going.len());
        self.titles.reserve_exact(going.len());
        self.subagents.reserve_exact(going.len());
        let mut reasons: BTreeMap<Option<Date>, Arc<str>> = BTreeMap::new();
        for (family, items) in summaries.leave(going) {
            let code = match family.verdict {
                Verdict::Goes(go) if !only_empty => go.name(),
                _ => "empty",
            };
            let day = family.active_at.map(day);
            let reason = reasons.entry(day).or_insert_with(|| match day {
                Some(day) => format!("last active {day}").into(),
                None => "last active at an unknown time".into(),
            });
            let title = items.title.clone();
            match items.item(code, Arc::clone(reason)) {
                Ok(Going::Handed(handed)) => self.handed.push(handed),
                Ok(Going::Item(item)) => {
                    self.change.items.push(item);
                    self.titles.push(title);
                    self.subagents.push(family.members.len() - 1);
                }
                Err((about, reason)) => self.unplanned.push(Unplanned { about: about.to_string(), reason }),
            }
        }
    }

    /// Returns whether anything goes.
    fn has_work(&self) -> bool {
        !self.change.items.is_empty() || !self.handed.is_empty()
    }

    /// Has agents remove what only they can, each session archived first.
    fn hand_over(&mut self, args: &CleanupArgs, state_dir: &StateDir, env: &Env, ui: &mut Ui) -> anyhow::Result<()> {
        let archive = Archive::of(env, args.archive_dir.as_deref());
        let lock = args.removal.change.lock;
        let (archived, done) = via_agent::carry_out(&self.handed, &archive, lock, state_dir, env, ui)?;
        self.archived.sessions += archived.sessions;
        self.archived.stored_bytes += archived.stored_bytes;
        self.handed_done = done;
        Ok(())
    }

    /// Archives everything that goes; what cannot be archived stays.
    fn archive(&mut self, args: &CleanupArgs, state_dir: &StateDir, env: &Env, ui: &mut Ui) -> anyhow::Result<()> {
        let archive = Archive::of(env, args.archive_dir.as_deref());
        let seen: Vec<&[Seen]> = self.change.items.iter().map(|item| item.seen.as_slice()).collect();
        let (archived, failed) = safe::archive(&seen, &archive, args.removal.change.lock, state_dir, env, ui)?;
        self.archived = archived;
        let stays: Vec<bool> = failed.iter().map(Option::is_some).collect();
        for (item, why) in self.change.items.iter().zip(failed) {
            let unplanned =
                |why| Unplanned { about: item.about.to_string(), reason: format!("it could not be archived: {why}") };
            self.unplanned.extend(why.map(unplanned));
        }
        let mut at = stays.iter();
        self.change.items.retain(|_| !at.next().is_some_and(|stays| *stays));
        let mut at = stays.iter();
        self.titles.retain(|_| !at.next().is_some_and(|stays| *stays));
        let mut at = stays.iter();
        self.subagents.retain(|_| !at.next().is_some_and(|stays| *stays));
        Ok(())
    }

    /// Says why the plan looks like a mistake.
    fn refusal(&self, args: &CleanupArgs, env: &Env) -> Option<Refusal> {
        if args.allow_all || !self.has_work() {
            return None;
        }
        let (code, message) = match self.guards.first()? {
            Guard::Clock { newest } => (
                RefusalCode::Clock,
                format!(
                    "no session was active since {}, so all of them count as old; the clock of this machine may be wrong",
                    day(*newest)
                ),
            ),
            Guard::WholeAgent(agent) => {
                (RefusalCode::WholeAgent, format!("this would remove every session of {agent}"))
            }
            Guard::MoreThanHalf { going, all } => {
                (RefusalCode::MoreThanHalf, format!("this would remove {going} of {all} sessions, more than half"))
            }
        };
        let all = command_line::again(env, &["--dry-run", "-n", "--exit-code"], &["--allow-all"]);
        let plan = command_line::again(env, &["--yes", "-y"], &["--dry-run", "--allow-all"]);
        let hint = match args.removal.change.dry_run {
            true => format!("to remove them all, run `{all}`"),
            false => format!("see the plan with `{plan}`; to remove them all, run `{all}`"),
        };
        Some(Refusal::new(Exit::Refused, code, message).hint(hint))
    }

    fn report<'a>(
        &'a self,
        args: &CleanupArgs,
        outcome: Option<&'a Outcome>,
        purged: &'a Purged,
        env: &Env,
    ) -> Report<'a> {
        Report {
            change: ChangeReport {
                change: &self.change,
                outcome,
                is_permanent: args.removal.permanent,
                handed: &self.handed,
                handed_done: &self.handed_done,
            },
            titles: &self.titles,
            subagents: self.subagents.iter().sum(),
            archive: self.archive.as_deref(),
            archived: self.archived,
            kept: &self.kept,
            its_agents: &self.its_agents,
            unplanned: &self.unplanned,
            refused: self.refusal(args, env),
            cutoff: self.cutoff,
            purged,
            is_locked: false,
        }
    }

    fn print(&self, args: &CleanupArgs, report: &Report<'_>, env: &Env, ui: &mut Ui) -> anyhow::Result<()> {
        ui.answer(args.format, env, report)?;
        if args.format.is_table() {
            render::left_to_agents(&self.its_agents, env).iter().for_each(|line| ui.note(line));
        }
        Ok(())
    }
}
