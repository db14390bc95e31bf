//! A state of a session, on the disk or in the archive: its files by their paths on this machine.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::content::ReadableContent;
use crate::agent::{Agent, FindBelongings};
use crate::archive::code::is_code;
use crate::archive::inventory::{self, Inventory, InventoryEntry, InventoryError, InventoryKind};
use crate::archive::manifest::{EntryContent, EntryRole, ManifestEntry};
use crate::archive::unpacked::UnpackedSession;
use crate::archive::{Archive, MachineDir, Manifest};
use crate::format::text::hex;
use crate::session::{Session, SessionCopy};
use crate::system::env::Env;

/// The local place of a session's files.
#[derive(Clone, Debug)]
pub(crate) struct LocalLayout {
    /// The root of each of a manifest's stores; `None` if it has no place here.
    pub roots: Vec<Option<PathBuf>>,
    /// The project's name on the machine that archived it, and here, if the names differ.
    pub project: Option<(String, String)>,
}

impl LocalLayout {
    /// Places each store below one root.
    pub(crate) fn below(roots: Vec<Option<PathBuf>>) -> Self {
        Self { roots, project: None }
    }

    /// Returns the root for an entry.
    pub(crate) fn root(&self, entry: &ManifestEntry) -> Option<&Path> {
        self.roots.get(entry.store)?.as_deref()
    }

    /// Returns the path of an entry on this machine.
    pub(crate) fn path(&self, entry: &ManifestEntry) -> Option<PathBuf> {
        Some(self.root(entry)?.join(self.below_root(&entry.path)))
    }

    fn below_root(&self, path: &Path) -> PathBuf {
        let Some((there, here)) = &self.project else { return path.to_owned() };
        let mut is_found = false;
        let component = |part: Component<'_>| -> PathBuf {
            let is_project = !is_found && part.as_os_str() == there.as_str();
            is_found |= is_project;
            if is_project { here.into() } else { part.as_os_str().into() }
        };
        path.components().map(component).collect()
    }
}

/// A file, directory or link of a state.
#[derive(Clone, Debug)]
pub(super) enum StatePiece<'a> {
    Dir,
    Link(PathBuf),
    File(ReadableContent<'a>),
    /// Rows of a database, which only their agent writes: their machine's directory, SHA-256 and chunks.
    Rows(Option<(MachineDir, &'a str, &'a [String])>),
}

/// One state of a session.
#[derive(Debug)]
pub(crate) struct SessionState<'a> {
    /// The pieces by their local paths, without the files that several sessions share.
    pub(super) pieces: BTreeMap<PathBuf, StatePiece<'a>>,
    /// The transcript or the directory of the session.
    pub(super) path: PathBuf,
    origin: StateOrigin<'a>,
}

#[derive(Debug)]
enum StateOrigin<'a> {
    Here(&'a SessionCopy),
    Archived(&'a Manifest),
}

impl<'a> SessionState<'a> {
    /// Returns an archived state; `None` if it has no place on this machine.
    pub(crate) fn archived(manifest: &'a Manifest, layout: &LocalLayout, archive: &Archive) -> Option<Self> {
        let dir = archive.dir_of(manifest);
        let [copy] = manifest.copies.as_slice() else { return None };
        let path = layout.roots.get(copy.store)?.as_ref()?.join(layout.below_root(&copy.path));
        // Files that the agent executes are neither synced nor compared.
        let is_code = |entry: &ManifestEntry| is_code(manifest.agent, &manifest.copies, entry.store, &entry.path);
        let entries = manifest.entries.iter().filter(|entry| entry.role != EntryRole::Companion && !is_code(entry));
        let piece = |entry: &'a ManifestEntry| {
            let kind = match &entry.node {
                EntryContent::Dir => StatePiece::Dir,
                EntryContent::Link { target } => StatePiece::Link(target.clone()),
                EntryContent::File { chunks, .. } => StatePiece::File(ReadableContent::Archived(dir.clone(), chunks)),
                EntryContent::Rows { sha256, chunks, .. } => StatePiece::Rows(Some((dir.clone(), sha256, chunks))),
            };
            Some((layout.path(entry)?, kind))
        };
        Some(Self { pieces: entries.filter_map(piece).collect(), path, origin: StateOrigin::Archived(manifest) })
    }

    /// Calls `see` with the copy of the session; an archived copy is unpacked during the call.
    pub(super) fn with_copy<T>(
        &self,
        archive: &Archive,
        env: &Env,
        see: impl FnOnce(&SessionCopy) -> T,
    ) -> Result<T, String> {
        match self.origin {
            StateOrigin::Here(copy) => Ok(see(copy)),
            StateOrigin::Archived(manifest) => {
                let unpacked = UnpackedSession::unpack(manifest, archive, env).map_err(|error| format!("{error:#}"))?;
                Ok(see(&manifest.copy_in(unpacked.root())))
            }
        }
    }

    /// Returns the path of every file.
    pub(super) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.pieces.iter().filter(|(_, piece)| matches!(piece, StatePiece::File(_))).map(|(path, _)| path)
    }
}

/// Snapshot of the files of a session on this machine.
#[derive(Debug)]
pub(crate) struct Here(Inventory);

impl Here {
    /// Lists the files of a session.
    pub(crate) fn read_session(session: &Session, agent: &dyn Agent, find: &FindBelongings) -> Result<Self, String> {
        inventory::list_entries(session, agent, find).map(Self).map_err(|error| match error {
            InventoryError::Refused(why) | InventoryError::Failed(why) => why,
            InventoryError::Changed => "it changed while it was read".to_owned(),
        })
    }

    /// Returns a digest of the names, sizes and times of the files.
    pub(crate) fn stamp(&self) -> String {
        let mut digest = Sha256::new();
        for piece in self.0.pieces.iter().filter(|piece| piece.role != EntryRole::Companion) {
            let (state, path) = (&piece.state, self.0.stores[piece.store].join(&piece.path));
            let times = if matches!(piece.kind, InventoryKind::Dir) { (0, 0) } else { state.modified };
            let size = if matches!(piece.kind, InventoryKind::Dir) { 0 } else { state.size };
            digest.update(path.as_os_str().as_encoded_bytes());
            digest.update(format!("\0{size} {} {}\n", times.0, times.1));
        }
        hex(&digest.finalize())
    }

    /// Returns these files as a state of the session.
    pub(crate) fn state<'a>(&self, copy: &'a SessionCopy) -> SessionState<'a> {
        let agent = copy.place.agent();
        let is_code = |piece: &InventoryEntry| is_code(agent, &self.0.copies, piece.store, &piece.path);
        let pieces = self.0.pieces.iter().filter(|piece| piece.role != EntryRole::Companion && !is_code(piece));
        let pieces = pieces.map(|piece| {
            let path = self.0.stores[piece.store].join(&piece.path);
            let kind = match &piece.kind {
                InventoryKind::Dir => StatePiece::Dir,
                InventoryKind::Link(target) => StatePiece::Link(target.clone()),
                InventoryKind::File => StatePiece::File(ReadableContent::OnDisk(path.clone())),
                InventoryKind::Rows(_) => StatePiece::Rows(None),
            };
            (path, kind)
        });
        SessionState { pieces: pieces.collect(), path: copy.place.path.to_path_buf(), origin: StateOrigin::Here(copy) }
    }
}
