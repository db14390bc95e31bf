//! Data that a process has open: data found in use must stay unchanged.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::disk::memory::{Actor, Memory};
use crate::tests::explore::setup::{files_at, place};
use crate::tests::scenarios::{FileContents, ScenarioDirs};

/// A path that exists while a process uses the data.
const HELD: &str = "/home/held";

/// Data that a process used, with its files at that moment.
#[derive(Default)]
pub(super) struct DataInUse(Rc<RefCell<Vec<(PathBuf, FileContents)>>>);

impl DataInUse {
    /// Makes a process use the data from now on.
    pub(super) fn begin(actor: &Actor<'_>) {
        actor.save_file(HELD, "9");
    }

    /// Returns a place on a disk that records each check for use.
    pub(super) fn place(&self, memory: &Memory) -> ScenarioDirs {
        let (looked, disk) = (Rc::clone(&self.0), memory.clone());
        let is_held = move |paths: &[&Path]| {
            let is_held = disk.actor().read(HELD).is_some();
            if is_held {
                looked.borrow_mut().extend(paths.iter().map(|path| ((*path).to_owned(), files_at(&disk, path))));
            }
            is_held
        };
        ScenarioDirs { is_held: Box::new(is_held), ..place(memory) }
    }

    /// Returns the first path that changed after it was found in use.
    pub(super) fn touched(&self, memory: &Memory) -> Option<PathBuf> {
        let looked = self.0.borrow();
        looked.iter().find(|(path, was)| files_at(memory, path) != *was).map(|(path, _)| path.clone())
    }
}
