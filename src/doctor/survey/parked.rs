//! Finds logs with the id of a session in their names that other programs renamed or moved: conflict copies of Syncthing
//! and Dropbox, backups.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use foldhash::HashSet;

use super::Survey;
use super::first_records::{FirstRecords, first_records};
use crate::agent;
use crate::scan::named_logs::{self, NamedLog};
use crate::scan::{LONG_TO_COUNT, Places, ScanScope};
use crate::session::{AgentKind, Located, Session};
use crate::system::env::Env;
use crate::system::reach;

/// The logs of one session with other names than its transcript, or in other directories.
#[derive(Debug, Default)]
pub(crate) struct Parked {
    /// The logs, the one with the most messages first.
    pub logs: Vec<ParkedLog>,
    /// The title or the first prompt in them.
    pub title: Option<String>,
    /// Number of messages in the transcript; `None` without a transcript, or if they were not counted.
    pub own_messages: Option<u64>,
    /// The path at which the agent would find the first log, if the session is not read and nothing is at that path.
    pub place: Option<PathBuf>,
}

/// A log with the id of a session in its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParkedLog {
    pub path: PathBuf,
    /// Number of its messages; `None` if they were not counted, or none was found.
    pub messages: Option<u64>,
}

/// A log before it is read, with its name without the words that another program added.
struct Candidate {
    located: Located,
    plain_name: String,
}

/// Finds the logs that are not `known`, by their sessions.
pub(super) fn find(survey: &Survey, known: &HashSet<OsString>, env: &Env) -> BTreeMap<(AgentKind, String), Parked> {
    let mut by_session: BTreeMap<(AgentKind, String), Vec<Candidate>> = BTreeMap::new();
    let mut paths: HashSet<OsString> = HashSet::default();
    for NamedLog { store, path, plain_name, id } in named_logs::find(&survey.stores, known) {
        let kind = store.agent;
        if belongs(survey.session(kind, &id), &path) {
            continue;
        }
        let is_wanted = agent::by_kind(kind).is_some_and(|agent| first_records(agent, &path) != FirstRecords::Silent);
        // Several agents may share a directory.
        if is_wanted && paths.insert(path.clone().into_os_string()) {
            let located = Located::new(&store, id.clone(), path);
            by_session.entry((kind, id)).or_default().push(Candidate { located, plain_name });
        }
    }
    if by_session.is_empty() {
        return BTreeMap::new();
    }
    let candidates = by_session.values().flatten().map(|candidate| candidate.located.clone());
    let own = by_session.keys().filter_map(|(kind, id)| Some(survey.session(*kind, id)?.copy().place.clone()));
    let places = Places { places: candidates.chain(own).collect(), ..Places::default() };
    let scope = ScanScope { counts: true, max_counted: LONG_TO_COUNT, ..ScanScope::GLANCE };
    let read = places.read_all(env, scope).sessions;
    by_session.into_iter().map(|(key, candidates)| (key.clone(), parked(&key, &candidates, &read, survey))).collect()
}

/// Returns whether a log is a file of its session: one that the agent itself made, such as a backup, or its transcript
/// by another path.
fn belongs(session: Option<&Session>, path: &Path) -> bool {
    session.is_some_and(|session| {
        let agent = agent::by_kind(session.agent);
        let own = session.copies.iter().filter_map(|copy| agent?.belongings(&copy.place).ok());
        let mut own = own.flat_map(|belongings| belongings.own).filter(|own| own.file_name() == path.file_name());
        own.any(|own| own == path || reach::canonicalize(&own).ok() == reach::canonicalize(path).ok())
    })
}

/// Describes the logs of a session from those that were `read`.
fn parked((kind, id): &(AgentKind, String), candidates: &[Candidate], read: &[Session], survey: &Survey) -> Parked {
    let read = read.iter().find(|session| session.agent == *kind && session.id() == id);
    let messages = |path: &Path| {
        let copy = read?.copies.iter().find(|copy| *copy.place.path == *path)?;
        Some(copy.prompts? + copy.replies?).filter(|count| *count > 0)
    };
    let log = |candidate: &Candidate| {
        let path = candidate.located.path.to_path_buf();
        ParkedLog { messages: messages(&path), path }
    };
    let mut logs: Vec<(ParkedLog, &Candidate)> =
        candidates.iter().map(|candidate| (log(candidate), candidate)).collect();
    logs.sort_by(|(a, _), (b, _)| (b.messages, &a.path).cmp(&(a.messages, &b.path)));
    let session = survey.session(*kind, id);
    let first = logs.first().filter(|(log, _)| session.is_none() && log.messages.is_some());
    let place = first.and_then(|(_, candidate)| place(candidate, read?, survey));
    Parked {
        own_messages: session.and_then(|session| messages(&session.copy().place.path)),
        title: session.or(read).and_then(Session::label).map(str::to_owned),
        logs: logs.into_iter().map(|(log, _)| log).collect(),
        place,
    }
}

/// Returns the path at which the agent finds a log: in its own directory or the one above that holds transcripts, or else
/// next to a session of the same working directory.
fn place(candidate: &Candidate, read: &Session, survey: &Survey) -> Option<PathBuf> {
    let Located { store, path, .. } = &candidate.located;
    let of_agent = || survey.scan.sessions.iter().filter(|session| session.agent == store.agent);
    let next_to = |session: &Session| {
        let copy = session.copies.iter().find(|copy| !copy.place.is_subagent && copy.place.store.root == store.root)?;
        copy.place.path.parent().map(Path::to_path_buf)
    };
    let own = path.parent()?.to_path_buf();
    let same_dir =
        || of_agent().filter(|session| session.launch_dir().is_some() && session.launch_dir() == read.launch_dir());
    let dir = Some(&own).filter(|own| of_agent().filter_map(next_to).any(|dir| dir == **own)).cloned();
    let dir = dir.or_else(|| agent::about(store.agent).logs?.dir_above(&store.root, path));
    let place = dir.or_else(|| same_dir().find_map(next_to))?.join(&candidate.plain_name);
    (reach::exists_itself(&place) == Some(false)).then_some(place)
}
