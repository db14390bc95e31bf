//! The last members of conversation records: the program that wrote them, the directory, the session and the branch.
//! They are the same from one record to the next, so they need not be parsed again (measured on 2.1.330 and 2.1.197).

use memchr::{memchr, memchr3};

use crate::agent::prelude::*;
use crate::format::skim::{self, Raw};

/// The beginning of a trailer.
const FIRST: &[u8] = br#","entrypoint":"#;

/// The end of a record, from the member `entrypoint` on.
#[derive(Default)]
pub(super) struct Trailer {
    bytes: Vec<u8>,
    /// Set if it is the trailer of the first record with a directory.
    pub is_first: bool,
}

impl Trailer {
    /// Stores the trailer of a record, if it has one.
    pub(super) fn note(&mut self, line: &[u8], entrypoint: Raw<'_>) {
        if self.ends(line).is_some() {
            return;
        }
        self.bytes.clear();
        self.is_first = false;
        let Some(at) = entrypoint.offset_in(line).and_then(|at| at.checked_sub(FIRST.len())) else { return };
        let (_, trailer) = line.split_at(at);
        // A bracket may belong to the content.
        let is_flat = |members: &[u8]| memchr3(b'{', b'}', b'[', members).or_else(|| memchr(b']', members)).is_none();
        if trailer.starts_with(FIRST) && trailer.strip_suffix(b"}").is_some_and(is_flat) {
            self.bytes.extend_from_slice(trailer);
        }
    }

    /// Returns the part of a record before the trailer, if the record ends with this trailer.
    fn ends<'l>(&self, line: &'l [u8]) -> Option<&'l [u8]> {
        line.strip_suffix(&*self.bytes).filter(|_| !self.bytes.is_empty())
    }

    /// Parses the members between the content and the trailer of a record; `None` if it does not end with this trailer,
    /// or lacks a type or a time.
    pub(super) fn before<'l>(&self, line: &'l [u8]) -> Option<Before<'l>> {
        let rest = self.ends(line)?;
        let [mut kind, mut timestamp] = [Raw::default(); 2];
        skim::last_members(rest, |name, value| {
            match name {
                b"type" => kind = value,
                b"timestamp" => timestamp = value,
                _ => {}
            }
            let knows_both = kind.is_text() && timestamp.is_text();
            if knows_both { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        (kind.is_text() && timestamp.is_text()).then_some(Before { kind, timestamp })
    }
}

/// The members between the content and the trailer of a record.
pub(super) struct Before<'l> {
    /// The type of the record.
    pub kind: Raw<'l>,
    /// The time of the record.
    pub timestamp: Raw<'l>,
}
