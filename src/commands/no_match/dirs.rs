//! Finds the directories nearest to one in which no session worked.

use std::collections::{BTreeMap, HashSet};
use std::path::{Component, Path, PathBuf};

use crate::format::{command_line, text};
use crate::session::Session;
use crate::session::nearly;
use crate::session::select::Filter;
use crate::system::env::Env;

/// Maximum suggestions.
const MAX: usize = 3;
/// Minimum letters of a name in which one may be wrong.
const SHORTEST: usize = 3;
/// Maximum steps between near directories, up and down.
const STEPS: usize = 3;

/// Returns the requested directory and commands for the nearest ones; `None` if a session worked in it.
pub(super) fn nowhere<'f>(filter: &'f Filter, sessions: &[Session], env: &Env) -> Option<(&'f Path, Vec<String>)> {
    let dir = filter.dirs.first()?;
    let Filter { agents, dirs, kin, leads_below, all, .. } = filter.clone();
    let place = Filter { dirs, kin, leads_below, all, ..Filter::default() };
    if sessions.iter().any(|session| place.matches(session)) {
        return None;
    }
    let agents = Filter { agents, ..Filter::default() };
    let meant = sessions.iter().filter(|session| agents.matches(session));
    let again = |near: &str| command_line::again(env, &["--dir=", "--here"], &["--dir", near]);
    Some((dir, commands(dir, meant, again)))
}

/// Returns a command for each of the nearest directories of these sessions, with the number of sessions there.
pub(super) fn commands<'s>(
    dir: &Path,
    sessions: impl Iterator<Item = &'s Session>,
    command: impl Fn(&str) -> String,
) -> Vec<String> {
    let known: Vec<&Path> = sessions.filter_map(Session::launch_dir).collect();
    let named = |near: PathBuf| {
        let count = known.iter().filter(|known| known.starts_with(&near)).count();
        format!("`{}`  ({})", command(&near.to_string_lossy()), text::count(count, "session"))
    };
    nearest(dir, &known).into_iter().map(named).collect()
}

/// Returns directories whose path differs by a typing error, or else those with the same name, or else nearby ones.
fn nearest(dir: &Path, known: &[&Path]) -> Vec<PathBuf> {
    let mut seen = HashSet::new();
    let known: Vec<&Path> = known.iter().copied().filter(|known| seen.insert(*known)).collect();
    let length = dir.components().count();
    let mut slips: BTreeMap<&Path, usize> = BTreeMap::new();
    for above in known.iter().flat_map(|known| known.ancestors()) {
        if above != dir && above.components().count() == length {
            slips.extend(slip(dir, above).map(|letters| (above, letters)));
        }
    }
    let mut found: Vec<&Path> = slips.keys().copied().collect();
    found.sort_by_key(|slip| slips[slip]);
    if found.is_empty() {
        let is_named = |known: &Path| known.file_name().zip(dir.file_name()).is_some_and(|(a, b)| a == b);
        found = known.iter().copied().filter(|known| is_named(known)).collect();
    }
    if found.is_empty() {
        let near = known.iter().filter_map(|known| Some((steps(dir, known)?, *known)));
        let mut near: Vec<(usize, &Path)> = near.filter(|(steps, _)| *steps <= STEPS).collect();
        near.sort_by_key(|(steps, _)| *steps);
        found = near.into_iter().map(|(_, known)| known).collect();
    }
    found.into_iter().take(MAX).map(Path::to_owned).collect()
}

/// Returns the number of letters that differ, if each part of the path is equal or similar.
fn slip(dir: &Path, known: &Path) -> Option<usize> {
    let parts = dir.components().zip(known.components());
    let letters = parts.map(|(ours, theirs)| {
        let [ours, theirs] = [ours, theirs].map(|part| part.as_os_str().to_string_lossy().to_lowercase());
        // A shorter name is similar to too many others.
        if ours.len() < SHORTEST { (ours == theirs).then_some(0) } else { nearly::slips(&theirs, &ours) }
    });
    letters.sum()
}

/// Returns the number of steps from one directory to the other, unless they share only the root.
fn steps(dir: &Path, known: &Path) -> Option<usize> {
    let shared = dir.components().zip(known.components()).take_while(|(ours, theirs)| ours == theirs);
    let shared = shared.filter(|(part, _)| matches!(part, Component::Normal(_))).count();
    let depth = |path: &Path| path.components().filter(|part| matches!(part, Component::Normal(_))).count();
    (shared > 0).then(|| depth(dir) + depth(known) - 2 * shared)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_rank_typos_before_names_and_neighbours() {
        let known =
            ["/home/ana/work/app", "/home/ana/work/site/docs", "/home/ana/notes", "/srv/shop", "/home/ana/work/app"];
        let known = known.map(Path::new);
        for (dir, expected) in [
            ("/home/ana/wrok", vec!["/home/ana/work"]),
            ("/home/ana/work/sites", vec!["/home/ana/work/site"]),
            ("/home/ana/WORK", vec!["/home/ana/work"]),
            ("/home/ana/shop", vec!["/srv/shop"]),
            ("/home/ana/work/app/src/lib", vec!["/home/ana/work/app"]),
            ("/home/ana/music", vec!["/home/ana/notes", "/home/ana/work/app"]),
            ("/opt/tool", vec![]),
            ("/", vec![]),
        ] {
            let found = nearest(Path::new(dir), &known);
            assert_eq!(found, expected.into_iter().map(PathBuf::from).collect::<Vec<_>>(), "{dir}");
        }
    }
}
