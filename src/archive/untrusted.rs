//! Checks a manifest, which is not trusted, before a restore: its chunks, and whose files it has.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agent::Agent;
use crate::archive::manifest::{EntryContent, ManifestEntry};
use crate::archive::unpacked::UnpackedSession;
use crate::archive::{Archive, Manifest};
use crate::error::{Refusal, RefusalCode};
use crate::session::Store;
use crate::system::env::Env;

/// Checks every chunk that a session needs; returns one line per fault.
pub(crate) fn damaged_chunks(manifest: &Manifest, archive: &Archive) -> Vec<String> {
    let mut names: Vec<&String> = manifest.files().flat_map(|(_, _, chunks)| chunks).collect();
    names.sort_unstable();
    names.dedup();
    let dir = archive.dir_of(manifest);
    names.iter().filter_map(|name| dir.content(name).err()).collect()
}

/// Refuses a session with an entry at a path that its agent uses for other data, such as its settings.
///
/// The manifest is not trusted: the agent itself lists the belongings of the session, unpacked in a private directory.
pub(crate) fn check_places(
    manifest: &Manifest,
    archive: &Archive,
    agent: &dyn Agent,
    store: &Store,
    env: &Env,
) -> anyhow::Result<()> {
    let refuse = |path: &Path| {
        let message = format!("{} does not belong to {} session {}", path.display(), manifest.agent, manifest.id);
        let hint = "its manifest is not one that rejoin wrote; restore an earlier state with --state N";
        anyhow::Error::from(Refusal::new(RefusalCode::NotOfTheSession, message).hint(hint))
    };
    for at in 0..manifest.stores.len() {
        let copies: Vec<&Path> =
            manifest.copies.iter().filter(|copy| copy.store == at).map(|copy| copy.path.as_path()).collect();
        // If the name does not contain the id, the agent reads the id from the copy.
        let is_copy = |entry: &ManifestEntry| copies.iter().any(|copy| entry.path.starts_with(copy));
        let unpacked = UnpackedSession::of_store(manifest, at, is_copy, archive, env)?;
        let root = unpacked.root();
        let store = Arc::new(Store { root: root.to_owned(), ..store.clone() });
        let mut places = agent.locate(&store, None).places;
        // The id of a project's file is its path, which differs in the unpacked store.
        places.retain(|place| place.id == manifest.id || agent.about().keeps_in_projects);
        if let Some(copy) = copies.iter().find(|copy| places.iter().all(|place| *place.path != root.join(copy))) {
            return Err(refuse(copy));
        }
        let mut paths: BTreeSet<PathBuf> = BTreeSet::new();
        for place in &places {
            let belongings = agent.belongings(place).unwrap_or_default();
            paths.extend(belongings.own.into_iter().chain(belongings.shared).chain(agent.companions(place)));
        }
        let is_its = |entry: &&ManifestEntry| {
            let path = root.join(&entry.path);
            let is_on_the_way =
                matches!(entry.node, EntryContent::Dir) && paths.iter().any(|its| its.starts_with(&path));
            is_on_the_way || path.ancestors().any(|above| paths.contains(above))
        };
        if let Some(entry) = manifest.entries.iter().filter(|entry| entry.store == at).find(|entry| !is_its(entry)) {
            return Err(refuse(&entry.path));
        }
    }
    Ok(())
}
