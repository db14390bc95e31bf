//! The results of searching a store.

use std::collections::HashSet;
use std::fs::{DirEntry, FileType};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::reason;
use crate::session::{Located, Problem, Store};
use crate::system::reach::{self, NO_ANSWER};
use crate::system::{fsio, links, parallel};

/// The results of searching a store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// The copies.
    pub places: Vec<Located>,
    /// Paths that could not be read.
    pub problems: Vec<Problem>,
    /// Set if a part of the results is behind a link, so that it may be listed twice.
    pub follows_links: bool,
}

/// Returns whether an entry is AppleDouble; the path is built only for such a name.
fn is_apple_double(entry: &DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().starts_with(b"._") && fsio::is_apple_double(&entry.path())
}

impl Found {
    /// Adds the results of another search.
    pub(crate) fn extend(&mut self, other: Self) {
        self.places.extend(other.places);
        for problem in other.problems {
            // A store may have a thousand projects on one mount that does not answer.
            let is_known =
                problem.reason.ends_with(NO_ANSWER) && self.problems.iter().any(|known| known.reason == problem.reason);
            if !is_known {
                self.problems.push(problem);
            }
        }
        self.follows_links |= other.follows_links;
    }

    /// Adds the results of another search, except copies of known sessions.
    pub(super) fn extend_with_others(&mut self, mut other: Self) {
        let known: HashSet<&str> = self.places.iter().map(|place| place.id.as_str()).collect();
        other.places.retain(|place| !known.contains(place.id.as_str()));
        self.extend(other);
    }

    /// Adds a path that could not be read.
    pub(crate) fn problem(&mut self, path: &Path, why: impl Into<String>) {
        self.problems.push(Problem { path: path.to_owned(), reason: why.into() });
    }

    /// Lists a directory with the types of its entries; the type of a link is that of its target. A link that is not
    /// followed is a problem, a missing directory is empty, and files with the attributes of others are omitted.
    pub(crate) fn entries(&mut self, dir: &Path) -> Vec<(DirEntry, FileType)> {
        let listing = match reach::read_dir(dir) {
            Ok(listing) => listing,
            Err(error) => {
                let is_expected = [ErrorKind::NotFound, ErrorKind::NotADirectory];
                if !is_expected.contains(&error.kind()) {
                    self.problem(dir, reason(&error));
                }
                return Vec::new();
            }
        };
        let mut entries = Vec::new();
        for entry in listing {
            match entry.and_then(|entry| entry.file_type().map(|kind| (entry, kind))) {
                Ok((entry, kind)) if kind.is_symlink() => match links::follow(&entry.path()) {
                    Ok((_, there)) => {
                        self.follows_links = true;
                        entries.push((entry, there.file_type()));
                    }
                    Err(error) => self.problem(&entry.path(), reason(&error)),
                },
                Ok((entry, _)) if is_apple_double(&entry) => {}
                Ok(pair) => entries.push(pair),
                Err(error) => self.problem(dir, reason(&error)),
            }
        }
        entries
    }

    /// Lists the directories in a directory, including links to them.
    pub(crate) fn dirs(&mut self, dir: &Path) -> Vec<PathBuf> {
        self.entries(dir).into_iter().filter(|(_, kind)| kind.is_dir()).map(|(entry, _)| entry.path()).collect()
    }

    /// Adds the sessions that are files in a directory, each named after its id with an ending; with `only`, at most
    /// the one with that id. They get the project of the directory.
    pub(super) fn add_files(
        &mut self,
        store: &Arc<Store>,
        dir: &Path,
        project: Option<&Arc<str>>,
        ending: &str,
        only: Option<&str>,
        is_id: &dyn Fn(&str) -> bool,
    ) {
        let place = |id: &str, path| Located { project: project.cloned(), ..Located::new(store, id, path) };
        if let Some(id) = only {
            let path = dir.join(format!("{id}{ending}"));
            self.places.extend((is_id(id) && links::is_file(&path)).then(|| place(id, path)));
            return;
        }
        self.add_named(store, dir, project, &|name| name.strip_suffix(ending).filter(|id| is_id(id)));
    }

    /// Adds the sessions that are files in a directory, with the ids that `id_of` returns for their names.
    pub(super) fn add_named(
        &mut self,
        store: &Arc<Store>,
        dir: &Path,
        project: Option<&Arc<str>>,
        id_of: &dyn Fn(&str) -> Option<&str>,
    ) {
        for (entry, kind) in self.entries(dir) {
            let (name, path) = (entry.file_name(), entry.path());
            match name.to_str().and_then(id_of) {
                Some(id) if kind.is_file() => {
                    self.places.push(Located { project: project.cloned(), ..Located::new(store, id, path) });
                }
                Some(_) => self.problem(&path, "it is not a regular file"),
                None => {}
            }
        }
    }

    /// Adds the sessions that are folders in a directory, each named after its id; with `only`, at most the one with
    /// that id. They get the project of the directory.
    pub(super) fn add_folders(
        &mut self,
        store: &Arc<Store>,
        dir: &Path,
        project: Option<&Arc<str>>,
        only: Option<&str>,
        is_id: &dyn Fn(&str) -> bool,
    ) {
        let place = |id: &str, path| Located { project: project.cloned(), ..Located::new(store, id, path) };
        if let Some(id) = only {
            let path = dir.join(id);
            self.places.extend((is_id(id) && links::is_dir(&path)).then(|| place(id, path)));
            return;
        }
        for (entry, kind) in self.entries(dir) {
            let name = entry.file_name();
            let id = name.to_str().filter(|id| kind.is_dir() && is_id(id));
            self.places.extend(id.map(|id| place(id, entry.path())));
        }
    }

    /// Reads every JSON file of at most `max_bytes` in a directory, and passes on its path and contents.
    pub(super) fn each_json(&mut self, dir: &Path, max_bytes: u64, mut see: impl FnMut(PathBuf, &[u8])) {
        for (entry, kind) in self.entries(dir) {
            let path = entry.path();
            if !kind.is_file() || path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            match fsio::read_bounded(&path, max_bytes) {
                Ok(bytes) => see(path, &bytes),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => self.problem(&path, error.reason()),
            }
        }
    }

    /// Searches directories in all threads, and combines the results in the order of the directories.
    pub(crate) fn in_each<T: Send>(
        &mut self,
        dirs: &[PathBuf],
        look: &(dyn Fn(&Path, &mut Self) -> Vec<T> + Sync),
    ) -> Vec<T> {
        let look = |dir: &PathBuf| {
            let mut found = Self::default();
            (look(dir, &mut found), found)
        };
        let mut all = Vec::new();
        for (some, found) in parallel::map(dirs, look) {
            all.extend(some);
            self.extend(found);
        }
        all
    }

    /// Searches the directories directly below `root` in parallel; each one is a project with its name.
    pub(crate) fn in_projects(root: &Path, walk: impl Fn(&Path, &Arc<str>, &mut Self) + Sync) -> Self {
        let mut found = Self::default();
        let projects = found.dirs(root);
        let walk = |dir: &Path, found: &mut Self| {
            match dir.file_name().and_then(|name| name.to_str()) {
                Some(name) => walk(dir, &Arc::from(name), found),
                None => found.problem(dir, "its name is not UTF-8, so no agent wrote it"),
            }
            Vec::<()>::new()
        };
        found.in_each(&projects, &walk);
        found
    }
}
