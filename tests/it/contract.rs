//! The JSON contract, read by structs of our own that know nothing of the program's types.
//!
//! A field that is missing, unknown or of another type fails the test that meets it.
#![expect(dead_code, reason = "that every field can be read is the check")]

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use crate::world::World;

/// Reads one JSON value and nothing after it.
#[track_caller]
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> T {
    match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => panic!("the contract is broken: {error}\n{:.2000}", text),
    }
}

/// Reads a field that may be `null` but must be there.
fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}

/// Reads a time, which is RFC 3339 in UTC.
fn utc<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text: Option<String> = Option::deserialize(deserializer)?;
    match &text {
        Some(text) if !text.ends_with('Z') || text.parse::<jiff::Timestamp>().is_err() => {
            Err(serde::de::Error::custom(format!("{text} is not an RFC 3339 time in UTC")))
        }
        _ => Ok(text),
    }
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
words!(Severity: Error Warning Info);
words!(RepairKind: Backfill Trash Fold SplitLines);

/// Returns the name of every agent that the program knows.
pub(crate) fn names() -> &'static [&'static str] {
    static NAMES: OnceLock<Vec<&'static str>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let told = World::new().rejoin(["generate", "agents"]).code(0).stdout();
        told.lines().map(|name| &*String::leak(name.to_owned())).collect()
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

/// The only version that these structs know.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum Version {
    #[serde(rename = "1.0")]
    One,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LaunchDir {
    pub(crate) path: String,
    #[serde(deserialize_with = "nullable")]
    pub(crate) path_bytes_base64: Option<String>,
    pub(crate) source: String,
    #[serde(deserialize_with = "nullable")]
    pub(crate) exists: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Copy {
    pub(crate) path: String,
    #[serde(deserialize_with = "nullable")]
    pub(crate) path_bytes_base64: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) project: Option<String>,
    pub(crate) chosen: bool,
    #[serde(deserialize_with = "nullable")]
    pub(crate) why: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) compared: Option<Compared>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) diverged_at_record: Option<u64>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) messages: Option<u64>,
    #[serde(deserialize_with = "utc")]
    pub(crate) active_at: Option<String>,
    pub(crate) size_bytes: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pointer {
    pub(crate) agent: Agent,
    pub(crate) path: String,
    pub(crate) dir: String,
    #[serde(deserialize_with = "nullable")]
    pub(crate) session_id: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) name: Option<String>,
    #[serde(deserialize_with = "utc")]
    pub(crate) written_at: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resume {
    pub(crate) argv: Vec<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) dir: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) dir_bytes_base64: Option<String>,
    pub(crate) unset: Vec<String>,
    pub(crate) set: BTreeMap<String, String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) then_type: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Session {
    pub(crate) agent: Agent,
    pub(crate) id: String,
    pub(crate) kind: Kind,
    #[serde(deserialize_with = "nullable")]
    pub(crate) title: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) first_prompt: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) launch_dir: Option<LaunchDir>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) start_dir: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) last_dir: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) project: Option<String>,
    #[serde(deserialize_with = "utc")]
    pub(crate) created_at: Option<String>,
    #[serde(deserialize_with = "utc")]
    pub(crate) active_at: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) active_source: Option<String>,
    pub(crate) size_bytes: u64,
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
    pub(crate) liveness: Liveness,
    pub(crate) pinned: bool,
    pub(crate) health: Vec<String>,
    pub(crate) copies: Vec<Copy>,
    pub(crate) pointers: Vec<Pointer>,
    pub(crate) resumable: bool,
    #[serde(deserialize_with = "nullable")]
    pub(crate) resume: Option<Resume>,
}

impl Session {
    /// Returns the launch directory, if there is one.
    pub(crate) fn launch_path(&self) -> Option<&str> {
        self.launch_dir.as_ref().map(|dir| dir.path.as_str())
    }

    /// Returns where the launch directory was read.
    pub(crate) fn launch_source(&self) -> Option<&str> {
        self.launch_dir.as_ref().map(|dir| dir.source.as_str())
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Problem {
    pub(crate) path: String,
    pub(crate) reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionList {
    pub(crate) format_version: Version,
    pub(crate) kind: ListKind,
    pub(crate) sessions: Vec<Session>,
    pub(crate) hidden: u64,
    pub(crate) beyond_limit: u64,
    pub(crate) dangling_pointers: Vec<Pointer>,
    pub(crate) problems: Vec<Problem>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentList {
    pub(crate) format_version: Version,
    pub(crate) kind: AgentsKind,
    pub(crate) stores: Vec<Store>,
    pub(crate) pointers: Vec<Pointers>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Remedy {
    pub(crate) command: String,
    pub(crate) effect: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Store {
    pub(crate) agent: Agent,
    pub(crate) name: String,
    pub(crate) root: PathOf,
    pub(crate) exists: bool,
    pub(crate) is_default: bool,
    pub(crate) sessions: u64,
    pub(crate) others: u64,
    pub(crate) size_bytes: u64,
    #[serde(deserialize_with = "utc")]
    pub(crate) active_at: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) version: Option<String>,
    pub(crate) shared_with: Vec<PathOf>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) tested_version: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pointers {
    pub(crate) agent: Agent,
    pub(crate) of: Agent,
    pub(crate) pointers: u64,
    pub(crate) dangling: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header<K> {
    pub(crate) format_version: Version,
    pub(crate) kind: K,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListSummary {
    pub(crate) kind: SummaryKind,
    pub(crate) sessions: u64,
    pub(crate) hidden: u64,
    pub(crate) beyond_limit: u64,
    pub(crate) dangling_pointers: Vec<Pointer>,
    pub(crate) problems: Vec<Problem>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Message {
    pub(crate) role: Role,
    pub(crate) text: String,
    #[serde(deserialize_with = "utc")]
    pub(crate) at: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Evidence {
    pub(crate) dir: String,
    pub(crate) source: String,
    pub(crate) detail: String,
    pub(crate) counts: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Details {
    pub(crate) format_version: Version,
    pub(crate) kind: DetailsKind,
    pub(crate) session: Session,
    pub(crate) sources: BTreeMap<String, String>,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) notes: Vec<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) messages: Option<Vec<Message>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowSummary {
    pub(crate) kind: SummaryKind,
    pub(crate) messages: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Refusal {
    pub(crate) code: String,
    pub(crate) exit: i32,
    pub(crate) message: String,
    #[serde(deserialize_with = "nullable")]
    pub(crate) hint: Option<String>,
}

/// A git worktree that would be made again.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Worktree {
    pub(crate) dir: String,
    pub(crate) repository: String,
    #[serde(deserialize_with = "nullable")]
    pub(crate) branch: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) commit: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResumePlan {
    pub(crate) format_version: Version,
    pub(crate) kind: PlanKind,
    pub(crate) agent: Agent,
    #[serde(deserialize_with = "nullable")]
    pub(crate) id: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) path: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) why: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) launch_dir: Option<LaunchDir>,
    pub(crate) resume: Resume,
    #[serde(deserialize_with = "nullable")]
    pub(crate) program: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) worktree: Option<Worktree>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) backfill: Option<String>,
    pub(crate) refusals: Vec<Refusal>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LastLaunch {
    pub(crate) format_version: Version,
    pub(crate) kind: LastLaunchKind,
    #[serde(deserialize_with = "utc")]
    pub(crate) at: Option<String>,
    pub(crate) agent: Agent,
    #[serde(deserialize_with = "nullable")]
    pub(crate) id: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) path: Option<String>,
    pub(crate) dir: String,
    pub(crate) argv: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PathOf {
    pub(crate) path: String,
    #[serde(deserialize_with = "nullable")]
    pub(crate) path_bytes_base64: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionId {
    pub(crate) agent: Agent,
    pub(crate) id: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Repair {
    pub(crate) kind: RepairKind,
    pub(crate) paths: Vec<PathOf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Finding {
    pub(crate) code: String,
    pub(crate) severity: Severity,
    pub(crate) agents: Vec<Agent>,
    pub(crate) sessions: Vec<SessionId>,
    pub(crate) paths: Vec<PathOf>,
    pub(crate) evidence: String,
    pub(crate) measured: String,
    pub(crate) expected: String,
    pub(crate) remedy: String,
    pub(crate) remedies: Vec<Remedy>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) repair: Option<Repair>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DoctorReport {
    pub(crate) format_version: Version,
    pub(crate) kind: DoctorKind,
    pub(crate) findings: Vec<Finding>,
    pub(crate) errors: u64,
    pub(crate) warnings: u64,
    pub(crate) infos: u64,
    pub(crate) repairable: u64,
    pub(crate) sessions: u64,
    pub(crate) read_at_both_ends: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DoctorSummary {
    pub(crate) kind: SummaryKind,
    pub(crate) errors: u64,
    pub(crate) warnings: u64,
    pub(crate) infos: u64,
    pub(crate) repairable: u64,
    pub(crate) sessions: u64,
    pub(crate) read_at_both_ends: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Check {
    pub(crate) code: String,
    pub(crate) severities: Vec<Severity>,
    pub(crate) meaning: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DoctorChecks {
    pub(crate) format_version: Version,
    pub(crate) kind: DoctorChecksKind,
    pub(crate) checks: Vec<Check>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Candidate {
    pub(crate) agent: Agent,
    pub(crate) id: String,
    pub(crate) path: String,
    #[serde(deserialize_with = "nullable")]
    pub(crate) dir: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) title: Option<String>,
    #[serde(deserialize_with = "utc")]
    pub(crate) active_at: Option<String>,
    pub(crate) size_bytes: u64,
    #[serde(deserialize_with = "nullable")]
    pub(crate) messages: Option<u64>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) copy: Option<u64>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) differs: Option<String>,
    pub(crate) select: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Error {
    pub(crate) format_version: Version,
    pub(crate) kind: ErrorKind,
    pub(crate) code: String,
    pub(crate) exit: i32,
    pub(crate) message: String,
    #[serde(deserialize_with = "nullable")]
    pub(crate) hint: Option<String>,
    pub(crate) candidates: Vec<Candidate>,
}
