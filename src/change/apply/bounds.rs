//! The paths that a run may change: those in the stores and in the state directory, and a few files elsewhere.
//!
//! Every plan is checked before its first step, and every journal before it is recovered or undone: a journal may be
//! forged, or come with a backup. Steps enter directories without following links, so a path below a root stays there.

use std::path::{Component, Path, PathBuf};

use clap::ValueEnum as _;

use crate::agent;
use crate::agent::about::{About, OutputDir};
use crate::agent::upkeep::is_own_temporary;
use crate::session::AgentKind;
use crate::system::disk::{self, SYSTEM};
use crate::system::env::Env;
use crate::system::reach;

/// The paths that a run may change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounds {
    /// Directories with everything in them, and single files; their links are resolved.
    roots: Vec<PathBuf>,
}

impl Bounds {
    /// Returns the paths that may change in this environment.
    pub(super) fn of(env: &Env) -> Self {
        let mut bounds = Self::default();
        bounds.add(&env.state_dir());
        for agent in agent::all() {
            let names = agent.about().changes_outside;
            names.iter().filter_map(|name| name.strip_prefix("~/")).for_each(|name| bounds.add(&env.home.join(name)));
            for store in agent.stores(env) {
                // The settings in a store may be a link to a file that the user keeps elsewhere.
                let links = names.iter().filter_map(|name| Path::new(name).file_name());
                bounds.roots.extend(links.filter_map(|name| reach::canonicalize(&store.root.join(name)).ok()));
                store.made_below.iter().chain([&store.root]).for_each(|root| bounds.add(root));
            }
        }
        bounds
    }

    /// Returns the bounds for tests on their own disk.
    #[cfg(test)]
    pub(crate) fn everything() -> Self {
        Self { roots: vec!["/".into()] }
    }

    /// Adds a directory with everything in it.
    pub(crate) fn add(&mut self, root: &Path) {
        // Without its mount, nothing there can be changed.
        self.roots.extend(disk::real_dir(&SYSTEM, root));
    }

    /// Fails with the reason if one of the paths of an item is outside. Each path has a flag that is set for a new
    /// directory: undoing it removes it only if it is empty, so it may also be above a path within the bounds.
    pub(super) fn check<'p>(&self, mut paths: impl Iterator<Item = (&'p Path, bool)> + Clone) -> Result<(), String> {
        let all = paths.clone();
        let leads_inside = |dir: &Path| all.clone().any(|(path, _)| path.starts_with(dir) && self.contains(path));
        let is_outside =
            |(path, is_new_dir): &(&Path, bool)| !(self.contains(path) || *is_new_dir && leads_inside(path));
        let outside = paths.find(is_outside);
        outside.map_or(Ok(()), |(path, _)| {
            let hint = "if an agent keeps its sessions there, set its variable";
            Err(format!("{} is in no store of this home, so it is not changed; {hint}", path.display()))
        })
    }

    fn contains(&self, path: &Path) -> bool {
        let is_plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        is_plain && (self.roots.iter().any(|root| path.starts_with(root)) || is_known_anywhere(path))
    }
}

/// Returns whether rejoin changes a file of this name in any directory.
fn is_known_anywhere(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let has_name = |known: &str| match known.rsplit_once("/*") {
        Some((dir, ending)) => name.ends_with(ending) && path.parent().is_some_and(|parent| parent.ends_with(dir)),
        None => path.ends_with(known),
    };
    let mut kinds = AgentKind::value_variants().iter();
    // The directory for temporary files may be another one when a run is undone.
    let is_in = |dir: OutputDir| path.ancestors().skip(1).any(|above| above.ends_with(dir.name()));
    let is_outside = |about: &About| {
        about.changes_outside.iter().any(|known| has_name(known)) || about.output_dir.is_some_and(is_in)
    };
    is_own_temporary(name) || kinds.any(|kind| is_outside(agent::about(*kind)))
}
