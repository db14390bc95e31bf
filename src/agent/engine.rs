//! Engines: the methods of [`super::Reading`] that agents share if they store their sessions in the same way.

use std::io;
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

const MISSING: &str = "its agent has neither an engine nor this method";

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

/// The engine of an agent without one, which implements the required methods itself. A test calls them for every agent.
pub(super) struct Missing;

impl Missing {
    fn error(place: &Located) -> PathError {
        PathError::new("read", &place.path, io::Error::other(MISSING))
    }
}

impl Engine for Missing {
    fn locate(&self, store: &Arc<Store>, _only: Option<&str>) -> Found {
        let mut found = Found::default();
        found.problem(&store.root, MISSING);
        found
    }

    fn read(&self, place: Located, _context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
        Err(Self::error(&place))
    }

    fn observe(&self, copy: &mut SessionCopy, _observers: &mut Observers) -> Result<(), PathError> {
        Err(Self::error(&copy.place))
    }

    fn messages_on(&self, copy: &SessionCopy, _wanted: BranchFilter, _see: &mut Visitor<'_>) -> Result<(), PathError> {
        Err(Self::error(&copy.place))
    }

    fn transcript(&self, place: &Located) -> Option<PathBuf> {
        Some(place.path.to_path_buf())
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::super::{
        Agent, Command, Depth, Housekeeping, Inspector, Listed, Moving, Reading, Resuming, Unable, all,
    };
    use super::*;
    use crate::session::AgentKind;
    use crate::system::env::tests::fixed;

    /// Returns the required methods that an agent lacks.
    fn missing(agent: &dyn Agent) -> Vec<&'static str> {
        let dir = tempfile::tempdir().expect("a directory");
        let store = Arc::new(Store::usual(agent.kind(), dir.path()));
        let mut copy = SessionCopy::new(Located::new(&store, "id", dir.path().join("missing")));
        let (env, notes, inspector) = (fixed(), StoreNotes::default(), Inspector::default());
        let context =
            ReadContext { env: &env, notes: &notes, depth: Depth::Glance, sizes: false, inspector: &inspector };
        let found = |found: Found| found.problems.iter().any(|problem| problem.reason == MISSING);
        let read = |read: Result<(), PathError>| read.is_err_and(|error| error.reason() == MISSING);
        let methods = [
            ("locate", found(agent.locate(&store, None)) || found(agent.locate(&store, Some("id")))),
            ("read", read(agent.read(copy.place.clone(), &context).map(drop))),
            ("observe", read(agent.observe(&mut copy, &mut Observers::default()))),
            ("messages_on", read(agent.messages(&copy, &mut |_| ControlFlow::Continue(())))),
        ];
        methods.into_iter().filter(|(_, is_missing)| *is_missing).map(|(name, _)| name).collect()
    }

    struct Forgetful;

    impl Listed for Forgetful {
        fn kind(&self) -> AgentKind {
            AgentKind::Aider
        }
    }

    impl Reading for Forgetful {}

    impl Resuming for Forgetful {
        fn command(&self, _copy: &SessionCopy, _prompt: Option<&str>) -> Result<Command, Unable> {
            Err("".into())
        }
    }

    impl Moving for Forgetful {}

    impl Housekeeping for Forgetful {}

    #[test]
    fn missing_engine_methods_are_reported() {
        assert_eq!(missing(&Forgetful), ["locate", "read", "observe", "messages_on"]);
    }

    #[test]
    fn every_agent_has_an_engine_or_the_methods_of_one() {
        for agent in all() {
            let kind = agent.kind();
            assert_eq!(
                missing(*agent),
                [""; 0],
                "agent {kind}: it has an engine or these methods; see src/agent/reading.rs"
            );
        }
    }
}
