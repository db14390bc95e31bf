//! The changes that let Kimi CLI find a session from another directory: the session moves to the project of that
//! directory's hash, and `kimi.json` lists the directory.
//!
//! Measured on 1.45.0: it empties a session whose directory is not listed. The entry of the old directory is kept,
//! because other sessions may be there. The system prompt in context.jsonl is a part of the conversation and is kept,
//! too.

use super::reader::{KimiFiles, MAX_MAP};
use super::{Kimi, hash, reader, remote_kaos};
use crate::agent::kimi::records::work_dirs;
use crate::agent::prelude::*;
use crate::agent::relocation::{DirMove, text};
use crate::format::edit::{self, Edit, json_element, json_value};
use crate::format::json_text::elements;
use crate::system::names;

impl Moving for Kimi {
    fn is_filed_under(&self, project: &str, dir: &Path) -> Option<bool> {
        let is_project = |dir: &Path| hash(dir.as_os_str().as_encoded_bytes()) == project;
        // Kimi resolves links first. Only a path that exists can be resolved.
        Some(names::is_either(dir, is_project))
    }

    fn relocation<'a>(&'a self, moving: &StoreMove<'a>) -> Result<Relocation<'a>, Unable> {
        let StoreMove { store, moves, .. } = *moving;
        let each = |copy: &SessionCopy, to: &Path| {
            let place = &copy.place;
            if place.project.as_deref().is_some_and(|project| remote_kaos(project).is_some()) {
                return Err("it ran on another machine".into());
            }
            let project = store.root.join("sessions").join(hash(text(to)?.as_bytes()));
            // The legacy file next to the directory moves first, so that after a partial move no file is found at the
            // old path.
            let legacy = KimiFiles::in_session_dir(place).legacy.filter(|legacy| **legacy != *place.path);
            let paths = legacy.into_iter().chain([place.path.to_path_buf()]);
            let acts = paths.map(|from| Act::Move { to: project.join(from.file_name().unwrap_or_default()), from });
            Ok(Moved::by(acts.collect()))
        };
        Ok(Relocation {
            once: listed(&store.root.join("kimi.json"), moves)?.into_iter().collect(),
            each: Box::new(each),
        })
    }

    fn retitle(&self, copy: &SessionCopy, title: &str) -> Result<Vec<(PathBuf, Edit)>, Unable> {
        Ok(vec![reader::retitle(&copy.place, title)?])
    }
}

/// Adds the new directories to the list, each with the last session of the old one.
fn listed(path: &Path, moves: &[DirMove]) -> Result<Option<Act>, Unable> {
    let cannot = || format!("{} cannot be read as JSON, and Kimi CLI empties what it does not list", path.display());
    let mut json = small(path, MAX_MAP)?.unwrap_or_else(|| "{\n  \"work_dirs\": []\n}".to_owned());
    let mut is_changed = false;
    for way in moves {
        let to = text(&way.to)?;
        let dirs = work_dirs(json.as_bytes()).ok_or_else(cannot)?;
        if dirs.iter().any(|dir| dir.kaos == "local" && dir.path == to) {
            continue;
        }
        let list =
            json_value(&json, &["work_dirs"]).filter(|list| json[list.clone()].starts_with('[')).ok_or_else(cannot)?;
        let last = elements(&json, list.start).into_iter().find_map(|at| {
            let entry = serde_json::from_str(&json[at]).ok();
            let is_old = text_in(entry, "path").get().is_some_and(|path| way.from == Path::new(path));
            text_in(entry, "last_session_id").filled().filter(|_| is_old).map(str::to_owned)
        });
        let entry = serde_json::json!({"path": to, "kaos": "local", "last_session_id": last}).to_string();
        let edit = json_element(&json, list.start, &entry);
        json = String::from_utf8(edit::apply(json.as_bytes(), &[edit])).map_err(|_| cannot())?;
        is_changed = true;
    }
    Ok(is_changed.then(|| Act::Write { path: path.to_owned(), contents: json.into_bytes() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_name_is_md5_of_directory() {
        // The first value is from RFC 1321.
        assert_eq!(hash(b"abc"), "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(
            Kimi.is_filed_under("aef0df73f1925593c2dc381597cb291d", Path::new("/home/ana/desk/shop-wt")),
            Some(true)
        );
        assert_eq!(
            Kimi.is_filed_under("aef0df73f1925593c2dc381597cb291d", Path::new("/home/ana/desk/shop")),
            Some(false)
        );
        assert_eq!(remote_kaos("ssh_aef0df73f1925593c2dc381597cb291d"), Some("ssh"));
        assert_eq!(remote_kaos("aef0df73f1925593c2dc381597cb291d"), None);
    }
}
