//! Checks that everything in an archive is unchanged since it was written.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::machine::MachineNotes;
use super::machine_dir::BlobFault;
use super::{Archive, ArchivedState, MachineDir};
use crate::format::path_json;
use crate::session::AgentKind;
use crate::system::fsio::EntryKind;
use crate::system::parallel;

/// The answer of `archive --verify`.
#[derive(Debug, Default, Serialize)]
pub(crate) struct VerifyAnswer {
    /// The archive's directory.
    #[serde(serialize_with = "path_json::serialize")]
    pub archive: PathBuf,
    /// Damage that was found.
    pub faults: Vec<ArchiveFault>,
    /// Number of sessions.
    pub sessions: usize,
    /// Number of states.
    #[serde(rename = "states")]
    pub snapshots: usize,
    /// Number of blobs that the states need.
    pub blobs: usize,
    /// Number of states of other machines with a missing or damaged part, which may not have arrived yet. 0 if this
    /// machine has not used the archive; all damage is then a fault.
    pub incomplete: usize,
    /// Bytes on the disk of the intact blobs and the manifests.
    pub stored_bytes: u64,
    /// Number of files of this machine that nothing needs, which an interrupted run left and the next run removes; 0 if
    /// a manifest is missing or unreadable, because it may need them.
    #[serde(rename = "unneeded_files")]
    pub unneeded: usize,
}

/// A changed file in the archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ArchiveFault {
    /// `damaged-manifest`, `missing-manifest`, `damaged-blob` or `missing-blob`.
    #[serde(rename = "code")]
    pub kind: FaultKind,
    /// The file in the archive.
    #[serde(serialize_with = "path_json::serialize")]
    pub path: PathBuf,
    /// The reason.
    pub reason: String,
    /// Files of sessions that cannot be restored because of the fault.
    pub hurt: Vec<Hurt>,
}

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum FaultKind {
    /// A manifest is damaged or cannot be read.
    DamagedManifest,
    /// A manifest that this machine wrote is missing.
    MissingManifest,
    /// A blob is damaged or cannot be read.
    DamagedBlob,
    /// A blob is missing.
    MissingBlob,
}

impl FaultKind {
    /// Returns the word of the JSON contract.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    fn is_of_manifest(self) -> bool {
        matches!(self, Self::DamagedManifest | Self::MissingManifest)
    }
}

/// A file of a session that cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Hurt {
    /// The agent that the session belongs to.
    pub agent: AgentKind,
    /// The full id.
    pub id: String,
    /// The number of the state.
    #[serde(rename = "state")]
    pub number: u64,
    /// The original path of the file.
    #[serde(serialize_with = "path_json::serialize")]
    pub path: PathBuf,
}

/// Reads every manifest and every blob; a fault in one does not stop the check of the others. Checks the notes of this
/// machine for manifests that have vanished from its directory.
pub(crate) fn verify(archive: &Archive, notes: &MachineNotes) -> VerifyAnswer {
    let holdings = archive.holdings();
    let mut verdict = VerifyAnswer {
        archive: archive.root().to_owned(),
        sessions: holdings.sessions.len(),
        snapshots: holdings.snapshots().count(),
        ..VerifyAnswer::default()
    };
    // A file that is missing in the directory of another machine may not have arrived yet.
    let own = archive.own().filter(|own| matches!(own.metadata_of(own.dir()), Ok(Some(_))));
    let is_checked = |path: &Path| own.as_ref().is_none_or(|own| path.starts_with(own.dir()));
    for problem in &holdings.problems {
        if !is_checked(&problem.path) {
            verdict.incomplete += 1;
            continue;
        }
        verdict.faults.push(ArchiveFault {
            kind: FaultKind::DamagedManifest,
            path: problem.path.clone(),
            reason: problem.reason.clone(),
            hurt: Vec::new(),
        });
    }
    let snapshots: Vec<&ArchivedState> = holdings.snapshots().collect();
    verdict.stored_bytes =
        snapshots.iter().map(|snapshot| archive.dir_of(&snapshot.manifest).size(&snapshot.path)).sum();
    let mut needed: BTreeMap<(&str, &str), BTreeSet<usize>> = BTreeMap::new();
    for (at, ArchivedState { manifest, .. }) in snapshots.iter().enumerate() {
        for name in manifest.files().flat_map(|(_, _, chunks)| chunks) {
            needed.entry((&manifest.machine, name)).or_default().insert(at);
        }
    }
    verdict.blobs = needed.len();
    let checked = parallel::map(&needed, |((machine, name), users)| {
        let dir = archive.machine_dir(machine);
        let blob = dir.blob(name);
        (*name, users, dir.chunk(name).map(|_| dir.size(&blob)), blob)
    });
    let mut incomplete: BTreeSet<&PathBuf> = BTreeSet::new();
    for (name, users, checked, blob) in checked {
        let fault = match checked {
            Ok(stored) => {
                verdict.stored_bytes += stored;
                continue;
            }
            Err(fault) => fault,
        };
        // A run may have replaced the manifest since it was read, and removed the blobs that only this one needed.
        let is_there = |snapshot: &&ArchivedState| {
            !matches!(archive.dir_of(&snapshot.manifest).metadata_of(&snapshot.path), Ok(None))
        };
        let users: Vec<&ArchivedState> = users.iter().map(|at| snapshots[*at]).filter(is_there).collect();
        if users.is_empty() {
            continue;
        }
        if !is_checked(&blob) {
            incomplete.extend(users.iter().map(|snapshot| &snapshot.path));
            continue;
        }
        let kind = if fault == BlobFault::Missing { FaultKind::MissingBlob } else { FaultKind::DamagedBlob };
        let hurt = users.into_iter().flat_map(|snapshot| hurt_by(name, snapshot)).collect();
        verdict.faults.push(ArchiveFault { kind, path: blob, reason: fault.to_string(), hurt });
    }
    verdict.incomplete += incomplete.len();
    if let Some(own) = archive.own() {
        let missing = notes.missing(&own, |agent, id| holdings.own_number(archive, agent, id));
        // A damaged manifest may be the missing one.
        let is_damaged = |dir: &Path| holdings.problems.iter().any(|problem| problem.path.starts_with(dir));
        let missing = missing.filter(|(dir, _)| !is_damaged(dir));
        verdict.faults.extend(missing.map(|(path, number)| ArchiveFault {
            kind: FaultKind::MissingManifest,
            path,
            reason: format!("state {number} is missing"),
            hurt: Vec::new(),
        }));
        if verdict.faults.iter().all(|fault| !fault.kind.is_of_manifest()) {
            let is_needed = |name: &str| needed.contains_key(&(own.name(), name));
            verdict.unneeded = blobs(&own).into_iter().filter(|(_, name)| !is_needed(name)).count();
        }
    }
    verdict.faults.sort_by(|a, b| (a.kind, &a.path).cmp(&(b.kind, &b.path)));
    verdict
}

fn hurt_by(name: &str, snapshot: &ArchivedState) -> Vec<Hurt> {
    let manifest = &snapshot.manifest;
    let files = manifest.files().filter(|(_, _, chunks)| chunks.iter().any(|chunk| chunk == name));
    let hurt = |entry| Hurt {
        agent: manifest.agent,
        id: manifest.id.clone(),
        number: manifest.number,
        path: manifest.original(entry),
    };
    files.map(|(entry, _, _)| hurt(entry)).collect()
}

/// Lists all files among the blobs of a machine, each with its name without the extension.
pub(crate) fn blobs(machine: &MachineDir) -> Vec<(PathBuf, String)> {
    let mut problems = Vec::new();
    let dirs = machine.entries(&machine.blobs(), &mut problems).into_iter().filter(|(_, kind)| *kind == EntryKind::Dir);
    let files =
        dirs.flat_map(|(dir, _)| machine.entries(&dir, &mut problems)).filter(|(_, kind)| *kind == EntryKind::File);
    let named = files.filter_map(|(path, _)| {
        let name = path.file_name()?.to_str()?.trim_end_matches(".zst").to_owned();
        Some((path, name))
    });
    named.collect()
}
