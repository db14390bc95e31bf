//! Stamps of paths on the disk of this process, by which a change detects that another program has changed a path.

use std::path::Path;

use changes::disk::EntryMetadata;
pub(crate) use changes::stamp::{Stamp, modified};

use crate::error::PathError;
use crate::system::disk::SYSTEM;

/// Takes the stamp of a file, or of a directory with everything in it.
pub(crate) fn take_stamp(path: &Path) -> Result<Stamp, PathError> {
    changes::stamp::take_stamp(&SYSTEM, path)
}

/// Takes a stamp in a directory with this device and inode; calls `see` with every file.
pub(crate) fn take_in(
    path: &Path,
    parent: (u64, u64),
    see: &mut dyn FnMut(&Path, &EntryMetadata),
) -> Result<Stamp, PathError> {
    changes::stamp::take_in(&SYSTEM, path, parent, see)
}

/// Takes a stamp; `None` if the path does not exist.
pub(crate) fn take_if_present(path: &Path) -> Result<Option<Stamp>, PathError> {
    changes::stamp::take_if_present(&SYSTEM, path)
}
