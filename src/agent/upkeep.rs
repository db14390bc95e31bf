//! What only `doctor` asks of an agent: what lies about in its stores, what it deletes by itself, how its records hang
//! together.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Found;
use crate::format::json::{Text, whole_record};
use crate::format::skim;
use crate::session::{AgentKind, Copy, Problem};
use crate::system::reach;

/// Something in a store that is part of no session there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stray {
    /// Whose store it is.
    pub agent: AgentKind,
    /// What it is.
    pub kind: StrayKind,
    /// The session that it was part of, where its name tells.
    pub session_id: Option<String>,
    /// Where it is.
    pub path: PathBuf,
    /// What it holds, or why it is no longer needed, in words for people.
    pub holds: String,
    /// The newest change of it or of anything in it.
    pub modified_at: Option<Timestamp>,
}

/// What an agent makes of a last line of a transcript that was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HalfLine {
    /// It goes on with everything before.
    PassedOver,
    /// It writes its next record on it, so that what was said before is lost to it later.
    WrittenOn,
    /// It goes on with no session at all while one has such a line.
    Failing,
}

/// What a stray is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StrayKind {
    /// What belonged to a session that is not where it should lie.
    Belongings,
    /// The temporary file of a writer.
    Temporary,
    /// The registration of a process that has ended.
    Registration,
}

/// What a look for strays gave.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strays {
    /// Everything that was found.
    pub strays: Vec<Stray>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// When an agent deletes sessions by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Retention {
    /// How long it keeps them after the last change of the transcript's file.
    pub period: SignedDuration,
    /// Where the period is written, or would be: the file and the key.
    pub setting: (PathBuf, &'static str),
    /// Whether it is written there; else it is the agent's default.
    pub is_set: bool,
    /// A value there that is not a period, as it is written. Then the sessions count as due at once, because nothing says
    /// for how long the agent keeps them.
    pub refused: Option<String>,
}

impl Retention {
    /// Returns from when on the agent deletes a copy, where that is known.
    pub(crate) fn expiry(&self, copy: &Copy) -> Option<Timestamp> {
        copy.modified_at?.checked_add(self.period).ok()
    }
}

/// A record of the directory that a session was working in, which another program keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CwdRecord {
    /// Whose session it is about.
    pub agent: AgentKind,
    /// The file.
    pub path: PathBuf,
    /// The session that it is about.
    pub session_id: String,
    /// The directory that it names; `None` when it names none.
    pub dir: Option<PathBuf>,
    /// When it was written.
    pub written_at: Option<Timestamp>,
}

/// Where such records are.
pub(crate) trait CwdRecords: fmt::Debug + Sync {
    /// Returns the directory of a project's records.
    fn dir_in(&self, project: &Path) -> PathBuf;

    /// Finds the records in the directory of a project.
    fn in_project(&self, dir: &Path, found: &mut Found) -> Vec<CwdRecord>;

    /// Finds the records in a store.
    fn in_store(&self, root: &Path, found: &mut Found) -> Vec<CwdRecord>;
}

/// How a record names itself and the one that it follows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Link<'a> {
    /// Its own id.
    pub id: Option<Cow<'a, str>>,
    /// The id of the record that it follows.
    pub parent: Option<Cow<'a, str>>,
    /// The id of the record that the conversation continues from, if it names one.
    pub leaf: Option<Cow<'a, str>>,
}

/// What becomes of a directory that holds only the log of a session that is kept elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fold {
    /// Every record of it is in the other log too.
    AllKnown,
    /// Every record of it is newer than the last one of the other log.
    AllNewer,
    /// Some records are in the other log, or older than its end, and some are not.
    Mixed,
}

/// Returns whether a line is a JSON object in UTF-8, without reading anything of it.
pub(crate) fn is_object(line: &[u8]) -> bool {
    // What the parser passes over it does not check to be UTF-8, but Amplifier gives up a file for one such line.
    line.trim_ascii_start().starts_with(b"{")
        && std::str::from_utf8(line).is_ok()
        && (skim::sound_members(line, |_, _| ()).is_some() || serde_json::from_slice::<IgnoredAny>(line).is_ok())
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Node<'a> {
    id: Text<'a>,
    parent_id: Text<'a>,
}

/// Reads a record that has an `id` and the `parentId` of the one that it follows, as Copilot CLI and Pi write them.
pub(super) fn node(line: &[u8]) -> Option<Link<'_>> {
    skimmed_link(line, ["id", "parentId", ""]).or_else(|| {
        let node: Node<'_> = whole_record(line)?;
        Some(Link { id: node.id.into_inner(), parent: node.parent_id.into_inner(), leaf: None })
    })
}

/// Reads the members of these names in a record in which nothing is wrong; `None` if it takes a parser to know. The last name
/// may be empty.
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

/// Returns whether a name is one of this program's own temporary files.
pub(crate) fn is_own_temporary(name: &str) -> bool {
    name.starts_with(".rejoin-") && name.ends_with(".tmp")
}

/// Returns when a file, directory or link was last changed.
pub(crate) fn modified_at(path: &Path) -> Option<Timestamp> {
    reach::symlink_metadata(path).and_then(|metadata| metadata.modified()).ok().and_then(|time| time.try_into().ok())
}

/// Looks at what is below a directory: how many files, and the newest change of one.
///
/// A directory's own time counts only where there is no file: it changes with everything that is looked after in it.
pub(super) fn contents(dir: &Path) -> (usize, Option<Timestamp>) {
    let entries = walkdir::WalkDir::new(dir).into_iter().filter_map(Result::ok);
    let times: Vec<_> =
        entries.filter(|entry| !entry.file_type().is_dir()).map(|entry| modified_at(entry.path())).collect();
    (times.len(), times.into_iter().max().unwrap_or_else(|| modified_at(dir)))
}

/// Finds the temporary files right in a directory.
pub(crate) fn temporary_in(
    dir: &Path,
    agent: AgentKind,
    found: &mut Found,
    is_temporary: impl Fn(&str) -> bool,
) -> Vec<Stray> {
    let names = found.entries(dir).into_iter().filter(|(_, kind)| kind.is_file()).map(|(entry, _)| entry);
    let names = names.filter(|entry| entry.file_name().to_str().is_some_and(&is_temporary));
    names.map(|entry| temporary(agent, entry.path())).collect()
}

/// Describes a temporary file.
pub(crate) fn temporary(agent: AgentKind, path: PathBuf) -> Stray {
    let bytes = path.symlink_metadata().map_or(0, |metadata| metadata.len());
    Stray {
        agent,
        kind: StrayKind::Temporary,
        session_id: None,
        modified_at: modified_at(&path),
        holds: if bytes == 1 { "1 byte".to_owned() } else { format!("{bytes} bytes") },
        path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_of_a_tree_names_its_parent_and_a_root_has_none() {
        let found = node(br#"{"type":"message","id":"b","parentId":"a"}"#).expect("a record");
        assert_eq!((found.id.as_deref(), found.parent.as_deref()), (Some("b"), Some("a")));
        let root = node(br#"{"type":"session","id":"a","parentId":null}"#).expect("a record");
        assert_eq!((root.id.as_deref(), root.parent), (Some("a"), None));
        assert_eq!(node(br#"{"id":7,"parentId":{}}"#), Some(Link::default()), "ids of another type link nothing");
        assert_eq!(node(b"[]"), None);
    }

    #[test]
    fn only_a_whole_object_is_one() {
        assert!(is_object(b" {\"a\": [1, {}]} "));
        for bad in [&b"{"[..], b"[]", b"{} {}", b"", b"\"x\"", b"{\"a\":\"\xff\"}", b"\0\0"] {
            assert!(!is_object(bad), "{bad:?}");
        }
    }
}
