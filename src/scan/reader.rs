//! Reads copies in all threads, with the small files of each store, which are read once.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt as _};
use rayon::iter::{IndexedParallelIterator as _, IntoParallelIterator as _, ParallelIterator as _};

use super::Wanted;
use super::relocated::Relocated;
use crate::agent::{self, Inspector, ReadContext, StoreNotes};
use crate::session::{Copy, Located, Problem, Store};
use crate::system::env::Env;
use crate::system::watch::Watcher;

/// The small files of each store, and what has moved, read once.
pub(super) struct Notes {
    stores: HashMap<OsString, StoreNotes>,
    relocated: Relocated,
    /// What is known of a store without notes.
    nothing: StoreNotes,
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
        let found: Vec<(&OsStr, StoreNotes)> = by_root
            .into_par_iter()
            .filter_map(|(root, (store, places))| {
                Some((root, agent::by_kind(store.agent)?.notes_on(store, &places, counts, env)))
            })
            .collect();
        for (root, mut found) in found {
            problems.append(&mut found.problems);
            notes.insert(root.into(), found);
        }
        let relocated = Relocated::read(env).unwrap_or_else(|problem| {
            problems.push(problem);
            Relocated::default()
        });
        Self { stores: notes, relocated, nothing: StoreNotes::default() }
    }

    /// Returns whether a copy was read whole with the others of its file.
    pub(super) fn hold(&self, place: &Located) -> bool {
        self.stores.get(place.store.root.as_os_str()).is_some_and(|notes| notes.copies.contains_key(&*place.path))
    }

    /// Returns whether any copy was.
    pub(super) fn hold_any(&self) -> bool {
        self.stores.values().any(|notes| !notes.copies.is_empty())
    }

    pub(super) fn forget_copies(&mut self) {
        self.stores.values_mut().for_each(|notes| notes.copies = Default::default());
    }
}

/// What it takes to read a copy.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) env: &'a Env,
    pub(super) notes: &'a Notes,
    pub(super) wanted: Wanted,
    pub(super) inspector: &'a Inspector,
}

impl Reader<'_> {
    /// Reads copies and reports each. The caller announces how many there are.
    pub(super) fn copies(&self, places: Vec<Located>, problems: &mut Vec<Problem>, watcher: &Watcher) -> Vec<Copy> {
        self.digests(places, problems, watcher, |copy| copy)
    }

    /// Does the same, and keeps of each copy only what `digest` makes of it.
    pub(super) fn digests<T: Send>(
        &self,
        places: Vec<Located>,
        problems: &mut Vec<Problem>,
        watcher: &Watcher,
        digest: impl Fn(Copy) -> T + Sync,
    ) -> Vec<T> {
        // Agents differ in what a session costs, so long runs of one would leave threads idle at the end.
        let read = |place| self.copy(place).map(&digest);
        let results: Vec<Result<T, Problem>> =
            places.into_par_iter().with_max_len(32).map(read).inspect(|_| watcher.done(1)).collect();
        results.into_iter().filter_map(|result| result.map_err(|problem| problems.push(problem)).ok()).collect()
    }

    pub(super) fn copy(&self, place: Located) -> Result<Copy, Problem> {
        let Self { env, notes, wanted, inspector } = self;
        let path = Arc::clone(&place.path);
        let store = notes.stores.get(place.store.root.as_os_str()).unwrap_or(&notes.nothing);
        let context = ReadContext { env, notes: store, depth: wanted.depth, sizes: wanted.sizes, inspector };
        let Some(agent) = agent::by_kind(place.agent()) else {
            return Err(Problem { path: path.to_path_buf(), reason: "no agent reads it".to_owned() });
        };
        let copy = agent::read(agent, place, &context).and_then(|mut copy| {
            copy.judge_times(env.now);
            if wanted.counts && copy.transcript_bytes <= wanted.longest_counted {
                agent::count(agent, &mut copy)?;
            }
            if copy.drop_relative_dirs() {
                agent.decide_launch_dir(&mut copy);
            }
            notes.relocated.apply(&mut copy);
            Ok(copy)
        });
        copy.map_err(|error| Problem { path: error.path.clone(), reason: error.reason() })
    }
}
