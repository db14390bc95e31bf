//! Writes the planned session-info.json files.

use std::path::Path;

use super::session_info;
use crate::error::reason;
use crate::format::session_info::{FILE_NAME, MAX_BYTES, parse};
use crate::fsio;
use crate::plan::backfill::{Action, Item};

/// What became of one planned item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// The file was written.
    Written,
    /// The file was good as it was.
    Kept,
    /// Nothing certain could be written.
    Refused,
    /// It could not be written, for this reason.
    Failed(String),
}

/// Carries a plan out, item by item; one that fails does not keep the others from being done.
pub fn apply(plan: Vec<Item>) -> Vec<(Item, Done)> {
    plan.into_iter()
        .map(|item| {
            let done = apply_item(&item);
            (item, done)
        })
        .collect()
}

/// Carries one item out.
pub fn apply_item(item: &Item) -> Done {
    let (working_dir, created_at) = match &item.action {
        Action::Write { working_dir, created_at, .. } => (working_dir, *created_at),
        Action::Keep => return Done::Kept,
        Action::Refuse { .. } => return Done::Refused,
    };
    if let Err(why) = look_again(&item.session_dir) {
        return Done::Failed(why);
    }
    match session_info::record(&item.session_dir, working_dir, created_at) {
        Ok(()) => Done::Written,
        Err(error) => Done::Failed(error.to_string()),
    }
}

/// Checks that the directory is still a directory and still lacks a usable file.
fn look_again(session_dir: &Path) -> Result<(), String> {
    let metadata = session_dir.symlink_metadata().map_err(|error| reason(&error))?;
    if !metadata.is_dir() {
        return Err("its directory is no longer a directory".to_owned());
    }
    match fsio::read_if_present(&session_dir.join(FILE_NAME), MAX_BYTES) {
        Ok(Some(bytes)) if parse(&bytes, Path::to_owned).is_ok() => {
            Err("another program has written its session-info.json meanwhile".to_owned())
        }
        _ => Ok(()),
    }
}
