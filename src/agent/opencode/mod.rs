//! OpenCode: `opencode.db` in its data directory, only ever read, and the JSON tree that it used before.
//!
//! Facts: OpenCode 1.18.33, measured; anomalyco/opencode 063e8306 for what came before and after.

pub(super) mod records;

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::{Agent, Command, Found, Keeper, ReadContext, StoreNotes, Unable};
use crate::error::PathError;
use crate::session::repository::Repository;
use crate::session::usage::Tokens;
use crate::session::{AgentKind, Belongings, Copy, Located, Message, Store};
use crate::system::env::Env;
use program::Program;

pub(super) mod about;
mod generations;
pub(super) mod program;
mod tables;
mod transfer;
mod tree;
mod usage;

const PROGRAM: Program =
    Program { kind: AgentKind::OpenCode, name: "opencode", variable: "OPENCODE_DB", channels: &["opencode"] };

const KEEPER: Keeper =
    Program::keeper(&["opencode", "session", "delete"], &["opencode", "import"], ("opencode.db", PROGRAM.variable));

/// The agent.
pub(super) struct OpenCode;

impl Agent for OpenCode {
    fn stores(&self, env: &Env) -> Vec<Store> {
        PROGRAM.stores(env)
    }

    fn locate(&self, store: &Arc<Store>) -> Found {
        locate(store, None)
    }

    fn locate_id(&self, store: &Arc<Store>, id: &str) -> Found {
        locate(store, Some(id))
    }

    fn notes_on(&self, _store: &Store, places: &[&Located], counts: bool, env: &Env) -> StoreNotes {
        let in_databases: Vec<&Located> = places.iter().copied().filter(|place| !tree::is_in(place)).collect();
        Program::notes(&in_databases, counts, env)
    }

    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<Copy, PathError> {
        if tree::is_in(&place) { tree::read(place, context) } else { Program::read(&place, context) }
    }

    fn repository(&self, copy: &Copy) -> Repository {
        if tree::is_in(&copy.place) { Repository::default() } else { Program::repository(&copy.place) }
    }

    fn count(&self, copy: &mut Copy) -> Result<(), PathError> {
        if tree::is_in(&copy.place) { tree::count(copy) } else { Program::count(copy) }
    }

    fn transcript(&self, _place: &Located) -> Option<PathBuf> {
        None
    }

    fn written(&self, place: &Located) -> Vec<PathBuf> {
        if tree::is_in(place) { vec![place.path.to_path_buf()] } else { Vec::new() }
    }

    fn belongings(&self, place: &Located) -> Result<Belongings, String> {
        if tree::is_in(place) { Ok(tree::belongings(place)) } else { Err(KEEPER.removes_alone(place)) }
    }

    fn keeper(&self, place: &Located) -> Option<&'static Keeper> {
        (!tree::is_in(place)).then_some(&KEEPER)
    }

    fn tokens(&self, copy: &Copy) -> Result<Option<Tokens>, PathError> {
        if tree::is_in(&copy.place) { Ok(None) } else { Program::tokens(&copy.place) }
    }

    fn is_silent(&self, record: &[u8]) -> bool {
        tree::is_silent(record)
    }

    fn conversation_files(&self, place: &Located) -> Vec<PathBuf> {
        if tree::is_in(place) { tree::conversation_files(place) } else { Vec::new() }
    }

    fn newest_messages(&self, path: &Path, ids: &[&str]) -> Result<Vec<Option<Timestamp>>, PathError> {
        Program::newest_messages(path, ids)
    }

    fn messages(&self, copy: &Copy, see: &mut dyn FnMut(Message) -> ControlFlow<()>) -> Result<(), PathError> {
        if tree::is_in(&copy.place) { tree::messages(&copy.place, see) } else { Program::messages(&copy.place, see) }
    }

    fn command(&self, copy: &Copy, prompt: Option<&str>) -> Result<Command, String> {
        Ok(PROGRAM.command(copy, prompt))
    }

    fn check_program(&self, copy: &Copy, env: &Env) -> Result<Option<String>, Unable> {
        generations::check_program(copy, env)
    }

    fn help_unlisted(&self, copy: &Copy) -> Option<(String, &'static str)> {
        generations::help(copy)
    }

    fn check_prompt(&self, copy: &Copy, dir: &Path) -> Result<(), String> {
        match Program::elsewhere(copy, dir) {
            Some(own) if !tree::is_in(&copy.place) => Err(format!(
                "OpenCode would answer one prompt, but never end, because its database names {}; {}, or leave out --prompt",
                own.display(),
                PROGRAM.taken_along(copy)
            )),
            _ => Ok(()),
        }
    }
}

/// Finds the sessions of the databases of a store, and those of its tree that are in none of them.
fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
    let mut found = PROGRAM.locate(store, only);
    if Program::is_one_database(store) {
        return found;
    }
    // The files were left where they were when their sessions were taken into the database.
    let known: HashSet<String> = found.places.iter().map(|place| place.id.clone()).collect();
    let mut in_tree = tree::locate(store, only);
    in_tree.places.retain(|place| !known.contains(&place.id));
    found.extend(in_tree);
    found
}
