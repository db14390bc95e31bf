//! Sessions that a process uses: what is found in use when it is looked at must be left as it is.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::change::apply::explore::start::{at, place};
use crate::change::apply::scenarios::{Files, Place};
use crate::system::disk::memory::{Actor, Memory};

/// There while a process uses the sessions.
const HELD: &str = "/home/held";

/// What was in use when it was looked at, as it was then.
#[derive(Default)]
pub(super) struct Held(Rc<RefCell<Vec<(PathBuf, Files)>>>);

impl Held {
    /// Has a process use the sessions from now on.
    pub(super) fn begin(actor: &Actor<'_>) {
        actor.put(HELD, "9");
    }

    /// Returns the place on a disk where each look is remembered.
    pub(super) fn place(&self, memory: &Memory) -> Place {
        let (looked, disk) = (Rc::clone(&self.0), memory.clone());
        let is_held = move |paths: &[&Path]| {
            let is_held = disk.actor().read(HELD).is_some();
            if is_held {
                looked.borrow_mut().extend(paths.iter().map(|path| ((*path).to_owned(), at(&disk, path))));
            }
            is_held
        };
        Place { is_held: Box::new(is_held), ..place(memory) }
    }

    /// Returns what is not as it was when it was looked at.
    pub(super) fn touched(&self, memory: &Memory) -> Option<PathBuf> {
        let looked = self.0.borrow();
        looked.iter().find(|(path, was)| at(memory, path) != *was).map(|(path, _)| path.clone())
    }
}
