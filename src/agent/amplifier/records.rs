//! The records of Amplifier's files, with only the fields that are used; unknown ones are passed over.
//!
//! Facts: amplifier-app-cli f16375fc (`session_store.py`), amplifier-foundation d0d96f70
//! (`session/messages.py`), hooks-logging 20c9f06f, and the real client 0.1.1.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::format::content::{Block, blocks, plain_text};
use crate::format::json::{Text, instant};
use crate::session::{Message, Role};

/// `metadata.json`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Metadata<'a> {
    /// When the first turn ended.
    #[serde(borrow, default)]
    pub created: Text<'a>,
    /// The title that the naming hook or `/rename` gave.
    #[serde(borrow, default)]
    pub name: Text<'a>,
    /// The model.
    #[serde(borrow, default)]
    pub model: Text<'a>,
    /// The directory of the last save.
    #[serde(borrow, default)]
    pub working_dir: Text<'a>,
    /// Set for sub-sessions and forks alike.
    #[serde(borrow, default)]
    pub parent_id: Text<'a>,
    /// Set for sub-sessions.
    #[serde(borrow, default)]
    pub agent_name: Text<'a>,
    #[serde(borrow, default)]
    forked_at: Text<'a>,
    #[serde(borrow, default)]
    forked_from_turn: Option<&'a RawValue>,
}

impl Metadata<'_> {
    /// Tells whether the session is a fork of its parent.
    pub(crate) fn is_fork(&self) -> bool {
        self.forked_at.get().is_some() || self.forked_from_turn.is_some()
    }
}

/// A line of `transcript.jsonl`.
#[derive(Debug, Deserialize)]
pub(crate) struct Entry<'a> {
    #[serde(borrow, default)]
    role: Text<'a>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_call_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    timestamp: Text<'a>,
}

#[derive(Default, Deserialize)]
struct EntryMetadata<'a> {
    #[serde(borrow, default)]
    timestamp: Text<'a>,
}

/// A call in `tool_calls`; there are two shapes.
#[derive(Deserialize)]
struct ToolCall<'a> {
    #[serde(borrow, default)]
    tool: Text<'a>,
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    function: Option<&'a RawValue>,
}

impl Entry<'_> {
    /// Returns when it was said; older sessions keep the time at the top.
    pub(crate) fn at(&self) -> Option<Timestamp> {
        let metadata = self.metadata.and_then(|raw| serde_json::from_str::<EntryMetadata<'_>>(raw.get()).ok());
        metadata.unwrap_or_default().timestamp.instant().or_else(|| self.timestamp.instant())
    }

    /// Returns the text that a person typed, if this is one.
    pub(crate) fn prompt(&self) -> Option<String> {
        if self.role.get() != Some("user") || self.tool_call_id.is_some() {
            return None;
        }
        let text = plain_text(self.content);
        (!text.trim_start().starts_with("<system-reminder>")).then_some(text).filter(|text| !text.is_empty())
    }

    /// Tells whether the model says or calls something in it.
    pub(crate) fn is_reply(&self) -> bool {
        self.role.get() == Some("assistant")
            && (!self.calls().is_empty()
                || blocks(self.content).iter().any(|block| match block {
                    Block::Text(text) => !text.trim().is_empty(),
                    Block::ToolCall { .. } => true,
                    _ => false,
                }))
    }

    fn calls(&self) -> Vec<ToolCall<'_>> {
        self.tool_calls.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    }

    /// Puts the entry in words: what is said first, then each call.
    pub(crate) fn messages(&self) -> Vec<Message> {
        let at = self.at();
        let role = match self.role.get() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("tool") => Role::Tool,
            _ => Role::System,
        };
        let mut messages = Vec::new();
        let text = plain_text(self.content);
        if !text.is_empty() {
            let text = match (role, self.name.filled()) {
                (Role::Tool, Some(name)) => format!("{name} → {text}"),
                _ => text,
            };
            messages.push(Message { role, text, at });
        }
        let calls = self.calls();
        for call in &calls {
            let inner = call.function.and_then(|raw| serde_json::from_str::<ToolCall<'_>>(raw.get()).ok());
            let name =
                call.tool.filled().or_else(|| inner.as_ref().and_then(|inner| inner.name.filled())).unwrap_or("tool");
            let arguments = call.arguments.or_else(|| inner.as_ref().and_then(|inner| inner.arguments));
            let arguments = arguments.map_or("", RawValue::get);
            messages.push(Message { role: Role::Tool, text: format!("{name} {arguments}"), at });
        }
        if calls.is_empty() {
            for block in blocks(self.content) {
                if let Block::ToolCall { name, arguments } = block {
                    messages.push(Message { role: Role::Tool, text: format!("{name} {arguments}"), at });
                }
            }
        }
        messages
    }
}

/// A line of `events.jsonl`.
#[derive(Debug, Deserialize)]
pub(crate) struct Event<'a> {
    #[serde(borrow, default)]
    ts: Text<'a>,
    #[serde(borrow, default)]
    event: Text<'a>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct EventData<'a> {
    #[serde(borrow, default)]
    prompt: Text<'a>,
    #[serde(borrow, default)]
    response: Text<'a>,
    #[serde(borrow, default)]
    timestamp: Text<'a>,
    #[serde(borrow, default)]
    working_dir: Text<'a>,
    #[serde(borrow, default)]
    cwd: Text<'a>,
}

impl Event<'_> {
    /// Returns when it happened.
    pub(crate) fn at(&self) -> Option<Timestamp> {
        self.ts.instant()
    }

    fn data(&self) -> EventData<'_> {
        self.data.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    }

    /// Tells whether the client ended with it.
    pub(crate) fn is_end(&self) -> bool {
        self.event.get() == Some("session:end")
    }

    /// Returns the exact time in the event's own data, equal in both lines where one event is logged twice.
    pub(crate) fn stamp(&self) -> Option<String> {
        self.data().timestamp.get().map(str::to_owned)
    }

    /// Returns the prompt of `prompt:submit`.
    pub(crate) fn prompt(&self) -> Option<String> {
        if self.event.get() != Some("prompt:submit") {
            return None;
        }
        self.data().prompt.filled().map(str::to_owned)
    }

    /// Returns the response of `prompt:complete`.
    pub(crate) fn reply(&self) -> Option<String> {
        if self.event.get() != Some("prompt:complete") {
            return None;
        }
        self.data().response.filled().map(str::to_owned)
    }

    /// Returns the directory that some writers put into the first events.
    pub(crate) fn working_dir(&self) -> Option<String> {
        if !self.event.get().is_some_and(|event| event.starts_with("session:")) {
            return None;
        }
        let data = self.data();
        data.working_dir.filled().or_else(|| data.cwd.filled()).map(str::to_owned)
    }

    /// Puts a prompt or a response in words.
    pub(crate) fn message(&self) -> Option<Message> {
        let at = self.data().timestamp.get().and_then(instant).or_else(|| self.at());
        let prompt = self.prompt().map(|text| Message { role: Role::User, text, at });
        prompt.or_else(|| self.reply().map(|text| Message { role: Role::Assistant, text, at }))
    }
}

/// An item of `server/slack-sessions.json` and its like.
#[derive(Debug, Deserialize)]
pub(crate) struct PointerRecord {
    /// The session that it names.
    #[serde(default)]
    pub session_id: Option<String>,
    /// Where that session works.
    #[serde(default)]
    pub working_dir: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> Entry<'_> {
        serde_json::from_str(text).expect("an entry")
    }

    #[test]
    fn only_what_a_person_typed_is_a_prompt() {
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
    fn a_call_without_words_is_a_reply_and_bare_thinking_is_not() {
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
    fn both_shapes_of_a_call_are_put_in_words() {
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
    fn the_time_is_found_in_both_places() {
        let expected = instant("2026-02-01T10:00:00Z");
        assert_eq!(entry(r#"{"metadata":{"timestamp":"2026-02-01T10:00:00Z"}}"#).at(), expected);
        assert_eq!(entry(r#"{"timestamp":"2026-02-01T10:00:00+00:00"}"#).at(), expected);
        assert_eq!(entry(r#"{"metadata":7,"timestamp":8}"#).at(), None);
    }

    #[test]
    fn a_fork_is_told_from_a_sub_session() {
        let fork: Metadata<'_> = serde_json::from_str(r#"{"parent_id":"p","forked_from_turn":2}"#).expect("metadata");
        assert!(fork.is_fork());
        let child: Metadata<'_> =
            serde_json::from_str(r#"{"parent_id":"p","agent_name":"a","forked_at":null}"#).expect("metadata");
        assert!(!child.is_fork());
    }
}
