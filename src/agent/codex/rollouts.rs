//! Where rollouts lie, and what their names say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::agent::Found;
use crate::agent::ids::is_uuid;
use crate::session::{Located, Store};

/// `sessions/YYYY/MM/DD`.
const MAX_DEPTH: usize = 3;
/// Where Codex puts what it archives.
pub(super) const ARCHIVE: &str = "archived_sessions";

/// Finds the rollouts of a store by name.
pub(super) fn locate(store: &Arc<Store>, is_wanted: impl Fn(&str) -> bool + Sync) -> Found {
    let mut found = rollouts(store, &store.root.join("sessions"), MAX_DEPTH, &is_wanted);
    found.extend(rollouts(store, &store.root.join(ARCHIVE), 0, &is_wanted));
    found
}

/// Finds the rollouts in a directory, down to `levels` below it.
fn rollouts(store: &Arc<Store>, dir: &Path, levels: usize, is_wanted: &(impl Fn(&str) -> bool + Sync)) -> Found {
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
        // Of a plain and a packed one the plain one counts, as it does for Codex.
        let has_plain = name.strip_suffix(".zst").is_some_and(|plain| files.contains_key(plain));
        let Some(id) = rollout_id(name).filter(|_| !has_plain) else { continue };
        if !is_file {
            found.problem(path, "it is not a regular file");
            continue;
        }
        found.places.push(Located::new(store, id, path.as_path()));
    }
    if levels > 0 {
        let below: Vec<Found> = dirs.into_par_iter().map(|dir| rollouts(store, &dir, levels - 1, is_wanted)).collect();
        below.into_iter().for_each(|part| found.extend(part));
    }
    found
}

/// Returns the id at the end of a rollout's name.
fn rollout_id(name: &str) -> Option<&str> {
    let stem = name.strip_suffix(".zst").unwrap_or(name).strip_prefix("rollout-")?.strip_suffix(".jsonl")?;
    let (_, id) = stem.split_at_checked(stem.len().checked_sub(36)?)?;
    Some(id).filter(|id| is_uuid(id))
}

/// Returns the packed form beside a plain rollout, which Codex removes with it.
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
    fn the_id_is_the_end_of_a_rollouts_name() {
        let id = "01a1fff5-96db-71a1-b8b1-d7008cddc9ea";
        for name in [format!("rollout-2026-02-01T10-00-00-{id}.jsonl"), format!("rollout-x-{id}.jsonl.zst")] {
            assert_eq!(rollout_id(&name), Some(id), "{name}");
        }
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
