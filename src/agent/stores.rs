//! The stores of an agent, by its variables and by default.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::registry::about;
use crate::session::{AgentKind, Store};
use crate::system::env::Env;

/// Returns the stores that the agent's variables select, the variable with the highest precedence first, and the
/// default store.
pub(super) fn of(agent: AgentKind, env: &Env) -> Vec<Store> {
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
