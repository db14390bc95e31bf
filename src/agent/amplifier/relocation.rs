//! The changes that let Amplifier find a session from another directory: the session's own directory moves to that
//! directory's project, and session-info.json and metadata.json name the directory.
//!
//! Measured on 0.1.1: it searches only the project of its current directory.

use super::{Amplifier, MAX_METADATA, is_filed_under, slug};
use crate::agent::amplifier::session_info;
use crate::agent::prelude::*;
use crate::agent::relocation::text;
use crate::format::edit::{self, json_string};

impl Moving for Amplifier {
    fn is_filed_under(&self, project: &str, dir: &Path) -> Option<bool> {
        Some(is_filed_under(project, dir))
    }

    fn relocation<'a>(&'a self, moving: &StoreMove<'a>) -> Result<Relocation<'a>, Unable> {
        let StoreMove { store, mapping, .. } = *moving;
        Ok(Relocation::of_each(move |copy, to| {
            let (place, text) = (&copy.place, text(to)?);
            let mut acts = Vec::new();
            let mut dir = place.path.to_path_buf();
            if let Some(project) = &place.project {
                // One writer files sessions under the last component only.
                let name = to.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                let mut foreign = copy.directories().filter(|dir| recorded::is_foreign(dir));
                let is_slug = project.starts_with('-') || foreign.any(|dir| is_filed_under(project, dir));
                let project = if is_slug { slug(text) } else { name.to_owned() };
                dir = store.root.join("projects").join(project).join("sessions").join(&place.id);
                acts.push(Act::Move { from: place.path.to_path_buf(), to: dir.clone() });
            }
            acts.extend(info(copy, to, &dir)?);
            for name in ["metadata.json", "metadata.json.backup"] {
                let Some(old) = small(&place.path.join(name), MAX_METADATA)? else { continue };
                if let Some(edit) = json_string(&old, &["working_dir"], &|dir| mapping.text_to(dir)) {
                    let contents = edit::apply(old.as_bytes(), &[edit]);
                    acts.push(Act::Write { path: dir.join(name), contents });
                }
            }
            Ok(Moved::by(acts))
        }))
    }
}

/// Returns the write of session-info.json, which sub-sessions have only if a server created it.
fn info(copy: &SessionCopy, to: &Path, dir: &Path) -> Result<Option<Act>, Unable> {
    let old = small(&copy.place.path.join(session_info::FILE_NAME), session_info::MAX_BYTES)?;
    if old.is_none() && copy.kind == SessionKind::Subagent {
        return Ok(None);
    }
    let Some(created_at) = copy.created_at.as_ref().or(copy.active_at.as_ref()) else { return Ok(None) };
    let contents = session_info::render(to, created_at.value, old.as_deref().map(str::as_bytes))
        .ok_or_else(|| format!("{} is not UTF-8, which JSON cannot hold", to.display()))?;
    Ok(Some(Act::Write { path: dir.join(session_info::FILE_NAME), contents: contents.into_bytes() }))
}
