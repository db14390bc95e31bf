//! The JSON contract, read by separate structs that are independent of the program's types.
//!
//! A field that is missing, unknown or of another type fails the test that reads it.
#![expect(dead_code, reason = "that every field can be read is the check")]

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

/// Parses one JSON value, followed by nothing else.
#[track_caller]
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> T {
    match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => panic!("the contract is broken: {error}\n{:.2000}", text),
    }
}

/// Parses a field that must be present, though it may be `null`.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::deserialize(deserializer)
}

/// A time, which is RFC 3339 in UTC.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Time(String);

impl std::ops::Deref for Time {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.parse::<jiff::Timestamp>() {
            Ok(_) if text.ends_with('Z') => Ok(Self(text)),
            _ => Err(serde::de::Error::custom(format!("{text} is not an RFC 3339 time in UTC"))),
        }
    }
}

/// Declares an answer or a part of one: every field must be present, and no others.
macro_rules! answer {
    ($(#[$outer:meta])* $name:ident $(<$($of:ident),*>)? { $($(#[$meta:meta])* $field:ident: $type:ty);* }) => {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        $(#[$outer])*
        pub(crate) struct $name $(<$($of),*>)? {
            $($(#[$meta])* #[serde(deserialize_with = "crate::contract::present")] pub(crate) $field: $type),*
        }
    };
}

macro_rules! words {
    ($name:ident: $($word:ident)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub(crate) enum $name { $($word),* }
    };
}

pub(crate) mod archive;
pub(crate) mod changes;
pub(crate) mod config;
pub(crate) mod hooks;
pub(crate) mod search;

words!(Kind: Main Fork Exec Saved Subagent Archived Empty);
words!(Liveness: Live Maybe Idle);
words!(State: Working Waiting Unknown);
words!(Role: User Assistant Tool System);
words!(Compared: Identical Longer Shorter Diverged);
words!(ListKind: SessionList);
words!(AgentsKind: AgentList);
words!(DetailsKind: Session);
words!(PlanKind: ResumePlan);
words!(LastLaunchKind: LastLaunch);
words!(SummaryKind: Summary);
words!(ErrorKind: Error);
words!(DoctorKind: DoctorReport);
words!(DoctorChecksKind: DoctorChecks);
words!(Severity: Error Warning Note);
words!(RepairKind: Backfill Trash Fold EndLine CutLine EditLines JoinChain Mend);

/// Returns the name of every agent that the program knows.
pub(crate) fn names() -> &'static [&'static str] {
    static NAMES: OnceLock<Vec<&'static str>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let page = include_str!("../../docs/agents.md");
        page.split("\n* **`")
            .skip(1)
            .filter_map(|part| part.split_once("` sessions**: "))
            .map(|(name, _)| name)
            .collect()
    })
}

/// The name of an agent that the program knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Agent(&'static str);

impl Agent {
    pub(crate) const AMPLIFIER: Self = Self("amplifier");
    pub(crate) const CLAUDE: Self = Self("claude");
    pub(crate) const CODEX: Self = Self("codex");
    pub(crate) const COPILOT: Self = Self("copilot");
    pub(crate) const CRUSH: Self = Self("crush");
    pub(crate) const GEMINI: Self = Self("gemini");
    pub(crate) const GOOSE: Self = Self("goose");
    pub(crate) const GPTME: Self = Self("gptme");
    pub(crate) const HERMES: Self = Self("hermes");
    pub(crate) const JIDO: Self = Self("jido");
    pub(crate) const KILO: Self = Self("kilo");
    pub(crate) const KIMI: Self = Self("kimi");
    pub(crate) const OPENCODE: Self = Self("opencode");
    pub(crate) const OPENHANDS: Self = Self("openhands");
    pub(crate) const PI: Self = Self("pi");
    pub(crate) const PRIME: Self = Self("prime");
    pub(crate) const QWEN: Self = Self("qwen");
    pub(crate) const VIBE: Self = Self("vibe");
}

impl std::fmt::Display for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl<'de> Deserialize<'de> for Agent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = names().iter().find(|known| **known == name);
        known.map(|known| Self(known)).ok_or_else(|| serde::de::Error::custom(format!("{name} is no agent")))
    }
}

/// The only version that these structs support.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum Version {
    #[serde(rename = "1.0")]
    One,
}

answer!(LaunchDir { path: String; path_bytes_base64: Option<String>; source: String; exists: Option<bool> });

answer!(Copy {
    path: String; path_bytes_base64: Option<String>; project: Option<String>; chosen: bool; why: Option<String>;
    compared: Option<Compared>; diverged_at_record: Option<u64>; messages: Option<u64>; active_at: Option<Time>;
    size_bytes: Option<u64>
});

answer!(Pointer {
    agent: Agent; path: String; dir: String; session_id: Option<String>; name: Option<String>; written_at: Option<Time>
});

answer!(Resume {
    argv: Vec<String>; dir: Option<String>; dir_bytes_base64: Option<String>; unset: Vec<String>;
    set: BTreeMap<String, String>; then_type: Option<String>
});

answer!(Process { pid: Option<u32>; started_at: Option<Time>; state: State });

answer!(Tokens { input: u64; cached: u64; output: u64 });

answer!(Session {
    agent: Agent; id: String; kind: Kind; title: Option<String>; first_prompt: Option<String>; launch_dir: Option<LaunchDir>;
    start_dir: Option<String>; last_dir: Option<String>; project: Option<String>; created_at: Option<Time>;
    active_at: Option<Time>; active_source: Option<String>; size_bytes: Option<u64>; prompts: Option<u64>; replies: Option<u64>;
    tokens: Option<Tokens>; cost_usd: Option<f64>;
    model: Option<String>; git_branch: Option<String>; parent_id: Option<String>; continues: Option<SessionId>; liveness: Liveness; process: Option<Process>;
    pinned: bool; kept_by: Option<String>; tags: Vec<String>; expires_at: Option<Time>; health: Vec<String>; copies: Vec<Copy>; pointers: Vec<Pointer>; resumable: bool; resume: Option<Resume>
});

impl Session {
    /// Returns the launch directory, if there is one.
    pub(crate) fn launch_path(&self) -> Option<&str> {
        self.launch_dir.as_ref().map(|dir| dir.path.as_str())
    }

    /// Returns the source of the launch directory.
    pub(crate) fn launch_source(&self) -> Option<&str> {
        self.launch_dir.as_ref().map(|dir| dir.source.as_str())
    }
}

answer!(Problem { path: String; reason: String });

answer!(SessionList {
    format_version: Version; kind: ListKind; sessions: Vec<Session>; hidden: u64; beyond_limit: u64;
    dangling_pointers: Vec<Pointer>; problems: Vec<Problem>
});

answer!(AgentList { format_version: Version; kind: AgentsKind; stores: Vec<Store>; pointers: Vec<Pointers>; not_read: Vec<NotRead> });

answer!(Remedy { command: String; effect: String });

answer!(Store {
    agent: Agent; name: String; root: PathOf; exists: bool; is_default: bool; sessions: u64; others: u64; size_bytes: u64;
    active_at: Option<Time>; version: Option<String>; shared_with: Vec<PathOf>; tested_version: Option<String>
});

answer!(NotRead { name: String; root: PathOf; instead: String });

answer!(Pointers { agent: Agent; of: Agent; pointers: u64; dangling: u64 });

answer!(
    #[serde(bound(deserialize = "K: Deserialize<'de>"))]
    Header<K> { format_version: Version; kind: K });

answer!(ListSummary {
    kind: SummaryKind; sessions: u64; hidden: u64; beyond_limit: u64; dangling_pointers: Vec<Pointer>;
    problems: Vec<Problem>
});

answer!(Message { role: Role; text: String; at: Option<Time>; branch: Option<u16>; error: bool });

answer!(Branch {
    number: u16; active: bool; messages: u64; begun_at: Option<Time>; ended_at: Option<Time>; first: Option<String>; after: Option<String>; cut_off: bool
});

answer!(Evidence { dir: String; source: String; detail: String; counts: bool });

answer!(Details {
    format_version: Version; kind: DetailsKind; session: Session; sources: BTreeMap<String, String>; evidence: Vec<Evidence>;
    notes: Vec<String>; branches: Option<Vec<Branch>>; messages: Option<Vec<Message>>
});

answer!(ShowSummary { kind: SummaryKind; messages: u64 });

answer!(Refusal { code: String; exit: i32; message: String; hint: Option<String> });

answer!(
    /// A git worktree that would be recreated.
    Worktree { dir: String; repository: String; branch: Option<String>; commit: Option<String> });

answer!(ResumePlan {
    format_version: Version; kind: PlanKind; agent: Agent; id: Option<String>; path: Option<String>; why: Option<String>;
    launch_dir: Option<LaunchDir>; resume: Resume; program: Option<String>; worktree: Option<Worktree>;
    backfill: Option<String>; briefing: Option<String>; refusals: Vec<Refusal>;
    warnings: Vec<String>
});

answer!(LastLaunch {
    format_version: Version; kind: LastLaunchKind; at: Option<Time>; agent: Agent; id: Option<String>; path: Option<String>;
    dir: String; argv: Vec<String>
});

answer!(PathOf { path: String; path_bytes_base64: Option<String> });

answer!(SessionId { agent: Agent; id: String });

answer!(Repair { kind: RepairKind; paths: Vec<PathOf> });

answer!(Finding {
    code: String; severity: Severity; agents: Vec<Agent>; sessions: Vec<SessionId>; paths: Vec<PathOf>; evidence: String;
    measured: String; expected: String; remedy: String; remedies: Vec<Remedy>; repair: Option<Repair>
});

answer!(DoctorReport {
    format_version: Version; kind: DoctorKind; findings: Vec<Finding>; errors: u64; warnings: u64; notes: u64;
    repairable: u64; sessions: u64; accepted: u64; read_at_both_ends: u64
});

answer!(DoctorSummary {
    kind: SummaryKind; errors: u64; warnings: u64; notes: u64; repairable: u64; sessions: u64; accepted: u64; read_at_both_ends: u64
});

answer!(Check { code: String; severities: Vec<Severity>; meaning: String });

answer!(DoctorChecks { format_version: Version; kind: DoctorChecksKind; checks: Vec<Check> });

answer!(Candidate {
    agent: Agent; id: String; path: String; dir: Option<String>; title: Option<String>; active_at: Option<Time>;
    size_bytes: u64; messages: Option<u64>; copy: Option<u64>; differs: Option<String>; select: String
});

answer!(Error {
    format_version: Version; kind: ErrorKind; code: String; exit: i32; message: String; hint: Option<String>;
    candidates: Vec<Candidate>
});

#[test]
fn page_lists_at_most_20_kinds_of_answers() {
    let page = include_str!("../../docs/json.md");
    let rows = page.lines().skip_while(|line| !line.starts_with("| answer |")).skip(2);
    let kinds = rows.take_while(|line| !line.is_empty()).count();
    assert!((15..=20).contains(&kinds), "{kinds} kinds of JSON documents, not 20 at most");
}
