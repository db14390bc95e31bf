//! The change that lets Copilot CLI find a session from another directory: the directory in its workspace.yaml. The
//! client changes to that directory by itself.
//!
//! Measured on 1.0.102. The events still name the old directory, so rejoin records the new one too, until the session
//! is resumed there.

use super::Copilot;
use super::workspace::MAX_WORKSPACE;
use crate::agent::copilot::flat_yaml;
use crate::agent::prelude::*;
use crate::format::edit::Edit;

/// The keys of workspace.yaml that name directories.
const KEYS: [&str; 2] = ["cwd", "git_root"];

impl Moving for Copilot {
    fn relocation<'a>(&'a self, moving: &StoreMove<'a>) -> Result<Relocation<'a>, Unable> {
        let StoreMove { mapping, .. } = *moving;
        Ok(Relocation::of_each(move |copy, _| {
            let path = copy.place.path.join("workspace.yaml");
            let yaml = small(&path, MAX_WORKSPACE)?.unwrap_or_default();
            let changed = |key: &&str| {
                let value = flat_yaml::read(&yaml).remove(key)?;
                let new = mapping.text_to(&value)?;
                Some(Edit::replace(flat_yaml::line_of(&yaml, key)?, format!("{key}: {}", flat_yaml::word(&new))))
            };
            Ok(Moved { acts: Act::in_place(path, KEYS.iter().filter_map(changed).collect()), is_kept: true })
        }))
    }
}
