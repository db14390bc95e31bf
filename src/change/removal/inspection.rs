//! Inspects candidates for removal: their belongings, the times of these, and the processes that have them open.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use crate::agent::{self, FindBelongings, Programs};
use crate::change::hindrance::{behind_link, only_read};
use crate::change::plan::change::Step;
use crate::change::removal::Summaries;
use crate::format::times;
use crate::session::{AgentKind, Liveness, Located};
use crate::system::fsio::{EntryKind, EntryMetadata};
use crate::system::process::OpenFiles;
use crate::system::{parallel, reach, stamp};

/// The newest messages of sessions by their ids, or the reason why they are unreadable, by database.
type NewestMessages = HashMap<Arc<Path>, Result<HashMap<String, Timestamp>, String>>;

/// A directory that was inspected.
#[derive(Clone, Debug)]
pub(super) struct InspectedDir {
    /// Path without links.
    path: Arc<Path>,
    /// Device and inode.
    identity: (u64, u64),
}

/// Facts from the inspection.
#[derive(Clone, Debug, Default)]
pub(super) struct Inspection {
    /// Newest time in its files.
    pub(super) recorded_at: Option<Timestamp>,
    /// Newest modification time of the files that contain no time, or whose last record has none.
    pub(super) undated_at: Option<Timestamp>,
    /// The steps that remove all its belongings.
    pub(super) steps: Box<[Step]>,
    /// Obstacle to its removal; most sessions have none.
    pub(super) blocker: Option<Box<Blocker>>,
}

/// Obstacle to a removal.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocker {
    pub(super) liveness: Option<Liveness>,
    /// Reason why only its agent can remove it.
    pub(super) its_agents: Option<Arc<str>>,
    /// Reason why a part of it cannot be removed.
    pub(super) obstacle: Option<String>,
}

impl Inspection {
    pub(super) fn liveness(&self) -> Option<&Liveness> {
        self.blocker.as_ref()?.liveness.as_ref()
    }

    pub(super) fn its_agents(&self) -> Option<&Arc<str>> {
        self.blocker.as_ref()?.its_agents.as_ref()
    }
}

/// The largest other file of a session whose times are read, in bytes; a larger one counts as one without times.
const LARGEST_OTHER: u64 = 1024 * 1024;

/// The times of a session. A copy, a restored backup and a checkout change the time of a file, so it counts only if its
/// records have no times.
#[derive(Debug, Default)]
struct Dates {
    recorded_at: Option<Timestamp>,
    undated_at: Option<Timestamp>,
    /// The files that were read, by device and inode.
    read: HashSet<(u64, u64)>,
}

impl Dates {
    /// Adds a file of a session, unless it was already read or is older than a record.
    fn add(&mut self, path: &dyn Fn() -> PathBuf, look: &EntryMetadata, now: Timestamp) {
        let changed_at = changed_at(look);
        if self.read.contains(&look.identity) || changed_at <= self.recorded_at {
            return;
        }
        // The times in an unreadable file are unknown.
        if look.size > LARGEST_OTHER || self.add_whole(&path(), Some(look), &[], now).is_err() {
            self.undated_at = self.undated_at.max(changed_at);
        }
    }

    /// Reads the times in a file.
    fn add_whole(
        &mut self,
        path: &Path,
        look: Option<&EntryMetadata>,
        untimed: &[&str],
        now: Timestamp,
    ) -> Result<(), String> {
        let times = times::times_in(path, now, untimed).map_err(|error| error.to_string())?;
        self.recorded_at = self.recorded_at.max(times.newest);
        if let Some(look) = look.filter(|look| look.kind == EntryKind::File && self.read.insert(look.identity))
            && !times.ends_dated
        {
            self.undated_at = self.undated_at.max(changed_at(look));
        }
        Ok(())
    }
}

/// Returns the time of a file.
fn changed_at(look: &EntryMetadata) -> Option<Timestamp> {
    let (seconds, nanoseconds) = look.modified;
    Timestamp::new(seconds, i32::try_from(nanoseconds).ok()?).ok()
}

impl Summaries {
    /// Inspects these sessions for the first time.
    pub(super) fn look_closer(&mut self, sessions: &[usize]) {
        if sessions.is_empty() {
            return;
        }
        let find = agent::belongings_of_many();
        self.watcher.turn_to("Looking closer");
        self.watcher.begin(sessions.len());
        let (open, programs) = (OpenFiles::now(), Programs::now());
        let in_databases = self.newest_in_databases(sessions);
        let looked = parallel::map(sessions, |at| {
            let inspection = Box::new(self.inspect_one(*at, &find, (&open, &programs), &in_databases));
            self.watcher.done(1);
            inspection
        });
        drop(find);
        self.inspection.resize_with(self.len(), || None);
        sessions.iter().zip(looked).for_each(|(at, inspection)| self.inspection[*at] = Some(inspection));
    }

    /// Inspects all belongings of a session, each file once.
    fn inspect_one(
        &self,
        at: usize,
        find: &FindBelongings,
        (open, programs): (&OpenFiles, &Programs),
        known: &NewestMessages,
    ) -> Inspection {
        let used = self.copies(at).iter().find_map(|copy| programs.liveness(&copy.place));
        let mut paths = Vec::new();
        for copy in self.copies(at) {
            let found = only_read(&copy.place).map_or_else(|| find(&copy.place), |why| Err(why.into()));
            match found {
                // Shared belongings are removed with the last copy.
                Ok(it) => paths.extend(it.own.into_iter().chain(it.shared)),
                // The time of a shared database does not show when one of its sessions changed.
                Err(unable) => {
                    let (dates, liveness) = match self.dates(at, known) {
                        Ok(dates) => (dates, used),
                        Err(why) => (Dates::default(), used.or(Some(Liveness::Maybe { why }))),
                    };
                    let blocker = Blocker { its_agents: Some(unable.why.into()), liveness, obstacle: None };
                    let Dates { recorded_at, .. } = dates;
                    return Inspection { recorded_at, blocker: Some(Box::new(blocker)), ..Inspection::default() };
                }
            }
        }
        let paths = outermost(paths);
        // An unreadable file may have a newer time.
        let (mut dates, mut obstacle) = match self.dates(at, known) {
            Ok(dates) => (dates, None),
            Err(why) => (Dates::default(), Some(why)),
        };
        let mut held = None;
        let mut see = |path: &dyn Fn() -> PathBuf, look: &EntryMetadata| {
            // The time of a directory changes with every cleanup in it.
            if look.kind == EntryKind::File {
                dates.add(path, look, self.now);
            }
            if let (None, Some(pid)) = (&held, open.holder(look.identity)) {
                held = Some((pid, path()));
            }
        };
        // A file that a process will write to may not exist, or may belong to another session.
        let goes: HashSet<&Path> = paths.iter().map(PathBuf::as_path).collect();
        for file in self.growing(at).iter().filter(|file| !file.ancestors().any(|above| goes.contains(above))) {
            if let Some(look) = EntryMetadata::of_path(file).ok().filter(|look| look.kind == EntryKind::File) {
                see(&|| file.clone(), &look);
            }
        }
        let copies = self.copies(at).iter().map(|copy| (&*copy.place.path, &copy.place.path));
        let copies: HashMap<&Path, &Arc<Path>> = copies.collect();
        let mut steps = Vec::with_capacity(paths.len());
        for path in paths {
            // The path itself has an empty name; joining it would add a slash.
            let whole = |name: &Path| if name.as_os_str().is_empty() { path.clone() } else { path.join(name) };
            let see = &mut |name: &Path, look: &EntryMetadata| see(&|| whole(name), look);
            let dir = path.parent().and_then(|dir| self.resolved(dir));
            let in_store = dir.filter(|dir| self.copies(at).iter().any(|copy| self.is_in_store(dir, &copy.place)));
            let stamp = match in_store {
                Some(dir) => stamp::take_in(&path, dir.identity, see).map_err(|error| error.to_string()),
                None => Err(format!("{} leads out of the store", path.display())),
            };
            let behind = |_: &String| self.copies(at).iter().find_map(|copy| behind_link(&copy.place.store, &path));
            let stamp = stamp.map_err(|why| behind(&why).unwrap_or(why));
            match stamp {
                Ok(stamp) => {
                    let path = copies.get(&*path).map_or_else(|| path.as_path().into(), |path| Arc::clone(path));
                    steps.push(Step::Trash { path, stamp });
                }
                Err(why) => obstacle = obstacle.or(Some(why)),
            }
        }
        let held = held.map(|(pid, file)| format!("process {pid} has {} open", file.display()));
        let why = held.or_else(|| {
            (!open.is_known()).then(|| "this system does not report which processes have its files open".to_owned())
        });
        let liveness = used.or(why.map(|why| Liveness::Maybe { why }));
        let is_hindered = liveness.is_some() || obstacle.is_some();
        let blocker = is_hindered.then(|| Box::new(Blocker { liveness, its_agents: None, obstacle }));
        let Dates { recorded_at, undated_at, .. } = dates;
        Inspection { recorded_at, undated_at, steps: steps.into(), blocker }
    }

    /// Reads the newest messages of these sessions, once per database.
    fn newest_in_databases(&self, sessions: &[usize]) -> NewestMessages {
        let mut by_file: HashMap<(AgentKind, &Arc<Path>), Vec<&str>> = HashMap::new();
        for place in sessions.iter().flat_map(|at| self.copies(*at)).map(|copy| &copy.place) {
            if agent::by_kind(place.agent()).is_some_and(|agent| agent.agent_managed(place).is_some()) {
                by_file.entry((place.agent(), &place.path)).or_default().push(&place.id);
            }
        }
        let newest = |((kind, path), ids): ((AgentKind, &Arc<Path>), Vec<&str>)| {
            let newest = agent::by_kind(kind)?.engine().newest_messages(path, &ids).map_err(|error| error.to_string());
            let by_id = |times: Vec<Option<Timestamp>>| {
                ids.iter().zip(times).filter_map(|(id, time)| Some(((*id).to_owned(), time?))).collect()
            };
            Some((Arc::clone(path), newest.map(by_id)))
        };
        parallel::map(by_file, newest).into_iter().flatten().collect()
    }

    /// Reads all times of a session: its records need not be in chronological order.
    fn dates(&self, at: usize, known: &NewestMessages) -> Result<Dates, String> {
        let mut dates = Dates::default();
        for copy in self.copies(at) {
            let Some(agent) = agent::by_kind(copy.place.agent()) else { continue };
            let files: BTreeSet<PathBuf> =
                agent.conversation_files(&copy.place).into_iter().chain(agent.written(&copy.place)).collect();
            for path in files {
                dates.add_whole(&path, EntryMetadata::of_path(&path).ok().as_ref(), agent.about().untimed, self.now)?;
            }
            if let Some(known) = known.get(&*copy.place.path) {
                let times = known.as_ref().map_err(Clone::clone)?;
                dates.recorded_at = dates.recorded_at.max(times.get(&copy.place.id).copied());
            }
        }
        Ok(dates)
    }

    /// Checks whether a directory, without links, is in the store of a copy.
    fn is_in_store(&self, dir: &InspectedDir, place: &Located) -> bool {
        self.resolved(&place.store.root).is_some_and(|root| dir.path.starts_with(&root.path))
    }

    /// Returns the paths that change when a session continues; some may be missing, or not be files.
    fn growing(&self, at: usize) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for copy in self.copies(at) {
            let Some(agent) = agent::by_kind(copy.place.agent()) else { continue };
            let written = agent.written(&copy.place);
            let has_own = written.iter().any(|file| **file == *copy.place.path);
            files.extend(written);
            files.extend((!has_own).then(|| copy.place.path.to_path_buf()));
        }
        files
    }

    /// Resolves a directory; caches the result.
    fn resolved(&self, dir: &Path) -> Option<InspectedDir> {
        let known = self.resolved.read().ok()?.get(dir).cloned();
        known.unwrap_or_else(|| {
            let resolved = reach::canonicalize(dir).and_then(|path| {
                let metadata = path.metadata()?;
                Ok(InspectedDir { path: path.into(), identity: (metadata.dev(), metadata.ino()) })
            });
            let resolved = resolved.ok();
            if let Ok(mut known) = self.resolved.write() {
                known.insert(dir.to_owned(), resolved.clone());
            }
            resolved
        })
    }
}

/// Removes duplicates and paths below another path; keeps the order.
fn outermost(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    if paths.len() < 2 {
        return paths;
    }
    let all: HashSet<PathBuf> = paths.iter().cloned().collect();
    let mut taken = HashSet::new();
    let is_outermost = |path: &PathBuf| !path.ancestors().skip(1).any(|above| all.contains(above));
    paths.into_iter().filter(|path| is_outermost(path) && taken.insert(path.clone())).collect()
}
