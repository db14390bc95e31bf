//! Finds the files that belong to a session in addition to its transcript.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::agent::{Beginnings, FindBelongings, is_there};
use crate::session::{Belongings, Located};

/// The directories in which the client keeps files named after the session (2.1.330). Older clients also have `todos`
/// and `debug`.
const OF_SESSION: [&str; 5] = ["file-history", "session-env", "tasks", "uploads", "image-cache"];

/// Finds the files that belong to a session.
pub(super) fn of(place: &Located) -> Belongings {
    let root = &place.store.root;
    let find = |dir: &str, name: &str| Some(root.join(dir).join(name)).filter(|path| is_there(path));
    belongings(place, find, &Beginnings::of(&root.join("todos")))
}

/// Returns a function that finds these files for many sessions in these stores.
pub(super) fn finder(roots: &BTreeSet<&Path>) -> FindBelongings<'static> {
    // A check per session and directory costs more than listing each directory once.
    let list = |root: &Path| -> HashMap<&str, Beginnings> {
        OF_SESSION.iter().chain(&["debug", "todos"]).map(|dir| (*dir, Beginnings::of(&root.join(dir)))).collect()
    };
    let listed: BTreeMap<PathBuf, _> = roots.iter().map(|root| ((*root).to_owned(), list(root))).collect();
    Box::new(move |place| {
        let Some(listed) = listed.get(&place.store.root) else { return Ok(of(place)) };
        Ok(belongings(place, |dir, name| listed[dir].named(name), &listed["todos"]))
    })
}

/// Collects the files that belong to a session; `find` finds an entry by its name in a directory of the store.
fn belongings(place: &Located, find: impl Fn(&'static str, &str) -> Option<PathBuf>, todos: &Beginnings) -> Belongings {
    let mut own = vec![place.path.to_path_buf()];
    own.extend(place.side_dir.clone());
    if place.is_subagent {
        // The client's notes on a sub-agent are next to its transcript.
        own.push(place.path.with_extension("meta.json"));
    }
    own.retain(|path| **path == *place.path || is_there(path));
    if place.is_subagent {
        return Belongings { own, shared: Vec::new() };
    }
    let id = &place.id;
    let of_session = OF_SESSION.iter().filter_map(|dir| find(dir, id)).chain(find("debug", &format!("{id}.txt")));
    Belongings { own, shared: of_session.chain(todos.with(&format!("{id}-"))).collect() }
}
