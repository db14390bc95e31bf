//! Engines: the methods of [`super::Reading`] that agents share if they store their sessions in the same way.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::{AgentManaged, Found, Observers, ReadContext, StoreNotes};
use crate::error::PathError;
use crate::session::branches::{BranchFilter, Branches};
use crate::session::{Comparison, Located, Message, SessionCopy, Store, Visitor};
use crate::system::env::Env;

/// The end of a session in a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionEnd {
    /// Set if the last message is an error of the API.
    pub is_error: bool,
    /// Set if messages were taken back.
    pub is_rewound: bool,
}

/// Finds and reads sessions of one kind of storage. A description of the agent's storage implements it.
pub(crate) trait Engine: Sync {
    /// Implements [`super::Reading::locate`].
    fn locate(&self, store: &Arc<Store>, only: Option<&str>) -> Found;

    /// Implements [`super::Reading::notes_on`]; `None` if sessions do not share files.
    fn notes_on(&self, _places: &[&Located], _counts: bool, _env: &Env) -> Option<StoreNotes> {
        None
    }

    /// Implements [`super::Reading::read`].
    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError>;

    /// Implements [`super::Reading::observe`].
    fn observe(&self, copy: &mut SessionCopy, observers: &mut Observers) -> Result<(), PathError>;

    /// Implements [`super::Reading::branches`].
    fn branches(&self, _copy: &SessionCopy) -> Result<Branches, PathError> {
        Ok(Branches::default())
    }

    /// Implements [`super::Reading::messages_on`]; without branches, `wanted` is irrelevant.
    fn messages_on(&self, copy: &SessionCopy, wanted: BranchFilter, see: &mut Visitor<'_>) -> Result<(), PathError>;

    /// Implements [`super::Reading::last_messages`].
    fn last_messages(&self, _copy: &SessionCopy, _count: usize) -> Result<Option<Vec<Message>>, PathError> {
        Ok(None)
    }

    /// Implements [`super::Reading::transcript`].
    fn transcript(&self, _place: &Located) -> Option<PathBuf> {
        None
    }

    /// Implements [`super::Reading::written`].
    fn written(&self, place: &Located) -> Vec<PathBuf> {
        self.transcript(place).into_iter().collect()
    }

    /// Implements [`super::Reading::texts`].
    fn texts(&self, _place: &Located) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Implements [`super::Reading::compare`] for copies without lines.
    fn compare(&self, _a: &SessionCopy, _b: &SessionCopy) -> Option<Comparison> {
        None
    }

    /// Implements [`super::Agent::agent_managed`].
    fn agent_managed(&self) -> Option<&'static AgentManaged> {
        None
    }

    /// Returns the ends of these sessions in a database, in their order; none for any other file.
    fn session_ends(&self, _path: &Path, _ids: &[&str]) -> Result<Vec<SessionEnd>, PathError> {
        Ok(Vec::new())
    }

    /// Returns the newest time among the messages of each of these sessions in a database, independent of the sessions'
    /// own rows.
    fn newest_messages(&self, _path: &Path, ids: &[&str]) -> Result<Vec<Option<Timestamp>>, PathError> {
        Ok(vec![None; ids.len()])
    }
}
