//! Counts the sessions of each store of each agent, and lists the missing stores.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use crate::agent::{self, Agent, version};
use crate::format::path_json;
use crate::scan::aliases::SharedRoots;
use crate::session::{AgentKind, Session, Store};
use crate::system::env::Env;
use crate::system::reach;

/// One store of one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct StoreFacts {
    /// The agent that it belongs to.
    pub agent: AgentKind,
    /// The name that the makers of the agent use.
    pub name: &'static str,
    /// The directory, or the database.
    #[serde(serialize_with = "path_json::serialize")]
    pub root: PathBuf,
    /// The directory below which a program creates one store per task.
    #[serde(skip)]
    pub made_below: Option<PathBuf>,
    /// True if the store exists.
    pub exists: bool,
    /// True if the agent uses it by default.
    pub is_default: bool,
    /// Number of sessions that `list` shows.
    pub sessions: usize,
    /// Number of sub-agents, archived and empty sessions.
    pub others: usize,
    /// Total size in bytes; a database counts entirely.
    pub size_bytes: u64,
    /// The time of the last activity in the store.
    pub active_at: Option<Timestamp>,
    /// The version of the agent that wrote the newest session; `null` if its records do not contain it.
    pub version: Option<String>,
    /// Other stores with sessions to which links of this one lead; these count there.
    #[serde(serialize_with = "path_json::serialize_all")]
    pub shared_with: Vec<PathBuf>,
    /// The newest version of the agent that rejoin was tested with; `null` if only its source code was read.
    pub tested_version: Option<&'static str>,
}

impl StoreFacts {
    /// Returns whether the newest session is from a later version than any that was tested.
    pub(crate) fn is_newer_than_tested(&self) -> bool {
        let number = |version: &str| version::parts(version);
        let own = self.version.as_deref().and_then(number);
        own.zip(self.tested_version.and_then(number)).is_some_and(|(own, tested)| own > tested)
    }
}

/// The facts about a store while its sessions are counted.
struct StoreSum<'s> {
    facts: StoreFacts,
    by: &'static dyn Agent,
    /// Files of several sessions, which are counted once.
    shared: BTreeSet<Arc<Path>>,
    /// The newest sessions; the very newest may not have a record yet.
    newest: Vec<&'s Session>,
}

/// Number of the newest sessions in which the version is searched for.
const ASKED: usize = 3;

/// Returns facts about each store of these agents, or of all agents if none is given.
pub(crate) fn facts(
    sessions: &[Session],
    shared: &BTreeSet<SharedRoots>,
    agents: &[AgentKind],
    env: &Env,
) -> Vec<StoreFacts> {
    let asked = agent::all().iter().filter(|agent| agents.is_empty() || agents.contains(&agent.kind()));
    let stores = asked.flat_map(|agent| agent.stores(env).into_iter().map(move |store| (*agent, store)));
    let mut sums: Vec<StoreSum<'_>> = stores.map(|(agent, store)| StoreSum::for_store(agent, &store)).collect();
    for StoreSum { facts, .. } in &mut sums {
        let others = shared.iter().filter(|(root, _)| *root == facts.root).map(|(_, other)| other.clone());
        facts.shared_with = others.collect();
    }
    for session in sessions {
        let root = &session.copy().place.store.root;
        let is_own = |sum: &StoreSum<'_>| sum.facts.agent == session.agent;
        let at = sums.iter().position(|sum| is_own(sum) && sum.facts.root == *root);
        // A session in its own directory is in no store. It is counted for the agent's first store.
        if let Some(at) = at.or_else(|| sums.iter().position(is_own)) {
            sums[at].add(session, root, env);
        }
    }
    sums.into_iter().map(StoreSum::finish).collect()
}

impl<'s> StoreSum<'s> {
    fn for_store(by: &'static dyn Agent, store: &Store) -> Self {
        let facts = StoreFacts {
            agent: by.kind(),
            name: agent::about(by.kind()).title,
            exists: reach::exists_itself(&store.root) != Some(false),
            is_default: store.is_default,
            sessions: 0,
            others: 0,
            size_bytes: 0,
            active_at: None,
            version: None,
            shared_with: Vec::new(),
            tested_version: agent::about(by.kind()).tested_version,
            made_below: store.made_below.clone(),
            root: store.root.clone(),
        };
        Self { facts, by, shared: BTreeSet::new(), newest: Vec::new() }
    }

    fn add(&mut self, session: &'s Session, root: &Path, env: &Env) {
        let facts = &mut self.facts;
        for copy in session.copies.iter().filter(|copy| copy.place.store.root == root) {
            match copy.size() {
                Some(size) => facts.size_bytes += size,
                None => drop(self.shared.insert(Arc::clone(&copy.place.path))),
            }
        }
        facts.active_at = facts.active_at.max(session.active_at().filter(|at| *at <= env.clock.now));
        if !session.copy().kind.is_listed() {
            facts.others += 1;
            return;
        }
        facts.sessions += 1;
        let age = |session: &Session| Reverse(session.recency());
        let at = self.newest.partition_point(|known| (age(known), known.id()) < (age(session), session.id()));
        if at < ASKED {
            self.newest.insert(at, session);
            self.newest.truncate(ASKED);
        }
    }

    fn finish(self) -> StoreFacts {
        let shared = self.shared.iter().filter_map(|path| reach::metadata(path).ok()).map(|metadata| metadata.len());
        let size_bytes = self.facts.size_bytes + shared.sum::<u64>();
        let version = self.newest.iter().find_map(|session| version::of(self.by, session.copy()));
        StoreFacts { size_bytes, version, ..self.facts }
    }
}
