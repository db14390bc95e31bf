//! The answers of `doctor` in the JSON contract.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::doctor::check::{Finding, Remedy, Repair};
use crate::doctor::code::{Code, Severity};
use crate::format::path_json::PathJson;
use crate::session::AgentKind;
use crate::view::render::items::ItemList;

/// The answer of `doctor`.
#[derive(Serialize)]
pub(crate) struct DoctorJson<'a> {
    /// The findings: the worst first, then in the order of the codes, sessions and paths.
    pub findings: ItemList<'a, FindingJson<'a>>,
    /// Number of checks and findings.
    #[serde(flatten)]
    pub counts: DoctorCountsJson,
}

/// Number of checks and findings.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct DoctorCountsJson {
    /// Number of errors.
    pub errors: usize,
    /// Number of warnings.
    pub warnings: usize,
    /// Number of findings that are only notes.
    pub notes: usize,
    /// Number of findings that `doctor --fix` repairs.
    pub repairable: usize,
    /// Number of sessions that were checked, including sub-agents and empty ones.
    pub sessions: usize,
    /// Number of findings that are left out because they were accepted with `doctor --accept`.
    pub accepted: usize,
    /// Number of large transcripts that were read only at both ends; 0 with `--deep`.
    pub read_at_both_ends: usize,
}

/// One finding.
#[derive(Debug, Serialize)]
pub(crate) struct FindingJson<'a> {
    /// A stable name; docs/doctor.md lists them.
    pub code: &'a str,
    /// `error`, `warning` or `info`.
    pub severity: Severity,
    /// The agents of the finding.
    pub agents: Vec<AgentKind>,
    /// The sessions of the finding.
    pub sessions: Vec<SessionIdJson<'a>>,
    /// The affected files and directories; for a duplicate the copy to use and the other one.
    pub paths: Vec<PathJson<'a>>,
    /// The evidence, in sentences.
    pub evidence: &'a str,
    /// The measured value.
    pub measured: &'a str,
    /// The expected value.
    pub expected: &'a str,
    /// The first of the `remedies`.
    pub remedy: &'a str,
    /// Complete commands to type, the best first, each with its effect.
    pub remedies: &'a [Remedy],
    /// The repair by `doctor --fix`; `null` if it needs a decision.
    pub repair: Option<RepairJson<'a>>,
}

/// A session's name.
#[derive(Debug, Serialize)]
pub(crate) struct SessionIdJson<'a> {
    /// The agent of the session.
    pub agent: AgentKind,
    /// The full id.
    pub id: &'a str,
}

/// A repair that loses nothing.
#[derive(Debug, Serialize)]
pub(crate) struct RepairJson<'a> {
    /// `backfill`: the session-info.json in the first path is written; `trash`: the paths go to the trash; `fold`: the
    /// records of the first path are added to the log in the second, and the first is moved to the trash.
    pub kind: &'a str,
    /// The affected files and directories.
    pub paths: Vec<PathJson<'a>>,
}

impl<'a> From<&'a Finding> for FindingJson<'a> {
    fn from(finding: &'a Finding) -> Self {
        Self {
            code: finding.code.name(),
            severity: finding.severity,
            agents: finding.agents.iter().copied().collect(),
            sessions: finding.sessions.iter().map(|(agent, id)| SessionIdJson { agent: *agent, id }).collect(),
            paths: finding.paths.iter().map(|path| path.as_path().into()).collect(),
            evidence: &finding.evidence,
            measured: &finding.measured,
            expected: &finding.expected,
            remedy: finding.remedies.first().map_or("", |remedy| remedy.command.as_str()),
            remedies: &finding.remedies,
            repair: finding.repair.as_ref().map(RepairJson::from),
        }
    }
}

impl<'a> From<&'a Repair> for RepairJson<'a> {
    fn from(repair: &'a Repair) -> Self {
        let (kind, paths): (_, Vec<&Path>) = match repair {
            Repair::Backfill { path, .. } => ("backfill", vec![path]),
            Repair::Trash { paths, .. } => ("trash", paths.iter().map(PathBuf::as_path).collect()),
            Repair::Fold { from, into } => ("fold", vec![from, into]),
            Repair::EditLines { path } => ("edit-lines", vec![path]),
            Repair::EndLine { path } => ("end-line", vec![path]),
            Repair::Mend { path } => ("mend", vec![path]),
            Repair::JoinChain { path } => ("join-chain", vec![path]),
            Repair::CutLine { path } => ("cut-line", vec![path]),
        };
        Self { kind, paths: paths.into_iter().map(PathJson::from).collect() }
    }
}

/// The answer of `doctor --list-checks`.
#[derive(Serialize)]
pub(crate) struct ChecksJson {
    /// Every check, in the order of the answers.
    pub checks: ItemList<'static, CheckJson>,
}

/// One check.
#[derive(Debug, Serialize)]
pub(crate) struct CheckJson {
    /// The stable name of its findings.
    pub code: &'static str,
    /// The possible severities of its findings, the worst first.
    pub severities: &'static [Severity],
    /// The meaning.
    pub meaning: &'static str,
}

impl From<&Code> for CheckJson {
    fn from(code: &Code) -> Self {
        Self { code: code.name(), severities: code.severities(), meaning: code.meaning() }
    }
}
