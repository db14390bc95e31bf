//! Sessions in little memory: the words that many of them share are kept once, and the rest as bytes in a row.
//!
//! A hundred thousand sessions as [`Session`] are 280 MB. Here they are a tenth of that; one at a time is unpacked.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use strum::VariantArray as _;

use crate::session::{
    Choice, Comparison, Copy, Evidence, Fact, Health, Kin, Liveness, Located, Pointer, Session, SessionKind, Store,
};

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
    /// The names of sources, which are part of the program.
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

/// Packs sessions one after the other.
#[derive(Debug, Default)]
pub(crate) struct Packer {
    packed: Packed,
    /// Where each shared word is.
    known: HashMap<Box<[u8]>, u32>,
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
        self.shared_word(why.as_bytes());
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
            self.shared_word(detail.as_bytes());
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
        self.number(at.into());
    }

    fn source(&mut self, source: &'static str) {
        let sources = &mut self.packed.shared.sources;
        let at = sources.iter().position(|known| *known == source).unwrap_or_else(|| {
            sources.push(source);
            sources.len() - 1
        });
        self.number(at as u64);
    }
}

impl Packed {
    /// Returns the id of a session.
    pub(crate) fn id(&self, at: usize) -> &str {
        self.from(at).text()
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

/// Reads what was packed, in the same order.
struct Unpacker<'a> {
    bytes: &'a [u8],
    shared: &'a Shared,
}

impl<'a> Unpacker<'a> {
    fn session(&mut self) -> Session {
        let id = self.text();
        let copies: Vec<Copy> = (0..self.number()).map(|_| self.copy(id)).collect();
        let why = self.shared_text().to_owned();
        let is_decided = self.flag();
        let comparisons = (0..self.number()).map(|_| self.comparison()).collect();
        let pointers = match self.index() {
            0 => Vec::new(),
            at => self.shared.pointers[at - 1].clone(),
        };
        Session {
            agent: copies[0].place.agent(),
            id: id.to_owned(),
            copies,
            choice: Choice { why, is_decided, comparisons },
            pointers,
            launch_dir_exists: Some(self.byte()).filter(|byte| *byte < 2).map(|byte| byte == 1),
            health: self.health(),
            is_pinned: self.flag(),
            kin: match self.byte() {
                1 => Some(Kin::Earlier),
                2 => Some(Kin::Worktree),
                _ => None,
            },
        }
    }

    fn copy(&mut self, id: &str) -> Copy {
        let place = self.place(id);
        let kind = match self.byte() {
            0 => SessionKind::Main,
            1 => SessionKind::Fork,
            2 => SessionKind::Exec,
            3 => SessionKind::Subagent,
            4 => SessionKind::Archived,
            _ => SessionKind::Empty,
        };
        // The fields are read in the order in which they stand here.
        Copy {
            place,
            kind,
            title: self.fact(|from| from.text().to_owned()),
            first_prompt: self.fact(|from| from.text().to_owned()),
            launch_dir: self.fact(|from| PathBuf::from(from.shared_word())),
            start_dir: self.fact(|from| PathBuf::from(from.shared_word())),
            last_dir: self.fact(|from| PathBuf::from(from.shared_word())),
            created_at: self.fact(Self::time),
            active_at: self.fact(Self::time),
            size_bytes: self.number(),
            is_size_known: self.flag(),
            transcript_bytes: self.number(),
            modified_at: self.option(Self::time),
            temporary: (0..self.number()).map(|_| PathBuf::from(OsStr::from_bytes(self.bytes()))).collect(),
            prompts: self.option(Self::number),
            replies: self.option(Self::number),
            model: self.fact(|from| from.shared_text().to_owned()),
            git_branch: self.fact(|from| from.shared_text().to_owned()),
            parent_id: self.option(|from| from.text().to_owned()),
            liveness: match self.number() {
                1 => Liveness::Live { pid: u32::try_from(self.number()).unwrap_or_default() },
                2 => Liveness::Maybe { why: self.text().to_owned() },
                _ => Liveness::Idle,
            },
            is_filed_right: self.flag(),
            health: self.health(),
            evidence: (0..self.number()).map(|_| self.evidence()).collect(),
            notes: (0..self.number()).map(|_| self.shared_text().to_owned()).collect(),
        }
    }

    fn place(&mut self, id: &str) -> Located {
        Located {
            store: Arc::clone(&self.shared.stores[self.index()]),
            project: self.option(|from| from.shared_text().into()),
            id: id.to_owned(),
            path: self.path(id).into(),
            side_dir: self.option(|from| from.path(id)),
            parent_id: self.option(|from| from.text().to_owned()),
            is_subagent: self.flag(),
        }
    }

    fn path(&mut self, id: &str) -> PathBuf {
        let dir = self.shared_word().as_bytes();
        let (beginning, rest) =
            if self.flag() { (id.as_bytes(), self.shared_word().as_bytes()) } else { (&[][..], self.bytes()) };
        OsString::from_vec([dir, beginning, rest].concat()).into()
    }

    fn evidence(&mut self) -> Evidence {
        Evidence {
            dir: self.shared_word().into(),
            source: self.source(),
            detail: self.shared_text().to_owned(),
            counts: self.flag(),
        }
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let (sort, number) = (self.number(), self.number());
        match sort {
            1 => Some(Comparison::Identical),
            2 => Some(Comparison::Longer { common: number }),
            3 => Some(Comparison::Shorter { common: number }),
            4 => Some(Comparison::Diverged { record: number }),
            _ => None,
        }
    }

    fn health(&mut self) -> BTreeSet<Health> {
        match self.number() {
            0 => BTreeSet::new(),
            bits => Health::VARIANTS.iter().copied().filter(|health| bits & 1 << (*health as u32) != 0).collect(),
        }
    }

    fn option<T>(&mut self, unpack: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.flag().then(|| unpack(self))
    }

    fn fact<T>(&mut self, unpack: impl FnOnce(&mut Self) -> T) -> Option<Fact<T>> {
        self.option(|from| {
            let source = from.source();
            Fact::new(unpack(from), source)
        })
    }

    fn byte(&mut self) -> u8 {
        let [byte] = self.array();
        byte
    }

    fn flag(&mut self) -> bool {
        self.byte() != 0
    }

    fn number(&mut self) -> u64 {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte();
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        number
    }

    fn index(&mut self) -> usize {
        usize::try_from(self.number()).unwrap_or(usize::MAX)
    }

    fn time(&mut self) -> Timestamp {
        let (second, nanosecond) = (i64::from_le_bytes(self.array()), i32::from_le_bytes(self.array()));
        Timestamp::new(second, nanosecond).unwrap_or_default()
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let (array, rest) = self.bytes.split_first_chunk().map_or(([0; N], self.bytes), |(array, rest)| (*array, rest));
        self.bytes = rest;
        array
    }

    fn bytes(&mut self) -> &'a [u8] {
        let length = self.index();
        let (bytes, rest) = self.bytes.split_at(length);
        self.bytes = rest;
        bytes
    }

    fn text(&mut self) -> &'a str {
        str::from_utf8(self.bytes()).unwrap_or_default()
    }

    fn shared_word(&mut self) -> &'a OsStr {
        OsStr::from_bytes(self.shared.word(self.index()))
    }

    fn shared_text(&mut self) -> &'a str {
        str::from_utf8(self.shared_word().as_bytes()).unwrap_or_default()
    }

    fn source(&mut self) -> &'static str {
        self.shared.sources[self.index()]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::session::AgentKind;
    use crate::session::tests::{copy, session};

    /// A copy in which everything is filled in that can be, with texts that differ.
    fn full(id: &str, text: &str, number: u64, at: Timestamp) -> Copy {
        let mut copy = copy(id);
        let fact = |source| Some(Fact::new(text.to_owned(), source));
        let dir = |name: &str| Some(Fact::new(PathBuf::from(format!("/w/{text}/{name}")), "transcript"));
        copy.place.side_dir = Some(format!("/s/projects/-p/{id}").into());
        copy.place.parent_id = Some(text.to_owned());
        copy.place.is_subagent = number.is_multiple_of(2);
        copy.kind =
            [SessionKind::Fork, SessionKind::Exec, SessionKind::Archived][usize::try_from(number % 3).unwrap_or(0)];
        (copy.title, copy.first_prompt) = (fact("custom-title"), fact("transcript"));
        (copy.launch_dir, copy.start_dir, copy.last_dir) = (dir("a"), dir("b"), dir("a"));
        copy.created_at = Some(Fact::new(at, "metadata"));
        copy.active_at = Some(Fact::new(Timestamp::MIN, "mtime"));
        (copy.size_bytes, copy.transcript_bytes, copy.is_size_known) = (number, number / 2, false);
        copy.modified_at = Some(Timestamp::MAX);
        copy.temporary = vec![OsString::from_vec(vec![b'/', 0xff, b't']).into()];
        (copy.prompts, copy.replies) = (Some(number), Some(0));
        (copy.model, copy.git_branch) = (fact("events"), fact("events"));
        copy.parent_id = Some(format!("parent of {id}"));
        copy.liveness = match number % 3 {
            0 => Liveness::Live { pid: u32::MAX },
            1 => Liveness::Maybe { why: text.to_owned() },
            _ => Liveness::Idle,
        };
        copy.is_filed_right = true;
        copy.health = Health::VARIANTS.iter().copied().skip(usize::try_from(number % 18).unwrap_or(0)).collect();
        copy.evidence = vec![Evidence {
            dir: text.into(),
            source: "pointer",
            detail: text.to_owned(),
            counts: number.is_multiple_of(2),
        }];
        copy.notes = vec![text.to_owned(), String::new()];
        copy
    }

    fn unpacked(sessions: &[Session]) -> Vec<Session> {
        let mut packer = Packer::default();
        sessions.iter().cloned().for_each(|session| packer.push(session));
        let packed = packer.finish();
        assert!(sessions.iter().enumerate().all(|(at, session)| packed.id(at) == session.id));
        packed.sessions().collect()
    }

    #[test]
    fn a_name_that_is_not_the_id_and_one_that_is_not_utf_8_come_back() {
        let mut odd = copy("a");
        for path in [&b"/x/b.db"[..], b"/x/a", b"relative", b"/", b"/x/\xff", b"a.jsonl"] {
            odd.place.path = Path::new(OsStr::from_bytes(path)).into();
            let session = session(vec![odd.clone()]);
            assert_eq!(unpacked(std::slice::from_ref(&session))[0].copy().place.path, session.copy().place.path);
        }
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back_as_it_was(
            parts in prop::collection::vec((".{0,40}", any::<u64>(), -10_000_000_000_i64..10_000_000_000, 0_i32..1_000_000_000, any::<bool>()), 1..6),
        ) {
            let sessions: Vec<Session> = parts
                .iter()
                .enumerate()
                .map(|(at, (text, number, second, nanosecond, is_bare))| {
                    let id = format!("{at}-{text}");
                    let time = Timestamp::new(*second, *nanosecond).unwrap_or_default();
                    if *is_bare {
                        return session(vec![copy(&id)]);
                    }
                    let mut session = session(vec![full(&id, text, *number, time), copy(&id)]);
                    session.choice.is_decided = false;
                    session.choice.comparisons =
                        vec![None, Some(Comparison::Diverged { record: *number }), Some(Comparison::Identical)];
                    session.launch_dir_exists = [None, Some(true), Some(false)][at % 3];
                    session.is_pinned = true;
                    session.kin = [None, Some(Kin::Earlier), Some(Kin::Worktree)][at % 3];
                    session.health = session.copy().health.clone();
                    session.pointers.push(Pointer {
                        agent: AgentKind::Leo,
                        path: text.into(),
                        dir: "/d".into(),
                        cwd: None,
                        session_id: Some(id),
                        name: None,
                        written_at: Some(time),
                    });
                    session
                })
                .collect();
            prop_assert_eq!(format!("{:?}", unpacked(&sessions)), format!("{sessions:?}"));
        }
    }
}
