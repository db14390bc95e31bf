//! Facts about an agent that only `doctor` needs: orphaned files in its stores, its own deletion of sessions, and the
//! links between records.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Found;
use crate::error::reason;
use crate::format::json::{Text, whole_record};
use crate::format::skim;
use crate::session::{AgentKind, Problem, SessionCopy, SessionKind};
use crate::system::reach;

/// The time that a writer may need; an older temporary file, or file without messages, is an orphan.
pub(crate) const WRITERS_TIME: SignedDuration = SignedDuration::from_hours(1);

/// A file or directory in a store that belongs to no session there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Orphan {
    /// The agent of the store.
    pub agent: AgentKind,
    /// The kind of orphan.
    pub kind: OrphanKind,
    /// The session of the orphan, if its name shows that.
    pub session_id: Option<String>,
    /// Its path.
    pub path: PathBuf,
    /// Text for the user: its contents, the reason why it is not needed, or the reason why it cannot be read.
    pub holds: String,
    /// The time of the newest change in it.
    pub modified_at: Option<Timestamp>,
    /// Files with the id of the session in their names that may be its transcript.
    pub namesakes: Vec<PathBuf>,
}

/// An agent's handling of a torn last line of a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HalfLine {
    /// The agent ignores the line and continues after the previous one.
    PassedOver,
    /// The agent appends its next record to the line, and later loses the earlier conversation because of that.
    WrittenOn,
    /// A line like this in any session keeps the agent from resuming all sessions.
    Failing,
}

/// An agent's handling of a line that is not a record, with others after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadLine {
    /// It was not measured.
    Unknown,
    /// The agent ignores the line.
    Skipped,
    /// The next resume continues with the records before the first such line, and takes it and all later ones out of the
    /// transcript.
    Ending,
    /// As [`HalfLine::Failing`].
    Failing,
}

/// The kind of an orphan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OrphanKind {
    /// Files of a session that is missing from its expected path.
    Belongings,
    /// Like [`Self::Belongings`], but a part of the files cannot be read, so they may be needed.
    UnreadBelongings,
    /// The temporary file of a writer.
    Temporary,
    /// The registration of a process that has ended.
    Registration,
    /// A file that an agent created for a session, but without a complete record.
    Debris,
}

/// The results of a search for orphaned files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strays {
    /// The orphans.
    pub orphans: Vec<Orphan>,
    /// Paths that could not be read.
    pub problems: Vec<Problem>,
}

/// The period after which an agent deletes sessions by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Retention {
    /// The period, which starts at the last change of the transcript's file, or at a time in its records.
    pub period: SignedDuration,
    /// The file and the key of the setting, even if it is not set.
    pub setting: (PathBuf, &'static str),
    /// Set if the setting exists; otherwise, the period is the agent's default.
    pub is_set: bool,
    /// The value of the setting if it is not a valid period. The sessions then count as due at once, because the
    /// agent's actual period is unknown.
    pub refused: Option<String>,
    /// Set if the period starts at a time in the records, so that a new time of the file does not prolong it.
    pub is_by_record: bool,
    /// Set if the agent also deletes each session that it cannot open, whatever its age is.
    pub takes_unopenable: bool,
    /// The directory in which the agent has to be started for this rule, if not in any.
    pub only_in: Option<PathBuf>,
}

impl Retention {
    /// Creates the rule for a default period from the last change of a file.
    pub(crate) fn new(period: SignedDuration, setting: (PathBuf, &'static str)) -> Self {
        Self {
            period,
            setting,
            is_set: false,
            refused: None,
            is_by_record: false,
            takes_unopenable: false,
            only_in: None,
        }
    }

    /// Returns the start at which the agent deletes sessions that are due: `when it next starts`.
    pub(crate) fn next_start(&self) -> String {
        let start = |dir: &PathBuf| format!("when it is next started in {}", dir.display());
        self.only_in.as_ref().map_or_else(|| "when it next starts".to_owned(), start)
    }

    /// Returns the time from which the agent deletes a copy, if known.
    pub(crate) fn expiry(&self, copy: &SessionCopy) -> Option<Timestamp> {
        let active = copy.active_at.as_ref().filter(|_| self.is_by_record).map(|at| at.value);
        let start = copy.modified_at.or(active)?;
        match &copy.obstacle {
            // Saved chats are apart from the sessions.
            _ if copy.kind == SessionKind::Saved => None,
            Some(_) if self.takes_unopenable => Some(start),
            _ => start.checked_add(self.period).ok(),
        }
    }
}

/// A record of a session's working directory, kept by another program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CwdRecord {
    /// The agent of the session.
    pub agent: AgentKind,
    /// The file.
    pub path: PathBuf,
    /// The id of the session.
    pub session_id: String,
    /// The directory; `None` if the record contains none.
    pub dir: Option<PathBuf>,
    /// The time of the record.
    pub written_at: Option<Timestamp>,
}

/// The locations of the records of working directories.
pub(crate) trait CwdRecords: fmt::Debug + Sync {
    /// Returns the directory of a project's records.
    fn dir_in(&self, project: &Path) -> PathBuf;

    /// Finds the records in the directory of a project.
    fn in_project(&self, dir: &Path, found: &mut Found) -> Vec<CwdRecord>;

    /// Finds the records in a store.
    fn in_store(&self, root: &Path, found: &mut Found) -> Vec<CwdRecord>;
}

/// The id of a record and its links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Link<'a> {
    /// Its own id.
    pub id: Option<Cow<'a, str>>,
    /// The id of the parent record.
    pub parent: Option<Cow<'a, str>>,
    /// The id of the record from which the conversation continues, if the record names one.
    pub leaf: Option<Cow<'a, str>>,
}

/// The relation of a stray log to the log of the session to which it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StrayLog {
    /// Every record of the stray log is also in the other log.
    AllKnown,
    /// Every record of the stray log is newer than the last one of the other log.
    AllNewer,
    /// Some records are in the other log, or older than its end, and some are not.
    Mixed,
}

/// Returns whether a line is a JSON object in UTF-8, without parsing its values.
pub(crate) fn is_object(line: &[u8]) -> bool {
    // The parser does not check skipped values for UTF-8, but one line with invalid UTF-8 makes Amplifier reject the
    // whole file.
    line.trim_ascii_start().starts_with(b"{")
        && std::str::from_utf8(line).is_ok()
        && (skim::sound_members(line, |_, _| ()).is_some() || serde_json::from_slice::<IgnoredAny>(line).is_ok())
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct LinkedRecord<'a> {
    id: Text<'a>,
    parent_id: Text<'a>,
}

/// Parses a record with an `id` and a `parentId`, the format of Copilot CLI and Pi.
pub(super) fn node(line: &[u8]) -> Option<Link<'_>> {
    skimmed_link(line, ["id", "parentId", ""]).or_else(|| {
        let node: LinkedRecord<'_> = whole_record(line)?;
        Some(Link { id: node.id.into_inner(), parent: node.parent_id.into_inner(), leaf: None })
    })
}

/// Reads the members with these names in a record that a parser would accept; `None` if only a parser can decide that.
/// `leaf_name` is empty if the agent does not write the member.
pub(super) fn skimmed_link<'l>(line: &'l [u8], [id_name, parent_name, leaf_name]: [&str; 3]) -> Option<Link<'l>> {
    let (mut id, mut parent, mut leaf, mut is_plain) = (None, None, None, true);
    skim::sound_members(line, |name, value| {
        let kept = match name {
            _ if name == id_name.as_bytes() => &mut id,
            _ if name == parent_name.as_bytes() => &mut parent,
            _ if name == leaf_name.as_bytes() => &mut leaf,
            _ => return,
        };
        is_plain &= value.text_or_null().is_some_and(|text| kept.replace(text).is_none());
    })?;
    let text = |text: Option<Text<'l>>| text.and_then(Text::into_inner);
    is_plain.then(|| Link { id: text(id), parent: text(parent), leaf: text(leaf) })
}

/// Returns whether a name is that of a temporary file of rejoin.
pub(crate) fn is_own_temporary(name: &str) -> bool {
    changes::is_own_temporary(name)
}

/// Returns the time of the last change of a file, directory or link.
pub(crate) fn modified_at(path: &Path) -> Option<Timestamp> {
    reach::symlink_metadata(path).and_then(|metadata| metadata.modified()).ok().and_then(|time| time.try_into().ok())
}

/// Returns the number of files below a directory, or the first error as text, and the time of their newest change.
///
/// A directory's own time counts only if there is no file: every cleanup in it changes that time.
pub(super) fn contents(dir: &Path) -> (Result<usize, String>, Option<Timestamp>) {
    let (mut times, mut failure) = (Vec::new(), None);
    for entry in walkdir::WalkDir::new(dir) {
        match entry {
            Ok(entry) if entry.file_type().is_dir() => {}
            Ok(entry) => times.push(modified_at(entry.path())),
            Err(error) => {
                let path = error.path().unwrap_or(dir).display().to_string();
                let why = error.io_error().map_or_else(|| error.to_string(), reason);
                failure = failure.or(Some(format!("{path}: {why}")));
            }
        }
    }
    let count = failure.map_or(Ok(times.len()), Err);
    (count, times.into_iter().max().unwrap_or_else(|| modified_at(dir)))
}

/// Finds the temporary files directly in a directory.
pub(crate) fn temporary_in(
    dir: &Path,
    agent: AgentKind,
    found: &mut Found,
    is_temporary: impl Fn(&str) -> bool,
) -> Vec<Orphan> {
    let names = found.entries(dir).into_iter().filter(|(_, kind)| kind.is_file()).map(|(entry, _)| entry);
    let names = names.filter(|entry| entry.file_name().to_str().is_some_and(&is_temporary));
    names.map(|entry| temporary(agent, entry.path())).collect()
}

/// Describes a temporary file.
pub(crate) fn temporary(agent: AgentKind, path: PathBuf) -> Orphan {
    let bytes = path.symlink_metadata().map_or(0, |metadata| metadata.len());
    Orphan {
        agent,
        kind: OrphanKind::Temporary,
        session_id: None,
        modified_at: modified_at(&path),
        holds: if bytes == 1 { "1 byte".to_owned() } else { format!("{bytes} bytes") },
        path,
        namesakes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_parses_id_and_parent() {
        let found = node(br#"{"type":"message","id":"b","parentId":"a"}"#).expect("a record");
        assert_eq!((found.id.as_deref(), found.parent.as_deref()), (Some("b"), Some("a")));
        let root = node(br#"{"type":"session","id":"a","parentId":null}"#).expect("a record");
        assert_eq!((root.id.as_deref(), root.parent), (Some("a"), None));
        assert_eq!(node(br#"{"id":7,"parentId":{}}"#), Some(Link::default()), "ids of another type link nothing");
        assert_eq!(node(b"[]"), None);
    }

    #[test]
    fn is_object_accepts_only_one_complete_object() {
        assert!(is_object(b" {\"a\": [1, {}]} "));
        for bad in [&b"{"[..], b"[]", b"{} {}", b"", b"\"x\"", b"{\"a\":\"\xff\"}", b"\0\0"] {
            assert!(!is_object(bad), "{bad:?}");
        }
    }
}
