//! Archives sessions before cleanup removes them, and finds those that are already archived.

use std::collections::{BTreeSet, HashMap};

use super::subagents::inner;
use crate::archive::write::ArchiveOptions;
use crate::archive::{Archive, coverage, write as apply};
use crate::change::plan::change::PlannedCopy;
use crate::change::plan::retention::Family;
use crate::change::removal::Summaries;
use crate::cli::LockArgs;
use crate::scan::{Places, Scan, ScanScope};
use crate::session::{AgentKind, Located, Session};
use crate::system::env::Env;
use crate::system::reach;
use crate::view::render::cleanup::Archived;
use crate::view::ui::Ui;
use changes::state_dir::StateDir;

type AgentAndId = (AgentKind, String);

/// Returns the sessions to be removed that are completely in the archive, in their current state and with their
/// sub-agents.
pub(super) fn archived(
    summaries: &Summaries,
    families: &[Family],
    archive: &Archive,
    env: &Env,
) -> BTreeSet<AgentAndId> {
    if reach::is_dir(archive.root()) != Some(true) {
        return BTreeSet::new();
    }
    let going = || families.iter().filter(|family| family.is_removed());
    let places = going().flat_map(|family| &family.members).flat_map(|at| summaries.copies(*at));
    let scan = read(places.map(|copy| Located::clone(&copy.place)).collect(), env);
    let sessions = outer(&scan.sessions);
    let known = coverage::archived_sessions(&sessions, archive);
    let missing: BTreeSet<AgentAndId> =
        sessions.into_iter().map(Session::key).filter(|key| !known.contains(key)).collect();
    let is_whole = |family: &&Family| !family.members.iter().any(|at| missing.contains(&summaries.owned_key(*at)));
    let whole = going().filter(is_whole).map(|family| summaries.owned_key(family.root()));
    whole.filter(|key| known.contains(key)).collect()
}

/// Archives everything that these items of a removal remove. Returns for each item the reason why it must stay, if a
/// part of it could not be archived.
pub(super) fn archive(
    items: &[&[PlannedCopy]],
    archive: &Archive,
    lock: LockArgs,
    state_dir: &StateDir,
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<(Archived, Vec<Option<String>>)> {
    let seen = items.iter().copied().flatten();
    let mut scan = read(seen.map(|seen| Located::clone(&seen.place)).collect(), env);
    let inner = inner(&scan.sessions);
    scan.sessions.retain(|session| !inner.contains(&session.key()));
    // The originals are removed, so contents are compared, not times.
    let options = ArchiveOptions { is_full: true, patience: lock.lock_timeout, ..ArchiveOptions::default() };
    let mut progress = ui.progress("Archiving", scan.sessions.len());
    let report =
        apply::archive(&scan.sessions, archive, options, Some(state_dir), env, &mut |done| progress.show_done(done))?;
    drop(progress);
    let mut archived = Archived::default();
    let mut done: HashMap<AgentAndId, Option<String>> = inner.into_iter().map(|key| (key, None)).collect();
    for item in &report.items {
        archived.stored_bytes += item.stored_bytes;
        let why = item.done.why().map(str::to_owned);
        archived.sessions += usize::from(why.is_none());
        done.insert(item.session.key(), why);
    }
    for warning in &report.warnings {
        ui.warn(warning);
    }
    let stays = |item: &&[PlannedCopy]| {
        item.iter().find_map(|seen| match done.get(&(seen.place.agent(), seen.place.id.clone())) {
            Some(why) => why.clone(),
            None => Some("it could not be read again".to_owned()),
        })
    };
    let stays = items.iter().map(stays).collect();
    Ok((archived, stays))
}

fn read(places: Vec<Located>, env: &Env) -> Scan {
    Places { places, ..Places::default() }.read_all(env, ScanScope::GLANCE)
}

/// Drops the sub-agents that are in the belongings of another session.
fn outer(sessions: &[Session]) -> Vec<&Session> {
    let inner = inner(sessions);
    sessions.iter().filter(|session| !inner.contains(&session.key())).collect()
}
