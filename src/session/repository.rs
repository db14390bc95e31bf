//! Facts that identify the git repository of a directory, to recognize the repository in another place.

use std::collections::BTreeSet;

/// The facts that launches and sessions recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Repository {
    /// The URL of its remote.
    pub remote: Option<String>,
    /// Commits that were checked out, in hexadecimal digits.
    pub commits: BTreeSet<String>,
    /// Its first commits, which its forks share.
    pub roots: BTreeSet<String>,
    /// Branches that were checked out, without those that most repositories have.
    pub branches: BTreeSet<String>,
}

/// Names of branches that most repositories have.
const COMMON_BRANCHES: [&str; 3] = ["main", "master", "HEAD"];

impl Repository {
    /// Creates a repository with this remote, unless the text is empty.
    pub(crate) fn new(remote: Option<String>) -> Self {
        Self { remote: remote.filter(|remote| !remote.is_empty()), ..Self::default() }
    }

    /// Adds a commit that was checked out; anything but a commit id is ignored.
    pub(crate) fn add_commit(&mut self, commit: &str) {
        self.commits.extend(name_of(commit));
    }

    /// Adds a first commit; anything but a commit id is ignored.
    pub(crate) fn add_root(&mut self, commit: &str) {
        self.roots.extend(name_of(commit));
    }

    /// Adds a branch that was checked out.
    pub(crate) fn add_branch(&mut self, name: &str) {
        self.branches.extend((!COMMON_BRANCHES.contains(&name)).then(|| name.to_owned()));
    }

    /// Adds facts from another source; a known remote is kept.
    pub(crate) fn add(&mut self, other: Self) {
        self.remote = self.remote.take().or(other.remote);
        self.commits.extend(other.commits);
        self.roots.extend(other.roots);
        self.branches.extend(other.branches);
    }

    /// Returns whether no recorded fact identifies the repository. A branch alone does not: other repositories may have
    /// one of the same name.
    pub(crate) fn is_unknown(&self) -> bool {
        self.remote.is_none() && self.commits.is_empty() && self.roots.is_empty()
    }
}

fn name_of(commit: &str) -> Option<String> {
    let is_name = matches!(commit.len(), 40 | 64) && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_name.then(|| commit.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repository_keeps_valid_commits_and_first_remote() {
        let mut known = Repository::new(Some(String::new()));
        for text in ["global", "", "320f209", &"g".repeat(40), &"A1".repeat(20)] {
            known.add_commit(text);
        }
        assert_eq!(known.commits.iter().collect::<Vec<_>>(), [&"a1".repeat(20)]);
        known.add(Repository::new(Some("first".to_owned())));
        known.add(Repository::new(Some("second".to_owned())));
        assert_eq!(known.remote.as_deref(), Some("first"));
        assert!(!known.is_unknown() && Repository::default().is_unknown());
    }
}
