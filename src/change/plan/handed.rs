//! Sessions that only their agent can remove, and that are handed to it.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use smallvec::SmallVec;

use crate::change::plan::change::{About, Change, Seen};
use crate::format::text::hex;

/// A session that its agent is to remove.
#[derive(Clone, Debug)]
pub(crate) struct Handed {
    /// Its agent, and its id.
    pub about: About,
    /// What people call it.
    pub title: Option<Box<str>>,
    /// Its copies, and those of its sub-agents, which go with it.
    pub seen: SmallVec<[Seen; 1]>,
    /// The stable name of the reason.
    pub code: &'static str,
    /// The reason.
    pub reason: Arc<str>,
    /// The agent's command that removes it.
    pub command: Vec<String>,
    /// What its rows hold, in bytes.
    pub size_bytes: u64,
}

/// Returns a short digest of a change and of what is handed over with it.
pub(crate) fn fingerprint(change: &Change, handed: &[Handed]) -> String {
    let own = change.fingerprint();
    if handed.is_empty() {
        return own;
    }
    let mut digest = Sha256::new().chain_update(&own);
    for one in handed {
        let words = one.command.iter().map(String::as_str).chain([one.code]);
        words.for_each(|word| digest.update([word.as_bytes(), &[0]].concat()));
        for seen in &one.seen {
            digest.update([seen.place.path.as_os_str().as_encoded_bytes(), &[0], seen.place.id.as_bytes()].concat());
            digest.update(seen.active_at.map_or(0, |at| at.as_microsecond()).to_le_bytes());
        }
    }
    hex(&digest.finalize()[..6])
}
