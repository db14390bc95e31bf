//! Finds the files that belong to a session of Codex in addition to its rollout.

use super::rollouts::{is_segment, of_thread, packed_twin};
use super::thread::Thread;
use super::{Codex, about, threads};
use crate::agent::mentions::{self, Mention};
use crate::agent::prelude::*;

impl Housekeeping for Codex {
    fn find_belongings(&self, place: &Located, listings: &Listings) -> Result<Belongings, Unable> {
        let files =
            if is_segment(&place.path) { of_thread(&place.store, &place.id) } else { vec![place.path.to_path_buf()] };
        let own = files.into_iter().flat_map(|path| {
            let twin = packed_twin(&path);
            std::iter::once(path).chain(twin)
        });
        let own = own.filter(|path| **path == *place.path || is_there(path));
        let (root, id) = (&place.store.root, &place.id);
        // The lock file is kept: if it were removed while a process is starting, two processes could write.
        let capabilities = root.join("tui-thread-reference-capabilities").join(id);
        let snapshots = listings.read_once(&root.join("shell_snapshots"));
        let shared =
            snapshots.entries_beginning_with(&format!("{id}.")).chain(Some(capabilities).filter(|path| is_there(path)));
        Ok(Belongings { own: own.collect(), shared: shared.collect() })
    }

    fn mentions(&self, store: &Store, env: &Env) -> Vec<Mention> {
        let mut mentions = mentions::in_lists(AgentKind::Codex, about::ABOUT.lists, store);
        mentions.extend(threads::mentions(store, env));
        mentions
    }

    fn companions(&self, place: &Located) -> Vec<PathBuf> {
        let parts = Thread::chain(place).map(|thread| thread.parts).unwrap_or_default();
        parts.into_iter().filter(|part| part.is_foreign).map(|part| part.path).collect()
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out the files that they look at")]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::agent::Agent as _;
    use crate::session::Store;

    #[test]
    fn shared_files_belong_only_to_the_last_copy() {
        let dir = tempfile::tempdir().expect("a directory");
        let (root, id) = (dir.path(), "01a1fff5-96db-71a1-b8b1-d7008cddc9ea");
        let put = |name: &str| {
            let path = root.join(name.replace("ID", id));
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            std::fs::write(&path, "").expect("a file");
            path
        };
        let own = [put("sessions/2026/02/01/rollout-x-ID.jsonl"), put("sessions/2026/02/01/rollout-x-ID.jsonl.zst")];
        let archived = put("archived_sessions/rollout-x-ID.jsonl.zst");
        let shared = [put("shell_snapshots/ID.1.sh"), put("tui-thread-reference-capabilities/ID")];
        for other in ["thread-writer-locks/ID.lock", "shell_snapshots/IDx.sh", "shell_snapshots/other.sh", "auth.json"]
        {
            put(other);
        }
        let env = crate::system::env::tests::fixed();
        let store = Store { root: root.to_owned(), ..Codex.stores(&env).remove(0) };
        let found = Engine::locate(&Codex, &Arc::new(store), None);
        let mut places: Vec<&Located> = found.places.iter().collect();
        places.sort_by_key(|place| *place.path != *own[0]);
        assert_eq!(places.len(), 2);
        let belongings = places.iter().map(|place| Codex.belongings(place).expect("belongings")).collect::<Vec<_>>();
        assert_eq!(belongings[0], Belongings { own: own.to_vec(), shared: shared.to_vec() });
        assert_eq!(belongings[1], Belongings { own: vec![archived], shared: shared.to_vec() });
    }
}
