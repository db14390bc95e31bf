//! Places of a listing of all: where they are very many, they are packed while they are found.

use std::collections::BTreeSet;
use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;
use rayon::iter::{IndexedParallelIterator as _, IntoParallelIterator as _, ParallelIterator as _};

use super::aliases::{Shared, are_several, drop_aliases, drop_repeated};
use super::{Places, in_stores, silent_stores};
use crate::session::packed::{Packed, Packer};
use crate::session::{AgentKind, Located};
use crate::system::env::Env;
use crate::system::watch::Watcher;

/// Fewer places than these take little memory while they wait to be read. Tests have more and fewer.
pub(super) const MANY: usize = if cfg!(test) { 16 } else { 16 * 1024 };

/// How many sessions are packed together at most: the more there are, the fewer words are kept twice.
pub(super) const MOST_TOGETHER: usize = 512;
const _: () = assert!(MOST_TOGETHER <= u16::MAX as usize, "a card tells them apart by 16 bits");

/// Every copy of every agent by name, as in [`Places`], in little memory.
#[derive(Debug, Default)]
pub(crate) struct ManyPlaces {
    /// Those that are not packed.
    pub(super) few: Places,
    /// Most of them where there are very many.
    pub(super) packed: Vec<Packed>,
    /// What tells the ids of those that are packed, in no order.
    pub(super) keys: Vec<u64>,
    /// Stores whose links lead to sessions of others.
    pub shared: BTreeSet<Shared>,
}

/// Finds every copy of the given agents, or of all when none is given.
pub(crate) fn locate_many(env: &Env, agents: &[AgentKind]) -> ManyPlaces {
    let found = in_stores(env, agents, |agent, store| {
        let mut many = ManyPlaces::default();
        let found = agent.locate_sparing(store, &mut |places| many.pack_if_many(places));
        (many, found)
    });
    let (mut all, mut follows_links) = (ManyPlaces::default(), false);
    for (mut many, found) in found {
        follows_links |= found.follows_links;
        all.packed.append(&mut many.packed);
        all.keys.append(&mut many.keys);
        all.few.add(found);
    }
    let of_few = all.few.places.iter().map(|place| &*place.store);
    if follows_links || are_several(of_few.chain(all.packed.iter().flat_map(Packed::stores))) {
        all.drop_aliases();
    }
    all.few.problems.extend(silent_stores(env, agents));
    drop_repeated(&mut all.few.problems);
    all
}

impl From<Places> for ManyPlaces {
    fn from(places: Places) -> Self {
        Self { few: places, ..Self::default() }
    }
}

impl ManyPlaces {
    /// Reports every copy that was read to a watcher.
    pub(crate) fn watched(self, watcher: Watcher) -> Self {
        Self { few: self.few.watched(watcher), ..self }
    }

    /// Returns how many there are.
    pub(super) fn len(&self) -> usize {
        self.few.places.len() + self.keys.len()
    }

    /// Leaves one place of each file, as [`drop_aliases`] does.
    fn drop_aliases(&mut self) {
        let mut places = std::mem::take(&mut self.few.places);
        places.extend(std::mem::take(&mut self.packed).iter().flat_map(Packed::places));
        self.keys.clear();
        self.shared = drop_aliases(&mut places);
        self.pack_if_many(&mut places);
        self.few.places = places;
    }

    /// Takes places as soon as they are many, and then a few at a time.
    fn pack_if_many(&mut self, places: &mut Vec<Located>) {
        let enough = if self.packed.is_empty() { MANY } else { MANY / 4 };
        if places.len() >= enough {
            let parts = std::mem::take(places).into_par_iter().chunks(MOST_TOGETHER);
            let packed: Vec<(Packed, Vec<u64>)> =
                parts.map(|part| (packed(&part), part.iter().map(key).collect())).collect();
            for (packed, mut keys) in packed {
                self.packed.push(packed);
                self.keys.append(&mut keys);
            }
        }
    }
}

/// Packs places that stay together.
pub(super) fn packed(places: &[Located]) -> Packed {
    let mut packer = Packer::default();
    places.iter().for_each(|place| packer.push_place(place));
    packer.finish()
}

/// Tells the ids of all agents apart. Two of them may share a key; then they are only read together.
pub(super) fn key(place: &Located) -> u64 {
    FixedState::default().hash_one((place.agent(), &place.id))
}
