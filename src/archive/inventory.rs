//! A snapshot of a session's files, and a check that nothing changed while they were copied.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::agent::{Agent, Unable};
use crate::archive::manifest::{CopyAt, EntryRole};
use crate::session::{Belongings, Located, Session, SessionCopy};
use crate::system::links;
use crate::system::stamp::modified;

/// Number of attempts to copy a session that changes while it is copied.
const ATTEMPTS: u32 = 4;

/// Mode of an entry made from a session's rows.
const PRIVATE: u32 = 0o600;

/// The reason why a session is not archived.
#[derive(Debug)]
pub(super) enum InventoryError {
    Refused(String),
    Failed(String),
    /// The session changed while it was copied.
    Changed,
}

impl From<io::Error> for InventoryError {
    fn from(error: io::Error) -> Self {
        Self::Failed(crate::error::reason(&error))
    }
}

/// Snapshot of a session's files.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Inventory {
    pub(super) stores: Vec<PathBuf>,
    pub(super) copies: Vec<CopyAt>,
    pub(super) pieces: Vec<InventoryEntry>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct InventoryEntry {
    pub(super) store: usize,
    pub(super) path: PathBuf,
    pub(super) role: EntryRole,
    pub(super) kind: InventoryKind,
    pub(super) state: FileMetadata,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum InventoryKind {
    File,
    Dir,
    Link(PathBuf),
    /// The rows of a session in a database; the number is that of the copy.
    Rows(usize),
}

/// Metadata that changes if another program touched the file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FileMetadata {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) mode: u32,
    pub(super) size: u64,
    pub(super) modified: (i64, i64),
    pub(super) changed: (i64, i64),
}

impl FileMetadata {
    fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            mode: metadata.mode(),
            size: metadata.len(),
            modified: modified(metadata),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// Repeats some work until the result of `look` is the same before and after it. Fails after [`ATTEMPTS`] attempts.
pub(super) fn settled<S: PartialEq, T>(
    look: impl Fn() -> Result<S, InventoryError>,
    mut work: impl FnMut(&S) -> Result<T, InventoryError>,
) -> Result<T, InventoryError> {
    for _ in 0..ATTEMPTS {
        let before = match look() {
            Err(InventoryError::Changed) => continue,
            seen => seen?,
        };
        let done = match work(&before) {
            Err(InventoryError::Changed) => continue,
            done => done?,
        };
        match look() {
            Err(InventoryError::Changed) => {}
            after => {
                if after? == before {
                    return Ok(done);
                }
            }
        }
    }
    Err(InventoryError::Changed)
}

/// Lists everything that belongs to a session, for all of its copies.
pub(super) fn list_entries(
    session: &Session,
    agent: &dyn Agent,
    find: &dyn Fn(&Located) -> Result<Belongings, Unable>,
) -> Result<Inventory, InventoryError> {
    let mut inventory = Inventory { stores: Vec::new(), copies: Vec::new(), pieces: Vec::new() };
    let mut paths: BTreeMap<(usize, PathBuf), EntryRole> = BTreeMap::new();
    for (at, copy) in session.copies.iter().enumerate() {
        let place = &copy.place;
        // A database may be outside the store that names it, or be that store. Paths are then relative to its
        // directory.
        let in_database = agent.agent_managed(place).is_some();
        let root = if in_database && !is_below(&place.path, &place.store.root) {
            place.path.parent().unwrap_or(&place.path)
        } else {
            &place.store.root
        };
        let store = inventory.stores.iter().position(|store| store == root).unwrap_or_else(|| {
            inventory.stores.push(root.to_owned());
            inventory.stores.len() - 1
        });
        let below = |path: &Path| {
            let relative = path.strip_prefix(root).ok().filter(|path| !path.as_os_str().is_empty());
            let outside = || InventoryError::Refused(format!("{} does not lie in its store", path.display()));
            relative.map(Path::to_owned).ok_or_else(outside)
        };
        let path = below(&place.path)?;
        inventory.copies.push(CopyAt { store, path: path.clone() });
        if in_database {
            let state = FileMetadata { mode: PRIVATE, modified: active_at(copy), ..FileMetadata::default() };
            inventory.pieces.push(InventoryEntry {
                store,
                path,
                role: EntryRole::Own,
                kind: InventoryKind::Rows(at),
                state,
            });
            continue;
        }
        let belongings = find(place).map_err(|unable| InventoryError::Refused(unable.why))?;
        let companions = agent.companions(place);
        let lists = [
            (EntryRole::Own, &belongings.own),
            (EntryRole::Shared, &belongings.shared),
            (EntryRole::Companion, &companions),
        ];
        for (role, path) in lists.into_iter().flat_map(|(role, paths)| paths.iter().map(move |path| (role, path))) {
            let known = paths.entry((store, below(path)?)).or_insert(role);
            *known = role.max(*known);
        }
    }
    let mut covered: Option<(usize, PathBuf)> = None;
    for ((store, path), role) in paths {
        // A directory includes everything in it.
        if covered.as_ref().is_some_and(|(of, dir)| *of == store && path.starts_with(dir)) {
            continue;
        }
        let root = &inventory.stores[store];
        walk(root, &root.join(&path), &mut |path, kind, state| {
            inventory.pieces.push(InventoryEntry { store, path, role, kind, state });
        })?;
        covered = Some((store, path));
    }
    Ok(inventory)
}

/// Checks whether a path is below a directory.
fn is_below(path: &Path, dir: &Path) -> bool {
    path.starts_with(dir) && path != dir
}

/// Returns the last activity of a session, in seconds since 1970 and nanoseconds.
fn active_at(copy: &SessionCopy) -> (i64, i64) {
    copy.active_at.as_ref().map_or((0, 0), |at| (at.value.as_second(), at.value.subsec_nanosecond().into()))
}

/// Walks a file, or a directory and everything in it. Follows a link only at `path` itself, as reading does.
fn walk(
    root: &Path,
    path: &Path,
    see: &mut dyn FnMut(PathBuf, InventoryKind, FileMetadata),
) -> Result<(), InventoryError> {
    let refused = |path: &Path, why: &str| InventoryError::Refused(format!("{} {why}", path.display()));
    let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    let start = if is_link { links::follow(path)?.0 } else { path.to_owned() };
    let mut device = None;
    for found in walkdir::WalkDir::new(&start).sort_by_file_name() {
        let found = found.map_err(|error| match error.io_error() {
            Some(reason) if reason.kind() == io::ErrorKind::NotFound => InventoryError::Changed,
            _ => InventoryError::Failed(error.to_string()),
        })?;
        let metadata = found.path().symlink_metadata().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => InventoryError::Changed,
            _ => InventoryError::from(error),
        })?;
        let kind = metadata.file_type();
        if *device.get_or_insert(metadata.dev()) != metadata.dev() {
            return Err(refused(found.path(), "is where another file system is mounted"));
        }
        let kind = if kind.is_file() {
            InventoryKind::File
        } else if kind.is_dir() {
            InventoryKind::Dir
        } else if kind.is_symlink() {
            InventoryKind::Link(std::fs::read_link(found.path())?)
        } else {
            return Err(refused(found.path(), "is neither a file nor a directory"));
        };
        let below = found.path().strip_prefix(&start).unwrap_or(found.path());
        let path = if found.depth() == 0 { path.to_owned() } else { path.join(below) };
        see(path.strip_prefix(root).map(Path::to_owned).unwrap_or(path), kind, FileMetadata::from_metadata(&metadata));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn inventory_repeats_copy_if_session_changes() {
        let (state, copies) = (Cell::new(0), Cell::new(0));
        let look = || Ok::<_, InventoryError>(state.get());
        let copied = settled(look, |seen| {
            copies.set(copies.get() + 1);
            if copies.get() < 3 {
                state.set(state.get() + 1);
            }
            Ok(*seen)
        });
        assert_eq!((copied.expect("a copy"), copies.get()), (2, 3));

        let restless = settled(look, |_| {
            state.set(state.get() + 1);
            Ok(())
        });
        assert!(matches!(restless, Err(InventoryError::Changed)));
        let refused = settled(look, |_| -> Result<(), _> { Err(InventoryError::Refused("no".to_owned())) });
        assert!(matches!(refused, Err(InventoryError::Refused(_))));
    }
}
