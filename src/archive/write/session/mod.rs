//! Writes one session into an archive: its chunks first, then its manifest.

mod content;

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::agent::{self, Agent, Observers, Unable};
use crate::archive::inventory::{Inventory, InventoryError, InventoryKind, list_entries, settled};
use crate::archive::machine::MachineNotes;
use crate::archive::manifest::{EntryContent, ManifestEntry};
use crate::archive::rows::Sizes;
use crate::archive::store::Holdings;
use crate::archive::write::{ArchiveOptions, ArchivedItem, tree};
use crate::archive::{Archive, ArchivedState, MachineDir, Manifest};
use crate::change::outcome::ItemResult;
use crate::session::{Belongings, Located, Problem, Session};
use crate::system::disk;
use crate::system::env::Env;
use changes::path_text::PathText;
use content::{ArchivedFiles, is_within, known_files};

pub(super) struct SessionWriter<'a> {
    archive: &'a Archive,
    /// The directory of this machine, the only one that is written.
    own: MachineDir,
    /// The states that this machine has archived.
    notes: &'a MachineNotes,
    options: ArchiveOptions,
    /// Bytes written for the current session, or those that would be written.
    stored: u64,
    /// Directories with new entries that are not synced yet.
    unsynced: BTreeSet<PathBuf>,
    /// Set if contents are read: always, except to plan a session that the archive does not have.
    reads: bool,
    /// Known sizes of the rows of planned sessions.
    sizes: Option<&'a Sizes>,
}

impl<'a> SessionWriter<'a> {
    pub(super) fn new(archive: &'a Archive, notes: &'a MachineNotes, options: ArchiveOptions) -> Self {
        // The plan of a first run refers to a directory that does not exist.
        let own = archive.own().unwrap_or_else(|| archive.machine_dir(".none"));
        Self { archive, own, notes, options, stored: 0, unsynced: BTreeSet::new(), reads: true, sizes: None }
    }

    /// Passes the known sizes of the rows of planned sessions, so that they are not read again.
    pub(super) fn with_sizes(self, sizes: &'a Sizes) -> Self {
        Self { sizes: Some(sizes), ..self }
    }

    /// Archives a session, or plans to; `find` lists the belongings of a copy. Returns the result for the session, and
    /// warnings.
    pub(super) fn item<'s>(
        &mut self,
        session: &'s Session,
        env: &Env,
        find: &dyn Fn(&Located) -> Result<Belongings, Unable>,
    ) -> (ArchivedItem<'s>, Vec<String>) {
        self.stored = 0;
        let known = self.archive.own_snapshots(session.agent, session.id());
        let warning = |at: &Problem| format!("cannot read {}: {}", at.path.display(), at.reason);
        let warnings = known.problems.iter().map(warning).collect();
        let before = known.newest(session.agent, session.id());
        let mut item = ArchivedItem {
            session,
            done: ItemResult::Unchanged,
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
                    item.done = ItemResult::Done;
                }
                self.remove_held(session, &manifest, &known);
            }
            Err(InventoryError::Refused(why)) => item.done = ItemResult::Refused(why),
            Err(InventoryError::Failed(why)) => item.done = ItemResult::Failed(why),
            Err(InventoryError::Changed) => {
                item.done = ItemResult::Failed("it kept changing while it was copied; try again later".to_owned());
            }
        }
        item.stored_bytes = self.stored;
        (item, warnings)
    }

    /// Removes the manifests of older states if the newest state has all their data.
    fn remove_held(&self, session: &Session, newest: &Manifest, known: &Holdings) {
        let Some(agent) = agent::by_kind(session.agent).filter(|_| !self.options.is_dry_run) else { return };
        let older = known.snapshots().filter(|snapshot| snapshot.manifest.number < newest.number);
        for snapshot in older.filter(|snapshot| is_within(&snapshot.manifest, newest, &self.own, agent)) {
            // The newer manifest has all data, so a failure loses nothing.
            let disk = self.own.disk();
            let _ = disk::open_parent(disk, &snapshot.path).and_then(|(dir, name)| tree::remove(disk, (&dir, &name)));
        }
    }

    /// Copies a session until it is equal before and after. Returns its manifest, and whether the manifest is new.
    fn capture(
        &mut self,
        session: &Session,
        before: Option<&ArchivedState>,
        env: &Env,
        find: &dyn Fn(&Located) -> Result<Belongings, Unable>,
    ) -> Result<(Manifest, bool), InventoryError> {
        let agent =
            agent::by_kind(session.agent).ok_or_else(|| InventoryError::Refused("no agent reads it".to_owned()))?;
        let mut manifest = Manifest::from_session(session, &env.home, &env.hostname, env.clock.now);
        let previous = before.map(|snapshot| &snapshot.manifest);
        if let Some(previous) = previous.filter(|previous| self.has_rows_of(session, agent, previous)) {
            return Ok((previous.clone(), false));
        }
        let known = previous.filter(|_| !self.options.is_full).map(known_files).unwrap_or_default();
        if self.options.is_dry_run {
            self.reads = previous.is_some();
            let planned = list_entries(session, agent, find)
                .and_then(|seen| self.copy(session, agent, (&seen, &known), &mut manifest));
            if matches!(planned, Err(InventoryError::Changed)) {
                // Belongings that were listed for the plan may be gone by now.
                self.stored = 0;
                let seen = list_entries(session, agent, &|place| agent.belongings(place))?;
                self.copy(session, agent, (&seen, &known), &mut manifest)?;
            } else {
                planned?;
            }
        } else {
            settled(
                || list_entries(session, agent, find),
                |seen| self.copy(session, agent, (seen, &known), &mut manifest),
            )?;
        }
        if let Some(previous) = previous.filter(|previous| manifest.is_same(previous)) {
            return Ok((previous.clone(), false));
        }
        // A state that another machine restored and continued gets a larger number.
        let noted = self.notes.get(session.agent, session.id()).map_or(0, |noted| noted.number);
        manifest.number = self.archive.last_number(session.agent, session.id()).max(noted) + 1;
        if self.options.is_dry_run {
            return Ok((manifest, true));
        }
        let mut copy = session.copy().clone();
        // A session that cannot be counted is archived all the same.
        if agent::observe(agent, &mut copy, &mut Observers::counts(false)).is_ok() {
            manifest.facts.count(&copy);
        }
        self.sync()?;
        self.write_manifest(&manifest)?;
        Ok((manifest, true))
    }

    /// Copies everything listed, except files that are unchanged in the archive.
    fn copy(
        &mut self,
        session: &Session,
        agent: &dyn Agent,
        (seen, known): (&Inventory, &ArchivedFiles<'_>),
        manifest: &mut Manifest,
    ) -> Result<(), InventoryError> {
        manifest.stores = seen.stores.iter().cloned().map(PathText).collect();
        manifest.copies.clone_from(&seen.copies);
        manifest.entries.clear();
        for piece in &seen.pieces {
            let node = match &piece.kind {
                InventoryKind::Dir => EntryContent::Dir,
                InventoryKind::Link(target) => EntryContent::Link { target: target.clone() },
                InventoryKind::Rows(at) => self.rows(&session.copies[*at].place, agent)?,
                InventoryKind::File => {
                    let path = seen.stores[piece.store].join(&piece.path);
                    match self.unchanged(&path, piece, known) {
                        Some(node) => node.clone(),
                        None => self.file(&path, piece.state.size)?,
                    }
                }
            };
            manifest.add(ManifestEntry {
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
}
