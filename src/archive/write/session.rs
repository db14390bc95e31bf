//! Puts one session into an archive: its chunks first, then its manifest.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::agent::{self, Agent};
use crate::archive::chunks::{digest, each_chunk, pack};
use crate::archive::manifest::{Entry, Node, Role};
use crate::archive::rows::{self, RowsError, Sizes};
use crate::archive::store::{BlobFault, Holdings, manifest_name};
use crate::archive::write::inventory::{Inventory, InventoryEntry, InventoryError, Kind, look, settled};
use crate::archive::write::{ArchiveOptions, ArchiveResult, Item, tree};
use crate::archive::{Archive, Manifest, Snapshot};
use crate::error::PathError;
use crate::format::path_text::PathText;
use crate::format::text::hex;
use crate::session::{Belongings, Copy, Located, Problem, Session};
use crate::system::disk::{self, Disk, For};
use crate::system::env::Env;
use crate::system::fsio;

/// How old a file's content must be at least for its size and its time to tell it from any later one.
const SETTLED: i64 = 2;

pub(super) struct Writer<'a> {
    archive: &'a Archive,
    disk: &'a dyn Disk,
    options: ArchiveOptions,
    /// What was written for the session at hand, or would be.
    stored: u64,
    /// Directories with new entries that are not synced yet.
    unsynced: BTreeSet<PathBuf>,
    /// Whether contents are read: always, but not to plan a session that the archive has nothing of.
    reads: bool,
    /// What is known of the rows of those.
    sizes: Option<&'a Sizes>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(archive: &'a Archive, disk: &'a dyn Disk, options: ArchiveOptions) -> Self {
        Self { archive, disk, options, stored: 0, unsynced: BTreeSet::new(), reads: true, sizes: None }
    }

    /// Takes what is known of the rows of sessions that are planned, so that they are not read again.
    pub(super) fn with_sizes(self, sizes: &'a Sizes) -> Self {
        Self { sizes: Some(sizes), ..self }
    }

    /// Puts a session into the archive, or plans that; `find` finds what belongs to a copy. Returns what became of it, and
    /// what else went wrong.
    pub(super) fn item<'s>(
        &mut self,
        session: &'s Session,
        env: &Env,
        find: &(impl Fn(&Located) -> Result<Belongings, String> + ?Sized),
    ) -> (Item<'s>, Vec<String>) {
        self.stored = 0;
        let known = self.archive.snapshots(session.agent, &session.id);
        let warning = |at: &Problem| format!("cannot read {}: {}", at.path.display(), at.reason);
        let warnings = known.problems.iter().map(warning).collect();
        let before = known.newest(session.agent, &session.id);
        let mut item = Item {
            session,
            done: ArchiveResult::Unchanged,
            number: before.map(|snapshot| snapshot.manifest.number),
            files: 0,
            size_bytes: 0,
            stored_bytes: 0,
        };
        match self.capture(session, before, env, find) {
            Ok((manifest, is_new)) => {
                item.number = Some(manifest.number);
                item.files = manifest.files().count();
                item.size_bytes = manifest.size_bytes();
                if is_new {
                    item.done = ArchiveResult::Archived;
                }
                self.remove_held(session, &manifest, &known);
            }
            Err(InventoryError::Refused(why)) => item.done = ArchiveResult::Refused(why),
            Err(InventoryError::Failed(why)) => item.done = ArchiveResult::Failed(why),
            Err(InventoryError::Changed) => {
                item.done = ArchiveResult::Failed("it kept changing while it was copied; try again later".to_owned());
            }
        }
        item.stored_bytes = self.stored;
        (item, warnings)
    }

    /// Removes the manifests of older states if the newest state holds everything that they hold.
    fn remove_held(&self, session: &Session, newest: &Manifest, known: &Holdings) {
        let Some(agent) = agent::by_kind(session.agent).filter(|_| !self.options.is_dry_run) else { return };
        let older = known.snapshots().filter(|snapshot| snapshot.manifest.number < newest.number);
        for snapshot in older.filter(|snapshot| is_within(&snapshot.manifest, newest, self.archive, agent)) {
            // All that it held is in the newer one, so it is no loss if this fails.
            let _ = disk::open_parent(self.disk, &snapshot.path)
                .and_then(|(dir, name)| tree::remove(self.disk, (&dir, &name)));
        }
    }

    /// Copies a session until it is the same before and after; returns its manifest, and whether that is a new one.
    fn capture(
        &mut self,
        session: &Session,
        before: Option<&Snapshot>,
        env: &Env,
        find: &(impl Fn(&Located) -> Result<Belongings, String> + ?Sized),
    ) -> Result<(Manifest, bool), InventoryError> {
        let agent =
            agent::by_kind(session.agent).ok_or_else(|| InventoryError::Refused("no agent reads it".to_owned()))?;
        let mut manifest = Manifest::of(session, &env.home, &env.hostname, env.now);
        let previous = before.map(|snapshot| &snapshot.manifest);
        if let Some(previous) = previous.filter(|previous| self.has_rows_of(session, agent, previous)) {
            return Ok((previous.clone(), false));
        }
        let known = previous.filter(|_| !self.options.is_full).map(known_files).unwrap_or_default();
        if self.options.is_dry_run {
            self.reads = previous.is_some();
            let planned =
                look(session, agent, find).and_then(|seen| self.copy(session, agent, (&seen, &known), &mut manifest));
            if matches!(planned, Err(InventoryError::Changed)) {
                // What was listed before all of them may have gone since.
                self.stored = 0;
                let seen = look(session, agent, |place| agent.belongings(place))?;
                self.copy(session, agent, (&seen, &known), &mut manifest)?;
            } else {
                planned?;
            }
        } else {
            settled(|| look(session, agent, find), |seen| self.copy(session, agent, (seen, &known), &mut manifest))?;
        }
        if let Some(previous) = previous {
            if manifest.is_same(previous) {
                return Ok((previous.clone(), false));
            }
            manifest.number = previous.number + 1;
        }
        if self.options.is_dry_run {
            return Ok((manifest, true));
        }
        let mut copy = session.copy().clone();
        // What cannot be counted is archived all the same.
        if agent.count(&mut copy).is_ok() {
            manifest.facts.count(&copy);
        }
        self.sync()?;
        self.write_manifest(&manifest)?;
        Ok((manifest, true))
    }

    /// Returns whether a session is nothing but rows, and a state of it has all of them as they are.
    fn has_rows_of(&self, session: &Session, agent: &dyn Agent, state: &Manifest) -> bool {
        let is_same = |copy: &Copy| {
            let then = agent.keeper(&copy.place).and_then(|_| state.rows_of(&copy.place.path));
            then.is_some_and(|then| rows::are_same(&copy.place, agent, then, self.archive))
        };
        state.copies.len() == session.copies.len() && session.copies.iter().all(is_same)
    }

    /// Copies what was seen, but for files that are in the archive as they are.
    fn copy(
        &mut self,
        session: &Session,
        agent: &dyn Agent,
        (seen, known): (&Inventory, &Known<'_>),
        manifest: &mut Manifest,
    ) -> Result<(), InventoryError> {
        manifest.stores = seen.stores.iter().cloned().map(PathText).collect();
        manifest.copies.clone_from(&seen.copies);
        manifest.entries.clear();
        for piece in &seen.pieces {
            let node = match &piece.kind {
                Kind::Dir => Node::Dir,
                Kind::Link(target) => Node::Link { target: target.clone() },
                Kind::Rows(at) => self.rows(&session.copies[*at].place, agent)?,
                Kind::File => {
                    let path = seen.stores[piece.store].join(&piece.path);
                    match self.unchanged(&path, piece, known) {
                        Some(node) => node.clone(),
                        None => self.file(&path, piece.state.size)?,
                    }
                }
            };
            manifest.add(Entry {
                store: piece.store,
                path: piece.path.clone(),
                role: piece.role,
                node,
                mode: piece.state.mode & 0o7777,
                modified: piece.state.modified,
            });
        }
        Ok(())
    }

    /// Returns what the archive has of a file, if its size and its time say that it did not change since, and its
    /// chunks are there.
    fn unchanged<'k>(&self, path: &Path, piece: &InventoryEntry, known: &Known<'k>) -> Option<&'k Node> {
        let node = known.get(path).filter(|known| known.modified == piece.state.modified)?.node;
        let Node::File { size, chunks, .. } = node else { return None };
        let is_there = |name: &String| {
            let blob = self.archive.blob(name).symlink_metadata();
            blob.is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
        };
        (*size == piece.state.size && chunks.iter().all(is_there)).then_some(node)
    }

    /// Stores a file, of so many bytes when it was seen.
    fn file(&mut self, path: &Path, size: u64) -> Result<Node, InventoryError> {
        if !self.reads && fsio::is_readable(path) {
            self.stored += size;
            return Ok(Node::File { size, sha256: String::new(), chunks: Vec::new() });
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
        Ok(Node::File { size, sha256: hex(&whole.finalize()), chunks })
    }

    /// Stores the rows of a session in a database, all of one moment.
    fn rows(&mut self, place: &Located, agent: &dyn Agent) -> Result<Node, InventoryError> {
        let of_plan = || self.sizes?.get(&(Arc::clone(&place.path), place.id.clone()));
        if let Some(size) = of_plan().filter(|_| !self.reads) {
            self.stored += size;
            return Ok(Node::Rows { size: *size, sha256: String::new(), chunks: Vec::new() });
        }
        let mut chunks = Vec::new();
        let captured = rows::of(place, agent, &mut |chunk, is_first| {
            if is_first {
                chunks.clear();
            }
            chunks.push(self.chunk(chunk)?);
            Ok(())
        });
        match captured {
            Ok((size, sha256)) => Ok(Node::Rows { size, sha256, chunks }),
            Err(RowsError::Missing) => Err(InventoryError::Changed),
            Err(RowsError::Refused(error)) => Err(error.into()),
            Err(RowsError::Unread(error)) => Err(InventoryError::Failed(error.to_string())),
        }
    }

    /// Stores a chunk unless it is there and sound; returns its name.
    fn chunk(&mut self, chunk: &[u8]) -> io::Result<String> {
        if !self.reads {
            self.stored += chunk.len() as u64;
            return Ok(String::new());
        }
        let name = digest(chunk);
        match self.archive.chunk(&name) {
            Ok(_) => return Ok(name),
            // What is damaged is replaced: here is the content again.
            Err(BlobFault::Missing | BlobFault::Damaged(_)) => {}
        }
        if self.options.is_dry_run {
            self.stored += chunk.len() as u64;
            return Ok(name);
        }
        self.write(&self.archive.blob(&name), &pack(chunk)?)?;
        Ok(name)
    }

    /// Puts a file in place as a whole.
    fn write(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let (disk, dir) = (self.disk, path.parent().unwrap_or(path));
        // Directories that are missing are made with their names on the disk.
        let handle = disk::make_dirs(disk, dir)?;
        let (at, temporary) =
            ((&handle, path.file_name().unwrap_or_default()), (&handle, OsStr::new(".rejoin-new.tmp")));
        tree::remove(disk, temporary)?;
        let written = || -> io::Result<()> {
            let file = disk.open(temporary, For::New)?;
            disk.add(&file, bytes)?;
            disk.sync(&file)?;
            disk.rename(temporary, at)
        };
        if let Err(error) = written() {
            // A full disk is not to stay full because of it.
            let _ = tree::remove(disk, temporary);
            return Err(error);
        }
        self.unsynced.insert(dir.to_owned());
        self.stored += bytes.len() as u64;
        Ok(())
    }

    /// Puts the names of what was written on the disk.
    fn sync(&mut self) -> io::Result<()> {
        for dir in std::mem::take(&mut self.unsynced) {
            self.disk.sync(&self.disk.open_dir(&dir)?)?;
        }
        Ok(())
    }

    fn write_manifest(&mut self, manifest: &Manifest) -> Result<(), InventoryError> {
        let mut bytes = serde_json::to_vec(manifest).map_err(|error| InventoryError::Failed(error.to_string()))?;
        bytes.push(b'\n');
        let dir = self.archive.session_dir(manifest.agent, &manifest.id);
        self.write(&dir.join(manifest_name(manifest.number, &bytes)), &bytes)?;
        Ok(self.sync()?)
    }
}

/// Files whose content the archive holds, by where they were.
type Known<'k> = HashMap<PathBuf, KnownFile<'k>>;

struct KnownFile<'k> {
    modified: (i64, i64),
    node: &'k Node,
}

/// Returns the files of an archived state that cannot have changed since without another time.
fn known_files(manifest: &Manifest) -> Known<'_> {
    let last = manifest.archived_at.as_second() - SETTLED;
    let settled = manifest.files().map(|(entry, ..)| entry).filter(|entry| entry.modified.0 < last);
    settled.map(|it| (manifest.original(it), KnownFile { modified: it.modified, node: &it.node })).collect()
}

/// Returns whether all that an older state held is in a newer one: each file is the same or goes on where it ended.
fn is_within(old: &Manifest, new: &Manifest, archive: &Archive, agent: &dyn Agent) -> bool {
    old.entries.iter().all(|entry| {
        let Some((size, sha256, chunks)) = entry.node.content() else { return true };
        let is_state =
            || entry.path.file_name().and_then(|name| name.to_str()).is_some_and(|name| agent.is_state(name));
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

/// Returns whether a file begins with all that an older state of it held, by their chunks.
fn goes_on(old: &[String], new: &[String], archive: &Archive) -> bool {
    let Some((last, full)) = old.split_last() else { return true };
    let Some(same_place) = new.get(full.len()).filter(|_| new.starts_with(full)) else { return false };
    let both = || archive.chunk(last).ok().zip(archive.chunk(same_place).ok());
    last == same_place || both().is_some_and(|(last, newer)| newer.starts_with(&last))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::archive::chunks::CHUNK_BYTES;

    /// Bytes that look like any others.
    fn bytes(seed: u32, count: usize) -> Vec<u8> {
        let numbers = (0_u32..).map(|n| (n ^ seed).wrapping_mul(2_654_435_761));
        numbers.flat_map(u32::to_le_bytes).take(count).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn a_file_comes_back_and_what_it_goes_on_from_is_told_from_what_it_does_not(
            seed in any::<u32>(),
            size in prop_oneof![0..300_usize, CHUNK_BYTES - 2..CHUNK_BYTES + 3, 2 * CHUNK_BYTES - 2..2 * CHUNK_BYTES + 300],
            kept in any::<prop::sample::Index>(),
            flipped in any::<prop::sample::Index>(),
        ) {
            let dir = tempfile::tempdir().expect("a directory");
            let archive = Archive::of(&crate::system::env::tests::fixed(), Some(dir.path()));
            let disk = disk::System::default();
            let options = ArchiveOptions { is_dry_run: false, is_full: false, patience: Duration::ZERO };
            let mut writer = Writer::new(&archive, &disk, options);
            let path = dir.path().join("file");
            let mut store = |contents: &[u8]| {
                fsio::replace(&path, contents).expect("a file");
                match writer.file(&path, contents.len() as u64).expect("a node") {
                    Node::File { size, sha256, chunks } => (size, sha256, chunks),
                    node => panic!("{node:?} is no file"),
                }
            };
            let whole = bytes(seed, size);
            let (stored, sha256, chunks) = store(&whole);
            let back: Vec<u8> = chunks.iter().flat_map(|name| archive.chunk(name).expect("a chunk")).collect();
            prop_assert!(back == whole && stored == size as u64 && sha256 == digest(&whole));

            let mut start = whole[..kept.index(size + 1)].to_vec();
            let (_, _, older) = store(&start);
            prop_assert!(goes_on(&older, &chunks, &archive));
            if !start.is_empty() {
                let at = flipped.index(start.len());
                start[at] ^= 1;
                let (_, _, other) = store(&start);
                prop_assert!(!goes_on(&other, &chunks, &archive));
            }
        }
    }
}
