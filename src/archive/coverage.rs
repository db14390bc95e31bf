//! Finds sessions that this machine has archived completely in their current state, so that removing them loses
//! nothing.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::MachineDir;
use super::manifest::{EntryContent, EntryRole};
use super::rows;
use super::store::{Archive, Holdings};
use crate::agent;
use crate::format::text::hex;
use crate::session::{AgentKind, Session};
use crate::system::{fsio, parallel};

/// Returns the sessions that this machine has archived completely: all their belongings, with their current content.
///
/// Reads the files and the blobs to their ends, so a session with a damaged blob does not count.
pub(crate) fn archived_sessions(sessions: &[&Session], archive: &Archive) -> BTreeSet<(AgentKind, String)> {
    let Some(own) = archive.own() else { return BTreeSet::new() };
    let holdings = archive.own_holdings();
    let held = parallel::map(sessions, |session| is_held(session, &holdings, &own).then(|| session.key()));
    held.into_iter().flatten().collect()
}

/// Like [`archived_sessions`], for one session: reads only the manifests of that session.
pub(crate) fn is_whole(session: &Session, archive: &Archive) -> bool {
    let Some(own) = archive.own() else { return false };
    is_held(session, &archive.own_snapshots(session.agent, session.id()), &own)
}

fn is_held(session: &Session, holdings: &Holdings, own: &MachineDir) -> bool {
    let Some(snapshot) = holdings.newest(session.agent, session.id()) else { return false };
    let manifest = &snapshot.manifest;
    let Some(agent) = agent::by_kind(session.agent) else { return false };
    let entries = manifest.entries.iter().filter(|entry| entry.role != EntryRole::Companion);
    let entries: HashMap<PathBuf, &EntryContent> =
        entries.map(|entry| (manifest.original(entry), &entry.node)).collect();
    let all_are = session.copies.iter().all(|copy| {
        if agent.agent_managed(&copy.place).is_some() {
            let rows = entries.get(&*copy.place.path).and_then(|node| node.content());
            return rows.is_some_and(|(_, sha256, chunks)| rows::are_same(&copy.place, agent, (sha256, chunks), own));
        }
        let Ok(belongings) = agent.belongings(&copy.place) else { return false };
        belongings.own.iter().chain(&belongings.shared).all(|path| is_as_archived(path, &entries))
    });
    let mut names = manifest.files().flat_map(|(_, _, chunks)| chunks).collect::<Vec<_>>();
    names.sort_unstable();
    names.dedup();
    all_are && names.iter().all(|name| own.chunk(name).is_ok())
}

/// Checks whether a path, and everything below it, is among these entries with its current content.
fn is_as_archived(path: &Path, entries: &HashMap<PathBuf, &EntryContent>) -> bool {
    walkdir::WalkDir::new(path).into_iter().all(|found| {
        let Ok(found) = found else { return false };
        match entries.get(found.path()) {
            None => false,
            Some(EntryContent::Dir) => found.file_type().is_dir(),
            Some(EntryContent::Link { target }) => std::fs::read_link(found.path()).is_ok_and(|now| now == *target),
            Some(EntryContent::Rows { .. }) => false,
            Some(EntryContent::File { size, sha256, .. }) => {
                file_digest(found.path()).is_ok_and(|(bytes, digest)| (bytes, &digest) == (*size, sha256))
            }
        }
    })
}

/// Returns the size of a regular file in bytes and its SHA-256.
pub(crate) fn file_digest(path: &Path) -> io::Result<(u64, String)> {
    let (mut file, _) = fsio::open_regular(path).map_err(|error| io::Error::other(error.reason()))?;
    let mut digest = Sha256::new();
    let mut buffer = fsio::Buffer::new(fsio::PIECE);
    let mut bytes = 0;
    loop {
        let count = io::Read::read(&mut file, &mut buffer)?;
        if count == 0 {
            return Ok((bytes, hex(&digest.finalize())));
        }
        bytes += count as u64;
        digest.update(&buffer[..count]);
    }
}
