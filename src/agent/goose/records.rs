//! Parses the messages of Goose: a list of content items as JSON, and flags for their visibility.
//!
//! Facts: aaif-goose/goose 017176d0, schema 17; block/goose crates/goose-server/src/routes/agent.rs 00d0a12f for the
//! names of unnamed sessions.

use crate::agent::prelude::*;
use crate::format::content::{call, plain_text};
use crate::format::turn::instant;

/// Returns the model in a session's `model_config_json`.
pub(crate) fn model(json: &str) -> Option<String> {
    text_in(serde_json::from_str(json).ok(), "model_name").filled().map(str::to_owned)
}

/// Returns whether a name is one that Goose gives to a session that neither the user nor a model has named.
pub(super) fn is_default_name(name: &str) -> bool {
    let number = name.strip_prefix("New session ");
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    name == "CLI Session" || number.is_some_and(is_number)
}

/// Creates a turn from a row: `created` is in seconds, or in milliseconds if it is too large for seconds.
pub(crate) fn turn(role: &str, content: &str, created: Option<i64>, metadata: Option<&str>) -> Turn {
    let role = match role {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => Role::System,
    };
    let mut turn = Turn::new(role, created.and_then(instant));
    // A compaction summary is visible to the model only.
    let metadata = metadata.and_then(|text| serde_json::from_str(text).ok());
    turn.counts = member(metadata, "userVisible").is_none_or(|is_visible| is_visible.get() != "false");
    let items: Vec<&RawValue> = serde_json::from_str(content).unwrap_or_default();
    for item in items {
        let [kind, text, request, response] = members(Some(item), ["type", "text", "toolCall", "toolResult"]);
        match inner::<Text<'_>>(kind).get() {
            Some("text") => turn.add_text(inner::<Text<'_>>(text).get().unwrap_or_default()),
            // Calls and results are wrapped in an object with their status.
            Some("toolRequest" | "frontendToolRequest") => {
                let [name, arguments] = members(member(request, "value"), ["name", "arguments"]);
                turn.tool(call(inner::<Text<'_>>(name).get(), arguments.map(RawValue::get)));
            }
            Some("toolResponse") => turn.tool(format!("→ {}", answer(response))),
            _ => {}
        }
    }
    turn
}

/// Returns the result of a tool: a list of items, which newer versions wrap in an object.
fn answer(raw: Option<&RawValue>) -> String {
    let [value, error] = members(raw, ["value", "error"]);
    let content = member(value, "content").or(value);
    let text = plain_text(content);
    if text.is_empty() { inner::<Text<'_>>(error).get().unwrap_or_default().to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_with_only_a_number_is_default() {
        assert!(is_default_name("CLI Session") && is_default_name("New session 12"));
        for other in ["", "New session", "New session ", "New session 1b", "cli session", "CLI Session 2"] {
            assert!(!is_default_name(other), "{other}");
        }
    }
}
