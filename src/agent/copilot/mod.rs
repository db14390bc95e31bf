//! Copilot CLI: `<home>/session-state/<uuid>/`, with `events.jsonl` and `workspace.yaml`; `<uuid>.jsonl` of older versions.
//!
//! Its database (`session-store.db`) is derived from these files and not needed. Facts: measured on 1.0.102.

pub(super) mod flat_yaml;
pub(super) mod records;

pub(super) mod about;
mod flat;
mod log;
mod relocation;
mod slim;
mod workspace;

use std::collections::BTreeSet;

use super::lines::Lines;

use super::ids::is_uuid;
use super::{as_prompt_option, each_file_below};
use crate::agent::prelude::*;
use crate::system::process;

/// Implements [`Agent`](super::Agent) for Copilot CLI.
pub(super) struct Copilot;

impl Reading for Copilot {
    fn engine(&self) -> &'static dyn Engine {
        &Lines(Self)
    }

    fn transcript(&self, place: &Located) -> Option<PathBuf> {
        self.engine().transcript(place).filter(|path| reach::is_file(path))
    }
}

impl Resuming for Copilot {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        // The client also accepts a prefix of an id, and a name: only a whole id is unambiguous.
        if !is_uuid(&copy.place.id) {
            return Err("its id is not a UUID".into());
        }
        Ok(Command::new(&["copilot", &format!("--resume={}", copy.place.id)], as_prompt_option(prompt)))
    }

    fn mend(&self, copy: &SessionCopy) -> Result<Vec<Act>, Unable> {
        flat::mend(copy)
    }

    fn changes_to(&self, copy: &SessionCopy) -> Option<Arc<Path>> {
        workspace::own_dir(&copy.place)
    }
}

impl Housekeeping for Copilot {
    fn find_belongings(&self, place: &Located, _listings: &Listings) -> Result<Belongings, Unable> {
        let lock = format!("session-state/.session-operation-locks/{}.lock", place.id);
        Ok(own_files(place, [place.store.root.join(lock)]))
    }
}

/// Returns the size of a session's directory in bytes, and the processes that its files name as users.
pub(super) fn survey(dir: &Path, context: &ReadContext<'_>) -> (u64, BTreeSet<u32>) {
    let (mut bytes, mut users) = (0, BTreeSet::new());
    let deepest = if context.sizes { usize::MAX } else { 1 };
    each_file_below(dir, deepest, &mut |entry, depth| {
        if context.sizes {
            bytes += entry.metadata().map_or(0, |metadata| metadata.len());
        }
        if depth == 1 {
            let name = entry.file_name();
            let name = name.to_str().and_then(|name| name.strip_prefix("inuse."));
            let pid = name.and_then(|name| name.strip_suffix(".lock").or_else(|| name.strip_suffix(".hold")));
            users.extend(pid.and_then(|pid| pid.parse::<u32>().ok()));
        }
    });
    (bytes, users)
}

/// Determines the liveness from the processes that the files name as users: a killed client leaves its files.
pub(super) fn liveness(dir: &Path, users: &BTreeSet<u32>) -> Liveness {
    let mut liveness = Liveness::Idle;
    for pid in users {
        match process::is_locked(&dir.join(format!("inuse.{pid}.hold"))) {
            Some(true) => return Liveness::Live { pid: *pid },
            Some(false) => {}
            // Without a locked file, only the process can be checked, whose id may have been reused.
            None if process::exists(*pid) => {
                liveness = Liveness::Maybe { why: format!("inuse.{pid}.lock is there, and process {pid} runs") };
            }
            None => {}
        }
    }
    liveness
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use super::*;
    use crate::agent::Agent as _;
    use crate::agent::{Depth, Inspector, StoreNotes};
    use crate::session::Store;
    use crate::system::env::tests::fixed;
    use std::sync::Arc;

    #[test]
    fn session_owns_only_its_directory_and_lock() {
        let root = tempfile::tempdir().expect("a directory");
        let state = root.path().join("session-state");
        let [id, other] = ["aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa", "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb"];
        let locks = state.join(".session-operation-locks");
        std::fs::create_dir_all(&locks).expect("a directory");
        for id in [id, other] {
            std::fs::create_dir(state.join(id)).expect("a directory");
            std::fs::write(locks.join(format!("{id}.lock")), "").expect("a file");
        }
        let store = Store { root: root.path().to_owned(), ..Copilot.stores(&fixed()).remove(0) };
        let place = Copilot.locate(&Arc::new(store), Some(id)).places.remove(0);
        let own = vec![state.join(id), locks.join(format!("{id}.lock"))];
        assert_eq!(Copilot.belongings(&place), Ok(Belongings { own: own.clone(), shared: Vec::new() }));
        std::fs::remove_file(&own[1]).expect("a file");
        assert_eq!(Copilot.belongings(&place).map(|found| found.own), Ok(own[..1].to_vec()));
    }

    #[test]
    fn search_finds_lock_files_with_and_without_sizes() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("deep")).expect("a directory");
        for name in ["inuse.71.lock", "inuse.72.hold", "inuse.x.lock", "deep/inuse.73.lock"] {
            std::fs::write(dir.path().join(name), "1234").expect("a file");
        }
        let (env, notes, inspector) = (fixed(), StoreNotes::default(), Inspector::default());
        let context =
            ReadContext { env: &env, notes: &notes, depth: Depth::Glance, sizes: true, inspector: &inspector };
        let look = |sizes| survey(dir.path(), &ReadContext { sizes, ..context });
        assert_eq!(look(true), (16, BTreeSet::from([71, 72])));
        assert_eq!(look(false), (0, BTreeSet::from([71, 72])));
    }
}
