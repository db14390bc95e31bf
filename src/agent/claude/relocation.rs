//! The changes that let Claude Code find a session from another directory: the transcript and the directory next to it
//! move to that directory's project, nothing is left behind, and a `relocated` record is appended.
//!
//! Measured on 2.1.330, which moves sessions in the same way when it leaves a worktree. A record at the end overrides
//! the first `cwd`, so no record is rewritten; 2.1.197 ignores it and uses the project alone. A second transcript with
//! the same id makes 2.1.330 refuse both.

use std::collections::BTreeMap;

use super::{Claude, sidecar};
use crate::agent::claude::slug::{encoded, is_slug_of, project_of};
use crate::agent::prelude::*;
use crate::agent::relocation::{DirMove, added_line, text};
use crate::format::edit::{Edit, json_string, json_value};
use crate::format::json_text::members;
use crate::session::mapping::Mapping;
use crate::system::names;

/// Maximum size of the client's settings and data per directory: megabytes if there are thousands of directories.
pub(super) const MAX_GLOBAL: u64 = 64 * 1024 * 1024;
/// Maximum size of a CAT record, which contains one path.
const MAX_RECORD: u64 = 64 * 1024;

impl Moving for Claude {
    fn is_filed_under(&self, project: &str, dir: &Path) -> Option<bool> {
        // With CLAUDE_CODE_PROJECT_DIR_NAME the user chose the name, which is then unrelated to the directory.
        if !project.starts_with('-') {
            return None;
        }
        // The client resolves links first.
        Some(encodes(dir, |dir| is_slug_of(project, dir)))
    }

    fn relocation<'a>(&'a self, moving: &StoreMove<'a>) -> Result<Relocation<'a>, Unable> {
        let StoreMove { store, moves, mapping, .. } = *moving;
        let each = move |copy: &SessionCopy, to: &Path| {
            let (place, to) = (&copy.place, text(to)?);
            // A project that the user named keeps its name.
            let is_of_windows = |project: &str| {
                let encodes = |dir: &str| recorded::encodes(project, dir, is_slug_of);
                let mut foreign = copy.directories().filter(|dir| recorded::is_foreign(dir)).filter_map(Path::to_str);
                foreign.any(encodes)
            };
            let named = place.project.as_deref().filter(|project| !project.starts_with('-') && !is_of_windows(project));
            let project = store.root.join("projects").join(named.map_or_else(|| project_of(to), str::to_owned));
            let old = place.path.parent().unwrap_or(&place.path);
            let name = place.path.file_name().unwrap_or_default();
            let mut acts = Vec::new();
            let meta = Some(place.path.with_extension("meta.json")).filter(|meta| place.is_subagent && is_there(meta));
            for from in place.side_dir.clone().into_iter().chain(meta).filter(|_| project != old) {
                acts.push(Act::Move { to: project.join(from.file_name().unwrap_or_default()), from });
            }
            // CAT stores the working directory of a session next to it.
            let record = PathBuf::from("cat/sessions").join(format!("{}.cwd", place.id));
            if let Some(dir) = small(&old.join(&record), MAX_RECORD)? {
                let end = dir.trim_end().len();
                let edits = mapping.text_to(&dir[..end]).map(|new| Edit::replace(0..end, new)).into_iter().collect();
                acts.push(Act::Edit { from: old.join(&record), to: project.join(&record), edits });
            }
            let record = serde_json::json!({"type": "relocated", "relocatedCwd": to, "sessionId": place.id});
            let edits = vec![added_line(&place.path, &record.to_string())?];
            acts.push(Act::Edit { from: place.path.to_path_buf(), to: project.join(name), edits });
            Ok(Moved::by(acts))
        };
        // If several move to one directory, the first one wins.
        let notes: BTreeMap<PathBuf, PathBuf> = moves.iter().rev().filter_map(|gone| memory(store, gone)).collect();
        let once = notes.into_iter().map(|(to, from)| Act::Move { from, to }).collect();
        Ok(Relocation { once, each: Box::new(each) })
    }

    fn retitle(&self, copy: &SessionCopy, title: &str) -> Result<Vec<(PathBuf, Edit)>, Unable> {
        // Measured on 2.1.330 and 2.1.197, with records that were appended by hand: it overrides every other title.
        let place = &copy.place;
        if place.is_subagent {
            return Err("it is a sub-agent, and Claude Code shows no title of one".into());
        }
        let record = serde_json::json!({"type": "custom-title", "customTitle": title, "sessionId": place.id});
        let edit = (place.path.to_path_buf(), added_line(&place.path, &record.to_string())?);
        Ok([edit].into_iter().chain(sidecar::retitled(place, title)?).collect())
    }
}

/// Returns the new and the old path of the client's notes on a project. They move if all sessions of the project move,
/// unless there are notes at the new path already.
fn memory(store: &Store, gone: &DirMove) -> Option<(PathBuf, PathBuf)> {
    let projects = store.root.join("projects");
    let new = projects.join(project_of(gone.to.to_str()?)).join("memory");
    let mut old = names::spellings(gone.from.to_str()?).map(|dir| projects.join(encoded(&dir)).join("memory"));
    let old = old.find(|old| reach::is_dir(old) == Some(true))?;
    (gone.is_whole && !is_there(&new)).then_some((new, old))
}

/// Returns the client's global file, which has an entry for each directory in which it was started.
pub(super) fn global_file(store: &Store, env: &Env) -> PathBuf {
    if store.set.is_empty() { env.home.join(".claude.json") } else { store.root.join(".claude.json") }
}

/// Returns the edits of the client's data about directories: trust and costs in its global file, and the directory of
/// each prompt.
pub(super) fn references(store: &Store, mapping: &Mapping, env: &Env) -> Vec<Act> {
    let global = global_file(store, env);
    let history = store.root.join("history.jsonl");
    let acts = |path: PathBuf, find: fn(&str, &Mapping) -> Vec<Edit>| {
        let text = small(&path, MAX_GLOBAL).ok().flatten().unwrap_or_default();
        Act::in_place(path, find(&text, mapping))
    };
    [acts(global, keys), acts(history, lines)].concat()
}

/// Renames the keys of moved directories, unless the new key already exists.
fn keys(json: &str, mapping: &Mapping) -> Vec<Edit> {
    let Some(at) = json_value(json, &["projects"]) else { return Vec::new() };
    let entries = members(json, at.start);
    let renamed = |entry: &crate::format::json_text::Member<'_>| {
        let new = mapping.text_to(&entry.key)?;
        let is_free = entries.iter().all(|other| other.key != new);
        // Only blanks are between the colon and the value.
        let colon = entry.span.start + json[entry.span.start..entry.value.start].rfind(':')?;
        is_free.then(|| Edit::replace(entry.span.start..colon, serde_json::Value::from(new).to_string()))
    };
    entries.iter().filter_map(renamed).collect()
}

fn lines(text: &str, mapping: &Mapping) -> Vec<Edit> {
    let mut at = 0;
    let mut edits = Vec::new();
    for line in text.split_inclusive('\n') {
        let edit = json_string(line, &["project"], &|dir| mapping.text_to(dir));
        edits.extend(edit.map(|edit| edit.moved(at)));
        at += line.len() as u64;
    }
    edits
}
