//! Finds files that belong to no session, in the stores and in the launch directories.

use std::path::PathBuf;

use foldhash::{HashMap, HashSet};

use crate::agent::upkeep::{CwdRecord, CwdRecords, Orphan, is_own_temporary, temporary, temporary_in};
use crate::agent::{self, Found};
use crate::scan::Scan;
use crate::session::{AgentKind, Problem, Store};
use crate::system::env::Env;
use crate::system::reach;

/// The existing launch directories of sessions, by agent.
pub(super) struct ExistingDirs(HashMap<AgentKind, Vec<PathBuf>>);

impl ExistingDirs {
    pub(super) fn from_scan(scan: &Scan) -> Self {
        let existing = scan.sessions.iter().filter(|session| session.launch_dir_exists == Some(true));
        let dirs: HashSet<_> =
            existing.filter_map(|session| Some((session.agent, session.launch_dir()?.as_os_str()))).collect();
        let mut by_agent: HashMap<AgentKind, Vec<PathBuf>> = HashMap::default();
        for (agent, dir) in dirs {
            by_agent.entry(agent).or_default().push(dir.into());
        }
        Self(by_agent)
    }

    fn of_agent(&self, agent: AgentKind) -> &[PathBuf] {
        self.0.get(&agent).map_or(&[], Vec::as_slice)
    }
}

/// Finds all files that belong to no session, and the problems of reading directories.
pub(super) fn find_orphans(
    scan: &Scan,
    stores: &[Store],
    existing: &ExistingDirs,
    env: &Env,
) -> (Vec<Orphan>, Vec<Problem>) {
    let (mut orphans, mut problems) = (own_temporaries(existing, env), Vec::new());
    for store in stores {
        let Some(agent) = agent::by_kind(store.agent) else { continue };
        let mut found = agent.orphans(store, env);
        orphans.append(&mut found.orphans);
        problems.append(&mut found.problems);
    }
    let copies = scan.sessions.iter().flat_map(|session| &session.copies);
    let temporary = copies.flat_map(|copy| {
        copy.temporary.iter().map(|path| Orphan {
            session_id: Some(copy.place.id.clone()),
            ..temporary(copy.place.agent(), path.clone())
        })
    });
    orphans.extend(temporary);
    orphans.sort_by(|a, b| a.path.cmp(&b.path));
    (orphans, problems)
}

/// Finds temporary files of a killed `save` or `hook` in directories outside the stores: those of projects and of apps.
fn own_temporaries(existing: &ExistingDirs, env: &Env) -> Vec<Orphan> {
    // Other checks report directories that cannot be read.
    let mut found = Found::default();
    let mut orphans = Vec::new();
    let mut look = |agent, dirs: &[PathBuf], found: &mut Found| {
        orphans.extend(found.in_each(dirs, &|dir, found| temporary_in(dir, agent, found, is_own_temporary)));
    };
    for (agent, kept) in keepers_of_records() {
        let dirs: Vec<PathBuf> = existing.of_agent(agent).iter().map(|dir| kept.dir_in(dir)).collect();
        look(agent, &dirs, &mut found);
    }
    for writer in agent::pointer_writers() {
        let known = existing.of_agent(writer.kind().session_owner());
        let dirs = writer.dirs(env, &mut known.iter().map(PathBuf::as_path), &mut found);
        look(writer.kind(), &dirs, &mut found);
    }
    orphans
}

/// Finds the records of directories in which sessions worked, each with a flag that is set if the directory exists.
pub(super) fn cwd_records(stores: &[Store], existing: &ExistingDirs) -> (Vec<(CwdRecord, bool)>, Vec<Problem>) {
    let mut found = Found::default();
    let mut records: Vec<CwdRecord> = Vec::new();
    for (agent, kept) in keepers_of_records() {
        records.extend(found.in_each(existing.of_agent(agent), &|dir, found| kept.in_project(dir, found)));
        let stores = stores.iter().filter(|store| store.agent == agent);
        records.extend(stores.flat_map(|store| kept.in_store(&store.root, &mut found)));
    }
    records.sort_by(|a, b| a.path.cmp(&b.path));
    records.dedup();
    let exists = |record: &CwdRecord| record.dir.as_deref().is_some_and(|dir| reach::is_dir(dir) != Some(false));
    let records = records.into_iter().map(|record| (exists(&record), record)).map(|(is, record)| (record, is));
    (records.collect(), found.problems)
}

/// Returns the agents that keep records of working directories.
fn keepers_of_records() -> impl Iterator<Item = (AgentKind, &'static dyn CwdRecords)> {
    agent::all().iter().filter_map(|agent| Some((agent.kind(), agent.about().cwd_records?)))
}
