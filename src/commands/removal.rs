//! Shared by the commands that remove sessions: the confirmation, and the trash.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::agent;
use crate::change::apply::history::Permanent;
use crate::change::outcome::{ChangeOutcome, ItemResult};
use crate::change::pins::Pins;
use crate::change::plan::change::{Change, ItemSubject};
use crate::change::removal::{Going, Summaries, is_session, outputs};
use crate::cli::RemovalArgs;
use crate::commands::via_agent;
use crate::error::{Refusal, RefusalCode};
use crate::format::{command_line, text};
use crate::scan::{Places, ScanScope};
use crate::session::select::{Filter, Selector};
use crate::session::{AgentKind, Located, Session};
use crate::system::env::Env;
use crate::system::watch::Watcher;
use crate::view::render::confirm;
use crate::view::ui::Ui;
use changes::state_dir::StateDir;
use changes::trash::{self, Purge, Purged};

/// Refuses `latest`: another session may be the newest one by the time of the removal.
pub(super) fn refuse_latest(selector: &Selector) -> Result<(), Refusal> {
    if *selector != Selector::Latest {
        return Ok(());
    }
    let message = "`latest` may mean another session at any moment, so no session is removed by that name";
    Err(Refusal::new(RefusalCode::Usage, message).hint("see which it is with `rejoin show latest`, and use its id"))
}

/// Refuses at once if a confirmation will be needed and there is no terminal: a cron job should fail on its first day.
pub(super) fn needs_confirmation(args: &RemovalArgs, env: &Env) -> Result<(), Refusal> {
    let is_agreed = args.yes || args.change.dry_run || args.change.apply.is_some();
    if is_agreed || env.terminal.can_ask() {
        return Ok(());
    }
    let message = "removing sessions needs confirmation, but there is no terminal to ask on";
    let plan = command_line::again(env, &[], &["--dry-run"]);
    let agreed = command_line::again(env, &[], &["--yes"]);
    Err(Refusal::new(RefusalCode::NeedsYes, message).hint(format!("see the plan with `{plan}`, then run `{agreed}`")))
}

/// Shows the sessions to be removed and asks, unless the user has already agreed.
pub(super) fn ask_before_removal(change: &Change, args: &RemovalArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<()> {
    if args.yes || args.change.dry_run || args.change.apply.is_some() {
        return Ok(());
    }
    let (about, handed) = (sessions_text(change, env), &change.handed);
    let removed = change.items.iter().filter(|item| is_session(item.code)).count();
    let (what, size) = (text::count(removed, "session"), text::size(change.freed_bytes()));
    let gone = if args.permanent {
        format!("Delete {what} ({size}) permanently")
    } else {
        format!("Remove {what} ({size} to the trash)")
    };
    let question = match (change.items.len(), handed.len()) {
        (_, 0) => format!("{gone}?"),
        (0, 1) => "Archive 1 session and have its agent remove it?".to_owned(),
        (0, count) => format!("Archive {count} sessions and have their agents remove them?"),
        (_, count) => format!("{gone}, archive {count} more and have their agents remove these?"),
    };
    super::confirm_or_refuse(&about, &question, env, ui)
}

/// Returns the summary of a plan that a terminal shows in place of its items, as before the question.
pub(super) fn overview(change: &Change, args: &RemovalArgs, is_table: bool, env: &Env) -> Vec<String> {
    let is_wanted = is_table && env.terminal.stdout && args.change.dry_run && !args.change.detail.all_items;
    if is_wanted { sessions_text(change, env) } else { Vec::new() }
}

/// Describes the sessions that a change removes.
fn sessions_text(change: &Change, env: &Env) -> Vec<String> {
    let handed = &change.handed;
    // Every copy: the first one is not always the one that counts.
    let seen = change.items.iter().flat_map(|item| &item.seen).chain(handed.iter().flat_map(|one| &one.seen));
    let places = seen.map(|seen| Located::clone(&seen.place)).collect();
    let scan = Places { places, ..Places::default() }.read_all(env, ScanScope::GLANCE);
    let mut abouts = change.items.iter().map(|item| &item.about).chain(handed.iter().map(|one| &one.about));
    let meant: HashSet<_> = abouts.by_ref().filter_map(ItemSubject::session).collect();
    // Sub-agents that are removed with their session are not asked about separately.
    let is_meant = |session: &&Session| meant.contains(&(session.agent, session.id()));
    let sessions: Vec<&Session> = scan.sessions.iter().filter(is_meant).collect();
    confirm::removal(&sessions, env)
}

/// Purges the trash of a run that has just removed something; a run with entries left in the trash can still be undone.
pub(super) fn purge(
    verb: &str,
    outcome: &mut ChangeOutcome,
    state_dir: &StateDir,
    env: &Env,
) -> anyhow::Result<Purged> {
    let Some(run) = outcome.run.clone() else { return Ok(Purged::default()) };
    Permanent::record_permanent(state_dir, &run, verb)?;
    let purged = trash::purge(state_dir, env.clock.now, &Purge::Runs(vec![run]))?;
    if purged.failed.is_empty() {
        outcome.run = None;
    }
    Ok(purged)
}

/// Prints a note for each agent whose own list still shows removed sessions.
pub(super) fn note_stale_list_entries(change: &Change, outcome: &ChangeOutcome, ui: &mut Ui) {
    let mut gone: BTreeMap<AgentKind, Vec<&str>> = BTreeMap::new();
    let done = change.items.iter().zip(&outcome.done).filter(|(_, done)| **done == ItemResult::Done);
    for (agent, id) in done.filter_map(|(item, _)| item.about.session()) {
        gone.entry(agent).or_default().push(id);
    }
    for (agent, ids) in gone {
        match (agent::about(agent).still_lists, ids.as_slice()) {
            (Some(words), [id]) => ui.print_note(&words.replace("ID", id)),
            (Some(words), _) => ui.print_note(words),
            (None, _) => {}
        }
    }
}

/// Returns the copies that are files in project directories, which a search of the stores does not find.
fn in_projects(named: &[impl Borrow<Session>]) -> Vec<Located> {
    let lies_there = |place: &&Located| agent::about(place.agent()).keeps_in_projects;
    let places = named.iter().flat_map(|session| &session.borrow().copies).map(|copy| &copy.place);
    let mut places: Vec<Located> = places.filter(lies_there).cloned().collect();
    places.sort_by(|a, b| a.path.cmp(&b.path));
    places.dedup_by(|a, b| a.path == b.path);
    places
}

/// Plans the removal of all of these sessions, or of none; agents remove their sessions only if `via_agent` is set.
pub(super) fn plan(named: &[impl Borrow<Session>], via_agent: bool, env: &Env) -> anyhow::Result<Change> {
    let pins = Pins::read(env)?;
    let agents: BTreeSet<_> = named.iter().map(|session| session.borrow().agent).collect();
    let agents: Vec<_> = agents.into_iter().collect();
    let mut summaries =
        Summaries::read(env, &agents, &Filter::default(), &[], false, in_projects(named), Watcher::default());
    summaries.via_agent = via_agent;
    let refuse = |why: String| Refusal::new(RefusalCode::NotRemovable, why);
    let mut roots = Vec::new();
    for session in named.iter().map(Borrow::borrow) {
        let session: &Session = session;
        let found = summaries.find_session(session.agent, session.id());
        if found.is_empty() {
            // The copy is outside the stores, as the databases of some agents are.
            let its_agents = agent::by_kind(session.agent).map(|agent| agent.belongings(&session.copy().place));
            let why = its_agents.and_then(Result::err).unwrap_or_else(|| "it is gone".into());
            let message = format!("{} session {} cannot be removed: {why}", session.agent, session.id());
            return Err(Refusal { hint: why.hint, ..refuse(message) }.into());
        }
        roots.extend(found);
    }
    let mut families = summaries.with_subagents(&roots);
    let going: HashSet<usize> = families.iter().flatten().copied().collect();
    for members in &families {
        if let Some(why) = summaries.obstacle(members, &going, &pins) {
            let refusal = refuse(why);
            return Err(match summaries.agent_that_removes(members) {
                Some(agent) if !via_agent => {
                    let again = command_line::again(env, &[], &["--via-agent"]);
                    let title = agent::about(agent).title;
                    refusal.hint(format!("archive it and have {title} remove it with `{again}`")).into()
                }
                _ => refusal.into(),
            });
        }
    }
    // A session that is named twice, or that is removed with another one, is removed once.
    let mut covered: HashSet<usize> = families.iter().flat_map(|members| &members[1..]).copied().collect();
    families.retain(|members| covered.insert(members[0]));
    let mut planned = Change::new("delete", Vec::new());
    for (_, items) in summaries.leave(families) {
        let reason = items.title.as_deref().unwrap_or("named").into();
        let item = items.item("named", reason);
        let why = |(about, why): (ItemSubject, String)| {
            let session = about.session().map(|(agent, id)| format!("{agent} session {id}"));
            refuse(format!("{} cannot be removed: {why}", session.unwrap_or_else(|| about.to_string())))
        };
        match item.map_err(why)? {
            Going::Item(item) => planned.items.push(item),
            Going::Handed(handed) => planned.handed.push(handed),
        }
    }
    via_agent::weigh(&mut planned.handed, env);
    let outputs = outputs(&planned, env);
    planned.items.extend(outputs);
    Ok(planned)
}
