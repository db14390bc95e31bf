//! Kilo: OpenCode's tables in `kilo.db`, in a separate data directory, which is only read.
//!
//! Kilo continues a session in the session's own directory, whatever its current directory is. Facts: Kilo 7.7.9,
//! measured; the names of databases by its code.

pub(super) mod about;

use super::AgentManaged;
use crate::agent::database::Database;
use crate::agent::opencode::program::OpenCodeProgram;
use crate::agent::opencode::tables::OpenCodeTables;
use crate::agent::prelude::*;
use crate::session::repository::Repository;

const PROGRAM: OpenCodeProgram =
    OpenCodeProgram { kind: AgentKind::Kilo, name: "kilo", variable: "KILO_DB", channels: &["kilo", "opencode"] };

const AGENT_MANAGED: AgentManaged =
    OpenCodeProgram::agent_managed(&["kilo", "session", "delete"], &["kilo", "import"], ("kilo.db", PROGRAM.variable));

const DATABASE: Database = Database {
    schema: &OpenCodeTables,
    agent_managed: &AGENT_MANAGED,
    locate: |store, only| PROGRAM.locate(store, only),
};

/// Implements [`Agent`](super::Agent) for Kilo.
pub(super) struct Kilo;

impl Reading for Kilo {
    fn usual_stores(&self, env: &Env) -> Vec<Store> {
        PROGRAM.stores(env)
    }

    fn engine(&self) -> &'static dyn Engine {
        &DATABASE
    }

    fn recorded_usage(&self, copy: &SessionCopy) -> Result<Usage, PathError> {
        OpenCodeProgram::usage(&copy.place)
    }
}

impl Resuming for Kilo {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        Ok(PROGRAM.command(copy, prompt))
    }

    fn check_start(&self, copy: &SessionCopy, dir: &Path) -> Result<(), Unable> {
        // If that directory is missing, this is only a warning, because Kilo still continues.
        if let Some(own) = OpenCodeProgram::elsewhere(copy, dir).filter(|own| reach::exists(own) != Some(false)) {
            return Err(format!(
                "Kilo continues in {}, wherever it is started; {}",
                own.display(),
                PROGRAM.taken_along(copy)
            )
            .into());
        }
        Ok(())
    }

    fn warning(&self, copy: &SessionCopy, _env: &Env) -> Option<String> {
        let gone = recorded(copy).filter(|own| reach::exists(own) == Some(false))?;
        Some(format!(
            "Kilo continues in {}, which is gone, wherever it is started; {}",
            gone.display(),
            PROGRAM.taken_along(copy)
        ))
    }
}

impl Moving for Kilo {
    fn repository(&self, copy: &SessionCopy) -> Repository {
        OpenCodeProgram::repository(&copy.place)
    }

    fn relocation<'a>(&'a self, _moving: &StoreMove<'a>) -> Result<Relocation<'a>, Unable> {
        // Recording the new directory would have no effect: Kilo changes to the one in its database.
        Ok(Relocation::of_each(|copy, _| {
            Err(format!("Kilo's database decides its directory; {}", PROGRAM.taken_along(copy)).into())
        }))
    }
}

impl Housekeeping for Kilo {}

fn recorded(copy: &SessionCopy) -> Option<&Path> {
    copy.start_dir.as_ref().map(|dir| &*dir.value)
}
