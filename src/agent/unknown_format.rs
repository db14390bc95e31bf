//! Prevents a session from counting as empty while its files contain anything unknown.
//!
//! An agent may rename a record type or a key in any release. Its conversations then look empty, so a session is empty
//! only if each of its records is known to carry no conversation.

use std::collections::BTreeMap;
use std::fs::ReadDir;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde_json::Value;
use serde_json::value::RawValue;

use super::Agent;
use super::upkeep::is_object;
use crate::error::PathError;
use crate::format::jsonl::each_line;
use crate::format::text::{self, count};
use crate::session::obstacle::Obstacle;
use crate::session::{Health, SessionCopy, SessionKind};
use crate::system::fsio;
use crate::system::links;
use crate::system::reach;

/// Maximum size of a JSON document that is split into records; a larger one counts as one record.
const MAX_DOCUMENT: u64 = 64 * 1024 * 1024;
/// Members with the type of a record; the first one that exists wins.
const TYPE_NAMES: [&str; 6] = ["/type", "/role", "/kind", "/event", "/message/role", "/message/type"];
/// Maximum number of type names in a note.
const NAMED: usize = 3;
/// Maximum length of a type name in a note, in characters.
const MAX_NAME: usize = 40;

/// Corrects the emptiness of a copy that [`Reading::read`](super::Reading::read) or
/// [`Reading::observe`](super::Reading::observe) found empty: checks every record of its files again.
pub(super) fn check_emptiness(agent: &dyn Agent, copy: &mut SessionCopy) {
    if copy.kind != SessionKind::Empty && !copy.health.contains(Health::EmptySession) {
        return;
    }
    let mut seen = SeenRecords::default();
    for path in agent.conversation_files(&copy.place) {
        if let Err(error) = seen.file(agent, &path) {
            return mark(copy, format!("{} cannot be read: {}", error.path.display(), error.reason()));
        }
    }
    if seen.unknown > 0 {
        let note = seen.note(agent);
        mark(copy, note);
    } else if seen.damaged > 0 {
        copy.health.remove(Health::EmptySession);
        copy.note_bad_lines(true);
        be_listed(copy);
    } else if let Some(left) = Left::of(agent, copy) {
        copy.health.remove(Health::EmptySession);
        be_listed(copy);
        copy.obstruct(left.obstacle(agent));
    }
}

/// The texts in other files of a session whose log has no conversation.
struct Left(Vec<String>);

impl Left {
    /// Finds the texts of a copy; `None` for a copy without texts.
    fn of(agent: &dyn Agent, copy: &SessionCopy) -> Option<Self> {
        let name = |path: PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let texts = agent.texts(&copy.place).into_iter().filter(|path| may_have_contents(path));
        let names: Vec<String> = texts.filter_map(name).collect();
        (!names.is_empty()).then_some(Self(names))
    }

    fn obstacle(&self, agent: &dyn Agent) -> Obstacle {
        let names: Vec<&str> = self.0.iter().map(String::as_str).collect();
        let title = agent.about().title;
        let are = if names.len() == 1 { "is" } else { "are" };
        Obstacle::damage(format!(
            "its log has no message, so {title} has nothing to resume; {} {are} left of it",
            text::list(&names)
        ))
    }
}

/// Returns whether a file, or any file below a directory, has contents; also `true` for a path that cannot be read.
fn may_have_contents(path: &Path) -> bool {
    let is_below = |mut entries: ReadDir| entries.any(|entry| entry.map_or(true, |it| may_have_contents(&it.path())));
    match reach::symlink_metadata(path) {
        Err(error) => ![ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()),
        Ok(_) => match links::metadata(path) {
            Ok(metadata) if metadata.is_dir() => reach::read_dir(path).map_or(true, is_below),
            found => found.map_or(true, |metadata| metadata.len() > 0) && !fsio::is_apple_double(path),
        },
    }
}

/// Marks a copy as written in an unknown format.
pub(super) fn mark(copy: &mut SessionCopy, note: String) {
    copy.health.remove(Health::EmptySession);
    copy.health.insert(Health::UnknownFormat);
    // Reading and counting may each add the same note.
    if !copy.notes.contains(&note) {
        copy.notes.insert(0, note);
    }
    be_listed(copy);
}

fn be_listed(copy: &mut SessionCopy) {
    if copy.kind == SessionKind::Empty {
        copy.kind = SessionKind::Main;
    }
}

/// The records of a copy that contradict its emptiness.
#[derive(Default)]
struct SeenRecords {
    unknown: u64,
    damaged: u64,
    types: BTreeMap<String, u64>,
    version: Option<String>,
}

impl SeenRecords {
    fn file(&mut self, agent: &dyn Agent, path: &Path) -> Result<(), PathError> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => {
                let Some(bytes) = fsio::read_if_present(path, MAX_DOCUMENT)? else { return Ok(()) };
                match records_of(&bytes) {
                    Some(records) => records.into_iter().for_each(|record| self.record(agent, record.get().as_bytes())),
                    None => self.damaged += u64::from(!bytes.is_empty()),
                }
                Ok(())
            }
            Some("jsonl" | "backup" | "zst") => {
                let mut has_line = false;
                each_line(path, &mut |line| {
                    has_line = true;
                    if !line.trim_ascii().is_empty() {
                        self.record(agent, line);
                    }
                    ControlFlow::Continue(())
                })?;
                // The file contains only bytes that were never written.
                let has_bytes = || links::metadata(path).is_ok_and(|metadata| metadata.len() > 0);
                self.damaged += u64::from(!has_line && has_bytes());
                Ok(())
            }
            // A text format: every unknown line counts.
            _ => each_line(path, &mut |line| {
                self.unknown += u64::from(!line.trim_ascii().is_empty() && !agent.is_silent(line));
                ControlFlow::Continue(())
            }),
        }
    }

    fn record(&mut self, agent: &dyn Agent, record: &[u8]) {
        // A torn record may have been conversation, whatever the complete one after it is.
        if !is_object(record) {
            self.damaged += 1;
            return;
        }
        if agent.is_silent(record) {
            return;
        }
        self.unknown += 1;
        let Ok(record) = serde_json::from_slice::<Value>(record) else { return };
        let name = TYPE_NAMES.iter().find_map(|at| record.pointer(at)?.as_str());
        if let Some(name) = name.filter(|name| name.chars().count() <= MAX_NAME) {
            *self.types.entry(name.to_owned()).or_default() += 1;
        }
        let version = agent.about().version_at.and_then(|at| record.pointer(at)?.as_str());
        self.version = version.map(str::to_owned).or_else(|| self.version.take());
    }

    /// Returns a sentence without a period: the number of records, their types, and the version of the agent.
    fn note(&self, agent: &dyn Agent) -> String {
        let mut types: Vec<_> = self.types.iter().collect();
        types.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), name.as_str()));
        let names: Vec<String> = types.iter().take(NAMED).map(|(name, _)| format!("`{name}`")).collect();
        let more = if types.len() > NAMED { ", …" } else { "" };
        let named = if names.is_empty() { String::new() } else { format!(" of type {}{more}", names.join(", ")) };
        let by = self.version.as_ref().map(|version| format!(", written by {} {version}", agent.kind()));
        let known = super::about(agent.kind()).tested_version;
        let known = known.map(|known| format!("; rejoin knows {} up to {known}", agent.kind()));
        let unknown = count(usize::try_from(self.unknown).unwrap_or(usize::MAX), "record");
        format!("{unknown}{named} could not be understood{}{}", by.unwrap_or_default(), known.unwrap_or_default())
    }
}

/// Returns the objects in the lists of a JSON document, or the document itself if it contains no list; `None` if it is
/// not JSON.
fn records_of(document: &[u8]) -> Option<Vec<Box<RawValue>>> {
    let whole: Box<RawValue> = serde_json::from_slice(document).ok()?;
    let lists: Vec<Box<RawValue>> = match serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(whole.get()) {
        Ok(members) => members.into_values().filter(|value| value.get().starts_with('[')).collect(),
        Err(_) if whole.get().starts_with('[') => vec![whole.clone()],
        Err(_) => Vec::new(),
    };
    if lists.is_empty() {
        return Some(if whole.get() == "{}" { Vec::new() } else { vec![whole] });
    }
    let elements =
        lists.iter().filter_map(|list| serde_json::from_str::<Vec<Box<RawValue>>>(list.get()).ok()).flatten();
    Some(elements.filter(|element| element.get().starts_with('{')).collect())
}

/// Returns whether a member of a JSON record, by its pointer, has one of the texts next to that pointer.
pub(super) fn has_any(record: &[u8], members: &[(&str, &[&str])]) -> bool {
    if members.is_empty() {
        return false;
    }
    let Ok(record) = serde_json::from_slice::<Value>(record) else { return false };
    let text = |pointer: &str| record.pointer(pointer).and_then(Value::as_str);
    members.iter().any(|(pointer, values)| text(pointer).is_some_and(|text| values.contains(&text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elements(document: &str) -> Option<Vec<String>> {
        let records = records_of(document.as_bytes())?;
        Some(records.iter().map(|record| record.get().to_owned()).collect())
    }

    #[test]
    fn document_elements_are_its_lists_or_itself() {
        assert_eq!(elements(r#"{"id":"x","messages":[]}"#), Some(vec![]));
        assert_eq!(elements(r#"{"renamed":[{"a":1}],"dirs":["/a"]}"#), Some(vec![r#"{"a":1}"#.to_owned()]));
        assert_eq!(elements(r#"[{"a":1},{"b":2}]"#).map(|list| list.len()), Some(2));
        assert_eq!(elements(r#"{"id":"x"}"#).map(|list| list.len()), Some(1), "its list may have another form");
        assert_eq!(elements("{}"), Some(vec![]));
        assert_eq!(elements("{\"a\":"), None);
    }
}
