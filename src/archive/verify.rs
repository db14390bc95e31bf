//! Checks that everything in an archive is unchanged since it was written.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use super::store::{Archive, BlobFault, Snapshot};
use crate::session::AgentKind;
use crate::system::fsio::Kind;

/// Result of checking a whole archive.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// Number of sessions.
    pub sessions: usize,
    /// Number of states of the sessions.
    pub snapshots: usize,
    /// Number of blobs that the states need.
    pub blobs: usize,
    /// Size of these blobs and the manifests on the disk, in bytes.
    pub stored_bytes: u64,
    /// Faults found.
    pub faults: Vec<Fault>,
    /// Number of blobs and temporary files that no manifest needs: leftovers of interrupted runs, which the next run
    /// removes.
    pub unneeded: usize,
}

/// A damaged or missing part of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Kind of fault.
    pub kind: FaultKind,
    /// The file in the archive.
    pub path: PathBuf,
    /// Reason, as text.
    pub reason: String,
    /// The files lost by it.
    pub hurt: Vec<Hurt>,
}

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FaultKind {
    /// A manifest is damaged or cannot be read.
    Manifest,
    /// A blob is damaged or cannot be read.
    Blob,
    /// A blob is missing.
    MissingBlob,
}

impl FaultKind {
    /// Returns the word of the JSON contract.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Manifest => "damaged-manifest",
            Self::Blob => "damaged-blob",
            Self::MissingBlob => "missing-blob",
        }
    }
}

/// A file of a session that cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hurt {
    /// The agent of the session.
    pub agent: AgentKind,
    /// The full id.
    pub id: String,
    /// Number of the state.
    pub number: u64,
    /// Path of the file when it was archived.
    pub path: PathBuf,
}

/// Reads every manifest and every blob; a fault in one does not stop the check of the others.
pub(crate) fn verify(archive: &Archive) -> Verdict {
    let holdings = archive.holdings();
    let mut verdict =
        Verdict { sessions: holdings.sessions.len(), snapshots: holdings.snapshots().count(), ..Verdict::default() };
    for problem in &holdings.problems {
        verdict.faults.push(Fault {
            kind: FaultKind::Manifest,
            path: problem.path.clone(),
            reason: problem.reason.clone(),
            hurt: Vec::new(),
        });
    }
    let mut needed: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    let snapshots: Vec<&Snapshot> = holdings.snapshots().collect();
    verdict.stored_bytes = snapshots.iter().map(|snapshot| archive.size(&snapshot.path)).sum();
    for (at, snapshot) in snapshots.iter().enumerate() {
        for name in snapshot.manifest.files().flat_map(|(_, _, chunks)| chunks) {
            needed.entry(name).or_default().insert(at);
        }
    }
    verdict.blobs = needed.len();
    let checked: Vec<(&str, Result<u64, BlobFault>)> = needed
        .keys()
        .copied()
        .collect::<Vec<_>>()
        .into_par_iter()
        .map(|name| (name, archive.chunk(name).map(|_| archive.size(&archive.blob(name)))))
        .collect();
    for (name, checked) in checked {
        let fault = match checked {
            Ok(stored) => {
                verdict.stored_bytes += stored;
                continue;
            }
            Err(fault) => fault,
        };
        let users = needed.get(name).into_iter().flatten().map(|at| snapshots[*at]);
        // Since the manifest was read, a run may have replaced it and removed the blobs that only it needed.
        let users: Vec<&Snapshot> =
            users.filter(|snapshot| !matches!(archive.look(&snapshot.path), Ok(None))).collect();
        if users.is_empty() {
            continue;
        }
        let kind = if fault == BlobFault::Missing { FaultKind::MissingBlob } else { FaultKind::Blob };
        let hurt = users.into_iter().flat_map(|snapshot| hurt_by(name, snapshot)).collect();
        verdict.faults.push(Fault { kind, path: archive.blob(name), reason: fault.to_string(), hurt });
    }
    verdict.faults.sort_by(|a, b| (a.kind, &a.path).cmp(&(b.kind, &b.path)));
    verdict.unneeded = blobs(archive).into_iter().filter(|(_, name)| !needed.contains_key(name.as_str())).count();
    verdict
}

fn hurt_by(name: &str, snapshot: &Snapshot) -> Vec<Hurt> {
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

/// Lists all files among the blobs, each with its name without the extension.
pub(crate) fn blobs(archive: &Archive) -> Vec<(PathBuf, String)> {
    let mut problems = Vec::new();
    let dirs = archive.entries(&archive.blobs(), &mut problems).into_iter().filter(|(_, kind)| *kind == Kind::Dir);
    let files = dirs.flat_map(|(dir, _)| archive.entries(&dir, &mut problems)).filter(|(_, kind)| *kind == Kind::File);
    let named = files.filter_map(|(path, _)| {
        let name = path.file_name()?.to_str()?.trim_end_matches(".zst").to_owned();
        Some((path, name))
    });
    named.collect()
}
