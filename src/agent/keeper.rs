//! What an agent does by itself with its sessions, where it keeps them in a database and nobody else writes there.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::registry::about;
use crate::error::PathError;
use crate::format::shell;
use crate::format::sqlite::rows::Owned;
use crate::session::{Located, Store};

/// An agent, as the keeper of the sessions in its database.
#[derive(Debug)]
pub(crate) struct Keeper {
    /// Which rows belong to a session.
    pub owned: Owned,
    /// The words that have it remove a session, whose id comes behind them.
    pub removal: &'static [&'static str],
    /// Whether that was tried with the real program, and asks nobody.
    pub removes_unasked: bool,
    /// How it takes a session in, if it can.
    pub import: Option<Import>,
}

/// How an agent takes in a session from a file.
#[derive(Debug)]
pub(crate) struct Import {
    /// The words that have it do so, in the directory that the session then belongs to; the file comes behind them.
    pub words: &'static [&'static str],
    /// The database of a store that it takes sessions into.
    pub usual: &'static str,
    /// The variable that names another.
    pub variable: &'static str,
    /// Writes what the file must hold.
    pub write: fn(&Located, &mut dyn Write) -> Result<(), PathError>,
}

impl Keeper {
    /// Describes an agent with one table `sessions`, which imports none.
    pub(super) const fn of_sessions(removal: &'static [&'static str], removes_unasked: bool) -> Self {
        let owned = Owned { sessions: &["sessions"], names: &["session_id"], through: &[] };
        Self { owned, removal, removes_unasked, import: None }
    }

    /// Returns the command that removes a session.
    pub(crate) fn removal(&self, id: &str) -> Vec<String> {
        self.removal.iter().copied().chain([id]).map(str::to_owned).collect()
    }

    /// Says why nobody else removes a session, with the command.
    pub(super) fn removes_alone(&self, place: &Located) -> String {
        let title = about(place.agent()).title;
        format!(
            "it is in {title}'s database, so only {title} removes it: {}",
            typed(&self.removal(&place.id), &place.store)
        )
    }
}

impl Import {
    /// Returns a store as its agent must be told of it, so that a session comes into this database of it.
    pub(crate) fn store_of(&self, store: &Store, database: &Path) -> Store {
        let mut store = store.clone();
        if *database != self.database_of(&store) {
            store.set.insert(self.variable, database.as_os_str().to_owned());
            store.unset.retain(|name| *name != self.variable);
        }
        store
    }

    /// Returns the database of a store that it takes sessions into.
    pub(crate) fn database_of(&self, store: &Store) -> PathBuf {
        let named = store.set.get(self.variable).map(PathBuf::from);
        let is_one = store.root.extension().is_some_and(|ending| ending == "db");
        named.unwrap_or_else(|| if is_one { store.root.clone() } else { store.root.join(self.usual) })
    }
}

/// Spells a command for a person to type, with the variables that lead the program to a store.
pub(crate) fn typed(words: &[String], store: &Store) -> String {
    // What cannot be shown on a terminal is not typed there either.
    shell::command(&[], &store.set, words).unwrap_or_else(|| words[0].clone())
}
