//! The limits of a run: the paths that it may change, and the programs that it may name.
//!
//! Every plan is checked before its first step, and every journal before it is recovered or undone: a journal may be
//! forged, or come with a backup. Steps enter directories without following links, so a path below a root stays there.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use crate::disk::{self, Disk};

/// Checks whether the program of this name is supported, so that a run can detect that its data is in use.
pub type IsKnown = fn(&str) -> bool;

/// Returns whether a name is that of a temporary file.
pub fn is_own_temporary(name: &str) -> bool {
    name.starts_with(".rejoin-") && name.ends_with(".tmp")
}

/// The paths that a run may change, and the programs that it may name.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Directories with everything in them, and single files; their links are resolved.
    roots: Vec<PathBuf>,
    /// Ends of paths that may change in any directory: `name`, `dir/name`, `dir/*ending`, or `dir/**` for all in it.
    anywhere: Vec<Cow<'static, str>>,
    /// Checks whether a program may be named.
    pub(crate) is_known: IsKnown,
    /// Reason to leave a path outside alone, which follows the path in a message.
    outside: &'static str,
}

impl Bounds {
    /// Creates limits without directories. Paths with an end in `anywhere` may change in any directory: `name`,
    /// `dir/name`, `dir/*ending`, or `dir/**` for everything in that directory.
    pub fn new(anywhere: Vec<Cow<'static, str>>, is_known: IsKnown) -> Self {
        Self { roots: Vec::new(), anywhere, is_known, outside: "is outside, so it is not changed" }
    }

    /// Sets the reason to leave a path outside alone, which follows the path in a message.
    #[must_use]
    pub fn with_reason(self, outside: &'static str) -> Self {
        Self { outside, ..self }
    }

    /// Returns the limits for tests on their own disk.
    #[cfg(any(test, debug_assertions))]
    pub fn everything() -> Self {
        Self { roots: vec!["/".into()], ..Self::new(Vec::new(), |name| name != "stranger") }
    }

    /// Adds a directory with everything in it, or a file.
    pub fn add(&mut self, disk: &dyn Disk, root: &Path) {
        // Without its mount, nothing there can be changed.
        self.roots.extend(disk::real_dir(disk, root));
    }

    /// Fails with the reason if one of the paths of an item is outside. Each path has a flag that is set for a new
    /// directory: undoing it removes it only if it is empty, so it may also be above a path within the bounds.
    pub(super) fn check<'p>(&self, mut paths: impl Iterator<Item = (&'p Path, bool)> + Clone) -> Result<(), String> {
        let all = paths.clone();
        let leads_inside = |dir: &Path| all.clone().any(|(path, _)| path.starts_with(dir) && self.contains(path));
        let is_outside =
            |(path, is_new_dir): &(&Path, bool)| !(self.contains(path) || *is_new_dir && leads_inside(path));
        let outside = paths.find(is_outside);
        outside.map_or(Ok(()), |(path, _)| Err(format!("{} {}", path.display(), self.outside)))
    }

    fn contains(&self, path: &Path) -> bool {
        let is_plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        is_plain && (self.roots.iter().any(|root| path.starts_with(root)) || self.is_known_anywhere(path))
    }

    /// Returns whether a file name may change in any directory.
    fn is_known_anywhere(&self, path: &Path) -> bool {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
        let has_name = |known: &Cow<'_, str>| match known.rsplit_once("/*") {
            Some((dir, "*")) => path.ancestors().skip(1).any(|above| above.ends_with(dir)),
            Some((dir, ending)) => name.ends_with(ending) && path.parent().is_some_and(|parent| parent.ends_with(dir)),
            None => path.ends_with(&**known),
        };
        is_own_temporary(name) || self.anywhere.iter().any(has_name)
    }
}
