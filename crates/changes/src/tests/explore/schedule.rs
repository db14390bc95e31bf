//! The events of a schedule: faults, their times, and actions of another process.

use crate::disk::memory::{Draw, ERRORS};

/// An action of another process between two calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OtherAct {
    /// The agent appends to its transcript, or creates it again if it is gone.
    Append,
    /// The agent appends to a file below its directory.
    AppendBelow,
    /// The agent appends to both files.
    AppendBoth,
    /// The agent appends to the file that the change rewrites.
    AppendInfo,
    /// The agent rewrites that file, with its old content and more.
    ReplaceInfo,
    /// Another process renames that file.
    TakeInfo,
    /// The agent appends to files that the change moves.
    AppendMoved,
    /// The agent creates a file at a path that the change is about to create.
    TakePlace,
    /// Another process replaces a directory by a link to an outside directory.
    Swap,
    /// A process opens the data.
    Hold,
}

pub(super) const ACTS: [OtherAct; 10] = [
    OtherAct::Append,
    OtherAct::AppendBelow,
    OtherAct::AppendBoth,
    OtherAct::AppendInfo,
    OtherAct::ReplaceInfo,
    OtherAct::TakeInfo,
    OtherAct::AppendMoved,
    OtherAct::TakePlace,
    OtherAct::Swap,
    OtherAct::Hold,
];

/// Paths that the other process writes to, and the text that it writes.
pub(super) const MINE: [(&str, &str); 7] = [
    ("/home/store/a.jsonl", "the agent's line\n"),
    ("/home/store/a/subagents/b.jsonl", "the agent's line below\n"),
    ("/home/store/info.json", "the agent's fact\n"),
    ("/home/store/new.json", "the agent's new file\n"),
    ("/home/store/made/x", "the agent's new file below\n"),
    ("/home/store/b.jsonl", "the agent's line elsewhere\n"),
    ("/home/store/b/deep/d.txt", "the agent's line below elsewhere\n"),
];

impl OtherAct {
    /// Returns the indexes in [`MINE`] that this action writes.
    pub(super) fn written(self) -> &'static [usize] {
        match self {
            Self::Append => &[0],
            Self::AppendBelow => &[1],
            Self::AppendBoth => &[0, 1],
            Self::AppendInfo | Self::ReplaceInfo => &[2],
            Self::TakePlace => &[3, 4],
            Self::AppendMoved => &[5, 6],
            Self::TakeInfo | Self::Swap | Self::Hold => &[],
        }
    }

    /// Checks whether this action changes the files of an item.
    pub(super) fn concerns(self, item: usize) -> bool {
        match self {
            Self::Append | Self::AppendBelow | Self::AppendBoth | Self::Swap => item == 0,
            Self::AppendInfo | Self::ReplaceInfo | Self::TakeInfo => item == 1,
            Self::TakePlace => item == 1 || item == 2,
            Self::AppendMoved => item == 3,
            Self::Hold => true,
        }
    }

    /// Checks whether this action only appends.
    pub(super) fn only_adds(self) -> bool {
        !matches!(self, Self::TakeInfo | Self::Swap)
    }
}

/// A fault, or an action of another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScheduledEvent {
    /// This call fails, with one of the errors.
    Fail(usize),
    /// Each changing call from here on fails; with an error of the disk itself, every call.
    FailFromNowOn(usize),
    /// The process is killed.
    Die,
    /// The power fails; the digits of the number select the unsynced data that is lost.
    PowerLoss(u64),
    /// Another process acts.
    Act(usize),
}

impl ScheduledEvent {
    /// Returns all events at a call during a change of these items, except those that end the process.
    pub(super) fn all_at_call(changes: bool, items: &[usize]) -> Vec<Self> {
        let errors: &[usize] = if changes { &[0, 1, 2, 3] } else { &[0, 2] };
        // An error that only changes can return is injected at the next change.
        let lasting: &[usize] = if changes { &[0, 1, 2, 3] } else { &[0] };
        let errors = errors.iter().map(|error| Self::Fail(*error));
        let lasting = lasting.iter().map(|error| Self::FailFromNowOn(*error));
        errors.chain(lasting).chain(Self::acts(items)).collect()
    }

    /// Returns the actions of another process on these items of the change.
    pub(super) fn acts(items: &[usize]) -> impl Iterator<Item = Self> {
        let concerns = |which: &usize| items.iter().any(|item| ACTS[*which].concerns(*item));
        (0..ACTS.len()).filter(concerns).map(Self::Act)
    }
}

/// The time of an event: its stage, the verb or the recovery, and the number of the call.
pub(super) type EventTime = (usize, u64, ScheduledEvent);

/// Draws an event that does not end the process.
pub(super) fn draw_event(draw: &mut Draw) -> ScheduledEvent {
    let error = usize::try_from(draw.below(ERRORS.len() as u64)).unwrap_or_default();
    match draw.below(5) {
        0 => ScheduledEvent::FailFromNowOn(error),
        1 | 2 => ScheduledEvent::Act(usize::try_from(draw.below(ACTS.len() as u64)).unwrap_or_default()),
        _ => ScheduledEvent::Fail(error),
    }
}
