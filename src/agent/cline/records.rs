//! Parses the two files of a session: its metadata and its conversation.
//!
//! Facts: measured on Cline CLI 3.0.65.

use crate::agent::document::{Document, compact};
use crate::agent::prelude::*;
use crate::format::content::{Block, blocks, call};
use crate::format::document::Shape;
use crate::format::json::{dollars, epoch, number, record};
use crate::session::usage::Cost;

/// The contents of `<id>.json`.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ClineMeta<'a> {
    pub session_id: Text<'a>,
    started_at: Text<'a>,
    pub status: Text<'a>,
    pid: Option<&'a RawValue>,
    pub cwd: Text<'a>,
    pub model: Text<'a>,
    prompt: Text<'a>,
    /// The path of the conversation, which the program uses instead of the file's actual location.
    pub messages_path: Text<'a>,
    metadata: Option<&'a RawValue>,
}

impl<'a> ClineMeta<'a> {
    /// Parses the file; `None` if it is not an object.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        record(bytes)
    }

    /// Returns whether the file has a first prompt, which may be blank.
    pub(super) fn names_prompt(&self) -> bool {
        self.prompt.get().is_some()
    }

    pub(super) fn started_at(&self) -> Option<Timestamp> {
        self.started_at.instant()
    }

    /// Returns the process that runs the session: the hub, or the client if there was no hub yet.
    pub(super) fn pid(&self) -> Option<u32> {
        number(self.pid)
    }

    /// Returns a text from the member `metadata`.
    pub(super) fn text_member(&self, name: &str) -> Option<String> {
        text_in(self.metadata, name).filled().map(str::to_owned)
    }

    /// Returns the cost in US dollars, including sub-agents; a model without a price adds zero.
    pub(super) fn cost(&self) -> Option<Cost> {
        let [own, all] = members(self.metadata, ["totalCost", "aggregatedAgentsCost"]);
        dollars(own).max(dollars(all))
    }

    /// Returns the git branch at the session's start.
    pub(super) fn branch(&self) -> Option<String> {
        text_in(member(self.metadata, "git"), "branch").filled().map(str::to_owned)
    }

    /// Returns the first prompt. If the session was killed during the first reply, no other file contains the prompt.
    pub(super) fn prompt(&self) -> Option<String> {
        self.text_member("prompt").or_else(|| {
            let prompt = self.prompt.filled()?;
            Some(typed(prompt).unwrap_or(prompt).to_owned())
        })
    }
}

const SHAPE: Shape = Shape { list: "messages", members: &["updated_at"] };

/// The conversation of a session.
pub(super) const LEAD: Document =
    Document { shape: SHAPE, turns: |raw| turn(raw, false).map(|turn| vec![turn]), first: None };
/// The conversation of a sub-agent, whose task is not marked as typed.
pub(super) const SUBAGENT: Document =
    Document { shape: SHAPE, turns: |raw| turn(raw, true).map(|turn| vec![turn]), first: None };

/// Returns the text that the user typed, without the tag around it.
fn typed(text: &str) -> Option<&str> {
    let (_, rest) = text.trim_start().strip_prefix("<user_input")?.split_once('>')?;
    Some(rest.trim_end().strip_suffix("</user_input>").unwrap_or(rest))
}

fn turn(raw: &RawValue, is_subagent: bool) -> Option<Turn> {
    let [role, content, ts, model_info, metadata] =
        members(Some(raw), ["role", "content", "ts", "modelInfo", "metadata"]);
    let role: Text<'_> = serde_json::from_str(role?.get()).ok()?;
    let at = epoch(ts, 1000);
    // An API error is shown as an answer.
    let is_shown_only = member(metadata, "displayOnly").is_some_and(|flag| flag.get() == "true");
    let mut turn = match role.get()? {
        "user" => Turn::new(Role::User, at),
        "assistant" if !is_shown_only => Turn::new(Role::Assistant, at),
        _ => Turn::new(Role::System, at),
    };
    if turn.role == Role::Assistant {
        turn.model = text_in(model_info, "id").filled().map(str::to_owned);
    }
    for block in blocks(content) {
        match (turn.role, block) {
            (Role::User, Block::Text(text)) => match typed(&text) {
                Some(prompt) => turn.add_text(prompt),
                None if is_subagent => turn.add_text(text),
                // Other texts in a user message were not typed.
                None => turn.tool(text),
            },
            (_, Block::Text(text)) => turn.add_text(text),
            (_, Block::ToolCall { name, arguments }) => turn.tool(call(Some(&name), Some(&compact(&arguments)))),
            (_, block) => turn.messages.extend(block.message(Role::Tool, at)),
        }
    }
    Some(turn)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, is_subagent: bool) -> Option<Turn> {
        turn(&RawValue::from_string(text.to_owned()).expect("JSON"), is_subagent)
    }

    #[test]
    fn prompt_is_tagged_text_or_sub_agent_task() {
        let wrapped = r#"{"role":"user","content":[{"type":"text","text":"<user_input mode=\"act\">a <b> c</user_input>"}],"ts":1769940000000}"#;
        let turn = read(wrapped, false).expect("a message");
        assert_eq!(turn.prompt(), Some("a <b> c"));
        assert_eq!(turn.at, "2026-02-01T10:00:00Z".parse().ok());
        let bare = r#"{"role":"user","content":[{"type":"text","text":"look around"}]}"#;
        assert_eq!(read(bare, false).expect("a message").prompt(), None);
        assert_eq!(read(bare, true).expect("a message").prompt(), Some("look around"));
        let result = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"a b"}]}"#;
        let turn = read(result, true).expect("a message");
        assert_eq!((turn.prompt(), turn.messages[0].text.as_str()), (None, "→ a b"));
    }

    #[test]
    fn tool_call_is_reply_but_error_is_not() {
        let reply = |text: &str| read(text, false).is_some_and(|turn| turn.is_reply());
        assert!(reply(r#"{"role":"assistant","content":[{"type":"tool_use","name":"run_commands","input":{}}]}"#));
        assert!(reply(r#"{"role":"assistant","content":"plain","modelInfo":{"id":"m"}}"#));
        for other in [
            r#"{"role":"assistant","content":[{"type":"text","text":"400"}],"metadata":{"displayOnly":true}}"#,
            r#"{"role":"assistant","content":[]}"#,
            r#"{"role":7,"content":"x"}"#,
            r#"{"content":"x"}"#,
            "[]",
            "null",
        ] {
            assert!(!reply(other), "{other}");
        }
    }

    #[test]
    fn prompt_in_the_metadata_takes_precedence() {
        let prompt = |text: &str| ClineMeta::parse(text.as_bytes()).and_then(|meta| meta.prompt());
        assert_eq!(prompt(r#"{"prompt":"x","metadata":{"prompt":"y"}}"#).as_deref(), Some("y"));
        assert_eq!(
            prompt(r#"{"prompt":"<user_input mode=\"plan\">x</user_input>","metadata":7}"#).as_deref(),
            Some("x")
        );
        assert_eq!(prompt(r#"{"prompt":"raw"}"#).as_deref(), Some("raw"));
        assert_eq!(prompt(r#"{"prompt":["x"]}"#), None);
        assert_eq!(prompt("[]"), None);
    }
}
