//! The answers of commands that change files or undo changes.

use serde::Deserialize;

use super::{Agent, Evidence, PathOf, Time, Version};

words!(RunListKind: RunList);
words!(RunState: Running Interrupted Done Undone Purged);
words!(ChangeKind: ChangePlan ChangeOutcome);
words!(ChangeResult: Planned Done Unchanged Skipped Refused Failed);
words!(StepAction: Trash Write MakeDir Put Move);
words!(Guard: Clock WholeAgent MoreThanHalf);
words!(KeptFor: NotAskedFor Live MaybeLive Unparsable UnknownFormat Future Pinned KeptByAgent Excluded Undated Recent NotEmpty KeepLast KeepRule Newer NewerFile Parent ItsAgents OnlyRead);

answer!(
    /// The answer of every command that changes files; `D` are the details of the command, `I` those of its items.
    #[serde(bound(deserialize = "D: Deserialize<'de>, I: Deserialize<'de>"))]
    ChangeOf<D, I> {
    format_version: Version; kind: ChangeKind; verb: String; items: Vec<ChangeItem<I>>; not_planned: Vec<Unplanned>;
    totals: Totals; fingerprint: Option<String>; run: Option<String>; warnings: Vec<String>; details: D
});

pub(crate) type Change = ChangeOf<(), ()>;
pub(crate) type Archive = ChangeOf<ArchiveDetails, ArchiveItem>;
pub(crate) type Backfill = ChangeOf<(), BackfillItem>;
pub(crate) type Cleanup = ChangeOf<CleanupDetails, ()>;
pub(crate) type DoctorFix = ChangeOf<FixDetails, ()>;
pub(crate) type HookChange = ChangeOf<HookDetails, ()>;
pub(crate) type Move = ChangeOf<MoveDetails, ()>;
pub(crate) type Purge = ChangeOf<(), PurgeItem>;
pub(crate) type Restored = ChangeOf<Option<RestoreDetails>, ()>;
pub(crate) type Saved = ChangeOf<(), Option<SaveItem>>;
pub(crate) type Sync = ChangeOf<SyncDetails, Option<ArchiveItem>>;
pub(crate) type Undo = ChangeOf<UndoDetails, ()>;

/// The totals can be read like fields of the answer.
impl<D, I> std::ops::Deref for ChangeOf<D, I> {
    type Target = Totals;

    fn deref(&self) -> &Totals {
        &self.totals
    }
}

answer!(Totals { planned: u64; done: u64; unchanged: u64; skipped: u64; refused: u64; failed: u64; freed_bytes: u64 });

answer!(
    #[serde(bound(deserialize = "I: Deserialize<'de>"))]
    ChangeItem<I> {
    agent: Option<Agent>; id: Option<String>; code: String; reason: Option<String>; steps: Vec<Step>;
    command: Option<Vec<String>>; size_bytes: u64; result: ChangeResult; error: Option<String>; details: I
});

answer!(Step { action: StepAction; path: String });

answer!(Unplanned { about: String; reason: String });

answer!(ArchiveDetails { archive: PathOf; size_bytes: u64; stored_bytes: u64; removed_bytes: u64 });

answer!(ArchiveItem { in_use: Option<String>; state: Option<u64>; files: u64; stored_bytes: u64 });

answer!(BackfillItem {
    working_dir: Option<String>; created_at: Option<Time>; source: Option<String>; evidence: Vec<Evidence>
});

answer!(CleanupDetails {
    cutoff: Option<Time>; subagents: u64; permanent: bool; archive: Option<PathOf>; archived: u64; archived_bytes: u64;
    left_to_agent: Vec<LeftToAgent>; kept: Vec<Kept>; purged_runs: Vec<String>; purged_bytes: u64; refused: Option<Guard>;
    locked: bool
});

answer!(LeftToAgent { agent: Agent; id: String; active_at: Option<Time>; reason: String });

answer!(Kept { reason: KeptFor; sessions: u64 });

answer!(FixDetails { undecided: Vec<super::Finding> });

answer!(HookDetails { scope: String; path: String; command: Option<String>; diff: Vec<String> });

answer!(MoveDetails { directories: Vec<MovedDirectory> });

answer!(MovedDirectory { from: String; to: String });

answer!(PurgeItem { run: String });

answer!(RestoreDetails { followed: String });

answer!(SaveItem { messages: u64; left_out: u64 });

answer!(SyncDetails { archive: PathOf; stored_bytes: u64; unchanged: u64; deleted: u64; followed: Option<String>; left: u64 });

answer!(UndoDetails { run: String; verb: String; at: Option<Time>; mended: Vec<String> });

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
    /// Returns the number of sessions that are kept for a reason.
    pub(crate) fn kept(&self, reason: KeptFor) -> u64 {
        self.details.kept.iter().find(|kept| kept.reason == reason).map_or(0, |kept| kept.sessions)
    }
}

answer!(Run {
    run: String; verb: String; at: Option<Time>; state: RunState; done: u64; undone: u64; left: u64; stuck: u64;
    undoable: bool
});

answer!(RunList { format_version: Version; kind: RunListKind; runs: Vec<Run> });

words!(MoveMapKind: MoveMap);

answer!(GoneDirectory { from: String; to: Option<String>; sessions: u64; why: String });

answer!(MoveMap { format_version: Version; kind: MoveMapKind; directories: Vec<GoneDirectory> });
