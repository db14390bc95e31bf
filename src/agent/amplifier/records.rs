//! The records of Amplifier's files, with only the fields that are used; unknown fields are ignored.
//!
//! Facts: amplifier-app-cli f16375fc (`session_store.py`), amplifier-foundation d0d96f70 (`session/messages.py`),
//! hooks-logging 20c9f06f, and the real client 0.1.1.

use crate::agent::lines::Record;
use crate::agent::prelude::*;
use crate::format::content::{Block, blocks, plain_text};

/// `metadata.json`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Metadata<'a> {
    /// The time of the end of the first turn.
    pub created: Text<'a>,
    /// The title set by the naming hook or `/rename`.
    pub name: Text<'a>,
    /// The model.
    pub model: Text<'a>,
    /// The directory of the last save.
    pub working_dir: Text<'a>,
    /// Set for sub-agents and for forks.
    pub parent_id: Text<'a>,
    /// Set for sub-agents.
    pub agent_name: Text<'a>,
    forked_at: Text<'a>,
    forked_from_turn: Option<&'a RawValue>,
}

impl Metadata<'_> {
    /// Returns whether the session is a fork of its parent.
    pub(crate) fn is_fork(&self) -> bool {
        self.forked_at.get().is_some() || self.forked_from_turn.is_some()
    }
}

/// A line of `transcript.jsonl`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct TranscriptLine<'a> {
    role: Text<'a>,
    content: Option<&'a RawValue>,
    tool_call_id: Option<&'a RawValue>,
    tool_calls: Option<&'a RawValue>,
    name: Text<'a>,
    metadata: Option<&'a RawValue>,
    timestamp: Text<'a>,
}

/// A call in `tool_calls`; there are two formats.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct ToolCall<'a> {
    tool: Text<'a>,
    name: Text<'a>,
    arguments: Option<&'a RawValue>,
    function: Option<&'a RawValue>,
}

impl TranscriptLine<'_> {
    /// Returns the time of the message; older sessions keep the time at the top level.
    pub(super) fn time(&self) -> Option<Timestamp> {
        text_in(self.metadata, "timestamp").instant().or_else(|| self.timestamp.instant())
    }

    fn calls(&self) -> Vec<ToolCall<'_>> {
        inner(self.tool_calls)
    }
}

impl Record for TranscriptLine<'_> {
    fn at(&self, _zone: &TimeZone) -> Option<Timestamp> {
        self.time()
    }

    /// Returns the turn: the text first, then each call.
    fn turn(&self) -> Option<Turn> {
        let mut turn = Turn::new(Role::from_name(self.role.get()), self.time());
        let text = plain_text(self.content);
        // Texts that the client inserts, and results of tools, have the role of the user too.
        turn.counts = turn.role != Role::User
            || (self.tool_call_id.is_none() && !text.trim_start().starts_with("<system-reminder>"));
        match self.name.filled().filter(|_| turn.role == Role::Tool && !text.is_empty()) {
            Some(name) => turn.tool(format!("{name} → {text}")),
            None => turn.add_text(text),
        }
        let calls = self.calls();
        for call in &calls {
            let inner = call.function.and_then(|raw| serde_json::from_str::<ToolCall<'_>>(raw.get()).ok());
            let name =
                call.tool.filled().or_else(|| inner.as_ref().and_then(|inner| inner.name.filled())).unwrap_or("tool");
            let arguments = call.arguments.or_else(|| inner.as_ref().and_then(|inner| inner.arguments));
            turn.tool(format!("{name} {}", arguments.map_or("", RawValue::get)));
        }
        if calls.is_empty() {
            let called = blocks(self.content).into_iter().filter(|block| matches!(block, Block::ToolCall { .. }));
            turn.messages.extend(called.filter_map(|block| block.message(Role::Tool, turn.at)));
        }
        Some(turn)
    }
}

/// A line of `events.jsonl`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct EventLine<'a> {
    ts: Text<'a>,
    event: Text<'a>,
    data: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct EventData<'a> {
    prompt: Text<'a>,
    response: Text<'a>,
    timestamp: Text<'a>,
    working_dir: Text<'a>,
    cwd: Text<'a>,
}

impl EventLine<'_> {
    fn data(&self) -> EventData<'_> {
        inner(self.data)
    }

    /// Returns whether the event is the end of the client.
    pub(crate) fn is_end(&self) -> bool {
        self.event.get() == Some("session:end")
    }

    /// Returns the time of the event.
    pub(super) fn time(&self) -> Option<Timestamp> {
        self.ts.instant()
    }

    /// Returns the directory that some writers add to the first events.
    pub(crate) fn working_dir(&self) -> Option<String> {
        if !self.event.get().is_some_and(|event| event.starts_with("session:")) {
            return None;
        }
        let data = self.data();
        data.working_dir.filled().or_else(|| data.cwd.filled()).map(str::to_owned)
    }
}

impl Record for EventLine<'_> {
    fn at(&self, _zone: &TimeZone) -> Option<Timestamp> {
        self.time()
    }

    /// Returns a prompt or a response. The exact time in the event's own data is equal in both lines of an event that is
    /// logged twice.
    fn turn(&self) -> Option<Turn> {
        let data = self.data();
        let (role, text) = match self.event.get()? {
            "prompt:submit" => (Role::User, &data.prompt),
            "prompt:complete" => (Role::Assistant, &data.response),
            _ => return None,
        };
        let mut turn = Turn::new(role, data.timestamp.instant().or_else(|| self.time()));
        turn.add_text(text.filled()?);
        turn.id = Some(format!("{} {}", data.timestamp.get().unwrap_or_default(), text.filled()?));
        Some(turn)
    }
}

/// An item of `server/slack-sessions.json` and similar files.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PointerRecord {
    /// The session that it names.
    pub session_id: Option<String>,
    /// The working directory of the parent session.
    pub working_dir: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> TranscriptLine<'_> {
        serde_json::from_str(text).expect("an entry")
    }

    #[test]
    fn only_typed_text_is_a_prompt() {
        assert_eq!(entry(r#"{"role":"user","content":"hi"}"#).prompt().as_deref(), Some("hi"));
        assert_eq!(entry(r#"{"role":"user","content":[{"type":"text","text":"hi"}]}"#).prompt().as_deref(), Some("hi"));
        for other in [
            r#"{"role":"user","content":"<system-reminder>x</system-reminder>"}"#,
            r#"{"role":"user","tool_call_id":"c1","content":"x"}"#,
            r#"{"role":"assistant","content":"x"}"#,
            r#"{"role":"user","content":null}"#,
            r#"{"role":"user"}"#,
        ] {
            assert_eq!(entry(other).prompt(), None, "{other}");
        }
    }

    #[test]
    fn tool_call_is_reply_but_thinking_is_not() {
        assert!(
            entry(r#"{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"bash","arguments":"{}"}}]}"#)
                .is_reply()
        );
        assert!(entry(r#"{"role":"assistant","content":[{"type":"text","text":"x"}]}"#).is_reply());
        assert!(
            !entry(r#"{"role":"assistant","content":[{"type":"thinking","thinking":"x"}],"tool_calls":[]}"#).is_reply()
        );
        assert!(!entry(r#"{"role":"assistant","content":null}"#).is_reply());
    }

    #[test]
    fn parser_accepts_both_formats_of_tool_call() {
        for text in [
            r#"{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"bash","arguments":"ls"}}]}"#,
            r#"{"role":"assistant","content":[{"type":"tool_call","name":"bash","input":"ls"}],"tool_calls":[{"id":"c","tool":"bash","arguments":"ls"}]}"#,
        ] {
            let messages = entry(text).messages();
            assert_eq!(messages.len(), 1, "{text}");
            assert_eq!((messages[0].role, messages[0].text.as_str()), (Role::Tool, "bash \"ls\""));
        }
    }

    #[test]
    fn timestamp_comes_from_metadata_or_record() {
        let expected = "2026-02-01T10:00:00Z".parse().ok();
        assert_eq!(entry(r#"{"metadata":{"timestamp":"2026-02-01T10:00:00Z"}}"#).time(), expected);
        assert_eq!(entry(r#"{"timestamp":"2026-02-01T10:00:00+00:00"}"#).time(), expected);
        assert_eq!(entry(r#"{"metadata":7,"timestamp":8}"#).time(), None);
    }

    #[test]
    fn metadata_distinguishes_fork_from_sub_session() {
        let fork: Metadata<'_> = serde_json::from_str(r#"{"parent_id":"p","forked_from_turn":2}"#).expect("metadata");
        assert!(fork.is_fork());
        let child: Metadata<'_> =
            serde_json::from_str(r#"{"parent_id":"p","agent_name":"a","forked_at":null}"#).expect("metadata");
        assert!(!child.is_fork());
    }
}
