//! The context for reading a copy: the environment and the small files of its store.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;

use super::{about, tree_size};
use crate::format::jsonl::Jsonl;
use crate::session::process::State;
use crate::session::{AgentKind, Evidence, FILE_TIME_STEP, Fact, KeptBy, Liveness, Located, Problem, SessionCopy};
use crate::system::env::Env;
use crate::system::fsio;
use crate::system::process::StartTime;

/// The parts of a copy to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// The minimum that `list` needs.
    Glance,
    /// Every source of a launch directory, even after a stronger one was found.
    Thorough,
}

/// A callback that receives transcripts while they are open, so that they need not be opened again; usually `None`.
#[derive(Clone, Default)]
pub(crate) struct Inspector(Option<Arc<Inspect>>);

/// Receives the agent, the path, the open file, and whether the transcript is a sub-agent's.
type Inspect = dyn Fn(AgentKind, &Path, &mut Jsonl, bool) + Send + Sync;

impl Inspector {
    pub(crate) fn new(inspect: impl Fn(AgentKind, &Path, &mut Jsonl, bool) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(inspect)))
    }
}

impl fmt::Debug for Inspector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Inspector").field(&self.0.is_some()).finish()
    }
}

/// The context for reading a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadContext<'a> {
    /// The environment.
    pub env: &'a Env,
    /// The facts from the store's small files.
    pub notes: &'a StoreNotes,
    /// The parts of the copy to read.
    pub depth: Depth,
    /// Set if the total size of a copy is needed, which requires the metadata of every file of the session.
    pub sizes: bool,
    /// A callback that receives the transcript.
    pub inspector: &'a Inspector,
}

impl ReadContext<'_> {
    /// Returns the total size of all regular files below a directory in bytes, or 0 if sizes are not needed.
    pub(crate) fn tree_size(&self, dir: Option<&Path>) -> u64 {
        dir.filter(|_| self.sizes).map_or(0, tree_size)
    }

    /// Returns whether transcripts are inspected, for which they are read as a whole.
    pub(super) fn inspects(&self) -> bool {
        self.inspector.0.is_some()
    }

    /// Passes an open transcript to the inspector.
    pub(super) fn inspect(&self, place: &Located, path: &Path, file: &mut Jsonl, is_subagent: bool) {
        if let Some(inspect) = &self.inspector.0 {
            inspect(place.agent(), path, file, is_subagent);
        }
    }

    /// Limits the activity of a copy in comparisons to the last change of its file, unless the clock was set.
    pub(super) fn bound_activity(&self, copy: &mut SessionCopy, changed: Option<Timestamp>) {
        if !self.env.clock.is_set {
            copy.bound_activity(changed);
        }
    }
}

/// Decides the launch directory of a copy by the rule of its agent, again after evidence was added.
pub(crate) fn decide_launch_dir(copy: &mut SessionCopy) {
    (about(copy.place.agent()).decide)(copy);
}

/// Marks a copy as possibly in use if it was written to just now, for an agent without locks.
pub(super) fn judge_by_age(copy: &mut SessionCopy, last: Option<Timestamp>, now: Timestamp) {
    let agent = about(copy.place.agent()).title;
    copy.judge_by_age(last, now, |age| format!("it was written {age} ago, and {agent} keeps no lock"));
}

/// Returns an upper bound of the times in a file that [`ReadContext::bound_activity`] bounds; `None` if reading the
/// file may fail.
pub(super) fn last_activity(path: &Path) -> Option<Timestamp> {
    fsio::last_change_of_own(path)?.checked_add(FILE_TIME_STEP).ok()
}

/// The facts about sessions in the small files of a store.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoreNotes {
    /// Registered processes, by session id.
    pub live: HashMap<String, Vec<LiveRecord>>,
    /// Directories from pointers, by session id; or by project, if the store records the directory of a project.
    pub dirs: HashMap<String, Vec<Evidence>>,
    /// Names of sessions, by session id.
    pub names: HashMap<String, Fact<Arc<str>>>,
    /// File of a session in the agent's own list, by session id.
    pub files: HashMap<String, PathBuf>,
    /// True if the session is archived in the agent's own list, by session id.
    pub archived: HashMap<String, bool>,
    /// Liveness of sessions by session id, from a source other than a process of this machine.
    pub locked: HashMap<String, Liveness>,
    /// Requested copies in a file that contains many sessions: by file, and in the order of their ids.
    pub copies: HashMap<PathBuf, Vec<SessionCopy>>,
    /// The model providers that the agent's settings define, each with the profiles that alone define it; `None` if they
    /// are unknown.
    pub providers: Option<BTreeMap<String, Vec<String>>>,
    /// The ids of all logs of the store, listed when they are first needed; `None` before a change.
    pub logs: Option<Arc<OnceLock<HashSet<String>>>>,
    /// The ids of sessions that the app ran by a schedule.
    pub scheduled: HashSet<String>,
    /// The reasons for which the user keeps sessions in the agent, by session id.
    pub kept_by: HashMap<String, KeptBy>,
    /// The reason to keep each session of the store: it is unknown which ones the user keeps.
    pub all_kept_by: Option<KeptBy>,
    /// Files that could not be read.
    pub problems: Vec<Problem>,
}

impl StoreNotes {
    /// Adds a file that could not be read.
    pub(crate) fn problem(&mut self, path: &Path, why: impl Into<String>) {
        self.problems.push(Problem { path: path.to_owned(), reason: why.into() });
    }
}

/// A process that registered itself as the user of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LiveRecord {
    /// The process id.
    pub pid: u32,
    /// The start of the process, which distinguishes it from a later one with the same id.
    pub started: Option<StartTime>,
    /// The activity of the process, if the file has it.
    pub state: Option<State>,
}
