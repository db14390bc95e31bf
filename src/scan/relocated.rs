//! Reads `moves.json` in the state directory: moved sessions whose agents' own files still name the old directory, and
//! all moved directories. `move` writes it, with a journal like other changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::agent;
use crate::session::{AgentKind, Evidence, Problem, SessionCopy};
use crate::system::disk::SYSTEM;
use crate::system::env::Env;
use crate::system::state_file;
use changes::path_text;

/// The source of a directory that comes from this file.
pub(crate) const SOURCE: &str = "moved";

/// Moved directories and sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Relocated {
    /// Directories, in the order of their moves.
    #[serde(rename = "moves")]
    pub dirs: Vec<MovedDir>,
    #[serde(with = "state_file::by_session")]
    sessions: BTreeMap<(AgentKind, String), MovedSession>,
}

/// A directory that has moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MovedDir {
    /// The old path.
    #[serde(with = "path_text")]
    pub from: PathBuf,
    /// The new path.
    #[serde(with = "path_text")]
    pub to: PathBuf,
    /// The time of the move.
    pub at: Timestamp,
}

/// The launch directory of a session whose agent's files name another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct MovedSession {
    #[serde(with = "path_text")]
    from: PathBuf,
    #[serde(with = "path_text")]
    to: PathBuf,
}

/// Returns the file.
pub(crate) fn file(env: &Env) -> PathBuf {
    env.state_dir().join("moves.json")
}

impl Relocated {
    /// Reads the file. A file that cannot be parsed is a problem, and counts as empty.
    pub(crate) fn read(env: &Env) -> Result<Self, Problem> {
        let path = file(env);
        state_file::content(&SYSTEM, &path).map_err(|reason| Problem { path, reason })
    }

    /// Records that a directory has moved.
    pub(crate) fn add_dir(&mut self, from: &Path, to: &Path, at: Timestamp) {
        self.dirs.retain(|known| (known.from.as_path(), known.to.as_path()) != (from, to));
        self.dirs.push(MovedDir { from: from.to_owned(), to: to.to_owned(), at });
    }

    /// Records the new launch directory of a session; `from` is the current one.
    pub(crate) fn add_session(&mut self, agent: AgentKind, id: &str, from: &Path, to: &Path) {
        let key = (agent, id.to_owned());
        // The agent's own files name the directory before the first move.
        let recorded = self.sessions.remove(&key).filter(|known| known.to == from).map(|known| known.from);
        let recorded = recorded.unwrap_or_else(|| from.to_owned());
        if recorded != to {
            self.sessions.insert(key, MovedSession { from: recorded, to: to.to_owned() });
        }
    }

    /// Sets the launch directory of a copy to the new one, while the agent's own files name the old one.
    pub(crate) fn apply(&self, copy: &mut SessionCopy) {
        if self.sessions.is_empty() {
            return;
        }
        let known = self.sessions.get(&(copy.place.agent(), copy.place.id.clone()));
        let recorded = copy.launch_dir.as_ref().map(|dir| &*dir.value);
        let Some(known) = known.filter(|known| recorded == Some(&known.from)) else { return };
        let evidence = Evidence {
            dir: known.to.as_path().into(),
            source: SOURCE,
            detail: "moved with rejoin move".into(),
            counts: true,
        };
        copy.evidence.insert(0, evidence);
        agent::decide_launch_dir(copy);
    }

    /// Returns the earlier paths of a directory, through any number of moves.
    pub(crate) fn earlier(&self, dir: &Path) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = Vec::new();
        let mut pending = vec![dir.to_owned()];
        while let Some(dir) = pending.pop() {
            for moved in &self.dirs {
                let Ok(rest) = dir.strip_prefix(&moved.to) else { continue };
                let before = if rest == Path::new("") { moved.from.clone() } else { moved.from.join(rest) };
                if !found.contains(&before) {
                    found.push(before.clone());
                    pending.push(before);
                }
            }
        }
        found.retain(|before| before != dir);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Fact;
    use crate::session::tests::copy;

    fn move_time() -> Timestamp {
        "2026-03-01T12:00:00Z".parse().expect("a time")
    }

    #[test]
    fn moved_session_starts_in_its_new_directory() {
        let mut relocated = Relocated::default();
        relocated.add_session(AgentKind::Claude, "a", Path::new("/one"), Path::new("/two"));
        relocated.add_session(AgentKind::Claude, "a", Path::new("/two"), Path::new("/three"));
        let launched = |recorded: &str| {
            let mut copy = copy("a");
            let evidence = Evidence { dir: Path::new(recorded).into(), source: "x", detail: "".into(), counts: true };
            copy.evidence.push(evidence);
            copy.launch_dir = Some(Fact::new(Path::new(recorded), "x"));
            relocated.apply(&mut copy);
            copy.launch_dir.map(|dir| dir.value.display().to_string())
        };
        assert_eq!(launched("/one").as_deref(), Some("/three"));
        assert_eq!(launched("/elsewhere").as_deref(), Some("/elsewhere"), "it went on elsewhere");
        relocated.add_session(AgentKind::Claude, "a", Path::new("/three"), Path::new("/one"));
        assert!(relocated.sessions.is_empty(), "it is back");
    }

    #[test]
    fn moves_json_round_trips_and_refuses_newer_version() {
        let mut relocated = Relocated::default();
        relocated.add_dir(Path::new("/one"), Path::new("/two"), move_time());
        relocated.add_session(AgentKind::Codex, "a", Path::new("/one"), Path::new("/two"));
        let text = state_file::to_json(&relocated).expect("text");
        assert_eq!(state_file::parse(&text), Ok(relocated));
        let later = String::from_utf8(text).expect("text").replace("\"format_version\": 1", "\"format_version\": 2");
        let refusal = state_file::parse::<Relocated>(later.as_bytes()).expect_err("a refusal");
        assert!(refusal.contains("format_version 2"), "{refusal}");
        assert!(state_file::parse::<Relocated>(b"{").is_err());
    }

    #[test]
    fn search_follows_earlier_paths_through_several_moves() {
        let mut relocated = Relocated::default();
        relocated.add_dir(Path::new("/one"), Path::new("/two"), move_time());
        relocated.add_dir(Path::new("/two"), Path::new("/v/three"), move_time());
        relocated.add_dir(Path::new("/v/three"), Path::new("/one"), move_time());
        assert_eq!(relocated.earlier(Path::new("/v/three/src")), [Path::new("/two/src"), Path::new("/one/src")]);
        assert_eq!(relocated.earlier(Path::new("/other")), Vec::<PathBuf>::new());
    }
}
