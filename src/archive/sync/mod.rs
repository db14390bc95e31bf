//! Sessions of several machines that share an archive: the sessions of each, and the relation of two states of one.
//!
//! The archive has a record of each machine, which only that machine writes. It names the state of every session there,
//! as a branch names a commit. So no file has two writers, and a program that copies the archive's directory from
//! machine to machine can deliver its files in any order: a record may name a state that has not arrived yet.

mod content;
pub(crate) mod decide;
pub(crate) mod exchange;
pub(crate) mod machines;
pub(crate) mod relation;
pub(crate) mod state;

use crate::archive::Snapshot;
use crate::archive::sync::machines::Held;
use crate::archive::sync::relation::Behind;
use crate::archive::sync::state::Layout;

/// The decision about a session on this machine.
#[derive(Debug, Default)]
pub(crate) struct Decision<'a> {
    /// The new entry in the record of this machine; `None` if the entry stays as it is.
    pub(crate) held: Option<Held>,
    /// The digest of its files, if its state goes into the archive.
    pub(crate) sent: Option<String>,
    /// The state of another machine to bring here.
    pub(crate) brought: Option<Brought<'a>>,
    /// Reason why nothing comes here although another machine has another state.
    pub(crate) left: Option<Left>,
}

/// A state of another machine to bring here.
#[derive(Debug)]
pub(crate) struct Brought<'a> {
    pub(crate) snapshot: &'a Snapshot,
    /// The machine with this state.
    pub(crate) machine: String,
    pub(crate) layout: Layout,
    pub(crate) behind: Behind,
}

/// Reason to leave a session as it is here, although another machine has another state of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) code: &'static str,
    pub(crate) reason: String,
    /// The number of the other state in the archive, if the two states diverged.
    pub(crate) state: Option<u64>,
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

impl Left {
    pub(crate) fn new(code: &'static str, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into(), state: None }
    }

    fn diverged(reason: String, snapshot: &Snapshot) -> Self {
        Self { code: DIVERGED, reason, state: Some(snapshot.manifest.number) }
    }
}
