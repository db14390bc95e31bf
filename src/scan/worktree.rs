//! Git worktrees that were deleted, and what they had checked out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::scan::git::{Head, has_branch, head_in, worktrees_of};
use crate::system::reach;

/// A worktree that is gone, and what it had checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    /// Its directory.
    pub dir: PathBuf,
    /// The main checkout of its repository.
    pub main: PathBuf,
    /// What it had checked out.
    pub head: Head,
    /// Whether git still lists it, so that it makes it again only when it is told twice.
    pub is_listed: bool,
}

impl Lost {
    /// Says what it has checked out: `branch feature`.
    pub(crate) fn head_in_words(&self) -> String {
        match &self.head {
            Head::Branch(name) => format!("branch {name}"),
            Head::Commit(id) => format!("commit {}", id.get(..12).unwrap_or(id)),
        }
    }
}

/// Finds a worktree that git lists and that is gone. What git lists says what it had checked out.
pub(crate) fn listed(gone: &Path, mains: &BTreeSet<&Path>) -> Result<Option<Lost>, String> {
    for main in mains {
        let worktrees = worktrees_of(main);
        let Some(lost) = worktrees.iter().find(|worktree| gone.starts_with(&worktree.dir)) else { continue };
        if reach::exists_itself(&lost.dir) != Some(false) {
            continue;
        }
        let dir = lost.dir.display();
        let head =
            lost.head.clone().ok_or_else(|| format!("git does not say what the worktree {dir} had checked out"))?;
        return made(lost.dir.clone(), main, head, true).map(Some);
    }
    Ok(None)
}

/// Takes a directory for a worktree that git lists no more if it lay among worktrees, such as in `.claude/worktrees` of a
/// repository, and the branch that was worked on there still exists.
pub(crate) fn unlisted(gone: &Path, main: Option<&Path>, branch: Option<&str>) -> Result<Option<Lost>, String> {
    let among = gone
        .parent()
        .filter(|parent| reach::is_dir(parent) == Some(true))
        .and_then(Path::file_name)
        .and_then(|name| name.to_str());
    if !among.is_some_and(|name| name.ends_with("worktrees")) {
        return Ok(None);
    }
    let (Some(main), Some(branch)) = (main, branch) else { return Ok(None) };
    made(gone.to_owned(), main, Head::Branch(branch.to_owned()), false).map(Some)
}

/// Checks that git can check a branch out there: it exists, and no other checkout has it.
fn made(dir: PathBuf, main: &Path, head: Head, is_listed: bool) -> Result<Lost, String> {
    if let Head::Branch(name) = &head {
        let fail = |why: &str| format!("the branch {name} of the worktree {} {why}", dir.display());
        if name.starts_with('-') || has_branch(main, name) == Some(false) {
            return Err(fail("no longer exists"));
        }
        let other = worktrees_of(main).into_iter().find(|other| other.dir != dir && other.head.as_ref() == Some(&head));
        let is_in_main = head_in(&main.join(".git")).as_ref() == Some(&head);
        if let Some(holder) = is_in_main.then(|| main.to_owned()).or(other.map(|other| other.dir)) {
            return Err(fail(&format!("is checked out in {}", holder.display())));
        }
    }
    Ok(Lost { dir, main: main.to_owned(), head, is_listed })
}
