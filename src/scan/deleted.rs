//! Finds sessions without files that a list of their agent still names, with their prompts or their title.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Serialize;

use crate::agent::mentions::Mention;
use crate::agent::{self, Agent};
use crate::scan::Places;
use crate::session::select::Filter;
use crate::session::{AgentKind, Problem, Store};
use crate::system::env::Env;
use crate::system::links;

/// Number of characters of an id in the name of a file (Gemini CLI 0.61.0).
const BEGINNING: usize = 8;

/// A session without files.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Deleted {
    /// Its agent.
    pub agent: AgentKind,
    /// The full id.
    pub id: String,
    /// Its directory, if the list has it.
    pub dir: Option<String>,
    /// The matching prompts, or the title.
    pub prompts: Vec<DeletedPrompt>,
}

/// A prompt in a list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DeletedPrompt {
    /// The time of the prompt.
    pub at: Option<Timestamp>,
    /// The prompt, or the title.
    pub text: String,
}

/// Finds the sessions without files that pass a filter and have a text that matches; the newest first.
pub(crate) fn find_deleted(env: &Env, filter: &Filter, is_match: &dyn Fn(&str) -> bool) -> Vec<Deleted> {
    let is_in_time = |at: Option<Timestamp>| {
        filter.since.is_none_or(|since| at.is_some_and(|at| at >= since))
            && filter.until.is_none_or(|until| at.is_some_and(|at| at < until))
            && filter.before.is_none_or(|before| at.is_some_and(|at| at < before))
    };
    if filter.chosen.is_some() {
        return Vec::new();
    }
    let is_wanted = |one: &Mention| {
        filter.has_agent(one.agent)
            && one.id.is_some()
            && is_in_time(one.at)
            && (filter.dirs.is_empty() || one.dir.as_deref().is_some_and(|dir| filter.is_below(dir)))
            && is_match(&one.text)
    };
    let files = || {
        let Places { places, problems, .. } = super::locate(env, &filter.agents);
        (places.iter().map(|place| (place.agent(), place.id.clone())).collect(), problems)
    };
    let mut found: Vec<Deleted> = Vec::new();
    for one in without_files(env, &is_wanted, &files) {
        let Some(id) = one.id else { continue };
        let prompt = DeletedPrompt { at: one.at, text: one.text };
        match found.iter_mut().find(|other| other.agent == one.agent && other.id == id) {
            Some(other) => other.prompts.push(prompt),
            None => {
                let dir = one.dir.map(|dir| dir.to_string_lossy().into_owned());
                found.push(Deleted { agent: one.agent, id, dir, prompts: vec![prompt] });
            }
        }
    }
    found.sort_by_key(|one| std::cmp::Reverse(one.prompts.iter().filter_map(|prompt| prompt.at).max()));
    found
}

/// Finds the mentions of sessions without files that `is_wanted` accepts. `files` returns the ids with files, and the
/// unreadable paths, which may contain a session.
pub(crate) fn without_files(
    env: &Env,
    is_wanted: &dyn Fn(&Mention) -> bool,
    files: &dyn Fn() -> (HashSet<(AgentKind, String)>, Vec<Problem>),
) -> Vec<Mention> {
    let of = |agent: &&'static dyn Agent| -> Vec<Mention> {
        agent.stores(env).iter().flat_map(|store| agent.mentions(store, env)).filter(is_wanted).collect()
    };
    let mut mentions: Vec<Mention> = agent::all().iter().flat_map(of).collect();
    if mentions.is_empty() {
        return mentions;
    }
    let (known, problems) = files();
    let unread_of = |agent: &&'static dyn Agent| -> (AgentKind, Vec<PathBuf>) {
        let stores = agent.stores(env);
        let is_near = |path: &Path, store: &Store| path.starts_with(&store.root) || store.root.starts_with(path);
        let paths = problems.iter().map(|problem| problem.path.clone());
        let near = paths.filter(|path| stores.iter().any(|store| is_near(path, store)));
        let broken = stores.iter().filter_map(|store| links::broken_in(&store.root));
        (agent.kind(), near.chain(broken.map(|(link, _)| link)).collect())
    };
    let unread: HashMap<AgentKind, Vec<PathBuf>> = agent::all().iter().map(unread_of).collect();
    let may_have_file = |agent: AgentKind, id: &String| {
        let beginning = id.get(..BEGINNING).unwrap_or(id);
        // A directory may contain any session.
        let may_be_in = |path: &PathBuf| !links::is_file(path) || path.to_string_lossy().contains(beginning);
        known.contains(&(agent, id.clone())) || unread.get(&agent).into_iter().flatten().any(may_be_in)
    };
    mentions.retain(|one| one.id.as_ref().is_none_or(|id| !may_have_file(one.agent, id)));
    mentions
}
