//! Finds sessions that their agent will delete by its retention rules.

use std::ffi::OsString;

use foldhash::{HashMap, HashMapExt as _};
use jiff::Timestamp;

use crate::agent;
use crate::agent::upkeep::{Retention, modified_at};
use crate::session::{SOON, Session, SessionCopy, SessionKind, Store};
use crate::system::env::Env;

/// The rules by which agents delete sessions, by the root of their store. Each rule is read once.
#[derive(Debug)]
pub(crate) struct Retentions<'e> {
    env: &'e Env,
    known: HashMap<OsString, Option<Retention>>,
}

impl<'e> Retentions<'e> {
    pub(crate) fn new(env: &'e Env) -> Self {
        Self { env, known: HashMap::new() }
    }

    /// Returns the rule for a store; `None` if its agent deletes nothing there.
    pub(crate) fn retention_of(&mut self, store: &Store) -> Option<&Retention> {
        let root = store.root.as_os_str();
        if !self.known.contains_key(root) {
            let retention = agent::by_kind(store.agent).and_then(|agent| agent.retention(store, self.env));
            self.known.insert(root.to_owned(), retention);
        }
        self.known.get(root)?.as_ref()
    }

    /// Returns the time from which the agent of a copy deletes it. Sets the time of the copy's last change if only that
    /// is missing: agents with a retention by file time set it while reading, except for directories.
    pub(crate) fn expiry(&mut self, copy: &mut SessionCopy) -> Option<Timestamp> {
        let retention = self.retention_of(&copy.place.store)?;
        if !retention.is_by_record {
            copy.modified_at = copy.modified_at.or_else(|| modified_at(&copy.place.path));
        }
        retention.expiry(copy)
    }

    /// Sets when its agent deletes each session, if that is soon.
    pub(crate) fn note_expiries(&mut self, sessions: &mut [Session]) {
        let until = self.env.clock.later(SOON);
        for session in sessions {
            let copy = &mut session.copies[0];
            session.expires_at = if is_own(copy) { self.expiry(copy).filter(|at| *at <= until) } else { None };
        }
    }
}

/// Returns whether the deletion of a copy is reported: not for a sub-agent or an empty session.
pub(crate) fn is_own(copy: &SessionCopy) -> bool {
    copy.kind != SessionKind::Subagent && copy.kind != SessionKind::Empty
}
