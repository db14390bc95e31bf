//! Sessions of several machines that share an archive: the states of each, and the relation of two states of one.
//!
//! A state of another machine is brought here only if its contents begin with those of the session here. No clock and no
//! order of arrival plays a part: a file that is missing in the directory of another machine has not arrived yet.

mod content;
pub(crate) mod decide;
pub(crate) mod relation;
pub(crate) mod state;

use crate::archive::sync::relation::Behind;
use crate::archive::sync::state::LocalLayout;
use crate::archive::{Archive, ArchivedState};
use crate::session::state_name::StateName;

/// The decision about a session on this machine.
#[derive(Debug, Default)]
pub(crate) struct Decision<'a> {
    /// A digest of the names, sizes and times of its files.
    pub(crate) stamp: String,
    /// The states of other machines that its files contain.
    pub(crate) contained: Vec<String>,
    /// Set if its state here is not in the archive.
    pub(crate) is_sent: bool,
    /// The state of another machine to restore here.
    pub(crate) brought: Option<Brought<'a>>,
    /// Reason for not restoring the different state of another machine.
    pub(crate) left: Option<SkipReason>,
}

/// A state of another machine to restore here.
#[derive(Debug)]
pub(crate) struct Brought<'a> {
    pub(crate) snapshot: &'a ArchivedState,
    /// The machine with this state.
    pub(crate) machine: String,
    pub(crate) layout: LocalLayout,
    pub(crate) behind: Behind,
}

/// Reason to leave a session as it is here, although another machine has another state of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SkipReason {
    pub(crate) code: &'static str,
    pub(crate) reason: String,
    /// The other state, for `--state`, if it can be restored.
    pub(crate) state: Option<StateName>,
    /// Set if that state is in a database, from which only the agent removes it, and into which only the agent takes it.
    pub(crate) is_in_database: bool,
}

/// The states were continued separately.
pub(crate) const DIVERGED: &str = "diverged";
/// The archive lacks a part of a state, until the program that copies its directory is done.
pub(crate) const INCOMPLETE: &str = "incomplete";
/// A process uses the session here, or may use it.
pub(crate) const IN_USE: &str = "in-use";
/// Only the agent writes into its database.
pub(crate) const IN_DATABASE: &str = "in-database";
/// Something else prevents it.
pub(crate) const REFUSED: &str = "refused";

impl SkipReason {
    pub(crate) fn new(code: &'static str, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into(), state: None, is_in_database: false }
    }

    fn with_state(self, snapshot: &ArchivedState, archive: &Archive) -> Self {
        let ArchivedState { manifest, .. } = snapshot;
        Self { state: Some(archive.state_name(manifest)), is_in_database: manifest.rows().is_some(), ..self }
    }
}
