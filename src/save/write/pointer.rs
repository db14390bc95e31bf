//! Writes Leo's pointer to a session.

use std::io;
use std::path::PathBuf;

use indexmap::IndexMap;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::value::RawValue;

use crate::agent::leo::{FILE_NAME, MAX_BYTES};
use crate::error::PathError;
use crate::save::leo::{PointerEntry, render};
use crate::system::disk::{self, Access, Disk};

/// The result of saving a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SavedPointer {
    /// The file.
    pub(crate) path: PathBuf,
    /// Set if the old file was not an object, so that no key of it was kept.
    pub(crate) was_unusable: bool,
}

/// Saves a pointer in the app's directory, which must exist.
pub(crate) fn save(
    disk: &dyn Disk,
    entry: &PointerEntry<'_>,
    now: Timestamp,
    zone: &TimeZone,
) -> Result<SavedPointer, PathError> {
    let path = entry.app_dir.join(FILE_NAME);
    let fail = |why: &str| PathError::new("write", &path, io::Error::other(why.to_owned()));
    let old = disk::read_if_present(disk, &path, MAX_BYTES).map_err(|error| PathError::new("read", &path, error))?;
    let was_unusable = old.as_deref().is_some_and(|old| !is_object(old));
    let contents = render(entry, old.as_deref(), now, zone)
        .ok_or_else(|| fail("a directory is not UTF-8, which JSON cannot hold"))?;
    if contents.len() as u64 > MAX_BYTES {
        return Err(fail("it would be too large to be read again"));
    }
    disk::save(disk, &path, Access::Usual, contents.as_bytes())?;
    Ok(SavedPointer { path, was_unusable })
}

fn is_object(bytes: &[u8]) -> bool {
    serde_json::from_slice::<IndexMap<String, Box<RawValue>>>(bytes).is_ok()
}
