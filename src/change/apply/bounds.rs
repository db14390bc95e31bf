//! The limits of runs in an environment: the stores of all agents, and the files elsewhere that agents list.

use std::borrow::Cow;
use std::path::Path;

use clap::ValueEnum as _;

use crate::agent;
use crate::session::AgentKind;
use crate::system::disk::SYSTEM;
use crate::system::env::Env;
use crate::system::reach;
use changes::bounds::Bounds;

/// Reason to leave a path outside the stores alone.
const OUTSIDE: &str =
    "is in no store of this home, so it is not changed; if an agent keeps its sessions there, set its variable";

/// Checks whether a name is that of an agent.
pub(super) fn is_agent(name: &str) -> bool {
    AgentKind::named(name).is_some()
}

/// Returns the limits of runs in this environment.
pub(super) fn limits_of(env: &Env) -> Bounds {
    let abouts = || AgentKind::value_variants().iter().map(|kind| agent::about(*kind));
    let names = abouts().flat_map(|about| about.changes_outside).map(|name| Cow::Borrowed(*name));
    // The directory for temporary files may be another one when a run is undone.
    let dirs = abouts().filter_map(|about| about.output_dir).map(|dir| Cow::Owned(format!("{}/**", dir.name())));
    let mut bounds = Bounds::new(names.chain(dirs).collect(), is_agent).with_reason(OUTSIDE);
    let mut add = |root: &Path| bounds.add(&SYSTEM, root);
    add(&env.state_dir());
    for agent in agent::all() {
        let names = agent.about().changes_outside;
        names.iter().filter_map(|name| name.strip_prefix("~/")).for_each(|name| add(&env.home.join(name)));
        for store in agent.stores(env) {
            // The settings in a store may be a link to a file that the user keeps elsewhere.
            let links = names.iter().filter_map(|name| Path::new(name).file_name());
            let files = links.filter_map(|name| reach::canonicalize(&store.root.join(name)).ok());
            files.for_each(|file| add(&file));
            store.made_below.iter().chain([&store.root]).for_each(|root| add(root));
        }
    }
    bounds
}
