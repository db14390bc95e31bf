//! Finds the sessions that an agent wrote to while it ran, and checks whether they include the requested one.
//!
//! Some agents silently start a new session, or continue in another copy.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::agent;
use crate::scan;
use crate::session::{AgentKind, Session};
use crate::system::env::Env;
use crate::system::reach;

/// Maximum files named; more would not help.
const MAX_NAMED: usize = 5;

/// The facts that show whether a file was written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WriteStamp {
    bytes: u64,
    modified: Option<SystemTime>,
}

/// The files of an agent's sessions at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AgentFiles(BTreeMap<PathBuf, CopySnapshot>);

/// One copy of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CopySnapshot {
    id: String,
    files: BTreeMap<PathBuf, WriteStamp>,
}

impl AgentFiles {
    /// Records every copy of the agent's sessions, with names, sizes and times of its files.
    pub(crate) fn take_snapshot(env: &Env, agent: AgentKind) -> Self {
        let Some(reader) = agent::by_kind(agent) else { return Self::default() };
        let places = scan::locate(env, &[agent]).places.into_iter().filter(|place| !place.is_subagent);
        let seen = places.map(|place| {
            let files = reader.written(&place).into_iter().filter_map(|path| {
                let metadata = reach::metadata(&path).ok()?;
                Some((path, WriteStamp { bytes: metadata.len(), modified: metadata.modified().ok() }))
            });
            (place.path.to_path_buf(), CopySnapshot { files: files.collect(), id: place.id })
        });
        Self(seen.collect())
    }
}

/// Returns whether a file of the requested copy was written to.
pub(crate) fn has_grown(before: &AgentFiles, after: &AgentFiles, asked: &Session) -> bool {
    let path: &Path = &asked.copy().place.path;
    let files = |snapshot: &AgentFiles| snapshot.0.get(path).map(|seen| seen.files.clone());
    files(before) != files(after)
}

/// Describes the files that the agent wrote to instead of the requested copy; `None` if it wrote to the requested one.
pub(crate) fn strayed(before: &AgentFiles, after: &AgentFiles, asked: &Session) -> Option<String> {
    let path: &Path = &asked.copy().place.path;
    let state = match (before.0.get(path), after.0.get(path)) {
        (Some(before), Some(after)) if before.files == after.files => "stayed as it was",
        (Some(_), None) => "is gone",
        _ => return None,
    };
    let mut changes: Vec<FileChange<'_>> = after
        .0
        .iter()
        .filter(|(place, _)| *place != path)
        .flat_map(|(place, seen)| changes(before.0.get(place), seen, asked.id()))
        .collect();
    changes.sort_by_key(|change| change.kind);
    let first = changes.first()?;
    let mut message = match first.kind {
        WriteKind::Copy => format!("the agent continued session {} in another place", asked.id()),
        WriteKind::New => format!("the agent started a new session, {}", first.id),
        WriteKind::Other => format!("the agent may have continued another session, {}", first.id),
    };
    for change in changes.iter().take(MAX_NAMED) {
        message.push_str(&format!("\n      {} {}", change.file.display(), change.what));
    }
    if changes.len() > MAX_NAMED {
        message.push_str(&format!("\n      and {} more", changes.len() - MAX_NAMED));
    }
    message.push_str(&format!("\n      {} {state}", path.display()));
    Some(message)
}

/// The meaning of a change, the likeliest one first: other agents may have been running at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum WriteKind {
    /// Another copy of the requested session.
    Copy,
    /// A session that did not exist before.
    New,
    /// A session that existed before, and may belong to another process.
    Other,
}

/// A file that has changed.
struct FileChange<'a> {
    kind: WriteKind,
    id: &'a str,
    file: &'a Path,
    what: &'static str,
}

fn changes<'a>(
    before: Option<&'a CopySnapshot>,
    after: &'a CopySnapshot,
    asked: &'a str,
) -> impl Iterator<Item = FileChange<'a>> {
    let kind = match before {
        _ if after.id == asked => WriteKind::Copy,
        None => WriteKind::New,
        Some(_) => WriteKind::Other,
    };
    after.files.iter().filter_map(move |(file, stamp)| {
        let what = match before.and_then(|before| before.files.get(file)) {
            None => "appeared",
            Some(old) if old == stamp => return None,
            Some(old) if old.bytes < stamp.bytes => "grew",
            Some(_) => "was rewritten",
        };
        Some(FileChange { kind, id: &after.id, file, what })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tests::{copy, session};

    /// Copies of sessions by place, id and the sizes of their two files; the requested one is `/s/asked` with id `a`.
    fn snapshot(list: &[(&str, &str, &[u64])]) -> AgentFiles {
        let seen = |(place, id, sizes): &(&str, &str, &[u64])| {
            let names = ["transcript.jsonl", "events.jsonl"];
            let files = names.iter().zip(*sizes).map(|(name, bytes)| {
                (Path::new(place).join(name), WriteStamp { bytes: *bytes, modified: Some(SystemTime::UNIX_EPOCH) })
            });
            (PathBuf::from(place), CopySnapshot { id: (*id).to_owned(), files: files.collect() })
        };
        AgentFiles(list.iter().map(seen).collect())
    }

    fn verdict(before: &[(&str, &str, &[u64])], after: &[(&str, &str, &[u64])]) -> Option<String> {
        let mut copy = copy("a");
        copy.place.path = Path::new("/s/asked").into();
        strayed(&snapshot(before), &snapshot(after), &session(vec![copy]))
    }

    const ASKED: (&str, &str, &[u64]) = ("/s/asked", "a", &[10, 20]);
    const OTHER: (&str, &str, &[u64]) = ("/s/other", "b", &[10, 20]);

    #[test]
    fn report_omits_write_to_requested_session() {
        let grown = ("/s/asked", "a", [10, 21].as_slice());
        assert_eq!(verdict(&[ASKED, OTHER], &[grown, ("/s/other", "b", &[99, 99]), ("/s/new", "c", &[1])]), None);
        assert_eq!(verdict(&[ASKED], &[("/s/asked", "a", &[5, 20])]), None, "rewritten");
        assert_eq!(verdict(&[("/s/asked", "a", &[10])], &[ASKED]), None, "a file was added");
        assert_eq!(verdict(&[ASKED, OTHER], &[ASKED, OTHER]), None, "only looked at");
        assert_eq!(verdict(&[ASKED, OTHER], &[ASKED]), None, "another one was deleted");
    }

    #[test]
    fn warning_names_other_copy_of_same_id_first() {
        assert_eq!(
            verdict(
                &[ASKED, OTHER],
                &[ASKED, ("/s/a/new", "c", &[1]), ("/s/z", "a", &[5]), ("/s/other", "b", &[11, 20])]
            )
            .as_deref(),
            Some(
                "the agent continued session a in another place\n      /s/z/transcript.jsonl appeared\n      \
                 /s/a/new/transcript.jsonl appeared\n      /s/other/transcript.jsonl grew\n      \
                 /s/asked stayed as it was"
            )
        );
    }

    #[test]
    fn report_distinguishes_new_session_from_existing_one() {
        assert_eq!(
            verdict(&[ASKED], &[ASKED, ("/s/n", "n", &[1])]).as_deref(),
            Some(
                "the agent started a new session, n\n      /s/n/transcript.jsonl appeared\n      /s/asked stayed as it was"
            )
        );
        assert_eq!(
            verdict(&[ASKED, OTHER], &[("/s/other", "b", &[10, 3])]).as_deref(),
            Some(
                "the agent may have continued another session, b\n      /s/other/events.jsonl was rewritten\n      /s/asked is gone"
            )
        );
    }

    #[test]
    fn warning_limits_number_of_named_sessions() {
        let new: Vec<String> = (0..9).map(|n| format!("/s/n{n}")).collect();
        let mut after = vec![ASKED];
        after.extend(new.iter().map(|place| (place.as_str(), "n", [1].as_slice())));
        let message = verdict(&[ASKED], &after).expect("a message");
        assert_eq!(message.lines().count(), 1 + MAX_NAMED + 2);
        assert!(message.contains("and 4 more"), "{message}");
    }
}
