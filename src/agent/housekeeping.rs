//! Housekeeping: the files that belong to a session, the files that belong to none, and the agent's own deletion of
//! sessions.

use std::path::PathBuf;

use super::mentions::{self, Mention};
use super::upkeep::{Retention, Strays};
use super::{Listings, Reading, Unable, about, is_there};
use crate::session::{Belongings, Located, Store};
use crate::system::env::Env;

/// Lists the files of an agent's sessions, for removal, the archive and `doctor`.
pub(crate) trait Housekeeping: Reading {
    /// Returns every existing path of a copy, including its own. If only the agent can remove the copy, returns the
    /// reason with the agent's own command. `listings` lists directories that sessions share.
    fn find_belongings(&self, place: &Located, _listings: &Listings) -> Result<Belongings, Unable> {
        match self.engine_of(place).agent_managed() {
            Some(agent_managed) => Err(agent_managed.removes_alone(place)),
            None => Ok(own_files(place, [])),
        }
    }

    /// Returns the existing files that the agent needs to find a copy and that other sessions use too.
    fn companions(&self, _place: &Located) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Finds files in a store that belong to no session, and temporary files outside of sessions.
    fn orphans(&self, _store: &Store, _env: &Env) -> Strays {
        Strays::default()
    }

    /// Finds the sessions that the agent's lists of prompts and indexes name.
    fn mentions(&self, store: &Store, _env: &Env) -> Vec<Mention> {
        mentions::in_lists(self.kind(), about(self.kind()).lists, store)
    }

    /// Returns the period after which the agent deletes the sessions of a store by itself; `None` if it never does.
    fn retention(&self, _store: &Store, _env: &Env) -> Option<Retention> {
        None
    }
}

/// Returns the path of a copy, and those of `others` that exist.
pub(super) fn own_files(place: &Located, others: impl IntoIterator<Item = PathBuf>) -> Belongings {
    let others = others.into_iter().filter(|path| is_there(path));
    Belongings { own: std::iter::once(place.path.to_path_buf()).chain(others).collect(), shared: Vec::new() }
}
