//! OpenCode: `opencode.db` in its data directory, which is only read, and the JSON files of older versions.
//!
//! Facts: OpenCode 1.18.33, measured; anomalyco/opencode 063e8306 for earlier and later versions.

pub(super) mod records;

use super::AgentManaged;
use crate::agent::database::Database;
use crate::agent::prelude::*;
use crate::session::branches::BranchFilter;
use crate::session::repository::Repository;
use program::OpenCodeProgram;
use tables::OpenCodeTables;
use tree::OpenCodeTree;

pub(super) mod about;
mod generations;
pub(super) mod program;
pub(super) mod tables;
mod transfer;
mod tree;

const PROGRAM: OpenCodeProgram =
    OpenCodeProgram { kind: AgentKind::OpenCode, name: "opencode", variable: "OPENCODE_DB", channels: &["opencode"] };

const AGENT_MANAGED: AgentManaged = OpenCodeProgram::agent_managed(
    &["opencode", "session", "delete"],
    &["opencode", "import"],
    ("opencode.db", PROGRAM.variable),
);

const DATABASE: Database = Database { schema: &OpenCodeTables, agent_managed: &AGENT_MANAGED, locate };

/// Implements [`Agent`](super::Agent) for OpenCode.
pub(super) struct OpenCode;

impl Reading for OpenCode {
    fn usual_stores(&self, env: &Env) -> Vec<Store> {
        PROGRAM.stores(env)
    }

    fn engine(&self) -> &'static dyn Engine {
        &DATABASE
    }

    fn older_engine(&self, place: &Located) -> Option<&'static dyn Engine> {
        tree::is_in(place).then_some(&OpenCodeTree)
    }

    fn recorded_usage(&self, copy: &SessionCopy) -> Result<Usage, PathError> {
        if tree::is_in(&copy.place) { Ok(Usage::default()) } else { OpenCodeProgram::usage(&copy.place) }
    }

    fn observe(&self, copy: &mut SessionCopy, observers: &mut Observers) -> Result<(), PathError> {
        self.engine_of(&copy.place).observe(copy, observers)?;
        let lost = if tree::is_in(&copy.place) { Vec::new() } else { tree::left_behind(&copy.place) };
        if !lost.is_empty() {
            let count = |is: fn(&Turn) -> bool| lost.iter().filter(|turn| is(turn)).count() as u64;
            let add = |known: Option<u64>, more: u64| Some(known.unwrap_or_default() + more);
            copy.prompts = add(copy.prompts, count(|turn| turn.prompt().is_some()));
            copy.replies = add(copy.replies, count(Turn::is_reply));
            copy.health.remove(Health::UnknownFormat);
            let note = "storage/part alone has the text of some messages, and OpenCode does not show them";
            copy.notes.insert(0, note.to_owned());
        }
        Ok(())
    }

    fn messages_on(&self, copy: &SessionCopy, branches: BranchFilter, see: &mut Visitor<'_>) -> Result<(), PathError> {
        let lost = if tree::is_in(&copy.place) { Vec::new() } else { tree::left_behind(&copy.place) };
        let mut lost = lost.into_iter().flat_map(|turn| turn.messages).peekable();
        let mut is_ended = false;
        self.engine_of(&copy.place).messages_on(copy, branches, &mut |message| {
            while let Some(earlier) = lost.next_if(|lost| lost.at < message.at) {
                is_ended |= see(earlier).is_break();
            }
            is_ended |= see(message).is_break();
            if is_ended { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if !is_ended {
            let _ = lost.try_for_each(see);
        }
        Ok(())
    }

    fn is_silent(&self, record: &[u8]) -> bool {
        tree::is_silent(record)
    }

    fn conversation_files(&self, place: &Located) -> Vec<PathBuf> {
        if tree::is_in(place) { tree::conversation_files(place) } else { Vec::new() }
    }
}

impl Resuming for OpenCode {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        Ok(PROGRAM.command(copy, prompt))
    }

    fn check_start(&self, copy: &SessionCopy, dir: &Path) -> Result<(), Unable> {
        let own = OpenCodeProgram::elsewhere(copy, dir).filter(|own| reach::exists(own) == Some(false));
        let own = own.filter(|_| !tree::is_in(&copy.place));
        // Measured on 1.18.33: OpenCode resolves that directory for each prompt, and shows no error.
        own.map_or(Ok(()), |own| {
            let own = format!("{}, which is gone", own.display());
            Err(without_end(copy, &own, "take prompts and never answer").into())
        })
    }

    fn check_program(&self, copy: &SessionCopy, env: &Env) -> Result<Option<String>, Unable> {
        generations::check_program(copy, env)
    }

    fn help_unlisted(&self, copy: &SessionCopy) -> Option<(String, &'static str)> {
        generations::help(copy)
    }
}

impl Moving for OpenCode {
    fn repository(&self, copy: &SessionCopy) -> Repository {
        if tree::is_in(&copy.place) { Repository::default() } else { OpenCodeProgram::repository(&copy.place) }
    }
}

impl Housekeeping for OpenCode {
    fn find_belongings(&self, place: &Located, _listings: &Listings) -> Result<Belongings, Unable> {
        if tree::is_in(place) { Ok(tree::belongings(place)) } else { Err(AGENT_MANAGED.removes_alone(place)) }
    }
}

/// Implements [`About::check_prompt`](super::about::About::check_prompt).
fn check_prompt(copy: &SessionCopy, dir: &Path) -> Result<(), Unable> {
    match OpenCodeProgram::elsewhere(copy, dir) {
        Some(own) if !tree::is_in(&copy.place) => Err(format!(
            "{}, or leave out --prompt",
            without_end(copy, &own.display().to_string(), "answer one prompt, but never end")
        )
        .into()),
        _ => Ok(()),
    }
}

/// Describes the effect of a start outside of the directory in the database, with the commands that change it.
fn without_end(copy: &SessionCopy, own: &str, effect: &str) -> String {
    format!("OpenCode would {effect}, because its database names {own}; {}", PROGRAM.taken_along(copy))
}

/// Finds the sessions of the databases of a store, and those in JSON files that are in none of the databases.
fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
    let mut found = PROGRAM.locate(store, only);
    if OpenCodeProgram::is_one_database(store) {
        return found;
    }
    // The files of imported sessions still exist.
    found.extend_with_others(OpenCodeTree.locate(store, only));
    found
}
