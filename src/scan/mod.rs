//! All agents at once: finds the copies by name, reads those that are wanted in parallel, and puts
//! the copies of one id together.

mod commits;
mod first;
pub(crate) mod git;
pub(crate) mod moved;
pub(crate) mod pattern;
mod probe;
pub(crate) mod relocated;
pub(crate) mod search;
mod shelf;
pub(crate) mod stores;
pub(crate) mod worktree;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::iter::{
    IndexedParallelIterator as _, IntoParallelIterator as _, IntoParallelRefIterator as _,
    IntoParallelRefMutIterator as _, ParallelIterator as _,
};

use crate::agent::{self, Agent, Depth, Found, ReadContext, StoreNotes};
use crate::scan::relocated::Relocated;
use crate::session::choose::choose;
use crate::session::evidence::ProjectDirs;
use crate::session::packed::Packed;
use crate::session::select::Filter;
use crate::session::{AgentKind, Copy, Evidence, Located, Pointer, Problem, Session, Store};
use crate::system::env::Env;
use crate::system::watch::Watcher;

pub(crate) use shelf::{Card, Shelf};

/// Every copy of every agent by name, nothing opened yet.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// The copies.
    pub places: Vec<Located>,
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// Receives how many copies were read.
    pub watcher: Watcher,
}

/// Sessions that were read.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// The sessions, in order of agent and id.
    pub sessions: Vec<Session>,
    /// Pointers whose session cannot be found.
    pub dangling: Vec<Pointer>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// How many copies are read at once to save memory.
const PART: usize = 16 * 1024;

/// What a scan reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// How much of each copy.
    pub depth: Depth,
    /// How large each copy is with all that belongs to it, which takes a look at every file of that.
    pub sizes: bool,
    /// Whether prompts and replies are counted, which reads whole files.
    pub counts: bool,
    /// Whether several copies of one session are compared, which reads them whole.
    pub compare: bool,
}

impl Wanted {
    /// What `list` needs.
    pub(crate) const GLANCE: Self = Self { depth: Depth::Glance, sizes: true, counts: false, compare: false };
    /// What is needed to resume a session: which of its copies is the right one.
    pub(crate) const RESUME: Self = Self { depth: Depth::Glance, sizes: true, counts: false, compare: true };
    /// Every source of a launch directory.
    pub(crate) const THOROUGH: Self = Self { depth: Depth::Thorough, sizes: true, counts: false, compare: true };
}

/// Finds every copy of the given agents, or of all when none is given.
pub(crate) fn locate(env: &Env, agents: &[AgentKind]) -> Places {
    locate_with(env, agents, |agent, store| agent.locate(store))
}

/// Finds every copy of one full id without looking at what else there is.
pub(crate) fn locate_id(env: &Env, agents: &[AgentKind], id: &str) -> Places {
    locate_with(env, agents, |agent, store| agent.locate_id(store, id))
}

fn locate_with(env: &Env, agents: &[AgentKind], look: impl Fn(&dyn Agent, &Arc<Store>) -> Found + Sync) -> Places {
    let mut places = Places::default();
    let wanted = agent::all().par_iter().filter(|agent| is_asked_for(agent.kind(), agents));
    let look_into = |store: Store, agent: &dyn Agent| look(agent, &Arc::new(store));
    let found: Vec<Found> =
        wanted.flat_map_iter(|agent| agent.stores(env).into_iter().map(|store| look_into(store, *agent))).collect();
    for mut found in found {
        match places.places.is_empty() {
            // Most often there is one large store, and its places need not be held twice.
            true => places.places = found.places,
            false => places.places.append(&mut found.places),
        }
        places.problems.append(&mut found.problems);
    }
    places
}

/// Asking for a program that only points to sessions asks for those.
fn is_asked_for(kind: AgentKind, agents: &[AgentKind]) -> bool {
    agents.is_empty() || agents.iter().any(|asked| asked.session_owner() == kind)
}

/// Returns the directories that `filter` asks about, and the caller's own.
fn asked_dirs<'a>(env: &'a Env, filter: &'a Filter) -> Vec<&'a Path> {
    // The home may be another machine's, where the caller's directory means nothing.
    let cwd = env.cwd.iter().filter(|cwd| !env.foreign_home || cwd.starts_with(&env.home));
    filter.dirs.iter().chain(cwd).map(PathBuf::as_path).collect()
}

impl Places {
    /// Reports every copy that was read to a watcher.
    pub(crate) fn watched(self, watcher: Watcher) -> Self {
        Self { watcher, ..self }
    }

    /// Reads every copy.
    pub(crate) fn read_all(self, env: &Env, wanted: Wanted) -> Scan {
        let Self { places, problems, watcher } = self;
        read(env, places, &[], wanted, problems, &watcher)
    }

    /// Reads every copy, and keeps of each only what `digest` makes of it, so that many need little memory. What only
    /// other sessions tell of a directory is not known then.
    pub(crate) fn digest<T: Send>(
        self,
        env: &Env,
        wanted: Wanted,
        digest: impl Fn(Copy) -> T + Sync,
    ) -> (Vec<T>, Vec<Problem>) {
        let Self { mut places, mut problems, watcher } = self;
        watcher.begin(places.len());
        let mut notes = Notes::of(env, &places, &[], wanted.counts, &mut problems);
        let mut digests = Vec::with_capacity(places.len());
        // Notes hold every copy of a database whole, so these come first and do not stay to the end.
        places.sort_by_cached_key(|place| notes.hold(place));
        let held = places.split_off(places.partition_point(|place| !notes.hold(place)));
        digests.extend(read_each(env, held, &notes, wanted, &mut problems, &watcher, &digest));
        notes.forget_copies();
        while !places.is_empty() {
            let part = places.split_off(places.len().saturating_sub(PART));
            places.shrink_to_fit();
            digests.extend(read_each(env, part, &notes, wanted, &mut problems, &watcher, &digest));
        }
        problems.sort();
        problems.dedup();
        (digests, problems)
    }

    /// Reads the copies that `is_wanted` picks, and of the others what it takes to know their directories.
    pub(crate) fn read_some(self, env: &Env, wanted: Wanted, is_wanted: impl Fn(&Located) -> bool) -> Scan {
        let (picked, others): (Vec<_>, Vec<_>) = self.places.into_iter().partition(is_wanted);
        read(env, picked, &others, wanted, self.problems, &self.watcher)
    }
}

fn read(
    env: &Env,
    places: Vec<Located>,
    others: &[Located],
    wanted: Wanted,
    mut problems: Vec<Problem>,
    watcher: &Watcher,
) -> Scan {
    // Before the notes, for which databases are read whole.
    watcher.begin(places.len());
    let notes = Notes::of(env, &places, others, wanted.counts, &mut problems);
    let mut copies = read_copies(env, places, &notes, wanted, &mut problems, watcher);
    add_project_evidence(env, &mut copies, &[], others, &notes, wanted, watcher);
    add_hashed_evidence(env, &mut copies, &[], watcher);

    let mut sessions = group(copies, wanted);
    look_at_launch_dirs(&mut sessions);
    problems.sort();
    problems.dedup();
    Scan { sessions, dangling: Vec::new(), problems }
}

/// Puts the copies of one id together, in order of agent and id.
fn group(mut copies: Vec<Copy>, wanted: Wanted) -> Vec<Session> {
    let key = |copy: &Copy| (copy.place.agent(), copy.place.id.clone());
    copies.sort_by(|a, b| (a.place.agent(), &a.place.id).cmp(&(b.place.agent(), &b.place.id)));
    let mut sessions = Vec::with_capacity(copies.len());
    let mut rest = copies.into_iter().peekable();
    while let Some(first) = rest.next() {
        let (agent, id) = key(&first);
        let mut copies = vec![first];
        while let Some(copy) = rest.next_if(|copy| copy.place.agent() == agent && copy.place.id == id) {
            copies.push(copy);
        }
        sessions.push(session(agent, id, copies, wanted));
    }
    sessions
}

/// The small files of each store, and what has moved, read once.
struct Notes {
    stores: HashMap<PathBuf, StoreNotes>,
    relocated: Relocated,
    /// What is known of a store without notes.
    nothing: StoreNotes,
}

impl Notes {
    /// Reads the notes on the wanted copies, and on stores where no copy is wanted.
    fn of(env: &Env, wanted: &[Located], others: &[Located], counts: bool, problems: &mut Vec<Problem>) -> Self {
        let mut by_root: HashMap<&OsStr, (&Store, Vec<&Located>)> = HashMap::new();
        for (place, is_wanted) in wanted.iter().map(|place| (place, true)).chain(others.iter().map(|it| (it, false))) {
            let (_, places) = by_root.entry(place.store.root.as_os_str()).or_insert_with(|| (&place.store, Vec::new()));
            if is_wanted {
                places.push(place);
            }
        }
        let mut notes: HashMap<PathBuf, StoreNotes> = HashMap::new();
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
    fn hold(&self, place: &Located) -> bool {
        self.stores.get(&place.store.root).is_some_and(|notes| notes.copies.contains_key(&*place.path))
    }

    /// Returns whether any copy was.
    fn hold_any(&self) -> bool {
        self.stores.values().any(|notes| !notes.copies.is_empty())
    }

    fn forget_copies(&mut self) {
        self.stores.values_mut().for_each(|notes| notes.copies = HashMap::new());
    }
}

fn read_copies(
    env: &Env,
    places: Vec<Located>,
    notes: &Notes,
    wanted: Wanted,
    problems: &mut Vec<Problem>,
    watcher: &Watcher,
) -> Vec<Copy> {
    read_each(env, places, notes, wanted, problems, watcher, |copy| copy)
}

/// Reads copies and reports each. The caller announces how many there are.
fn read_each<T: Send>(
    env: &Env,
    places: Vec<Located>,
    notes: &Notes,
    wanted: Wanted,
    problems: &mut Vec<Problem>,
    watcher: &Watcher,
    digest: impl Fn(Copy) -> T + Sync,
) -> Vec<T> {
    let reader = Reader { env, notes, wanted };
    // Agents differ in what a session costs, so long runs of one would leave threads idle at the end.
    let read = |place| reader.copy(place).map(&digest);
    let results: Vec<Result<T, Problem>> =
        places.into_par_iter().with_max_len(32).map(read).inspect(|_| watcher.done(1)).collect();
    results.into_iter().filter_map(|result| result.map_err(|problem| problems.push(problem)).ok()).collect()
}

/// What it takes to read a copy.
#[derive(Clone, Copy)]
struct Reader<'a> {
    env: &'a Env,
    notes: &'a Notes,
    wanted: Wanted,
}

impl Reader<'_> {
    fn copy(&self, place: Located) -> Result<Copy, Problem> {
        let Self { env, notes, wanted } = self;
        let path = Arc::clone(&place.path);
        let store = notes.stores.get(&place.store.root).unwrap_or(&notes.nothing);
        let context = ReadContext { env, notes: store, depth: wanted.depth, sizes: wanted.sizes };
        let Some(agent) = agent::by_kind(place.agent()) else {
            return Err(Problem { path: path.to_path_buf(), reason: "no agent reads it".to_owned() });
        };
        let copy = agent.read(place, &context).and_then(|mut copy| {
            copy.judge_times(env.now);
            if wanted.counts {
                agent.count(&mut copy)?;
            }
            notes.relocated.apply(&mut copy);
            Ok(copy)
        });
        copy.map_err(|error| Problem { path: error.path.clone(), reason: error.reason() })
    }
}

/// Lets sessions that record no usable directory take it from the others of their project, those that were packed
/// already among them.
fn add_project_evidence(
    env: &Env,
    copies: &mut [Copy],
    packed: &[Packed],
    others: &[Located],
    notes: &Notes,
    wanted: Wanted,
    watcher: &Watcher,
) {
    let lacks = |copy: &Copy| wanted.depth == Depth::Thorough || copy.launch_dir.is_none();
    if !copies.iter().any(lacks) {
        return;
    }
    let mut dirs = ProjectDirs::default();
    copies.iter().for_each(|copy| dirs.note(copy));
    let projects: BTreeSet<(&Path, &Arc<str>)> = copies
        .iter()
        .filter(|copy| lacks(copy))
        .filter_map(|copy| Some((copy.place.store.root.as_path(), copy.place.project.as_ref()?)))
        .collect();
    for copy in packed.par_iter().flat_map_iter(|packed| packed.copies_in(&projects)).collect::<Vec<_>>() {
        dirs.note(&copy);
    }
    let siblings: Vec<Located> = others
        .iter()
        .filter(|place| {
            place.project.as_ref().is_some_and(|project| projects.contains(&(place.store.root.as_path(), project)))
        })
        .cloned()
        .collect();
    watcher.begin(siblings.len());
    // A sibling that cannot be read gives no evidence; that is all it means here.
    let siblings = read_copies(env, siblings, notes, Wanted::GLANCE, &mut Vec::new(), watcher);
    siblings.iter().for_each(|copy| dirs.note(copy));

    copies.par_iter_mut().filter(|copy| lacks(copy)).for_each(|copy| {
        let Some(project) = copy.place.project.clone() else { return };
        let evidence = dirs.evidence(&copy.place.store.root, &project, &copy.place.id);
        if !evidence.is_empty() {
            copy.evidence.extend(evidence);
            if let Some(agent) = agent::by_kind(copy.place.agent()) {
                agent.decide_launch_dir(copy);
            }
        }
    });
}

/// Finds the directory of a session whose project is named after a hash of it among those that are known.
fn add_hashed_evidence(env: &Env, copies: &mut [Copy], packed: &[Packed], watcher: &Watcher) {
    let hashed = |copy: &Copy| {
        let agent = agent::by_kind(copy.place.agent()).filter(|_| copy.launch_dir.is_none())?;
        copy.place.project.clone().filter(|project| agent.is_hash(project)).map(|project| (agent, project))
    };
    if !copies.iter().any(|copy| hashed(copy).is_some()) {
        return;
    }
    let mut others = locate(env, &[]).places;
    let mut read: HashSet<Arc<Path>> = copies.iter().map(|copy| Arc::clone(&copy.place.path)).collect();
    read.extend(packed.iter().flat_map(Packed::sessions).map(|session| Arc::clone(&session.copy().place.path)));
    others.retain(|place| !read.contains(&*place.path));
    drop(read);
    watcher.begin(others.len());
    let notes = Notes::of(env, &others, &[], false, &mut Vec::new());
    // What cannot be read names no directory; that is all it means here.
    let others = read_copies(env, others, &notes, Wanted::GLANCE, &mut Vec::new(), watcher);
    // Another session may have worked further down.
    let recorded = copies.iter().chain(&others).flat_map(Copy::directories);
    let packed = shelf::dirs_of(packed);
    let dirs: BTreeSet<PathBuf> =
        recorded.chain(packed.iter().map(Path::new)).flat_map(Path::ancestors).map(Path::to_owned).collect();
    // Hashing every directory once for each project is enough.
    let mut found: HashMap<(AgentKind, Arc<str>), Option<&PathBuf>> = HashMap::new();
    for copy in copies {
        let Some((agent, project)) = hashed(copy) else { continue };
        let find = || dirs.iter().find(|dir| agent.is_filed_under(&project, dir));
        if let Some(dir) = *found.entry((agent.kind(), Arc::clone(&project))).or_insert_with(find) {
            let detail = "known from another session, and its hash is the project's name".to_owned();
            copy.evidence.push(Evidence { dir: dir.clone(), source: "known", detail, counts: true });
            agent.decide_launch_dir(copy);
        }
    }
}

fn session(agent: AgentKind, id: String, mut copies: Vec<Copy>, wanted: Wanted) -> Session {
    let reader = agent::by_kind(agent).filter(|_| wanted.compare && copies.len() > 1);
    if let Some(reader) = reader {
        for copy in copies.iter_mut().filter(|copy| copy.prompts.is_none()) {
            // A copy that cannot be read to its end counts as one of no messages.
            let _ = reader.count(copy);
        }
    }
    let choice = choose(&mut copies, |a, b| reader?.compare(a, b));
    Session {
        agent,
        id,
        copies,
        choice,
        pointers: Vec::new(),
        launch_dir_exists: None,
        health: BTreeSet::new(),
        is_pinned: false,
        kin: None,
    }
}

/// Returns every directory that sessions record, as bytes, which compare faster than paths.
fn dirs_of(sessions: &[Session]) -> HashSet<&OsStr> {
    sessions.iter().flat_map(|session| session.copy().directories()).map(Path::as_os_str).collect()
}

/// Looks once at each directory, however many sessions share it.
fn look_at_launch_dirs(sessions: &mut [Session]) {
    // Compared as bytes: taking thousands of paths apart costs more than looking twice at a few.
    let dirs: HashSet<&OsStr> = sessions.iter().filter_map(Session::launch_dir).map(Path::as_os_str).collect();
    let exists: HashMap<OsString, bool> =
        dirs.into_par_iter().map(|dir| (dir.to_owned(), Path::new(dir).is_dir())).collect();
    for session in sessions {
        session.launch_dir_exists = session.launch_dir().and_then(|dir| exists.get(dir.as_os_str()).copied());
        session.assess();
    }
}

/// Ties a pointer to the session that it names; a directory that it records is evidence, and the strongest.
pub(crate) fn tie(session: &mut Session, pointer: Pointer) {
    if let (Some(cwd), Some(agent)) = (&pointer.cwd, agent::by_kind(session.agent)) {
        for copy in &mut session.copies {
            let counts = copy.place.project.as_deref().is_some_and(|project| agent.is_filed_under(project, cwd));
            let detail = pointer.path.display().to_string();
            copy.evidence.insert(0, Evidence { dir: cwd.clone(), source: "pointer", detail, counts });
            agent.decide_launch_dir(copy);
        }
        look_at_launch_dirs(std::slice::from_mut(session));
    }
    session.pointers.push(pointer);
}

impl Scan {
    /// Adds the sessions that lie in no store but inside the directories that `filter` asks about, the caller's own,
    /// and those in which the sessions that are known worked; `watcher` receives how many of them were read.
    pub(crate) fn add_those_in_dirs(&mut self, env: &Env, filter: &Filter, wanted: Wanted, watcher: &Watcher) {
        self.add_in_dirs(env, filter, wanted, watcher, &mut Shelf::<()>::default());
    }

    /// Does the same where most of the sessions are on a shelf; those that may have other copies are taken from it.
    fn add_in_dirs<T: Send>(
        &mut self,
        env: &Env,
        filter: &Filter,
        wanted: Wanted,
        watcher: &Watcher,
        shelf: &mut Shelf<T>,
    ) {
        let asked = asked_dirs(env, filter);
        for agent in agent::all().iter().filter(|agent| is_asked_for(agent.kind(), &filter.agents)) {
            let (others, shelved);
            let worked_in: HashSet<&OsStr> = match (agent.lies_anywhere(env), filter.agents.is_empty()) {
                (false, _) => HashSet::new(),
                (true, true) => {
                    shelved = shelf.dirs();
                    let mut dirs = dirs_of(&self.sessions);
                    dirs.extend(shelved.iter().map(OsString::as_os_str));
                    dirs
                }
                // Only the agents that were asked for were read.
                (true, false) => {
                    others = locate(env, &[]).watched(watcher.clone()).read_all(env, Wanted::GLANCE).sessions;
                    dirs_of(&others)
                }
            };
            let mut found = agent.locate_in(&asked, &worked_in, env);
            self.problems.append(&mut found.problems);
            if found.places.is_empty() {
                continue;
            }
            self.sessions.extend(shelf.take_all(agent.kind()));
            let known = self.sessions.iter().filter(|session| session.agent == agent.kind());
            let known: HashSet<&Path> =
                known.flat_map(|session| &session.copies).map(|copy| &*copy.place.path).collect();
            found.places.retain(|place| !known.contains(&*place.path));
            if found.places.is_empty() {
                continue;
            }
            watcher.begin(found.places.len());
            let notes = Notes::of(env, &found.places, &[], wanted.counts, &mut self.problems);
            let mut copies = read_copies(env, found.places, &notes, wanted, &mut self.problems, watcher);
            let (of_agent, rest): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.sessions).into_iter().partition(|session| session.agent == agent.kind());
            copies.extend(of_agent.into_iter().flat_map(|session| session.copies));
            let mut sessions = group(copies, wanted);
            look_at_launch_dirs(&mut sessions);
            self.sessions = rest;
            self.sessions.append(&mut sessions);
            self.sessions.sort_by(|a, b| (a.agent, &a.id).cmp(&(b.agent, &b.id)));
        }
        self.problems.sort();
        self.problems.dedup();
    }

    /// Finds the pointers to sessions and ties them to those that they name.
    ///
    /// Pointers whose session cannot be found are kept aside.
    pub(crate) fn add_pointers(&mut self, env: &Env) {
        self.add_pointers_also_to(env, &mut Shelf::<()>::default());
    }

    /// Does the same where most of the sessions are on a shelf; those that a pointer names are taken from it.
    fn add_pointers_also_to<T>(&mut self, env: &Env, shelf: &mut Shelf<T>) {
        for writer in agent::pointer_writers() {
            let owner = writer.kind().session_owner();
            let mut known: HashSet<&OsStr> = self
                .sessions
                .iter()
                .filter(|session| session.agent == owner && session.launch_dir_exists == Some(true))
                .flat_map(|session| session.copy().directories().map(Path::as_os_str))
                .collect();
            known.extend(shelf.pointed_dirs.iter().map(OsString::as_os_str));
            let (pointers, mut found) = writer.pointers(env, &mut known.into_iter().map(Path::new));
            self.problems.append(&mut found.problems);
            for pointer in pointers {
                self.tie(pointer, shelf);
            }
        }
    }

    fn tie<T>(&mut self, pointer: Pointer, shelf: &mut Shelf<T>) {
        let id = pointer.session_id.clone().unwrap_or_default();
        let owner = pointer.agent.session_owner();
        self.sessions.extend(shelf.take(owner, &id));
        let named = self.sessions.iter_mut().find(|session| session.agent == owner && session.id == id);
        match named {
            Some(session) => tie(session, pointer),
            None => self.dangling.push(pointer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::env::tests::fixed;
    use crate::system::watch::tests::Sum;

    #[test]
    fn who_watches_is_told_of_each_copy_once_however_it_is_read() {
        let mut env = fixed();
        env.home = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/home");
        env.foreign_home = true;
        let all = locate(&env, &[]).places.len();
        let told = |read: &dyn Fn(Places)| {
            let sum = Arc::new(Sum::default());
            let watch: Arc<Sum> = Arc::clone(&sum);
            read(locate(&env, &[]).watched(Watcher::new(watch)));
            let (begun, done) = sum.get();
            assert_eq!(begun, done);
            done
        };
        assert_eq!(told(&|places| drop(places.digest(&env, Wanted::GLANCE, |_| ()))), all);
        // A session without a directory makes that others are read for it.
        assert!(told(&|places| drop(places.read_all(&env, Wanted::GLANCE))) >= all);
        let one = AgentKind::Claude;
        let some = told(&|places| drop(places.read_some(&env, Wanted::THOROUGH, |place| place.agent() == one)));
        assert!((1..all).contains(&some), "{some} of {all}");
    }

    #[test]
    fn without_sizes_everything_else_is_read_all_the_same() {
        let mut env = fixed();
        env.home = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/home");
        env.foreign_home = true;
        let read = |sizes| {
            let (mut copies, problems) =
                locate(&env, &[]).digest(&env, Wanted { sizes, ..Wanted::GLANCE }, |copy| copy);
            copies.sort_by(|a, b| a.place.path.cmp(&b.place.path));
            let sizes: Vec<u64> = copies.iter_mut().map(|copy| std::mem::take(&mut copy.size_bytes)).collect();
            (sizes, format!("{copies:?} {problems:?}"))
        };
        let ((sizes, with), (smaller, without)) = (read(true), read(false));
        assert_eq!(with, without);
        assert!(sizes.len() > 10 && sizes.iter().sum::<u64>() > smaller.iter().sum(), "{sizes:?} {smaller:?}");
    }
}
