//! The answers about the archive.

use serde::Deserialize;

use super::{Agent, Kind, Liveness, Message, Problem, Version, nullable, utc};

words!(ListKind: ArchiveList);
words!(ShowKind: ArchivedSession);
words!(VerifyKind: ArchiveVerify);
words!(FaultCode: DamagedManifest DamagedBlob MissingBlob);
words!(EntryRole: Own Shared Companion);
words!(EntryType: File Dir Link Rows);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Path {
    pub(crate) path: String,
    #[serde(deserialize_with = "nullable")]
    pub(crate) path_bytes_base64: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct State {
    pub(crate) state: u64,
    #[serde(deserialize_with = "utc")]
    pub(crate) archived_at: Option<String>,
    pub(crate) hostname: String,
    pub(crate) rejoin_version: String,
    pub(crate) liveness: Liveness,
    pub(crate) files: u64,
    pub(crate) size_bytes: u64,
    pub(crate) manifest: Path,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Archived {
    pub(crate) agent: Agent,
    pub(crate) id: String,
    pub(crate) kind: Kind,
    #[serde(deserialize_with = "nullable")]
    pub(crate) title: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) first_prompt: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) launch_dir: Option<Path>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) start_dir: Option<Path>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) last_dir: Option<Path>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) project: Option<String>,
    #[serde(deserialize_with = "utc")]
    pub(crate) created_at: Option<String>,
    #[serde(deserialize_with = "utc")]
    pub(crate) active_at: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) prompts: Option<u64>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) replies: Option<u64>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) model: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) git_branch: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) parent_id: Option<String>,
    pub(crate) paths: Vec<String>,
    pub(crate) states: Vec<State>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    pub(crate) format_version: Version,
    pub(crate) kind: ListKind,
    pub(crate) archive: Path,
    pub(crate) sessions: Vec<Archived>,
    pub(crate) hidden: u64,
    pub(crate) beyond_limit: u64,
    pub(crate) problems: Vec<Problem>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    pub(crate) path: String,
    pub(crate) role: EntryRole,
    #[serde(rename = "type")]
    pub(crate) node: EntryType,
    #[serde(deserialize_with = "nullable")]
    pub(crate) size_bytes: Option<u64>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) sha256: Option<String>,
    pub(crate) mode: u32,
    #[serde(deserialize_with = "utc")]
    pub(crate) modified_at: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Show {
    pub(crate) format_version: Version,
    pub(crate) kind: ShowKind,
    pub(crate) archive: Path,
    pub(crate) session: Archived,
    pub(crate) entries: Vec<Entry>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) messages: Option<Vec<Message>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hurt {
    pub(crate) agent: Agent,
    pub(crate) id: String,
    pub(crate) state: u64,
    pub(crate) path: Path,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fault {
    pub(crate) code: FaultCode,
    pub(crate) path: Path,
    pub(crate) reason: String,
    pub(crate) hurt: Vec<Hurt>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Verify {
    pub(crate) format_version: Version,
    pub(crate) kind: VerifyKind,
    pub(crate) archive: Path,
    pub(crate) faults: Vec<Fault>,
    pub(crate) sessions: u64,
    pub(crate) states: u64,
    pub(crate) blobs: u64,
    pub(crate) stored_bytes: u64,
    pub(crate) unneeded_files: u64,
}
