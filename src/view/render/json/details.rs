//! Fields of the JSON document of a change that only one command has.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::session::{AgentKind, Evidence};
use crate::view::render::json::PathJson;
use crate::view::render::json::doctor::FindingJson;

/// What only one command has.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Details<'a> {
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
    /// `sync`.
    Sync(SyncDetails<'a>),
    /// `undo` and `trash restore`.
    Undo(UndoDetails<'a>),
}

/// Details of `archive`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ArchiveDetails<'a> {
    /// The archive's directory.
    pub archive: PathJson<'a>,
    /// The bytes of the files that were archived, or would be.
    pub size_bytes: u64,
    /// The bytes that the archive grew by; in a plan, the most that it can be.
    pub stored_bytes: u64,
    /// The bytes that were removed, because nothing needs them any more.
    pub removed_bytes: u64,
}

/// Details of `cleanup`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct CleanupDetails<'a> {
    /// What was last active before this time goes; `null` when age does not matter.
    pub cutoff: Option<Timestamp>,
    /// How many sub-agents go with their sessions.
    pub subagents: usize,
    /// Whether they go for good.
    pub permanent: bool,
    /// The archive that what goes is put into before it goes; `null` without `--archive`.
    pub archive: Option<PathJson<'a>>,
    /// How many sessions are in it as they were, sub-agents with files of their own among them; 0 in a plan.
    pub archived: usize,
    /// The bytes that it grew by.
    pub archived_bytes: u64,
    /// Sessions that would go, but only their agent can remove them.
    pub left_to_agent: &'a [LeftToAgent],
    /// How many sessions stay, by reason.
    pub kept: Vec<KeptJson<'a>>,
    /// The runs whose trash was purged, or would be.
    pub purged_runs: &'a [String],
    /// The bytes that became free by that.
    pub purged_bytes: u64,
    /// Why it is refused without `--allow-all`: `clock`, `whole-agent` or `more-than-half`; `null` when it is not.
    pub refused: Option<&'a str>,
    /// Whether another rejoin was changing something, so that nothing was done.
    pub locked: bool,
}

/// A session that only its agent can remove.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct LeftToAgent {
    /// The agent that it belongs to.
    pub agent: AgentKind,
    /// The full id.
    pub id: Box<str>,
    /// When it was last active.
    pub active_at: Option<Timestamp>,
    /// Why, with the command that removes it.
    pub reason: Arc<str>,
    /// The database.
    #[serde(skip)]
    pub database: Arc<std::path::Path>,
    /// Whether its agent removes it when it is told to.
    #[serde(skip)]
    pub removes_unasked: bool,
}

/// How many sessions stay for one reason.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Kept", deny_unknown_fields)]
pub(crate) struct KeptJson<'a> {
    /// The reason: `not-asked-for`, `live`, `maybe-live`, `unparsable`, `future`, `pinned`, `excluded`, `undated`,
    /// `recent`, `not-empty`, `keep-last`, `keep-rule`, `newer`, `parent` or `its-agents`.
    pub reason: &'a str,
    /// How many, their sub-agents not counted.
    pub sessions: usize,
}

/// Details of `doctor --fix`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct FixDetails<'a> {
    /// What needs a decision: errors and warnings that cannot be repaired automatically.
    pub undecided: Vec<FindingJson<'a>>,
}

/// Details of `hook install` and `hook uninstall`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct HookDetails<'a> {
    /// Whose settings: `user`, `project` or `local`.
    pub scope: &'static str,
    /// The settings.json.
    pub path: String,
    /// The command that is called for an event; `null` for `uninstall`.
    pub command: Option<&'a str>,
    /// The lines around every change, each beginning with `+`, `-` or a blank.
    pub diff: Vec<String>,
}

/// Details of `move`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct MoveDetails {
    /// From where to where, the deepest first.
    pub directories: Vec<DirectoryJson>,
}

/// A directory that has moved.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MovedDirectory", deny_unknown_fields)]
pub(crate) struct DirectoryJson {
    /// Where it was.
    pub from: String,
    /// Where it is.
    pub to: String,
}

/// Details of `sync`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct SyncDetails<'a> {
    /// The archive's directory.
    pub archive: PathJson<'a>,
    /// The bytes that the archive grew by; in a plan, the most that it can be.
    pub stored_bytes: u64,
    /// The number of sessions that are the same as in the archive.
    pub unchanged: usize,
    /// The number of sessions of other machines that were deleted here and stay away.
    pub deleted: usize,
    /// The run in which the sessions that came here got the directories that they have here, for `rejoin undo`; it is
    /// undone before the other one.
    pub followed: Option<&'a str>,
}

/// Details of `undo` and `trash restore`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct UndoDetails<'a> {
    /// The run that is undone.
    pub run: &'a str,
    /// The command that made it.
    pub verb: &'a str,
    /// When it began.
    pub at: Timestamp,
    /// What was found half done from other runs and put back, a line each.
    pub mended: &'a [String],
}

/// What only items of one command have.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ItemDetails<'a> {
    /// `archive`.
    Archive(ArchiveItem),
    /// `backfill`.
    Backfill(BackfillItem<'a>),
    /// `save transcript`.
    Save(SaveItem),
    /// `trash purge`.
    Purge(PurgeItem<'a>),
}

/// Details of a session that is archived.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ArchiveItem {
    /// Why it may have been in use while it was copied; `null` when it was not.
    pub in_use: Option<String>,
    /// Which state of it is the newest in the archive; `null` when none is.
    pub state: Option<u64>,
    /// How many files it has.
    pub files: usize,
    /// The bytes that were written for it; in a plan, the most that it can be.
    pub stored_bytes: u64,
}

/// Details of a session whose session-info.json is checked.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct BackfillItem<'a> {
    /// The directory that is recorded; `null` unless it is written.
    pub working_dir: Option<Cow<'a, str>>,
    /// The session's own time of creation that is recorded; `null` unless it is written.
    pub created_at: Option<Timestamp>,
    /// Which source the directory comes from; `null` unless it is written.
    pub source: Option<&'a str>,
    /// What speaks for one directory or another, strongest first.
    pub evidence: &'a [Evidence],
}

/// Details of a transcript that is saved.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct SaveItem {
    /// How many messages the file holds.
    pub messages: u64,
    /// How many messages have a role that is never written.
    pub left_out: u64,
}

/// Details of a run whose trash is purged.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct PurgeItem<'a> {
    /// The run.
    pub run: &'a str,
}
