//! The interface of every agent: the location of its sessions, their contents, and the command that resumes them.
//!
//! An agent is one folder here and one line in `session::agents`. This room only reads.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldhash::HashSet;
use jiff::Timestamp;

use crate::error::PathError;
use crate::format::compare::compare;
use crate::format::edit::Edit;
use crate::session::branches::{BranchFilter, Branches};
use crate::session::causes;
use crate::session::evidence;
use crate::session::repository::Repository;
use crate::session::stats::Days;
use crate::session::usage::Usage;
use crate::session::{Belongings, Comparison, Located, Message, SessionCopy, Store, Visitor};
use crate::system::env::Env;
use crate::system::reach;
use about::About;
use command::{Command, as_last_argument, as_prompt_option};
use relocation::{Moving, Relocation};
use upkeep::{Link, Retention, Strays};

pub(crate) mod about;
mod activity;
mod agent_managed;
mod aider;
pub(crate) mod amplifier;
mod auggie;
pub(crate) mod cat;
pub(crate) mod claude;
mod cline;
mod codex;
pub(crate) mod command;
mod commandcode;
mod context;
mod r#continue;
mod copilot;
mod crush;
mod database;
mod document;
mod droid;
mod engine;
mod found;
mod gemini;
mod goose;
mod gptme;
mod grok;
mod hermes;
pub(crate) mod ids;
pub(crate) mod installed;
pub(crate) mod jido;
mod kilo;
mod kimi;
mod kimicode;
pub(crate) mod leo;
mod letta;
mod lines;
mod listing;
mod nanocoder;
mod omp;
mod open_file;
mod opencode;
mod openhands;
mod pi;
mod qoder;
mod qwen;
mod reading;
mod registry;
pub(crate) mod relocation;
pub(crate) mod rewind;
mod said;
mod stores;
mod tree;
mod unable;
mod unknown_format;
pub(crate) mod unread;
pub(crate) mod upkeep;
pub(crate) mod version;
mod vibe;

pub(crate) use agent_managed::{AgentManaged, typed};
use context::last_activity;
pub(crate) use context::{Depth, Inspector, LiveRecord, ReadContext, StoreNotes};
use engine::{Engine, Missing};
pub(crate) use found::Found;
pub(crate) use listing::tree_size;
use listing::{Beginnings, Listings, each_file_below, is_there};
use open_file::mark_writers;
pub(crate) use reading::{FindBelongings, belongings_of, count, read};
pub(crate) use registry::{Listed, PointerWriter, about, all, by_kind, pointer_writers, roots, writer_of};
pub(crate) use said::{Interest, Said};
pub(crate) use unable::Unable;

/// A program that writes sessions: the operations to find, read and resume them.
pub(crate) trait Agent: Listed + Sync {
    /// Returns the description of the agent.
    fn about(&self) -> &'static About {
        about(self.kind())
    }

    /// Returns whether its sessions can be in any working directory, and it has run in this home.
    fn is_anywhere(&self, env: &Env) -> bool {
        self.about().is_anywhere && self.stores(env).iter().any(|store| reach::is_dir(&store.root) == Some(true))
    }

    /// Returns the roots of its sessions, from its own variables and defaults; they need not exist.
    fn stores(&self, env: &Env) -> Vec<Store>;

    /// Returns the engine that finds and reads its sessions. An agent without one implements `locate`, `locate_id`,
    /// `read`, `count` and `messages`.
    fn engine(&self) -> &'static dyn Engine {
        &Missing
    }

    /// Returns the engine for a copy in the storage of an older version.
    fn older_engine(&self, _place: &Located) -> Option<&'static dyn Engine> {
        None
    }

    /// Returns the engine for a copy.
    fn engine_of(&self, place: &Located) -> &'static dyn Engine {
        self.older_engine(place).unwrap_or_else(|| self.engine())
    }

    /// Finds every copy in a store by names alone. If a name does not contain the full id, only the first line is read
    /// for it; for a database, the ids are read.
    fn locate(&self, store: &Arc<Store>) -> Found {
        self.engine().locate(store, None)
    }

    /// Finds every copy of one full id without listing other sessions; may miss sub-agents.
    fn locate_id(&self, store: &Arc<Store>, id: &str) -> Found {
        self.engine().locate(store, Some(id))
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

    /// Like [`Agent::notes`]; if many sessions share a file, also reads the requested ones in it, and with `counts`
    /// each one to its end.
    fn notes_on(&self, store: &Store, places: &[&Located], counts: bool, env: &Env) -> StoreNotes {
        let places: Vec<&Located> = places.iter().copied().filter(|place| self.older_engine(place).is_none()).collect();
        self.engine().notes_on(&places, counts, env).unwrap_or_else(|| self.notes(store, env))
    }

    /// The subset of [`Agent::notes`] that the check of one copy right before its change needs. Called once per copy,
    /// so keep it cheap.
    fn notes_before_change(&self, place: &Located, env: &Env) -> StoreNotes {
        self.notes_on(&place.store, &[place], false, env)
    }

    /// Reads a copy from the two ends of its files.
    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
        self.engine_of(&place).read(place, context)
    }

    /// Returns an upper bound of a copy's last activity from the times of its files; `None` if only reading shows it,
    /// or if reading may fail.
    fn not_after(&self, _place: &Located) -> Option<Timestamp> {
        None
    }

    /// Returns the facts about the git repository in which a copy was started, to find its current location.
    fn repository(&self, _copy: &SessionCopy) -> Repository {
        Repository::default()
    }

    /// Reads a copy's whole transcript to count prompts and replies and to find bad lines.
    fn count(&self, copy: &mut SessionCopy) -> Result<(), PathError> {
        self.engine_of(&copy.place).count(copy)
    }

    /// Returns the line-wise file of a copy's conversation, if there is one to compare; `None` for a database.
    fn transcript(&self, place: &Located) -> Option<PathBuf> {
        self.engine_of(place).transcript(place)
    }

    /// Compares the records of two copies of one session; `None` if they cannot be compared.
    fn compare(&self, a: &SessionCopy, b: &SessionCopy) -> Option<Comparison> {
        let of_lines = || compare(&self.transcript(&a.place)?, &self.transcript(&b.place)?).ok();
        self.engine_of(&a.place).compare(a, b).or_else(of_lines)
    }

    /// Returns whether a record of its files is known to carry no conversation. A session is empty only if all its
    /// records are silent, so an unknown type or key must give `false`.
    fn is_silent(&self, _record: &[u8]) -> bool {
        false
    }

    /// Returns the files of a copy in which each record is conversation or silent; not all of them need to exist.
    fn conversation_files(&self, place: &Located) -> Vec<PathBuf> {
        let mut files = self.written(place);
        files.extend(self.transcript(place).filter(|path| !files.contains(path)));
        files
    }

    /// Returns the files that grow while a session continues; not all of them need to exist.
    fn written(&self, place: &Located) -> Vec<PathBuf> {
        self.transcript(place).map_or_else(|| self.engine_of(place).written(place), |path| vec![path])
    }

    /// Returns every path that belongs to a copy and exists, including its own. If only the agent can remove it,
    /// returns the reason with the agent's own command.
    fn belongings(&self, place: &Located) -> Result<Belongings, Unable> {
        match self.agent_managed(place) {
            Some(agent_managed) => Err(agent_managed.removes_alone(place)),
            None => Ok(Belongings { own: vec![place.path.to_path_buf()], shared: Vec::new() }),
        }
    }

    /// Returns a function like [`Agent::belongings`] for many copies in these stores, which reads shared directories
    /// once.
    fn belongings_in<'a>(&'a self, _roots: &BTreeSet<&Path>) -> FindBelongings<'a> {
        Box::new(|place| self.belongings(place))
    }

    /// Returns the agent's commands for a copy in its database; `None` for a copy in files.
    fn agent_managed(&self, place: &Located) -> Option<&'static AgentManaged> {
        self.engine_of(place).agent_managed()
    }

    /// Returns the causes of the last error of a stuck conversation; empty if its transcript does not show them, or
    /// contains an unknown record.
    fn stuck_causes(&self, _copy: &SessionCopy) -> Result<Vec<causes::CauseLine>, PathError> {
        Ok(Vec::new())
    }

    /// Returns the files that the agent needs to find a copy, and that exist for other sessions too.
    fn companions(&self, _place: &Located) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Streams the messages of a copy in order to `see` until it breaks.
    fn messages(&self, copy: &SessionCopy, see: &mut Visitor<'_>) -> Result<(), PathError> {
        self.engine_of(&copy.place).messages(copy, see)
    }

    /// Returns the branches of a copy's conversation.
    fn branches(&self, copy: &SessionCopy) -> Result<Branches, PathError> {
        self.engine_of(&copy.place).branches(copy)
    }

    /// Calls `see` with the messages of some branches in the order of the file until it breaks. [`Agent::messages`]
    /// shows the active branch.
    fn messages_on(&self, copy: &SessionCopy, wanted: BranchFilter, see: &mut Visitor<'_>) -> Result<(), PathError> {
        let engine = self.engine_of(&copy.place);
        if engine.has_branches() { engine.messages_on(copy, wanted, see) } else { self.messages(copy, see) }
    }

    /// Returns the last messages of a copy, or `None` if they depend on earlier messages.
    fn last_messages(&self, copy: &SessionCopy, count: usize) -> Result<Option<Vec<Message>>, PathError> {
        self.engine_of(&copy.place).last_messages(copy, count)
    }

    /// Like [`Agent::messages_on`] for all branches of a copy, but may skip the messages of some records or only count
    /// them, as decided from their bytes.
    fn messages_with(
        &self,
        copy: &SessionCopy,
        _interest: &dyn Fn(&[u8]) -> Interest,
        see: &mut dyn FnMut(Said) -> ControlFlow<()>,
    ) -> Result<(), PathError> {
        self.messages_on(copy, BranchFilter::All, &mut |message| see(Said::Message(message)))
    }

    /// Sums up the tokens and the cost of a copy's replies, as far as its agent records them.
    fn usage(&self, _copy: &SessionCopy) -> Result<Usage, PathError> {
        Ok(Usage::default())
    }

    /// Counts the messages of a copy like [`Agent::count`], adds the days on which they were written, and returns the
    /// value of [`Agent::usage`].
    fn measure(&self, copy: &mut SessionCopy, days: &mut Days) -> Result<Usage, PathError> {
        self.count(copy)?;
        self.messages_on(copy, BranchFilter::All, &mut |message| {
            message.at.into_iter().for_each(|at| days.add(at));
            ControlFlow::Continue(())
        })?;
        self.usage(copy)
    }

    /// Returns the JSON file whose raw bytes contain the letters and digits of a copy's messages verbatim and in the
    /// same order, so that most searches need not parse it. `None` if messages are split across records, compressed, or
    /// formatted by rejoin with other words than `tool`.
    fn verbatim(&self, _place: &Located) -> Option<PathBuf> {
        None
    }

    /// Returns the changes that let the agent find the sessions of a store from other directories: one-time changes,
    /// and changes per session. By default no agent file is changed, and rejoin records the new directory.
    fn relocation<'a>(&'a self, _moving: &Moving<'a>) -> Result<Relocation<'a>, Unable> {
        Ok(Relocation::kept())
    }

    /// Returns the file and the edit that change the title of a copy in the agent, or the reason why there are none.
    fn retitle(&self, _copy: &SessionCopy, _title: &str) -> Result<(PathBuf, Edit), Unable> {
        Err(format!("rejoin knows of no file from which {} reads a title again; give it one there", self.kind()).into())
    }

    /// Returns whether the agent files the sessions of a directory under this project.
    fn is_filed_under(&self, _project: &str, _dir: &Path) -> bool {
        true
    }

    /// Decides the launch directory again after evidence was added.
    fn decide_launch_dir(&self, copy: &mut SessionCopy) {
        evidence::decide(copy, |_| true);
    }

    /// Returns the command that resumes a copy, optionally with one prompt to answer without a terminal, or the reason
    /// why there is none.
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable>;

    /// Checks right before the launch whether the agent, started in a directory, would continue this very copy; the
    /// error describes what the agent would do instead.
    fn check_start(&self, _copy: &SessionCopy, _dir: &Path) -> Result<(), Unable> {
        Ok(())
    }

    /// Checks whether the installed program can resume a copy, if programs with the same name differ in that. Returns a
    /// warning if their files do not show which one it is.
    fn check_program(&self, _copy: &SessionCopy, _env: &Env) -> Result<Option<String>, Unable> {
        Ok(None)
    }

    /// Returns a warning about an unexpected effect of the agent's own resume on a session.
    fn warning(&self, _copy: &SessionCopy, _env: &Env) -> Option<String> {
        None
    }

    /// Returns the command that fixes one copy that is marked as unlisted, and its effect; the notes of the copy
    /// contain the reason. `None` if only [`Agent::list_anew`] helps, for the whole store.
    fn help_unlisted(&self, _copy: &SessionCopy) -> Option<(String, &'static str)> {
        None
    }

    /// Checks facts about copies that are too slow for a list, such as the process that has a file open, and records the
    /// results in them.
    fn verify(&self, _copies: &mut [&mut SessionCopy], _env: &Env) {}

    /// Finds files in a store that belong to no session there, and temporary files outside of sessions.
    fn orphans(&self, _store: &Store, _env: &Env) -> Strays {
        Strays::default()
    }

    /// Returns the period after which the agent deletes the sessions of a store by itself; `None` if it never does.
    fn retention(&self, _store: &Store, _env: &Env) -> Option<Retention> {
        None
    }

    /// Returns the links of a record of a transcript to other records; `None` if the line is not a record.
    fn link<'l>(&self, line: &'l [u8]) -> Option<Link<'l>> {
        upkeep::is_object(line).then(Link::default)
    }
}
