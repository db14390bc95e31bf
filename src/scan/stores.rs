//! What each store of each agent holds, and where was looked in vain.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::agent::{self, Agent, version};
use crate::session::{AgentKind, Session};
use crate::system::env::Env;

/// What a store holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoreFacts {
    /// The agent that it belongs to.
    pub agent: AgentKind,
    /// What its makers call that agent.
    pub name: &'static str,
    /// The directory, or the database.
    pub root: PathBuf,
    /// Whether it is there.
    pub exists: bool,
    /// Whether the agent uses it when nobody tells it otherwise.
    pub is_default: bool,
    /// How many sessions it holds that `list` shows.
    pub sessions: usize,
    /// How many sub-agents, archived and empty sessions.
    pub others: usize,
    /// The bytes of all of them; a database counts whole, with what else is in it.
    pub size_bytes: u64,
    /// When one of them was last active.
    pub active_at: Option<Timestamp>,
    /// The version of the agent that wrote the newest of them, where its records say so.
    pub version: Option<String>,
}

/// Says of each store of these agents, or of all where none is named, which of the sessions it holds.
pub(crate) fn facts(sessions: &[Session], agents: &[AgentKind], env: &Env) -> Vec<StoreFacts> {
    let asked = agent::all().iter().filter(|agent| agents.is_empty() || agents.contains(&agent.kind()));
    let stores = asked.flat_map(|agent| agent.stores(env).into_iter().map(move |store| (*agent, store)));
    stores
        .map(|(agent, store)| {
            let held: Vec<&Session> =
                sessions.iter().filter(|session| is_in(session, agent.kind(), &store.root)).collect();
            let listed = held.iter().filter(|session| session.copy().kind.is_listed()).count();
            StoreFacts {
                agent: agent.kind(),
                name: agent::about(agent.kind()).title,
                exists: store.root.symlink_metadata().is_ok(),
                is_default: store.is_default,
                sessions: listed,
                others: held.len() - listed,
                size_bytes: size(&held, &store.root),
                active_at: held.iter().filter_map(|session| session.active_at()).filter(|at| *at <= env.now).max(),
                version: version_of(agent, &held),
                root: store.root,
            }
        })
        .collect()
}

fn is_in(session: &Session, agent: AgentKind, root: &Path) -> bool {
    session.agent == agent && session.copy().place.store.root == root
}

/// Adds up what the copies in a store take; those that share a file take that file once.
fn size(held: &[&Session], root: &Path) -> u64 {
    let copies = || held.iter().flat_map(|session| &session.copies).filter(|copy| copy.place.store.root == root);
    let own: u64 = copies().filter_map(|copy| copy.size()).sum();
    let shared: BTreeSet<&Path> = copies().filter(|copy| copy.size().is_none()).map(|copy| &*copy.place.path).collect();
    own + shared.into_iter().filter_map(|path| path.metadata().ok()).map(|metadata| metadata.len()).sum::<u64>()
}

/// Asks a few of the newest sessions; the very newest may have no record yet.
fn version_of(agent: &dyn Agent, held: &[&Session]) -> Option<String> {
    const ASKED: usize = 3;
    let mut newest: Vec<&&Session> = held.iter().filter(|session| session.copy().kind.is_listed()).collect();
    newest.sort_by_key(|session| std::cmp::Reverse(session.recency()));
    newest.into_iter().take(ASKED).find_map(|session| version::of(agent, session.copy()))
}
