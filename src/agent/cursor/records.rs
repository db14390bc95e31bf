//! The records of Cursor CLI's transcripts, and the facts about a chat.

use crate::agent::lines;
use crate::agent::prelude::*;
use crate::format::content::blocks;
use crate::format::json::epoch;

/// The parsed fields of `meta.json`.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct CursorMeta<'a> {
    pub title: Text<'a>,
    pub cwd: Text<'a>,
    pub model: Text<'a>,
    created_at_ms: Option<&'a RawValue>,
    updated_at_ms: Option<&'a RawValue>,
}

impl CursorMeta<'_> {
    pub(super) fn created_at(&self) -> Option<Timestamp> {
        epoch(self.created_at_ms, 1000)
    }

    pub(super) fn updated_at(&self) -> Option<Timestamp> {
        epoch(self.updated_at_ms, 1000)
    }
}

/// A line of a transcript: a message, or the end of a turn.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(in crate::agent) struct CursorRecord<'a> {
    role: Text<'a>,
    message: Option<&'a RawValue>,
    #[serde(rename = "type")]
    kind: Text<'a>,
    error: Text<'a>,
}

impl lines::Record for CursorRecord<'_> {
    /// A record has no time.
    fn at(&self, _zone: &TimeZone) -> Option<Timestamp> {
        None
    }

    fn turn(&self) -> Option<Turn> {
        if self.kind.get() == Some("turn_ended") {
            let mut turn = Turn::new(Role::System, None);
            turn.error(self.error.filled()?);
            return Some(turn);
        }
        let role = match self.role.get()? {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            _ => return None,
        };
        let mut turn = Turn::new(role, None);
        let content = member(self.message, "content");
        turn.messages.extend(blocks(content).into_iter().filter_map(|block| block.message(role, None)));
        for message in turn.messages.iter_mut().filter(|message| message.role == Role::User) {
            if let Some(typed) = typed(&message.text) {
                message.text = typed.to_owned();
            }
        }
        turn.messages.retain(|message| !message.text.trim().is_empty());
        Some(turn)
    }

    fn ends_turn(&self) -> bool {
        self.kind.get() == Some("turn_ended")
    }
}

/// Returns the text that the user typed, without the context that Cursor adds around it; `None` without such a mark.
fn typed(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("<user_query>")?;
    rest.rsplit_once("</user_query>").map(|(typed, _)| typed.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::lines::Record as _;
    use crate::format::json::record;

    fn parsed(line: &str) -> CursorRecord<'_> {
        record(line.as_bytes()).expect("a record")
    }

    #[test]
    fn parser_extracts_prompt_from_injected_context() {
        let parsed = |text: &str| {
            let line = serde_json::json!({"role": "user", "message": {"content": [{"type": "text", "text": text}]}});
            parsed(&line.to_string()).prompt()
        };
        assert_eq!(
            parsed("<timestamp>x</timestamp>\n<user_query>\nadd a test\n</user_query>").as_deref(),
            Some("add a test")
        );
        assert_eq!(parsed("add a test").as_deref(), Some("add a test"));
        assert_eq!(parsed("<user_query>cut").as_deref(), Some("<user_query>cut"));
        assert_eq!(parsed("<user_query> </user_query>"), None);
    }

    #[test]
    fn parser_distinguishes_replies_tool_calls_and_turn_ends() {
        let call = r#"{"role":"assistant","message":{"content":[{"type":"tool_use","name":"Shell","input":{"command":"ls"}}]}}"#;
        assert!(parsed(call).is_reply());
        assert!(parsed(r#"{"role":"assistant","message":{"content":"Done."}}"#).is_reply());
        let failed = parsed(r#"{"type":"turn_ended","status":"error","error":"aborted"}"#);
        assert!(failed.ends_turn() && !failed.is_reply());
        for other in
            [r#"{"type":"turn_ended","status":"success"}"#, r#"{"role":7}"#, r#"{"role":"system","message":{}}"#]
        {
            assert!(parsed(other).turn().is_none(), "{other}");
        }
    }
}
