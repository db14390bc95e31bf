//! Sessions without files, of which a list of their agent still has prompts or a title.

use std::collections::HashSet;

use jiff::Timestamp;
use serde::Serialize;

use crate::agent::mentions::Mention;
use crate::agent::{self, Agent};
use crate::session::AgentKind;
use crate::session::select::Filter;
use crate::system::env::Env;

/// A session without files.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Deleted {
    /// Its agent.
    pub agent: AgentKind,
    /// The full id.
    pub id: String,
    /// Its directory, if the list has it.
    pub dir: Option<String>,
    /// The prompts that match, or its title.
    pub prompts: Vec<Prompt>,
}

/// A prompt in a list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Prompt {
    /// When.
    pub at: Option<Timestamp>,
    /// The prompt, or the title.
    pub text: String,
}

/// Finds the sessions without files that pass a filter and have a text that matches; the newest first.
pub(crate) fn look(env: &Env, filter: &Filter, is_match: impl Fn(&str) -> bool) -> Vec<Deleted> {
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
    let has =
        || super::locate(env, &filter.agents).places.iter().map(|place| (place.agent(), place.id.clone())).collect();
    let mut found: Vec<Deleted> = Vec::new();
    for one in without_files(env, is_wanted, has) {
        let Some(id) = one.id else { continue };
        let prompt = Prompt { at: one.at, text: one.text };
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

/// Finds the mentions that `is_wanted` accepts of sessions of these agents without files; `has` returns whether a
/// session has a file.
pub(crate) fn without_files(
    env: &Env,
    is_wanted: impl Fn(&Mention) -> bool,
    has: impl FnOnce() -> HashSet<(AgentKind, String)>,
) -> Vec<Mention> {
    let of = |agent: &&'static dyn Agent| -> Vec<Mention> {
        agent.stores(env).iter().flat_map(|store| agent.mentions(store, env)).filter(&is_wanted).collect()
    };
    let mut mentions: Vec<Mention> = agent::all().iter().flat_map(of).collect();
    if !mentions.is_empty() {
        let known = has();
        mentions.retain(|one| one.id.as_ref().is_none_or(|id| !known.contains(&(one.agent, id.clone()))));
    }
    mentions
}
