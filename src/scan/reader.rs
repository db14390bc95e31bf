//! Reads copies in all threads, with the small files of each store, which are read once.

use std::ffi::{OsStr, OsString};
use std::hash::Hash;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::{HashMap, HashMapExt as _, HashSet};

use super::ScanScope;
use super::relocated::Relocated;
use crate::agent::{self, Inspector, Observers, ReadContext, StoreNotes};
use crate::session::{Located, Problem, SessionCopy, Store};
use crate::system::env::Env;
use crate::system::parallel;
use crate::system::watch::Watcher;

/// Number of copies that are read before the memory of their places is freed.
const PART: usize = 16 * 1024;

/// The small files of each store, and `moves.json`, each read once.
#[derive(Default)]
pub(super) struct Notes {
    stores: HashMap<OsString, StoreNotes>,
    relocated: Relocated,
    /// The notes of a store without notes.
    nothing: StoreNotes,
    /// Directories, models and branches, which most copies share with others.
    dirs: Pool<Path>,
    words: Pool<str>,
}

/// Equal values, each in memory once.
type Pool<T> = Mutex<HashSet<Arc<T>>>;

/// Replaces a value by the equal one of a pool.
fn share<T: ?Sized + Eq + Hash>(pool: &Pool<T>, value: &mut Arc<T>) {
    let mut pool = pool.lock().unwrap_or_else(PoisonError::into_inner);
    match pool.get(value) {
        Some(known) => *value = Arc::clone(known),
        None => drop(pool.insert(Arc::clone(value))),
    }
}

impl Notes {
    /// Reads the notes on the wanted copies, and on other stores.
    pub(super) fn of<'a>(
        env: &Env,
        wanted: &'a [Located],
        others: impl IntoIterator<Item = &'a Store>,
        counts: bool,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let mut by_root: HashMap<&OsStr, (&Store, Vec<&Located>)> = HashMap::new();
        let wanted = wanted.iter().map(|place| (&*place.store, Some(place)));
        for (store, place) in wanted.chain(others.into_iter().map(|store| (store, None))) {
            let (_, places) = by_root.entry(store.root.as_os_str()).or_insert_with(|| (store, Vec::new()));
            places.extend(place);
        }
        let mut notes: HashMap<OsString, StoreNotes> = HashMap::new();
        let found = parallel::map(by_root, |(root, (store, places))| {
            Some((root, agent::by_kind(store.agent)?.notes_on(store, &places, counts, env)))
        });
        for (root, mut found) in found.into_iter().flatten() {
            problems.append(&mut found.problems);
            notes.insert(root.into(), found);
        }
        let relocated = Relocated::read(env).unwrap_or_else(|problem| {
            problems.push(problem);
            Relocated::default()
        });
        Self { stores: notes, relocated, ..Self::default() }
    }

    /// Returns whether a copy was read together with the others of its file.
    fn hold(&self, place: &Located) -> bool {
        self.stores.get(place.store.root.as_os_str()).is_some_and(|notes| notes.copies.contains_key(&*place.path))
    }

    /// Like [`Reader::digests`]. Reads the copies in the notes first, and drops them before the rest is read.
    #[expect(clippy::too_many_arguments, reason = "a reading of all copies needs all of these")]
    pub(super) fn read<T: Send>(
        &mut self,
        env: &Env,
        mut places: Vec<Located>,
        wanted: ScanScope,
        inspector: &Inspector,
        problems: &mut Vec<Problem>,
        watcher: &Watcher,
        digest: impl Fn(SessionCopy) -> T + Sync,
    ) -> Vec<T> {
        let held: Vec<Located> = places.extract_if(.., |place| self.hold(place)).collect();
        let reader = Reader { env, notes: self, wanted, inspector };
        let mut digests = reader.digests(held, problems, watcher, &digest);
        self.stores.values_mut().for_each(|notes| notes.copies = Default::default());
        let reader = Reader { env, notes: self, wanted, inspector };
        digests.append(&mut reader.digests(places, problems, watcher, digest));
        digests
    }
}

/// The context for reading a copy.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) env: &'a Env,
    pub(super) notes: &'a Notes,
    pub(super) wanted: ScanScope,
    pub(super) inspector: &'a Inspector,
}

impl Reader<'_> {
    /// Reads copies and reports each to `watcher`; the caller announces their number. Each copy stays in its own
    /// vector.
    pub(super) fn copies(
        &self,
        places: Vec<Located>,
        problems: &mut Vec<Problem>,
        watcher: &Watcher,
    ) -> Vec<Vec<SessionCopy>> {
        self.digests(places, problems, watcher, |copy| vec![copy])
    }

    /// Like [`Reader::copies`], but keeps only the result of `digest` for each.
    fn digests<T: Send>(
        &self,
        mut places: Vec<Located>,
        problems: &mut Vec<Problem>,
        watcher: &Watcher,
        digest: impl Fn(SessionCopy) -> T + Sync,
    ) -> Vec<T> {
        let mut digests = Vec::with_capacity(places.len());
        // In parts, so that the memory of places is freed before the last one is read.
        while !places.is_empty() {
            let part = places.split_off(places.len().saturating_sub(PART));
            places.shrink_to_fit();
            // Agents differ in the cost of a session, so long runs of one would leave threads idle at the end.
            let results = parallel::map(part, |place| {
                let result = self.copy(place).map(&digest);
                watcher.done(1);
                result
            });
            digests.extend(results.into_iter().filter_map(|it| it.map_err(|problem| problems.push(problem)).ok()));
        }
        digests
    }

    fn copy(&self, place: Located) -> Result<SessionCopy, Problem> {
        let Self { env, notes, wanted, inspector } = self;
        let path = Arc::clone(&place.path);
        let store = notes.stores.get(place.store.root.as_os_str()).unwrap_or(&notes.nothing);
        let context = ReadContext { env, notes: store, depth: wanted.depth, sizes: wanted.sizes, inspector };
        let Some(agent) = agent::by_kind(place.agent()) else {
            return Err(Problem { path: path.to_path_buf(), reason: "no agent reads it".to_owned() });
        };
        let copy = agent::read(agent, place, &context).and_then(|mut copy| {
            copy.judge_times(env.clock.now);
            if wanted.counts && copy.transcript_bytes <= wanted.max_counted {
                agent::observe(agent, &mut copy, &mut Observers::counts(wanted.usage))?;
            }
            if copy.drop_relative_dirs() {
                agent::decide_launch_dir(&mut copy);
            }
            notes.relocated.apply(&mut copy);
            let dirs = [&mut copy.launch_dir, &mut copy.start_dir, &mut copy.last_dir].into_iter().flatten();
            let dirs = dirs.map(|fact| &mut fact.value);
            copy.place.id.shrink_to_fit();
            copy.evidence.shrink_to_fit();
            let mut before: Option<Arc<Path>> = None;
            for dir in dirs.chain(copy.evidence.iter_mut().map(|evidence| &mut evidence.dir)) {
                // Most directories of a session are equal.
                match &before {
                    Some(before) if *before == *dir => *dir = Arc::clone(before),
                    _ => share(&notes.dirs, dir),
                }
                before = Some(Arc::clone(dir));
            }
            let words = [&mut copy.model, &mut copy.git_branch].into_iter().flatten();
            words.for_each(|fact| share(&notes.words, &mut fact.value));
            Ok(copy)
        });
        copy.map_err(|error| Problem { path: error.path.clone(), reason: error.reason() })
    }
}
