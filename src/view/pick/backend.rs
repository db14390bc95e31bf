//! What the picker asks of those who read sessions and change them; it does neither itself.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use crate::change::outcome::Outcome;
use crate::change::plan::change::Change;
use crate::session::{AgentKind, Session};

/// What the list is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Purpose {
    /// What enter does: "resume", or a verb and a part of the session: "print path".
    pub verb: &'static str,
    /// Whether it takes several sessions.
    pub takes_several: bool,
    /// Whether it is checked before that a session can be resumed.
    pub is_checked: bool,
}

/// What a person overrules when a session is resumed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct How {
    /// The directory to start in.
    pub dir: Option<PathBuf>,
    /// The copy to use, counted from 1.
    pub copy: Option<usize>,
    /// Whether it is taken over from another process.
    pub force: bool,
    /// Whether it is resumed although anybody may have written it, or its place contradicts its directory.
    pub trust: bool,
    /// Whether git makes a worktree that is gone again.
    pub recreate_worktree: bool,
    /// Whether it is resumed however often that was done just now.
    pub no_limit: bool,
    /// The agent that is started with a briefing on it; `None` for its own.
    pub with: Option<AgentKind>,
}

/// What can be done with a session that is not resumed as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ready {
    /// The command, as it can be pasted.
    pub line: String,
    /// What it does, or why it may be the right one.
    pub why: String,
    /// How the session is resumed then; `None` where it is only shown.
    pub how: Option<How>,
}

/// Why a session is not resumed, and what can be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub why: String,
    pub ready: Vec<Ready>,
}

/// Reads sessions and changes them. Its methods are called by other threads than the one that draws.
pub(crate) trait Backend: Send + Sync {
    /// Reads the sessions, the newest activity first, and hands them over: perhaps some of the newest before all of them,
    /// which come last and with how many places could not be read.
    fn load(&self, hand_over: &mut dyn FnMut(Vec<Session>, Option<usize>));

    /// Checks whether a session can be resumed.
    fn check(&self, session: &Session, how: &How) -> Result<(), Refused>;

    /// Returns the command that resumes a session.
    fn command(&self, session: &Session) -> Result<String, Refused>;

    /// Returns the other agents that can be started with a briefing on a session, as commands; or why there are none.
    fn other_agents(&self, session: &Session) -> Result<Vec<Ready>, String>;

    /// Plans the removal of sessions as `delete` does.
    fn plan_removal(&self, sessions: &[Arc<Session>]) -> Result<Change, String>;

    /// Carries out just that plan.
    fn remove(&self, change: &Change) -> Result<Outcome, String>;

    /// Pins sessions, or lets them go.
    fn pin(&self, sessions: &[Arc<Session>], is_wanted: bool) -> Result<(), String>;

    /// Writes everything that is known of a session, and all of its messages.
    fn write_whole(&self, session: &Session, out: &mut dyn Write) -> io::Result<()>;
}
