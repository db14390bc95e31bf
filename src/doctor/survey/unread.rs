//! Finds logs next to the transcripts that no reader accepts: their names are not ones of the agent, or of a newer
//! version.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use foldhash::HashSet;
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use crate::agent::upkeep::is_object;
use crate::agent::{self, Agent, Found};
use crate::format::jsonl::Jsonl;
use crate::scan::Scan;
use crate::session::AgentKind;

/// Maximum records of a file that are examined.
const RECORDS: usize = 64;

/// Finds logs without a reader in the directories with transcripts, and in their sibling directories.
pub(super) fn find_unread_logs(scan: &Scan) -> BTreeMap<(AgentKind, PathBuf), Vec<PathBuf>> {
    // Paths as bytes compare faster.
    let (mut dirs, mut known) = (HashSet::default(), HashSet::default());
    for copy in scan.sessions.iter().flat_map(|session| &session.copies) {
        let (kind, path) = (copy.place.agent(), &*copy.place.path);
        let Some(agent) = agent::by_kind(kind).filter(|_| is_log(path)) else { continue };
        known.extend(copy.temporary.iter().map(|path| path.as_os_str().to_owned()));
        known.insert(path.as_os_str().to_owned());
        known.extend(agent.written(&copy.place).into_iter().map(PathBuf::into_os_string));
        dirs.extend(path.parent().map(|dir| (kind, dir.as_os_str())));
    }
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
        let files =
            files.map(|(entry, _)| entry.path()).filter(|path| is_log(path) && !known.contains(path.as_os_str()));
        let mut files: Vec<PathBuf> = files.filter(|path| may_hold_conversation(agent, path)).collect();
        files.sort();
        (!files.is_empty()).then_some(((kind, dir), files))
    };
    dirs.into_par_iter().filter_map(unread).collect()
}

/// Returns whether the name of a file is that of a log, or of the temporary file of a killed writer.
fn is_log(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    name.ends_with(".jsonl") || name.contains(".jsonl") && name.contains(".tmp")
}

/// Returns whether one of the first records may be part of a conversation.
fn may_hold_conversation(agent: &dyn Agent, path: &Path) -> bool {
    let (mut seen, mut found) = (0, false);
    let read = Jsonl::open(path).and_then(|mut file| {
        file.lines_forward(|line| {
            seen += 1;
            found = is_object(line) && !agent.is_silent(line);
            found || seen == RECORDS
        })
    });
    // An unreadable file may contain a conversation.
    read.is_err() || found
}
