//! Stamps of paths on the disk of this process, by which a change detects that another program has changed a path.

use std::path::Path;

use changes::disk::EntryMetadata;
pub(crate) use changes::stamp::{Stamp, modified};

use crate::error::PathError;
use crate::system::disk::SYSTEM;

/// Reads the stamp of a file, or of a directory with everything in it.
pub(crate) fn take_stamp(path: &Path) -> Result<Stamp, PathError> {
    changes::stamp::take_stamp(&SYSTEM, path)
}

/// Reads the stamp of a path whose directory has this device and inode; calls `see` with every file.
pub(crate) fn take_in(
    path: &Path,
    parent: (u64, u64),
    see: &mut dyn FnMut(&Path, &EntryMetadata),
) -> Result<Stamp, PathError> {
    changes::stamp::take_in(&SYSTEM, path, parent, see)
}

/// Reads the stamp of a path; `None` if it does not exist.
pub(crate) fn take_if_present(path: &Path) -> Result<Option<Stamp>, PathError> {
    changes::stamp::take_if_present(&SYSTEM, path)
}
