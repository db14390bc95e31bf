//! Counts the restored sessions that their agent would delete at its next start.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::agent;
use crate::agent::upkeep::Retention;
use crate::scan::expiry::Retentions;
use crate::scan::{self, ScanScope};
use crate::session::{AgentKind, SessionKind};
use crate::system::env::Env;

/// Returns one line per store with the number of these sessions that their agent would delete at its next start.
pub(crate) fn lines_per_store(sessions: &BTreeSet<(AgentKind, String)>, env: &Env) -> Vec<String> {
    let agents: BTreeSet<AgentKind> = sessions.iter().map(|(agent, _)| *agent).collect();
    agents.into_iter().filter_map(agent::by_kind).flat_map(|agent| of_agent(agent, sessions, env)).collect()
}

fn of_agent(agent: &dyn agent::Agent, sessions: &BTreeSet<(AgentKind, String)>, env: &Env) -> Vec<String> {
    let mut retentions = Retentions::new(env);
    if !agent.stores(env).iter().any(|store| retentions.retention_of(store).is_some()) {
        return Vec::new();
    }
    let is_meant = |place: &crate::session::Located| sessions.contains(&(place.agent(), place.id.clone()));
    let scan = scan::locate(env, &[agent.kind()]).read_some(env, ScanScope::GLANCE, is_meant);
    let mut by_store: BTreeMap<PathBuf, (usize, Retention)> = BTreeMap::new();
    for mut copy in scan.sessions.into_iter().flat_map(|session| session.copies) {
        let is_due = retentions.expiry(&mut copy).is_some_and(|at| at <= env.clock.now);
        let retention =
            retentions.retention_of(&copy.place.store).filter(|_| is_due && copy.kind != SessionKind::Subagent);
        if let Some(retention) = retention {
            let root = copy.place.store.root.clone();
            by_store.entry(root).or_insert_with(|| (0, retention.clone())).0 += 1;
        }
    }
    let line = |(count, retention): (usize, Retention)| {
        let (file, key) = &retention.setting;
        let which = if sessions.len() == 1 { "it".to_owned() } else { format!("{count} of these sessions") };
        let (days, next_start) = (retention.period.as_hours() / 24, retention.next_start());
        if let Some(value) = &retention.refused {
            return format!(
                "{} may delete {which} {next_start}, because \"{key}\" in {} is {value}; first set it \
                 to a whole number of days",
                agent.kind(),
                file.display()
            );
        }
        format!(
            "{} will delete {which} {next_start}, because it keeps sessions for {days} days; \
             resume them soon, or first set \"{key}\" to more days in {}",
            agent.kind(),
            file.display()
        )
    };
    by_store.into_values().map(line).collect()
}
