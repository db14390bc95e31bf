//! The answers of what changes something and what takes it back.

use serde::Deserialize;

use super::{Agent, Evidence, PathOf, Version, nullable, utc};

words!(RunListKind: RunList);
words!(RunState: Running Interrupted Done Undone Purged);
words!(TrashListKind: TrashList);
words!(ChangeKind: ChangePlan ChangeOutcome);
words!(ChangeResult: Planned Done Unchanged Skipped Refused Failed);
words!(StepAction: Trash Write MakeDir Put Move);
words!(Guard: Clock WholeAgent MoreThanHalf);
words!(KeptFor: NotAskedFor Live MaybeLive Unparsable UnknownFormat Future Pinned Excluded Undated Recent NotEmpty KeepLast KeepRule Newer Parent ItsAgents);

/// The answer of every command that changes files; `D` is what only that command has, `I` what only its items have.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeOf<D, I> {
    pub(crate) format_version: Version,
    pub(crate) kind: ChangeKind,
    pub(crate) verb: String,
    pub(crate) items: Vec<ChangeItem<I>>,
    pub(crate) not_planned: Vec<Unplanned>,
    pub(crate) totals: Totals,
    #[serde(deserialize_with = "nullable")]
    pub(crate) fingerprint: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) run: Option<String>,
    pub(crate) warnings: Vec<String>,
    pub(crate) details: D,
}

pub(crate) type Change = ChangeOf<(), ()>;
pub(crate) type Archive = ChangeOf<ArchiveDetails, ArchiveItem>;
pub(crate) type Backfill = ChangeOf<(), BackfillItem>;
pub(crate) type Cleanup = ChangeOf<CleanupDetails, ()>;
pub(crate) type DoctorFix = ChangeOf<FixDetails, ()>;
pub(crate) type HookChange = ChangeOf<HookDetails, ()>;
pub(crate) type Move = ChangeOf<MoveDetails, ()>;
pub(crate) type Purge = ChangeOf<(), PurgeItem>;
pub(crate) type Saved = ChangeOf<(), Option<SaveItem>>;
pub(crate) type Undo = ChangeOf<UndoDetails, ()>;

/// The totals are read as if they were fields of the answer.
impl<D, I> std::ops::Deref for ChangeOf<D, I> {
    type Target = Totals;

    fn deref(&self) -> &Totals {
        &self.totals
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Totals {
    pub(crate) planned: u64,
    pub(crate) done: u64,
    pub(crate) unchanged: u64,
    pub(crate) skipped: u64,
    pub(crate) refused: u64,
    pub(crate) failed: u64,
    pub(crate) freed_bytes: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeItem<I = ()> {
    #[serde(deserialize_with = "nullable")]
    pub(crate) agent: Option<Agent>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) id: Option<String>,
    pub(crate) code: String,
    #[serde(deserialize_with = "nullable")]
    pub(crate) reason: Option<String>,
    pub(crate) steps: Vec<Step>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) command: Option<Vec<String>>,
    pub(crate) size_bytes: u64,
    pub(crate) result: ChangeResult,
    #[serde(deserialize_with = "nullable")]
    pub(crate) error: Option<String>,
    pub(crate) details: I,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    pub(crate) action: StepAction,
    pub(crate) path: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Unplanned {
    pub(crate) about: String,
    pub(crate) reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArchiveDetails {
    pub(crate) archive: PathOf,
    pub(crate) size_bytes: u64,
    pub(crate) stored_bytes: u64,
    pub(crate) removed_bytes: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArchiveItem {
    #[serde(deserialize_with = "nullable")]
    pub(crate) in_use: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) state: Option<u64>,
    pub(crate) files: u64,
    pub(crate) stored_bytes: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BackfillItem {
    #[serde(deserialize_with = "nullable")]
    pub(crate) working_dir: Option<String>,
    #[serde(deserialize_with = "utc")]
    pub(crate) created_at: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) source: Option<String>,
    pub(crate) evidence: Vec<Evidence>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CleanupDetails {
    #[serde(deserialize_with = "utc")]
    pub(crate) cutoff: Option<String>,
    pub(crate) subagents: u64,
    pub(crate) permanent: bool,
    #[serde(deserialize_with = "nullable")]
    pub(crate) archive: Option<PathOf>,
    pub(crate) archived: u64,
    pub(crate) archived_bytes: u64,
    pub(crate) left_to_agent: Vec<LeftToAgent>,
    pub(crate) kept: Vec<Kept>,
    pub(crate) purged_runs: Vec<String>,
    pub(crate) purged_bytes: u64,
    #[serde(deserialize_with = "nullable")]
    pub(crate) refused: Option<Guard>,
    pub(crate) locked: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LeftToAgent {
    pub(crate) agent: Agent,
    pub(crate) id: String,
    #[serde(deserialize_with = "utc")]
    pub(crate) active_at: Option<String>,
    pub(crate) reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kept {
    pub(crate) reason: KeptFor,
    pub(crate) sessions: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FixDetails {
    pub(crate) undecided: Vec<super::Finding>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HookDetails {
    pub(crate) scope: String,
    pub(crate) path: String,
    #[serde(deserialize_with = "nullable")]
    pub(crate) command: Option<String>,
    pub(crate) diff: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MoveDetails {
    pub(crate) directories: Vec<MovedDirectory>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MovedDirectory {
    pub(crate) from: String,
    pub(crate) to: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PurgeItem {
    pub(crate) run: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SaveItem {
    pub(crate) messages: u64,
    pub(crate) left_out: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UndoDetails {
    pub(crate) run: String,
    pub(crate) verb: String,
    #[serde(deserialize_with = "utc")]
    pub(crate) at: Option<String>,
    pub(crate) mended: Vec<String>,
}

impl<D, I> ChangeOf<D, I> {
    /// Returns the fingerprint of the plan.
    #[track_caller]
    pub(crate) fn fingerprint(&self) -> &str {
        self.fingerprint.as_deref().expect("a fingerprint")
    }

    /// Returns the items that an agent removes.
    pub(crate) fn handed(&self) -> Vec<&ChangeItem<I>> {
        self.items.iter().filter(|item| item.command.is_some()).collect()
    }

    /// Returns the ids of the sessions, in order.
    pub(crate) fn ids(&self) -> Vec<&str> {
        let mut ids: Vec<&str> = self.items.iter().filter_map(|item| item.id.as_deref()).collect();
        ids.sort_unstable();
        ids
    }
}

impl Saved {
    /// Returns the file that was written.
    pub(crate) fn path(&self) -> &str {
        &self.items[0].steps[0].path
    }
}

impl Cleanup {
    /// Returns how many sessions stay for a reason.
    pub(crate) fn kept(&self, reason: KeptFor) -> u64 {
        self.details.kept.iter().find(|kept| kept.reason == reason).map_or(0, |kept| kept.sessions)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    pub(crate) run: String,
    pub(crate) verb: String,
    #[serde(deserialize_with = "utc")]
    pub(crate) at: Option<String>,
    pub(crate) state: RunState,
    pub(crate) done: u64,
    pub(crate) undone: u64,
    pub(crate) left: u64,
    pub(crate) stuck: u64,
    pub(crate) undoable: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunList {
    pub(crate) format_version: Version,
    pub(crate) kind: RunListKind,
    pub(crate) runs: Vec<Run>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrashEntry {
    pub(crate) entry: String,
    pub(crate) run: String,
    pub(crate) verb: String,
    #[serde(deserialize_with = "utc")]
    pub(crate) at: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) agent: Option<Agent>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) id: Option<String>,
    pub(crate) code: String,
    pub(crate) reason: String,
    pub(crate) paths: Vec<String>,
    pub(crate) size_bytes: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrashList {
    pub(crate) format_version: Version,
    pub(crate) kind: TrashListKind,
    pub(crate) entries: Vec<TrashEntry>,
    pub(crate) size_bytes: u64,
}

words!(MoveMapKind: MoveMap);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GoneDirectory {
    pub(crate) from: String,
    #[serde(deserialize_with = "nullable")]
    pub(crate) to: Option<String>,
    pub(crate) sessions: u64,
    pub(crate) why: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MoveMap {
    pub(crate) format_version: Version,
    pub(crate) kind: MoveMapKind,
    pub(crate) directories: Vec<GoneDirectory>,
}
