//! Reads sessions outside the agents' stores, inside the directories in which they worked, and pointers to sessions.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use foldhash::{HashSet, HashSetExt as _};

use super::reader::{Notes, Reader};
use super::{Scan, ScanScope, check_launch_dirs, group, is_asked_for, locate};
use crate::agent::{self, Inspector};
use crate::session::select::Filter;
use crate::session::{Evidence, Pointer, Session};
use crate::system::env::Env;
use crate::system::watch::Watcher;

/// Attaches a pointer to the session that it names. A directory in the pointer is the strongest evidence.
pub(crate) fn tie(session: &mut Session, pointer: Pointer) {
    if session.pointers.iter().any(|known| known.path == pointer.path) {
        return;
    }
    if let Some(cwd) = &pointer.cwd {
        for copy in &mut session.copies {
            let counts = agent::counts(&copy.place, cwd);
            let detail = pointer.path.display().to_string();
            copy.evidence
                .insert(0, Evidence { dir: cwd.as_path().into(), source: "pointer", detail: detail.into(), counts });
            agent::decide_launch_dir(copy);
        }
        check_launch_dirs(std::slice::from_mut(session));
    }
    session.pointers.push(pointer);
}

impl Scan {
    /// Adds the sessions outside the stores: in the directories that `filter` requests, in the caller's directory, or
    /// in the directories of known sessions. `watcher` receives the number of copies that were read.
    pub(crate) fn add_those_in_dirs(&mut self, env: &Env, filter: &Filter, scope: ScanScope, watcher: &Watcher) {
        let asked = asked_dirs(env, filter);
        for agent in agent::all().iter().filter(|agent| is_asked_for(agent.kind(), &filter.agents)) {
            let others;
            let worked_in = match (agent.is_anywhere(env), filter.agents.is_empty()) {
                (false, _) => HashSet::new(),
                (true, true) => dirs_of(&self.sessions),
                // Only sessions of the requested agents were read.
                (true, false) => {
                    others = locate(env, &[]).watched(watcher.clone()).read_all(env, ScanScope::GLANCE).sessions;
                    dirs_of(&others)
                }
            };
            let mut found = agent.locate_in(&asked, &worked_in, env);
            self.problems.append(&mut found.problems);
            if found.places.is_empty() {
                continue;
            }
            let known = self.sessions.iter().filter(|session| session.agent == agent.kind());
            let known: HashSet<&Path> =
                known.flat_map(|session| &session.copies).map(|copy| &*copy.place.path).collect();
            found.places.retain(|place| !known.contains(&*place.path));
            if found.places.is_empty() {
                continue;
            }
            watcher.begin(found.places.len());
            let notes = Notes::of(env, &found.places, [], scope.counts, &mut self.problems);
            let reader = Reader { env, notes: &notes, wanted: scope, inspector: &Inspector::default() };
            let mut copies = reader.copies(found.places, &mut self.problems, watcher);
            let (of_agent, rest): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.sessions).into_iter().partition(|session| session.agent == agent.kind());
            copies.extend(of_agent.into_iter().map(|session| session.copies));
            let mut sessions = group(copies, scope);
            check_launch_dirs(&mut sessions);
            self.sessions = rest;
            self.sessions.append(&mut sessions);
            self.sessions.sort_by(|a, b| (a.agent, a.id()).cmp(&(b.agent, b.id())));
        }
        self.problems.sort();
        self.problems.dedup();
    }

    /// Finds the pointers to sessions and ties them to those that they name.
    ///
    /// Pointers whose session cannot be found are returned separately.
    pub(crate) fn add_pointers(&mut self, env: &Env) {
        for writer in agent::pointer_writers() {
            let owner = writer.kind().session_owner();
            let known: HashSet<&OsStr> = self
                .sessions
                .iter()
                .filter(|session| session.agent == owner && session.launch_dir_exists == Some(true))
                .flat_map(|session| session.copy().directories().map(Path::as_os_str))
                .collect();
            let (pointers, mut found) = writer.pointers(env, &mut known.into_iter().map(Path::new));
            self.problems.append(&mut found.problems);
            // A session that is not found may be in a store on a mount that does not answer.
            let are_all_read = agent::by_kind(owner)
                .is_none_or(|agent| super::stores_of(agent, env).count() == agent.stores(env).len());
            for pointer in pointers {
                self.tie(pointer);
            }
            if !are_all_read {
                self.dangling.retain(|pointer| pointer.agent.session_owner() != owner);
            }
        }
    }

    fn tie(&mut self, pointer: Pointer) {
        let id = pointer.session_id.clone().unwrap_or_default();
        let owner = pointer.agent.session_owner();
        let named = self.sessions.iter_mut().find(|session| session.agent == owner && session.id() == id);
        match named {
            Some(session) => tie(session, pointer),
            None => self.dangling.push(pointer),
        }
    }
}

/// Returns the directories that `filter` requests, and the caller's.
pub(super) fn asked_dirs<'a>(env: &'a Env, filter: &'a Filter) -> Vec<&'a Path> {
    // The home may be that of another machine, where the caller's directory is unrelated.
    let cwd = env.cwd.iter().filter(|cwd| !env.foreign_home || cwd.starts_with(&env.home));
    filter.dirs.iter().chain(cwd).map(PathBuf::as_path).collect()
}

/// Returns every directory that sessions record, as bytes, which compare faster than paths.
fn dirs_of(sessions: &[Session]) -> HashSet<&OsStr> {
    sessions.iter().flat_map(|session| session.copy().directories()).map(Path::as_os_str).collect()
}
