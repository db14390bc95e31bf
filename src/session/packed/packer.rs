//! Packs places and sessions one after the other.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use foldhash::HashMap;
use jiff::Timestamp;

use super::{Packed, Shared};
use crate::session::{Choice, Comparison, Copy, Evidence, Health, Kin, Liveness, Located, Session};

/// Packs sessions one after the other.
#[derive(Debug, Default)]
pub(crate) struct Packer {
    packed: Packed,
    /// Where each shared word is.
    known: HashMap<Box<[u8]>, u32>,
    /// Those of the session before in their order, which are most often meant again: sessions of a project come one after
    /// the other.
    before: Vec<u32>,
    /// How many words the session that is being packed has so far.
    words: usize,
}

impl Packer {
    /// Packs a place; it is the next one in its order. What holds places holds no sessions.
    pub(crate) fn push_place(&mut self, place: &Located) {
        self.begin();
        self.text(&place.id);
        self.place(place);
    }

    fn begin(&mut self) {
        let start = u32::try_from(self.packed.bytes.len()).unwrap_or(u32::MAX);
        self.packed.starts.push(start);
        self.words = 0;
    }

    /// Packs a session; it is the next one in its order.
    pub(crate) fn push(&mut self, session: Session) {
        self.begin();
        // Whoever adds a field has to pack it, too.
        let Session { agent, id, copies, choice, pointers, launch_dir_exists, health, is_pinned, kin } = session;
        let Choice { why, is_decided, comparisons } = choice;
        self.text(&id);
        // The agent is that of its copies.
        debug_assert!(copies.iter().all(|copy| copy.place.agent() == agent && copy.place.id == id));
        self.number(copies.len() as u64);
        copies.into_iter().for_each(|copy| self.copy(copy));
        self.phrase(why);
        self.flag(is_decided);
        self.number(comparisons.len() as u64);
        comparisons.into_iter().for_each(|comparison| self.comparison(comparison));
        if pointers.is_empty() {
            self.number(0);
        } else {
            self.packed.shared.pointers.push(pointers);
            self.number(self.packed.shared.pointers.len() as u64);
        }
        self.packed.bytes.push(launch_dir_exists.map_or(2, u8::from));
        self.health(&health);
        self.flag(is_pinned);
        self.packed.bytes.push(match kin {
            None => 0,
            Some(Kin::Earlier) => 1,
            Some(Kin::Worktree) => 2,
        });
    }

    /// Returns what was packed.
    pub(crate) fn finish(self) -> Packed {
        let mut packed = self.packed;
        packed.bytes.shrink_to_fit();
        packed.starts.shrink_to_fit();
        packed.shared.words.shrink_to_fit();
        packed.shared.ends.shrink_to_fit();
        packed
    }

    fn copy(&mut self, copy: Copy) {
        let Copy {
            place,
            kind,
            title,
            first_prompt,
            launch_dir,
            start_dir,
            last_dir,
            created_at,
            active_at,
            not_after,
            size_bytes,
            is_size_known,
            transcript_bytes,
            modified_at,
            temporary,
            prompts,
            replies,
            model,
            git_branch,
            parent_id,
            liveness,
            is_filed_right,
            health,
            evidence,
            notes,
        } = copy;
        self.place(&place);
        self.packed.bytes.push(kind as u8);
        for fact in [title, first_prompt] {
            self.option(fact, |packer, fact| {
                packer.source(fact.source);
                packer.text(&fact.value);
            });
        }
        for fact in [launch_dir, start_dir, last_dir] {
            self.option(fact, |packer, fact| {
                packer.source(fact.source);
                packer.shared_word(fact.value.as_os_str().as_bytes());
            });
        }
        for fact in [created_at, active_at] {
            self.option(fact, |packer, fact| {
                packer.source(fact.source);
                packer.time(fact.value);
            });
        }
        self.option(not_after, Self::time);
        self.number(size_bytes);
        self.flag(is_size_known);
        self.number(transcript_bytes);
        self.option(modified_at, Self::time);
        self.number(temporary.len() as u64);
        temporary.iter().for_each(|path| self.bytes(path.as_os_str().as_bytes()));
        self.option(prompts, Self::number);
        self.option(replies, Self::number);
        for fact in [model, git_branch] {
            self.option(fact, |packer, fact| {
                packer.source(fact.source);
                packer.shared_word(fact.value.as_bytes());
            });
        }
        self.option(parent_id, |packer, id| packer.text(&id));
        match liveness {
            Liveness::Idle => self.number(0),
            Liveness::Live { pid } => {
                self.number(1);
                self.number(pid.into());
            }
            Liveness::Maybe { why } => {
                self.number(2);
                self.text(&why);
            }
        }
        self.flag(is_filed_right);
        self.health(&health);
        self.number(evidence.len() as u64);
        for Evidence { dir, source, detail, counts } in evidence {
            self.shared_word(dir.as_os_str().as_bytes());
            self.source(source);
            self.phrase(detail);
            self.flag(counts);
        }
        self.number(notes.len() as u64);
        notes.iter().for_each(|note| self.shared_word(note.as_bytes()));
    }

    fn place(&mut self, place: &Located) {
        let Located { store, project, id, path, side_dir, parent_id, is_subagent } = place;
        let stores = &mut self.packed.shared.stores;
        let at = stores.iter().position(|known| Arc::ptr_eq(known, store)).unwrap_or_else(|| {
            stores.push(Arc::clone(store));
            stores.len() - 1
        });
        self.number(at as u64);
        self.option(project.as_ref(), |packer, project| packer.shared_word(project.as_bytes()));
        self.path(path, id);
        self.option(side_dir.as_deref(), |packer, dir| packer.path(dir, id));
        self.option(parent_id.as_ref(), |packer, id| packer.text(id));
        self.flag(*is_subagent);
    }

    /// Packs a path, whose last name most often begins with the id.
    fn path(&mut self, path: &Path, id: &str) {
        let bytes = path.as_os_str().as_bytes();
        let name = memchr::memrchr(b'/', bytes).map_or(0, |slash| slash + 1);
        let (dir, name) = bytes.split_at(name);
        self.shared_word(dir);
        match name.strip_prefix(id.as_bytes()) {
            Some(rest) => {
                self.flag(true);
                self.shared_word(rest);
            }
            None => {
                self.flag(false);
                self.bytes(name);
            }
        }
    }

    fn comparison(&mut self, comparison: Option<Comparison>) {
        let (sort, number) = match comparison {
            None => (0, 0),
            Some(Comparison::Identical) => (1, 0),
            Some(Comparison::Longer { common }) => (2, common),
            Some(Comparison::Shorter { common }) => (3, common),
            Some(Comparison::Diverged { record }) => (4, record),
        };
        self.number(sort);
        self.number(number);
    }

    fn health(&mut self, health: &BTreeSet<Health>) {
        self.number(health.iter().fold(0, |bits, health| bits | 1 << (*health as u32)));
    }

    fn option<T>(&mut self, value: Option<T>, pack: impl FnOnce(&mut Self, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            pack(self, value);
        }
    }

    fn flag(&mut self, flag: bool) {
        self.packed.bytes.push(flag.into());
    }

    /// Packs a number, a small one in a byte: seven bits each, the lowest first.
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.packed.bytes.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.packed.bytes.push(number as u8);
    }

    fn time(&mut self, time: Timestamp) {
        self.packed.bytes.extend_from_slice(&time.as_second().to_le_bytes());
        self.packed.bytes.extend_from_slice(&time.subsec_nanosecond().to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.packed.bytes.extend_from_slice(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn shared_word(&mut self, word: &[u8]) {
        let shared = &self.packed.shared;
        let place = self.words;
        self.words += 1;
        let is_it = |at: u32| usize::try_from(at).is_ok_and(|at| shared.word(at) == word);
        if let Some(at) = self.before.get(place).copied().filter(|at| is_it(*at)) {
            return self.number(at.into());
        }
        let at = match self.known.get(word) {
            Some(at) => *at,
            None => {
                let Shared { words, ends, .. } = &mut self.packed.shared;
                let at = u32::try_from(ends.len()).unwrap_or(u32::MAX);
                words.extend_from_slice(word);
                ends.push(u32::try_from(words.len()).unwrap_or(u32::MAX));
                self.known.insert(word.into(), at);
                at
            }
        };
        match self.before.get_mut(place) {
            Some(before) => *before = at,
            None => self.before.push(at),
        }
        self.number(at.into());
    }

    /// Packs words, which are most often a part of the program.
    fn phrase(&mut self, words: Cow<'static, str>) {
        match words {
            Cow::Borrowed(words) => {
                let at = self.place_of_source(words);
                self.number(at as u64 + 1);
            }
            Cow::Owned(words) => {
                self.number(0);
                self.shared_word(words.as_bytes());
            }
        }
    }

    fn source(&mut self, source: &'static str) {
        let at = self.place_of_source(source);
        self.number(at as u64);
    }

    fn place_of_source(&mut self, source: &'static str) -> usize {
        let sources = &mut self.packed.shared.sources;
        // One name that stands at two places of the program may be kept twice.
        sources.iter().position(|known| std::ptr::eq(*known, source)).unwrap_or_else(|| {
            sources.push(source);
            sources.len() - 1
        })
    }
}
