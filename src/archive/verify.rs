//! Checks that everything in an archive is unchanged since it was written.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use schemars::JsonSchema;
use serde::Serialize;

use super::store::{Archive, BlobFault, Snapshot};
use crate::format::path_json::{self, PathJson};
use crate::session::AgentKind;
use crate::system::fsio::Kind;

/// The answer of `archive --verify`.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "ArchiveVerify", deny_unknown_fields)]
pub(crate) struct Verdict {
    /// The archive's directory.
    #[serde(serialize_with = "path_json::serialize")]
    #[schemars(with = "PathJson<'_>")]
    pub archive: PathBuf,
    /// Damage that was found.
    pub faults: Vec<Fault>,
    /// Number of sessions.
    pub sessions: usize,
    /// Number of states.
    #[serde(rename = "states")]
    pub snapshots: usize,
    /// Number of blobs that the states need.
    pub blobs: usize,
    /// Bytes on the disk of the intact blobs and the manifests.
    pub stored_bytes: u64,
    /// Number of files that nothing needs, which an interrupted run left and the next one removes; 0 if a manifest or the
    /// record of a machine cannot be read, because it may need them.
    #[serde(rename = "unneeded_files")]
    pub unneeded: usize,
}

/// Something in the archive that has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ArchiveFault", deny_unknown_fields)]
pub(crate) struct Fault {
    /// `damaged-manifest`, `damaged-blob` or `missing-blob`.
    #[serde(rename = "code")]
    #[schemars(with = "String")]
    pub kind: FaultKind,
    /// The file in the archive.
    #[serde(serialize_with = "path_json::serialize")]
    #[schemars(with = "PathJson<'_>")]
    pub path: PathBuf,
    /// The reason.
    pub reason: String,
    /// Files of sessions that cannot be restored because of it.
    pub hurt: Vec<Hurt>,
}

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum FaultKind {
    /// A manifest is damaged or cannot be read.
    DamagedManifest,
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
}

/// A file of a session that cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
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
    #[schemars(with = "PathJson<'_>")]
    pub path: PathBuf,
}

/// Reads every manifest and every blob; a fault in one does not stop the check of the others.
pub(crate) fn verify(archive: &Archive) -> Verdict {
    let holdings = archive.holdings();
    let mut verdict = Verdict {
        archive: archive.root().to_owned(),
        sessions: holdings.sessions.len(),
        snapshots: holdings.snapshots().count(),
        ..Verdict::default()
    };
    for problem in &holdings.problems {
        verdict.faults.push(Fault {
            kind: FaultKind::DamagedManifest,
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
        let kind = if fault == BlobFault::Missing { FaultKind::MissingBlob } else { FaultKind::DamagedBlob };
        let hurt = users.into_iter().flat_map(|snapshot| hurt_by(name, snapshot)).collect();
        verdict.faults.push(Fault { kind, path: archive.blob(name), reason: fault.to_string(), hurt });
    }
    verdict.faults.sort_by(|a, b| (a.kind, &a.path).cmp(&(b.kind, &b.path)));
    if holdings.problems.is_empty() && archive.machines().1.is_empty() {
        verdict.unneeded = blobs(archive).into_iter().filter(|(_, name)| !needed.contains_key(name.as_str())).count();
    }
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
