//! Cached listings of directories: finds names by prefix, and files below a directory.

use crate::system::reach;
use jiff::Timestamp;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::DirEntry;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The names in a directory, to find them by prefix.
#[derive(Debug, Default)]
pub(super) struct Beginnings {
    dir: PathBuf,
    /// All names, concatenated; a store may contain a hundred thousand.
    text: Vec<u8>,
    /// Ranges of the names in the text, sorted by name.
    names: Vec<Range<usize>>,
}

impl Beginnings {
    /// Lists a directory, including links; an unreadable directory is empty.
    pub(super) fn read_dir(dir: &Path) -> Self {
        let (mut text, mut names) = (Vec::new(), Vec::new());
        for entry in reach::read_dir(dir).into_iter().flatten().filter_map(Result::ok) {
            let start = text.len();
            text.extend_from_slice(entry.file_name().as_bytes());
            names.push(start..text.len());
        }
        names.sort_unstable_by(|a: &Range<usize>, b| text[a.clone()].cmp(&text[b.clone()]));
        Self { dir: dir.to_owned(), text, names }
    }

    fn name(&self, at: &Range<usize>) -> &[u8] {
        &self.text[at.clone()]
    }

    /// Returns the path of an entry with this name.
    fn named(&self, name: &str) -> Option<PathBuf> {
        let at = self.names.binary_search_by(|known| self.name(known).cmp(name.as_bytes()));
        at.is_ok().then(|| self.dir.join(name))
    }

    /// Returns the paths of the entries whose names begin with `beginning`.
    pub(super) fn entries_beginning_with<'b>(&'b self, beginning: &str) -> impl Iterator<Item = PathBuf> + use<'b> {
        let beginning = beginning.as_bytes().to_owned();
        let first = self.names.partition_point(|name| self.name(name) < beginning.as_slice());
        let names = self.names[first..].iter().map(|name| self.name(name));
        names.take_while(move |name| name.starts_with(&beginning)).map(|name| self.dir.join(OsStr::from_bytes(name)))
    }
}

/// Listings of directories that several sessions share. By default, a directory is listed on each request.
#[derive(Debug, Default)]
pub(crate) struct Listings(Option<Mutex<HashMap<PathBuf, Cell>>>);

/// The names in a directory, once a thread has listed them.
type Cell = Arc<OnceLock<Arc<Beginnings>>>;

impl Listings {
    /// Creates cached listings: each directory is listed once for many sessions.
    pub(super) fn cached() -> Self {
        Self(Some(Mutex::default()))
    }

    /// Returns the names in a directory.
    pub(super) fn read_once(&self, dir: &Path) -> Arc<Beginnings> {
        let Some(cache) = &self.0 else { return Arc::new(Beginnings::read_dir(dir)) };
        let mut known = cache.lock().unwrap_or_else(PoisonError::into_inner);
        let cell = known.get(dir).cloned().unwrap_or_else(|| Arc::clone(known.entry(dir.to_owned()).or_default()));
        // Only threads that need the same directory wait for it.
        drop(known);
        Arc::clone(cell.get_or_init(|| Arc::new(Beginnings::read_dir(dir))))
    }

    /// Returns the path of an entry with this name in a directory. Without a cache, the directory is not listed.
    pub(super) fn named(&self, dir: &Path, name: &str) -> Option<PathBuf> {
        match &self.0 {
            Some(_) => self.read_once(dir).named(name),
            None => Some(dir.join(name)).filter(|path| is_there(path)),
        }
    }
}

/// Returns whether a path exists, even as a dangling link.
pub(super) fn is_there(path: &Path) -> bool {
    reach::symlink_metadata(path).is_ok()
}

/// Returns the total size of all regular files below a directory in bytes, without following links.
pub(crate) fn tree_size(dir: &Path) -> u64 {
    extent(dir).0
}

/// Returns the size of all regular files below a directory in bytes, and the newest change of one; follows no links.
pub(crate) fn extent(dir: &Path) -> (u64, Option<Timestamp>) {
    let (mut bytes, mut newest) = (0, None);
    each_file_below(dir, usize::MAX, &mut |entry, _| {
        let Ok(metadata) = entry.metadata() else { return };
        bytes += metadata.len();
        newest = newest.max(metadata.modified().ok().and_then(|at| at.try_into().ok()));
    });
    (bytes, newest)
}

/// Calls `see` with every regular file below a directory and its depth, 1 for those directly in it, down to `deepest`;
/// follows no links.
///
/// Reading an entry's metadata relative to its directory is cheaper than by its path from the root.
pub(super) fn each_file_below(dir: &Path, deepest: usize, see: &mut dyn FnMut(&DirEntry, usize)) {
    let mut dirs = vec![(dir.to_owned(), 1)];
    while let Some((dir, depth)) = dirs.pop() {
        for entry in reach::read_dir(&dir).into_iter().flatten().filter_map(Result::ok) {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < deepest => dirs.push((entry.path(), depth + 1)),
                Ok(kind) if kind.is_file() => see(&entry, depth),
                _ => {}
            }
        }
    }
}
