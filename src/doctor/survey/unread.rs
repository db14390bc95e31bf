//! Finds logs next to the transcripts that no reader accepts: their names are not ones of the agent, or of a newer
//! version.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use foldhash::HashSet;

use super::Survey;
use super::first_records::{FirstRecords, first_records};
use super::parked::{self, Parked};
use crate::agent::{self, Found};
use crate::session::AgentKind;
use crate::system::env::Env;
use crate::system::parallel;

/// The logs that no reader accepts, by agent.
#[derive(Debug, Default)]
pub(crate) struct UnreadLogs {
    /// Logs whose names show no session, by their directories.
    pub nameless: BTreeMap<(AgentKind, PathBuf), Vec<PathBuf>>,
    /// Logs whose names contain the id of a session.
    pub parked: BTreeMap<(AgentKind, String), Parked>,
}

/// Finds logs without a reader: in the directories with transcripts and in their sibling directories, and those that are
/// named after a session everywhere below the places of its agent's logs.
pub(super) fn find_unread_logs(survey: &Survey, env: &Env) -> UnreadLogs {
    // Paths as bytes compare faster.
    let (mut dirs, mut known) = (HashSet::default(), HashSet::default());
    // Other findings report files that cannot be read.
    known.extend(survey.scan.problems.iter().map(|problem| problem.path.as_os_str().to_owned()));
    for copy in survey.scan.sessions.iter().flat_map(|session| &session.copies) {
        let (kind, path) = (copy.place.agent(), &*copy.place.path);
        let Some(agent) = agent::by_kind(kind).filter(|_| is_log(path)) else { continue };
        known.extend(copy.temporary.iter().map(|path| path.as_os_str().to_owned()));
        known.insert(path.as_os_str().to_owned());
        let files = [agent.written(&copy.place), agent.conversation_files(&copy.place)];
        known.extend(files.into_iter().flatten().map(PathBuf::into_os_string));
        dirs.extend(path.parent().map(|dir| (kind, dir.as_os_str())));
    }
    let parked = parked::find(survey, &known, env);
    known.extend(parked.values().flat_map(|parked| &parked.logs).map(|log| log.path.clone().into_os_string()));
    let mut dirs: BTreeSet<_> = dirs.into_iter().map(|(kind, dir)| (kind, PathBuf::from(dir))).collect();
    let above: BTreeSet<_> = dirs.iter().filter_map(|(kind, dir)| Some((*kind, dir.parent()?.to_owned()))).collect();
    for (kind, above) in above {
        // A link to a sibling directory is an alias of it.
        let siblings = Found::default().entries(&above).into_iter().map(|(entry, _)| entry);
        let siblings = siblings.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        dirs.extend(siblings.map(|entry| (kind, entry.path())));
    }
    let unread = |(kind, dir): (AgentKind, PathBuf)| {
        let agent = agent::by_kind(kind)?;
        let files = Found::default().entries(&dir).into_iter().filter(|(_, kind)| kind.is_file());
        let is_unknown =
            |path: &PathBuf| is_log(path) && !known.contains(path.as_os_str()) && !(agent.about().is_journal)(path);
        let files = files.map(|(entry, _)| entry.path()).filter(is_unknown);
        let mut files: Vec<PathBuf> =
            files.filter(|path| first_records(agent, path) == FirstRecords::Conversation).collect();
        files.sort();
        (!files.is_empty()).then_some(((kind, dir), files))
    };
    UnreadLogs { nameless: parallel::map(dirs, unread).into_iter().flatten().collect(), parked }
}

/// Returns whether the name of a file is that of a log, or of the temporary file of a killed writer.
fn is_log(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    name.ends_with(".jsonl") || name.contains(".jsonl") && name.contains(".tmp")
}
