//! Finds files by names alone that have the id of a session in their names, in and around the places of the agents' logs.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldhash::HashSet;

use crate::agent::upkeep::is_own_temporary;
use crate::agent::{self, Found, log_places};
use crate::session::Store;
use crate::system::{parallel, reach};

/// Levels of directories below the places of logs that are searched.
const BELOW: usize = 2;

/// A log with the id of a session in its name.
#[derive(Clone, Debug)]
pub(crate) struct NamedLog {
    pub store: Arc<Store>,
    pub path: PathBuf,
    /// The name without the words that another program added.
    pub plain_name: String,
    /// The id of the session.
    pub id: String,
}

/// Finds the logs that are not `known`.
pub(crate) fn find(stores: &[Store], known: &HashSet<OsString>) -> Vec<NamedLog> {
    let log = |(store, path): (Arc<Store>, PathBuf)| {
        let name = path.file_name()?.to_str().filter(|name| !is_own_temporary(name))?;
        let (plain_name, id) = agent::about(store.agent).logs?.plain_name(name)?;
        Some(NamedLog { store, path, plain_name, id })
    };
    files_below(stores, known).into_iter().filter_map(log).collect()
}

/// Returns the files in and below the places of logs, and in the directories above these, that are not `known`. A directory
/// with the id of a session in its name is listed without its subdirectories. A place that stores share through a link
/// is searched once.
fn files_below(stores: &[Store], known: &HashSet<OsString>) -> Vec<(Arc<Store>, PathBuf)> {
    let mut tops: BTreeSet<(Reverse<usize>, bool, PathBuf, usize)> = BTreeSet::new();
    let is_link = |dir: &Path| reach::symlink_metadata(dir).is_ok_and(|metadata| metadata.is_symlink());
    for (at, store) in stores.iter().enumerate() {
        for (top, levels) in agent::about(store.agent).logs.iter().flat_map(|logs| logs.tops(&store.root)) {
            let is_behind_link = is_link(&top) || is_link(&store.root);
            tops.extend(top.parent().map(|above| (Reverse(0), is_behind_link, above.to_owned(), at)));
            tops.insert((Reverse(levels + BELOW), is_behind_link, top, at));
        }
    }
    let stores: Vec<Arc<Store>> = stores.iter().cloned().map(Arc::new).collect();
    let (mut found, mut seen, mut real) = (Vec::new(), HashSet::default(), HashSet::default());
    // The deepest search of a directory comes first, and then the one without a link.
    let mut level: Vec<(PathBuf, usize, usize)> =
        tops.into_iter().map(|(levels, _, top, at)| (top, levels.0, at)).collect();
    level.retain(|(top, _, at)| {
        reach::canonicalize(top).is_ok_and(|top| real.insert((stores[*at].agent, top.into_os_string())))
    });
    while !level.is_empty() {
        level.retain(|(dir, _, at)| seen.insert((stores[*at].agent, dir.clone().into_os_string())));
        let list = |(dir, levels, at): (PathBuf, usize, usize)| {
            let (mut dirs, mut files) = (Vec::new(), Vec::new());
            for (entry, _) in Found::default().entries(&dir) {
                // A link is an alias.
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() && levels > 0 => dirs.push(entry.path()),
                    Ok(kind) if kind.is_file() => files.push(entry.path()),
                    _ => {}
                }
            }
            files.retain(|path| !known.contains(path.as_os_str()));
            let has_id = |dir: &Path| {
                dir.file_name().is_some_and(|name| log_places::uuids_in(&name.to_string_lossy()).next().is_some())
            };
            let below = |dir: PathBuf| (if has_id(&dir) { 0 } else { levels - 1 }, dir);
            let dirs = dirs.into_iter().map(below).map(|(levels, dir)| (dir, levels, at)).collect::<Vec<_>>();
            (at, files, dirs)
        };
        let listed = parallel::map(level, list);
        level = Vec::new();
        for (at, files, dirs) in listed {
            found.extend(files.into_iter().map(|path| (Arc::clone(&stores[at]), path)));
            level.extend(dirs);
        }
    }
    found
}
