//! Fields of the JSON document of a change that only one command has.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;

use crate::format::path_json::PathJson;
use crate::session::{AgentKind, Evidence};
use crate::view::render::json::doctor::FindingJson;

/// Members that only one command has.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum CommandMembers<'a> {
    /// `archive`.
    Archive(ArchiveDetails<'a>),
    /// `cleanup`.
    Cleanup(Box<CleanupDetails<'a>>),
    /// `doctor --fix`.
    Fix(FixDetails<'a>),
    /// `hook install` and `hook uninstall`.
    Hook(HookDetails<'a>),
    /// `move`.
    Move(MoveDetails),
    /// `restore`, if the session got another directory.
    Restore(RestoreDetails<'a>),
    /// `sync`.
    Sync(SyncDetails<'a>),
    /// `undo`.
    Undo(UndoDetails<'a>),
}

/// Details of `archive`.
#[derive(Debug, Serialize)]
pub(crate) struct ArchiveDetails<'a> {
    /// The archive's directory.
    pub archive: PathJson<'a>,
    /// The bytes of the files that were archived, or would be.
    pub size_bytes: u64,
    /// The growth of the archive in bytes; in a plan, the maximum.
    pub stored_bytes: u64,
    /// The bytes that were removed because nothing needs them any more.
    pub removed_bytes: u64,
}

/// Details of `cleanup`.
#[derive(Debug, Serialize)]
pub(crate) struct CleanupDetails<'a> {
    /// Sessions last active before this time are removed; `null` if age does not matter.
    pub cutoff: Option<Timestamp>,
    /// Number of sub-agents that are removed with their sessions.
    pub subagents: usize,
    /// True if the sessions are deleted permanently.
    pub permanent: bool,
    /// The archive that gets the sessions before they are removed; `null` without `--archive`.
    pub archive: Option<PathJson<'a>>,
    /// Number of sessions that were archived, including sub-agents with separate files; 0 in a plan.
    pub archived: usize,
    /// The growth of the archive in bytes.
    pub archived_bytes: u64,
    /// Sessions to remove that only their agent can remove.
    pub left_to_agent: &'a [LeftToAgent],
    /// Number of kept sessions, by reason.
    pub kept: Vec<KeptJson<'a>>,
    /// The runs whose trash was purged, or would be.
    pub purged_runs: &'a [String],
    /// The bytes that the purge freed.
    pub purged_bytes: u64,
    /// The reason why it is refused without `--allow-all`: `clock`, `whole-agent` or `more-than-half`; `null` if it is
    /// not.
    pub refused: Option<&'a str>,
    /// True if nothing was done because another rejoin was changing something.
    pub locked: bool,
}

/// A session that only its agent can remove.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LeftToAgent {
    /// The agent that it belongs to.
    pub agent: AgentKind,
    /// The full id.
    pub id: Box<str>,
    /// The time of its last activity.
    pub active_at: Option<Timestamp>,
    /// The reason, with the command that removes it.
    pub reason: Arc<str>,
    /// The database.
    #[serde(skip)]
    pub database: Arc<std::path::Path>,
    /// True if its agent removes it on request.
    #[serde(skip)]
    pub removes_unasked: bool,
}

/// Number of sessions that are kept for one reason.
#[derive(Debug, Serialize)]
pub(crate) struct KeptJson<'a> {
    /// The reason: `not-asked-for`, `live`, `maybe-live`, `unparsable`, `future`, `pinned`, `kept-by-agent`, `excluded`, `undated`,
    /// `recent`, `not-empty`, `keep-last`, `keep-rule`, `newer`, `parent`, `its-agents` or
    /// `only-read`.
    pub reason: &'a str,
    /// Number of sessions without their sub-agents.
    pub sessions: usize,
}

/// Details of `doctor --fix`.
#[derive(Debug, Serialize)]
pub(crate) struct FixDetails<'a> {
    /// Errors and warnings that cannot be repaired automatically, but need a decision.
    pub undecided: Vec<FindingJson<'a>>,
}

/// Details of `hook install` and `hook uninstall`.
#[derive(Debug, Serialize)]
pub(crate) struct HookDetails<'a> {
    /// The scope of the settings: `user`, `project` or `local`.
    pub scope: &'static str,
    /// The settings.json.
    pub path: String,
    /// The command that is called for an event; `null` for `uninstall`.
    pub command: Option<&'a str>,
    /// The lines around every change, each beginning with `+`, `-` or a blank.
    pub diff: Vec<String>,
}

/// Details of `move`.
#[derive(Debug, Serialize)]
pub(crate) struct MoveDetails {
    /// The old and the new directories, the deepest first.
    pub directories: Vec<DirectoryJson>,
}

/// A directory that has moved.
#[derive(Debug, Serialize)]
pub(crate) struct DirectoryJson {
    /// The path before.
    pub from: String,
    /// The path now.
    pub to: String,
}

/// Details of `restore`; `null` if the session kept its directory.
#[derive(Debug, Serialize)]
pub(crate) struct RestoreDetails<'a> {
    /// The run that gave the session its directory here, for `rejoin undo`; it is undone before the other one.
    pub followed: &'a str,
}

/// Details of `sync`.
#[derive(Debug, Serialize)]
pub(crate) struct SyncDetails<'a> {
    /// The archive's directory.
    pub archive: PathJson<'a>,
    /// The growth of the archive in bytes; in a plan, the maximum.
    pub stored_bytes: u64,
    /// The number of sessions that are the same as in the archive.
    pub unchanged: usize,
    /// The number of sessions of other machines that were deleted here and are not restored.
    pub deleted: usize,
    /// The run that gave received sessions their directories here, for `rejoin undo`; it is undone before the other
    /// one.
    pub followed: Option<&'a str>,
    /// The number of sessions that are not changed, although another machine has another state of them.
    pub left: usize,
}

/// Details of `undo`.
#[derive(Debug, Serialize)]
pub(crate) struct UndoDetails<'a> {
    /// The run that is undone.
    pub run: &'a str,
    /// The command that made it.
    pub verb: &'a str,
    /// The time of its start.
    pub at: Timestamp,
    /// Unfinished changes of other runs that were recovered, one per element.
    pub mended: &'a [String],
}

/// Members that only items of one command have.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum ItemDetails<'a> {
    /// `archive`.
    Archive(ArchiveItem),
    /// `backfill`.
    Backfill(BackfillItem<'a>),
    /// `save transcript`.
    Save(SaveItem),
    /// `undo --purge`.
    Purge(PurgeItem<'a>),
}

/// Details of a session that is archived.
#[derive(Debug, Serialize)]
pub(crate) struct ArchiveItem {
    /// The reason why it may have been in use during the copy; `null` if it was not.
    pub in_use: Option<String>,
    /// The number of its newest state in the archive; `null` if there is none.
    pub state: Option<u64>,
    /// Number of files.
    pub files: usize,
    /// The bytes that were written for it; in a plan, the maximum.
    pub stored_bytes: u64,
}

/// Details of a session whose session-info.json is checked.
#[derive(Debug, Serialize)]
pub(crate) struct BackfillItem<'a> {
    /// The directory that is recorded; `null` unless it is written.
    pub working_dir: Option<Cow<'a, str>>,
    /// The session's own time of creation that is recorded; `null` unless it is written.
    pub created_at: Option<Timestamp>,
    /// The source of the directory; `null` unless it is written.
    pub source: Option<&'a str>,
    /// The evidence for each directory, strongest first.
    pub evidence: &'a [Evidence],
}

/// Details of a transcript that is saved.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct SaveItem {
    /// Number of messages in the file.
    pub messages: u64,
    /// Number of messages with a role that is never written.
    pub left_out: u64,
}

/// Details of a run whose trash is purged.
#[derive(Debug, Serialize)]
pub(crate) struct PurgeItem<'a> {
    /// The name of the run.
    pub run: &'a str,
}
