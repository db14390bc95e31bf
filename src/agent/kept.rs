//! Reads the lists in which agents record the sessions that the user pinned there.

use std::path::Path;

use serde_json::value::RawValue;

use super::StoreNotes;
use crate::session::KeptBy;
use crate::system::fsio;

/// Maximum size of a list, in bytes.
const MAX_LIST: u64 = 64 * 1024 * 1024;

impl StoreNotes {
    /// Adds the sessions that the user keeps in the agent, whose ids `parse` finds in a file. If the file is not
    /// understood, every session of the store is kept, with the reason `unknown`.
    pub(super) fn add_kept(
        &mut self,
        path: &Path,
        (kept_by, unknown): (KeptBy, &'static str),
        parse: impl FnOnce(&[u8]) -> Option<Vec<String>>,
    ) {
        let ids = match fsio::read_if_present(path, MAX_LIST) {
            Ok(None) => return,
            Ok(Some(bytes)) => parse(&bytes),
            Err(_) => None,
        };
        match ids {
            Some(ids) => self.kept_by.extend(ids.into_iter().map(|id| (id, kept_by.clone()))),
            None => self.all_kept_by = Some(KeptBy::unknown(unknown, path)),
        }
    }

    /// Returns the reason for which the user keeps a session in the agent.
    pub(super) fn kept_by(&self, id: &str) -> Option<Box<KeptBy>> {
        self.kept_by.get(id).or(self.all_kept_by.as_ref()).cloned().map(Box::new)
    }
}

/// Parses a list of ids; a missing one is empty, and `None` is one of another form.
pub(super) fn ids(list: Option<&RawValue>) -> Option<Vec<String>> {
    list.map_or(Some(Vec::new()), |list| {
        serde_json::from_str::<Option<_>>(list.get()).ok().map(Option::unwrap_or_default)
    })
}
