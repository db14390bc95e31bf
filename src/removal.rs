//! What a removal looks at: every copy in few words, a closer look at what would go, and the change that removes it.
//!
//! It reads; `apply` carries the change out. Of each copy only what a decision needs is kept, so that a hundred
//! thousand sessions fit into little memory.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::Metadata;
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rayon::iter::{IndexedParallelIterator as _, IntoParallelRefIterator as _, ParallelIterator as _};

use crate::agent::cat::{self, CwdRecord};
use crate::agent::upkeep::is_object;
use crate::agent::{self, Found};
use crate::env::Env;
use crate::format::jsonl::each_line;
use crate::pins::Pins;
use crate::plan::change::{Item, Seen, Step};
use crate::plan::retention::{Candidate, Family, Fuse, Policy, decide, fuses};
use crate::process::OpenFiles;
use crate::scan::{self, Wanted};
use crate::select::{Filter, Selector};
use crate::session::{AgentKind, Copy, Health, Liveness, Located, Problem, SessionKind};
use crate::stamp;

/// The code of a record of a directory that a session was working in.
pub const CWD_RECORD: &str = "cwd-record";
/// A title is shown up to so many characters.
const TITLE: usize = 60;
/// What stands in the way of understanding a session at all.
const UNPARSABLE: [Health; 4] =
    [Health::InvalidContent, Health::MissingFields, Health::UnsupportedVersion, Health::Oversize];

/// What is kept of a copy.
#[derive(Clone, Debug)]
pub struct Brief {
    /// Where it is.
    pub place: Arc<Located>,
    kind: SessionKind,
    parent_id: Option<Box<str>>,
    /// The newest time inside it.
    pub active_at: Option<Timestamp>,
    /// Whether that is only its file's time.
    is_dated_by_file: bool,
    /// The newest time of its beginning and its end.
    newest_at: Option<Timestamp>,
    size_bytes: u64,
    transcript_bytes: u64,
    liveness: Liveness,
    is_unparsable: bool,
    title: Option<Box<str>>,
    dir: Option<Box<str>>,
    is_asked_for: bool,
}

impl Brief {
    fn of(mut copy: Copy, filter: &Filter) -> Self {
        // A path that was put together has room for as much again.
        copy.place.path.shrink_to_fit();
        copy.place.side_dir.iter_mut().for_each(PathBuf::shrink_to_fit);
        let is_in = |dir: &Path| filter.dirs.iter().any(|asked| dir.starts_with(asked));
        let is_of_dir = filter.dirs.is_empty() || copy.directories().any(is_in);
        let is_of_agent = filter.agents.is_empty() || filter.agents.contains(&copy.place.agent());
        let times = [&copy.created_at, &copy.active_at];
        let newest_at = times.iter().filter_map(|time| time.as_ref().map(|at| at.value)).max();
        let label = copy.title.as_ref().or(copy.first_prompt.as_ref());
        let title = label.map(|label| label.value.chars().take(TITLE).collect::<String>().into());
        // Only agents without projects are told apart by directories.
        let dir = copy.launch_dir.as_ref().filter(|_| copy.place.project.is_none());
        Self {
            kind: if copy.place.is_subagent { SessionKind::Subagent } else { copy.kind },
            newest_at,
            is_dated_by_file: copy.active_at.as_ref().is_some_and(|at| at.source == "mtime"),
            active_at: copy.active_at.map(|at| at.value),
            size_bytes: copy.size_bytes,
            transcript_bytes: copy.transcript_bytes,
            is_unparsable: copy.health.iter().any(|health| UNPARSABLE.contains(health)),
            title,
            dir: dir.map(|dir| dir.value.to_string_lossy().into()),
            is_asked_for: is_of_dir && is_of_agent,
            liveness: copy.liveness,
            parent_id: copy.parent_id.map(Into::into),
            place: Arc::new(copy.place),
        }
    }

    /// Returns what copies of one session have in common. Sub-agents of different sessions may have the same id.
    fn key(&self) -> (AgentKind, &str, Option<&str>) {
        let parent = self.parent_id.as_deref().filter(|_| self.kind == SessionKind::Subagent);
        (self.place.agent(), &self.place.id, parent)
    }
}

/// Every session there is, in few words.
#[derive(Debug, Default)]
pub struct Briefs {
    /// The copies, in order of agent and id.
    copies: Vec<Brief>,
    /// Where the copies of each session begin, and the end of all.
    starts: Vec<usize>,
    /// What the closer look gave, by session.
    closer: HashMap<usize, Box<Closer>>,
    /// The directories that sessions of Claude Code belong to.
    claude_dirs: BTreeSet<PathBuf>,
    /// Directories with their links resolved, and what they are.
    resolved: Mutex<HashMap<PathBuf, Option<Resolved>>>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// A directory that was looked at.
#[derive(Clone, Debug)]
struct Resolved {
    /// Where it is, without links.
    path: Arc<Path>,
    /// Its device and its number there.
    identity: (u64, u64),
}

/// What only a closer look tells.
#[derive(Clone, Debug, Default)]
struct Closer {
    modified_at: Option<Timestamp>,
    is_unparsable: bool,
    liveness: Option<Box<Liveness>>,
    /// Why only its agent can remove it.
    its_agents: Option<Box<str>>,
    /// The steps that take away all that belongs to it.
    steps: Vec<Step>,
    /// Why something of it cannot be taken away.
    obstacle: Option<Box<str>>,
}

impl Briefs {
    /// Reads every session of these agents, or of all when none is given; `filter` says which are asked for, `sizes`
    /// whether [`Self::decide`] is going to weigh all of them. What goes is looked at, and so weighed, anyway.
    pub fn read(env: &Env, agents: &[AgentKind], filter: &Filter, sizes: bool) -> Self {
        let claude_dirs: Mutex<BTreeSet<PathBuf>> = Mutex::default();
        let (mut copies, problems) =
            scan::locate(env, agents).digest(env, Wanted { sizes, ..Wanted::GLANCE }, |copy| {
                let dir = copy.launch_dir.as_ref().filter(|_| copy.place.agent() == AgentKind::Claude);
                if let (Some(dir), Ok(mut dirs)) = (dir, claude_dirs.lock())
                    && !dirs.contains(&dir.value)
                {
                    dirs.insert(dir.value.clone());
                }
                Brief::of(copy, filter)
            });
        copies.sort_unstable_by(|a, b| a.key().cmp(&b.key()).then_with(|| a.place.path.cmp(&b.place.path)));
        let mut starts = Vec::with_capacity(copies.len() + 1);
        let key = |at: usize| copies.get(at).map(Brief::key);
        starts.extend((0..copies.len()).filter(|at| at.checked_sub(1).and_then(key) != key(*at)));
        starts.push(copies.len());
        let claude_dirs = claude_dirs.into_inner().unwrap_or_default();
        Self { copies, starts, claude_dirs, problems, ..Self::default() }
    }

    /// Returns how many sessions there are.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Tells whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the copies of a session.
    pub fn copies(&self, at: usize) -> &[Brief] {
        &self.copies[self.starts[at]..self.starts[at + 1]]
    }

    /// Returns whose a session is, and its id.
    pub fn key(&self, at: usize) -> (AgentKind, &str) {
        let place = &self.copies(at)[0].place;
        (place.agent(), &place.id)
    }

    /// Returns the same for keeping.
    pub fn owned_key(&self, at: usize) -> (AgentKind, String) {
        let (agent, id) = self.key(at);
        (agent, id.to_owned())
    }

    /// Finds a session by its full id; sub-agents of several sessions may share one.
    pub fn find(&self, agent: AgentKind, id: &str) -> Range<usize> {
        let starts = &self.starts[..self.len()];
        let key = |start: &usize| {
            let place = &self.copies[*start].place;
            (place.agent(), place.id.as_str())
        };
        let first = starts.partition_point(|start| key(start) < (agent, id));
        let count = starts[first..].iter().take_while(|start| key(start) == (agent, id)).count();
        first..first + count
    }

    /// Returns what people call a session.
    pub fn title(&self, at: usize) -> Option<&str> {
        self.copies(at).iter().find_map(|copy| copy.title.as_deref())
    }

    /// Returns what a session's copies and all that belongs to them need on disk, in bytes.
    pub fn size_bytes(&self, at: usize) -> u64 {
        self.copies(at).iter().map(|copy| copy.size_bytes).sum()
    }

    /// Tells whether a sub-agent lies in what belongs to its session, whose size counts it.
    fn is_inside_parent(&self, at: usize) -> bool {
        let (agent, _, parent) = self.copies(at)[0].key();
        let Some(parent) = parent else { return false };
        let parents = self.find(agent, parent).flat_map(|parent| self.copies(parent)).map(|copy| &copy.place);
        let dirs: Vec<&PathBuf> =
            parents.flat_map(|place| [Some(&place.path), place.side_dir.as_ref()]).flatten().collect();
        self.copies(at).iter().all(|copy| dirs.iter().any(|dir| copy.place.path.starts_with(dir)))
    }

    /// Returns why only its agent can remove a session, once somebody looked.
    pub fn its_agents(&self, at: usize) -> Option<&str> {
        self.closer.get(&at)?.its_agents.as_deref()
    }

    /// Decides what becomes of every session, with a closer look at whatever would go, and says what makes that look
    /// like a mistake.
    ///
    /// Sessions that are `archived` are safe elsewhere, so they count as kept for the latter; that is asked only if it
    /// matters, because it takes a look into an archive.
    pub fn decide(
        &mut self,
        policy: &Policy,
        pins: &Pins,
        excluded: &[Selector],
        archived: impl FnOnce(&Self, &[Family]) -> BTreeSet<(AgentKind, String)>,
    ) -> (Vec<Family>, Vec<Fuse>) {
        let unread = self.unread();
        loop {
            let candidates = self.candidates(pins, excluded, &unread);
            let families = decide(&candidates, policy);
            let going = families.iter().filter(|family| family.goes()).flat_map(|family| &family.members);
            let unknown: Vec<usize> = going.copied().filter(|at| !self.closer.contains_key(at)).collect();
            if unknown.is_empty() {
                let mut found = fuses(&families, &candidates, policy, &BTreeSet::new());
                if found.iter().any(Fuse::counts_sessions) {
                    found = fuses(&families, &candidates, policy, &archived(self, &families));
                }
                return (families, found);
            }
            drop(candidates);
            self.look_closer(&unknown);
        }
    }

    /// Returns a session and its sub-agents, and theirs.
    pub fn with_subagents(&self, root: usize) -> Vec<usize> {
        let mut members = vec![root];
        let mut at = 0;
        while at < members.len() {
            let (agent, id) = self.key(members[at]);
            let is_child = |copy: &Brief| {
                copy.kind == SessionKind::Subagent
                    && copy.place.agent() == agent
                    && copy.parent_id.as_deref() == Some(id)
            };
            let children: Vec<usize> =
                (0..self.len()).filter(|at| self.copies(*at).iter().any(is_child) && !members.contains(at)).collect();
            members.extend(children);
            at += 1;
        }
        members
    }

    /// Looks closer at sessions that somebody names, and returns why the first that cannot be removed cannot.
    pub fn obstacle(&mut self, sessions: &[usize], pins: &Pins) -> Option<String> {
        self.look_closer(sessions);
        let unread = self.unread();
        sessions.iter().find_map(|at| {
            let (agent, id) = self.key(*at);
            let closer = self.closer.get(at);
            let used = self.copies(*at).iter().map(|copy| &copy.liveness);
            let used = used.chain(closer.and_then(|closer| closer.liveness.as_deref()));
            let why = match used.max_by_key(|liveness| liveness_rank(liveness)) {
                Some(Liveness::Live { pid }) => format!("it is in use by process {pid}"),
                Some(Liveness::Maybe { why }) => format!("it may be in use: {why}"),
                _ if pins.has(agent, id) => format!("it is pinned; `rejoin unpin {agent}:{id}` changes that"),
                _ if unread.contains(id) => "a copy of it cannot be read".to_owned(),
                _ => closer?.its_agents.as_deref()?.to_owned(),
            };
            Some(format!("{agent} session {id} cannot be removed: {why}"))
        })
    }

    /// Returns what a decision needs to know of each session.
    pub fn candidates<'a>(
        &'a self,
        pins: &Pins,
        excluded: &[Selector],
        unread: &HashSet<String>,
    ) -> Vec<Candidate<'a>> {
        const IDLE: &Liveness = &Liveness::Idle;
        let candidate = |at: usize| {
            let copies = self.copies(at);
            let closer = self.closer.get(&at);
            let (agent, id) = self.key(at);
            let parent_id = copies.iter().find_map(|copy| copy.parent_id.as_deref());
            let kind = copies.iter().map(|copy| copy.kind).find(|kind| *kind != SessionKind::Empty);
            let used = copies.iter().map(|copy| &copy.liveness).find(|liveness| **liveness != Liveness::Idle);
            let is_unread = unread.contains(id) || parent_id.is_some_and(|parent| unread.contains(parent));
            // A time of its beginning that lies ahead is as wrong as one of its end.
            let active_at = copies.iter().filter_map(|copy| copy.active_at).max();
            let newest_at = copies.iter().filter_map(|copy| copy.newest_at).max();
            Candidate {
                agent,
                id,
                kind: kind.unwrap_or(SessionKind::Empty),
                parent_id,
                project: copies[0].place.project.as_deref().or(copies[0].dir.as_deref()),
                active_at: active_at.and(newest_at),
                modified_at: closer.and_then(|closer| closer.modified_at),
                size_bytes: if self.is_inside_parent(at) { 0 } else { self.size_bytes(at) },
                liveness: used.or_else(|| closer?.liveness.as_deref()).unwrap_or(IDLE),
                is_unparsable: is_unread
                    || copies.iter().any(|copy| copy.is_unparsable)
                    || closer.is_some_and(|closer| closer.is_unparsable),
                is_pinned: pins.has(agent, id),
                is_excluded: excluded.iter().any(|selector| means(selector, agent, id)),
                is_asked_for: copies.iter().any(|copy| copy.is_asked_for),
                is_its_agents: closer.is_some_and(|closer| closer.its_agents.is_some()),
            }
        };
        (0..self.len()).map(candidate).collect()
    }

    /// Returns the names that may be ids of sessions of which a copy could not be read.
    pub fn unread(&self) -> HashSet<String> {
        /// The length of a UUID, with which many files' names end.
        const UUID: usize = 36;
        let mut names = HashSet::new();
        for name in self.problems.iter().flat_map(|problem| problem.path.iter()).filter_map(|name| name.to_str()) {
            let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
            names.extend([name, stem].map(str::to_owned));
            names.extend(stem.len().checked_sub(UUID).and_then(|at| stem.get(at..)).map(str::to_owned));
        }
        names
    }

    fn look_closer(&mut self, sessions: &[usize]) {
        if sessions.is_empty() {
            return;
        }
        let mut closer: Vec<Box<Closer>> = Vec::new();
        closer.resize_with(sessions.len(), Box::default);
        let paths = self.belongings(sessions, &mut closer);
        let open = OpenFiles::now();
        sessions.par_iter().zip(&mut closer).zip(paths).for_each(|((at, closer), paths)| {
            closer.is_unparsable = self.copies(*at).iter().any(is_garbage);
            // A database that others write to tells nothing of a session in it.
            if closer.its_agents.is_none() {
                self.look_at(*at, outermost(paths), &open, closer);
            }
        });
        self.closer.extend(sessions.iter().copied().zip(closer));
    }

    /// Looks at everything that belongs to a session, each file but once.
    fn look_at(&self, at: usize, paths: Vec<PathBuf>, open: &OpenFiles, closer: &mut Closer) {
        let (mut modified_at, mut held) = (None, None);
        let mut see = |path: &dyn Fn() -> PathBuf, metadata: &Metadata| {
            let time = metadata.modified().ok().and_then(|time| Timestamp::try_from(time).ok());
            modified_at = modified_at.max(time);
            if held.is_none() && open.has(metadata) {
                held = Some(path());
            }
        };
        // What somebody writes to need not be there, nor belong to it.
        for file in self.growing(at).iter().filter(|file| !paths.iter().any(|path| file.starts_with(path))) {
            if let Some(metadata) = file.symlink_metadata().ok().filter(Metadata::is_file) {
                see(&|| file.clone(), &metadata);
            }
        }
        let roots: BTreeSet<&Path> = self.copies(at).iter().map(|copy| copy.place.store.root.as_path()).collect();
        let roots: Vec<Resolved> = roots.into_iter().filter_map(|root| self.resolved(root)).collect();
        let mut steps = Vec::with_capacity(paths.len());
        for mut path in paths {
            let dir = path.parent().and_then(|dir| self.resolved(dir));
            let dir = dir.filter(|dir| roots.iter().any(|root| dir.path.starts_with(&root.path)));
            let stamp = dir
                .ok_or_else(|| format!("{} leads out of the store through a link", path.display()))
                .and_then(|dir| {
                    let see = &mut |name: &Path, metadata: &Metadata| see(&|| path.join(name), metadata);
                    stamp::take_in(&path, dir.identity, see).map_err(|error| error.to_string())
                });
            match stamp {
                Ok(stamp) => {
                    path.shrink_to_fit();
                    steps.push(Step::Trash { path, stamp });
                }
                Err(why) => closer.obstacle = Some(closer.obstacle.take().unwrap_or_else(|| why.into())),
            }
        }
        closer.steps = steps;
        closer.modified_at = modified_at;
        closer.liveness = held.map(|file| {
            let why = format!("a process has {} open", file.display());
            Box::new(Liveness::Maybe { why })
        });
    }

    /// Finds all that belongs to these sessions, and notes which are their agents' to remove.
    fn belongings(&self, sessions: &[usize], closer: &mut [Box<Closer>]) -> Vec<Vec<PathBuf>> {
        let mut paths = vec![Vec::new(); sessions.len()];
        let copies: Vec<(usize, &Located)> = (0..sessions.len())
            .flat_map(|number| self.copies(sessions[number]).iter().map(move |copy| (number, &*copy.place)))
            .collect();
        for of_agent in copies.chunk_by(|a, b| a.1.agent() == b.1.agent()) {
            let Some(agent) = agent::by_kind(of_agent[0].1.agent()) else { continue };
            let places: Vec<&Located> = of_agent.iter().map(|(_, place)| *place).collect();
            for ((number, _), belongings) in of_agent.iter().zip(agent.belongings_of(&places)) {
                match belongings {
                    // With the last copy goes what all of them share.
                    Ok(it) => paths[*number].extend(it.own.into_iter().chain(it.shared)),
                    Err(why) => closer[*number].its_agents = Some(why.into()),
                }
            }
        }
        paths
    }

    /// Returns the files that change when somebody goes on with a session; not all of them need to be files, or there.
    fn growing(&self, at: usize) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for copy in self.copies(at) {
            let Some(agent) = agent::by_kind(copy.place.agent()) else { continue };
            files.extend(agent.written(&copy.place));
            if !files.contains(&copy.place.path) {
                files.push(copy.place.path.clone());
            }
        }
        files
    }

    /// Lets go of every session that stays; returns the families that go, by their new places.
    pub fn keep_going(&mut self, families: Vec<Family>) -> Vec<Family> {
        const STAYS: usize = usize::MAX;
        let mut going: Vec<Family> = families.into_iter().filter(Family::goes).collect();
        let mut places = vec![STAYS; self.len()];
        going.iter().flat_map(|family| &family.members).for_each(|at| places[*at] = 0);
        let of_going = going.iter().flat_map(|family| &family.members).map(|at| self.starts[at + 1] - self.starts[*at]);
        let mut copies = Vec::with_capacity(of_going.clone().sum());
        let (mut starts, mut count) = (Vec::with_capacity(of_going.count() + 1), 0);
        let mut all = std::mem::take(&mut self.copies).into_iter();
        for (at, place) in places.iter_mut().enumerate() {
            let of_session = all.by_ref().take(self.starts[at + 1] - self.starts[at]);
            if *place == STAYS {
                of_session.for_each(drop);
                continue;
            }
            *place = count;
            count += 1;
            starts.push(copies.len());
            copies.extend(of_session);
        }
        starts.push(copies.len());
        (self.copies, self.starts) = (copies, starts);
        let closer = std::mem::take(&mut self.closer).into_iter();
        self.closer = closer.filter(|(at, _)| places[*at] != STAYS).map(|(at, it)| (places[at], it)).collect();
        going.iter_mut().flat_map(|family| &mut family.members).for_each(|at| *at = places[*at]);
        going
    }

    /// Hands out the steps that take these sessions away, which were looked at closer, or why they cannot be.
    pub fn take_steps(&mut self, members: &[usize]) -> Result<Vec<Step>, String> {
        let mut steps = Vec::new();
        for closer in members.iter().filter_map(|at| self.closer.remove(at)) {
            if let Some(why) = closer.obstacle {
                return Err(why.into());
            }
            steps.extend(closer.steps);
        }
        // What lies in a directory above goes with that.
        let all: HashSet<PathBuf> =
            if members.len() > 1 { steps.iter().map(|step| step.path().to_owned()).collect() } else { HashSet::new() };
        steps.retain(|step| !step.path().ancestors().skip(1).any(|above| all.contains(above)));
        steps.shrink_to_fit();
        Ok(steps)
    }

    /// Hands out what people call a session.
    pub fn take_title(&mut self, at: usize) -> Option<Box<str>> {
        self.copies[self.starts[at]..self.starts[at + 1]].iter_mut().find_map(|copy| copy.title.take())
    }

    /// Resolves a directory, each but once.
    fn resolved(&self, dir: &Path) -> Option<Resolved> {
        let known = self.resolved.lock().ok()?.get(dir).cloned();
        known.unwrap_or_else(|| {
            let resolved = dir.canonicalize().and_then(|path| {
                let metadata = path.metadata()?;
                Ok(Resolved { path: path.into(), identity: (metadata.dev(), metadata.ino()) })
            });
            let resolved = resolved.ok();
            if let Ok(mut known) = self.resolved.lock() {
                known.insert(dir.to_owned(), resolved.clone());
            }
            resolved
        })
    }

    /// Returns the change that removes a session with its sub-agents by these steps.
    pub fn item(&self, members: &[usize], steps: Vec<Step>, code: &'static str, reason: String) -> Item {
        let (agent, id) = self.key(members[0]);
        let copies = || members.iter().flat_map(|at| self.copies(*at));
        // A hundred thousand of these are held at once, so nothing has room to grow.
        let mut seen = Vec::with_capacity(copies().count());
        seen.extend(copies().map(|copy| Seen {
            place: Arc::clone(&copy.place),
            active_at: copy.active_at,
            transcript_bytes: copy.transcript_bytes,
        }));
        Item { label: format!("{agent} {id}"), session: Some((agent, id.to_owned())), seen, code, reason, steps }
    }
}

fn liveness_rank(liveness: &Liveness) -> u8 {
    match liveness {
        Liveness::Idle => 0,
        Liveness::Maybe { .. } => 1,
        Liveness::Live { .. } => 2,
    }
}

/// Plans to remove the records of directories that sessions which never ended have left behind before `cutoff`.
pub fn cwd_records(briefs: &mut Briefs, cutoff: Timestamp, filter: &Filter, pins: &Pins, env: &Env) -> Vec<Item> {
    let mut found = Found::default();
    let is_in = |dir: &Path| filter.dirs.is_empty() || filter.dirs.iter().any(|asked| dir.starts_with(asked));
    let mut records: Vec<(&Path, CwdRecord)> = Vec::new();
    for dir in briefs.claude_dirs.iter().filter(|dir| is_in(dir)) {
        records.extend(cat::records_of_project(dir, &mut found).into_iter().map(|record| (dir.as_path(), record)));
    }
    let stores = agent::by_kind(AgentKind::Claude).map(|agent| agent.stores(env)).unwrap_or_default();
    for store in stores.iter().filter(|_| filter.dirs.is_empty()) {
        let of_store = cat::records_of_store(&store.root, &mut found);
        records.extend(of_store.into_iter().map(|record| (store.root.as_path(), record)));
    }
    records.sort_by(|a, b| a.1.path.cmp(&b.1.path));
    records.dedup_by(|a, b| a.1.path == b.1.path);
    let is_used = |id: &str| {
        let copies = briefs.find(AgentKind::Claude, id).flat_map(|at| briefs.copies(at));
        copies.map(|copy| &copy.liveness).any(|liveness| *liveness != Liveness::Idle)
    };
    let item = |(root, record): (&Path, CwdRecord)| {
        let id = record.session_id;
        let written_at = record.written_at.filter(|at| *at < cutoff)?;
        if is_used(&id) || pins.has(AgentKind::Claude, &id) {
            return None;
        }
        let dir = record.path.parent()?.canonicalize().ok()?;
        let stamp = stamp::take(&record.path).ok()?;
        dir.starts_with(root.canonicalize().ok()?).then(|| Item {
            label: format!("claude {id}"),
            session: Some((AgentKind::Claude, id)),
            seen: Vec::new(),
            code: CWD_RECORD,
            reason: format!("written {}, and never removed", day(written_at)),
            steps: vec![Step::Trash { path: record.path, stamp }],
        })
    };
    let items = records.into_iter().filter_map(item).collect();
    briefs.problems.append(&mut found.problems);
    items
}

/// Writes the day of a time, which two runs of one day write alike.
pub fn day(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).date().to_string()
}

/// Tells whether a copy holds something of which nothing can be understood.
fn is_garbage(copy: &Brief) -> bool {
    if !copy.is_dated_by_file || copy.kind != SessionKind::Empty || copy.transcript_bytes == 0 {
        return false;
    }
    let path = agent::by_kind(copy.place.agent()).and_then(|agent| agent.transcript(&copy.place));
    path.is_none_or(|path| has_bad_lines(&path))
}

/// Tells whether a person who typed this means a session, or any whose id begins so.
fn means(selector: &Selector, agent: AgentKind, id: &str) -> bool {
    match selector {
        Selector::Id { agent: named, text } => {
            named.is_none_or(|named| named == agent) && id.starts_with(text.as_str())
        }
        _ => false,
    }
}

/// Leaves out what goes with a directory above it anyway; the order of what is left is kept.
fn outermost(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let all: HashSet<PathBuf> = paths.iter().cloned().collect();
    let mut taken = HashSet::new();
    let is_outermost = |path: &PathBuf| !path.ancestors().skip(1).any(|above| all.contains(above));
    paths.into_iter().filter(|path| is_outermost(path) && taken.insert(path.clone())).collect()
}

fn has_bad_lines(path: &Path) -> bool {
    let mut has_bad = false;
    let read = each_line(path, &mut |line| {
        has_bad |= line.is_none_or(|line| !is_object(line));
        if has_bad { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    has_bad || read.is_err()
}
