//! Reads what was packed, in the same order.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use strum::VariantArray as _;

use super::Shared;
use crate::session::{Choice, Comparison, Copy, Evidence, Fact, Health, Kin, Liveness, Located, Session, SessionKind};

/// Reads what was packed, in the same order.
pub(super) struct Unpacker<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) shared: &'a Shared,
}

impl<'a> Unpacker<'a> {
    pub(super) fn session(&mut self) -> Session {
        let id = self.text();
        let copies: Vec<Copy> = (0..self.number()).map(|_| self.copy(id)).collect();
        let why = self.phrase();
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

    pub(super) fn copy(&mut self, id: &str) -> Copy {
        let place = self.place(id);
        let kind = match self.byte() {
            0 => SessionKind::Main,
            1 => SessionKind::Fork,
            2 => SessionKind::Exec,
            3 => SessionKind::Saved,
            4 => SessionKind::Subagent,
            5 => SessionKind::Archived,
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
            not_after: self.option(Self::time),
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

    pub(super) fn place(&mut self, id: &str) -> Located {
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
        Evidence { dir: self.shared_word().into(), source: self.source(), detail: self.phrase(), counts: self.flag() }
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

    #[inline]
    fn number(&mut self) -> u64 {
        match self.byte() {
            small @ ..0x80 => small.into(),
            lowest => self.large_number(lowest),
        }
    }

    fn large_number(&mut self, lowest: u8) -> u64 {
        let mut number = u64::from(lowest & 0x7f);
        for shift in (7..u64::BITS).step_by(7) {
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

    pub(super) fn text(&mut self) -> &'a str {
        str::from_utf8(self.bytes()).unwrap_or_default()
    }

    fn shared_word(&mut self) -> &'a OsStr {
        OsStr::from_bytes(self.shared.word(self.index()))
    }

    fn shared_text(&mut self) -> &'a str {
        str::from_utf8(self.shared_word().as_bytes()).unwrap_or_default()
    }

    fn phrase(&mut self) -> Cow<'static, str> {
        match self.index() {
            0 => Cow::Owned(self.shared_text().to_owned()),
            at => Cow::Borrowed(self.shared.sources[at - 1]),
        }
    }

    fn source(&mut self) -> &'static str {
        self.shared.sources[self.index()]
    }
}
