//! Sessions of several machines that share an archive: the states of each, and the relation of two states of one
//! session.
//!
//! A state of another machine is restored here only if its contents begin with those of the local session. Neither
//! clocks nor the order of arrival matter: a file that is missing in the directory of another machine has not arrived
//! yet.

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
    /// Set if its local state is not in the archive.
    pub(crate) is_sent: bool,
    /// The state of another machine to restore here.
    pub(crate) brought: Option<Brought<'a>>,
    /// The reason for not restoring the different state of another machine.
    pub(crate) left: Option<SkipReason>,
}

/// A state of another machine to restore here.
#[derive(Debug)]
pub(crate) struct Brought<'a> {
    pub(crate) snapshot: &'a ArchivedState,
    /// The machine that archived the state.
    pub(crate) machine: String,
    pub(crate) layout: LocalLayout,
    pub(crate) behind: Behind,
}

/// The reason to leave a session unchanged, although another machine has another state of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SkipReason {
    pub(crate) code: &'static str,
    pub(crate) reason: String,
    /// The other state, for `--state`, if it can be restored.
    pub(crate) state: Option<StateName>,
    /// Set if that state is in a database, which only the agent changes.
    pub(crate) is_in_database: bool,
}

/// The states were continued separately.
pub(crate) const DIVERGED: &str = "diverged";
/// A part of a state is missing in the archive, until the program that copies its directory is done.
pub(crate) const INCOMPLETE: &str = "incomplete";
/// A process uses the session here, or may use it.
pub(crate) const IN_USE: &str = "in-use";
/// Only the agent writes into its database.
pub(crate) const IN_DATABASE: &str = "in-database";
/// Another obstacle prevents it.
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
