//! Sessions for a listing of very many: each is packed as soon as it was read, and unpacked when it is shown.

use std::cmp::Ordering;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use foldhash::{HashMap, HashMapExt as _, HashSet, HashSetExt as _};
use rayon::iter::{
    IndexedParallelIterator as _, IntoParallelIterator as _, IntoParallelRefIterator as _, ParallelExtend as _,
    ParallelIterator as _,
};

use super::many::{MANY, MOST_TOGETHER, ManyPlaces, key, packed};
use super::reader::{Notes, Reader};
use super::siblings::{add_hashed_evidence, add_project_evidence, dirs_of};
use super::{Scan, Wanted, group, look_at_launch_dirs};
use crate::agent::Inspector;
use crate::session::packed::{Packed, Packer};
use crate::session::select::Filter;
use crate::session::{AgentKind, Copy, Located, Pointer, Problem, Session};
use crate::system::env::Env;
use crate::system::reach;
use crate::system::watch::Watcher;

/// Each thread has so many parts to read at least where there are enough sessions, so that none waits long for another.
const PARTS: usize = 32;

/// Sessions in little memory, each with what was said of it before it was packed.
#[derive(Debug)]
pub(crate) struct Shelf<T> {
    packed: Vec<Packed>,
    cards: Vec<Card<T>>,
    /// The directories in which a pointer to one of them may lie.
    pub(super) pointed_dirs: HashSet<OsString>,
    /// Pointers whose session cannot be found.
    pub dangling: Vec<Pointer>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// A session on a shelf.
#[derive(Debug)]
pub(crate) struct Card<T> {
    /// What was said of it.
    pub said: T,
    /// The agent that it belongs to.
    pub agent: AgentKind,
    packed: u32,
    /// Its place among the sessions that were packed together.
    at: u16,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self {
            packed: Vec::new(),
            cards: Vec::new(),
            pointed_dirs: HashSet::new(),
            dangling: Vec::new(),
            problems: Vec::new(),
        }
    }
}

/// What reading some of the copies gave.
struct Part<T> {
    packed: Packed,
    said: Vec<(AgentKind, T)>,
    /// Copies about which others may know more.
    loose: Vec<Copy>,
    pointed_dirs: HashSet<OsString>,
    problems: Vec<Problem>,
}

/// Copies that are read together.
enum Batch {
    Places(Vec<Located>),
    Packed(Packed),
}

impl ManyPlaces {
    /// Reads every copy as [`Places::read_all`](super::Places::read_all) does and adds what [`Scan::add_those_in_dirs`] adds,
    /// and with `pointers` what [`Scan::add_pointers`] adds; `say` looks at each session before it is packed.
    pub(crate) fn shelve<T: Send>(
        self,
        env: &Env,
        filter: &Filter,
        wanted: Wanted,
        pointers: bool,
        say: impl Fn(&Session) -> T + Sync,
    ) -> Shelf<T> {
        self.few.watcher.begin(self.len());
        let Self { few, packed, keys, .. } = self;
        let (mut places, mut problems, watcher) = (few.places, few.problems, few.watcher);
        let stores = packed.iter().flat_map(Packed::stores);
        let mut notes = Notes::of(env, &places, stores, wanted.counts, &mut problems);
        // A session of several copies is made of all of them.
        let several = several_of_one_id(keys, &places);
        let mut shelf = Shelf { problems, ..Shelf::default() };
        let mut loose = Vec::new();
        // Notes hold every copy of a database whole, so these come first and do not stay to the end.
        if notes.hold_any() {
            let (held, others) = places.into_iter().partition(|place| notes.hold(place));
            places = others;
            let reader = Reader { env, notes: &notes, wanted, inspector: &Inspector::default() };
            shelf.read(Vec::new(), held, &several, reader, &watcher, &mut loose, &say);
            notes.forget_copies();
        }
        let reader = Reader { env, notes: &notes, wanted, inspector: &Inspector::default() };
        shelf.read(packed, places, &several, reader, &watcher, &mut loose, &say);
        add_project_evidence(env, &mut loose, &shelf.packed, &[], &notes, wanted, &watcher);
        add_hashed_evidence(env, &mut loose, &shelf.packed, &watcher);
        let mut sessions = group(loose, wanted);
        look_at_launch_dirs(&mut sessions);
        let mut problems = std::mem::take(&mut shelf.problems);
        problems.sort();
        problems.dedup();
        let mut scan = Scan { sessions, dangling: Vec::new(), problems };
        scan.add_in_dirs(env, filter, wanted, &watcher, &mut shelf);
        if pointers {
            scan.add_pointers_also_to(env, &mut shelf);
        }
        shelf.put(scan, say);
        shelf
    }
}

/// Returns what tells the ids that several copies share.
fn several_of_one_id(mut keys: Vec<u64>, places: &[Located]) -> HashSet<u64> {
    keys.par_extend(places.par_iter().map(key));
    keys.sort_unstable();
    keys.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect()
}

impl<T: Send> Shelf<T> {
    /// Reads copies; those of `several` stay loose, as every copy about which others may know more.
    #[expect(clippy::too_many_arguments, reason = "what reading takes, what it gives, and what is said of it")]
    fn read(
        &mut self,
        mut waiting: Vec<Packed>,
        mut places: Vec<Located>,
        several: &HashSet<u64>,
        reader: Reader<'_>,
        watcher: &Watcher,
        loose: &mut Vec<Copy>,
        say: &(impl Fn(&Session) -> T + Sync),
    ) {
        let together = places.len().div_ceil(PARTS * rayon::current_num_threads()).clamp(1, MOST_TOGETHER);
        let count = waiting.iter().map(Packed::len).sum::<usize>() + places.len();
        if places.len() >= MANY {
            // So many are packed as well while they wait to be read.
            waiting.par_extend(std::mem::take(&mut places).into_par_iter().chunks(together).map(|part| packed(&part)));
        }
        let first = self.packed.len();
        self.packed.resize_with(first + waiting.len() + places.len().div_ceil(together), Packed::default);
        self.cards.reserve_exact(count);
        let shelf = Mutex::new(self);
        // What was read is put on the shelf at once, so that nothing is held twice.
        let read = |(number, batch): (usize, Batch)| {
            let mut alone = match batch {
                Batch::Places(places) => places,
                Batch::Packed(packed) => packed.places().collect(),
            };
            let of_several: Vec<_> = if several.is_empty() {
                Vec::new()
            } else {
                alone.extract_if(.., |place| several.contains(&key(place))).collect()
            };
            let part = part(alone, reader, watcher, say);
            let mut shelf = shelf.lock().unwrap_or_else(PoisonError::into_inner);
            shelf.put_at(first + number, part.packed, part.said);
            shelf.pointed_dirs.extend(part.pointed_dirs);
            (of_several, part.loose, part.problems)
        };
        let batches = places.into_par_iter().chunks(together).map(Batch::Places);
        let batches = waiting.into_par_iter().map(Batch::Packed).chain(batches);
        let rest: Vec<_> = batches.enumerate().with_max_len(1).map(read).collect();
        let shelf = shelf.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut of_several = Vec::new();
        for (places, copies, mut problems) in rest {
            of_several.extend(places);
            loose.extend(copies);
            shelf.problems.append(&mut problems);
        }
        loose.extend(reader.copies(of_several, &mut shelf.problems, watcher));
    }
}

fn part<T>(
    places: Vec<Located>,
    reader: Reader<'_>,
    watcher: &Watcher,
    say: &(impl Fn(&Session) -> T + Sync),
) -> Part<T> {
    let mut packer = Packer::default();
    let mut part = Part {
        packed: Packed::default(),
        said: Vec::with_capacity(places.len()),
        loose: Vec::new(),
        pointed_dirs: HashSet::new(),
        problems: Vec::new(),
    };
    // Sessions of one project come one after the other, and share their directory.
    let mut exists: HashMap<OsString, Option<bool>> = HashMap::new();
    for place in places {
        let copy = reader.copy(place);
        watcher.done(1);
        match copy {
            Err(problem) => part.problems.push(problem),
            Ok(copy) if copy.launch_dir.is_none() => part.loose.push(copy),
            Ok(copy) => {
                let agent = copy.place.agent();
                let mut session = super::session(vec![copy], reader.wanted);
                let looked = session.launch_dir().map(|dir| {
                    let known = exists.get(dir.as_os_str()).copied();
                    known.unwrap_or_else(|| {
                        let is_dir = reach::is_dir(dir);
                        exists.insert(dir.into(), is_dir);
                        is_dir
                    })
                });
                super::note_unanswered(&session, looked);
                session.launch_dir_exists = looked.flatten();
                session.assess();
                let has_pointers = AgentKind::pointers().iter().any(|pointer| pointer.session_owner() == agent);
                if has_pointers && session.launch_dir_exists == Some(true) {
                    for dir in session.copy().directories().map(Path::as_os_str) {
                        if !part.pointed_dirs.contains(dir) {
                            part.pointed_dirs.insert(dir.to_owned());
                        }
                    }
                }
                part.said.push((agent, say(&session)));
                packer.push(session);
            }
        }
    }
    part.packed = packer.finish();
    part
}

impl<T> Shelf<T> {
    /// Makes a shelf of sessions that were read; `say` looks at each before it is packed.
    pub(super) fn of(scan: Scan, say: impl Fn(&Session) -> T) -> Self {
        let mut shelf = Self::default();
        shelf.put(scan, say);
        shelf
    }

    fn put(&mut self, scan: Scan, say: impl Fn(&Session) -> T) {
        (self.dangling, self.problems) = (scan.dangling, scan.problems);
        let mut sessions = scan.sessions.into_iter().peekable();
        while sessions.peek().is_some() {
            let mut packer = Packer::default();
            let together = sessions.by_ref().take(MOST_TOGETHER).map(|session| {
                let said = (session.agent, say(&session));
                packer.push(session);
                said
            });
            let said: Vec<_> = together.collect();
            let place = self.packed.len();
            self.packed.push(Packed::default());
            self.put_at(place, packer.finish(), said);
        }
    }

    /// Puts sessions where a place was kept for them.
    fn put_at(&mut self, place: usize, packed: Packed, said: Vec<(AgentKind, T)>) {
        let place_of_all = u32::try_from(place).unwrap_or(u32::MAX);
        let cards = said.into_iter().zip(0..=u16::MAX);
        self.cards.extend(cards.map(|((agent, said), at)| Card { said, agent, packed: place_of_all, at }));
        self.packed[place] = packed;
    }

    /// Returns every session, in no order.
    pub(crate) fn cards(&self) -> &[Card<T>] {
        &self.cards
    }

    /// Hands over every session, to be put in order and cut off.
    pub(crate) fn take_cards(&mut self) -> Vec<Card<T>> {
        std::mem::take(&mut self.cards)
    }

    /// Returns the id of a session.
    pub(crate) fn id(&self, card: &Card<T>) -> &str {
        let (packed, at) = self.place(card);
        packed.id(at)
    }

    /// Compares two sessions by agent and id, which are the name of one session only.
    pub(crate) fn by_name(&self, a: &Card<T>, b: &Card<T>) -> Ordering {
        (a.agent, self.id(a)).cmp(&(b.agent, self.id(b)))
    }

    /// Unpacks a session.
    pub(crate) fn get(&self, card: &Card<T>) -> Session {
        let (packed, at) = self.place(card);
        packed.get(at)
    }

    fn place(&self, card: &Card<T>) -> (&Packed, usize) {
        let packed = usize::try_from(card.packed).unwrap_or(usize::MAX);
        (&self.packed[packed], card.at.into())
    }

    /// Takes a session from the shelf.
    pub(super) fn take(&mut self, agent: AgentKind, id: &str) -> Option<Session> {
        let at = self.cards.iter().position(|card| card.agent == agent && self.id(card) == id)?;
        let card = self.cards.swap_remove(at);
        Some(self.get(&card))
    }

    /// Takes every session of an agent from the shelf.
    pub(super) fn take_all(&mut self, agent: AgentKind) -> Vec<Session> {
        let (taken, left) = self.take_cards().into_iter().partition(|card| card.agent == agent);
        self.cards = left;
        let taken: Vec<Card<T>> = taken;
        taken.iter().map(|card| self.get(card)).collect()
    }

    /// Returns every directory that the sessions on it record.
    pub(super) fn dirs(&self) -> HashSet<OsString> {
        dirs_of(&self.packed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::locate;
    use crate::system::env::tests::fixed;

    #[test]
    fn what_comes_from_the_shelf_is_what_is_read_without_it() {
        let mut env = fixed();
        env.home = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/home");
        env.foreign_home = true;
        for agents in [&[][..], &[AgentKind::Claude], &[AgentKind::Crush, AgentKind::Amplifier]] {
            let is_packed_twice = locate(&env, agents).places.len() >= MANY;
            assert_eq!(is_packed_twice, agents.is_empty(), "both ways to read are gone");
            let filter = Filter::of_agents(agents);
            let mut scan = locate(&env, agents).read_all(&env, Wanted::GLANCE);
            scan.add_those_in_dirs(&env, &filter, Wanted::GLANCE, &Watcher::default());
            scan.add_pointers(&env);
            let name = |session: &Session| (session.agent, session.id.clone());
            let shelf = ManyPlaces::from(locate(&env, agents)).shelve(&env, &filter, Wanted::GLANCE, true, name);
            let mut shelved: Vec<Session> = shelf.cards().iter().map(|card| shelf.get(card)).collect();
            assert!(shelf.cards().iter().zip(&shelved).all(|(card, session)| card.said == name(session)));
            shelved.sort_by_key(name);
            assert!(!shelved.is_empty());
            assert_eq!(format!("{shelved:?}"), format!("{:?}", scan.sessions));
            assert_eq!(format!("{:?}", shelf.dangling), format!("{:?}", scan.dangling));
            assert_eq!(shelf.problems, scan.problems);
        }
    }
}
