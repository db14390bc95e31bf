//! Finds the files that belong to a session in addition to its transcript.

use crate::agent::prelude::*;

/// The directories in which the client keeps files named after the session (2.1.330). Older clients also have `todos`
/// and `debug`.
const OF_SESSION: [&str; 5] = ["file-history", "session-env", "tasks", "uploads", "image-cache"];

/// Finds the files that belong to a session.
pub(super) fn of(place: &Located, listings: &Listings) -> Belongings {
    // The client's notes on a sub-agent are next to its transcript.
    let meta = Some(place.path.with_extension("meta.json")).filter(|_| place.is_subagent);
    let own = own_files(place, place.side_dir.clone().into_iter().chain(meta));
    if place.is_subagent {
        return own;
    }
    let (root, id) = (&place.store.root, &place.id);
    let find = |dir: &str, name: &str| listings.named(&root.join(dir), name);
    let of_session = OF_SESSION.iter().filter_map(|dir| find(dir, id)).chain(find("debug", &format!("{id}.txt")));
    let todos: Vec<PathBuf> =
        listings.read_once(&root.join("todos")).entries_beginning_with(&format!("{id}-")).collect();
    Belongings { shared: of_session.chain(todos).collect(), ..own }
}
