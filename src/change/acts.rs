//! Converts the acts of an agent into the steps of a change.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::agent::relocation::Act;
use crate::change::plan::change::{Contents, Step};
use crate::system::{reach, stamp};

/// The paths that become free and the paths that are taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct TakenPaths {
    /// Moved entries, by old and new path.
    moved: Vec<(PathBuf, PathBuf)>,
    /// Paths of new entries.
    taken: BTreeSet<PathBuf>,
}

impl TakenPaths {
    /// Converts acts into steps, in order; fails with the reason if a path is taken.
    pub(crate) fn steps(&mut self, acts: Vec<Act>) -> Result<Vec<Step>, String> {
        let mut steps = Vec::with_capacity(acts.len());
        for act in acts {
            match act {
                Act::Move { from, to } => {
                    // Copies of one session share some belongings, which move once.
                    let is_done = self.moved.iter().any(|known| *known == (from.clone(), to.clone()));
                    if is_done || is_same(&from, &to) {
                        continue;
                    }
                    self.take_path(&to)?;
                    let stamp = Box::new(stamp_of(&from)?);
                    self.moved.push((from.clone(), to.clone()));
                    steps.push(Step::Move { from, path: to, stamp });
                }
                Act::Edit { from, to, edits } => {
                    let stamp = stamp_of(&from)?;
                    // On some file systems, another spelling names the same file.
                    if is_same(&from, &to) {
                        if !edits.is_empty() {
                            let contents = Contents::Edited { from: from.clone(), edits };
                            steps.push(Step::Write { path: from, contents, stamp: Some(Box::new(stamp)) });
                        }
                        continue;
                    }
                    self.take_path(&to)?;
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

    /// Adds the paths of another session; fails with the reason if both need the same path.
    pub(crate) fn add(&mut self, other: Self) -> Result<(), String> {
        if let Some(place) = other.taken.intersection(&self.taken).next() {
            return Err(format!("another session would move to {} too", place.display()));
        }
        self.taken.extend(other.taken);
        self.moved.extend(other.moved);
        Ok(())
    }

    /// Returns the missing parent directories, from the top down.
    pub(crate) fn missing_dirs(&self) -> impl Iterator<Item = PathBuf> {
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

    fn take_path(&mut self, path: &Path) -> Result<(), String> {
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
    stamp::take_stamp(path).map_err(|error| error.to_string())
}

/// Checks whether two paths are the same entry on disk.
fn is_same(one: &Path, other: &Path) -> bool {
    one == other
        || match (reach::symlink_metadata(one), reach::symlink_metadata(other)) {
            (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
            _ => false,
        }
}
