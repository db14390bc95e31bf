//! `rejoin delete`

use std::collections::{BTreeSet, HashSet};

use super::{change, removal};
use crate::agent;
use crate::change::apply::run::run_locked;
use crate::change::apply::state_dir::StateDir;
use crate::change::pins::Pins;
use crate::change::plan::change::{About, Change};
use crate::change::removal::Summaries;
use crate::cli::DeleteArgs;
use crate::commands::find;
use crate::error::{Exit, Refusal};
use crate::scan::Wanted;
use crate::session::select::Filter;
use crate::system::env::Env;
use crate::system::watch::Watcher;
use crate::view::render::json::change::Report;
use crate::view::ui::Ui;

pub(crate) fn run(args: &DeleteArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Exit> {
    removal::needs_somebody(&args.removal, env)?;
    if !args.removal.change.dry_run {
        super::recover_first("delete", args.removal.change.lock, env, ui)?;
    }
    let change = plan(args, env, ui)?;
    change::check_fingerprint(&change, &args.removal.change)?;
    removal::ask(change.items.len(), change.freed_bytes(), &args.removal, env, ui)?;

    let (mut outcome, mut failed) = (None, Vec::new());
    if !args.removal.change.dry_run {
        // One lock until the trash is purged: nobody comes in between.
        let state_dir = StateDir::open(env, "delete", args.removal.change.lock.lock_timeout)?;
        let mut progress = ui.progress("Removing", change.items.len());
        let outcome = outcome.insert(run_locked(&state_dir, &change, env, &mut |done| progress.at(done))?);
        drop(progress);
        if args.removal.permanent {
            failed = removal::purge(outcome, &state_dir, env)?.failed;
        }
    }
    let is_permanent = args.removal.permanent && failed.is_empty();
    let report = Report { change: &change, outcome: outcome.as_ref(), is_permanent };
    ui.answer(args.format, env, &report)?;
    failed.iter().for_each(|why| ui.warn(&format!("the trash could not be purged: {why}")));
    Ok(if failed.is_empty() { change::exit(outcome.as_ref()) } else { Exit::Partial })
}

/// Finds every session that is named, then plans for all of them or for none.
fn plan(args: &DeleteArgs, env: &Env, ui: &mut Ui) -> anyhow::Result<Change> {
    let named = find::all_named(&args.sessions, &args.agent, Wanted::GLANCE, env, ui)?;
    let pins = Pins::read(env)?;
    let agents: BTreeSet<_> = named.iter().map(|session| session.agent).collect();
    let agents: Vec<_> = agents.into_iter().collect();
    let mut summaries = Summaries::read(env, &agents, &Filter::default(), false, Watcher::default());
    let refuse = |why: String| Refusal::new(Exit::Refused, "not-removable", why);
    let mut roots = Vec::new();
    for session in &named {
        let found = summaries.find(session.agent, &session.id);
        if found.is_empty() {
            // It lies in no store, as the databases of some agents do.
            let its_agents = agent::by_kind(session.agent).map(|agent| agent.belongings(&session.copy().place));
            let why = its_agents.and_then(Result::err).unwrap_or_else(|| "it is gone".to_owned());
            let message = format!("{} session {} cannot be removed: {why}", session.agent, session.id);
            return Err(refuse(message).into());
        }
        roots.extend(found);
    }
    let mut families = summaries.with_subagents(&roots);
    for members in &families {
        if let Some(why) = summaries.obstacle(members, &pins) {
            return Err(refuse(why).into());
        }
    }
    // One that is named twice, or that goes with another, goes once.
    let mut covered: HashSet<usize> = families.iter().flat_map(|members| &members[1..]).copied().collect();
    families.retain(|members| covered.insert(members[0]));
    let mut change = Change { verb: "delete", items: Vec::new() };
    for (_, items) in summaries.leave(families) {
        let reason = items.title.as_deref().unwrap_or("named").into();
        let item = items.item("named", reason);
        let why = |(about, why): (About, String)| {
            let session = about.session().map(|(agent, id)| format!("{agent} session {id}"));
            refuse(format!("{} cannot be removed: {why}", session.unwrap_or_else(|| about.to_string())))
        };
        change.items.push(item.map_err(why)?);
    }
    Ok(change)
}
