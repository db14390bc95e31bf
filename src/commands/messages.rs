//! The requested messages of a session, streamed, so that a long conversation is never in memory.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::Write;
use std::ops::ControlFlow;

use serde::ser::SerializeSeq as _;
use serde::{Serialize, Serializer};

use crate::agent;
use crate::cli::ShowArgs;
use crate::error::{Exit, PathError, Refusal, RefusalCode};
use crate::format::shell;
use crate::scan::off_branch::OffBranch;
use crate::session::branches::{ACTIVE, Branch, BranchFilter};
use crate::session::{Message, SessionCopy};
use crate::view::render::document::{write_line, write_summary};
use crate::view::ui::Ui;

/// The requested messages.
pub(super) enum MessageRange {
    None,
    Last(usize, BranchFilter),
    All(BranchFilter),
}

impl MessageRange {
    pub(super) fn from_args(args: &ShowArgs) -> Self {
        let branch = args.branches.filter();
        match (args.messages, args.transcript) {
            (Some(count), _) => Self::Last(count, branch),
            (None, true) => Self::All(branch),
            // A user names a branch to read it.
            (None, false) if branch != BranchFilter::Active || args.branches.one.branch.is_some() => Self::All(branch),
            (None, false) => Self::None,
        }
    }

    /// Refuses a branch that a conversation does not have.
    pub(super) fn check(&self, copy: &SessionCopy) -> anyhow::Result<()> {
        match self {
            Self::None => Ok(()),
            Self::Last(_, branch) | Self::All(branch) => check_branch(copy, *branch),
        }
    }
}

/// Refuses a branch that a conversation does not have.
pub(super) fn check_branch(copy: &SessionCopy, branch: BranchFilter) -> anyhow::Result<()> {
    let BranchFilter::Number(number) = branch else { return Ok(()) };
    let Some(agent) = agent::by_kind(copy.place.agent()) else { return Ok(()) };
    let count = agent.branches(copy)?.count();
    if number <= count {
        return Ok(());
    }
    let branches = if count == 1 { "1 branch".to_owned() } else { format!("{count} branches") };
    let message = format!("there is no branch {number}; the conversation has {branches}");
    let name = shell::selector(copy.place.agent(), &copy.place.id);
    let hint = format!("`rejoin show {name} --branches` lists them");
    Err(Refusal::new(RefusalCode::NotFound, message).hint(hint).into())
}

/// The reason why some of the messages were left out, if any were.
#[derive(Default)]
pub(super) struct LeftOut(RefCell<Option<PathError>>);

impl LeftOut {
    pub(super) fn record_error(&self, error: PathError) {
        *self.0.borrow_mut() = Some(error);
    }

    pub(super) fn take_error(&self) -> Option<PathError> {
        self.0.take()
    }

    /// Reports the reason, and returns the exit status.
    pub(super) fn exit(&self, ui: &mut Ui) -> Exit {
        match self.take_error() {
            Some(error) => {
                ui.warn(&error.to_string());
                Exit::Partial
            }
            None => Exit::Ok,
        }
    }
}

/// Passes the wanted messages to `see`, whose error ends the stream. Fails if nothing can be read; the reason for
/// messages that are left out is noted.
pub(super) fn each_message<E: From<PathError>>(
    copy: &SessionCopy,
    wants: &MessageRange,
    left_out: &LeftOut,
    see: &mut dyn FnMut(&Message) -> Result<(), E>,
) -> Result<(), E> {
    let Some(agent) = agent::by_kind(copy.place.agent()) else { return Ok(()) };
    let (mut outcome, mut is_any) = (Ok(()), false);
    let read = match wants {
        MessageRange::None => Ok(()),
        MessageRange::All(branch) => agent.messages_on(copy, *branch, &mut |message| {
            is_any = true;
            outcome = see(&message);
            if outcome.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }),
        // If the end of the file lacks them, or cannot be read, the whole file is read.
        MessageRange::Last(count, BranchFilter::Active) if let Ok(Some(last)) = agent.last_messages(copy, *count) => {
            outcome = last.iter().try_for_each(see);
            Ok(())
        }
        MessageRange::Last(count, branch) => {
            let mut last = VecDeque::with_capacity((*count).min(1024));
            let read = agent.messages_on(copy, *branch, &mut |message| {
                is_any = true;
                last.push_back(message);
                if last.len() > *count {
                    last.pop_front();
                }
                ControlFlow::Continue(())
            });
            outcome = last.iter().try_for_each(see);
            read
        }
    };
    match read {
        Err(error) if !is_any => return Err(error.into()),
        Err(error) => left_out.record_error(error),
        Ok(()) => {}
    }
    outcome
}

/// Writes the wanted messages, one per line, and a summary.
pub(super) fn write_ndjson(
    copy: &SessionCopy,
    wants: &MessageRange,
    left_out: &LeftOut,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct MessageCount {
        messages: u64,
    }
    let mut count = 0_u64;
    each_message(copy, wants, left_out, &mut |message| -> anyhow::Result<()> {
        count += 1;
        Ok(write_line(out, message)?)
    })?;
    Ok(write_summary(out, MessageCount { messages: count })?)
}

/// The wanted messages as a JSON array, or `null` if none are wanted.
pub(super) struct Stream<'a>(pub(super) &'a SessionCopy, pub(super) &'a MessageRange, pub(super) &'a LeftOut);

impl Serialize for Stream<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if matches!(self.1, MessageRange::None) {
            return serializer.serialize_none();
        }
        let list = RefCell::new(serializer.serialize_seq(None)?);
        each_message(self.0, self.1, self.2, &mut |message| {
            list.borrow_mut().serialize_element(message).map_err(Stopped::Output)
        })
        .map_err(|stopped| match stopped {
            Stopped::Output(error) => error,
            Stopped::Input(error) => serde::ser::Error::custom(error),
        })?;
        list.into_inner().end()
    }
}

/// The reason why a stream of messages ended early.
enum Stopped<E> {
    Output(E),
    Input(PathError),
}

impl<E> From<PathError> for Stopped<E> {
    fn from(error: PathError) -> Self {
        Self::Input(error)
    }
}

/// Maximum branches whose fork is searched; each needs another pass over the transcript.
const MOST_FORKS: usize = 50;

/// Returns every branch with the counts of its messages, the active one first.
pub(super) fn branches(copy: &SessionCopy) -> Result<Vec<Branch>, PathError> {
    let Some(agent) = agent::by_kind(copy.place.agent()) else { return Ok(Vec::new()) };
    let mut branches = agent.branches(copy)?.list();
    agent.messages_on(copy, BranchFilter::All, &mut |message| {
        let number = message.branch.unwrap_or(ACTIVE);
        if let Some(branch) = branches.get_mut(usize::from(number) - 1) {
            branch.add(&message);
        }
        ControlFlow::Continue(())
    })?;
    for branch in branches.iter_mut().skip(1).take(MOST_FORKS) {
        let mut before: Option<Message> = None;
        agent.messages_on(copy, BranchFilter::Number(branch.number), &mut |message| {
            if message.branch == Some(branch.number) {
                return ControlFlow::Break(());
            }
            before = Some(message);
            ControlFlow::Continue(())
        })?;
        branch.after = before.map(|message| message.text);
    }
    // A tool's result between two branches is not a message of either.
    branches.retain(|branch| branch.number == ACTIVE || branch.messages > 0);
    Ok(branches)
}

/// Returns a note if a conversation has branches that are not shown.
pub(super) fn branch_note(copy: &SessionCopy, requested: BranchFilter) -> Option<String> {
    let off_branch = Some(copy).filter(|_| requested == BranchFilter::Active).and_then(OffBranch::read_copy)?;
    let (messages, branches) = (off_branch.messages + off_branch.cut_off, off_branch.branches + off_branch.parts);
    if messages == 0 {
        return None;
    }
    let subject = if messages == 1 { "1 message is".to_owned() } else { format!("{messages} messages are") };
    Some(match branches {
        1 => format!("{subject} on another branch; --branch 2 prints it, and --all-branches prints all."),
        _ => format!("{subject} on {branches} other branches; --branch N prints one, and --all-branches prints all."),
    })
}
