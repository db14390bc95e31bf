//! How the records of a conversation end: with what wrote them, where, in which session and on which branch. That is the same
//! from one record to the next, so it need not be read again (measured on 2.1.330 and 2.1.197).

use std::ops::ControlFlow;

use crate::format::skim::{self, Raw};

/// How a trailer begins.
const FIRST: &[u8] = br#","entrypoint":"#;

/// The end of a record, from the member that says what wrote it.
#[derive(Default)]
pub(super) struct Trailer(Vec<u8>);

impl Trailer {
    /// Takes the end of a record that says at its end what wrote it, and where.
    pub(super) fn note(&mut self, line: &[u8], entrypoint: Raw<'_>) {
        self.0.clear();
        let Some(at) = entrypoint.offset_in(line).and_then(|at| at.checked_sub(FIRST.len())) else { return };
        let (_, trailer) = line.split_at(at);
        // A bracket may belong to the content.
        let is_flat = |members: &[u8]| !members.iter().any(|byte| matches!(byte, b'{' | b'}' | b'[' | b']'));
        if trailer.starts_with(FIRST) && trailer.strip_suffix(b"}").is_some_and(is_flat) {
            self.0.extend_from_slice(trailer);
        }
    }

    /// Reads what stands between the content and the trailer of a record that ends in the same way; `None` if it does not, or
    /// if its sort or its time is not there.
    pub(super) fn before<'l>(&self, line: &'l [u8]) -> Option<Before<'l>> {
        let rest = line.strip_suffix(&*self.0).filter(|_| !self.0.is_empty())?;
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
