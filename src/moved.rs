//! Where to go when a launch directory is gone: what the disk still tells of it, never a guess.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::fsio;

/// A pointer of git's is one path.
const MAX_GITDIR: u64 = 64 * 1024;
const MAX_CONFIG: u64 = 1024 * 1024;

/// A place to start instead, and what speaks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instead {
    /// The directory, which exists.
    pub dir: PathBuf,
    /// What it is to the one that is gone.
    pub why: &'static str,
}

/// Finds what is left of a directory.
///
/// `known` are directories that sessions record; `remote` is the git remote that the directory had when it was last
/// launched in.
pub fn instead_of(gone: &Path, known: &BTreeSet<PathBuf>, remote: Option<&str>) -> Vec<Instead> {
    let mut found = Vec::new();
    let mut add = |dir: &Path, why| {
        if found.iter().all(|other: &Instead| other.dir != dir) {
            found.push(Instead { dir: dir.to_owned(), why });
        }
    };
    let parent = gone.ancestors().skip(1).find(|parent| parent.is_dir()).filter(|parent| *parent != Path::new("/"));
    let repositories: BTreeSet<PathBuf> =
        known.iter().map(PathBuf::as_path).chain(parent).filter_map(repository_of).collect();
    for repository in repositories.iter().filter(|repository| has_worktree(repository, gone)) {
        add(repository, "the main checkout that it was a worktree of");
    }
    for repository in
        repositories.iter().filter(|repository| remote.is_some() && remote_of(repository).as_deref() == remote)
    {
        add(repository, "a checkout of the same git remote");
    }
    if let Some(parent) = parent {
        if let Some(repository) = repository_of(parent) {
            add(&repository, "the repository that it was part of");
        }
        add(parent, "the nearest parent that still exists");
    }
    found
}

/// Returns the URL of the git remote of the checkout that a directory lies in: `origin`, or else the first.
pub fn remote_of(dir: &Path) -> Option<String> {
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

/// Tells whether git still lists a directory as a worktree of a repository: `.git/worktrees/*/gitdir`.
fn has_worktree(repository: &Path, gone: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(repository.join(".git/worktrees")) else { return false };
    entries.filter_map(Result::ok).any(|entry| {
        let Ok(bytes) = fsio::read_bounded(&entry.path().join("gitdir"), MAX_GITDIR) else { return false };
        let text = String::from_utf8_lossy(&bytes);
        let worktree = Path::new(text.trim_end()).parent();
        worktree.is_some_and(|worktree| gone.starts_with(worktree))
    })
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

        let known = BTreeSet::from([repository.join("src")]);
        let dirs = |gone: &Path| -> Vec<PathBuf> {
            instead_of(gone, &known, None).into_iter().map(|found| found.dir).collect()
        };
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
        let known = BTreeSet::from([moved.clone(), other]);
        let found = instead_of(Path::new("/no/such/place"), &known, Some("git@host:ana/app.git"));
        assert_eq!(found, [Instead { dir: moved, why: "a checkout of the same git remote" }]);
    }
}
