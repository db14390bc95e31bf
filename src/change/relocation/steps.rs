//! Converts the acts of an agent into the steps of a change.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{Part, Wish};
use crate::agent::relocation::Act;
use crate::agent::{self, Found};
use crate::change::plan::change::{About, Contents, Item, Step};
use crate::scan::relocated::{self, Relocated};
use crate::system::env::Env;
use crate::system::{reach, stamp};

/// The paths that become free and the paths that are taken.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// Moved entries, by old and new path.
    moved: Vec<(PathBuf, PathBuf)>,
    /// Paths of new entries.
    taken: BTreeSet<PathBuf>,
}

impl Places {
    /// Converts acts into steps, in order; fails with the reason if a path is taken.
    pub(super) fn steps(&mut self, acts: Vec<Act>) -> Result<Vec<Step>, String> {
        let mut steps = Vec::with_capacity(acts.len());
        for act in acts {
            match act {
                Act::Move { from, to } => {
                    // Copies of one session share some of their belongings.
                    let is_done = self.moved.iter().any(|known| *known == (from.clone(), to.clone()));
                    if is_done || is_same(&from, &to) {
                        continue;
                    }
                    self.take(&to)?;
                    let stamp = Box::new(stamp_of(&from)?);
                    self.moved.push((from.clone(), to.clone()));
                    steps.push(Step::Move { from, path: to, stamp });
                }
                Act::Edit { from, to, edits } => {
                    let stamp = stamp_of(&from)?;
                    // On some file systems another spelling is the same file.
                    if is_same(&from, &to) {
                        if !edits.is_empty() {
                            let contents = Contents::Edited { from: from.clone(), edits };
                            steps.push(Step::Write { path: from, contents, stamp: Some(Box::new(stamp)) });
                        }
                        continue;
                    }
                    self.take(&to)?;
                    if edits.is_empty() {
                        steps.push(Step::Move { from, path: to, stamp: Box::new(stamp) });
                        continue;
                    }
                    let contents = Contents::Edited { from: from.clone(), edits };
                    steps.push(Step::Write { path: to, contents, stamp: None });
                    steps.push(Step::Trash { path: from.into(), stamp });
                }
                Act::Write { path, contents } => {
                    let now = self.origin(&path);
                    let stamp = stamp::take_if_present(&now).map_err(|error| error.to_string())?;
                    if stamp.is_none() && now == path {
                        self.taken.insert(path.clone());
                    }
                    let contents = Contents::Bytes(contents);
                    steps.push(Step::Write { path, contents, stamp: stamp.map(Box::new) });
                }
            }
        }
        Ok(steps)
    }

    /// Adds the paths of another session; fails with the reason if both take the same path.
    pub(super) fn add(&mut self, other: Self) -> Result<(), String> {
        if let Some(place) = other.taken.intersection(&self.taken).next() {
            return Err(format!("another session would move to {} too", place.display()));
        }
        self.taken.extend(other.taken);
        self.moved.extend(other.moved);
        Ok(())
    }

    /// Returns the missing parent directories, from the top down.
    pub(super) fn missing_dirs(&self) -> impl Iterator<Item = PathBuf> {
        let mut missing: BTreeSet<&Path> = BTreeSet::new();
        for path in &self.taken {
            let above = path.ancestors().skip(1).take_while(|dir| reach::symlink_metadata(dir).is_err());
            for dir in above {
                if !missing.insert(dir) {
                    break;
                }
            }
        }
        missing.into_iter().map(Path::to_owned).collect::<Vec<_>>().into_iter()
    }

    fn take(&mut self, path: &Path) -> Result<(), String> {
        if reach::exists_itself(path) != Some(false) || !self.taken.insert(path.to_owned()) {
            return Err(format!("{} exists already", path.display()));
        }
        Ok(())
    }

    /// Returns the path of an entry before its directory moves.
    fn origin(&self, path: &Path) -> PathBuf {
        let found = self.moved.iter().find_map(|(from, to)| Some(from.join(path.strip_prefix(to).ok()?)));
        found.unwrap_or_else(|| path.to_owned())
    }
}

fn stamp_of(path: &Path) -> Result<stamp::Stamp, String> {
    stamp::take(path).map_err(|error| error.to_string())
}

/// Checks whether two paths are the same entry on disk.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other
        || match (reach::symlink_metadata(one), reach::symlink_metadata(other)) {
            (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
            _ => false,
        }
}

/// Plans to write rejoin's own record.
pub(super) fn own(relocated: &Relocated, env: &Env) -> anyhow::Result<Item> {
    let path = relocated::file(env);
    let stamp = stamp::take_if_present(&path)?.map(Box::new);
    let contents = Contents::Bytes(relocated.to_json()?);
    let step = Step::Write { path, contents, stamp };
    Ok(item("rejoin's record of moves", "record", "it says which directory has become which", vec![step]))
}

/// Plans to change references in the projects, and on request the agents' data about directories.
pub(super) fn of(parts: &[Part<'_>], wish: Wish<'_>, env: &Env) -> Vec<Item> {
    let mut items = Vec::new();
    let mut dirs: BTreeSet<PathBuf> = parts.iter().flat_map(|part| part.dirs.iter().cloned()).collect();
    dirs.extend(wish.mapping.pairs().iter().flat_map(|(from, to)| [from.clone(), to.clone()]));
    let mut add = |label: &str, acts: Vec<Act>| {
        // References that cannot be planned stay as they are; sessions are found without them.
        let steps = Places::default().steps(acts).unwrap_or_default();
        if !steps.is_empty() {
            items.push(item(label, "reference", "it names a directory that has moved", steps));
        }
    };
    for writer in agent::pointer_writers() {
        let mut known = dirs.iter().map(PathBuf::as_path);
        let places = writer.dirs(env, &mut known, &mut Found::default());
        for dir in places {
            let act = writer.moved_pointer(&dir, wish.mapping, env);
            add(&format!("the pointer of {} in {}", writer.kind(), dir.display()), act.into_iter().collect());
        }
    }
    for part in parts {
        if let Some(records) = part.agent.about().cwd_records {
            for dir in &dirs {
                for record in records.in_project(dir, &mut Found::default()) {
                    let acts = record.dir.and_then(|dir| wish.mapping.to(&dir));
                    let acts = acts.map(|to| Act::Write { path: record.path, contents: bytes(&to) });
                    add(&format!("the directory of {}", record.session_id), acts.into_iter().collect());
                }
            }
        }
        for store in part.stores.values().filter(|_| wish.all_references) {
            let acts = (part.agent.about().references)(store, wish.mapping, env);
            add(&format!("what {} keeps of directories", part.agent.kind()), acts);
        }
    }
    items
}

fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_encoded_bytes().to_vec()
}

fn item(about: &str, code: &'static str, reason: &str, steps: Vec<Step>) -> Item {
    Item::new(About::Other(about.into()), code, reason, steps)
}
