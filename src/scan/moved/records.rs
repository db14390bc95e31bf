//! The facts that sessions and launches recorded about a missing directory.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::MoveClue;
use crate::agent;
use crate::session::repository::Repository;
use crate::session::select;
use crate::session::{AgentKind, Fact, Session, SessionKind};
use crate::system::reach;

/// Maximum number of sessions from which the repository of their start is read, and maximum number of results.
const MAX_ASKED: usize = 64;
const MAX_ANSWERS: usize = 4;
/// Maximum number of other directories of sessions.
const MAX_DIRS: usize = 4;

/// The facts about a missing directory by which it may be found again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DirRecords {
    /// Its git repository.
    pub repository: Repository,
    /// The projects in which its sessions are filed, although their agents file this directory elsewhere.
    pub projects: BTreeSet<(AgentKind, Arc<str>)>,
    /// Other directories in which its sessions worked, those of the newest session first.
    pub dirs: Vec<(Arc<Path>, MoveClue)>,
}

impl DirRecords {
    /// Collects the remote at the last launch in a directory, and the records of its sessions.
    pub(crate) fn collect<'a>(remote: Option<String>, sessions: impl Iterator<Item = &'a Session>) -> Self {
        let mut sessions: Vec<&Session> = sessions.collect();
        let projects = sessions.iter().filter_map(|session| other_project(session)).collect();
        let repository = repository(remote, &sessions);
        select::newest_first(&mut sessions);
        Self { repository, projects, dirs: sessions.into_iter().flat_map(other_dirs).take(MAX_DIRS).collect() }
    }

    /// Returns whether an agent files the sessions of a directory in one of the projects.
    pub(super) fn have_project_of(&self, dir: &Path) -> bool {
        self.projects.iter().any(|(agent, project)| {
            let agent = agent::by_kind(*agent).filter(|_| may_encode(project, dir));
            agent.is_some_and(|agent| agent.is_filed_under(project, dir) == Some(true))
        })
    }
}

/// Returns the project of a session that is filed in the project of another directory than its own.
fn other_project(session: &Session) -> Option<(AgentKind, Arc<str>)> {
    let copy = session.copy();
    let is_filed_elsewhere = |dir: &Path| agent::leads_back(&copy.place, dir) == Some(false);
    let is_main = copy.kind != SessionKind::Subagent && !copy.is_filed_right;
    session.launch_dir().filter(|dir| is_main && is_filed_elsewhere(dir))?;
    Some((session.agent, Arc::clone(copy.place.project.as_ref()?)))
}

/// Returns the existing directories that a session records, except its launch directory.
fn other_dirs(session: &Session) -> Vec<(Arc<Path>, MoveClue)> {
    let (copy, launch) = (session.copy(), session.launch_dir());
    let other = |fact: &Option<Fact<Arc<Path>>>| {
        let dir = fact.as_ref().map(|fact| Arc::clone(&fact.value))?;
        (Some(&*dir) != launch && reach::is_dir(&dir) == Some(true)).then_some(dir)
    };
    // A directory above the missing one is not the place to which that one moved.
    let last = other(&copy.last_dir).filter(|last| launch.is_none_or(|launch| !launch.starts_with(last)));
    let last = last.map(|dir| (dir, MoveClue::LastDir));
    last.into_iter().chain(other(&copy.start_dir).map(|dir| (dir, MoveClue::StartDir))).collect()
}

/// Returns whether the letters and digits at the end of a directory are at the end of a project, as in every name that
/// agents make from a path. The agent's own rule may resolve links, which takes too long for thousands of directories.
fn may_encode(project: &str, dir: &Path) -> bool {
    let Some(name) = dir.file_name().and_then(|name| name.to_str()) else { return false };
    let start = name.trim_end_matches(|c: char| c.is_ascii_alphanumeric()).len();
    let (end, project) = (&name.as_bytes()[start..], project.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()));
    let at = project.len().checked_sub(end.len());
    at.is_some_and(|at| project.as_bytes()[at..].eq_ignore_ascii_case(end))
}

/// Returns the facts about the repository in which sessions began.
fn repository(remote: Option<String>, sessions: &[&Session]) -> Repository {
    let mut had = Repository::new(remote);
    let began_here = sessions.iter().copied().filter(|session| {
        let began = session.copy().start_dir.as_ref().map(|began| &*began.value);
        // A session may have worked in another repository than at its start.
        began.is_some() && began == session.launch_dir()
    });
    let began_here: Vec<&Session> = began_here.take(MAX_ASKED).collect();
    let branches = began_here.iter().filter_map(|session| session.copy().git_branch.as_ref());
    branches.for_each(|branch| had.add_branch(&branch.value));
    let asked = began_here.into_iter().filter_map(|session| {
        let known = agent::by_kind(session.agent)?.repository(session.copy());
        (!known.is_unknown()).then_some(known)
    });
    asked.take(MAX_ANSWERS).for_each(|known| had.add(known));
    had
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::session::tests::copy;

    #[test]
    fn records_name_other_existing_directories_newest_first() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = |name: &str| -> Arc<Path> { dir.path().join(name).into() };
        for made in ["a", "b", "work"] {
            std::fs::create_dir(path(made)).expect("a directory");
        }
        let session = |id: &str, [launch, start, last]: [&str; 3]| {
            let mut copy = copy(id);
            let fact = |name: &str| Some(Fact::new(path(name), "x"));
            (copy.launch_dir, copy.start_dir, copy.last_dir) = (fact(launch), fact(start), fact(last));
            let at: Timestamp = format!("2026-01-0{id}T12:00:00Z").parse().expect("a time");
            copy.active_at = Some(Fact::new(at, "x"));
            crate::session::tests::session(vec![copy])
        };
        let sessions = [
            session("1", ["work/gone", "a", "work/gone"]),
            session("2", ["work/gone", "work/gone", "b"]),
            // The directory above, one that is gone, and none but the launch directory.
            session("3", ["work/gone", "nowhere", "work"]),
            session("4", ["work/gone", "work/gone", "work/gone"]),
        ];
        let records = DirRecords::collect(None, sessions.iter());
        assert_eq!(records.dirs, [(path("b"), MoveClue::LastDir), (path("a"), MoveClue::StartDir)]);
    }

    #[test]
    fn project_of_other_directory_fails_fast_check() {
        for (project, dir, expected) in [
            ("-home-ana-feature-lamp", "/home/ana/feature-lamp", true),
            ("-home-ana-feature-lamp", "/home/ana/feature_LAMP", true),
            ("--home-ana-shop--", "/home/ana/shop", true),
            ("-home-ana-x--", "/home/ana/x ü", true),
            ("-home-ana-feature-lamp", "/home/ana/lamps", false),
            ("-shop", "/home/a-longer-name", false),
            ("-", "/", false),
        ] {
            assert_eq!(may_encode(project, Path::new(dir)), expected, "{project} {dir}");
        }
    }
}
