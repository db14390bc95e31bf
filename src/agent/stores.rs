//! The stores of an agent, by its variables and by default.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::registry::about;
use crate::config::StoreRule;
use crate::session::{AgentKind, Store};
use crate::system::env::Env;
use crate::system::reach;

/// Returns the stores that the agent's variables select, the variable with the highest precedence first, and the
/// default store.
pub(super) fn selected_stores(agent: AgentKind, env: &Env) -> Vec<Store> {
    let usual = env.home.join(about(agent).root);
    let mut stores: Vec<Store> = Vec::new();
    let (mut unset, mut default) = (Vec::new(), None);
    for (variable, below) in about(agent).variables {
        if let Some(dir) = env.agent_variable(variable).map(|dir| env.absolute(Path::new(dir))) {
            let root: PathBuf = dir.iter().chain(below.map(OsStr::new)).collect();
            let is_default = default.get_or_insert_with(|| root.clone()) == &root;
            if root != usual && stores.iter().all(|store| store.root != root) {
                stores.push(Store { is_default, unset: unset.clone(), ..Store::named(agent, root, variable, &dir) });
            }
        }
        unset.push(*variable);
    }
    let is_default = default.is_none_or(|root| root == usual);
    stores.push(Store { is_default, unset, ..Store::usual(agent, usual) });
    stores
}

/// Returns the stores that `usual` finds, and those of the config file.
pub(super) fn with_configured(agent: AgentKind, env: &Env, usual: &dyn Fn(&Env) -> Vec<Store>) -> Vec<Store> {
    let mut stores = usual(env);
    for rule in env.config.stores.iter().filter(|rule| rule.agent == agent) {
        let further = in_home(agent, &env.absolute(&rule.home), env, usual);
        let further = further.filter(|further| stores.iter().all(|store| store.root != further.root));
        stores.extend(further.map(|store| led_by(rule, store)));
    }
    stores
}

/// Returns the store of an agent in a directory that replaces its usual one, such as `~/.claude`, or that replaces the
/// home directory.
pub(super) fn in_home(agent: AgentKind, home: &Path, env: &Env, usual: &dyn Fn(&Env) -> Vec<Store>) -> Option<Store> {
    let own = about(agent).variables.first().map(|(variable, _)| *variable);
    let candidate = |variable: &'static str| {
        let store = usual(&env.in_agent_home(variable, home)).into_iter().find(|store| store.root.starts_with(home))?;
        let set = [(variable.into(), home.into())].into();
        Some(Store { is_default: false, set, unset: store.unset, ..store })
    };
    let mut candidates = own.into_iter().chain(["HOME"]).filter_map(candidate);
    let first = candidates.next()?;
    let exists = |store: &Store| reach::is_dir(&store.root) != Some(false);
    if exists(&first) { Some(first) } else { candidates.find(exists).or(Some(first)) }
}

/// Adds the program and the variables from the config file.
fn led_by(rule: &StoreRule, mut store: Store) -> Store {
    store.unset.retain(|name| !rule.variables.contains_key(*name));
    store.set.extend(rule.variables.iter().map(|(name, value)| (name.clone().into(), value.into())));
    Store { program: rule.program.as_deref().map(Into::into), ..store }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::agent::registry::all;
    use crate::system::env::tests::fixed;

    #[test]
    fn config_file_adds_a_store_of_each_agent() {
        let mut env = fixed();
        for agent in all() {
            let home = env.home.join("further");
            let variables = BTreeMap::from([("KEY".to_owned(), "value".to_owned())]);
            let rule =
                StoreRule { agent: agent.kind(), home: home.clone(), program: Some("fork".to_owned()), variables };
            let usual = agent.stores(&env).len();
            env.config.stores = vec![rule];
            let stores = agent.stores(&env);
            env.config.stores.clear();
            assert_eq!(stores.len(), usual + 1, "{}", agent.kind());
            let last = &stores[usual];
            assert!(last.root.starts_with(&home) && !last.is_default, "{last:?}");
            assert!(last.set.contains_key("KEY") && last.set.values().any(|value| **value == *home), "{last:?}");
            assert_eq!(last.program.as_deref(), Some("fork"));
        }
    }
}
