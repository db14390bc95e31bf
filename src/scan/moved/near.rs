//! Lists the directories near a missing one, and compares their names with its path.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::nearest_parent;
use crate::system::{names, reach};

/// Maximum entries examined below the nearest parent of a missing directory, and below the home directory; and maximum
/// levels.
const MAX_NEAR: usize = 16_384;
const MAX_DEPTH: usize = 3;

/// Lists the directories below others, level by level.
///
/// `walkdir` opens a directory before it can be skipped, and would block on one that does not answer.
pub(super) fn list_near(mut level: Vec<PathBuf>) -> Vec<PathBuf> {
    let (mut found, mut left) = (Vec::new(), MAX_NEAR);
    for _ in 0..MAX_DEPTH {
        let mut next = Vec::new();
        for entry in level.iter().flat_map(|dir| reach::read_dir(dir).into_iter().flatten().filter_map(Result::ok)) {
            // Hidden directories, and those that tools create, contain no work of a user.
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            if name.starts_with(b".") || name == b"node_modules" || name == b"target" {
                continue;
            }
            if left == 0 {
                return found;
            }
            left -= 1;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && reach::answers(&entry.path()) {
                found.push(entry.path());
                next.push(entry.path());
            }
        }
        level = next;
    }
    found
}

/// Counts the names at the end of two paths that are equal but for case and the encoding of accents.
pub(super) fn common_names(a: &Path, b: &Path) -> usize {
    a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| names::is_alike(a, b)).count()
}

/// Returns the part of a checkout that corresponds to a missing directory; else the checkout itself.
pub(super) fn in_checkout(checkout: &Path, gone: &Path) -> PathBuf {
    let missing =
        nearest_parent(gone).and_then(|parent| gone.strip_prefix(parent).ok()).unwrap_or_else(|| Path::new(""));
    let mut tail = missing.components();
    while tail.next().is_some() && !tail.as_path().as_os_str().is_empty() {
        let below = checkout.join(tail.as_path());
        if reach::is_dir(&below) == Some(true) {
            return below;
        }
    }
    checkout.to_owned()
}

/// Like [`Path::ends_with`], with a fast rejection of most paths.
pub(super) fn ends_with(path: &Path, end: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    let has_name = |name: &OsStr| bytes.ends_with(name.as_encoded_bytes());
    // Trailing slashes and dots do not belong to a path.
    let may_end = end.file_name().is_none_or(has_name) || bytes.ends_with(b"/") || bytes.ends_with(b"/.");
    may_end && path.ends_with(end)
}

/// Joins paths; joining an empty path would add a slash.
pub(super) fn joined(dir: &Path, rest: &Path) -> PathBuf {
    if rest == Path::new("") { dir.to_owned() } else { dir.join(rest) }
}
