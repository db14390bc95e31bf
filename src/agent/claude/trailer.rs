//! How the records of a conversation end: with what wrote them, where, in which session and on which branch. That is the same
//! from one record to the next, so it need not be read again (measured on 2.1.330 and 2.1.197).

use std::ops::ControlFlow;

use memchr::{memchr, memchr3};

use crate::format::skim::{self, Raw};

/// How a trailer begins.
const FIRST: &[u8] = br#","entrypoint":"#;

/// The end of a record, from the member that says what wrote it.
#[derive(Default)]
pub(super) struct Trailer {
    bytes: Vec<u8>,
    /// Whether it is that of the first record that says where it was written.
    pub is_first: bool,
}

impl Trailer {
    /// Takes the end of a record that says at its end what wrote it, and where.
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

    /// Returns what stands before it in a record that ends in the same way.
    fn ends<'l>(&self, line: &'l [u8]) -> Option<&'l [u8]> {
        line.strip_suffix(&*self.bytes).filter(|_| !self.bytes.is_empty())
    }

    /// Reads what stands between the content and the trailer of a record that ends in the same way; `None` if it does not, or
    /// if its sort or its time is not there.
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

/// What stands between the content and the trailer of a record.
pub(super) struct Before<'l> {
    /// What sort of record it is.
    pub kind: Raw<'l>,
    /// When it was written.
    pub timestamp: Raw<'l>,
}
