//! The interface through which the picker reads and changes sessions.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use crate::change::outcome::ChangeOutcome;
use crate::change::plan::change::Change;
use crate::session::{AgentKind, Session};

/// The purpose of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Purpose {
    /// The action of enter: a verb such as "resume", or a verb and a part of the session, such as "print path".
    pub verb: &'static str,
    /// Set if several sessions can be chosen.
    pub takes_several: bool,
    /// Set to check whether a session can be resumed before it is returned.
    pub is_checked: bool,
}

/// Choices of the user for a resume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct How {
    /// The directory to start in.
    pub dir: Option<PathBuf>,
    /// The copy to use, counted from 1.
    pub copy: Option<usize>,
    /// Set to resume a session that another process uses.
    pub force: bool,
    /// Set to resume a session that others may have written, or whose place contradicts its directory.
    pub trust: bool,
    /// Set to let git recreate a missing worktree.
    pub recreate_worktree: bool,
    /// Set to ignore the limit on resumes.
    pub no_limit: bool,
    /// Set to resume a session although its conversation is stuck.
    pub stuck: bool,
    /// The agent to start with a briefing on the session; `None` for its own agent.
    pub with: Option<AgentKind>,
}

/// The verb of a chooser, which has no list.
pub(super) const CHOOSE: &str = "choose";

/// A possible action for a session that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ready {
    /// The command, ready to be pasted.
    pub line: String,
    /// The effect of the command, or the reason why it may be the right one.
    pub why: String,
    /// The choices with which the picker resumes the session for this action; `None` if it only shows the command.
    pub how: Option<How>,
}

/// The reason why a session is not resumed, and the possible actions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RefusedResume {
    pub why: String,
    pub ready: Vec<Ready>,
}

/// Reads sessions and changes them. Its methods are called by other threads than the drawing one.
pub(crate) trait Backend: Send + Sync {
    /// Reads the sessions, newest activity first, and passes them to `hand_over`: first some of the newest, if that is
    /// faster, and at the end all of them, with the number of places that could not be read.
    fn load(&self, hand_over: &mut dyn FnMut(Vec<Session>, Option<usize>));

    /// Checks whether a session can be resumed.
    fn check(&self, session: &Session, how: &How) -> Result<(), RefusedResume>;

    /// Returns the command that resumes a session.
    fn command(&self, session: &Session) -> Result<String, RefusedResume>;

    /// Returns the other agents that can be started with a briefing on a session, as commands; fails with the reason if
    /// none can.
    fn other_agents(&self, session: &Session) -> Result<Vec<Ready>, String>;

    /// Plans the removal of sessions as `delete` does.
    fn plan_removal(&self, sessions: &[Arc<Session>]) -> Result<Change, String>;

    /// Carries out a planned removal.
    fn remove(&self, change: &Change) -> Result<ChangeOutcome, String>;

    /// Pins or unpins sessions.
    fn pin(&self, sessions: &[Arc<Session>], is_wanted: bool) -> Result<(), String>;

    /// Writes all facts about a session, and all of its messages.
    fn write_whole(&self, session: &Session, out: &mut dyn Write) -> io::Result<()>;
}
