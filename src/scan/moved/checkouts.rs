//! The git checkouts in which sessions worked, and a search among them for the repository of a missing directory.

use std::cell::{Cell, OnceCell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::near::{common_names, ends_with, in_checkout, joined, list_near};
use super::{DirRecords, Instead, MoveClue, nearest_parent};
use crate::scan::commits::Objects;
use crate::scan::git::{Worktree, has_loose_branch, packed_branches, remote_of, repository_of};
use crate::scan::worktree::{Lost, Worktrees};
use crate::session::recorded;
use crate::session::repository::Repository;
use crate::system::env::Env;
use crate::system::{names, parallel, reach};

/// Maximum packs read for commits, for all missing directories together.
const MAX_PACKS: usize = 100_000;

/// Maximum number of candidates that share only the last path component.
const MAX_ALIKE: usize = 5;

/// The git checkouts around known directories, looked up once for any number of missing directories.
#[derive(Debug, Default)]
pub(crate) struct Checkouts {
    by_dir: BTreeMap<PathBuf, Rc<Checkout>>,
    /// Other checkouts that a missing directory refers to, each read once.
    others: RefCell<BTreeMap<PathBuf, Rc<Checkout>>>,
    /// The known directories that exist.
    known: BTreeSet<PathBuf>,
    /// The caller's directory.
    caller: Option<PathBuf>,
    /// The distribution of WSL in which the process runs.
    wsl: Option<String>,
    /// The home directory.
    home: PathBuf,
    /// The directories near a directory, listed once.
    near: RefCell<BTreeMap<PathBuf, Rc<Vec<PathBuf>>>>,
    /// The directories below those of sessions outside of the home.
    near_known: OnceCell<Vec<PathBuf>>,
    /// The checkouts among the directories near a directory.
    checkouts_near: RefCell<BTreeMap<PathBuf, NearCheckouts>>,
    /// Number of packs that may still be read.
    left: Cell<usize>,
}

/// Checkouts, each with its directory.
type NearCheckouts = Rc<Vec<(PathBuf, Rc<Checkout>)>>;

#[derive(Debug)]
struct Checkout {
    worktrees: Worktrees,
    remote: Option<String>,
    objects: Objects,
}

impl Checkout {
    fn read_repository(repository: &Path) -> Self {
        Self {
            worktrees: Worktrees::read_checkout(repository),
            remote: remote_of(repository),
            objects: Objects::in_checkout(repository),
        }
    }
}

impl Checkouts {
    /// Finds the checkouts around the directories that sessions record; others are searched for by name below `home`.
    pub(crate) fn find_near(known: &mut dyn Iterator<Item = &Path>, home: &Path) -> Self {
        let known: BTreeSet<PathBuf> = known.map(Path::to_owned).collect();
        let repositories = BTreeSet::from_iter(parallel::map(&known, |dir| repository_of(dir)).into_iter().flatten());
        let by_dir =
            repositories.into_iter().map(|dir| (dir.clone(), Rc::new(Checkout::read_repository(&dir)))).collect();
        Self { by_dir, known, home: home.to_owned(), left: Cell::new(MAX_PACKS), ..Self::default() }
    }

    /// Adds the caller's directory, which may be the new place of a missing one, and the distribution of WSL.
    pub(crate) fn with_caller(self, env: &Env) -> Self {
        Self { caller: env.cwd.clone(), wsl: env.wsl_distribution().map(str::to_owned), ..self }
    }

    /// Returns the existing directory of a path that Windows recorded of WSL, unless it is of another distribution.
    fn in_wsl(&self, gone: &Path) -> Option<(PathBuf, MoveClue)> {
        let (distribution, dir) = recorded::in_wsl(gone).filter(|(_, dir)| reach::is_dir(dir) == Some(true))?;
        match &self.wsl {
            Some(own) => own.eq_ignore_ascii_case(distribution).then_some((dir, MoveClue::InWsl)),
            None => Some((dir, MoveClue::WslPath)),
        }
    }

    /// Finds replacements for a missing directory by the recorded facts about it, the best first.
    pub(crate) fn instead_of(&self, gone: &Path, records: &DirRecords) -> Vec<Instead> {
        let mut found = Vec::new();
        let had = &records.repository;
        let parent = nearest_parent(gone).filter(|parent| *parent != Path::new("/"));
        let parents = parent.and_then(repository_of);
        let own = parents.as_ref().filter(|dir| !self.by_dir.contains_key(*dir)).map(|dir| (dir, self.checkout(dir)));
        // If the home is the root, as in some containers, it contains the whole disk.
        let home = Some(&*self.home).filter(|home| home.parent().is_some());
        let has_facts = !(had.is_unknown() && had.branches.is_empty());
        let around: BTreeSet<&Path> = parent.into_iter().chain(home).filter(|_| has_facts).collect();
        let near: Vec<_> = around.into_iter().map(|around| self.checkouts_near(around)).collect();
        let alike = self.alike(gone, parent, had);
        let of_alike = alike.iter().filter(|_| !had.is_unknown()).filter_map(|(dir, _)| repository_of(dir));
        let of_alike: BTreeSet<PathBuf> = of_alike.filter(|dir| !self.by_dir.contains_key(dir)).collect();
        let of_alike: Vec<_> = of_alike.iter().map(|dir| (dir, self.checkout(dir))).collect();
        // The first missing component, with everything below it.
        let missing = parent.and_then(|parent| gone.strip_prefix(parent).ok()).unwrap_or_else(|| Path::new(""));
        // A directory that is missing in an existing checkout was not moved with that checkout.
        let elsewhere = |dir: &Path| !gone.starts_with(dir);
        let checkouts = || {
            let own = own.as_ref().map(|(dir, checkout)| (*dir, checkout));
            let all = self
                .by_dir
                .iter()
                .chain(own)
                .chain(near.iter().flat_map(|near| near.iter()).map(|(dir, checkout)| (dir, checkout)));
            let all = all.chain(of_alike.iter().map(|(dir, checkout)| (*dir, checkout)));
            all.map(|(dir, checkout)| (dir, &**checkout))
        };
        let has_any = |checkout: &Checkout, commits: &BTreeSet<String>| {
            // A fork has the commits, too.
            let is_fork = had.remote.is_some() && checkout.remote.is_some() && checkout.remote != had.remote;
            !is_fork && commits.iter().any(|commit| checkout.objects.have(commit, &self.left))
        };
        if let Some((dir, why)) = self.in_wsl(gone) {
            add(&mut found, &dir, why);
        }
        let has_remote = |checkout: &Checkout| had.remote.is_some() && checkout.remote == had.remote;
        for (main, checkout) in checkouts().filter(|_| !had.branches.is_empty()) {
            // Other repositories may have a branch of the same name.
            let is_its = || !elsewhere(main) || has_remote(checkout) || has_any(checkout, &had.commits);
            let is_it = |worktree: &&Worktree| missing.iter().any(|name| name == worktree.name) || is_its();
            for worktree in checkout.worktrees.with_branch(&had.branches).filter(is_it) {
                add(&mut found, &in_checkout(&worktree.dir, gone), MoveClue::Worktree);
            }
        }
        for (dir, _) in checkouts().filter(|(_, checkout)| checkout.worktrees.has_dir(gone)) {
            add(&mut found, &in_checkout(dir, gone), MoveClue::MainCheckout);
        }
        for (dir, _) in checkouts().filter(|(dir, checkout)| elsewhere(dir) && has_any(checkout, &had.commits)) {
            add(&mut found, &in_checkout(dir, gone), MoveClue::Commit);
        }
        for (dir, _) in checkouts().filter(|(dir, checkout)| elsewhere(dir) && has_remote(checkout)) {
            add(&mut found, &in_checkout(dir, gone), MoveClue::Remote);
        }
        for (dir, _) in checkouts().filter(|(dir, checkout)| elsewhere(dir) && has_any(checkout, &had.roots)) {
            add(&mut found, &in_checkout(dir, gone), MoveClue::Root);
        }
        for dir in self.in_projects(gone, parent, records) {
            add(&mut found, &dir, MoveClue::Project);
        }
        for clue in [MoveClue::LastDir, MoveClue::StartDir] {
            let dirs = records.dirs.iter().filter(|(_, why)| *why == clue);
            dirs.for_each(|(dir, why)| add(&mut found, dir, *why));
        }
        let name = Path::new(missing.iter().next().unwrap_or_default());
        if name.iter().next().is_some() {
            let ends_alike = |dir: &&PathBuf| ends_with(dir, missing) && dir.as_path() != gone;
            for dir in self.known.iter().filter(ends_alike).filter(|dir| reach::is_dir(dir) == Some(true)) {
                add(&mut found, dir, MoveClue::NamedAndKnown);
            }
            let home = home.filter(|home| gone.starts_with(home) && parent != Some(home));
            for (around, why) in [(parent, MoveClue::Named), (home, MoveClue::NamedAtHome)] {
                let near = around.map(|around| self.near(around)).unwrap_or_default();
                for dir in near.iter().filter(|dir| ends_with(dir, name)) {
                    let below = missing.strip_prefix(name).map_or_else(|_| dir.clone(), |rest| joined(dir, rest));
                    if reach::is_dir(&below) == Some(true) {
                        add(&mut found, &below, why);
                    }
                }
            }
        }
        let most = found
            .iter()
            .filter(|instead| instead.why < MoveClue::AlikeWithBranch)
            .map(|instead| common_names(&instead.dir, gone));
        let most = most.max().unwrap_or_default();
        for (dir, why) in alike.iter().filter(|(dir, _)| common_names(dir, gone) >= most).take(MAX_ALIKE) {
            add(&mut found, dir, *why);
        }
        if let Some(parent) = parent {
            if let Some(repository) = &parents {
                add(&mut found, repository, MoveClue::Around);
            }
            add(&mut found, parent, MoveClue::Parent);
        }
        found
    }
}

impl Checkouts {
    /// Finds the directories whose last name is that of a missing one, except for case and the encoding of accents: those of
    /// other sessions, and those near them, near the old place and in the home. Those with the most common names at the end
    /// come first, then those whose repository has a recorded branch.
    fn alike(&self, gone: &Path, parent: Option<&Path>, had: &Repository) -> Vec<(PathBuf, MoveClue)> {
        let Some(name) = recorded::file_name(gone) else { return Vec::new() };
        let has_name =
            |dir: &&PathBuf| names::is_alike(dir.file_name().unwrap_or_default(), name) && dir.as_path() != gone;
        let around = self.around(parent);
        let known = self.known.iter().filter(has_name).map(|dir| (dir, MoveClue::AlikeAndKnown));
        let near = around.iter().flat_map(|near| near.iter()).chain(self.near_known().iter());
        let near = near.filter(has_name).map(|dir| (dir, MoveClue::Alike));
        let mut all: BTreeMap<&PathBuf, MoveClue> = BTreeMap::new();
        for (dir, why) in known.chain(near) {
            all.entry(dir).or_insert(why);
        }
        let mut all: Vec<(PathBuf, MoveClue)> = all.into_iter().map(|(dir, why)| (dir.clone(), why)).collect();
        all.retain(|(dir, _)| reach::is_dir(dir) == Some(true));
        let has_branch = |dir: &Path| {
            let repository = repository_of(dir).filter(|_| !had.branches.is_empty());
            repository.is_some_and(|repository| has_any_branch(&repository, &had.branches))
        };
        all.iter_mut().filter(|(dir, _)| has_branch(dir)).for_each(|(_, why)| *why = MoveClue::AlikeWithBranch);
        all.sort_by_cached_key(|(dir, why)| (Reverse(common_names(dir, gone)), dir.file_name() != Some(name), *why));
        all
    }

    /// Finds the directories whose sessions their agents file where those of a missing one are.
    fn in_projects(&self, gone: &Path, parent: Option<&Path>, records: &DirRecords) -> Vec<PathBuf> {
        if records.projects.is_empty() {
            return Vec::new();
        }
        let around = self.around(parent);
        let near = around.iter().flat_map(|near| near.iter()).chain(self.near_known());
        let known = self.known.iter().chain(&self.caller).chain(near).map(PathBuf::as_path);
        let dirs: BTreeSet<&Path> = known.chain(gone.ancestors().skip(1)).collect();
        let is_it = |dir: &Path| dir != gone && records.have_project_of(dir) && reach::is_dir(dir) == Some(true);
        dirs.into_iter().filter(|dir| is_it(dir)).map(Path::to_owned).collect()
    }

    /// Lists the directories near the old place and in the home.
    fn around(&self, parent: Option<&Path>) -> Vec<Rc<Vec<PathBuf>>> {
        let home = Some(&*self.home).filter(|home| home.parent().is_some());
        parent.into_iter().chain(home).map(|dir| self.near(dir)).collect()
    }

    /// Lists the directories below those of sessions outside of the home, up to some thousand entries in all.
    fn near_known(&self) -> &[PathBuf] {
        self.near_known.get_or_init(|| {
            // Directories such as /tmp and /usr contain unrelated data.
            let is_own = |dir: &&PathBuf| dir.ancestors().nth(2).is_some() && !dir.starts_with(&self.home);
            let outside = self.known.iter().filter(is_own);
            list_near(outside.cloned().collect())
        })
    }

    /// Finds the lost git worktree that a missing directory was, or was part of; `branch` is the last one on which a
    /// session worked there. Returns the reason if it cannot be recreated.
    pub(crate) fn lost_worktree(
        &self,
        gone: &Path,
        remote: Option<&str>,
        branch: Option<&str>,
    ) -> Result<Option<Lost>, String> {
        let around = nearest_parent(gone).and_then(repository_of).map(|dir| self.checkout(&dir));
        for checkout in self.by_dir.values().chain(&around) {
            if let Some(lost) = checkout.worktrees.listed(gone)? {
                return Ok(Some(lost));
            }
        }
        // A worktree outside of its repository, in which no other session may have worked.
        let near = self.home.parent().map(|_| self.checkouts_near(&self.home)).unwrap_or_default();
        for (_, checkout) in near.iter() {
            if let Some(lost) = checkout.worktrees.listed(gone)? {
                return Ok(Some(lost));
            }
        }
        let has_remote = |checkout: &&Rc<Checkout>| remote.is_some() && checkout.remote.as_deref() == remote;
        let main = around.as_ref().or_else(|| self.by_dir.values().find(has_remote));
        main.map_or(Ok(None), |main| main.worktrees.unlisted(gone, branch))
    }

    /// Returns the checkout at a directory, read once.
    fn checkout(&self, dir: &Path) -> Rc<Checkout> {
        let read = || {
            let mut others = self.others.borrow_mut();
            Rc::clone(others.entry(dir.to_owned()).or_insert_with(|| Rc::new(Checkout::read_repository(dir))))
        };
        self.by_dir.get(dir).map_or_else(read, Rc::clone)
    }

    /// Returns the checkouts among the directories below `parent`.
    fn checkouts_near(&self, parent: &Path) -> NearCheckouts {
        let look = || {
            let near = self.near(parent);
            let checkouts = near.iter().filter(|dir| !self.by_dir.contains_key(*dir));
            let checkouts = checkouts.filter(|dir| reach::is_dir(&dir.join(".git")) == Some(true));
            Rc::new(checkouts.map(|dir| (dir.clone(), self.checkout(dir))).collect())
        };
        Rc::clone(self.checkouts_near.borrow_mut().entry(parent.to_owned()).or_insert_with(look))
    }

    /// Lists the directories below `parent`, a few levels deep and up to some thousand entries; links are not followed.
    fn near(&self, parent: &Path) -> Rc<Vec<PathBuf>> {
        let mut near = self.near.borrow_mut();
        let list = || Rc::new(list_near(vec![parent.to_owned()]));
        Rc::clone(near.entry(parent.to_owned()).or_insert_with(list))
    }
}

/// Returns whether a repository is known to have one of these branches.
fn has_any_branch(repository: &Path, branches: &BTreeSet<String>) -> bool {
    branches.iter().any(|branch| has_loose_branch(repository, branch))
        || packed_branches(repository).is_some_and(|packed| branches.iter().any(|branch| packed.contains(branch)))
}

/// Adds a replacement, unless it was found for a stronger reason.
fn add(found: &mut Vec<Instead>, dir: &Path, why: MoveClue) {
    if found.iter().all(|other| other.dir != dir) {
        found.push(Instead { dir: dir.to_owned(), why });
    }
}
