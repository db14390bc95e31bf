//! Parses Gemini CLI's records: a line is a header, a message, a change of the header, or a step back.
//!
//! Facts: measured on Gemini CLI 0.61.0 (lines) and 0.25.0 (one document); google-gemini/gemini-cli
//! packages/core/src/core/geminiChat.ts and services/chatRecordingTypes.ts 5411f113 for results that only a call has.

use std::borrow::Cow;

use crate::agent::prelude::*;
use crate::format::content::{Block, is_injected};
use crate::format::json;
use crate::format::parts::{answered_ids, parts, prompt, tool_call, typed_text};

/// A line, or an object in a line; its keys determine its kind.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct GeminiRecord<'a> {
    #[serde(rename = "$rewindTo")]
    pub(super) rewind_to: Text<'a>,
    #[serde(rename = "$set")]
    set: Option<&'a RawValue>,
    pub(super) id: Text<'a>,
    pub(super) timestamp: Text<'a>,
    #[serde(rename = "type")]
    pub(super) speaker: Text<'a>,
    pub(super) content: Option<&'a RawValue>,
    display_content: Option<&'a RawValue>,
    tool_calls: Option<&'a RawValue>,
    pub(super) model: Text<'a>,
    /// The full id of the session, in a header and in a change of it.
    pub session_id: Text<'a>,
    pub(super) start_time: Text<'a>,
    last_updated: Text<'a>,
    pub(super) kind: Text<'a>,
    pub(super) summary: Text<'a>,
    messages: Option<&'a RawValue>,
    // A message of a saved chat has only these two, as in Google's API.
    role: Text<'a>,
    #[serde(rename = "parts")]
    said: Option<&'a RawValue>,
}

/// Beginnings of texts that the program added, not the user.
const INJECTED: &[&str] = &[
    "<session_context>",
    "<state_snapshot>",
    "<hook_context>",
    "This is the Gemini CLI. We are setting up the context for our chat.",
    "System: Please continue.",
];

/// Parses a line; `None` if it is not a JSON object.
pub(crate) fn record(line: &[u8]) -> Option<GeminiRecord<'_>> {
    json::record(line)
}

impl<'a> GeminiRecord<'a> {
    pub(super) fn of(raw: &'a RawValue) -> Option<Self> {
        record(raw.get().as_bytes())
    }

    /// Returns the record that a change of the header sets.
    pub(crate) fn change(&self) -> Option<GeminiRecord<'a>> {
        self.set.and_then(GeminiRecord::of)
    }

    /// Returns the messages of a checkpoint: the whole conversation until then.
    pub(crate) fn checkpoint(&self) -> Option<Vec<&'a RawValue>> {
        let list = self.messages.filter(|list| list.get().starts_with('['))?;
        serde_json::from_str(list.get()).ok()
    }

    /// Checks whether the record is known to have no conversation (0.61.0): a header, a change of it without messages,
    /// a notice, or context that the program added.
    pub(super) fn is_silent(&self) -> bool {
        match self.speaker.get() {
            Some("info" | "warning" | "error") => true,
            Some("user") => {
                let content = parts(self.content);
                let is_put_in = |part: &Block<'_>| matches!(part, Block::Text(text) if is_injected(text, INJECTED));
                !content.is_empty() && content.iter().all(is_put_in)
            }
            Some(_) => false,
            None => self.change().as_ref().unwrap_or(self).is_header(),
        }
    }

    /// Checks whether the record has only members of a header.
    fn is_header(&self) -> bool {
        let is_silent = |raw: &&RawValue| GeminiRecord::of(raw).is_some_and(|message| message.is_silent());
        let has_messages = self.checkpoint().map_or(self.messages.is_some(), |list| !list.iter().all(is_silent));
        let has_other = self.id.get().is_some() || self.content.is_some() || self.rewind_to.get().is_some();
        let is_known = self.session_id.get().is_some()
            || self.last_updated.get().is_some()
            || self.summary.get().is_some()
            || self.kind.get().is_some();
        is_known && !has_messages && !has_other
    }

    pub(super) fn newest_time(&self) -> Option<Timestamp> {
        self.timestamp.instant().max(self.last_updated.instant()).max(self.start_time.instant())
    }

    /// Returns the text of a prompt, or `None` if this is not one; an image alone is an empty text.
    pub(crate) fn prompt(&self) -> Option<String> {
        self.prompt_in(&parts(self.content))
    }

    pub(super) fn prompt_in(&self, content: &[Block<'_>]) -> Option<String> {
        if self.speaker.get() != Some("user") {
            return None;
        }
        // Results of tools are sent to the model in the user's name.
        if content.iter().any(|part| matches!(part, Block::ToolResult(_))) {
            return None;
        }
        // The content has the files that a prompt names; then `displayContent` has the typed text.
        typed_text(&parts(self.display_content), INJECTED).or_else(|| prompt(content, INJECTED))
    }

    /// Checks whether the model says or calls something.
    pub(super) fn is_reply_in(&self, content: &[Block<'_>]) -> bool {
        self.speaker.get() == Some("gemini") && (content.iter().any(Block::says_something) || !self.calls().is_empty())
    }

    fn calls(&self) -> Vec<&'a RawValue> {
        self.tool_calls.and_then(|list| serde_json::from_str(list.get()).ok()).unwrap_or_default()
    }

    /// Returns the ids of the calls whose results the message has, as messages of 0.61.0 have.
    pub(super) fn answers(&self) -> Vec<String> {
        answered_ids(self.content)
    }

    /// Returns the texts of a message; none if it is not part of the conversation. `is_answered` returns whether another
    /// message has the result of the call with this id.
    pub(crate) fn in_words(&self, is_answered: &dyn Fn(&str) -> bool) -> Vec<Message> {
        let role = match self.speaker.get() {
            Some("user") => Role::User,
            Some("gemini") => Role::Assistant,
            Some("info" | "warning" | "error") => Role::System,
            _ => return Vec::new(),
        };
        let at = self.timestamp.instant();
        let is_error = self.speaker.get() == Some("error");
        if let Some(text) = self.prompt() {
            return vec![Message::new(role, text, at)];
        }
        let calls = self.calls();
        let mut messages = Vec::new();
        for part in parts(self.content) {
            match part {
                Block::Text(text) if text.trim().is_empty() || (role == Role::User && is_injected(&text, INJECTED)) => {
                }
                Block::Text(text) => messages.push(Message::new(role, text.into_owned(), at)),
                // The list of calls repeats it.
                Block::ToolCall { .. } if !calls.is_empty() => {}
                Block::ToolCall { name, arguments } => {
                    messages.push(Message::new(Role::Tool, format!("{name} {arguments}"), at));
                }
                Block::ToolResult(text) => messages.push(Message::new(Role::Tool, format!("→ {text}"), at)),
                Block::Other => {}
            }
        }
        for call in calls {
            if let Block::ToolCall { name, arguments } = tool_call(call) {
                messages.push(Message::new(Role::Tool, format!("{name} {arguments}"), at));
            }
            let id: Text<'_> = inner(member(Some(call), "id"));
            let results = if id.get().is_some_and(is_answered) { Vec::new() } else { results(call) };
            messages.extend(results.into_iter().map(|text| Message::new(Role::Tool, format!("→ {text}"), at)));
        }
        if is_error { messages.into_iter().map(Message::into_error).collect() } else { messages }
    }
}

/// Returns the results in a call: those for the model, else the one for the user, a text or the changes of a file.
fn results(call: &RawValue) -> Vec<String> {
    let [result, display] = members(Some(call), ["result", "resultDisplay"]);
    let text = |part| match part {
        Block::ToolResult(text) => Some(text),
        Block::Text(text) => Some(text.into_owned()),
        Block::ToolCall { .. } | Block::Other => None,
    };
    let is_filled = |text: &String| !text.trim().is_empty();
    let results: Vec<String> = parts(result).into_iter().filter_map(text).filter(is_filled).collect();
    if !results.is_empty() {
        return results;
    }
    let shown =
        [display, member(display, "fileDiff")].into_iter().find_map(|text| inner::<Text<'_>>(text).into_inner());
    shown.map(Cow::into_owned).filter(is_filled).into_iter().collect()
}

/// Parses a message of a document or of a saved chat.
pub(crate) fn message(raw: &RawValue) -> Option<GeminiRecord<'_>> {
    let mut record = GeminiRecord::of(raw)?;
    if let Some(role) = record.role.get().filter(|_| record.speaker.get().is_none()) {
        record.speaker = if role == "model" { "gemini".to_owned() } else { role.to_owned() }.into();
        record.content = record.said;
    }
    Some(record)
}
