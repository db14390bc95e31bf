//! Sessions in little memory: the words that many of them share are kept once, and the rest as bytes in a row.
//!
//! A hundred thousand sessions as [`Session`] are 280 MB. Here they are a tenth of that; one at a time is unpacked.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::Arc;

use crate::session::{Copy, Located, Pointer, Session, Store};
pub(crate) use packer::Packer;
use unpacker::Unpacker;

mod packer;
#[cfg(test)]
mod tests;
mod unpacker;

/// Sessions that were packed together, so that they share their words.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    bytes: Vec<u8>,
    /// Where each session begins.
    starts: Vec<u32>,
    shared: Shared,
}

/// What several sessions have in common.
#[derive(Debug, Default)]
struct Shared {
    stores: Vec<Arc<Store>>,
    /// Directories, projects, models and the like, one after the other: many small pieces that stay would leave holes
    /// where larger ones do not fit.
    words: Vec<u8>,
    /// Where each word ends.
    ends: Vec<u32>,
    /// The names of sources and other words that are part of the program.
    sources: Vec<&'static str>,
    /// What few sessions have is not worth bytes of its own.
    pointers: Vec<Vec<Pointer>>,
}

impl Shared {
    fn word(&self, at: usize) -> &[u8] {
        let end = |at: usize| usize::try_from(self.ends[at]).unwrap_or(usize::MAX);
        let start = at.checked_sub(1).map_or(0, end);
        &self.words[start..end(at)]
    }
}

impl Packed {
    /// Returns the id of a session.
    pub(crate) fn id(&self, at: usize) -> &str {
        self.from(at).text()
    }

    /// Returns how many places or sessions there are.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns the stores of what is packed.
    pub(crate) fn stores(&self) -> impl Iterator<Item = &Store> {
        self.shared.stores.iter().map(Arc::as_ref)
    }

    /// Unpacks every place, one after the other.
    pub(crate) fn places(&self) -> impl Iterator<Item = Located> {
        (0..self.starts.len()).map(|at| {
            let mut place = self.from(at);
            let id = place.text();
            place.place(id)
        })
    }

    /// Unpacks every session, one after the other.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = Session> {
        (0..self.starts.len()).map(|at| self.get(at))
    }

    /// Unpacks the copies in these projects, each named by its store and its name.
    pub(crate) fn copies_in(&self, projects: &BTreeSet<(&Path, &Arc<str>)>) -> impl Iterator<Item = Copy> {
        let names: HashSet<&[u8]> = projects.iter().map(|(_, project)| project.as_bytes()).collect();
        let has_any = (0..self.shared.ends.len()).any(|at| names.contains(self.shared.word(at)));
        let is_in = |copy: &Copy| {
            let project = copy.place.project.as_ref();
            project.is_some_and(|project| projects.contains(&(copy.place.store.root.as_path(), project)))
        };
        let sessions = Some(()).filter(|()| has_any).into_iter().flat_map(|()| self.sessions());
        sessions.flat_map(|session| session.copies).filter(is_in)
    }

    /// Unpacks a session.
    pub(crate) fn get(&self, at: usize) -> Session {
        self.from(at).session()
    }

    fn from(&self, at: usize) -> Unpacker<'_> {
        let start = usize::try_from(self.starts[at]).unwrap_or(usize::MAX);
        Unpacker { bytes: &self.bytes[start..], shared: &self.shared }
    }
}
