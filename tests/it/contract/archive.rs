//! The answers about the archive.

use serde::Deserialize;

use super::{Agent, Kind, Liveness, Message, Problem, Time, Version};

words!(ListKind: ArchiveList);
words!(ShowKind: ArchivedSession);
words!(VerifyKind: ArchiveVerify);
words!(FaultCode: DamagedManifest MissingManifest DamagedBlob MissingBlob);
words!(EntryRole: Own Shared Companion);
words!(EntryType: File Dir Link Rows);

answer!(Path { path: String; path_bytes_base64: Option<String> });

answer!(State {
    state: u64; machine: String; archived_at: Option<Time>; hostname: String; rejoin_version: String; liveness: Liveness; files: u64;
    size_bytes: u64; manifest: Path
});

answer!(Archived {
    agent: Agent; id: String; kind: Kind; title: Option<String>; first_prompt: Option<String>; launch_dir: Option<Path>;
    start_dir: Option<Path>; last_dir: Option<Path>; project: Option<String>; created_at: Option<Time>;
    active_at: Option<Time>; prompts: Option<u64>; replies: Option<u64>; model: Option<String>; git_branch: Option<String>;
    parent_id: Option<String>; paths: Vec<String>; states: Vec<State>
});

answer!(List {
    format_version: Version; kind: ListKind; archive: Path; sessions: Vec<Archived>; hidden: u64; beyond_limit: u64;
    problems: Vec<Problem>
});

answer!(Entry {
    path: String; role: EntryRole; #[serde(rename = "type")] node: EntryType; size_bytes: Option<u64>;
    sha256: Option<String>; mode: u32; modified_at: Option<Time>
});

answer!(Show {
    format_version: Version; kind: ShowKind; archive: Path; session: Archived; entries: Vec<Entry>;
    messages: Option<Vec<Message>>
});

answer!(Hurt { agent: Agent; id: String; state: u64; path: Path });

answer!(Fault { code: FaultCode; path: Path; reason: String; hurt: Vec<Hurt> });

answer!(Verify {
    format_version: Version; kind: VerifyKind; archive: Path; faults: Vec<Fault>; sessions: u64; states: u64; blobs: u64;
    stored_bytes: u64; unneeded_files: u64; incomplete: u64
});
