//! Merges copies that are the same file or directory, reached through different links.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::session::{AgentKind, Located, Problem, Store};
use crate::system::reach;

/// A store with links to sessions of another store, and that other store.
pub(crate) type SharedRoots = (PathBuf, PathBuf);

/// Keeps one path to each file or directory: the first without a link below its store, or else the first, which names the
/// session that has the other. Returns the stores that lost places to other stores.
pub(super) fn drop_aliases(places: &mut Vec<Located>) -> BTreeSet<SharedRoots> {
    let (mut ways, mut real_dirs) = (HashMap::new(), RealDirs::default());
    let mut of_file: HashMap<(AgentKind, &Path), Vec<(usize, bool)>> = HashMap::new();
    for place in &*places {
        ways.entry(&*place.path).or_insert_with(|| real_dirs.way(place));
    }
    for (at, place) in places.iter().enumerate() {
        if let Some(way) = &ways[&*place.path] {
            of_file.entry((place.agent(), &way.real)).or_default().push((at, way.is_direct));
        }
    }
    let (mut dropped, mut shared, mut linked) = (vec![false; places.len()], BTreeSet::new(), Vec::new());
    for several in of_file.into_values().filter(|several| several.len() > 1) {
        let has_direct = several.iter().any(|(_, is_direct)| *is_direct);
        let (stay, mut go): (Vec<_>, Vec<_>) = several.into_iter().partition(|(_, is_direct)| *is_direct == has_direct);
        // A database holds many sessions.
        let mut ids = HashSet::new();
        go.extend(stay.iter().copied().filter(|(at, _)| !ids.insert(&*places[*at].id)));
        for (at, _) in go {
            dropped[at] = true;
            let [link, file] = [at, stay[0].0].map(|at| places[at].parent_id.as_deref());
            linked.extend(link.filter(|link| Some(*link) != file).map(|link| (stay[0].0, link.into())));
            let [goes, stays] = [at, stay[0].0].map(|at| &places[at].store.root);
            if goes != stays {
                shared.insert((goes.clone(), stays.clone()));
            }
        }
    }
    for (at, by) in linked {
        places[at].linked_by.push(by);
    }
    let mut dropped = dropped.into_iter();
    places.retain(|_| !dropped.next().unwrap_or_default());
    shared
}

/// Keeps one problem per file or directory that is reached by several paths.
pub(crate) fn drop_repeated(problems: &mut Vec<Problem>) {
    if problems.len() > 1 {
        let (mut real_dirs, mut known) = (RealDirs::default(), HashSet::new());
        problems.retain(|problem| {
            let dir = problem.path.parent().and_then(|dir| real_dirs.real_path_of(dir).cloned());
            let name = problem.path.file_name().map(OsStr::to_owned);
            dir.is_none_or(|dir| known.insert((dir, name, problem.reason.clone())))
        });
    }
}

/// Returns whether several paths may lead to the same session of an agent: its stores are several.
pub(super) fn are_several<'s>(stores: impl IntoIterator<Item = &'s Store>) -> bool {
    let mut roots: HashMap<_, &Path> = HashMap::new();
    stores.into_iter().any(|store| *roots.entry(store.agent).or_insert(&store.root) != store.root)
}

/// The target of a path.
struct Way {
    real: PathBuf,
    /// Set if the path has no link below its store.
    is_direct: bool,
}

/// Directories without links, each resolved once.
#[derive(Default)]
struct RealDirs(HashMap<PathBuf, Option<PathBuf>>);

impl RealDirs {
    fn way(&mut self, place: &Located) -> Option<Way> {
        let path = &*place.path;
        let is_link = reach::symlink_metadata(path).ok()?.is_symlink();
        let real = match (path.parent(), path.file_name()) {
            (Some(dir), Some(name)) if !is_link => self.real_path_of(dir)?.join(name),
            _ => reach::canonicalize(path).ok()?,
        };
        let below = path.strip_prefix(&place.store.root).ok();
        let direct = below.and_then(|below| Some(self.real_path_of(&place.store.root)?.join(below)));
        Some(Way { is_direct: direct.as_ref() == Some(&real), real })
    }

    fn real_path_of(&mut self, dir: &Path) -> Option<&PathBuf> {
        if !self.0.contains_key(dir) {
            self.0.insert(dir.to_owned(), reach::canonicalize(dir).ok());
        }
        self.0.get(dir)?.as_ref()
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::Arc;

    use super::*;

    #[test]
    fn aliases_keep_unlinked_path_and_real_copies() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("a directory");
        for project in ["one/projects/a", "one/projects/b", "three/projects"] {
            fs::create_dir_all(root.join(project)).expect("a directory");
        }
        for copy in ["one/projects/a/x", "one/projects/b/x"] {
            fs::write(root.join(copy), "").expect("a file");
        }
        fs::create_dir(root.join("two")).expect("a directory");
        symlink("../one/projects", root.join("two/projects")).expect("a link");
        symlink("../../one/projects/a", root.join("three/projects/a")).expect("a link");
        symlink("a", root.join("one/projects/alias")).expect("a link");
        symlink("../a/x", root.join("one/projects/b/y")).expect("a link");
        symlink(root.join("one"), root.join("four")).expect("a link");
        let store = |name: &str| Arc::new(Store::usual(AgentKind::Claude, root.join(name)));
        let [one, two, three, four] = ["one", "two", "three", "four"].map(store);
        assert!(are_several([&*one, &two]) && !are_several([&*one, &one]));
        let place = |store: &Arc<Store>, path: &str| Located::new(store, "x", store.root.join("projects").join(path));
        let mut places = vec![
            place(&two, "a/x"),
            place(&two, "b/x"),
            place(&three, "a/x"),
            place(&one, "alias/x"),
            place(&one, "b/y"),
            place(&one, "a/x"),
            place(&one, "b/x"),
            place(&four, "a/x"),
            Located::new(&one, "another", root.join("one/projects/b/y")),
            place(&one, "a/none"),
        ];
        let shared = drop_aliases(&mut places);
        let shared = shared.iter().map(|(from, to)| format!("{} {}", from.display(), to.display()));
        let shared = shared.map(|pair| pair.replace(&format!("{}/", root.display()), ""));
        assert_eq!(shared.collect::<Vec<_>>(), ["four one", "three one", "two one"]);
        let left: Vec<_> =
            places.iter().map(|place| (&*place.id, place.path.strip_prefix(&root).expect("a path"))).collect();
        let left: Vec<_> = left.into_iter().map(|(id, path)| format!("{id} {}", path.display())).collect();
        let expected = ["x one/projects/a/x", "x one/projects/b/x", "x one/projects/a/none"];
        assert_eq!(left, expected);
    }
}
