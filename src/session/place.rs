//! Where sessions are: the stores of an agent, and the places in them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::session::AgentKind;

/// One root directory of one agent's sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Store {
    /// The agent that it belongs to.
    pub agent: AgentKind,
    /// The machine that it lies on; `None` for this one.
    pub host: Option<Arc<str>>,
    /// The directory; it may be a link, as what lies below it.
    pub root: PathBuf,
    /// The directory below which a program makes such stores, one for each of its tasks; `None` for any other store.
    pub made_below: Option<PathBuf>,
    /// Whether the agent uses it when nobody tells it otherwise.
    pub is_default: bool,
    /// Variables that the agent needs to find this store.
    pub set: BTreeMap<&'static str, OsString>,
    /// Variables that would lead the agent to another store.
    pub unset: Vec<&'static str>,
}

impl Store {
    /// Makes the store that an agent uses when nobody tells it otherwise.
    pub(crate) fn usual(agent: AgentKind, root: impl Into<PathBuf>) -> Self {
        Self {
            agent,
            host: None,
            root: root.into(),
            made_below: None,
            is_default: true,
            set: BTreeMap::new(),
            unset: Vec::new(),
        }
    }

    /// Makes the store that a variable leads the agent to.
    pub(crate) fn named(agent: AgentKind, root: impl Into<PathBuf>, variable: &'static str, value: &Path) -> Self {
        Self { set: BTreeMap::from([(variable, value.into())]), ..Self::usual(agent, root) }
    }
}

/// One place where a session is stored, found by names alone.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    /// The store it lies in.
    pub store: Arc<Store>,
    /// The project's name on disk, where the agent has projects.
    pub project: Option<Arc<str>>,
    /// The full id.
    pub id: String,
    /// The transcript, the session's directory, or the database that holds it.
    pub path: Arc<Path>,
    /// A directory that belongs to it and lies beside it.
    pub side_dir: Option<PathBuf>,
    /// The session that made it, where its place tells.
    pub parent_id: Option<String>,
    /// Whether its name or place says that it is a sub-agent's.
    pub is_subagent: bool,
}

impl Located {
    /// Makes a place that has nothing but an id and a path.
    pub(crate) fn new(store: &Arc<Store>, id: impl Into<String>, path: impl Into<Arc<Path>>) -> Self {
        Self {
            store: Arc::clone(store),
            project: None,
            id: id.into(),
            path: path.into(),
            side_dir: None,
            parent_id: None,
            is_subagent: false,
        }
    }

    /// Returns whose session it is.
    pub(crate) fn agent(&self) -> AgentKind {
        self.store.agent
    }
}
