//! One step of a change: done so that it can be taken back, whenever it was cut off.
//!
//! Each step is a few calls in an order in which every moment between two of them can be told apart by looking at the
//! disk. So taking back needs no memory of how far the step came.

mod carry;
mod contents;
mod error;
mod moving;
mod perform;
mod record;
mod revert;
mod spot;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::format::text::hex;
use crate::system::disk::{At, Disk, Handle, look_if_present};
use crate::system::stamp::{self, Stamp};
use contents::each_piece_of;
use spot::Spot;

pub(super) use error::StepError;
pub(super) use record::is_plain;
pub(super) use revert::StepState;

/// What the steps of one run share.
#[derive(Debug)]
pub(super) struct StepContext<'a> {
    pub(super) disk: &'a dyn Disk,
    /// The run's name, a part of every temporary name.
    pub(super) run: &'a str,
    /// The run's directory in the trash.
    pub(super) trash: Handle,
    /// The device and inode of what each step has made, by its name in the trash.
    ///
    /// Only what is known to be made here is ever taken away again: another program may write the very same.
    pub(super) made: RefCell<BTreeMap<String, (u64, u64)>>,
    /// Whether its paths were written down with the links in them, as older versions did.
    pub(super) has_links: bool,
    /// Directories with their links resolved.
    pub(super) resolved: RefCell<HashMap<PathBuf, PathBuf>>,
}

/// Notes what lies at a place as what a step, named by its place in the trash, is about to put in place.
type NoteMade<'n> = dyn FnMut(&str, At<'_>) -> io::Result<()> + 'n;

/// Notes what a step is about to put in place, so that a later run knows it again.
pub(super) type Note<'n> = dyn FnMut((u64, u64)) -> io::Result<()> + 'n;

impl StepContext<'_> {
    /// Returns the place of something in the trash.
    fn kept<'k>(&'k self, name: &'k str) -> At<'k> {
        (&self.trash, OsStr::new(name))
    }

    /// Returns the name under which a step has something that is not finished, beside the path that it changes.
    fn temporary(&self, kept: &str, ending: &str) -> String {
        format!(".rejoin-{}-{kept}.{ending}", self.run)
    }

    /// Returns the identity of what a step has made.
    fn made(&self, kept: &str) -> Option<(u64, u64)> {
        self.made.borrow().get(kept).copied()
    }

    /// Returns the identity of what is at a place.
    fn identity(&self, at: At<'_>) -> io::Result<Option<(u64, u64)>> {
        Ok(look_if_present(self.disk, at)?.map(|look| look.identity))
    }

    fn exists(&self, at: At<'_>) -> io::Result<bool> {
        Ok(look_if_present(self.disk, at)?.is_some())
    }

    /// Returns whether something is what was stamped, in the very directory that it was in.
    fn is_as_planned(&self, spot: &Spot<'_>, stamp: &Stamp) -> bool {
        stamp::take_on(self.disk, spot.at(), spot.path).is_ok_and(|found| found == *stamp)
    }

    /// Returns whether something is the very thing that was stamped, wherever it lies now.
    fn is_as(&self, at: At<'_>, stamp: &Stamp) -> bool {
        let found = stamp::take_on(self.disk, at, Path::new(at.1));
        found.is_ok_and(|found| Stamp { parent: stamp.parent, ..found } == *stamp)
    }

    /// Returns whether something has the size and time of what was stamped; a copy has another inode.
    fn is_like(&self, at: At<'_>, stamp: &Stamp) -> bool {
        let found = stamp::take_on(self.disk, at, Path::new(at.1));
        found
            .is_ok_and(|found| (found.is_dir, found.size, found.modified) == (stamp.is_dir, stamp.size, stamp.modified))
    }

    /// Returns whether a file is one that a step has made, with all that was written to it and no more.
    fn is_made(&self, at: At<'_>, kept: &str, sha256: &str) -> io::Result<bool> {
        if self.made(kept).is_none() || self.identity(at)? != self.made(kept) {
            return Ok(false);
        }
        let mut digest = Sha256::new();
        each_piece_of(self.disk, at, 0..u64::MAX, &mut |piece| {
            digest.update(piece);
            Ok(())
        })?;
        Ok(hex(&digest.finalize()) == sha256)
    }
}
