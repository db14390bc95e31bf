//! Finds deleted git worktrees, and the branch or commit that each had checked out.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use foldhash::{HashMap, HashSet};

use crate::scan::git::{
    GitHead, Worktree, has_loose_branch, head_in, head_of, lock_in, main_checkout_of, packed_branches, worktrees_of,
};
use crate::system::process::{self, Presence, StartTime};
use crate::system::reach;

/// A deleted worktree, and the branch or commit that it had checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    /// Its directory.
    pub dir: PathBuf,
    /// The main checkout of its repository.
    pub main: PathBuf,
    /// The branch or commit that it had checked out.
    pub head: GitHead,
    /// Set if git still lists it, so that `git worktree add` needs `--force`.
    pub is_listed: bool,
    /// Set if it has the lock of a program that has ended, so that `git worktree add` needs `--force` twice.
    pub is_locked: bool,
}

impl Lost {
    /// Describes its checked-out branch or commit: `branch feature`.
    pub(crate) fn head_in_words(&self) -> String {
        self.head.to_string()
    }
}

/// A directory among git worktrees that is not one, so that git acts on the checkout around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoWorktree {
    /// The directory.
    pub dir: PathBuf,
    /// The checkout on which git acts there.
    pub around: PathBuf,
    /// The branch or commit of that checkout.
    pub head: GitHead,
    /// The main checkout of its repository.
    pub main: PathBuf,
    /// The way to make the directory a worktree again, if git can.
    pub remedy: Option<WorktreeRemedy>,
}

/// The way to make a directory a git worktree again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorktreeRemedy {
    /// git still lists it, and writes its `.git` file again.
    Repair,
    /// It is empty, and git can check out the branch there.
    Add,
    /// git can check out the branch there if it is moved away.
    Recreate,
}

impl NoWorktree {
    /// Finds out whether git in a directory acts on another checkout than a session that worked on this branch: the
    /// directory is where tools make worktrees, nothing up to the next checkout has a `.git`, and that one is not on the branch.
    pub(crate) fn find(dir: &Path, branch: &str) -> Option<Self> {
        let mut above = dir.ancestors().map(|above| (above, reach::exists_itself(&above.join(".git"))));
        let tree = above.find(|(above, has_git)| *has_git != Some(false) || is_of_tool(above));
        let is_there = |tree: &Path| reach::is_dir(tree) == Some(true);
        let (tree, _) = tree.filter(|(tree, has_git)| *has_git == Some(false) && is_there(tree))?;
        let (around, _) =
            above.find(|(_, has_git)| *has_git != Some(false)).filter(|(_, has_git)| has_git.is_some())?;
        let main = main_checkout_of(around)?;
        let head = if main == around { head_in(&main.join(".git")) } else { head_of(around) }?;
        if head == GitHead::Branch(branch.to_owned()) {
            return None;
        }
        let worktrees = Worktrees::read_checkout(&main);
        let may_be_made = || worktrees.unlisted(tree, Some(branch)).is_ok_and(|lost| lost.is_some());
        let is_empty = || reach::read_dir(tree).is_ok_and(|mut entries| entries.next().is_none());
        let remedy = match () {
            () if worktrees.by_dir.contains_key(tree) => Some(WorktreeRemedy::Repair),
            () if !may_be_made() => None,
            () if is_empty() => Some(WorktreeRemedy::Add),
            () => Some(WorktreeRemedy::Recreate),
        };
        Some(Self { dir: tree.to_owned(), around: around.to_owned(), head, main, remedy })
    }
}

/// Returns whether a directory is in a hidden one for worktrees, such as `.claude/worktrees` or `.worktrees`, which tools
/// make and no repository has for its own files.
fn is_of_tool(dir: &Path) -> bool {
    let is_hidden = |dir: &Path| dir.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    is_among_worktrees(dir) && dir.ancestors().skip(1).take(2).any(is_hidden)
}

/// Returns whether a directory is in one for worktrees, such as `.claude/worktrees` of a repository.
fn is_among_worktrees(dir: &Path) -> bool {
    let parent = dir.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    parent.is_some_and(|name| name.ends_with("worktrees"))
}

/// Returns whether the reason of a lock names a Claude Code that has ended, such as `claude session quay (pid 32700 start
/// 5897854)`: the client locks its worktree, and the lock stays after `-p` and after a kill (measured on 2.1.332).
fn is_left(reason: &str) -> bool {
    let process = || {
        let (_, process) = reason.strip_prefix("claude ")?.rsplit_once("(pid ")?;
        let (pid, start) = process.strip_suffix(')')?.split_once(" start ")?;
        Some((pid.parse().ok()?, StartTime::parse(start)?))
    };
    process().is_some_and(|(pid, start)| process::presence(pid, Some(start)) == Presence::Ended)
}

/// The worktrees and branches of a repository, read once for any number of missing directories.
#[derive(Debug)]
pub(crate) struct Worktrees {
    /// The main checkout.
    main: PathBuf,
    /// The worktrees that git lists, by their directories.
    by_dir: HashMap<PathBuf, Worktree>,
    /// The checkouts of each branch or commit, the main one first.
    holders: OnceCell<HashMap<GitHead, Vec<PathBuf>>>,
    packed: OnceCell<Option<HashSet<String>>>,
}

impl Worktrees {
    /// Reads the worktrees of a main checkout.
    pub(crate) fn read_checkout(main: &Path) -> Self {
        let by_dir = worktrees_of(main).into_iter().map(|worktree| (worktree.dir.clone(), worktree)).collect();
        Self { main: main.to_owned(), by_dir, holders: OnceCell::new(), packed: OnceCell::new() }
    }

    /// Returns whether git lists a worktree that is, or contains, a directory.
    pub(crate) fn has_dir(&self, dir: &Path) -> bool {
        self.around(dir).is_some()
    }

    fn around(&self, dir: &Path) -> Option<&Worktree> {
        dir.ancestors().find_map(|dir| self.by_dir.get(dir))
    }

    /// Returns the existing worktrees that have one of these branches checked out.
    pub(crate) fn with_branch(&self, branches: &BTreeSet<String>) -> impl Iterator<Item = &Worktree> {
        let has_it =
            |worktree: &&Worktree| matches!(&worktree.head, Some(GitHead::Branch(name)) if branches.contains(name));
        self.by_dir.values().filter(has_it).filter(|worktree| reach::is_dir(&worktree.dir) == Some(true))
    }

    /// Finds a missing worktree that git still lists, with the branch or commit from git's list.
    pub(crate) fn listed(&self, gone: &Path) -> Result<Option<Lost>, String> {
        let around = self.around(gone).filter(|worktree| reach::exists_itself(&worktree.dir) == Some(false));
        let Some(Worktree { dir, head, name }) = around else { return Ok(None) };
        let unknown = || format!("git does not say what the worktree {} had checked out", dir.display());
        let lock = lock_in(&self.main.join(".git/worktrees").join(name));
        if let Some(why) = lock.as_ref().filter(|why| !is_left(why)) {
            return Err(format!("the worktree {} is locked in git: {why}", dir.display()));
        }
        let lost = self.lost(dir, head.clone().ok_or_else(unknown)?, true)?;
        Ok(Some(Lost { is_locked: lock.is_some(), ..lost }))
    }

    /// Recognizes a directory as a worktree that git no longer lists: it was among worktrees, such as in
    /// `.claude/worktrees` of a repository, and the branch on which a session worked there still exists.
    pub(crate) fn unlisted(&self, gone: &Path, branch: Option<&str>) -> Result<Option<Lost>, String> {
        let has_parent = || gone.parent().is_some_and(|parent| reach::is_dir(parent) == Some(true));
        let Some(branch) = branch.filter(|_| is_among_worktrees(gone) && has_parent()) else { return Ok(None) };
        self.lost(gone, GitHead::Branch(branch.to_owned()), false).map(Some)
    }

    /// Checks that git can check a branch out at a path: the branch exists, and no other checkout has it.
    fn lost(&self, dir: &Path, head: GitHead, is_listed: bool) -> Result<Lost, String> {
        if let GitHead::Branch(name) = &head {
            let fail = |why: &str| format!("the branch {name} of the worktree {} {why}", dir.display());
            if name.starts_with('-') || !self.may_have_branch(name) {
                return Err(fail("no longer exists"));
            }
            let mut holders = self.holders().get(&head).into_iter().flatten();
            if let Some(holder) = holders.find(|holder| *holder != dir) {
                return Err(fail(&format!("is checked out in {}", holder.display())));
            }
        }
        Ok(Lost { dir: dir.to_owned(), main: self.main.clone(), head, is_listed, is_locked: false })
    }

    fn may_have_branch(&self, name: &str) -> bool {
        let packed = self.packed.get_or_init(|| packed_branches(&self.main));
        packed.as_ref().is_none_or(|packed| packed.contains(name) || has_loose_branch(&self.main, name))
    }

    fn holders(&self) -> &HashMap<GitHead, Vec<PathBuf>> {
        self.holders.get_or_init(|| {
            let main = head_in(&self.main.join(".git")).map(|head| (head, &self.main));
            let worktrees = self.by_dir.values().filter_map(|worktree| Some((worktree.head.clone()?, &worktree.dir)));
            let mut holders: HashMap<GitHead, Vec<PathBuf>> = HashMap::default();
            for (head, dir) in main.into_iter().chain(worktrees) {
                holders.entry(head).or_default().push(dir.clone());
            }
            holders
        })
    }
}
