//! All agents together: finds the copies by name, reads the requested ones in parallel, and groups the copies of one
//! id.

pub(crate) mod aliases;
mod commits;
pub(crate) mod deleted;
pub(crate) mod expiry;
mod first;
mod gap;
pub(crate) mod git;
pub(crate) mod missing;
pub(crate) mod moved;
pub(crate) mod named_logs;
pub(crate) mod nearest;
mod needle;
pub(crate) mod off_branch;
mod outside;
pub(crate) mod pattern;
mod probe;
pub(crate) mod processes;
pub(crate) mod ranked;
mod reader;
pub(crate) mod relocated;
pub(crate) mod search;
mod siblings;
pub(crate) mod sieve;
pub(crate) mod stores;
pub(crate) mod stuck;
pub(crate) mod texts;
pub(crate) mod usage;
pub(crate) mod worktree;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::hash::BuildHasher as _;
use std::path::Path;
use std::sync::Arc;

use foldhash::fast::FixedState;
use foldhash::{HashMap, HashSet};

use crate::agent::{self, Agent, Depth, Found, Inspector, Observers};
use crate::session::choose::choose;
use crate::session::select::Filter;
use crate::session::{AgentKind, Located, Pointer, Problem, Session, SessionCopy, Store};
use crate::system::env::Env;
use crate::system::watch::Watcher;
use crate::system::{parallel, reach};

pub(crate) use outside::tie;
use reader::Notes;
use siblings::{add_hashed_evidence, add_project_evidence};

/// Every copy of every agent by name, before any is opened.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// The copies.
    pub places: Vec<Located>,
    /// Paths that could not be read.
    pub problems: Vec<Problem>,
    /// Stores whose links lead to sessions of others.
    pub shared: BTreeSet<aliases::SharedRoots>,
    /// Receives the number of copies that were read.
    pub watcher: Watcher,
    /// Receives the transcripts that are read, whole or in part.
    pub inspector: Inspector,
}

/// Sessions that were read.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// The sessions, in order of agent and id.
    pub sessions: Vec<Session>,
    /// Pointers whose session cannot be found.
    pub dangling: Vec<Pointer>,
    /// Paths that could not be read.
    pub problems: Vec<Problem>,
}

/// Maximum transcript that is counted by default, in bytes: 64 MiB need 0.33 seconds.
pub(crate) const LONG_TO_COUNT: u64 = 64 * 1024 * 1024;

/// The parts that a scan reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScanScope {
    /// The part of each copy that is read.
    pub depth: Depth,
    /// Set to measure each copy with its belongings, which needs a stat of every file.
    pub sizes: bool,
    /// Set to count prompts and replies, which reads whole files.
    pub counts: bool,
    /// Set to sum up the tokens and the cost of each copy that is counted, if its records have them.
    pub usage: bool,
    /// The size of the longest transcript that is counted, in bytes.
    pub max_counted: u64,
    /// Set to compare several copies of one session, which reads whole files.
    pub compare: bool,
}

impl ScanScope {
    /// Enough for `list`.
    pub(crate) const GLANCE: Self =
        Self { depth: Depth::Glance, sizes: true, counts: false, usage: false, max_counted: u64::MAX, compare: false };
    /// Enough to resume a session, with the choice between its copies.
    pub(crate) const RESUME: Self = Self { compare: true, ..Self::GLANCE };
    /// Every source of a launch directory.
    pub(crate) const THOROUGH: Self = Self { depth: Depth::Thorough, ..Self::RESUME };
}

/// Finds every copy of the given agents, or of all if none is given.
pub(crate) fn locate(env: &Env, agents: &[AgentKind]) -> Places {
    locate_with(env, agents, |agent, store| agent.locate(store, None))
}

/// Finds every copy of one full id without reading other sessions.
pub(crate) fn locate_id(env: &Env, agents: &[AgentKind], id: &str) -> Places {
    locate_with(env, agents, |agent, store| agent.locate(store, Some(id)))
}

fn locate_with(env: &Env, agents: &[AgentKind], look: impl Fn(&dyn Agent, &Arc<Store>) -> Found + Sync) -> Places {
    let (mut places, mut follows_links) = (Places::default(), false);
    for found in in_stores(env, agents, look) {
        follows_links |= found.follows_links;
        places.add(found);
    }
    places.problems.extend(silent_stores(env, agents));
    if follows_links || aliases::are_several(places.places.iter().map(|place| &*place.store)) {
        places.shared = aliases::drop_aliases(&mut places.places);
    }
    aliases::drop_repeated(&mut places.problems);
    places
}

/// Returns a problem for each store on a mount that does not answer, or a single one if the home itself is on that
/// mount.
fn silent_stores(env: &Env, agents: &[AgentKind]) -> Vec<Problem> {
    let problem = |path: &Path| {
        let error = reach::refuse_silent(path).err()?;
        Some(Problem { path: path.to_owned(), reason: error.to_string() })
    };
    if !reach::any_remote() {
        return Vec::new();
    }
    if let Some(problem) = problem(&env.home) {
        return vec![problem];
    }
    let requested = agent::all().iter().filter(|agent| is_asked_for(agent.kind(), agents));
    requested.flat_map(|agent| agent.stores(env)).filter_map(|store| problem(&store.root)).collect()
}

/// Calls `look` for every store of the given agents, or of all if none is given.
fn in_stores<T: Send>(env: &Env, agents: &[AgentKind], look: impl Fn(&dyn Agent, &Arc<Store>) -> T + Sync) -> Vec<T> {
    let requested = agent::all().iter().filter(|agent| is_asked_for(agent.kind(), agents));
    let look_into = |agent: &&dyn Agent| stores_of(*agent, env).map(|store| look(*agent, &Arc::new(store))).collect();
    parallel::map(requested, look_into).into_iter().flat_map(|found: Vec<T>| found).collect()
}

/// Returns the stores of an agent on mounts that answer; a variable may name a store on another mount.
fn stores_of(agent: &dyn Agent, env: &Env) -> impl Iterator<Item = Store> + use<> {
    agent.stores(env).into_iter().filter(|store| reach::answers(&store.root))
}

/// Returns whether an agent is requested. Requesting a program that only points to sessions requests their agent.
fn is_asked_for(kind: AgentKind, agents: &[AgentKind]) -> bool {
    agents.is_empty() || agents.iter().any(|asked| asked.session_owner() == kind)
}

impl Places {
    fn add(&mut self, mut found: Found) {
        if self.places.is_empty() {
            self.places = found.places
        } else {
            self.places.append(&mut found.places)
        }
        self.problems.append(&mut found.problems);
    }

    /// Reports every copy that was read to a watcher.
    pub(crate) fn watched(self, watcher: Watcher) -> Self {
        Self { watcher, ..self }
    }

    /// Passes transcripts to an inspector while [`Places::read_all`] has them open.
    pub(crate) fn inspected(self, inspector: Inspector) -> Self {
        Self { inspector, ..self }
    }

    /// Reads every copy.
    pub(crate) fn read_all(self, env: &Env, scope: ScanScope) -> Scan {
        let Self { places, problems, watcher, inspector, .. } = self;
        read(env, places, &[], scope, problems, &watcher, &inspector)
    }

    /// Reads every copy, the sessions outside of the stores that [`Scan::add_those_in_dirs`] finds, and the pointers to
    /// sessions.
    pub(crate) fn read_with_dirs(self, env: &Env, filter: &Filter, scope: ScanScope) -> Scan {
        let watcher = self.watcher.clone();
        let mut scan = self.read_all(env, scope);
        scan.add_those_in_dirs(env, filter, scope, &watcher);
        scan.drop_idle(filter);
        scan.add_pointers(env);
        scan
    }

    /// Reads every copy, and keeps only the result of `digest` for each, to save memory. Directories that only other
    /// sessions record are then unknown.
    pub(crate) fn digest<T: Send>(
        self,
        env: &Env,
        scope: ScanScope,
        digest: impl Fn(SessionCopy) -> T + Sync,
    ) -> (Vec<T>, Vec<Problem>) {
        let Self { places, mut problems, watcher, inspector, .. } = self;
        watcher.begin(places.len());
        let mut notes = Notes::of(env, &places, [], scope.counts, &mut problems);
        let digests = notes.read(env, places, scope, &inspector, &mut problems, &watcher, digest);
        problems.sort();
        problems.dedup();
        (digests, problems)
    }

    /// Reads the copies that `is_wanted` picks, and from the others only their directories.
    pub(crate) fn read_some(self, env: &Env, scope: ScanScope, is_wanted: impl Fn(&Located) -> bool) -> Scan {
        let Self { places, problems, watcher, inspector, .. } = self;
        let (picked, others): (Vec<_>, Vec<_>) = places.into_iter().partition(is_wanted);
        read(env, picked, &others, scope, problems, &watcher, &inspector)
    }
}

fn read(
    env: &Env,
    places: Vec<Located>,
    others: &[Located],
    scope: ScanScope,
    mut problems: Vec<Problem>,
    watcher: &Watcher,
    inspector: &Inspector,
) -> Scan {
    // The total is set before the notes are read, which may take long for databases.
    watcher.begin(places.len());
    let others_stores = others.iter().map(|place| &*place.store);
    let mut notes = Notes::of(env, &places, others_stores, scope.counts, &mut problems);
    let mut copies = notes.read(env, places, scope, inspector, &mut problems, watcher, |copy| vec![copy]);
    add_project_evidence(env, &mut copies, others, &notes, scope, watcher);
    add_hashed_evidence(env, &mut copies, watcher);

    let mut sessions = group(copies, scope);
    check_launch_dirs(&mut sessions);
    problems.sort();
    problems.dedup();
    Scan { sessions, dangling: Vec::new(), problems }
}

/// Merges the copies of one id, in order of agent and id.
fn group(mut copies: Vec<Vec<SessionCopy>>, scope: ScanScope) -> Vec<Session> {
    fn name(copies: &[SessionCopy]) -> (AgentKind, &str) {
        (copies[0].place.agent(), &copies[0].place.id)
    }
    copies.sort_by(|a, b| name(a).cmp(&name(b)));
    copies.dedup_by(|later, first| {
        let is_same = name(later) == name(first);
        if is_same {
            first.append(later);
        }
        is_same
    });
    // Several copies of one session may be read to their ends, to be compared.
    parallel::map(copies, |copies| session(copies, scope))
}

fn session(mut copies: Vec<SessionCopy>, scope: ScanScope) -> Session {
    let agent = copies[0].place.agent();
    let reader = agent::by_kind(agent).filter(|_| scope.compare && copies.len() > 1);
    if let Some(reader) = reader {
        for copy in copies.iter_mut().filter(|copy| copy.prompts.is_none()) {
            // A copy that cannot be read to its end counts as having no messages.
            let _ = agent::observe(reader, copy, &mut Observers::counts(false));
        }
    }
    let choice = choose(&mut copies, |a, b| reader?.compare(a, b));
    Session::new(copies, choice)
}

/// Returns the number by which `show` names a copy: it compares the copies, which a list does not.
pub(crate) fn number_of_copy(listed: &Session, at: usize) -> usize {
    let path = &listed.copies[at].place.path;
    let compared = session(listed.copies.clone(), ScanScope::RESUME);
    compared.copies.iter().position(|copy| copy.place.path == *path).unwrap_or(at) + 1
}

/// Checks each directory once, for any number of sessions.
fn check_launch_dirs(sessions: &mut [Session]) {
    // Compared as bytes: splitting thousands of paths costs more than checking a few twice.
    let dirs: HashSet<&OsStr> = sessions.iter().filter_map(Session::launch_dir).map(Path::as_os_str).collect();
    let exists = parallel::map(dirs, |dir| (dir.to_owned(), reach::is_dir(Path::new(dir))));
    let exists: HashMap<OsString, Option<bool>> = exists.into_iter().collect();
    parallel::map(sessions, |session| {
        let looked = session.launch_dir().and_then(|dir| exists.get(dir.as_os_str()).copied());
        // Sessions on a mount that does not answer are counted for the warning about the mount.
        if let (Some(None), Some(dir)) = (looked, session.launch_dir())
            && session.copy().kind.is_listed()
        {
            reach::note_session(dir, FixedState::default().hash_one((session.agent, session.id())));
        }
        session.launch_dir_exists = looked.flatten();
        session.assess();
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::env::tests::fixed;
    use crate::system::watch::tests::WatchSum;

    #[test]
    fn watcher_counts_each_copy_once() {
        let mut env = fixed();
        env.home = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/home");
        env.foreign_home = true;
        let all = locate(&env, &[]).places.len();
        let reads = |read: &dyn Fn(Places)| {
            let sum = Arc::new(WatchSum::default());
            let watch: Arc<WatchSum> = Arc::clone(&sum);
            read(locate(&env, &[]).watched(Watcher::new(watch)));
            let (begun, done) = sum.get();
            assert_eq!(begun, done);
            done
        };
        assert_eq!(reads(&|places| drop(places.digest(&env, ScanScope::GLANCE, |_| ()))), all);
        // The directory of a session without one is found by reading others.
        assert!(reads(&|places| drop(places.read_all(&env, ScanScope::GLANCE))) >= all);
        let one = AgentKind::Claude;
        let some = reads(&|places| drop(places.read_some(&env, ScanScope::THOROUGH, |place| place.agent() == one)));
        assert!((1..all).contains(&some), "{some} of {all}");
    }

    #[test]
    fn scan_without_sizes_reads_all_other_fields() {
        let mut env = fixed();
        env.home = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/home");
        env.foreign_home = true;
        let read = |sizes| {
            let (mut copies, problems) =
                locate(&env, &[]).digest(&env, ScanScope { sizes, ..ScanScope::GLANCE }, |copy| copy);
            copies.sort_by(|a, b| a.place.path.cmp(&b.place.path));
            let sizes: Vec<u64> = copies.iter_mut().map(|copy| std::mem::take(&mut copy.size_bytes)).collect();
            (sizes, format!("{copies:?} {problems:?}"))
        };
        let ((sizes, with), (smaller, without)) = (read(true), read(false));
        assert_eq!(with, without);
        assert!(sizes.len() > 10 && sizes.iter().sum::<u64>() > smaller.iter().sum(), "{sizes:?} {smaller:?}");
    }
}
