//! What an agent does by itself with its sessions, where it keeps them in a database and nobody else writes there.

use std::io::Write;

use super::registry::about;
use crate::error::PathError;
use crate::format::sqlite::rows::Owned;
use crate::session::Located;

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
    /// Writes what the file must hold.
    pub write: fn(&Located, &mut dyn Write) -> Result<(), PathError>,
}

impl Keeper {
    /// Returns the command that removes a session.
    pub(crate) fn removal(&self, id: &str) -> Vec<String> {
        self.removal.iter().copied().chain([id]).map(str::to_owned).collect()
    }

    /// Says why nobody else removes a session, with the command.
    pub(super) fn removes_alone(&self, place: &Located) -> String {
        let title = about(place.agent()).title;
        format!("it is in {title}'s database, so only {title} removes it: {}", self.removal(&place.id).join(" "))
    }
}
