//! Compares a session with an earlier state of it: finds unchanged content, and checks whether a newer state loses any.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::Writer;
use crate::agent::Agent;
use crate::archive::inventory::InventoryEntry;
use crate::archive::manifest::{Node, Role};
use crate::archive::rows;
use crate::archive::{Archive, Manifest};
use crate::session::{Session, SessionCopy};
use crate::system::fsio::Kind;

/// Minimum age of a file's content, in seconds, for its size and time to distinguish it from any later content.
const SETTLED: i64 = 2;

/// Files whose content the archive holds, by their original paths.
pub(super) type Known<'k> = HashMap<PathBuf, KnownFile<'k>>;

pub(super) struct KnownFile<'k> {
    modified: (i64, i64),
    node: &'k Node,
}

/// Returns the files of an archived state that cannot have changed since without a new modification time.
pub(super) fn known_files(manifest: &Manifest) -> Known<'_> {
    let last = manifest.archived_at.as_second() - SETTLED;
    let settled = manifest.files().map(|(entry, ..)| entry).filter(|entry| entry.modified.0 < last);
    settled.map(|it| (manifest.original(it), KnownFile { modified: it.modified, node: &it.node })).collect()
}

impl Writer<'_> {
    /// Checks whether a session consists only of rows, and a state of it has exactly these rows.
    pub(super) fn has_rows_of(&self, session: &Session, agent: &dyn Agent, state: &Manifest) -> bool {
        let is_same = |copy: &SessionCopy| {
            let then = agent.agent_managed(&copy.place).and_then(|_| state.rows_of(&copy.place.path));
            then.is_some_and(|then| rows::are_same(&copy.place, agent, then, self.archive))
        };
        state.copies.len() == session.copies.len() && session.copies.iter().all(is_same)
    }

    /// Returns the archived node of a file if its size and time show no change since, and its chunks are there.
    pub(super) fn unchanged<'k>(&self, path: &Path, piece: &InventoryEntry, known: &Known<'k>) -> Option<&'k Node> {
        let node = known.get(path).filter(|known| known.modified == piece.state.modified)?.node;
        let Node::File { size, chunks, .. } = node else { return None };
        let is_there = |name: &String| {
            let blob = self.archive.look(&self.archive.blob(name));
            matches!(blob, Ok(Some(blob)) if blob.kind == Kind::File && blob.size > 0)
        };
        (*size == piece.state.size && chunks.iter().all(is_there)).then_some(node)
    }
}

/// Checks whether a newer state has everything of an older one: each file is the same or continues the older file.
pub(super) fn is_within(old: &Manifest, new: &Manifest, archive: &Archive, agent: &dyn Agent) -> bool {
    old.entries.iter().all(|entry| {
        let Some((size, sha256, chunks)) = entry.node.content() else { return true };
        let is_state =
            || entry.path.file_name().and_then(|name| name.to_str()).is_some_and(|name| (agent.about().is_state)(name));
        let newer = || new.file(&old.stores[entry.store].0, &entry.path);
        if let Node::Rows { .. } = entry.node {
            return newer().is_some_and(|newer| {
                newer.1 == sha256 || rows::are_within((sha256, chunks), (newer.1, newer.2), archive)
            });
        }
        size == 0
            || entry.role == Role::Companion
            || newer().is_some_and(|(_, digest, newer)| digest == sha256 || goes_on(chunks, newer, archive))
            || is_state()
    })
}

/// Checks whether a file begins with all content of its older state, by comparing chunks.
pub(super) fn goes_on(old: &[String], new: &[String], archive: &Archive) -> bool {
    let Some((last, full)) = old.split_last() else { return true };
    let Some(same_place) = new.get(full.len()).filter(|_| new.starts_with(full)) else { return false };
    let both = || archive.chunk(last).ok().zip(archive.chunk(same_place).ok());
    last == same_place || both().is_some_and(|(last, newer)| newer.starts_with(&last))
}
