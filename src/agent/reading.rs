//! Finding and reading sessions: the part of an agent that lists, shows and searches need.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldhash::HashSet;
use jiff::Timestamp;

use super::engine::Engine;
use super::registry::{Listed, about};
use super::unknown_format::has_any;
use super::{Found, Interest, Observers, ReadContext, Said, StoreNotes, stores};
use crate::error::PathError;
use crate::format::compare::compare;
use crate::session::branches::{BranchFilter, Branches};
use crate::session::usage::Usage;
use crate::session::{Comparison, Located, Message, SessionCopy, Store, Visitor};
use crate::system::env::Env;

/// Finds and reads the sessions of an agent. The engine implements most methods.
pub(crate) trait Reading: Listed + Sync {
    /// Returns the roots of its sessions; they need not exist.
    fn stores(&self, env: &Env) -> Vec<Store> {
        stores::with_configured(self.kind(), env, &|env| self.usual_stores(env))
    }

    /// Returns the roots of its sessions without those of the config file, by default from the variables and the root in its
    /// description.
    fn usual_stores(&self, env: &Env) -> Vec<Store> {
        stores::selected_stores(self.kind(), env)
    }

    /// Returns the engine that finds and reads its sessions.
    fn engine(&self) -> &'static dyn Engine;

    /// Returns the engine for a copy in the storage of an older version.
    fn older_engine(&self, _place: &Located) -> Option<&'static dyn Engine> {
        None
    }

    /// Returns the engine for a copy.
    fn engine_of(&self, place: &Located) -> &'static dyn Engine {
        self.older_engine(place).unwrap_or_else(|| self.engine())
    }

    /// Finds every copy in a store. With `only`, finds the copies of one full id without listing other sessions; this may
    /// miss sub-agents.
    ///
    /// This is the rule for what it opens: it lists directories, and opens a session's file only if no name contains the
    /// full id, and then reads the first record; in a database, it reads the ids. Everything else is for [`Reading::read`].
    fn locate(&self, store: &Arc<Store>, only: Option<&str>) -> Found {
        self.engine().locate(store, only)
    }

    /// Finds copies outside of stores, inside the directories that the user requests and those of sessions of any
    /// agent.
    fn locate_in(&self, _asked: &[&Path], _worked_in: &HashSet<&OsStr>, _env: &Env) -> Found {
        Found::default()
    }

    /// Reads the small files of a store that are about many sessions.
    fn notes(&self, _store: &Store, _env: &Env) -> StoreNotes {
        StoreNotes::default()
    }

    /// Like [`Reading::notes`]; if many sessions share a file, also reads the requested ones in it, and with `counts`
    /// each one to its end.
    fn notes_on(&self, store: &Store, places: &[&Located], counts: bool, env: &Env) -> StoreNotes {
        let places: Vec<&Located> = places.iter().copied().filter(|place| self.older_engine(place).is_none()).collect();
        self.engine().notes_on(&places, counts, env).unwrap_or_else(|| self.notes(store, env))
    }

    /// The subset of [`Reading::notes`] that the check of one copy right before its change needs. Called once per copy,
    /// so keep it cheap.
    fn notes_before_change(&self, place: &Located, env: &Env) -> StoreNotes {
        self.notes_on(&place.store, &[place], false, env)
    }

    /// Returns an upper bound of a copy's last activity from the times of its files; `None` if only reading shows it,
    /// or if reading may fail.
    fn not_after(&self, _place: &Located) -> Option<Timestamp> {
        None
    }

    /// Reads a copy from the two ends of its files.
    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
        self.engine_of(&place).read(place, context)
    }

    /// Returns the line-wise file of a copy's conversation, if there is one to compare; `None` for a database.
    fn transcript(&self, place: &Located) -> Option<PathBuf> {
        self.engine_of(place).transcript(place)
    }

    /// Returns the files that grow while a session continues; not all of them need to exist.
    fn written(&self, place: &Located) -> Vec<PathBuf> {
        self.transcript(place).map_or_else(|| self.engine_of(place).written(place), |path| vec![path])
    }

    /// Returns the line-wise files that a resume of a copy reads.
    fn resumed_files(&self, place: &Located) -> Vec<PathBuf> {
        self.transcript(place).into_iter().collect()
    }

    /// Returns the files of a copy in which each record is conversation or silent; not all of them need to exist.
    fn conversation_files(&self, place: &Located) -> Vec<PathBuf> {
        let mut files = self.written(place);
        files.extend(self.transcript(place).filter(|path| !files.contains(path)));
        files
    }

    /// Returns files and directories of a copy outside of its conversation files that contain text of the user or a model;
    /// not all of them need to exist. A session is not empty if one of them has a file with contents.
    fn texts(&self, place: &Located) -> Vec<PathBuf> {
        self.engine_of(place).texts(place)
    }

    /// Returns whether a record of its files is known to carry no conversation. A session is empty only if all its
    /// records are silent, so an unknown type or key must give `false`.
    fn is_silent(&self, record: &[u8]) -> bool {
        has_any(record, about(self.kind()).silent)
    }

    /// Compares the records of two copies of one session; `None` if they cannot be compared.
    fn compare(&self, a: &SessionCopy, b: &SessionCopy) -> Option<Comparison> {
        let of_lines = || compare(&self.transcript(&a.place)?, &self.transcript(&b.place)?).ok();
        self.engine_of(&a.place).compare(a, b).or_else(of_lines)
    }

    /// Reads each file of a copy's conversation to its end, once for all observers. Called without
    /// [`Observers::counts`] only if the records have the usage, as `ABOUT.usage` says.
    fn observe(&self, copy: &mut SessionCopy, observers: &mut Observers) -> Result<(), PathError> {
        self.engine_of(&copy.place).observe(copy, observers)
    }

    /// Returns the tokens and the cost of a copy's replies that its agent records outside the conversation.
    fn recorded_usage(&self, _copy: &SessionCopy) -> Result<Usage, PathError> {
        Ok(Usage::default())
    }

    /// Streams the messages of a copy in order to `see` until it breaks.
    fn messages(&self, copy: &SessionCopy, see: &mut Visitor<'_>) -> Result<(), PathError> {
        self.messages_on(copy, BranchFilter::Active, see)
    }

    /// Returns the branches of a copy's conversation.
    fn branches(&self, copy: &SessionCopy) -> Result<Branches, PathError> {
        self.engine_of(&copy.place).branches(copy)
    }

    /// Calls `see` with the messages of some branches in the order of the file until it breaks. [`Reading::messages`]
    /// shows the active branch.
    fn messages_on(&self, copy: &SessionCopy, wanted: BranchFilter, see: &mut Visitor<'_>) -> Result<(), PathError> {
        self.engine_of(&copy.place).messages_on(copy, wanted, see)
    }

    /// Like [`Reading::messages_on`] for all branches of a copy, but may skip the messages of some records or only
    /// count them, as decided from their bytes.
    fn messages_with(
        &self,
        copy: &SessionCopy,
        _interest: &dyn Fn(&[u8]) -> Interest,
        see: &mut dyn FnMut(Said) -> ControlFlow<()>,
    ) -> Result<(), PathError> {
        self.messages_on(copy, BranchFilter::All, &mut |message| see(Said::Message(message)))
    }

    /// Returns the last messages of a copy, or `None` if they depend on earlier messages.
    fn last_messages(&self, copy: &SessionCopy, count: usize) -> Result<Option<Vec<Message>>, PathError> {
        self.engine_of(&copy.place).last_messages(copy, count)
    }

    /// Returns the JSON file whose raw bytes contain the letters and digits of a copy's messages verbatim and in the
    /// same order, so that most searches need not parse it. `None` if messages are split across records, compressed, or
    /// formatted by rejoin with other words than `tool`.
    fn verbatim(&self, _place: &Located) -> Option<PathBuf> {
        None
    }
}

/// Returns the directories that [`Reading::locate_in`] searches, each with those above it in the home. Directories above
/// a home do not belong to its owner.
pub(super) fn with_parents<'a>(asked: &[&'a Path], worked_in: &HashSet<&'a OsStr>, env: &Env) -> BTreeSet<&'a Path> {
    let mut dirs = BTreeSet::new();
    for dir in asked.iter().copied().chain(worked_in.iter().copied().map(Path::new)) {
        dirs.insert(dir);
        dirs.extend(dir.ancestors().skip(1).take_while(|dir| dir.starts_with(&env.home) && **dir != env.home));
    }
    dirs
}
