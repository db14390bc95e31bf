//! The places and the names of an agent's logs, to recognize those in other directories or with other names.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::ids::is_uuid;

/// Length of a UUID with hyphens.
const UUID: usize = 36;

/// The logs of an agent that are named after the UUIDs of their sessions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogPlaces {
    /// The directories that its reader lists, below the root of a store; a part `*` matches any name.
    pub dirs: &'static [&'static str],
    /// Returns the id in the name of a log; `None` for another file.
    pub id_of_file: fn(&str) -> Option<&str>,
}

impl LogPlaces {
    /// Logs that are named `ID.jsonl`, in these directories.
    pub(super) const fn named_after_id(dirs: &'static [&'static str]) -> Self {
        Self { dirs, id_of_file: |name| name.strip_suffix(".jsonl").filter(|id| is_uuid(id)) }
    }

    /// Returns the directories below a root that hold all logs, each with the number of levels that [`LogPlaces::dirs`] has
    /// below it.
    pub(crate) fn tops(&self, root: &Path) -> Vec<(PathBuf, usize)> {
        let top = |dir: &&str| {
            let parts: Vec<&str> = dir.split('/').collect();
            let fixed = parts.iter().take_while(|part| **part != "*").count();
            (parts[..fixed].iter().fold(root.to_owned(), |top, part| top.join(part)), parts.len() - fixed)
        };
        self.dirs.iter().map(top).collect()
    }

    /// Returns the name that a log would have without the words that another program added, and the id in it. `None`
    /// for a name of another kind.
    pub(crate) fn plain_name(&self, name: &str) -> Option<(String, String)> {
        let found: Vec<Range<usize>> = name.contains(".jsonl").then(|| uuids(name).collect())?;
        let starts = 0..=found.first()?.start;
        // The longest name first: Codex has a time before the id, and may have a second id after it.
        starts.filter(|start| name.is_char_boundary(*start)).find_map(|start| {
            found.iter().rev().find_map(|id| {
                let plain = format!("{}.jsonl", &name[start..id.end]);
                let id = (self.id_of_file)(&plain)?.to_owned();
                Some((plain, id))
            })
        })
    }

    /// Returns the directory for a log in or below one of [`LogPlaces::dirs`].
    pub(crate) fn dir_above(&self, root: &Path, log: &Path) -> Option<PathBuf> {
        let parts: Vec<_> = log.parent()?.strip_prefix(root).ok()?.iter().collect();
        let depth = |dir: &&str| {
            let named: Vec<&str> = dir.split('/').collect();
            let is_above = named.len() <= parts.len();
            let matches = || named.iter().zip(&parts).all(|(named, part)| *named == "*" || *part == *named);
            (is_above && matches()).then_some(named.len())
        };
        let depth = self.dirs.iter().filter_map(depth).max()?;
        Some(root.join(parts[..depth].iter().collect::<PathBuf>()))
    }
}

/// Returns the UUIDs in a name.
pub(crate) fn uuids_in(name: &str) -> impl Iterator<Item = &str> {
    uuids(name).map(|at| &name[at])
}

/// Returns the places of the UUIDs in a name.
fn uuids(name: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = name.as_bytes();
    let is_word = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_alphanumeric);
    let ranges = (0..name.len()).map(|start| start..start + UUID);
    ranges.filter(move |at| {
        name.get(at.clone()).is_some_and(is_uuid) && !is_word(at.start.checked_sub(1)) && !is_word(Some(at.end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::about;
    use crate::session::AgentKind;

    const ID: &str = "550e8400-e29b-41d4-a716-446655440000";
    const OTHER: &str = "01a219ed-6272-7800-abe1-2fe326b863ec";

    fn logs(agent: AgentKind) -> LogPlaces {
        about(agent).logs.expect("logs")
    }

    #[test]
    fn plain_name_drops_words_of_other_programs() {
        let codex = format!("rollout-2026-02-01T10-00-00-{ID}");
        let segment = format!("{codex}_{OTHER}");
        for (agent, stem) in [
            (AgentKind::Claude, ID),
            (AgentKind::Codex, &codex),
            (AgentKind::Codex, &segment),
            (AgentKind::Pi, &format!("2026-11-20T09-00-00-000Z_{ID}")),
        ] {
            for name in [
                format!("{stem}.jsonl"),
                format!("{stem}.sync-conflict-20261120-101500-ABCDEFG.jsonl"),
                format!("{stem} (ana's conflicted copy 2026-11-20).jsonl"),
                format!("{stem}.jsonl.conflict.20261121-101500"),
                format!("{stem}.jsonl.bak"),
                format!("{stem} copy.jsonl"),
                format!("é Copy of {stem}.jsonl"),
                format!("{stem}.jsonl.gz"),
            ] {
                let expected = Some((format!("{stem}.jsonl"), ID.to_owned()));
                assert_eq!(logs(agent).plain_name(&name), expected, "{agent} {name}");
            }
        }
        for name in [format!("{ID}.meta.json"), format!("{ID}0.jsonl"), format!("a{ID}.jsonl"), "x.jsonl".to_owned()] {
            assert_eq!(logs(AgentKind::Claude).plain_name(&name), None, "{name}");
        }
        let other_id_behind = format!("{ID}.jsonl.{OTHER}");
        let expected = Some((format!("{ID}.jsonl"), ID.to_owned()));
        assert_eq!(logs(AgentKind::Claude).plain_name(&other_id_behind), expected);
    }

    #[test]
    fn dir_above_returns_the_deepest_read_directory() {
        let dir = |agent, path: &str| logs(agent).dir_above(Path::new("/s"), &Path::new("/s").join(path));
        for (agent, path, expected) in [
            (AgentKind::Claude, "projects/-p/x.jsonl", Some("/s/projects/-p")),
            (AgentKind::Claude, "projects/-p/-p/x.jsonl", Some("/s/projects/-p")),
            (AgentKind::Claude, "projects/x.jsonl", None),
            (AgentKind::Codex, "sessions/2026/11/20/backup/x.jsonl", Some("/s/sessions/2026/11/20")),
            (AgentKind::Codex, "sessions/2026/x.jsonl", Some("/s/sessions/2026")),
            (AgentKind::Qwen, "projects/-p/chats/x.jsonl", Some("/s/projects/-p/chats")),
            (AgentKind::Qwen, "projects/-p/x.jsonl", None),
        ] {
            assert_eq!(dir(agent, path).as_deref(), expected.map(Path::new), "{agent} {path}");
        }
        assert_eq!(logs(AgentKind::Pi).dir_above(Path::new("/s/sessions"), Path::new("/s/x.jsonl")), None);
    }
}
