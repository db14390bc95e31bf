//! Finds the transcripts that may contain the words of a search, or similar words, from their bytes. Each file is read
//! once.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::probe::{MAX_SEARCHED_FIRST, any_window};
use crate::agent::Agent;
use crate::session::Located;
use crate::session::terms::SearchWords;
use near::{Encoding, has_near};
use pieces::{Pieces, SieveWords};

mod near;
mod pieces;

/// Number of bytes by which windows overlap, so that no word is cut.
const OVERLAP: usize = 64;

/// A filter for the files of a search.
#[derive(Debug)]
pub(crate) struct Sieve<'w> {
    pub words: &'w SearchWords,
    /// Finds the words; `None` if no file can be excluded by its bytes.
    pieces: Option<Pieces>,
    /// The words that some file has, so that similar words are not needed; bit 0 is the first word.
    seen: AtomicU32,
    looked: Mutex<HashMap<PathBuf, FileWords>>,
}

/// The words of a file; bit 0 of a mask is the first word.
#[derive(Clone, Copy, Debug, Default)]
struct FileWords {
    /// Set if the file may have any of the words.
    has_word: bool,
    /// The words to which a word in the file is similar.
    near: u32,
    /// The words that were searched for in the whole file.
    known: u32,
}

impl<'w> Sieve<'w> {
    pub(crate) fn new(words: &'w SearchWords) -> Self {
        Self { words, pieces: Pieces::from_words(words), seen: AtomicU32::new(0), looked: Mutex::default() }
    }

    /// Creates a filter that accepts everything.
    #[cfg(test)]
    pub(super) fn open(words: &'w SearchWords) -> Self {
        Self { pieces: None, ..Self::new(words) }
    }

    /// Returns whether a record may have any of the words.
    pub(super) fn may_be_in(&self, record: &[u8]) -> bool {
        let has =
            |pieces: &Pieces| pieces.search(record, SieveWords { words: self.all_words(), ..SieveWords::default() });
        self.pieces.as_ref().map(has).is_none_or(|has| has.words != 0 || has.anything)
    }

    /// Returns whether the file of a copy may have any of the words.
    pub(super) fn may_be_in_copy(&self, agent: &dyn Agent, place: &Located) -> bool {
        agent.verbatim(place).is_none_or(|file| self.search_file(&file, u64::MAX).has_word)
    }

    /// Returns whether a session must be read: its file has a word, or a word similar to one that no file had so far. A
    /// large file is searched after its session was read.
    pub(crate) fn passes(&self, agent: &dyn Agent, place: &Located) -> bool {
        let looked = |file: PathBuf| self.search_file(&file, MAX_SEARCHED_FIRST);
        agent.verbatim(place).map(looked).is_none_or(|looked| looked.has_word || looked.near != 0)
    }

    /// Returns whether [`Sieve::passes`] accepted every session with a word similar to one of these.
    pub(crate) fn passed_near(&self, terms: &[usize]) -> bool {
        let Some(pieces) = &self.pieces else { return true };
        let seen = self.seen.load(Ordering::Relaxed);
        let is_known = |term: usize| !self.has_near(&[term]) || pieces.finds_near(term) && seen & 1 << term == 0;
        terms.iter().all(|term| is_known(*term))
    }

    /// Returns whether words similar to one of these are searched for.
    pub(crate) fn has_near(&self, terms: &[usize]) -> bool {
        terms.iter().any(|term| self.words.terms[*term].word().is_some_and(has_near))
    }

    /// Returns whether the file of a copy may have a word similar to a word.
    pub(crate) fn near_may_be_in_copy(&self, term: usize, agent: &dyn Agent, place: &Located) -> bool {
        let Some(file) = agent.verbatim(place).filter(|_| self.pieces.is_some()) else { return true };
        let (known, bit) = (self.lock().get(&file).copied().unwrap_or_default(), 1 << term);
        if known.known & bit != 0 {
            return known.near & bit != 0;
        }
        let is_near =
            any_window(&file, u64::MAX, OVERLAP, &mut |bytes| self.near_may_be_in(term, bytes, Encoding::Json));
        if let Some(looked) = self.lock().get_mut(&file) {
            looked.known |= bit;
            looked.near |= u32::from(is_near) << term;
        }
        is_near
    }

    /// Returns whether a record of JSON may contain a word similar to a word.
    pub(super) fn near_may_be_in_record(&self, term: usize, record: &[u8]) -> bool {
        self.near_may_be_in(term, record, Encoding::Json)
    }

    /// Returns whether a text may contain a word similar to a word.
    pub(super) fn near_may_be_in_text(&self, term: usize, text: &str) -> bool {
        self.near_may_be_in(term, text.as_bytes(), Encoding::Text)
    }

    fn near_may_be_in(&self, term: usize, bytes: &[u8], encoding: Encoding) -> bool {
        let pieces = self.pieces.as_ref().filter(|pieces| pieces.finds_near(term));
        let requested = SieveWords { near: 1 << term, encoding, ..SieveWords::default() };
        pieces.map(|pieces| pieces.search(bytes, requested)).is_none_or(|has| has.near != 0 || has.anything)
    }

    fn search_file(&self, file: &Path, most: u64) -> FileWords {
        let Some(pieces) = &self.pieces else { return FileWords { has_word: true, ..FileWords::default() } };
        if let Some(looked) = self.lock().get(file) {
            return *looked;
        }
        let is_near_found = |term: &usize| pieces.finds_near(*term);
        let with_near = (0..self.words.terms.len()).filter(is_near_found).fold(0, |terms, term| terms | 1 << term);
        let unseen = self.all_words() & !self.seen.load(Ordering::Relaxed);
        let mut looked = FileWords { known: unseen & with_near, ..FileWords::default() };
        let is_found = any_window(file, most, OVERLAP.max(pieces.longest()), &mut |bytes| {
            let requested = SieveWords { words: self.all_words(), unseen, near: looked.known, ..SieveWords::default() };
            let has = pieces.search(bytes, requested);
            self.seen.fetch_or(has.words, Ordering::Relaxed);
            looked.near |= has.near;
            looked.has_word = has.words != 0 || has.anything;
            looked.has_word
        });
        if is_found && !looked.has_word {
            // The file is too long, or cannot be read.
            return FileWords { has_word: true, ..FileWords::default() };
        }
        if looked.has_word {
            looked.known = 0;
        }
        self.lock().insert(file.to_owned(), looked);
        looked
    }

    /// Returns the mask of all words.
    fn all_words(&self) -> u32 {
        self.words.terms.iter().enumerate().fold(0, |terms, (term, _)| terms | 1 << term)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, FileWords>> {
        self.looked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
