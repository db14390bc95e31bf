//! Sessions in databases that their agents remove: each is archived, then the agent's own command is run, then the
//! database is read again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use super::archive_first;
use crate::agent;
use crate::archive::{Archive, coverage};
use crate::change::hindrance;
use crate::change::outcome::ItemResult;
use crate::change::plan::change::Handed;
use crate::change::plan::change::PlannedCopy;
use crate::cli::LockArgs;
use crate::format::text;
use crate::launch::agent_command::AgentCommand;
use crate::scan::{Places, ScanScope, processes};
use crate::session::{Located, Session};
use crate::system::env::Env;
use crate::system::reach;
use crate::view::render::cleanup::Archived;
use crate::view::ui::Ui;
use changes::state_dir::StateDir;

/// Maximum sessions that are named.
const NAMED: usize = 5;

/// Computes the size of the rows of each session. That is slow, so it is done only when needed.
pub(super) fn weigh(handed: &mut [Handed], env: &Env) {
    let scope = ScanScope { counts: true, ..ScanScope::GLANCE };
    let sizes: HashMap<(std::path::PathBuf, String), u64> = read(handed.iter().flat_map(|one| &one.seen), scope, env)
        .iter()
        .flat_map(|session| &session.copies)
        .map(|copy| ((copy.place.path.to_path_buf(), copy.place.id.clone()), copy.size_bytes))
        .collect();
    for one in handed {
        let key = |seen: &PlannedCopy| (seen.place.path.to_path_buf(), seen.place.id.clone());
        one.size_bytes = one.seen.iter().filter_map(|seen| sizes.get(&key(seen))).sum();
    }
}

/// Archives these sessions and lets their agents remove them; those that cannot be archived are not removed.
pub(super) fn carry_out(
    handed: &[Handed],
    archive: &Archive,
    lock: LockArgs,
    state_dir: &StateDir,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<(Archived, Vec<ItemResult>)> {
    if handed.is_empty() {
        return Ok((Archived::default(), Vec::new()));
    }
    let seen: Vec<&[PlannedCopy]> = handed.iter().map(|one| one.seen.as_slice()).collect();
    let (archived, failed) = archive_first::archive(&seen, archive, lock, state_dir, env, ui)?;
    let mut progress = ui.progress("Removing", handed.len());
    let mut done = Vec::with_capacity(handed.len());
    for (one, failed) in handed.iter().zip(failed) {
        done.push(match failed {
            Some(why) => ItemResult::Failed(format!("it could not be archived: {why}")),
            None => remove(one, handed, archive, env),
        });
        progress.show_done(done.len());
    }
    Ok((archived, done))
}

/// Lets the agent remove one session if it is not in use and completely in the archive.
fn remove(one: &Handed, handed: &[Handed], archive: &Archive, env: &Env) -> ItemResult {
    let mut sessions = read(one.seen.iter(), ScanScope::GLANCE, env);
    processes::verify_for_change(&mut sessions);
    if let Some(why) = sessions.iter().find_map(|session| hindrance::in_use(session.copy())) {
        return ItemResult::Skipped(why);
    }
    // The agent may have removed it with another session.
    if !sessions.iter().all(|session| coverage::is_whole(session, archive)) {
        return ItemResult::Skipped("it was changed just now, and is archived as it was before".to_owned());
    }
    let before = all_beside(one);
    // Sub-agents are removed with their session, unless the agent leaves them.
    let failed = one.seen.iter().filter_map(|seen| remove_copy(&seen.place, env).err());
    let mut failed: Vec<String> = failed.collect();
    let after = all_beside(one);
    let meant = handed.iter().flat_map(|one| &one.seen).map(|seen| (&*seen.place.path, &*seen.place.id));
    let meant: BTreeSet<(&Path, &str)> = meant.collect();
    let is_gone = |(key, place): &(&(Arc<Path>, String), &Located)| {
        !after.contains_key(*key) && !meant.contains(&(&*place.path, &*place.id))
    };
    let gone: Vec<&Located> = before.iter().filter(is_gone).map(|(_, place)| place).collect();
    if !gone.is_empty() {
        failed.push(also_gone(&gone, archive));
    }
    if failed.is_empty() { ItemResult::Done } else { ItemResult::Failed(failed.join("; ")) }
}

/// Finds every session in the databases of the removed ones, to notice the loss of any other session.
fn all_beside(one: &Handed) -> BTreeMap<(Arc<Path>, String), Located> {
    let mut asked = BTreeSet::new();
    let mut all = BTreeMap::new();
    for place in one.seen.iter().map(|seen| &seen.place) {
        let Some(agent) = agent::by_kind(place.agent()).filter(|_| asked.insert(Arc::clone(&place.path))) else {
            continue;
        };
        let neighbours =
            agent.locate(&place.store, None).places.into_iter().filter(|neighbours| neighbours.path == place.path);
        all.extend(neighbours.map(|neighbours| ((Arc::clone(&neighbours.path), neighbours.id.clone()), neighbours)));
    }
    all
}

/// Names the other sessions that an agent has removed, and reports whether the archive has them.
fn also_gone(gone: &[&Located], archive: &Archive) -> String {
    let title = agent::about(gone[0].agent()).title;
    let own = archive.own();
    let is_kept = |place: &&Located| {
        own.as_ref().is_some_and(|own| reach::is_dir(&own.session_dir(place.agent(), &place.id)) == Some(true))
    };
    let kept = gone.iter().filter(|place| is_kept(place)).count();
    let ids: Vec<&str> = gone.iter().take(NAMED).map(|place| &*place.id).collect();
    let more = if gone.len() > NAMED { format!(" and {} more", gone.len() - NAMED) } else { String::new() };
    format!(
        "{title} removed {} with it that were not named: {}{more}; the archive has {kept} of them, for `rejoin restore ID`",
        text::count(gone.len(), "other session"),
        ids.join(", ")
    )
}

/// Runs the agent's own command unless the session is gone already, and reads the database afterwards.
fn remove_copy(place: &Located, env: &Env) -> Result<(), String> {
    let Some(agent) = agent::by_kind(place.agent()) else { return Ok(()) };
    let Some(agent_managed) = agent.agent_managed(place) else {
        return Err("it does not lie in a database".to_owned());
    };
    let is_there = || {
        let found = agent.locate(&place.store, Some(&place.id));
        match found.problems.first() {
            Some(problem) => Err(format!("its database cannot be read: {}", problem.reason)),
            None => Ok(found.places.iter().any(|found| found.path == place.path)),
        }
    };
    if !is_there()? {
        return Ok(());
    }
    let command = agent_managed.removal(&place.id);
    // The settings of a project could run code in its agent, so the agent is started in the home directory.
    let ended = AgentCommand { argv: &command, dir: &env.home, store: &place.store }.run(env);
    let title = agent::about(place.agent()).title;
    match (is_there()?, ended) {
        (false, _) => Ok(()),
        (true, Err(why)) => Err(format!("{why}; {title} still has it in {}", place.path.display())),
        (true, Ok(())) => {
            let command = agent::typed(&command, &place.store);
            Err(format!("`{command}` ended well, but {title} still has it in {}", place.path.display()))
        }
    }
}

fn read<'a>(seen: impl Iterator<Item = &'a PlannedCopy>, scope: ScanScope, env: &Env) -> Vec<Session> {
    let places = seen.map(|seen| Located::clone(&seen.place)).collect();
    Places { places, ..Places::default() }.read_all(env, scope).sessions
}
