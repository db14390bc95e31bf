//! Where a launch directory that is gone may be now: what is still on the disk, never a guess.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::scan::git::{Worktree, remote_of, repository_of, worktrees_of};
use crate::scan::worktree::{self, Lost};

/// A place to start instead, and what speaks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instead {
    /// The directory, which exists.
    pub dir: PathBuf,
    /// What it is to the one that is gone.
    pub why: &'static str,
    /// Whether that is the same work in another place, and not only somewhere near.
    pub is_same_work: bool,
}

/// Returns the place to which the sessions of a directory can go: one that is the same work, or the only one of its name.
pub(crate) fn best(found: &[Instead], gone: &Path) -> Option<PathBuf> {
    let same_work = found.iter().find(|instead| instead.is_same_work);
    let name = gone.file_name();
    let mut named = found.iter().filter(|instead| instead.dir.file_name() == name && !gone.starts_with(&instead.dir));
    let only = named.next().filter(|_| named.next().is_none());
    same_work.or(only).map(|instead| instead.dir.clone())
}

/// The git checkouts that known directories lie in, looked up once for any number of directories that are gone.
#[derive(Debug, Default)]
pub(crate) struct Checkouts {
    by_dir: BTreeMap<PathBuf, Checkout>,
    /// The directories that are known, and exist.
    known: BTreeSet<PathBuf>,
    /// What lies near a directory, looked at once.
    near: RefCell<BTreeMap<PathBuf, Vec<PathBuf>>>,
}

/// So many entries near a directory that is gone are looked at, and so many levels below its nearest parent.
const MAX_NEAR: usize = 4096;
const MAX_DEPTH: usize = 3;

#[derive(Debug)]
struct Checkout {
    worktrees: Vec<Worktree>,
    remote: Option<String>,
}

impl Checkout {
    fn of(repository: &Path) -> Self {
        Self { worktrees: worktrees_of(repository), remote: remote_of(repository) }
    }

    fn has_worktree(&self, gone: &Path) -> bool {
        self.worktrees.iter().any(|worktree| gone.starts_with(&worktree.dir))
    }
}

impl Checkouts {
    /// Looks where directories lie that sessions record.
    pub(crate) fn of<'a>(known: impl Iterator<Item = &'a Path>) -> Self {
        let known: BTreeSet<PathBuf> = known.map(Path::to_owned).collect();
        let repositories: BTreeSet<PathBuf> = known.iter().filter_map(|dir| repository_of(dir)).collect();
        let by_dir = repositories.into_iter().map(|dir| (dir.clone(), Checkout::of(&dir))).collect();
        Self { by_dir, known, near: RefCell::default() }
    }

    /// Finds what is left of a directory; `remote` is the git remote that it had when it was last launched in.
    pub(crate) fn instead_of(&self, gone: &Path, remote: Option<&str>) -> Vec<Instead> {
        let mut found = Vec::new();
        let mut add = |dir: &Path, why, is_same_work| {
            if found.iter().all(|other: &Instead| other.dir != dir) {
                found.push(Instead { dir: dir.to_owned(), why, is_same_work });
            }
        };
        let parent = nearest_parent(gone).filter(|parent| *parent != Path::new("/"));
        let parents = parent.and_then(repository_of);
        let own = parents.as_ref().filter(|dir| !self.by_dir.contains_key(*dir)).map(|dir| (dir, Checkout::of(dir)));
        let checkouts = || self.by_dir.iter().chain(own.as_ref().map(|(dir, checkout)| (*dir, checkout)));
        for (dir, _) in checkouts().filter(|(_, checkout)| checkout.has_worktree(gone)) {
            add(dir, "the main checkout of that worktree", true);
        }
        for (dir, _) in checkouts().filter(|(_, checkout)| remote.is_some() && checkout.remote.as_deref() == remote) {
            add(dir, "a checkout of the same git remote", true);
        }
        // What is gone is the first name that is missing, with all below it.
        let missing = parent.and_then(|parent| gone.strip_prefix(parent).ok()).unwrap_or_else(|| Path::new(""));
        let name = Path::new(missing.iter().next().unwrap_or_default());
        if name.iter().next().is_some() {
            for dir in self.known.iter().filter(|dir| dir.as_path() != gone && dir.ends_with(missing) && dir.is_dir()) {
                add(dir, "a directory of the same name in which another session worked", false);
            }
            let near = parent.map(|parent| self.near(parent)).unwrap_or_default();
            for dir in near.iter().filter(|dir| dir.ends_with(name)) {
                let below = missing.strip_prefix(name).map_or_else(|_| dir.clone(), |rest| joined(dir, rest));
                if below.is_dir() {
                    add(&below, "a directory of the same name near where it was", false);
                }
            }
        }
        if let Some(parent) = parent {
            if let Some(repository) = &parents {
                add(repository, "the repository that it was part of", false);
            }
            add(parent, "the nearest parent that still exists", false);
        }
        found
    }
}

impl Checkouts {
    /// Finds the git worktree that a directory which is gone was, or was part of; `branch` is the one that a session last
    /// worked on there. Says why where it was one that cannot be made again.
    pub(crate) fn lost_worktree(
        &self,
        gone: &Path,
        remote: Option<&str>,
        branch: Option<&str>,
    ) -> Result<Option<Lost>, String> {
        let around = nearest_parent(gone).and_then(repository_of);
        let mains: BTreeSet<&Path> = self.by_dir.keys().chain(&around).map(PathBuf::as_path).collect();
        if let Some(lost) = worktree::listed(gone, &mains)? {
            return Ok(Some(lost));
        }
        let has_remote =
            |dir: &Path| remote.is_some() && self.by_dir.get(dir).is_some_and(|of| of.remote.as_deref() == remote);
        let main = around.as_deref().or_else(|| mains.iter().copied().find(|dir| has_remote(dir)));
        worktree::unlisted(gone, main, branch)
    }

    /// Lists the directories below one, a few levels deep and no more than some thousand entries; links are not followed.
    fn near(&self, parent: &Path) -> Vec<PathBuf> {
        let mut near = self.near.borrow_mut();
        let list = || {
            let is_wanted = |entry: &walkdir::DirEntry| {
                // What is hidden, or made by tools, holds nobody's work.
                let name = entry.file_name().as_encoded_bytes();
                entry.depth() == 0 || !(name.starts_with(b".") || name == b"node_modules" || name == b"target")
            };
            let entries = walkdir::WalkDir::new(parent).min_depth(1).max_depth(MAX_DEPTH).into_iter();
            let entries = entries.filter_entry(is_wanted).filter_map(Result::ok).take(MAX_NEAR);
            entries.filter(|entry| entry.file_type().is_dir()).map(walkdir::DirEntry::into_path).collect()
        };
        near.entry(parent.to_owned()).or_insert_with(list).clone()
    }
}

/// Joins paths; with nothing a path would end in a slash.
fn joined(dir: &Path, rest: &Path) -> PathBuf {
    if rest == Path::new("") { dir.to_owned() } else { dir.join(rest) }
}

/// Returns the nearest directory above one that is gone.
pub(crate) fn nearest_parent(gone: &Path) -> Option<&Path> {
    gone.ancestors().skip(1).find(|parent| parent.is_dir())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests lay out the files that they look at")]
mod tests {
    use super::*;

    #[test]
    fn a_deleted_worktree_leads_to_its_main_checkout_and_a_subdirectory_to_its_repository() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path();
        let (repository, worktree) = (root.join("repo"), root.join("trees/feature"));
        std::fs::create_dir_all(repository.join(".git/worktrees/feature")).expect("a directory");
        std::fs::create_dir_all(root.join("trees")).expect("a directory");
        std::fs::create_dir_all(repository.join("src")).expect("a directory");
        let gitdir = format!("{}\n", worktree.join(".git").display());
        std::fs::write(repository.join(".git/worktrees/feature/gitdir"), gitdir).expect("a file");

        let known = Checkouts::of([repository.join("src")].iter().map(PathBuf::as_path));
        let dirs =
            |gone: &Path| -> Vec<PathBuf> { known.instead_of(gone, None).into_iter().map(|found| found.dir).collect() };
        assert_eq!(dirs(&worktree.join("deep")), [repository.clone(), root.join("trees")]);
        assert_eq!(dirs(&repository.join("src/old/x")), [repository.clone(), repository.join("src")]);
        assert_eq!(dirs(Path::new("/no/such/place")), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_directory_of_the_same_name_is_found_near_the_old_place_and_among_known_ones() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path();
        for made in ["work/archive/app/src", "work/archive/.hidden/app/src", "work/a/b/c/d/app/src", "else/app/src"] {
            std::fs::create_dir_all(root.join(made)).expect("a directory");
        }
        let known = root.join("else/app/src");
        let checkouts = Checkouts::of([known.as_path()].into_iter());
        let found = checkouts.instead_of(&root.join("work/app/src"), None);
        let dirs: Vec<&Path> = found.iter().map(|found| found.dir.as_path()).collect();
        let work = root.join("work");
        assert_eq!(dirs, [&known, &root.join("work/archive/app/src"), &work]);
        let nothing: Vec<PathBuf> =
            checkouts.instead_of(&root.join("work/other"), None).into_iter().map(|found| found.dir).collect();
        assert_eq!(nothing, [work]);
    }

    #[test]
    fn a_checkout_of_the_same_remote_is_found_wherever_it_is_now() {
        let dir = tempfile::tempdir().expect("a directory");
        let (moved, other) = (dir.path().join("moved"), dir.path().join("other"));
        for (repository, url) in [(&moved, "git@host:ana/app.git"), (&other, "git@host:ana/tool.git")] {
            std::fs::create_dir_all(repository.join(".git")).expect("a directory");
            let config =
                format!("[core]\n\tbare = false\n[remote \"up\"]\n\turl = x\n[remote \"origin\"]\n\turl = {url}\n");
            std::fs::write(repository.join(".git/config"), config).expect("a file");
        }
        assert_eq!(remote_of(&moved).as_deref(), Some("git@host:ana/app.git"));
        let known = Checkouts::of([moved.as_path(), &other].into_iter());
        let found = known.instead_of(Path::new("/no/such/place"), Some("git@host:ana/app.git"));
        assert_eq!(found, [Instead { dir: moved, why: "a checkout of the same git remote", is_same_work: true }]);
    }
}
