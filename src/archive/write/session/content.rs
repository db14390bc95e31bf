//! Stores content: files, the rows of a session, and last the manifest that names them.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::SessionWriter;
use crate::agent::Agent;
use crate::archive::chunks::{digest, each_chunk, pack};
use crate::archive::inventory::{InventoryEntry, InventoryError};
use crate::archive::machine_dir::{BlobFault, MAX_MANIFEST, manifest_name};
use crate::archive::manifest::{EntryContent, EntryRole};
use crate::archive::rows::{self, RowsError};
use crate::archive::write::tree;
use crate::archive::{MachineDir, Manifest};
use crate::error::PathError;
use crate::format::text::hex;
use crate::session::{Located, Session, SessionCopy};
use crate::system::disk::{self, Access, For};
use crate::system::fsio::{self, EntryKind};

impl SessionWriter<'_> {
    /// Stores a file; `size` is its size in bytes when it was listed.
    pub(super) fn file(&mut self, path: &Path, size: u64) -> Result<EntryContent, InventoryError> {
        if !self.reads && fsio::is_readable(path) {
            self.stored += size;
            return Ok(EntryContent::File { size, sha256: String::new(), chunks: Vec::new() });
        }
        let fail = |error: PathError| match error.kind() {
            io::ErrorKind::NotFound => InventoryError::Changed,
            _ => InventoryError::Failed(error.to_string()),
        };
        let (mut file, _) = fsio::open_regular(path).map_err(fail)?;
        let (mut whole, mut size, mut chunks) = (Sha256::new(), 0_u64, Vec::new());
        each_chunk(&mut file, |chunk| -> Result<(), InventoryError> {
            whole.update(chunk);
            size += chunk.len() as u64;
            chunks.push(self.chunk(chunk)?);
            Ok(())
        })?;
        Ok(EntryContent::File { size, sha256: hex(&whole.finalize()), chunks })
    }

    /// Stores the rows of a session in a database, from one snapshot of it.
    pub(super) fn rows(&mut self, place: &Located, agent: &dyn Agent) -> Result<EntryContent, InventoryError> {
        let of_plan = || self.sizes?.get(&(Arc::clone(&place.path), place.id.clone()));
        if let Some(size) = of_plan().filter(|_| !self.reads) {
            self.stored += size;
            return Ok(EntryContent::Rows { size: *size, sha256: String::new(), chunks: Vec::new() });
        }
        let mut chunks = Vec::new();
        let captured = rows::read_chunks(place, agent, &mut |chunk, is_first| {
            if is_first {
                chunks.clear();
            }
            chunks.push(self.chunk(chunk)?);
            Ok(())
        });
        match captured {
            Ok((size, sha256)) => Ok(EntryContent::Rows { size, sha256, chunks }),
            Err(RowsError::Missing) => Err(InventoryError::Changed),
            Err(RowsError::Refused(error)) => Err(error.into()),
            Err(RowsError::Unread(error)) => Err(InventoryError::Failed(error.to_string())),
        }
    }

    /// Stores a chunk unless the archive already has it undamaged; returns its name.
    fn chunk(&mut self, chunk: &[u8]) -> io::Result<String> {
        if !self.reads {
            self.stored += chunk.len() as u64;
            return Ok(String::new());
        }
        let name = digest(chunk);
        match self.own.chunk(&name) {
            Ok(_) => return Ok(name),
            // Write a damaged blob again.
            Err(BlobFault::Missing | BlobFault::Damaged(_)) => {}
        }
        if self.options.is_dry_run {
            self.stored += chunk.len() as u64;
            return Ok(name);
        }
        self.write(&self.own.blob(&name), &pack(chunk)?)?;
        Ok(name)
    }

    /// Writes a file to a temporary name and renames it into place.
    fn write(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let own = self.own.clone();
        let (disk, dir) = (own.disk(), path.parent().unwrap_or(path));
        // `make_dirs` also syncs the names of the directories that it creates.
        let handle = disk::make_dirs(disk, dir, Access::Private)?;
        let (at, temporary) =
            ((&handle, path.file_name().unwrap_or_default()), (&handle, OsStr::new(".rejoin-new.tmp")));
        tree::remove(disk, temporary)?;
        let written = || -> io::Result<()> {
            let file = disk.open(temporary, For::New(Access::Private))?;
            disk.add(&file, bytes)?;
            disk.sync(&file)?;
            disk.rename(temporary, at)
        };
        if let Err(error) = written() {
            // Free the space again if the disk is full.
            let _ = tree::remove(disk, temporary);
            return Err(error);
        }
        self.unsynced.insert(dir.to_owned());
        self.stored += bytes.len() as u64;
        Ok(())
    }

    /// Syncs the directories with new entries.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        let disk = self.own.disk();
        for dir in std::mem::take(&mut self.unsynced) {
            disk.sync(&disk.open_dir(&dir)?)?;
        }
        Ok(())
    }

    /// Writes a manifest.
    pub(super) fn write_manifest(&mut self, manifest: &Manifest) -> Result<(), InventoryError> {
        let mut bytes = serde_json::to_vec(manifest).map_err(|error| InventoryError::Failed(error.to_string()))?;
        bytes.push(b'\n');
        if bytes.len() as u64 > MAX_MANIFEST {
            return Err(InventoryError::Refused(format!("it has {} files, too many", manifest.entries.len())));
        }
        let dir = self.own.session_dir(manifest.agent, &manifest.id);
        self.write(&dir.join(manifest_name(manifest.number, &bytes)), &bytes)?;
        self.sync()?;
        Ok(())
    }
}

/// Minimum age of a file's content, in seconds, for its size and time to distinguish it from any later content.
const SETTLED: i64 = 2;

/// Files whose content the archive holds, by their original paths.
pub(super) type ArchivedFiles<'k> = HashMap<PathBuf, KnownFile<'k>>;

pub(super) struct KnownFile<'k> {
    modified: (i64, i64),
    node: &'k EntryContent,
}

/// Returns the files of an archived state that cannot have changed since without a new modification time.
pub(super) fn known_files(manifest: &Manifest) -> ArchivedFiles<'_> {
    let last = manifest.archived_at.as_second() - SETTLED;
    let settled = manifest.files().map(|(entry, ..)| entry).filter(|entry| entry.modified.0 < last);
    settled.map(|it| (manifest.original(it), KnownFile { modified: it.modified, node: &it.node })).collect()
}

impl SessionWriter<'_> {
    /// Checks whether a session consists only of rows, and a state of it has exactly these rows.
    pub(super) fn has_rows_of(&self, session: &Session, agent: &dyn Agent, state: &Manifest) -> bool {
        let is_same = |copy: &SessionCopy| {
            let then = agent.agent_managed(&copy.place).and_then(|_| state.rows_of(&copy.place.path));
            then.is_some_and(|then| rows::are_same(&copy.place, agent, then, &self.own))
        };
        let is_there = |name: &String| self.own.chunk(name).is_ok();
        state.copies.len() == session.copies.len()
            && session.copies.iter().all(is_same)
            && state.files().flat_map(|(_, _, chunks)| chunks).all(is_there)
    }

    /// Returns the archived entry of a file if its size and time show no change since, and its chunks exist.
    pub(super) fn unchanged<'k>(
        &self,
        path: &Path,
        piece: &InventoryEntry,
        known: &ArchivedFiles<'k>,
    ) -> Option<&'k EntryContent> {
        let node = known.get(path).filter(|known| known.modified == piece.state.modified)?.node;
        let EntryContent::File { size, chunks, .. } = node else { return None };
        let is_there = |name: &String| {
            let blob = self.own.metadata_of(&self.own.blob(name));
            matches!(blob, Ok(Some(blob)) if blob.kind == EntryKind::File && blob.size > 0)
        };
        (*size == piece.state.size && chunks.iter().all(is_there)).then_some(node)
    }
}

/// Checks whether a newer state has all data of an older one: each file is equal or continues the older file.
pub(super) fn is_within(old: &Manifest, new: &Manifest, dir: &MachineDir, agent: &dyn Agent) -> bool {
    old.entries.iter().all(|entry| {
        let Some((size, sha256, chunks)) = entry.node.content() else { return true };
        let is_state =
            || entry.path.file_name().and_then(|name| name.to_str()).is_some_and(|name| (agent.about().is_state)(name));
        let newer = || new.file(&old.stores[entry.store].0, &entry.path);
        if let EntryContent::Rows { .. } = entry.node {
            return newer().is_some_and(|newer| {
                newer.1 == sha256 || rows::are_within((dir, (sha256, chunks)), (dir, (newer.1, newer.2)))
            });
        }
        size == 0
            || entry.role == EntryRole::Companion
            || newer().is_some_and(|(_, digest, newer)| digest == sha256 || is_continued(chunks, newer, dir))
            || is_state()
    })
}

/// Checks whether a file begins with the whole content of its older state, by comparing chunks.
pub(super) fn is_continued(old: &[String], new: &[String], dir: &MachineDir) -> bool {
    let Some((last, full)) = old.split_last() else { return true };
    let Some(same_place) = new.get(full.len()).filter(|_| new.starts_with(full)) else { return false };
    let both = || dir.chunk(last).ok().zip(dir.chunk(same_place).ok());
    last == same_place || both().is_some_and(|(last, newer)| newer.starts_with(&last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::Archive;
    use crate::archive::chunks::CHUNK_BYTES;
    use crate::archive::machine::MachineNotes;
    use crate::archive::write::ArchiveOptions;
    use proptest::prelude::*;

    /// Pseudorandom bytes.
    fn bytes(seed: u32, count: usize) -> Vec<u8> {
        let numbers = (0_u32..).map(|n| (n ^ seed).wrapping_mul(2_654_435_761));
        numbers.flat_map(u32::to_le_bytes).take(count).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 10))]

        #[test]
        fn content_round_trips_and_continues_only_prefixes(
            seed in any::<u32>(),
            size in prop_oneof![0..300_usize, CHUNK_BYTES - 2..CHUNK_BYTES + 3, 2 * CHUNK_BYTES - 2..2 * CHUNK_BYTES + 300],
            kept in any::<prop::sample::Index>(),
            flipped in any::<prop::sample::Index>(),
        ) {
            let dir = tempfile::tempdir().expect("a directory");
            let env = crate::system::env::tests::fixed();
            let archive = Archive::open(&env, Some(dir.path()));
            archive.set_own("laptop-1a2b3c4d".to_owned());
            let notes = MachineNotes::read(archive.root(), &env).expect("notes");
            let mut writer = SessionWriter::new(&archive, &notes, ArchiveOptions::default());
            let archive = archive.own().expect("a directory");
            let path = dir.path().join("file");
            let mut store = |contents: &[u8]| {
                disk::replace(&disk::SYSTEM, &path, contents).expect("a file");
                match writer.file(&path, contents.len() as u64).expect("a node") {
                    EntryContent::File { size, sha256, chunks } => (size, sha256, chunks),
                    node => panic!("{node:?} is no file"),
                }
            };
            let whole = bytes(seed, size);
            let (stored, sha256, chunks) = store(&whole);
            let back: Vec<u8> = chunks.iter().flat_map(|name| archive.chunk(name).expect("a chunk")).collect();
            prop_assert!(back == whole && stored == size as u64 && sha256 == digest(&whole));

            let mut start = whole[..kept.index(size + 1)].to_vec();
            let (_, _, older) = store(&start);
            prop_assert!(is_continued(&older, &chunks, &archive));
            if !start.is_empty() {
                let at = flipped.index(start.len());
                start[at] ^= 1;
                let (_, _, other) = store(&start);
                prop_assert!(!is_continued(&other, &chunks, &archive));
            }
        }
    }
}
