//! Plan of a cleanup: the removed sessions and the kept ones, each with the reason.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;

use super::CleanupSettings;
use crate::archive::Archive;
use crate::change::outcome::{ChangeOutcome, ItemResult};
use crate::change::pins::Pins;
use crate::change::plan::change::{Change, PlannedCopy, Unplanned};
use crate::change::plan::retention::{Family, FamilyVerdict, Guard, Keep};
use crate::change::removal::{Going, Summaries, cwd_records, day, debris, outputs};
use crate::commands::find::{self, Finder};
use crate::commands::{archive_first, no_match, via_agent};
use crate::error::{PathError, Refusal, RefusalCode};
use crate::format::command_line;
use crate::scan::ScanScope;
use crate::session::AgentKind;
use crate::session::select::{Filter, Selector};
use crate::system::env::Env;
use crate::view::render::cleanup as render;
use crate::view::render::cleanup::{Archived, CleanupReport};
use crate::view::render::json::change::{ChangeReport, ReportExtras};
use crate::view::render::json::details::LeftToAgent;
use crate::view::ui::Ui;
use changes::state_dir::StateDir;
use changes::trash::{Purge, Purged};

/// Plan of a cleanup.
#[derive(Default)]
pub(super) struct CleanupPlan {
    pub(super) change: Change,
    /// The archive into which sessions are copied before they are removed.
    archive: Option<PathBuf>,
    archived: Archived,
    kept: BTreeMap<Keep, usize>,
    /// Number of sessions that the user keeps in their agents, by reason.
    kept_by: BTreeMap<&'static str, usize>,
    its_agents: Vec<LeftToAgent>,
    pub(super) unplanned: Vec<Unplanned>,
    guards: Vec<Guard>,
    cutoff: Option<Timestamp>,
    /// Runs whose trash is purged.
    pub(super) due: Vec<String>,
}

pub(super) fn plan(settings: &CleanupSettings<'_>, env: &Env, ui: &mut Ui) -> anyhow::Result<CleanupPlan> {
    let pins = Pins::read(env)?;
    let policy = &settings.policy;
    let filter = crate::commands::place_filter(&settings.args.place, env)?;
    let filter = crate::commands::choose(filter, &settings.args.choice, env, ui)?;
    // Every agent is read, because the guards compare with all sessions.
    let showing = ui.watch("Reading");
    let mut summaries =
        Summaries::read(env, &[], &filter, &settings.rules, policy.max_total.is_some(), Vec::new(), showing.watcher());
    summaries.via_agent = settings.args.removal.via_agent;
    let archive = Archive::open(env, settings.args.archive_dir.as_deref());
    let excluded = excluded(&settings.args.exclude, &summaries, env, ui)?;
    let (families, guards) = summaries.decide(policy, &pins, &excluded, |summaries, families| {
        if settings.archives {
            // The agent's sessions are archived before they are removed.
            families.iter().map(|family| summaries.owned_key(family.root())).collect()
        } else {
            let handed = families.iter().map(Family::root).filter(|at| summaries.its_agents(*at).is_some());
            let mut archived = archive_first::archived(summaries, families, &archive, env);
            archived.extend(handed.map(|at| summaries.owned_key(at)));
            archived
        }
    });
    drop(showing);
    let mut planned = CleanupPlan { guards, cutoff: policy.cutoff, ..CleanupPlan::default() };
    planned.archive = settings.archives.then(|| archive.root().to_owned());
    planned.change.verb = "cleanup";
    planned.note_kept(&summaries, &families);
    let newest = families.iter().filter_map(|family| family.active_at).filter(|at| *at <= env.clock.now).max();
    let cutoff = policy.cutoff.filter(|_| !policy.only_empty);
    let records = cutoff.map(|cutoff| cwd_records(&mut summaries, cutoff, &filter, &pins, env)).unwrap_or_default();
    let debris = if policy.only_empty { debris(&filter, policy.cutoff, env) } else { Vec::new() };
    crate::commands::warn_of_problems(ui, env, &summaries.problems);
    let going = families.into_iter().filter(Family::is_removed).collect();
    planned.add(summaries, going, policy.only_empty);
    via_agent::weigh(&mut planned.change.handed, env);
    let outputs = outputs(&planned.change, env);
    planned.change.items.extend(records.into_iter().chain(debris).chain(outputs));
    if !planned.has_work() && planned.kept.keys().all(|keep| *keep == Keep::NotAskedFor) {
        no_match::note_of_filters(&filter, env, ui);
    }
    planned.due = due(settings, newest, env, ui)?;
    Ok(planned)
}

/// Resolves each `--exclude` that is not an id here by its title, and refuses one that matches no session: the session
/// that it should protect would be removed.
fn excluded(
    typed: &[Selector],
    summaries: &Summaries,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<Vec<(AgentKind, String)>> {
    let filter = Filter::default();
    let mut excluded = Vec::with_capacity(typed.len());
    for selector in typed {
        let Selector::Id { agent, text } = selector else { continue };
        let by_id = summaries.by_id(*agent, text);
        if !by_id.is_empty() {
            excluded.extend(by_id);
            continue;
        }
        crate::commands::refuse_number(selector)?;
        let found = Finder::new(&filter, ScanScope::GLANCE, env, ui).unambiguous(selector);
        match found.and_then(|target| Ok(target.session()?)) {
            Ok(session) => {
                let (agent, id) = session.key();
                ui.print_note(&format!("--exclude {text:?} keeps {agent} session {id}."));
                excluded.push((agent, id));
            }
            // A full id is not a typo: its session was removed, and a cron job that names it must continue.
            Err(error) if find::is_not_found(&error) && find::is_whole_id(text) => {
                ui.warn(&format!("--exclude {text} has no effect, because no session has this id"));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(excluded)
}

/// Returns the runs whose trash is old enough to be purged.
fn due(
    settings: &CleanupSettings<'_>,
    newest: Option<Timestamp>,
    env: &Env,
    ui: &mut Ui,
) -> Result<Vec<String>, PathError> {
    let trash_keep = settings.trash_keep;
    let before = env.clock.before(trash_keep);
    let history = crate::commands::history(env, ui)?;
    let due = Purge::Before(before);
    let due: Vec<String> = history.runs.iter().filter(|run| due.means(run)).map(|run| run.id.clone()).collect();
    // If the clock jumped ahead, every run is expired, and a purge cannot be undone.
    let newest = history.runs.iter().filter_map(|run| run.kept_since).max().max(newest);
    if due.is_empty() || newest.is_some_and(|newest| newest >= before) || !trash_keep.is_relative() {
        return Ok(due);
    }
    ui.warn(
        "nothing in the trash was deleted permanently: no session was active since its contents were removed, so the clock may be wrong",
    );
    Ok(Vec::new())
}

impl CleanupPlan {
    /// Counts the kept sessions, and records those that only their agent can remove.
    pub(super) fn note_kept(&mut self, summaries: &Summaries, families: &[Family]) {
        for family in families {
            if let FamilyVerdict::Stays(keep) = family.verdict {
                *self.kept.entry(keep).or_default() += 1;
                let kept_by = (keep == Keep::KeptByAgent)
                    .then(|| family.members.iter().find_map(|at| summaries.kept_by(*at)))
                    .flatten();
                kept_by.into_iter().for_each(|kept_by| *self.kept_by.entry(kept_by.why).or_default() += 1);
            }
        }
        self.its_agents.reserve_exact(self.kept.get(&Keep::ItsAgents).copied().unwrap_or_default());
        for family in families.iter().filter(|family| family.verdict == FamilyVerdict::Stays(Keep::ItsAgents)) {
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
    pub(super) fn add(&mut self, summaries: Summaries, going: Vec<Family>, only_empty: bool) {
        self.change.items.reserve_exact(going.len());
        let mut reasons: BTreeMap<Option<Date>, Arc<str>> = BTreeMap::new();
        for (family, items) in summaries.leave(going) {
            let code = match family.verdict {
                FamilyVerdict::Goes(go) if !only_empty => go.name(),
                _ => "empty",
            };
            let day = family.active_at.map(day);
            let reason = reasons.entry(day).or_insert_with(|| match day {
                Some(day) => format!("last active {day}").into(),
                None => "last active at an unknown time".into(),
            });
            match items.item(code, Arc::clone(reason)) {
                Ok(Going::Handed(handed)) => self.change.handed.push(handed),
                Ok(Going::Item(item)) => self.change.items.push(item),
                Err((about, reason)) => self.unplanned.push(Unplanned { about: about.to_string(), reason }),
            }
        }
    }

    /// Returns whether any session is removed.
    pub(super) fn has_work(&self) -> bool {
        !self.change.is_empty()
    }

    /// Lets agents remove the sessions that only they can remove, each archived first.
    pub(super) fn hand_over(
        &mut self,
        settings: &CleanupSettings<'_>,
        state_dir: &StateDir,
        env: &Env,
        ui: &mut Ui,
    ) -> anyhow::Result<Vec<ItemResult>> {
        let archive = Archive::open(env, settings.args.archive_dir.as_deref());
        let lock = settings.args.removal.change.lock;
        let (archived, done) = via_agent::carry_out(&self.change.handed, &archive, lock, state_dir, env, ui)?;
        self.archived.sessions += archived.sessions;
        self.archived.stored_bytes += archived.stored_bytes;
        Ok(done)
    }

    /// Archives all sessions to be removed; those that cannot be archived are kept.
    pub(super) fn archive(
        &mut self,
        settings: &CleanupSettings<'_>,
        state_dir: &StateDir,
        env: &Env,
        ui: &mut Ui,
    ) -> anyhow::Result<()> {
        let archive = Archive::open(env, settings.args.archive_dir.as_deref());
        let seen: Vec<&[PlannedCopy]> = self.change.items.iter().map(|item| item.seen.as_slice()).collect();
        let (archived, failed) =
            archive_first::archive(&seen, &archive, settings.args.removal.change.lock, state_dir, env, ui)?;
        self.archived = archived;
        // The new index of each removed item on which others depend.
        let (mut numbers, mut count) = (Vec::with_capacity(failed.len()), 0);
        let mut failed = failed.into_iter();
        self.change.items.retain_mut(|item| {
            let why = failed.next().flatten();
            let first = item.after.map(|first| numbers.get(first).copied().flatten());
            let goes = why.is_none() && first != Some(None);
            item.after = first.flatten();
            numbers.push(goes.then_some(count));
            count += usize::from(goes);
            let unplanned =
                |why| Unplanned { about: item.about.to_string(), reason: format!("it could not be archived: {why}") };
            self.unplanned.extend(why.map(unplanned));
            goes
        });
        Ok(())
    }

    /// Returns the guard that the plan violates, if any.
    pub(super) fn refusal(&self, settings: &CleanupSettings<'_>, env: &Env) -> Option<Refusal> {
        if settings.args.allow_all || !self.has_work() {
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
        let these = match self.change.items.len() + self.change.handed.len() {
            1 => "it".to_owned(),
            many => format!("these {many}"),
        };
        let all = command_line::again(env, &[], &["--allow-all"]);
        let plan = command_line::again(env, &["--yes", "-y"], &["--dry-run", "--allow-all"]);
        let hint = if settings.args.removal.change.dry_run {
            format!("`{all}` prints the command that removes {these}")
        } else {
            format!("see the plan with `{plan}`; to remove {these}, run `{all}`")
        };
        Some(Refusal::new(code, message).hint(hint))
    }

    pub(super) fn report<'a>(
        &'a self,
        settings: &CleanupSettings<'_>,
        outcome: Option<&'a ChangeOutcome>,
        purged: &'a Purged,
        env: &Env,
    ) -> CleanupReport<'a> {
        CleanupReport {
            change: ChangeReport {
                is_permanent: settings.args.removal.permanent,
                look: ReportExtras {
                    trash_keep: Some(settings.trash_keep),
                    ..ReportExtras::from_args(&settings.args.removal.change)
                },
                ..ChangeReport::new(&self.change, outcome)
            },
            archive: self.archive.as_deref(),
            archived: self.archived,
            kept: &self.kept,
            kept_by: &self.kept_by,
            filters: settings.args.place.options().chain(settings.args.choice.options()).collect(),
            its_agents: &self.its_agents,
            unplanned: &self.unplanned,
            refused: self.refusal(settings, env).map(|refusal| refusal.code),
            cutoff: self.cutoff,
            purged,
            is_locked: false,
        }
    }

    pub(super) fn print(
        &self,
        settings: &CleanupSettings<'_>,
        report: &CleanupReport<'_>,
        env: &Env,
        ui: &mut Ui,
    ) -> anyhow::Result<()> {
        ui.answer(settings.args.format, env, &report.answer(env))?;
        if settings.args.format.is_table() {
            render::left_to_agents(&self.its_agents, env).iter().for_each(|line| ui.print_note(line));
        }
        Ok(())
    }
}
