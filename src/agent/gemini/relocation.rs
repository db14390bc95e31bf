//! Moves sessions of Gemini CLI to another directory. To be found there, a session must be in the project of that
//! directory, which `projects.json` and two `.project_root` files name.
//!
//! Measured on 0.61.0 and 0.25.0: the client resumes only in the project's own directory, and no record names the
//! directory. A project that moves as a whole to a directory without a project keeps its name and gets the new
//! directory, so that saved chats and checkpoints follow. Otherwise the sessions are moved one by one, and the files of
//! the project stay with the old one. The hash of the old directory in the first line of a session stays.

use std::collections::{BTreeMap, BTreeSet};

use super::{Gemini, is_hash, saved};
use crate::agent::Agent as _;
use crate::agent::gemini::projects::{MAX_MARKER, MAX_REGISTRY, hash, slug};
use crate::agent::prelude::*;
use crate::agent::relocation::{DirMove, text};
use crate::format::edit::{self, json_member, json_value};
use crate::format::json_text::{decoded, members};
use crate::system::names;

/// Directories with a subdirectory per project, each with a file that names its directory.
const BASES: [&str; 2] = ["tmp", "history"];

/// The changes to the projects of a store.
struct Projects<'a> {
    root: &'a Path,
    /// The new content of `projects.json`.
    registry: String,
    /// The project of each new directory.
    of: BTreeMap<PathBuf, String>,
    /// The projects that move as a whole, with their contents.
    whole: BTreeSet<String>,
    acts: Vec<Act>,
}

impl Moving for Gemini {
    fn is_filed_under(&self, project: &str, dir: &Path) -> Option<bool> {
        if is_hash(project) {
            let is_project = |dir: &Path| dir.to_str().is_some_and(|dir| hash(dir) == project);
            // The hash is of the path as the system reports it, which is known only for an existing path.
            return Some(names::is_either(dir, is_project));
        }
        if dir.to_str().is_none() {
            return Some(false);
        }
        // A second directory of the same name gets a number.
        let slug = slug(dir);
        Some(project.strip_prefix(&slug).is_some_and(|rest| {
            rest.is_empty() || rest.strip_prefix('-').is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
        }))
    }

    fn relocation<'a>(&'a self, moving: &StoreMove<'a>) -> Result<Relocation<'a>, Unable> {
        let StoreMove { store, moves, .. } = *moving;
        let path = store.root.join("projects.json");
        let old = small(&path, MAX_REGISTRY)?;
        let registry = old.clone().unwrap_or_else(|| "{\n  \"projects\": {}\n}".to_owned());
        if json_value(&registry, &["projects"]).is_none_or(|at| !registry[at].starts_with('{')) {
            return Err(format!("{} cannot be read as JSON", path.display()).into());
        }
        let mut projects =
            Projects { root: &store.root, registry, of: BTreeMap::new(), whole: BTreeSet::new(), acts: Vec::new() };
        for way in moves.iter().filter(|way| way.projects.iter().any(|project| !is_hash(project))) {
            projects.add(way)?;
        }
        let Projects { registry, of, whole, acts, .. } = projects;
        let mut once = acts;
        if old.as_ref() != Some(&registry) && !of.is_empty() {
            once.push(Act::Write { path, contents: registry.into_bytes() });
        }
        let each = move |copy: &SessionCopy, to: &Path| {
            let place = &copy.place;
            let project = place.project.as_deref().unwrap_or_default();
            if whole.contains(project) {
                return Ok(Moved::default());
            }
            if saved::is_in(place) {
                return Err("the client finds a saved chat only in the project in which it was saved".into());
            }
            let target = if is_hash(project) { hash(text(to)?) } else { of.get(to).cloned().unwrap_or_default() };
            let (old, new) = (store.root.join("tmp").join(project), store.root.join("tmp").join(target));
            let belongings = Gemini.belongings(place)?;
            let others = belongings.own.into_iter().chain(belongings.shared).filter(|path| **path != *place.path);
            let paths = others.chain([place.path.to_path_buf()]);
            let act = |from: PathBuf| Some(Act::Move { to: new.join(from.strip_prefix(&old).ok()?), from });
            Ok(Moved::by(paths.filter_map(act).collect()))
        };
        Ok(Relocation { once, each: Box::new(each) })
    }
}

impl Projects<'_> {
    /// Finds the project of a new directory, or plans a new one.
    fn add(&mut self, way: &DirMove) -> Result<(), Unable> {
        let to = text(&way.to)?;
        if self.of.contains_key(&way.to) {
            return Ok(());
        }
        if let Some(project) = self.registered(to).or_else(|| self.marked(to)) {
            self.of.insert(way.to.clone(), project);
            return Ok(());
        }
        let named: Vec<&str> = way.projects.iter().map(|project| &**project).filter(|name| !is_hash(name)).collect();
        let from = way.from.to_str().unwrap_or_default();
        let project = match named.as_slice() {
            // After a restore, only the marker names the directory.
            [project]
                if way.is_whole && self.registered(from).or_else(|| self.marked(from)).as_deref() == Some(project) =>
            {
                self.rename(from, to, project);
                self.whole.insert((*project).to_owned());
                (*project).to_owned()
            }
            _ => {
                let project = self.free_name(&way.to);
                self.register(to, &project);
                project
            }
        };
        for base in BASES {
            let dir = self.root.join(base).join(&project);
            // A project that moves as a whole may lack the second one.
            if !self.whole.contains(&project) || is_there(&dir) {
                let contents = to.as_bytes().to_vec();
                self.acts.push(Act::Write { path: dir.join(".project_root"), contents });
            }
        }
        self.of.insert(way.to.clone(), project);
        Ok(())
    }

    fn edit(&mut self, edit: &edit::Edit) {
        let edited = edit::apply(self.registry.as_bytes(), std::slice::from_ref(edit));
        self.registry = String::from_utf8(edited).unwrap_or_default();
    }

    /// Adds an entry to the registry.
    fn register(&mut self, dir: &str, project: &str) {
        let at = json_value(&self.registry, &["projects"]).map_or(0, |at| at.start);
        let value = serde_json::Value::from(project).to_string();
        let edit = json_member(&self.registry, at, dir, &value);
        self.edit(&edit);
    }

    /// Changes the directory of an entry in the registry, or adds the entry.
    fn rename(&mut self, from: &str, to: &str, project: &str) {
        let at = json_value(&self.registry, &["projects"]).map_or(0, |at| at.start);
        let entry = members(&self.registry, at).into_iter().find(|member| member.key == from);
        match entry {
            Some(entry) => {
                let value = self.registry[entry.value.clone()].to_owned();
                let key = serde_json::Value::from(to);
                self.edit(&edit::Edit::replace(entry.span, format!("{key}: {value}")));
            }
            None => self.register(to, project),
        }
    }

    /// Returns the project that the registry names for a directory.
    fn registered(&self, dir: &str) -> Option<String> {
        let at = json_value(&self.registry, &["projects"])?.start;
        let entry = members(&self.registry, at).into_iter().find(|member| member.key == dir)?;
        Some(decoded(&self.registry[entry.value]).into_owned())
    }

    /// Returns the project whose `.project_root` names a directory.
    fn marked(&self, dir: &str) -> Option<String> {
        let entries = reach::read_dir(&self.root.join("tmp")).ok()?;
        entries.filter_map(Result::ok).find_map(|entry| {
            let marker = small(&entry.path().join(".project_root"), MAX_MARKER).ok()??;
            (marker.trim() == dir).then(|| entry.file_name().into_string().ok())?
        })
    }

    /// Returns a free name for a project like the client's, with a number if the name is taken.
    fn free_name(&self, dir: &Path) -> String {
        let at = json_value(&self.registry, &["projects"]).map_or(0, |at| at.start);
        let entries = members(&self.registry, at);
        let known: BTreeSet<String> =
            entries.into_iter().map(|member| decoded(&self.registry[member.value]).into_owned()).collect();
        let is_taken = |name: &String| {
            known.contains(name)
                || self.of.values().any(|other| other == name)
                || BASES.iter().any(|base| is_there(&self.root.join(base).join(name)))
        };
        let slug = slug(dir);
        let numbered = (1..).map(|number| format!("{slug}-{number}"));
        [slug.clone()].into_iter().chain(numbered).find(|name| !is_taken(name)).unwrap_or(slug)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_name_is_last_component_or_hash() {
        for (dir, project) in [
            ("/home/ana/has space", "has-space"),
            ("/home/ana/my-app-v1.2", "my-app-v1-2"),
            ("/home/ana/ünïcode-名前", "n-code"),
            ("/home/ana/App", "app-12"),
            ("/", "project"),
        ] {
            assert_eq!(Gemini.is_filed_under(project, Path::new(dir)), Some(true), "{dir}");
            assert_eq!(Gemini.is_filed_under(&format!("{project}x"), Path::new(dir)), Some(false), "{dir}");
        }
        // The digest of the standard's example.
        assert_eq!(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(Gemini.is_filed_under(&hash("/home/ana/app"), Path::new("/home/ana/app")), Some(true));
        assert_eq!(Gemini.is_filed_under(&hash("/home/ana/app"), Path::new("/home/ana/app2")), Some(false));
    }
}
