//! Where an agent keeps its sessions, by a variable or by default.

use std::path::{Path, PathBuf};

use crate::session::{AgentKind, Store};
use crate::system::env::Env;

/// Returns the store that a variable leads an agent to, and the one below its usual directory; `root` tells where in
/// such a directory the sessions are.
pub(super) fn by_variable(
    agent: AgentKind,
    variable: &'static str,
    usual: &Path,
    env: &Env,
    root: impl Fn(&Path) -> PathBuf,
) -> Vec<Store> {
    let chosen = env.agent_variable(variable).map(|dir| env.absolute(Path::new(dir)));
    let chosen = chosen.filter(|dir| dir != usual);
    let is_default = chosen.is_none();
    let chosen = chosen.map(|dir| Store::named(agent, root(&dir), variable, &dir));
    let usual = Store { is_default, unset: vec![variable], ..Store::usual(agent, root(usual)) };
    chosen.into_iter().chain([usual]).collect()
}
