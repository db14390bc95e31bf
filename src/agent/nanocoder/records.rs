//! Parses a session's file: its metadata, then its messages, which have no times.
//!
//! Facts: measured on Nanocoder 1.25.2 and 1.30.0; tool calls, and `titleManuallySet`, by its code.

use crate::agent::document::{Document, compact};
use crate::agent::prelude::*;
use crate::format::content::call;
use crate::format::document::Shape;
use crate::format::json::list;

const MEMBERS: &[&str] = &["title", "titleManuallySet", "createdAt", "lastAccessedAt", "model", "workingDirectory"];

/// The conversation of a session.
pub(super) const DOCUMENT: Document = Document {
    shape: Shape { list: "messages", members: MEMBERS },
    turns: |raw| turn(raw).map(|turn| vec![turn]),
    first: None,
};

fn turn(raw: &RawValue) -> Option<Turn> {
    let [role, content, calls] = members(Some(raw), ["role", "content", "tool_calls"]);
    let role: Text<'_> = serde_json::from_str(role?.get()).ok()?;
    let parsed_text: Text<'_> = inner(content);
    let plain_text = parsed_text.get().unwrap_or_default();
    let mut turn = Turn::new(Role::from_name(Some(role.get()?)), None);
    if turn.role == Role::Tool {
        turn.tool(format!("→ {plain_text}"));
        return Some(turn);
    }
    turn.add_text(plain_text);
    for function in list(calls).into_iter().map(|raw| member(Some(raw), "function")) {
        let [name, arguments] = members(function, ["name", "arguments"]);
        turn.tool(call(inner::<Text<'_>>(name).filled(), arguments.map(|raw| compact(raw.get())).as_deref()));
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
    fn parser_distinguishes_prompts_replies_and_tools() {
        assert_eq!(read(r#"{"role":"user","content":"a\nb"}"#).expect("a message").prompt(), Some("a\nb"));
        let call = r#"{"role":"assistant","content":"","tool_calls":[{"id":"c","function":{"name":"ls","arguments":{ "path": "." }}}]}"#;
        let turn = read(call).expect("a message");
        assert!(turn.is_reply());
        assert_eq!(turn.messages[0].text, r#"ls {"path":"."}"#);
        let result = read(r#"{"role":"tool","name":"ls","content":"a b"}"#).expect("a message");
        assert_eq!((result.is_reply(), result.messages[0].text.as_str()), (false, "→ a b"));
        assert!(!read(r#"{"role":"assistant","content":" "}"#).expect("a message").is_reply());
        assert!(!read(r#"{"role":"system","content":"x"}"#).expect("a message").is_reply());
        for none in ["7", "{}", r#"{"role":7,"content":"x"}"#] {
            assert!(read(none).is_none(), "{none}");
        }
    }
}
