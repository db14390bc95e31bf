//! Decides whether the target path of an archived entry is free, taken, or already has the entry.

use std::io;
use std::path::{Path, PathBuf};

use crate::archive::coverage::file_digest;
use crate::archive::manifest::{EntryContent, ManifestEntry};
use crate::error::reason;

/// Occupancy of an entry's target path.
pub(super) enum Occupancy {
    /// The path does not exist; these parent directories are missing.
    Free { missing: Vec<PathBuf> },
    /// The same entry already exists.
    Same,
    /// A different entry exists, or a parent is not a directory.
    Taken(String),
}

impl Occupancy {
    pub(super) fn is_same(&self) -> bool {
        matches!(self, Self::Same)
    }
}

/// Returns the occupancy of a target path below the root of a store.
pub(super) fn occupancy_of(root: &Path, target: &Path, entry: &ManifestEntry) -> Occupancy {
    let mut missing = Vec::new();
    for dir in target.ancestors().skip(1) {
        // The root itself may be reached through links; paths below the root may not.
        let metadata = if dir.starts_with(root) && dir != root { dir.symlink_metadata() } else { dir.metadata() };
        match metadata {
            Ok(metadata) if metadata.is_dir() && dir == root => break,
            Ok(metadata) if metadata.is_dir() && missing.is_empty() => {}
            Ok(metadata) if metadata.is_dir() => {
                if !dir.starts_with(root) {
                    break;
                }
            }
            Ok(_) => return Occupancy::Taken(format!("{} is not a directory", dir.display())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push(dir.to_owned()),
            Err(error) => {
                return Occupancy::Taken(format!("{} cannot be looked at: {}", dir.display(), reason(&error)));
            }
        }
    }
    missing.reverse();
    let metadata = match target.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Occupancy::Free { missing },
        Err(error) => {
            return Occupancy::Taken(format!("{} cannot be looked at: {}", target.display(), reason(&error)));
        }
        Ok(metadata) => metadata,
    };
    let is_same = match &entry.node {
        EntryContent::Rows { .. } => false,
        EntryContent::Dir => metadata.is_dir(),
        EntryContent::Link { target: to } => std::fs::read_link(target).is_ok_and(|now| now == *to),
        EntryContent::File { size, sha256, .. } => {
            metadata.is_file()
                && metadata.len() == *size
                && file_digest(target).is_ok_and(|(_, digest)| digest == *sha256)
        }
    };
    if is_same {
        return Occupancy::Same;
    }
    let what = match &entry.node {
        EntryContent::File { size, .. } if metadata.is_file() && metadata.len() > *size => "exists and is longer",
        _ => "exists and is different",
    };
    Occupancy::Taken(format!("{} {what}", target.display()))
}
