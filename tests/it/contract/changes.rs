//! The answers of what changes something and what takes it back.

use serde::Deserialize;

use super::{Agent, PathOf, Version, nullable, utc};

words!(UndoKind: UndoOutcome UndoPlan);
words!(UndoResult: Undone Already NotDone Refused);
words!(RunListKind: RunList);
words!(RunState: Running Interrupted Done Undone Purged);
words!(TrashListKind: TrashList);
words!(PurgeKind: PurgeOutcome PurgePlan);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UndoItem {
    pub(crate) item: u64,
    #[serde(deserialize_with = "nullable")]
    pub(crate) agent: Option<Agent>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) id: Option<String>,
    pub(crate) paths: Vec<String>,
    pub(crate) result: UndoResult,
    #[serde(deserialize_with = "nullable")]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Undo {
    pub(crate) format_version: Version,
    pub(crate) kind: UndoKind,
    pub(crate) items: Vec<UndoItem>,
    pub(crate) run: String,
    pub(crate) verb: String,
    #[serde(deserialize_with = "utc")]
    pub(crate) at: Option<String>,
    pub(crate) undone: u64,
    pub(crate) refused: u64,
    pub(crate) mended: Vec<String>,
    pub(crate) warnings: Vec<String>,
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

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Purge {
    pub(crate) format_version: Version,
    pub(crate) kind: PurgeKind,
    pub(crate) runs: Vec<String>,
    pub(crate) freed_bytes: u64,
    pub(crate) failed: Vec<String>,
}

words!(ChangeKind: ChangePlan ChangeOutcome);
words!(FixKind: DoctorFixPlan DoctorFixOutcome);
words!(ChangeResult: Planned Done Skipped Failed);
words!(StepAction: Trash Write MakeDir Put Move);
words!(MoveKind: MovePlan MoveOutcome);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    pub(crate) action: StepAction,
    pub(crate) path: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeItem {
    #[serde(deserialize_with = "nullable")]
    pub(crate) agent: Option<Agent>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) id: Option<String>,
    pub(crate) code: String,
    pub(crate) reason: String,
    pub(crate) steps: Vec<Step>,
    pub(crate) size_bytes: u64,
    pub(crate) result: ChangeResult,
    #[serde(deserialize_with = "nullable")]
    pub(crate) error: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Handed {
    #[serde(deserialize_with = "nullable")]
    pub(crate) agent: Option<Agent>,
    #[serde(deserialize_with = "nullable")]
    pub(crate) id: Option<String>,
    pub(crate) code: String,
    pub(crate) reason: String,
    pub(crate) command: Vec<String>,
    pub(crate) size_bytes: u64,
    pub(crate) result: ChangeResult,
    #[serde(deserialize_with = "nullable")]
    pub(crate) error: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    pub(crate) format_version: Version,
    pub(crate) kind: ChangeKind,
    pub(crate) verb: String,
    pub(crate) items: Vec<ChangeItem>,
    pub(crate) handed: Vec<Handed>,
    pub(crate) fingerprint: String,
    pub(crate) planned: u64,
    pub(crate) done: u64,
    pub(crate) skipped: u64,
    pub(crate) failed: u64,
    pub(crate) freed_bytes: u64,
    #[serde(deserialize_with = "nullable")]
    pub(crate) run: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Unplanned {
    pub(crate) about: String,
    pub(crate) reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DoctorFix {
    pub(crate) format_version: Version,
    pub(crate) kind: FixKind,
    pub(crate) items: Vec<ChangeItem>,
    pub(crate) unplanned: Vec<Unplanned>,
    pub(crate) undecided: Vec<super::Finding>,
    pub(crate) fingerprint: String,
    pub(crate) planned: u64,
    pub(crate) done: u64,
    pub(crate) skipped: u64,
    pub(crate) failed: u64,
    pub(crate) freed_bytes: u64,
    #[serde(deserialize_with = "nullable")]
    pub(crate) run: Option<String>,
}

words!(CleanupKind: CleanupPlan CleanupOutcome);
words!(Guard: Clock WholeAgent MoreThanHalf);
words!(KeptFor: NotAskedFor Live MaybeLive Unparsable UnknownFormat Future Pinned Excluded Undated Recent NotEmpty KeepLast KeepRule Newer Parent ItsAgents);
words!(PinKind: PinOutcome PinList);

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
pub(crate) struct CleanupError {
    pub(crate) about: String,
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
pub(crate) struct Cleanup {
    pub(crate) format_version: Version,
    pub(crate) kind: CleanupKind,
    pub(crate) items: Vec<ChangeItem>,
    pub(crate) handed: Vec<Handed>,
    pub(crate) left_to_agent: Vec<LeftToAgent>,
    #[serde(deserialize_with = "utc")]
    pub(crate) cutoff: Option<String>,
    pub(crate) fingerprint: String,
    pub(crate) planned: u64,
    pub(crate) subagents: u64,
    #[serde(deserialize_with = "nullable")]
    pub(crate) archive: Option<PathOf>,
    pub(crate) archived: u64,
    pub(crate) archived_bytes: u64,
    pub(crate) deleted: u64,
    pub(crate) removed_by_agents: u64,
    pub(crate) skipped: u64,
    pub(crate) failed: u64,
    pub(crate) records: u64,
    pub(crate) freed_bytes: u64,
    pub(crate) permanent: bool,
    pub(crate) errors: Vec<CleanupError>,
    pub(crate) kept: Vec<Kept>,
    pub(crate) purged_runs: Vec<String>,
    pub(crate) purged_bytes: u64,
    #[serde(deserialize_with = "nullable")]
    pub(crate) refused: Option<Guard>,
    pub(crate) locked: bool,
    #[serde(deserialize_with = "nullable")]
    pub(crate) run: Option<String>,
}

impl Cleanup {
    /// Returns how many sessions stay for a reason.
    pub(crate) fn kept(&self, reason: KeptFor) -> u64 {
        self.kept.iter().find(|kept| kept.reason == reason).map_or(0, |kept| kept.sessions)
    }

    /// Returns the ids of the sessions that go, in order.
    pub(crate) fn ids(&self) -> Vec<&str> {
        let mut ids: Vec<&str> = self.items.iter().filter_map(|item| item.id.as_deref()).collect();
        ids.sort_unstable();
        ids
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pin {
    pub(crate) agent: Agent,
    pub(crate) id: String,
    pub(crate) pinned: bool,
    pub(crate) changed: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pins {
    pub(crate) format_version: Version,
    pub(crate) kind: PinKind,
    pub(crate) sessions: Vec<Pin>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MovedDirectory {
    pub(crate) from: String,
    pub(crate) to: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Move {
    pub(crate) format_version: Version,
    pub(crate) kind: MoveKind,
    pub(crate) items: Vec<ChangeItem>,
    pub(crate) directories: Vec<MovedDirectory>,
    pub(crate) unplanned: Vec<Unplanned>,
    pub(crate) fingerprint: String,
    pub(crate) planned: u64,
    pub(crate) done: u64,
    pub(crate) skipped: u64,
    pub(crate) failed: u64,
    pub(crate) freed_bytes: u64,
    #[serde(deserialize_with = "nullable")]
    pub(crate) run: Option<String>,
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
