//! Where a launch directory that is gone may be now: what is still on the disk, never a guess.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::agent;
use crate::scan::commits::Objects;
use crate::scan::git::{Worktree, remote_of, repository_of, worktrees_of};
use crate::scan::worktree::{self, Lost};
use crate::session::Session;
use crate::session::repository::Repository;

/// A place to start instead, and what speaks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instead {
    /// The directory, which exists.
    pub dir: PathBuf,
    /// What it is to the one that is gone.
    pub why: Why,
}

/// What a place is to a directory that is gone, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Why {
    /// Git lists it as the main checkout of that worktree.
    MainCheckout,
    /// It has a commit that the repository there had.
    Commit,
    /// It has the remote that the repository there had.
    Remote,
    /// It has the first commit of the repository there, as every fork of it has.
    Root,
    /// It has the same name, and another session worked in it.
    NamedAndKnown,
    /// It has the same name, and lies near.
    Named,
    /// It is the checkout around what is gone.
    Around,
    /// It is what is left of the path.
    Parent,
}

impl Why {
    /// Says it.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::MainCheckout => "the main checkout of that worktree",
            Self::Commit => "a checkout that has a commit at which a session began there",
            Self::Remote => "a checkout of the same git remote",
            Self::Root => "a checkout with the same first commit",
            Self::NamedAndKnown => "a directory of the same name in which another session worked",
            Self::Named => "a directory of the same name near where it was",
            Self::Around => "the repository that it was part of",
            Self::Parent => "the nearest parent that still exists",
        }
    }

    /// Returns whether that is the same work in another place, and not only somewhere near.
    pub(crate) fn is_same_work(self) -> bool {
        self <= Self::Root
    }
}

/// So many sessions that began in a directory are asked what they record of the repository there, and so many answers do.
const MAX_ASKED: usize = 64;
const MAX_ANSWERS: usize = 4;
/// So many packs are read for commits, however much is gone.
const MAX_PACKS: usize = 100_000;

/// Returns what is known of the repository that a directory was in: the remote at its last launch, and what sessions record.
pub(crate) fn repository_in<'a>(remote: Option<String>, sessions: impl Iterator<Item = &'a Session>) -> Repository {
    let mut had = Repository::new(remote);
    let began_here = sessions.filter(|session| {
        let began = session.copy().start_dir.as_ref().map(|began| began.value.as_path());
        // It may have worked in another repository than the one that it began in.
        began.is_some() && began == session.launch_dir()
    });
    let asked = began_here.take(MAX_ASKED).filter_map(|session| {
        let known = agent::by_kind(session.agent)?.repository(session.copy());
        (!known.is_unknown()).then_some(known)
    });
    asked.take(MAX_ANSWERS).for_each(|known| had.add(known));
    had
}

/// Returns the place to which the sessions of a directory can go: the same work or a directory of its name, if there is just
/// one. Of several clones it is the one that is called as before. Where more is gone than one name, it may have been a
/// directory inside of the checkout, so that only the same name will do.
pub(crate) fn best(found: &[Instead], gone: &Path) -> Option<PathBuf> {
    let name = gone.file_name();
    let only = |fits: &dyn Fn(&Instead) -> bool| {
        let mut fitting = found.iter().filter(|instead| fits(instead));
        fitting.next().filter(|_| fitting.next().is_none()).map(|instead| instead.dir.clone())
    };
    let strongest = found.iter().map(|instead| instead.why).min().filter(|why| why.is_same_work());
    let is_one_name = gone.parent().is_some_and(Path::is_dir);
    match strongest {
        Some(why) => only(&|instead| instead.why == why)
            .filter(|dir| why == Why::MainCheckout || is_one_name || dir.file_name() == name)
            .or_else(|| only(&|instead| instead.why == why && instead.dir.file_name() == name)),
        None => only(&|instead| instead.dir.file_name() == name && !gone.starts_with(&instead.dir)),
    }
}

/// The git checkouts that known directories lie in, looked up once for any number of directories that are gone.
#[derive(Debug, Default)]
pub(crate) struct Checkouts {
    by_dir: BTreeMap<PathBuf, Checkout>,
    /// The directories that are known, and exist.
    known: BTreeSet<PathBuf>,
    /// What lies near a directory, looked at once.
    near: RefCell<BTreeMap<PathBuf, Rc<Vec<PathBuf>>>>,
    /// The checkouts among that.
    checkouts_near: RefCell<BTreeMap<PathBuf, Near>>,
    /// How many packs may still be read.
    left: Cell<usize>,
}

/// So many entries near a directory that is gone are looked at, and so many levels below its nearest parent.
const MAX_NEAR: usize = 4096;
const MAX_DEPTH: usize = 3;

/// Checkouts, each with its directory.
type Near = Rc<Vec<(PathBuf, Checkout)>>;

#[derive(Debug)]
struct Checkout {
    worktrees: Vec<Worktree>,
    remote: Option<String>,
    objects: Objects,
}

impl Checkout {
    fn of(repository: &Path) -> Self {
        Self { worktrees: worktrees_of(repository), remote: remote_of(repository), objects: Objects::of(repository) }
    }

    fn has_worktree(&self, gone: &Path) -> bool {
        self.worktrees.iter().any(|worktree| gone.starts_with(&worktree.dir))
    }
}

impl Checkouts {
    /// Looks where directories lie that sessions record.
    pub(crate) fn of<'a>(known: impl Iterator<Item = &'a Path>) -> Self {
        let known: BTreeSet<PathBuf> = known.map(Path::to_owned).collect();
        let repositories: BTreeSet<PathBuf> = known.par_iter().filter_map(|dir| repository_of(dir)).collect();
        let by_dir = repositories.into_iter().map(|dir| (dir.clone(), Checkout::of(&dir))).collect();
        Self { by_dir, known, near: RefCell::default(), checkouts_near: RefCell::default(), left: Cell::new(MAX_PACKS) }
    }

    /// Finds what is left of a directory, by what is known of the repository that it was in; the best comes first.
    pub(crate) fn instead_of(&self, gone: &Path, had: &Repository) -> Vec<Instead> {
        let mut found = Vec::new();
        let mut add = |dir: &Path, why| {
            if found.iter().all(|other: &Instead| other.dir != dir) {
                found.push(Instead { dir: dir.to_owned(), why });
            }
        };
        let parent = nearest_parent(gone).filter(|parent| *parent != Path::new("/"));
        let parents = parent.and_then(repository_of);
        let own = parents.as_ref().filter(|dir| !self.by_dir.contains_key(*dir)).map(|dir| (dir, Checkout::of(dir)));
        let near = parent.filter(|_| !had.is_unknown()).map(|parent| self.checkouts_near(parent)).unwrap_or_default();
        // What is gone from a checkout that is still there has not moved with it.
        let elsewhere = |dir: &Path| !gone.starts_with(dir);
        let checkouts = || {
            let own = own.as_ref().map(|(dir, checkout)| (*dir, checkout));
            self.by_dir.iter().chain(own).chain(near.iter().map(|(dir, checkout)| (dir, checkout)))
        };
        for (dir, _) in checkouts().filter(|(_, checkout)| checkout.has_worktree(gone)) {
            add(&in_checkout(dir, gone), Why::MainCheckout);
        }
        let has_any = |checkout: &Checkout, commits: &BTreeSet<String>| {
            // A fork has the commits, too.
            let is_fork = had.remote.is_some() && checkout.remote.is_some() && checkout.remote != had.remote;
            !is_fork && commits.iter().any(|commit| checkout.objects.have(commit, &self.left))
        };
        for (dir, _) in checkouts().filter(|(dir, checkout)| elsewhere(dir) && has_any(checkout, &had.commits)) {
            add(&in_checkout(dir, gone), Why::Commit);
        }
        let has_remote = |checkout: &Checkout| had.remote.is_some() && checkout.remote == had.remote;
        for (dir, _) in checkouts().filter(|(dir, checkout)| elsewhere(dir) && has_remote(checkout)) {
            add(&in_checkout(dir, gone), Why::Remote);
        }
        for (dir, _) in checkouts().filter(|(dir, checkout)| elsewhere(dir) && has_any(checkout, &had.roots)) {
            add(&in_checkout(dir, gone), Why::Root);
        }
        // What is gone is the first name that is missing, with all below it.
        let missing = parent.and_then(|parent| gone.strip_prefix(parent).ok()).unwrap_or_else(|| Path::new(""));
        let name = Path::new(missing.iter().next().unwrap_or_default());
        if name.iter().next().is_some() {
            let ends_alike = |dir: &&PathBuf| ends_with(dir, missing) && dir.as_path() != gone;
            for dir in self.known.iter().filter(ends_alike).filter(|dir| dir.is_dir()) {
                add(dir, Why::NamedAndKnown);
            }
            let near = parent.map(|parent| self.near(parent)).unwrap_or_default();
            for dir in near.iter().filter(|dir| ends_with(dir, name)) {
                let below = missing.strip_prefix(name).map_or_else(|_| dir.clone(), |rest| joined(dir, rest));
                if below.is_dir() {
                    add(&below, Why::Named);
                }
            }
        }
        if let Some(parent) = parent {
            if let Some(repository) = &parents {
                add(repository, Why::Around);
            }
            add(parent, Why::Parent);
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

    /// Returns the checkouts among what lies near.
    fn checkouts_near(&self, parent: &Path) -> Near {
        let look = || {
            let near = self.near(parent);
            let checkouts = near.iter().filter(|dir| !self.by_dir.contains_key(*dir));
            let checkouts = checkouts.filter(|dir| dir.join(".git").is_dir());
            Rc::new(checkouts.map(|dir| (dir.clone(), Checkout::of(dir))).collect())
        };
        Rc::clone(self.checkouts_near.borrow_mut().entry(parent.to_owned()).or_insert_with(look))
    }

    /// Lists the directories below one, a few levels deep and no more than some thousand entries; links are not followed.
    fn near(&self, parent: &Path) -> Rc<Vec<PathBuf>> {
        let mut near = self.near.borrow_mut();
        let list = || {
            let is_wanted = |entry: &walkdir::DirEntry| {
                // What is hidden, or made by tools, holds nobody's work.
                let name = entry.file_name().as_encoded_bytes();
                entry.depth() == 0 || !(name.starts_with(b".") || name == b"node_modules" || name == b"target")
            };
            let entries = walkdir::WalkDir::new(parent).min_depth(1).max_depth(MAX_DEPTH).into_iter();
            let entries = entries.filter_entry(is_wanted).filter_map(Result::ok).take(MAX_NEAR);
            Rc::new(entries.filter(|entry| entry.file_type().is_dir()).map(walkdir::DirEntry::into_path).collect())
        };
        Rc::clone(near.entry(parent.to_owned()).or_insert_with(list))
    }
}

/// Returns what is in a checkout where a directory that is gone was, if it was a part of that; else the checkout itself.
fn in_checkout(checkout: &Path, gone: &Path) -> PathBuf {
    let missing =
        nearest_parent(gone).and_then(|parent| gone.strip_prefix(parent).ok()).unwrap_or_else(|| Path::new(""));
    let mut tail = missing.components();
    while tail.next().is_some() && !tail.as_path().as_os_str().is_empty() {
        let below = checkout.join(tail.as_path());
        if below.is_dir() {
            return below;
        }
    }
    checkout.to_owned()
}

/// Does what [`Path::ends_with`] does, and most often sees at once that it does not.
fn ends_with(path: &Path, end: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    let has_name = |name: &OsStr| bytes.ends_with(name.as_encoded_bytes());
    // Slashes and dots at its end are no part of a path.
    let may_end = end.file_name().is_none_or(has_name) || bytes.ends_with(b"/") || bytes.ends_with(b"/.");
    may_end && path.ends_with(end)
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
        let dirs = |gone: &Path| -> Vec<PathBuf> {
            known.instead_of(gone, &Repository::default()).into_iter().map(|found| found.dir).collect()
        };
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
        let found = checkouts.instead_of(&root.join("work/app/src"), &Repository::default());
        let dirs: Vec<&Path> = found.iter().map(|found| found.dir.as_path()).collect();
        let work = root.join("work");
        assert_eq!(dirs, [&known, &root.join("work/archive/app/src"), &work]);
        let nothing: Vec<PathBuf> = checkouts
            .instead_of(&root.join("work/other"), &Repository::default())
            .into_iter()
            .map(|found| found.dir)
            .collect();
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
        let had = Repository::new(Some("git@host:ana/app.git".to_owned()));
        let found = known.instead_of(Path::new("/no/such/place"), &had);
        assert_eq!(found, [Instead { dir: moved, why: Why::Remote }]);
    }

    #[test]
    fn a_checkout_that_was_renamed_is_known_by_a_commit_that_it_has() {
        let dir = tempfile::tempdir().expect("a directory");
        let commit = "ab".repeat(20);
        let (gone, renamed, other) = (dir.path().join("app"), dir.path().join("tool"), dir.path().join("other"));
        std::fs::create_dir_all(other.join(".git")).expect("a directory");
        std::fs::create_dir_all(renamed.join(".git/objects/ab")).expect("a directory");
        std::fs::write(renamed.join(".git/objects/ab").join("ab".repeat(19)), "").expect("a file");
        let mut had = Repository::default();
        let known = Checkouts::of([other.as_path()].into_iter());
        assert_eq!(best(&known.instead_of(&gone, &had), &gone), None);
        had.add_commit(&commit);
        assert_eq!(best(&known.instead_of(&gone, &had), &gone), Some(renamed));
    }

    #[test]
    fn of_two_clones_neither_is_the_best_unless_one_has_the_name() {
        let instead = |dir: &str, why| Instead { dir: dir.into(), why };
        let dir = tempfile::tempdir().expect("a directory");
        let gone = &dir.path().join("app");
        let mut found = vec![instead("/x/a", Why::Remote), instead("/x/b", Why::Remote), instead("/y/app", Why::Named)];
        assert_eq!(best(&found, gone), None);
        found.push(instead("/z/app", Why::Remote));
        assert_eq!(best(&found, gone).as_deref(), Some(Path::new("/z/app")));
        found.push(instead("/x/c", Why::Commit));
        assert_eq!(best(&found, gone).as_deref(), Some(Path::new("/x/c")));
        // It may have been a directory inside of what is called c now.
        assert_eq!(best(&found, &dir.path().join("x/app")), None);
    }

    #[test]
    fn a_fork_is_no_candidate_and_a_directory_of_a_checkout_is_found_in_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let (fork, own) = (dir.path().join("fork"), dir.path().join("moved"));
        for (checkout, url) in [(&fork, "up/x"), (&own, "me/x")] {
            std::fs::create_dir_all(checkout.join(".git/objects/ab")).expect("a directory");
            std::fs::write(checkout.join(".git/config"), format!("[remote \"origin\"]\nurl = {url}\n"))
                .expect("a file");
        }
        std::fs::create_dir_all(own.join("packages/api")).expect("a directory");
        std::fs::write(fork.join(".git/objects/ab").join("ab".repeat(19)), "").expect("a file");
        let mut had = Repository::new(Some("me/x".to_owned()));
        had.add_commit(&"ab".repeat(20));
        had.add_root(&"ab".repeat(20));
        let known = Checkouts::of([fork.as_path(), &own].into_iter());
        let gone = dir.path().join("old/packages/api");
        let found = known.instead_of(&gone, &had);
        assert_eq!(found[0], Instead { dir: own.join("packages/api"), why: Why::Remote });
        assert!(found.iter().all(|instead| instead.dir != fork), "{found:?}");
        assert_eq!(best(&found, &gone), Some(own.join("packages/api")));
        let gone = dir.path().join("old");
        assert_eq!(best(&known.instead_of(&gone, &had), &gone), Some(own));
    }
}
