//! The JSON contract: what scripts can rely on (docs/json.md). Additive change is a minor version.

pub(crate) mod change;
pub(crate) mod details;
pub(crate) mod doctor;
pub(crate) mod facts;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;

use crate::agent::command::LaunchPlan;
use crate::error::{self, Exit, Refusal, RefusalCandidate, RefusalCode};
use crate::format::command_line::all_in_home;
use crate::format::path_json::path_bytes;
use crate::format::text;
use crate::launch;
use crate::launch::log::Launch;
use crate::scan::git::GitHead;
use crate::scan::worktree::Lost;
use crate::session::branches::Branch;
use crate::session::process::Process;
use crate::session::tag::Tag;
use crate::session::{AgentKind, Comparison, Evidence, Health, Pointer, Session};
use crate::system::env::Elsewhere;
use crate::view::render::document::write_object;
use crate::view::render::json::doctor::SessionIdJson;
use crate::view::render::json::facts::{FactsJson, Of};

/// The launch directory of a session.
#[derive(Debug, Serialize)]
pub(crate) struct LaunchDirJson<'a> {
    /// The directory; with replacement characters where it is not UTF-8.
    pub path: Cow<'a, str>,
    /// The exact bytes of a path that is not UTF-8, in base64; else `null`.
    pub path_bytes_base64: Option<String>,
    /// The source of the directory: `session-info`, `metadata`, `events`, `pointer`, `project`, `transcript`,
    /// `relocated`, `last-directory`, `session`, `known` or `option`.
    pub source: &'a str,
    /// True if the directory exists on this machine now; `null` if it was not checked, or its mount does not answer.
    pub exists: Option<bool>,
}

impl<'a> LaunchDirJson<'a> {
    /// Names the source of a directory.
    pub(crate) fn new(dir: &'a Path, source: &'a str, exists: Option<bool>) -> Self {
        Self { path: text::of_path(dir), path_bytes_base64: path_bytes(dir), source, exists }
    }
}

/// One place where a session is stored.
#[derive(Debug, Serialize)]
pub(crate) struct CopyJson<'a> {
    /// The transcript, or the session's directory.
    pub path: Cow<'a, str>,
    /// The exact bytes of a path that is not UTF-8, in base64; else `null`.
    pub path_bytes_base64: Option<String>,
    /// The project's name on disk; `null` if the agent has no projects.
    pub project: Option<&'a str>,
    /// True if `resume` uses this copy.
    pub chosen: bool,
    /// The reason for choosing it; `null` for the other copies.
    pub why: Option<&'a str>,
    /// The comparison with the first copy: `identical`, `longer`, `shorter` or `diverged`; `null` for that copy, or if
    /// they were not compared.
    pub compared: Option<&'static str>,
    /// The first record that differs, counted from 1; `null` unless they diverged.
    pub diverged_at_record: Option<u64>,
    /// Prompts and replies together; `null` unless the whole file was read.
    pub messages: Option<u64>,
    /// The time of the last activity of this copy.
    pub active_at: Option<Timestamp>,
    /// The size of the copy with its belongings, in bytes; `null` if that was not counted.
    pub size_bytes: Option<u64>,
}

/// The command that resumes a session.
#[derive(Debug, Serialize)]
pub(crate) struct ResumeJson<'a> {
    /// The program and its arguments.
    pub argv: &'a [String],
    /// The directory in which to start it; `null` if it is not known.
    pub dir: Option<Cow<'a, str>>,
    /// The exact bytes of a directory that is not UTF-8, in base64; else `null`.
    pub dir_bytes_base64: Option<String>,
    /// Variables to remove from the environment.
    pub unset: &'a [&'static str],
    /// Variables to set in the environment.
    pub set: BTreeMap<&'a str, Cow<'a, str>>,
    /// The text to type in the running agent, if it accepts no id on its command line.
    pub then_type: Option<&'a str>,
}

/// One conversation as its agent would resume it.
#[derive(Serialize)]
pub(crate) struct SessionJson<'a> {
    #[serde(flatten)]
    pub facts: FactsJson<'a>,
    /// The session that it continues, because it began with `resume --with`, or `rewind` made it; `null` if rejoin does
    /// not know one.
    pub continues: Option<SessionIdJson<'a>>,
    /// `live`, `maybe` or `idle`.
    pub liveness: &'a str,
    /// The process that uses it, or may; `null` if it is idle. Set only by `list` and `show`.
    pub process: Option<Process>,
    /// True if the user pinned it, so that no cleanup removes it; checked only by `list` and `show`.
    pub pinned: bool,
    /// The reason for which the user keeps it in its agent, such as `pinned in Codex`, so that no cleanup removes it; else
    /// `null`.
    pub kept_by: Option<String>,
    /// The tags that the user assigned, in alphabetical order; set only by `list`, `search` and `show`.
    pub tags: Vec<&'a str>,
    /// The time from which its agent deletes it, if that is within seven days; set only by `list`, `search` and `show`.
    pub expires_at: Option<Timestamp>,
    /// Its problems, as codes of findings.
    pub health: Vec<Health>,
    /// Every copy, the chosen one first.
    pub copies: Vec<CopyJson<'a>>,
    /// The files elsewhere that name it.
    pub pointers: &'a [Pointer],
    /// Set if `resume` would start it now.
    pub resumable: bool,
    /// The command with which its agent resumes it; `null` if the agent cannot, in any directory.
    pub resume: Option<ResumeJson<'a>>,
}

impl<'a> SessionJson<'a> {
    /// Converts a session and its resume plan to the JSON contract.
    pub(crate) fn new(session: &'a Session, plan: Option<&'a LaunchPlan>) -> Self {
        let compared = |at: usize| session.choice.comparisons.get(at).copied().flatten();
        Self {
            facts: FactsJson(session, Of::Session),
            continues: session.continues.as_deref().map(|origin| SessionIdJson { agent: origin.agent, id: &origin.id }),
            liveness: session.copy().liveness.name(),
            process: session.process,
            pinned: session.is_pinned,
            kept_by: session.kept_by().map(ToString::to_string),
            tags: session.tags.iter().map(Tag::word).collect(),
            expires_at: session.expires_at,
            health: session.health.iter().collect(),
            copies: session
                .copies
                .iter()
                .enumerate()
                .map(|(at, copy)| CopyJson {
                    path: text::of_path(&copy.place.path),
                    path_bytes_base64: path_bytes(&copy.place.path),
                    project: copy.place.project.as_deref(),
                    chosen: at == 0 && session.choice.is_decided,
                    why: (at == 0).then_some(&*session.choice.why),
                    compared: compared(at).map(Comparison::name),
                    diverged_at_record: compared(at).and_then(Comparison::diverged_at),
                    messages: copy.prompts.zip(copy.replies).map(|(prompts, replies)| prompts + replies),
                    active_at: copy.active_at.as_ref().map(|fact| fact.value),
                    size_bytes: copy.size(),
                })
                .collect(),
            pointers: &session.pointers,
            resumable: plan.is_some() && launch::starts(session),
            resume: plan.map(resume),
        }
    }
}

/// Converts a resume plan to the JSON contract.
pub(crate) fn resume(plan: &LaunchPlan) -> ResumeJson<'_> {
    ResumeJson {
        argv: &plan.argv,
        dir: plan.dir.as_ref().map(|dir| text::of_path(dir)),
        dir_bytes_base64: plan.dir.as_deref().and_then(path_bytes),
        unset: &plan.unset,
        set: plan.set.iter().map(|(name, value)| (&**name, value.to_string_lossy())).collect(),
        then_type: plan.then_type.as_deref(),
    }
}

/// The answer of `show`.
#[derive(Serialize)]
pub(crate) struct SessionDetailsJson<'a, M> {
    /// The session, with prompts and replies counted.
    pub session: SessionJson<'a>,
    /// The file or record from which each fact was read.
    pub sources: BTreeMap<&'a str, &'a str>,
    /// The evidence for each launch directory, strongest first.
    pub evidence: &'a [Evidence],
    /// Further notes on the session, one line each.
    pub notes: &'a [String],
    /// The branches of the conversation, the active one first; `null` without `--branches`.
    pub branches: Option<&'a [Branch]>,
    /// The requested messages, in order; `null` if none were requested.
    pub messages: M,
}

/// The answer of `resume --json`: the plan, of which nothing is carried out.
#[derive(Debug, Serialize)]
pub(crate) struct ResumePlanJson<'a> {
    /// The agent that the session belongs to.
    pub agent: AgentKind,
    /// The full id; `null` for a new session.
    pub id: Option<&'a str>,
    /// The path of the chosen copy; `null` for a new session.
    pub path: Option<Cow<'a, str>>,
    /// The reason for choosing that copy.
    pub why: Option<&'a str>,
    /// The directory in which the agent would be started; `null` if there is no evidence.
    pub launch_dir: Option<LaunchDirJson<'a>>,
    /// The command.
    pub resume: ResumeJson<'a>,
    /// The path of the agent's program; `null` if it is not on PATH.
    pub program: Option<Cow<'a, str>>,
    /// The git worktree that `--recreate-worktree` would recreate first; `null` for none.
    pub worktree: Option<WorktreeJson<'a>>,
    /// The session-info.json that would be written first, so that the next resume is stable; `null` for none.
    pub backfill: Option<Cow<'a, str>>,
    /// The file with the whole conversation, which the briefing of `--with` names; `null` without one.
    pub briefing: Option<Cow<'a, str>>,
    /// The reasons why `resume` refuses; empty if it does not.
    pub refusals: Vec<RefusalJson<'a>>,
    /// Possible problems that do not stop the resume.
    pub warnings: &'a [String],
}

/// A deleted git worktree that would be recreated.
#[derive(Debug, Serialize)]
pub(crate) struct WorktreeJson<'a> {
    /// Its directory.
    pub dir: Cow<'a, str>,
    /// The main checkout of its repository.
    pub repository: Cow<'a, str>,
    /// The branch that would be checked out; `null` for a commit.
    pub branch: Option<&'a str>,
    /// The commit that would be checked out; `null` for a branch.
    pub commit: Option<&'a str>,
}

impl<'a> From<&'a Lost> for WorktreeJson<'a> {
    fn from(lost: &'a Lost) -> Self {
        let (branch, commit) = match &lost.head {
            GitHead::Branch(name) => (Some(name.as_str()), None),
            GitHead::Commit(id) => (None, Some(id.as_str())),
        };
        Self { dir: lost.dir.to_string_lossy(), repository: lost.main.to_string_lossy(), branch, commit }
    }
}

/// The answer of `resume --last-launch`.
#[derive(Debug, Serialize)]
pub(crate) struct LastLaunchJson<'a> {
    /// The time of the launch.
    pub at: Timestamp,
    /// The agent.
    pub agent: AgentKind,
    /// The session; `null` for a new one.
    pub id: Option<&'a str>,
    /// The requested copy; `null` for a new session.
    pub path: Option<Cow<'a, str>>,
    /// The directory in which the agent was started.
    pub dir: Cow<'a, str>,
    /// The program and its arguments.
    pub argv: &'a [String],
}

impl<'a> From<&'a Launch> for LastLaunchJson<'a> {
    fn from(launch: &'a Launch) -> Self {
        Self {
            at: launch.at,
            agent: launch.agent,
            id: launch.id.as_deref(),
            path: launch.path.as_deref().map(Path::to_string_lossy),
            dir: launch.dir.to_string_lossy(),
            argv: &launch.argv,
        }
    }
}

/// The reason why a resume would be refused.
#[derive(Debug, Serialize)]
pub(crate) struct RefusalJson<'a> {
    /// A stable name.
    pub code: &'a str,
    /// The exit code of the refusal.
    pub exit: u8,
    /// The message: what failed, where and why.
    pub message: &'a str,
    /// The next command to type.
    pub hint: Option<Cow<'a, str>>,
}

impl<'a> RefusalJson<'a> {
    /// Converts a refusal to the JSON contract, with commands for the home and host of this run.
    pub(crate) fn new(refusal: &'a Refusal, elsewhere: &Elsewhere) -> Self {
        let Refusal { code, message, hint, .. } = refusal;
        let hint = hint.as_deref().map(|hint| all_in_home(hint, elsewhere));
        Self { code: code.name(), exit: refusal.exit.code(), message, hint }
    }
}

/// An error, on standard error.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorJson<'a> {
    /// A stable name for the error.
    pub code: &'a str,
    /// The exit code.
    pub exit: u8,
    /// The message: what failed, where and why.
    pub message: &'a str,
    /// The next command to type.
    pub hint: Option<Cow<'a, str>>,
    /// The candidates to choose from.
    pub candidates: &'a [RefusalCandidate],
}

/// Converts an error to the JSON contract.
pub(crate) fn error(error: &anyhow::Error, elsewhere: &Elsewhere) -> String {
    let refusal = error.downcast_ref::<Refusal>();
    let message = format!("{error:#}");
    let fields = ErrorJson {
        code: refusal.map_or(RefusalCode::Failed, |refusal| refusal.code).name(),
        exit: refusal.map_or(Exit::Failure, |refusal| refusal.exit).code(),
        message: &message,
        hint: error::hint(error).map(|hint| all_in_home(hint, elsewhere)),
        candidates: refusal.map_or(&[], |refusal| &refusal.candidates),
    };
    let mut line = Vec::new();
    // Neither the conversion nor writing to memory fails.
    let _ = write_object(&mut line, "error", fields);
    String::from_utf8_lossy(line.trim_ascii_end()).into_owned()
}
