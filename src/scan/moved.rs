//! Where a launch directory that is gone may be now: what is still on the disk, never a guess.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::system::fsio;

/// A pointer of git's is one path.
const MAX_GITDIR: u64 = 64 * 1024;
const MAX_CONFIG: u64 = 1024 * 1024;

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

/// The git checkouts that known directories lie in, looked up once for any number of directories that are gone.
#[derive(Debug, Default)]
pub(crate) struct Checkouts(BTreeMap<PathBuf, Checkout>);

#[derive(Debug)]
struct Checkout {
    worktrees: Vec<PathBuf>,
    remote: Option<String>,
}

impl Checkout {
    fn of(repository: &Path) -> Self {
        Self { worktrees: worktrees_of(repository), remote: remote_of(repository) }
    }

    fn has_worktree(&self, gone: &Path) -> bool {
        self.worktrees.iter().any(|worktree| gone.starts_with(worktree))
    }
}

impl Checkouts {
    /// Looks where directories lie that sessions record.
    pub(crate) fn of<'a>(known: impl Iterator<Item = &'a Path>) -> Self {
        let repositories: BTreeSet<PathBuf> = known.filter_map(repository_of).collect();
        Self(repositories.into_iter().map(|dir| (dir.clone(), Checkout::of(&dir))).collect())
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
        let own = parents.as_ref().filter(|dir| !self.0.contains_key(*dir)).map(|dir| (dir, Checkout::of(dir)));
        let checkouts = || self.0.iter().chain(own.as_ref().map(|(dir, checkout)| (*dir, checkout)));
        for (dir, _) in checkouts().filter(|(_, checkout)| checkout.has_worktree(gone)) {
            add(dir, "the main checkout of that worktree", true);
        }
        for (dir, _) in checkouts().filter(|(_, checkout)| remote.is_some() && checkout.remote.as_deref() == remote) {
            add(dir, "a checkout of the same git remote", true);
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

/// Returns the nearest directory above one that is gone.
pub(crate) fn nearest_parent(gone: &Path) -> Option<&Path> {
    gone.ancestors().skip(1).find(|parent| parent.is_dir())
}

/// Returns the URL of the git remote of the checkout that a directory lies in: `origin`, or else the first.
pub(crate) fn remote_of(dir: &Path) -> Option<String> {
    let bytes = fsio::read_bounded(&repository_of(dir)?.join(".git/config"), MAX_CONFIG).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut section = "";
    let mut first = None;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if section.starts_with("[remote ")
            && let Some(("url", url)) = line.split_once('=').map(|(key, value)| (key.trim(), value.trim()))
        {
            if section == "[remote \"origin\"]" {
                return Some(url.to_owned());
            }
            first = first.or_else(|| Some(url.to_owned()));
        }
    }
    first
}

/// Returns the main checkout that a directory lies in.
fn repository_of(dir: &Path) -> Option<PathBuf> {
    dir.ancestors().find(|dir| dir.join(".git").is_dir()).map(Path::to_owned)
}

/// Returns the directories that git still lists as worktrees of a repository: `.git/worktrees/*/gitdir`.
fn worktrees_of(repository: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(repository.join(".git/worktrees")) else { return Vec::new() };
    let worktree = |entry: std::fs::DirEntry| {
        let bytes = fsio::read_bounded(&entry.path().join("gitdir"), MAX_GITDIR).ok()?;
        Path::new(String::from_utf8_lossy(&bytes).trim_end()).parent().map(Path::to_owned)
    };
    entries.filter_map(Result::ok).filter_map(worktree).collect()
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
