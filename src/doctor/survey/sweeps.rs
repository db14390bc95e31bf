//! Counts the sessions that their agent would delete as soon as it starts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::agent;
use crate::agent::upkeep::{Retention, modified_at};
use crate::scan::{self, Wanted};
use crate::session::{AgentKind, SessionKind};
use crate::system::env::Env;

/// Counts the sessions among these that would be deleted again at once, one line per store.
pub(crate) fn of(sessions: &BTreeSet<(AgentKind, String)>, env: &Env) -> Vec<String> {
    let agents: BTreeSet<AgentKind> = sessions.iter().map(|(agent, _)| *agent).collect();
    agents.into_iter().filter_map(agent::by_kind).flat_map(|agent| of_agent(agent, sessions, env)).collect()
}

fn of_agent(agent: &dyn agent::Agent, sessions: &BTreeSet<(AgentKind, String)>, env: &Env) -> Vec<String> {
    let stores = agent.stores(env).into_iter();
    let retentions: BTreeMap<PathBuf, Retention> =
        stores.filter_map(|store| Some((store.root.clone(), agent.retention(&store, env)?))).collect();
    if retentions.is_empty() {
        return Vec::new();
    }
    let is_meant = |place: &crate::session::Located| sessions.contains(&(place.agent(), place.id.clone()));
    let scan = scan::locate(env, &[agent.kind()]).read_some(env, Wanted::GLANCE, is_meant);
    let mut by_store: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for mut copy in scan.sessions.into_iter().flat_map(|session| session.copies) {
        let Some(retention) = retentions.get(&copy.place.store.root) else { continue };
        copy.modified_at = copy.modified_at.or_else(|| modified_at(&copy.place.path));
        let is_due = retention.expiry(&copy, env.clock.now).is_some_and(|at| at <= env.clock.now);
        if is_due && copy.kind != SessionKind::Subagent {
            *by_store.entry(copy.place.store.root.clone()).or_default() += 1;
        }
    }
    let line = |(root, count): (PathBuf, usize)| {
        let retention = retentions.get(&root)?;
        let (file, key) = &retention.setting;
        let days = retention.period.as_hours() / 24;
        if let Some(value) = &retention.refused {
            return Some(format!(
                "{} may delete {count} of these sessions when it next starts, because \"{key}\" in {} is {value}; first set it \
                 to a whole number of days",
                agent.kind(),
                file.display()
            ));
        }
        Some(format!(
            "{} will delete {count} of these sessions when it next starts, because it keeps sessions for {days} days; \
             resume them soon, or first set \"{key}\" to more days in {}",
            agent.kind(),
            file.display()
        ))
    };
    by_store.into_iter().filter_map(line).collect()
}
