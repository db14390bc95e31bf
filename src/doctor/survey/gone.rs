//! Finds replacements for missing launch directories.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use foldhash::HashSet;

use crate::launch::log;
use crate::scan::Scan;
use crate::scan::moved::{self, Checkouts, DirRecords, Instead};
use crate::scan::worktree::Lost;
use crate::session::Session;
use crate::system::env::Env;
use crate::system::{fsio, parallel, reach};

/// Lists the file systems that are mounted at boot (fstab(5)).
const FSTAB: &str = "/etc/fstab";
const MAX_FSTAB: u64 = 1024 * 1024;

/// Facts about a missing launch directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gone {
    /// Other launch directories with their evidence, the best first.
    pub instead: Vec<Instead>,
    /// The git worktree that contained the directory, if git can recreate it.
    pub worktree: Option<Lost>,
    /// The mount point above the directory, if nothing is mounted there.
    pub unmounted: Option<PathBuf>,
    /// Set if the path exists, but is not a directory.
    pub is_no_directory: bool,
}

/// Examines each missing launch directory once.
pub(super) fn examine_missing_dirs(scan: &Scan, env: &Env) -> BTreeMap<PathBuf, Gone> {
    let with_dir = |exists: bool| scan.sessions.iter().filter(move |session| session.launch_dir_exists == Some(exists));
    let mut gone: BTreeMap<&Path, Vec<&Session>> = BTreeMap::new();
    for session in with_dir(false) {
        if let Some(dir) = session.launch_dir() {
            gone.entry(dir).or_default().push(session);
        }
    }
    if gone.is_empty() {
        return BTreeMap::new();
    }
    let known: HashSet<&OsStr> =
        with_dir(true).flat_map(|session| session.copy().directories()).map(Path::as_os_str).collect();
    let checkouts = Checkouts::find_near(&mut known.into_iter().map(Path::new), &env.home).with_caller(env);
    // If the log is unreadable, the other evidence remains.
    let remotes = log::remotes(&log::file(env)).unwrap_or_default();
    let unmounted = if env.foreign_home { Vec::new() } else { unmounted() };
    // Agents record the repositories of sessions in separate files and databases.
    let had = |(dir, sessions): (&&Path, &Vec<&Session>)| {
        DirRecords::collect(remotes.get(*dir).cloned(), sessions.iter().copied())
    };
    let had = parallel::map(&gone, had);
    let look = |dir: &Path, sessions: &[&Session], had: &DirRecords| {
        let remote = remotes.get(dir);
        let newest = sessions.iter().max_by_key(|session| session.recency());
        let branch = newest.and_then(|newest| newest.copy().git_branch.as_ref()).map(|branch| &*branch.value);
        Gone {
            instead: checkouts.instead_of(dir, had),
            worktree: checkouts.lost_worktree(dir, remote.map(String::as_str), branch).ok().flatten(),
            unmounted: unmounted.iter().find(|point| dir.starts_with(point)).cloned(),
            is_no_directory: reach::symlink_metadata(dir).is_ok(),
        }
    };
    gone.into_iter().zip(had).map(|((dir, sessions), had)| (dir.to_owned(), look(dir, &sessions, &had))).collect()
}

/// Returns the mount points that the system knows and at which nothing is mounted.
fn unmounted() -> Vec<PathBuf> {
    let Ok(bytes) = fsio::read_bounded(Path::new(FSTAB), MAX_FSTAB) else { return Vec::new() };
    let text = String::from_utf8_lossy(&bytes);
    let points = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    // fstab writes blanks in a path as \040.
    let points = points.filter_map(|line| line.split_whitespace().nth(1)).map(|point| point.replace("\\040", " "));
    points.map(PathBuf::from).filter(|point| point.is_absolute() && is_unmounted(point)).collect()
}

/// Returns whether a directory is in the same file system as its parent, or does not exist.
fn is_unmounted(point: &Path) -> bool {
    let Some(parent) = point.parent() else { return false };
    match (reach::metadata(point), reach::metadata(parent)) {
        (Ok(own), Ok(parent)) => own.dev() == parent.dev(),
        (Err(error), _) if error.kind() != std::io::ErrorKind::TimedOut => moved::nearest_parent(point).is_some(),
        _ => false,
    }
}
