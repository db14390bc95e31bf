//! The answer when no session worked in the directory of `--dir`: suggests the nearest directories.

use std::collections::{BTreeMap, HashSet};
use std::path::{Component, Path, PathBuf};

use crate::agent;
use crate::error::{Exit, Refusal, RefusalCode, reason};
use crate::format::{command_line, nearly, text};
use crate::scan::{self, Wanted};
use crate::session::select::Filter;
use crate::system::env::Env;
use crate::system::links;
use crate::view::render::table::shown_dir;
use crate::view::ui::Ui;

/// Maximum suggestions.
const MAX: usize = 3;
/// Minimum letters of a name in which one may be wrong.
const SHORTEST: usize = 3;
/// Maximum steps between near directories, up and down.
const STEPS: usize = 3;

/// Notes on standard error that there is no session at all, or none in the directory of the filters. Returns true if
/// so.
pub(super) fn note(filter: &Filter, env: &Env, ui: &mut Ui) -> bool {
    if is_empty_home(env) {
        match broken_link(env) {
            Some(why) => ui.warn(&why),
            // A script gets the empty answer.
            None if env.terminal.stdout => {
                ui.note("No agent has sessions here. `rejoin agents` shows where rejoin looked.");
            }
            None => {}
        }
        return true;
    }
    let Some((dir, near)) = nowhere(filter, env) else { return false };
    let dir = shown_dir(dir, env);
    if near.is_empty() {
        ui.note(&format!("No session worked in {dir} or below it. `rejoin list` shows where some did."))
    } else {
        ui.note(&format!("No session worked in {dir} or below it. These come nearest:"))
    }
    near.iter().for_each(|line| ui.note(&format!("  {line}")));
    true
}

/// Prints the reason why nothing was searched.
pub(super) fn note_of_search(filter: &Filter, env: &Env, ui: &mut Ui) {
    if !note(filter, env, ui) && env.terminal.stdout {
        ui.note("No session passes the filters. `rejoin list` shows all.");
    }
}

/// Returns whether no agent has a session here. A store that cannot be read, or on a mount that does not answer, may
/// have some.
fn is_empty_home(env: &Env) -> bool {
    let found = scan::locate(env, &[]);
    found.places.is_empty() && found.problems.is_empty()
}

/// Describes a store, or a directory in it, that is a link to nothing: its sessions may be on a volume that is not mounted.
fn broken_link(env: &Env) -> Option<String> {
    let (link, why) = agent::roots(env, &[]).into_iter().find_map(|root| links::broken_in(&root))?;
    Some(format!("cannot read {}: {}", link.display(), reason(&why)))
}

/// Replaces the error for a missing session if there is no session at all, or none in the directory of the filters; the
/// new error names the nearest directories.
pub(super) fn instead(error: anyhow::Error, filter: &Filter, env: &Env) -> anyhow::Error {
    let is_none = |refusal: &Refusal| refusal.exit == Exit::NotFound && refusal.code == RefusalCode::NotFound;
    if !error.downcast_ref::<Refusal>().is_some_and(is_none) {
        return error;
    }
    if is_empty_home(env) {
        let message = broken_link(env).unwrap_or_else(|| "no agent has sessions here".to_owned());
        let refusal = Refusal::new(RefusalCode::NotFound, message);
        return refusal.hint("run `rejoin agents` to see where rejoin looked").into();
    }
    let Some((dir, near)) = nowhere(filter, env) else { return error };
    let message = format!("no session worked in {} or below it", dir.display());
    let hint = if near.is_empty() {
        "run `rejoin list` to see where sessions worked".to_owned()
    } else {
        format!("these directories come nearest:\n      {}", near.join("\n      "))
    };
    Refusal::new(RefusalCode::NotFound, message).hint(hint).into()
}

/// Returns the requested directory and commands for the nearest ones; `None` if a session worked in it.
fn nowhere<'f>(filter: &'f Filter, env: &Env) -> Option<(&'f Path, Vec<String>)> {
    let dir = filter.dirs.first()?;
    let Filter { agents: _, chosen: _, since: _, until: _, before: _, dirs, kin, is_respelled, all } = filter.clone();
    let place = Filter { dirs, kin, is_respelled, all, ..Filter::default() };
    let agents = Filter { agents: filter.agents.clone(), ..Filter::default() };
    let wanted = Wanted { sizes: false, ..Wanted::GLANCE };
    let mut scan = scan::locate(env, &[]).read_with_dirs(env, filter, wanted);
    if scan.sessions.iter().any(|session| place.matches(session)) {
        return None;
    }
    scan.sessions.sort_by_key(|session| std::cmp::Reverse(session.recency()));
    let meant = scan.sessions.iter().filter(|session| agents.matches(session));
    let known: Vec<&Path> = meant.filter_map(|session| session.launch_dir()).collect();
    let command = |near: PathBuf| {
        let count = known.iter().filter(|known| known.starts_with(&near)).count();
        let again = command_line::again(env, &["--dir=", "--here"], &["--dir", &near.to_string_lossy()]);
        format!("`{again}`  ({})", text::count(count, "session"))
    };
    Some((dir, nearest(dir, &known).into_iter().map(command).collect()))
}

/// Returns directories whose path differs by a typing error, or else those with the same name, or else those around.
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
        // A shorter name is near to too many others.
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
    fn slips_come_before_equal_names_and_those_before_neighbours() {
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
