//! Resuming sessions: the command of an agent, and the checks before it is started.

use std::path::Path;
use std::sync::Arc;

use super::relocation::Act;
use super::{Command, Unable};
use crate::error::PathError;
use crate::session::SessionCopy;
use crate::session::causes::CauseLine;
use crate::system::env::Env;

/// Describes that an agent changes to its own directory of a session.
pub(crate) fn changes_by_itself(title: &str, own: &Path) -> String {
    format!("{title} changes to {} by itself when it resumes, if that directory exists", own.display())
}

/// Resumes the sessions of an agent. Only `command` is required.
pub(crate) trait Resuming: Sync {
    /// Returns the command that resumes a copy, optionally with one prompt to answer without a terminal, or the reason
    /// why there is none.
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable>;

    /// Checks right before the launch whether the agent, started in a directory, would continue this copy; the error
    /// describes what the agent would do instead.
    fn check_start(&self, _copy: &SessionCopy, _dir: &Path) -> Result<(), Unable> {
        Ok(())
    }

    /// Returns whether the agent opens the first of two copies that its command for the id fits equally; `None` if that is
    /// unknown.
    fn opens_first(&self, _copy: &SessionCopy, _other: &SessionCopy) -> Option<bool> {
        None
    }

    /// Checks whether the installed program can resume a copy, if several programs have the same name. Returns a
    /// warning if their files do not show which one is installed.
    fn check_program(&self, _copy: &SessionCopy, _env: &Env) -> Result<Option<String>, Unable> {
        Ok(None)
    }

    /// Returns a warning about an unexpected effect of the agent's own resume on a session.
    fn warning(&self, _copy: &SessionCopy, _env: &Env) -> Option<String> {
        None
    }

    /// Returns the directory to which the agent changes by itself when it resumes a copy, wherever it is started, if that
    /// directory exists.
    fn changes_to(&self, _copy: &SessionCopy) -> Option<Arc<Path>> {
        None
    }

    /// Returns the command that fixes one copy that is marked as unlisted, and the effect; the notes of the copy
    /// contain the reason. `None` if only [`list_anew`](super::about::About::list_anew) helps, for the whole store.
    fn help_unlisted(&self, _copy: &SessionCopy) -> Option<(String, &'static str)> {
        None
    }

    /// Returns the changes that let the agent open a copy with a mendable [`Obstacle`](crate::session::obstacle), and lose
    /// nothing.
    fn mend(&self, _copy: &SessionCopy) -> Result<Vec<Act>, Unable> {
        Err("nothing is known to mend it".into())
    }

    /// Returns the causes of the last error of a stuck conversation; empty if its transcript does not show them, or
    /// contains an unknown record.
    fn stuck_causes(&self, _copy: &SessionCopy) -> Result<Vec<CauseLine>, PathError> {
        Ok(Vec::new())
    }
}
