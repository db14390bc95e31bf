//! The facts of a session: recorded when it is archived, and converted back into a session.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{CopyAt, FORMAT_VERSION, KIND, Manifest};
use crate::session::mapping::Mapping;
use crate::session::{CopyChoice, Fact, Located, Session, SessionCopy, SessionKind, Store};
use crate::system::env::Env;
use changes::path_text::PathText;

/// Source of facts that were read from a manifest.
const SOURCE: &str = "archive";

/// Facts of a session for a list; each as in [`SessionCopy`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ManifestFacts {
    pub kind: SessionKind,
    pub title: Option<String>,
    pub first_prompt: Option<String>,
    pub launch_dir: Option<PathText>,
    pub launch_source: Option<String>,
    pub start_dir: Option<PathText>,
    pub last_dir: Option<PathText>,
    pub project: Option<String>,
    pub created_at: Option<Timestamp>,
    pub active_at: Option<Timestamp>,
    pub active_source: Option<String>,
    pub size_bytes: u64,
    pub prompts: Option<u64>,
    pub replies: Option<u64>,
    pub model: Option<String>,
    pub git_branch: Option<String>,
    pub parent_id: Option<String>,
    /// Use of the session by a process while it was archived: `live`, `maybe` or `idle`.
    pub liveness: String,
}

impl ManifestFacts {
    /// Sets the prompts, replies and model from a counted copy, and its size, which only counting finds for a database
    /// copy.
    pub(crate) fn count(&mut self, copy: &SessionCopy) {
        self.size_bytes = self.size_bytes.max(copy.size_bytes);
        (self.prompts, self.replies) = (copy.prompts, copy.replies);
        self.model = copy.model.as_ref().map(|model| model.value.to_string());
    }
}

impl Manifest {
    /// Creates the manifest of a session, without entries.
    pub(crate) fn from_session(session: &Session, home: &Path, hostname: &str, now: Timestamp) -> Self {
        let copy = session.copy();
        let text = |fact: &Option<Fact<Arc<str>>>| fact.as_ref().map(|fact| fact.value.to_string());
        let dir = |fact: &Option<Fact<Arc<Path>>>| fact.as_ref().map(|fact| PathText(fact.value.to_path_buf()));
        Self {
            format_version: FORMAT_VERSION.to_owned(),
            kind: KIND.to_owned(),
            rejoin_version: env!("CARGO_PKG_VERSION").to_owned(),
            hostname: hostname.to_owned(),
            archived_at: now,
            number: 1,
            agent: session.agent,
            id: session.id().to_owned(),
            home: PathText(home.to_owned()),
            stores: Vec::new(),
            copies: Vec::new(),
            facts: ManifestFacts {
                kind: copy.kind,
                title: text(&copy.title),
                first_prompt: text(&copy.first_prompt),
                launch_dir: dir(&copy.launch_dir),
                launch_source: copy.launch_dir.as_ref().map(|fact| fact.source.to_owned()),
                start_dir: dir(&copy.start_dir),
                last_dir: dir(&copy.last_dir),
                project: copy.place.project.as_deref().map(str::to_owned),
                created_at: copy.created_at.as_ref().map(|at| at.value),
                active_at: copy.active_at.as_ref().map(|at| at.value),
                active_source: copy.active_at.as_ref().map(|at| at.source.to_owned()),
                size_bytes: copy.size_bytes,
                prompts: copy.prompts,
                replies: copy.replies,
                model: text(&copy.model),
                git_branch: text(&copy.git_branch),
                parent_id: copy.parent_id.clone(),
                liveness: copy.liveness.name().to_owned(),
            },
            entries: Vec::new(),
            machine: String::new(),
        }
    }

    /// Returns the session for a list, with each copy at its place when it was archived.
    pub(crate) fn session(&self) -> Session {
        let copies = self.copies.iter().map(|at| self.copy(at, self.stores[at.store].0.clone())).collect();
        Session::new(copies, CopyChoice::new("it was archived like this", true))
    }

    /// Returns the place of the chosen copy when it was archived.
    pub(crate) fn place(&self) -> Located {
        self.copy_in(&self.stores[self.copies[0].store].0).place
    }

    /// Returns the home directory in which the session was archived, and the one here; `None` if they are equal. A home
    /// is mapped only if it is below `/`: in a container it may be `/`, so that every directory would be mapped.
    pub(crate) fn homes(&self, env: &Env) -> Option<(PathBuf, PathBuf)> {
        let is_home = |dir: &Path| {
            let mut parts = dir.components();
            parts.next() == Some(Component::RootDir)
                && parts.next().is_some()
                && dir.components().all(|part| part != Component::ParentDir)
        };
        let (then, now) = (self.home.0.clone(), env.home.clone());
        (then != now && is_home(&then) && is_home(&now)).then_some((then, now))
    }

    /// Returns candidates for a recorded directory on this machine, whose home may be another one.
    pub(crate) fn candidates(&self, recorded: &Path, env: &Env) -> impl Iterator<Item = PathBuf> {
        let below_home = self.homes(env).and_then(|homes| Mapping::new(vec![homes]).new_location(recorded));
        below_home.into_iter().chain([recorded.to_owned()])
    }

    /// Returns candidates for the store of the chosen copy on this machine.
    pub(crate) fn roots_here(&self, env: &Env) -> Vec<PathBuf> {
        self.candidates(&self.stores[self.copies[0].store].0, env).collect()
    }

    /// Returns the expected path of the chosen copy's database on this machine.
    pub(crate) fn database_here(&self, env: &Env) -> PathBuf {
        self.roots_here(env).swap_remove(0).join(&self.copies[0].path)
    }

    /// Returns the first copy with a store at `root`, into which the store was unpacked.
    pub(crate) fn copy_in(&self, root: &Path) -> SessionCopy {
        let mut copy = self.copy(&self.copies[0], root.to_owned());
        let (store, path) = (self.copies[0].store, &self.copies[0].path);
        let transcript = self.files().find(|(entry, _, _)| entry.store == store && entry.path == *path);
        copy.transcript_bytes = transcript.map_or(0, |(_, size, _)| size);
        copy
    }

    /// Returns the copies in the store of the first one, which was unpacked at `root`.
    pub(crate) fn copies_in(&self, root: &Path) -> Vec<SessionCopy> {
        let others = self.copies.iter().take_while(|at| at.store == self.copies[0].store).skip(1);
        let others = others.map(|at| self.copy(at, root.to_owned()));
        std::iter::once(self.copy_in(root)).chain(others).collect()
    }

    fn copy(&self, at: &CopyAt, root: PathBuf) -> SessionCopy {
        let facts = &self.facts;
        let text = |text: &Option<String>| text.as_deref().map(|text| Fact::<Arc<str>>::new(text, SOURCE));
        let dir = |dir: &Option<PathText>| dir.clone().map(|dir| Fact::new(dir.0, SOURCE));
        let time = |at: Option<Timestamp>| at.map(|at| Fact::new(at, SOURCE));
        let mut copy = SessionCopy::new(Located {
            path: root.join(&at.path).into(),
            store: Arc::new(Store {
                is_default: false,
                host: Some(self.hostname.as_str().into()),
                ..Store::usual(self.agent, root)
            }),
            project: facts.project.as_deref().map(Arc::from),
            id: self.id.clone(),
            side_dir: None,
            parent_id: facts.parent_id.clone(),
            is_subagent: facts.kind == SessionKind::Subagent,
            linked_by: Vec::new(),
        });
        copy.kind = facts.kind;
        copy.title = text(&facts.title);
        copy.first_prompt = text(&facts.first_prompt);
        copy.launch_dir = dir(&facts.launch_dir);
        copy.start_dir = dir(&facts.start_dir);
        copy.last_dir = dir(&facts.last_dir);
        copy.created_at = time(facts.created_at);
        copy.active_at = time(facts.active_at);
        copy.size_bytes = facts.size_bytes;
        copy.prompts = facts.prompts;
        copy.replies = facts.replies;
        copy.model = text(&facts.model);
        copy.git_branch = text(&facts.git_branch);
        copy.is_filed_right = true;
        copy
    }
}
