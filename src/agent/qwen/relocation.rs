//! The changes that let Qwen Code find a session from another directory: all its files move to that directory's
//! project, and the records name the directory.
//!
//! Measured on 0.24.4: the directory in the records decides, because several directories share a project. The records
//! in sub-agents' files, which cannot be resumed, are not changed.

use memchr::memmem;

use super::{Qwen, is_slug_of};
use crate::agent::Agent as _;
use crate::agent::claude::slug::slug;
use crate::agent::prelude::*;
use crate::agent::relocation::text;
use crate::format::edit::{Edit, json_string};
use crate::format::jsonl::Jsonl;
use crate::session::mapping::Mapping;

impl Moving for Qwen {
    fn is_filed_under(&self, project: &str, dir: &Path) -> Option<bool> {
        // Qwen uses the name of the directory on the disk, which can only be determined for an existing path.
        Some(encodes(dir, |dir| recorded::encodes(project, dir, is_slug_of)))
    }

    fn relocation<'a>(&'a self, moving: &StoreMove<'a>) -> Result<Relocation<'a>, Unable> {
        let StoreMove { store, mapping, .. } = *moving;
        Ok(Relocation::of_each(move |copy, to| {
            let place = &copy.place;
            let old = store.root.join("projects").join(place.project.as_deref().unwrap_or_default());
            let new = store.root.join("projects").join(slug(text(to)?).collect::<String>());
            let target = |path: &Path| path.strip_prefix(&old).map_or_else(|_| path.to_owned(), |rest| new.join(rest));
            let belongings = Qwen.belongings(place)?;
            let mut acts = Vec::new();
            let others = belongings.own.into_iter().chain(belongings.shared).filter(|path| **path != *place.path);
            for path in others.filter(|path| path.starts_with(&old)) {
                let to = target(&path);
                let edit = if path.to_str().is_some_and(|path| path.ends_with(".runtime.json")) {
                    small(&path, super::MAX_SMALL)?
                        .and_then(|text| json_string(&text, &["work_dir"], &|dir| mapping.text_to(dir)))
                } else {
                    None
                };
                match edit {
                    Some(edit) => acts.push(Act::Edit { from: path, to, edits: vec![edit] }),
                    None if to != path => acts.push(Act::Move { from: path, to }),
                    None => {}
                }
            }
            let edits = directories(&place.path, mapping)?;
            acts.push(Act::Edit { from: place.path.to_path_buf(), to: target(&place.path), edits });
            Ok(Moved::by(acts))
        }))
    }
}

/// Returns the edits of moved directories in the records of a transcript.
fn directories(path: &Path, mapping: &Mapping) -> Result<Vec<Edit>, Unable> {
    let mut edits = Vec::new();
    let file = Jsonl::open(path)?;
    let mut lines = file.into_lines()?;
    while let Some(line) = lines.next_line()? {
        if memmem::find(line.bytes, b"\"cwd\"").is_some()
            && let Ok(text) = str::from_utf8(line.bytes)
        {
            edits.extend(json_string(text, &["cwd"], &|dir| mapping.text_to(dir)).map(|edit| line.edit(edit)));
        }
    }
    Ok(edits)
}
