//! The events of a schedule: what can go wrong, when, and what another process may do.

use crate::system::disk::memory::{Draw, ERRORS};

/// What another process does between two calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// The agent goes on: it adds to its transcript, which it makes anew where it is gone.
    Append,
    /// The agent writes to a file below its directory.
    AppendBelow,
    /// The agent writes both at once.
    AppendBoth,
    /// The agent adds to the file that the change writes anew.
    AppendInfo,
    /// The agent writes that file anew, with what was in it and more.
    ReplaceInfo,
    /// Somebody gives that file another name.
    TakeInfo,
    /// The agent adds to what the change moves to another place.
    AppendMoved,
    /// The agent makes a file where the change wants to put one.
    TakePlace,
    /// Somebody swaps a directory for a link to where other things are.
    Swap,
    /// A process begins to use the sessions.
    Hold,
}

pub(super) const ACTS: [Act; 10] = [
    Act::Append,
    Act::AppendBelow,
    Act::AppendBoth,
    Act::AppendInfo,
    Act::ReplaceInfo,
    Act::TakeInfo,
    Act::AppendMoved,
    Act::TakePlace,
    Act::Swap,
    Act::Hold,
];

/// Where the other process writes, and what.
pub(super) const MINE: [(&str, &str); 7] = [
    ("/home/store/a.jsonl", "the agent's line\n"),
    ("/home/store/a/subagents/b.jsonl", "the agent's line below\n"),
    ("/home/store/info.json", "the agent's fact\n"),
    ("/home/store/new.json", "the agent's new file\n"),
    ("/home/store/made/x", "the agent's new file below\n"),
    ("/home/store/b.jsonl", "the agent's line elsewhere\n"),
    ("/home/store/b/deep/d.txt", "the agent's line below elsewhere\n"),
];

impl Act {
    /// Returns which of these it writes.
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

    /// Returns whether it is about what an item of the change is about.
    pub(super) fn concerns(self, item: usize) -> bool {
        match self {
            Self::Append | Self::AppendBelow | Self::AppendBoth | Self::Swap => item == 0,
            Self::AppendInfo | Self::ReplaceInfo | Self::TakeInfo => item == 1,
            Self::TakePlace => item == 1 || item == 2,
            Self::AppendMoved => item == 3,
            Self::Hold => true,
        }
    }

    /// Returns whether it does no more than to add to what is there.
    pub(super) fn only_adds(self) -> bool {
        !matches!(self, Self::TakeInfo | Self::Swap)
    }
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// This call fails, with one of the errors.
    Fail(usize),
    /// So does each from here on that changes something; with an error of the disk itself, each at all.
    FailFromNowOn(usize),
    /// The process is killed.
    Die,
    /// The power goes; the digits of this number say what of that which is not synced is lost.
    PowerLoss(u64),
    /// Another process acts.
    Act(usize),
}

impl Event {
    /// Returns all that can go wrong at a call during a change of these items, but for an end of the process.
    pub(super) fn at(changes: bool, items: &[usize]) -> Vec<Self> {
        let errors: &[usize] = if changes { &[0, 1, 2, 3] } else { &[0, 2] };
        // An error of what only changes meets comes first at the next change.
        let lasting: &[usize] = if changes { &[0, 1, 2, 3] } else { &[0] };
        let errors = errors.iter().map(|error| Self::Fail(*error));
        let lasting = lasting.iter().map(|error| Self::FailFromNowOn(*error));
        errors.chain(lasting).chain(Self::acts(items)).collect()
    }

    /// Returns what another process may do that is about these items of the change.
    pub(super) fn acts(items: &[usize]) -> impl Iterator<Item = Self> {
        let concerns = |which: &usize| items.iter().any(|item| ACTS[*which].concerns(*item));
        (0..ACTS.len()).filter(concerns).map(Self::Act)
    }
}

/// When something goes wrong: in which stage, the verb or the recovery, and at which call of it.
pub(super) type When = (usize, u64, Event);

/// Draws something that goes wrong without ending the process.
pub(super) fn draw_event(draw: &mut Draw) -> Event {
    let error = usize::try_from(draw.below(ERRORS.len() as u64)).unwrap_or_default();
    match draw.below(5) {
        0 => Event::FailFromNowOn(error),
        1 | 2 => Event::Act(usize::try_from(draw.below(ACTS.len() as u64)).unwrap_or_default()),
        _ => Event::Fail(error),
    }
}
