//! The locations and the names of rollouts.

use std::collections::{BTreeMap, HashSet};

use crate::agent::ids::is_uuid;
use crate::agent::prelude::*;

/// `sessions/YYYY/MM/DD`.
const MAX_DEPTH: usize = 3;
/// The directory of archived rollouts.
pub(super) const ARCHIVE: &str = "archived_sessions";

/// Finds the threads of a store by the names of their rollouts. A thread in several rollouts is located at the newest
/// one.
pub(super) fn locate(store: &Arc<Store>, is_wanted: &(dyn Fn(&str) -> bool + Sync)) -> Found {
    let mut found = every(store, is_wanted);
    let segments = found.places.iter().filter(|place| is_segment(&place.path));
    let mut heads: BTreeMap<String, Arc<Path>> = BTreeMap::new();
    for place in segments {
        let head = heads.entry(place.id.clone()).or_insert_with(|| Arc::clone(&place.path));
        if place.path.file_name() > head.file_name() {
            *head = Arc::clone(&place.path);
        }
    }
    if !heads.is_empty() {
        found.places.retain(|place| heads.get(&place.id).is_none_or(|head| *head == place.path));
    }
    found
}

/// Returns every rollout of a thread in a store, the oldest first.
pub(super) fn of_thread(store: &Arc<Store>, thread: &str) -> Vec<PathBuf> {
    let found = every(store, &|id| id == thread);
    let mut paths: Vec<PathBuf> = found.places.iter().map(|place| place.path.to_path_buf()).collect();
    paths.sort_by(|a, b| a.file_name().cmp(&b.file_name()));
    paths
}

fn every(store: &Arc<Store>, is_wanted: &(dyn Fn(&str) -> bool + Sync)) -> Found {
    let mut found = rollouts(store, &store.root.join("sessions"), MAX_DEPTH, is_wanted);
    found.extend(rollouts(store, &store.root.join(ARCHIVE), 0, is_wanted));
    found
}

/// Finds the rollouts in a directory, down to `levels` below it.
fn rollouts(store: &Arc<Store>, dir: &Path, levels: usize, is_wanted: &(dyn Fn(&str) -> bool + Sync)) -> Found {
    let mut found = Found::default();
    let (mut dirs, mut files) = (Vec::new(), BTreeMap::new());
    for (entry, kind) in found.entries(dir) {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if kind.is_dir() {
            dirs.push(entry.path());
        } else if rollout_id(&name).is_some_and(is_wanted) {
            files.insert(name, (entry.path(), kind.is_file()));
        }
    }
    for (name, (path, is_file)) in &files {
        // Codex prefers the plain file to the compressed one.
        let has_plain = name.strip_suffix(".zst").is_some_and(|plain| files.contains_key(plain));
        let Some(id) = rollout_id(name).filter(|_| !has_plain) else { continue };
        if !is_file {
            found.problem(path, "it is not a regular file");
            continue;
        }
        found.places.push(Located::new(store, id, path.as_path()));
    }
    if levels > 0 {
        let below = parallel::map(dirs, |dir| rollouts(store, &dir, levels - 1, is_wanted));
        below.into_iter().for_each(|part| found.extend(part));
    }
    found
}

/// Returns the id of the thread in the name of a rollout.
pub(super) fn rollout_id(name: &str) -> Option<&str> {
    Some(ids_in(name)?.0)
}

/// Returns the ids at the end of a rollout's name: the id of the thread, and that of the segment if it is one.
fn ids_in(name: &str) -> Option<(&str, Option<&str>)> {
    let stem = name.strip_suffix(".zst").unwrap_or(name).strip_prefix("rollout-")?.strip_suffix(".jsonl")?;
    let (rest, id) = split_id(stem)?;
    let thread = rest.strip_suffix('_').and_then(split_id).map(|(_, thread)| thread);
    Some(thread.map_or((id, None), |thread| (thread, Some(id))))
}

fn split_id(text: &str) -> Option<(&str, &str)> {
    text.split_at_checked(text.len().checked_sub(36)?).filter(|(_, id)| is_uuid(id))
}

fn ids(path: &Path) -> Option<(&str, Option<&str>)> {
    ids_in(path.file_name()?.to_str()?)
}

/// Returns the id of the thread in the name of a rollout.
pub(super) fn thread_id(path: &Path) -> Option<&str> {
    Some(ids(path)?.0)
}

/// Returns whether a rollout continues an earlier one of its thread.
pub(super) fn is_segment(path: &Path) -> bool {
    ids(path).is_some_and(|(_, segment)| segment.is_some())
}

/// Finds the rollout whose name ends with this id; usually it is in the same directory as the one that continues it.
pub(super) fn find(place: &Located, id: &str) -> Option<PathBuf> {
    let is_meant = |path: &Path| last_id(path) == Some(id);
    let dir = place.path.parent()?;
    let near = rollouts(&place.store, dir, 0, &|_: &str| true).places;
    let meant = |places: Vec<Located>| places.into_iter().find(|it| is_meant(&it.path)).map(|it| it.path.to_path_buf());
    meant(near).or_else(|| meant(every(&place.store, &|_: &str| true).places))
}

/// Returns the last id in the name of every rollout of a store.
pub(super) fn last_ids(store: &Arc<Store>) -> HashSet<String> {
    let places = every(store, &|_: &str| true).places;
    places.iter().filter_map(|place| last_id(&place.path).map(str::to_owned)).collect()
}

fn last_id(path: &Path) -> Option<&str> {
    ids(path).map(|(thread, segment)| segment.unwrap_or(thread))
}

/// Returns the compressed form next to a plain rollout, which Codex removes together with it.
pub(super) fn packed_twin(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str().filter(|name| !name.ends_with(".zst"))?;
    Some(path.with_file_name(format!("{name}.zst")))
}

pub(super) fn is_archived(path: &Path) -> bool {
    path.parent().and_then(Path::file_name).is_some_and(|dir| dir == ARCHIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rollout_file_name_ends_with_its_id() {
        let id = "01a1fff5-96db-71a1-b8b1-d7008cddc9ea";
        for name in [format!("rollout-2026-02-01T10-00-00-{id}.jsonl"), format!("rollout-x-{id}.jsonl.zst")] {
            assert_eq!(rollout_id(&name), Some(id), "{name}");
        }
        let segment = "01a219ed-6272-7800-abe1-2fe326b863ec";
        let name = format!("rollout-2026-02-01T10-00-00-{id}_{segment}.jsonl");
        assert_eq!(ids_in(&name), Some((id, Some(segment))));
        for other in [
            format!("rollout-{id}.json"),
            format!("other-{id}.jsonl"),
            format!("rollout-{id}.jsonl.zst.tmp"),
            "rollout-é1a1fff5-96db-71a1-b8b1-d7008cddc9e.jsonl".to_owned(),
            "rollout-.jsonl".to_owned(),
            format!("rollout-{}.jsonl", &id[1..]),
        ] {
            assert_eq!(rollout_id(&other), None, "{other}");
        }
    }
}
