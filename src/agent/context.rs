//! What reading a copy may draw on: the world outside and the small files of its store.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::tree_size;
use crate::format::jsonl::Jsonl;
use crate::session::process::State;
use crate::session::{AgentKind, Copy, Evidence, FILE_TIME_STEP, Fact, Liveness, Located, Problem};
use crate::system::env::Env;
use crate::system::fsio;
use crate::system::process::StartTime;

/// How much of a copy is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// As little as `list` needs.
    Glance,
    /// Every source of a launch directory, even where a stronger one has spoken.
    Thorough,
}

/// Looks at transcripts while they are open, so that nobody has to open them again; most often there is none.
#[derive(Clone, Default)]
pub(crate) struct Inspector(Option<Arc<Inspect>>);

/// Receives whose transcript it is, where it is, the open file, and whether it is a sub-agent's.
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

/// What reading a copy may draw on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadContext<'a> {
    /// The world outside.
    pub env: &'a Env,
    /// What the store's small files say.
    pub notes: &'a StoreNotes,
    /// How much is wanted.
    pub depth: Depth,
    /// Whether it is wanted how large it is with all that belongs to it, which takes a look at every file of that.
    pub sizes: bool,
    /// What looks at its transcript as well.
    pub inspector: &'a Inspector,
}

impl ReadContext<'_> {
    /// Returns the bytes of every regular file below a directory, or 0 if sizes are not wanted.
    pub(crate) fn tree_size(&self, dir: Option<&Path>) -> u64 {
        dir.filter(|_| self.sizes).map_or(0, tree_size)
    }

    /// Shows a transcript that is open to what looks at it as well.
    pub(super) fn inspect(&self, place: &Located, path: &Path, file: &mut Jsonl, is_subagent: bool) {
        if let Some(inspect) = &self.inspector.0 {
            inspect(place.agent(), path, file, is_subagent);
        }
    }

    /// Lets a copy come no earlier in an order than the last change of its file allows, unless the clock was set.
    pub(super) fn bound_activity(&self, copy: &mut Copy, changed: Option<Timestamp>) {
        if !self.env.clock.is_set {
            copy.bound_activity(changed);
        }
    }
}

/// Returns a time after which nothing can have happened in a file that [`ReadContext::bound_activity`] bounds, where
/// reading it will not fail.
pub(super) fn last_activity(path: &Path) -> Option<Timestamp> {
    fsio::last_change_of_own(path)?.checked_add(FILE_TIME_STEP).ok()
}

/// What the small files of a store say of its sessions.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoreNotes {
    /// Processes that registered themselves, by session id.
    pub live: HashMap<String, Vec<LiveRecord>>,
    /// Directories that pointers name, by session id; or by project, where the store says whose a project is.
    pub dirs: HashMap<String, Vec<Evidence>>,
    /// Names that sessions were given, by session id.
    pub names: HashMap<String, Fact<Arc<str>>>,
    /// Which file the agent's own list names, by session id.
    pub files: HashMap<String, PathBuf>,
    /// Whether the agent's own list says that it is archived, by session id.
    pub archived: HashMap<String, bool>,
    /// Whether sessions are in use, by session id, where something else than a process of this machine tells.
    pub locked: HashMap<String, Liveness>,
    /// What a file that holds many sessions says of those that are wanted, by file, and in the order of their ids.
    pub copies: HashMap<PathBuf, Vec<Copy>>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

impl StoreNotes {
    /// Notes what could not be read.
    pub(crate) fn problem(&mut self, path: &Path, why: impl Into<String>) {
        self.problems.push(Problem { path: path.to_owned(), reason: why.into() });
    }
}

/// A process that registered itself as the user of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LiveRecord {
    /// Its process id.
    pub pid: u32,
    /// When it started, which tells a reused id from it.
    pub started: Option<StartTime>,
    /// Its activity, if the file has it.
    pub state: Option<State>,
}
