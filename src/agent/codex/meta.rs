//! The first record of Codex's rollouts.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::agent::prelude::*;
use crate::session::repository::Repository;

/// The facts about the whole session in the first record.
///
/// The record contains the model's instructions too, so it can be larger than any read window. Fields are taken in the
/// order in which they are parsed, and a truncated line gives those before the cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meta {
    /// Set if the record has the envelope that Codex writes since September 2025.
    pub has_envelope: bool,
    /// The session's id.
    pub id: Option<String>,
    /// The time of the start.
    pub created_at: Option<Timestamp>,
    /// The directory of the start.
    pub cwd: Option<String>,
    /// The way the session was started.
    pub source: Source,
    /// The session that it was forked from.
    pub forked_from: Option<String>,
    /// The session that started it.
    pub parent: Option<String>,
    /// The part of an earlier rollout that it continues; an error if its format is unknown.
    pub base: Option<Result<HistoryBase, UnknownBase>>,
    /// The first ordinal after a copied history of the parent.
    pub own_start: Option<u64>,
    /// The model provider.
    pub provider: Option<String>,
    /// Set if each record has an ordinal.
    pub is_paginated: bool,
    /// The branch at the start.
    pub branch: Option<String>,
    /// The commit at the start, and the remote.
    pub repository: Repository,
}

/// The part of an earlier rollout that a rollout continues.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct HistoryBase {
    /// The last id in the name of that rollout.
    pub thread_id: String,
    /// Number of bytes of that rollout that count.
    pub end_byte_offset: u64,
}

/// A part of an earlier rollout in an unknown format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnknownBase;

/// The way a session was started, as far as it matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Source {
    /// By the user, or by a program on behalf of the user.
    #[default]
    Person,
    /// By `codex exec`.
    Exec,
    /// By another session, with its id if that is recorded.
    Agent(Option<String>),
}

impl Meta {
    /// Parses the first line of a rollout, or its beginning; `None` if it is not such a record.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let mut reading = MetaReading::default();
        // An error occurs after the fields that could be parsed, so it does not invalidate them.
        let members = Members { reading: &mut reading, is_payload: false };
        let _ = members.deserialize(&mut serde_json::Deserializer::from_slice(line));
        let MetaReading { kind, written_at, mut meta } = reading;
        match kind.as_deref() {
            Some("session_meta") => meta.has_envelope = true,
            Some(_) => return None,
            None if meta.id.is_none() => return None,
            None => {}
        }
        meta.created_at = meta.created_at.or(written_at);
        Some(meta)
    }

    /// Returns whether another session started this one.
    pub(super) fn is_subagent(&self) -> bool {
        // In some versions, only the parent shows that another session started this one.
        matches!(self.source, Source::Agent(_)) || (self.parent.is_some() && self.forked_from.is_none())
    }

    /// Returns the id of the session that started a sub-agent, or that a fork came from.
    pub(super) fn parent_id(&self) -> Option<&str> {
        let started_by = match &self.source {
            Source::Agent(parent) => parent.as_deref(),
            Source::Person | Source::Exec => None,
        };
        let parent = started_by.or(self.parent.as_deref()).filter(|_| self.is_subagent());
        parent.or(self.forked_from.as_deref().filter(|_| !self.is_subagent()))
    }
}

/// Returns whether a record is the header, or a marker without content, of a rollout without envelopes.
pub(super) fn is_bare_header(record: &[u8]) -> bool {
    let Ok(record) = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(record) else { return false };
    let has = |name: &str| record.contains_key(name);
    let is_header = has("id") && has("timestamp") || record.get("record_type").is_some_and(|kind| kind == "state");
    is_header && !["type", "payload", "role", "content"].into_iter().any(has)
}

#[derive(Default)]
struct MetaReading {
    kind: Option<String>,
    written_at: Option<Timestamp>,
    meta: Meta,
}

/// Parses the members of the line, or of the envelope's payload.
struct Members<'m> {
    reading: &'m mut MetaReading,
    is_payload: bool,
}

impl<'de> DeserializeSeed<'de> for Members<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { reading, is_payload } = self;
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            let meta = &mut reading.meta;
            match (key.as_ref(), is_payload) {
                ("type", false) => reading.kind = owned(&map.next_value()?),
                ("timestamp", false) => reading.written_at = map.next_value::<Text<'de>>()?.instant(),
                ("payload", false) => map.next_value_seed(Members { reading: &mut *reading, is_payload: true })?,
                // Without an envelope, these are members of the line itself.
                ("id", _) => meta.id = owned(&map.next_value()?),
                ("git", _) => git(map.next_value()?, meta),
                ("timestamp", true) => meta.created_at = map.next_value::<Text<'de>>()?.instant(),
                ("cwd", true) => meta.cwd = owned(&map.next_value()?),
                ("model_provider", true) => meta.provider = owned(&map.next_value()?),
                ("history_mode", true) => meta.is_paginated = map.next_value::<Text<'de>>()?.get() == Some("paginated"),
                ("source", true) => meta.source = source(map.next_value()?),
                ("history_base", true) => {
                    let base: Result<Option<HistoryBase>, _> =
                        serde_json::from_str(map.next_value::<&RawValue>()?.get());
                    meta.base = base.map_err(|_| UnknownBase).transpose();
                }
                ("subagent_history_start_ordinal", true) => {
                    meta.own_start = map.next_value::<&RawValue>()?.get().parse().ok();
                }
                ("forked_from_id", true) => meta.forked_from = owned(&map.next_value()?),
                ("parent_thread_id", true) => meta.parent = owned(&map.next_value()?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

pub(super) fn owned(text: &Text<'_>) -> Option<String> {
    text.filled().map(str::to_owned)
}

fn git(git: &RawValue, meta: &mut Meta) {
    let text = |name| owned(&text_in(Some(git), name));
    meta.branch = text("branch");
    meta.repository = Repository::new(text("repository_url"));
    if let Some(commit) = text("commit_hash") {
        meta.repository.add_commit(&commit);
    }
}

/// Parses `"exec"`, `{"subagent":"review"}`, `{"subagent":{"thread_spawn":{"parent_thread_id":…}}}` and similar values.
fn source(raw: &RawValue) -> Source {
    if serde_json::from_str::<Text<'_>>(raw.get()).is_ok_and(|word| word.get() == Some("exec")) {
        return Source::Exec;
    }
    let [subagent, internal] = members(Some(raw), ["subagent", "internal"]);
    let parent = owned(&text_in(member(subagent, "thread_spawn"), "parent_thread_id"));
    if subagent.is_some() || internal.is_some() { Source::Agent(parent) } else { Source::Person }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::codex::records::CodexRecord;

    #[test]
    fn truncated_record_keeps_fields_before_the_cut() {
        let whole = r#"{"timestamp":"2026-02-01T10:00:01Z","type":"session_meta","payload":{"id":"i","timestamp":"2026-02-01T10:00:00Z","cwd":"/w","source":"exec","base_instructions":{"text":"aé\nb"},"git":{"branch":"main","commit_hash":"320f209fc4251fe1aed9f44d3b38c37a02a8a25a","repository_url":"git@h:a/b"}}}"#;
        let meta = Meta::parse(whole.as_bytes()).expect("facts");
        assert_eq!(meta.repository.remote.as_deref(), Some("git@h:a/b"));
        assert!(meta.repository.commits.contains("320f209fc4251fe1aed9f44d3b38c37a02a8a25a"));
        assert_eq!((meta.cwd.as_deref(), meta.branch.as_deref()), (Some("/w"), Some("main")));
        assert_eq!((meta.source, meta.has_envelope), (Source::Exec, true));
        assert_eq!(meta.created_at, "2026-02-01T10:00:00Z".parse().ok());
        for end in 0..whole.len() {
            let meta = Meta::parse(&whole.as_bytes()[..end]);
            let cwd = meta.and_then(|meta| meta.cwd);
            assert_eq!(cwd.is_some(), end >= whole.find(",\"source").expect("a field"), "{end}");
        }
    }

    #[test]
    fn field_of_unexpected_type_leaves_others_readable() {
        for other in ["null", "1", "true", "[1,{}]", r#"{"a":[]}"#, r#""""#] {
            let line = format!(
                r#"{{"type":"session_meta","payload":{{"id":{other},"timestamp":{other},"source":{other},"forked_from_id":{other},"parent_thread_id":{other},"git":{other},"cwd":"/w"}}}}"#
            );
            let expected = Meta { cwd: Some("/w".to_owned()), has_envelope: true, ..Meta::default() };
            assert_eq!(Meta::parse(line.as_bytes()), Some(expected), "{line}");
            let line = format!(
                r#"{{"timestamp":{other},"type":{other},"payload":{{"type":{other},"message":{other},"content":{other},"item":{other},"role":{other}}}}}"#
            );
            let record = CodexRecord::parse(line.as_bytes()).expect("a record");
            assert_eq!(
                (record.prompt(), record.is_reply(), record.turn(), record.message()),
                (None, false, None, None)
            );
        }
        assert_eq!(
            Meta::parse(br#"{"type":"session_meta","payload":7}"#),
            Some(Meta { has_envelope: true, ..Meta::default() })
        );
        for line in ["", "7", "null", "[]", "{}", r#"{"type":"event_msg","payload":{"id":"x"}}"#] {
            assert_eq!(Meta::parse(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn source_may_be_string_or_object() {
        let source = |text: &str| {
            let line = format!(r#"{{"type":"session_meta","payload":{{"source":{text}}}}}"#);
            Meta::parse(line.as_bytes()).expect("facts").source
        };
        for person in [r#""cli""#, r#""vscode""#, r#""mcp""#, r#"{"custom":"x"}"#, "7"] {
            assert_eq!(source(person), Source::Person, "{person}");
        }
        assert_eq!(source(r#""exec""#), Source::Exec);
        assert_eq!(source(r#"{"subagent":"review"}"#), Source::Agent(None));
        assert_eq!(source(r#"{"internal":"memory"}"#), Source::Agent(None));
        let spawned = r#"{"subagent":{"thread_spawn":{"parent_thread_id":"p","depth":1}}}"#;
        assert_eq!(source(spawned), Source::Agent(Some("p".to_owned())));
    }
}
