//! Reads facts about a repository from git's own files, without running git.

use std::ffi::OsString;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use foldhash::HashSet;

use crate::system::fsio;
use crate::system::reach;

/// Maximum size of a pointer file of git, which has one path.
const MAX_GITDIR: u64 = 64 * 1024;
const MAX_CONFIG: u64 = 1024 * 1024;
const MAX_PACKED: u64 = 64 * 1024 * 1024;

/// Returns the URL of the git remote of the checkout around a directory: `origin`, or else the first.
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

/// Returns the main checkout around a directory.
pub(crate) fn repository_of(dir: &Path) -> Option<PathBuf> {
    dir.ancestors().find(|dir| reach::is_dir(&dir.join(".git")) == Some(true)).map(Path::to_owned)
}

/// Returns the other checkouts of a directory that is one itself: the main one, and those that git lists as worktrees.
pub(crate) fn checkouts_with(dir: &Path) -> Vec<PathBuf> {
    let Some(main) = main_checkout_of(dir) else { return Vec::new() };
    let worktrees = worktrees_of(&main).into_iter().map(|worktree| worktree.dir);
    [main].into_iter().chain(worktrees).filter(|checkout| checkout != dir).collect()
}

/// Returns the main checkout of a directory that is a checkout itself, without running git: a worktree's `.git` is a file
/// that names a directory in `.git/worktrees` of the main one.
pub(crate) fn main_checkout_of(dir: &Path) -> Option<PathBuf> {
    let git = dir.join(".git");
    if reach::is_dir(&git) == Some(true) {
        return Some(dir.to_owned());
    }
    let bytes = fsio::read_bounded(&git, MAX_GITDIR).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let named = dir.join(text.trim_end().strip_prefix("gitdir: ")?);
    let worktrees = named.parent().filter(|dir| dir.ends_with(".git/worktrees"))?;
    worktrees.parent()?.parent().map(Path::to_owned)
}

/// A worktree that git lists; its directory may be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Worktree {
    /// Its directory.
    pub dir: PathBuf,
    /// Its name in the repository: the last name that its directory had when it was made. `git worktree move` keeps it.
    pub name: OsString,
    /// The checked-out branch or commit; `None` if git's file does not name one.
    pub head: Option<GitHead>,
}

/// The branch or commit that a checkout has checked out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum GitHead {
    /// A branch, by its short name.
    Branch(String),
    /// A commit, without a branch.
    Commit(String),
}

impl fmt::Display for GitHead {
    /// Writes `branch feature`, or `commit` with the beginning of its id.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Branch(name) => write!(f, "branch {name}"),
            Self::Commit(id) => write!(f, "commit {}", id.get(..12).unwrap_or(id)),
        }
    }
}

/// Returns the worktrees that git lists for a repository: `.git/worktrees/*/gitdir` (git 2.5 and later).
pub(crate) fn worktrees_of(main: &Path) -> Vec<Worktree> {
    let Ok(entries) = reach::read_dir(&main.join(".git/worktrees")) else { return Vec::new() };
    let worktree = |entry: std::fs::DirEntry| {
        let bytes = fsio::read_bounded(&entry.path().join("gitdir"), MAX_GITDIR).ok()?;
        let dir = Path::new(String::from_utf8_lossy(&bytes).trim_end()).parent()?.to_owned();
        Some(Worktree { dir, name: entry.file_name(), head: head_in(&entry.path()) })
    };
    entries.filter_map(Result::ok).filter_map(worktree).collect()
}

/// Reads `HEAD` in a directory of git's.
pub(crate) fn head_in(git: &Path) -> Option<GitHead> {
    let bytes = fsio::read_bounded(&git.join("HEAD"), MAX_GITDIR).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let text = text.trim_end();
    match text.strip_prefix("ref: ") {
        Some(name) => name.strip_prefix("refs/heads/").map(|name| GitHead::Branch(name.to_owned())),
        None => (text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .then(|| GitHead::Commit(text.to_owned())),
    }
}

/// Returns the reason for which a worktree is locked, by git's directory for it; a lock may have none.
pub(crate) fn lock_in(git: &Path) -> Option<String> {
    let path = git.join("locked");
    match fsio::read_bounded(&path, MAX_GITDIR) {
        Ok(bytes) => Some(String::from_utf8_lossy(&bytes).trim_end().to_owned()),
        Err(_) => (reach::exists_itself(&path) != Some(false)).then(String::new),
    }
}

/// Returns the branch or commit that a worktree of a repository has checked out; `None` for any other directory.
pub(crate) fn head_of(worktree: &Path) -> Option<GitHead> {
    let main = main_checkout_of(worktree).filter(|main| main != worktree)?;
    worktrees_of(&main).into_iter().find(|listed| listed.dir == worktree)?.head
}

/// Returns whether a repository has a loose ref for a branch, as for branches that were changed since the last packing.
pub(crate) fn has_loose_branch(main: &Path, name: &str) -> bool {
    let is_plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    is_plain && reach::is_file(&main.join(format!(".git/refs/heads/{name}")))
}

/// Reads the names of the packed branches of a repository; `None` if its references are stored in a format that rejoin
/// does not read.
pub(crate) fn packed_branches(main: &Path) -> Option<HashSet<String>> {
    let git = main.join(".git");
    if reach::exists(&git.join("reftable")) != Some(false) {
        return None;
    }
    let packed = fsio::read_if_present(&git.join("packed-refs"), MAX_PACKED).ok()?.unwrap_or_default();
    let lines = packed.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
    Some(lines.filter_map(|line| Some(line.split_once(" refs/heads/")?.1.to_owned())).collect())
}
