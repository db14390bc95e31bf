//! Parses a session's file, and the index with the time of its creation.
//!
//! Facts: measured on Continue CLI 1.5.47.

use std::collections::HashMap;

use crate::agent::document::Document;
use crate::agent::prelude::*;
use crate::format::content::{plain_text, tool_calls};
use crate::format::document::Shape;
use crate::format::json::list;
use crate::format::turn::instant;

/// Titles of a session that neither the user nor a model has named: those of the command line, and of the extensions by
/// continuedev/continue core/util/constants.ts 13fda816.
pub(super) const UNTITLED: [&str; 2] = ["Untitled Session", "New Session"];

/// The conversation of a session.
pub(super) const DOCUMENT: Document = Document {
    shape: Shape { list: "history", members: &["sessionId", "title", "workspaceDirectory"] },
    turns: |raw| turn(raw).map(|turn| vec![turn]),
    first: None,
};

/// Returns the times of creation in an index, by session id; an entry of another form is skipped.
///
/// # Errors
///
/// The index is not a list.
pub(super) fn made_at(index: &[u8]) -> Result<HashMap<String, Timestamp>, serde_json::Error> {
    let entries: Vec<&RawValue> = serde_json::from_slice(index)?;
    let entry = |raw| {
        let [id, made] = texts_in(Some(raw), ["sessionId", "dateCreated"]);
        // Milliseconds, as a string.
        Some((id.filled()?.to_owned(), instant(made.get()?.parse().ok()?)?))
    };
    Ok(entries.into_iter().filter_map(entry).collect())
}

fn turn(raw: &RawValue) -> Option<Turn> {
    let [message, states] = members(Some(raw), ["message", "toolCallStates"]);
    let [role, content, usage, calls] = members(Some(message?), ["role", "content", "usage", "toolCalls"]);
    let role: Text<'_> = serde_json::from_str(role?.get()).ok()?;
    let mut turn = Turn::new(Role::from_name(Some(role.get()?)), None);
    turn.add_text(plain_text(content));
    if turn.role == Role::Assistant {
        turn.model = text_in(usage, "model").filled().map(str::to_owned);
        tool_calls(calls).into_iter().for_each(|call| turn.tool(call));
        // The result of a tool is not a separate message.
        for output in list(states).into_iter().flat_map(|state| list(member(Some(state), "output"))) {
            turn.tool(format!("→ {}", text_in(Some(output), "content").get().unwrap_or_default()));
        }
    }
    Some(turn)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Turn> {
        turn(&RawValue::from_string(text.to_owned()).expect("JSON"))
    }

    #[test]
    fn parser_distinguishes_prompts_replies_and_tool_results() {
        let parts = r#"{"message":{"role":"user","content":[{"type":"text","text":"a"},{"type":"imageUrl"}]}}"#;
        assert_eq!(read(parts).expect("a message").prompt(), Some("a"));
        let call = r#"{"message":{"role":"assistant","content":"","toolCalls":[{"id":"c","function":{"name":"Bash","arguments":"{}"}}],
            "usage":{"model":"m"}},"toolCallStates":[{"toolCallId":"c","output":[{"content":"a b"}]},7]}"#;
        let turn = read(call).expect("a message");
        assert!(turn.is_reply());
        assert_eq!(turn.model.as_deref(), Some("m"));
        let texts: Vec<&str> = turn.messages.iter().map(|message| message.text.as_str()).collect();
        assert_eq!(texts, ["Bash {}", "→ a b"]);
        assert!(!read(r#"{"message":{"role":"assistant","content":""}}"#).expect("a message").is_reply());
        for none in ["{}", "7", r#"{"message":{}}"#, r#"{"message":{"role":7}}"#] {
            assert!(read(none).is_none(), "{none}");
        }
    }

    #[test]
    fn index_parses_timestamps_from_strings() {
        let index = br#"[{"sessionId":"a","dateCreated":"1769940000000"},{"sessionId":"b","dateCreated":5},7]"#;
        let made = made_at(index).expect("a list");
        assert_eq!(made.len(), 1);
        assert_eq!(made.get("a").copied(), "2026-02-01T10:00:00Z".parse().ok());
        assert!(made_at(b"{}").is_err());
    }
}
