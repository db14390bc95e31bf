//! The locations of sessions: the stores of an agent, and the places in them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::session::AgentKind;

/// One root directory of one agent's sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Store {
    /// The agent that it belongs to.
    pub agent: AgentKind,
    /// The machine that has the store; `None` for this one.
    pub host: Option<Arc<str>>,
    /// The directory; the directory itself and entries in it may be links.
    pub root: PathBuf,
    /// The directory below which a program creates one store per task; `None` for other stores.
    pub made_below: Option<PathBuf>,
    /// Set if the agent uses the store by default.
    pub is_default: bool,
    /// Environment variables that the agent needs to find this store.
    pub set: BTreeMap<Cow<'static, str>, OsString>,
    /// Environment variables that must be unset, because they would select another store.
    pub unset: Vec<&'static str>,
    /// The program that resumes its sessions in place of the agent's own, from the config file.
    pub program: Option<Arc<str>>,
}

impl Store {
    /// Creates the default store of an agent.
    pub(crate) fn usual(agent: AgentKind, root: impl Into<PathBuf>) -> Self {
        Self {
            agent,
            host: None,
            root: root.into(),
            made_below: None,
            is_default: true,
            set: BTreeMap::new(),
            unset: Vec::new(),
            program: None,
        }
    }

    /// Creates the store that an environment variable selects.
    pub(crate) fn named(agent: AgentKind, root: impl Into<PathBuf>, variable: &'static str, value: &Path) -> Self {
        Self { set: BTreeMap::from([(variable.into(), value.into())]), ..Self::usual(agent, root) }
    }
}

/// A place where a session is stored, found by names alone.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    /// The store that contains it.
    pub store: Arc<Store>,
    /// The project's name on disk, if the agent has projects.
    pub project: Option<Arc<str>>,
    /// The full id.
    pub id: String,
    /// The transcript, the session's directory, or the database that holds it.
    pub path: Arc<Path>,
    /// A directory of the session next to the transcript.
    pub side_dir: Option<PathBuf>,
    /// The session that started this one, if the place shows that.
    pub parent_id: Option<String>,
    /// Set if its name or place shows that it is a sub-agent's session.
    pub is_subagent: bool,
    /// Other sessions whose directories have links to this sub-agent's transcript.
    pub linked_by: Vec<Box<str>>,
}

impl Located {
    /// Creates a place with an id and a path only.
    pub(crate) fn new(store: &Arc<Store>, id: impl Into<String>, path: impl Into<Arc<Path>>) -> Self {
        Self {
            store: Arc::clone(store),
            project: None,
            id: id.into(),
            path: path.into(),
            side_dir: None,
            parent_id: None,
            is_subagent: false,
            linked_by: Vec::new(),
        }
    }

    /// Creates a place like [`Located::new`] in a project.
    pub(crate) fn in_project(
        store: &Arc<Store>,
        project: &Arc<str>,
        id: impl Into<String>,
        path: impl Into<Arc<Path>>,
    ) -> Self {
        Self { project: Some(Arc::clone(project)), ..Self::new(store, id, path) }
    }

    /// Returns the agent of the session.
    pub(crate) fn agent(&self) -> AgentKind {
        self.store.agent
    }
}

/// The session that this one continues: this one was started by another agent, with a briefing as its first prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    pub agent: AgentKind,
    /// The full id.
    pub id: String,
}
