//! Whether everything in an archive is still what it was when it was written.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use super::store::{Archive, BlobFault, Snapshot};
use crate::session::AgentKind;
use crate::system::fsio::Kind;

/// What a check of a whole archive gave.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// How many sessions there are.
    pub sessions: usize,
    /// How many states of them.
    pub snapshots: usize,
    /// How many blobs they need.
    pub blobs: usize,
    /// What those and the manifests take on the disk, in bytes.
    pub stored_bytes: u64,
    /// What is wrong.
    pub faults: Vec<Fault>,
    /// Blobs and temporary files that no manifest needs: what a run that was cut off left, for the next to remove.
    pub unneeded: usize,
}

/// Something that has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// The file in the archive.
    pub path: PathBuf,
    /// Why, in words.
    pub reason: String,
    /// What is lost by it.
    pub hurt: Vec<Hurt>,
}

/// What can be wrong.
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

/// A file of a session that cannot be put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hurt {
    /// The agent that the session belongs to.
    pub agent: AgentKind,
    /// The full id.
    pub id: String,
    /// Which state of it.
    pub number: u64,
    /// Where the file was.
    pub path: PathBuf,
}

/// Reads every manifest and every blob; a fault of one keeps nothing else from being checked.
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
        // A run may have replaced the manifest, and removed what only that needed, since it was read.
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

/// Lists everything among the blobs, each with its name without the ending.
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
