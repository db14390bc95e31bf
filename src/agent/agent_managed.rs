//! Commands of agents that keep their sessions in a database, to which no other program writes.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::Unable;
use super::registry::about;
use crate::error::PathError;
use crate::format::shell;
use crate::format::sqlite::rows::Owned;
use crate::session::{Located, Store};

/// The commands of an agent for the sessions in its database.
#[derive(Debug)]
pub(crate) struct AgentManaged {
    /// The rows that belong to a session.
    pub owned: Owned,
    /// The command that removes a session, whose id is appended.
    pub removal: &'static [&'static str],
    /// Set if the command was tested with the real program, and asks no question.
    pub removes_unasked: bool,
    /// The command that imports a session, if the agent has one.
    pub import: Option<ImportCommand>,
}

/// The command and the file format with which an agent imports a session.
#[derive(Debug)]
pub(crate) struct ImportCommand {
    /// The command, which is run in the directory of the session; the file is appended.
    pub words: &'static [&'static str],
    /// The database of a store into which the agent imports by default.
    pub usual: &'static str,
    /// The variable that selects another database.
    pub variable: &'static str,
    /// Writes the contents of the file.
    pub write: fn(&Located, &mut dyn Write) -> Result<(), PathError>,
}

impl AgentManaged {
    /// Creates the description of an agent with one table `sessions` and without an import.
    pub(super) const fn of_sessions(removal: &'static [&'static str], removes_unasked: bool) -> Self {
        let owned = Owned { sessions: &["sessions"], names: &["session_id"], through: &[] };
        Self { owned, removal, removes_unasked, import: None }
    }

    /// Returns the command that removes a session.
    pub(crate) fn removal(&self, id: &str) -> Vec<String> {
        self.removal.iter().copied().chain([id]).map(str::to_owned).collect()
    }

    /// Returns an explanation that only the agent can remove a session, with the command.
    pub(super) fn removes_alone(&self, place: &Located) -> Unable {
        let title = about(place.agent()).title;
        format!(
            "it is in {title}'s database, so only {title} removes it: {}",
            typed(&self.removal(&place.id), &place.store)
        )
        .into()
    }
}

impl ImportCommand {
    /// Returns a store with the variable that makes its agent import into this database.
    pub(crate) fn store_of(&self, store: &Store, database: &Path) -> Store {
        let mut store = store.clone();
        if *database != self.database_of(&store) {
            store.set.insert(self.variable.into(), database.as_os_str().to_owned());
            store.unset.retain(|name| *name != self.variable);
        }
        store
    }

    /// Returns the database of a store into which the agent imports.
    pub(crate) fn database_of(&self, store: &Store) -> PathBuf {
        let named = store.set.get(self.variable).map(PathBuf::from);
        let is_one = store.root.extension().is_some_and(|ending| ending == "db");
        named.unwrap_or_else(|| if is_one { store.root.clone() } else { store.root.join(self.usual) })
    }
}

/// Formats a command for the user to type, with the variables that select a store.
pub(crate) fn typed(words: &[String], store: &Store) -> String {
    // A command that cannot be shown on a terminal cannot be typed either.
    shell::command(&[], &store.set, words).unwrap_or_else(|| words[0].clone())
}
