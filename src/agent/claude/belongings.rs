//! Finds the files that belong to a session in addition to its transcript.

use std::path::PathBuf;

use crate::agent::{Listings, is_there};
use crate::session::{Belongings, Located};

/// The directories in which the client keeps files named after the session (2.1.330). Older clients also have `todos`
/// and `debug`.
const OF_SESSION: [&str; 5] = ["file-history", "session-env", "tasks", "uploads", "image-cache"];

/// Finds the files that belong to a session.
pub(super) fn of(place: &Located, listings: &Listings) -> Belongings {
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
    let (root, id) = (&place.store.root, &place.id);
    let find = |dir: &str, name: &str| listings.named(&root.join(dir), name);
    let of_session = OF_SESSION.iter().filter_map(|dir| find(dir, id)).chain(find("debug", &format!("{id}.txt")));
    let todos: Vec<PathBuf> = listings.of(&root.join("todos")).with(&format!("{id}-")).collect();
    Belongings { own, shared: of_session.chain(todos).collect() }
}
