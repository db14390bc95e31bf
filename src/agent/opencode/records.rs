//! The records of OpenCode: JSON in the columns of its database and in the files of older versions.
//!
//! Facts: OpenCode 1.18.33, measured; anomalyco/opencode 063e8306 for the files, packages/opencode/src/session/message-v2.ts
//! 007a9409 for sub-tasks and the errors of tools in version 1, packages/schema/src/session-message.ts 0ceb3dd5 for version 2.

use std::borrow::Cow;

use crate::agent::prelude::*;
use crate::format::content::{call, plain_text};
use crate::format::json::number;
use crate::format::turn::instant;

/// The record of a session in the files of older versions; the database has a column for each member.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct SessionFile<'a> {
    /// The directory.
    pub directory: Text<'a>,
    /// The title.
    pub title: Text<'a>,
    /// The session that started this one.
    #[serde(rename = "parentID")]
    pub parent_id: Text<'a>,
    /// The link to a public copy, as its `url`.
    pub share: Option<&'a RawValue>,
    time: Option<&'a RawValue>,
}

impl SessionFile<'_> {
    /// Returns the times of creation, update and archiving, in milliseconds.
    pub(crate) fn times(&self) -> [Option<i64>; 3] {
        members(self.time, ["created", "updated", "archived"]).map(number)
    }
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct MessageData<'a> {
    role: Text<'a>,
    time: Option<&'a RawValue>,
    #[serde(rename = "modelID")]
    model_id: Text<'a>,
    error: Option<&'a RawValue>,
    // In the newer form the content is in the message.
    text: Text<'a>,
    content: Option<&'a RawValue>,
    model: Option<&'a RawValue>,
    // A command that the user ran, and the summary of a compaction.
    command: Text<'a>,
    output: Option<&'a RawValue>,
    summary: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct PartData<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    text: Text<'a>,
    synthetic: Flag,
    ignored: Flag,
    tool: Text<'a>,
    name: Text<'a>,
    state: Option<&'a RawValue>,
}

/// Returns the model in the JSON of a session's column.
pub(crate) fn model_id(json: &str) -> Option<String> {
    text_in(serde_json::from_str(json).ok(), "id").filled().map(str::to_owned)
}

/// Returns the directory in which a reply was made.
pub(super) fn worked_in(message: &str) -> Option<String> {
    text_in(member(serde_json::from_str(message).ok(), "path"), "cwd").filled().map(str::to_owned)
}

/// Begins a turn from a message's record. `created` (in milliseconds) and `kind` (the role) come from separate columns,
/// and apply if the record does not have them itself.
pub(crate) fn turn(created: Option<i64>, kind: Option<&str>, data: &str) -> Turn {
    let raw: MessageData<'_> = serde_json::from_str(data).unwrap_or_default();
    let kind = raw.role.get().or(kind);
    let role = match kind {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => Role::System,
    };
    let own = number(member(raw.time, "created"));
    let mut turn = Turn::new(role, own.or(created).and_then(instant));
    turn.counts = raw.error.is_none_or(|error| error.get() == "null");
    turn.model = match raw.model_id.filled() {
        Some(id) => Some(id.to_owned()),
        None => raw.model.filter(|_| role == Role::Assistant).and_then(|model| model_id(model.get())),
    };
    if let Some(text) = raw.text.get() {
        turn.add_text(text);
    }
    if let Some(text) = raw.error.and_then(error_text) {
        turn.error(text);
    }
    let parts: Vec<&RawValue> = inner(raw.content);
    parts.iter().for_each(|part| add_part(&mut turn, part.get()));
    match kind {
        Some("shell") => {
            turn.tool(format!("! {}", raw.command.get().unwrap_or_default()));
            add_result(&mut turn, text_or(raw.output, "output"));
        }
        Some("compaction") => turn.add_text(text_or(raw.summary, "summary")),
        _ => {}
    }
    turn
}

/// Returns a text, or that of a member of an object.
fn text_or<'a>(value: Option<&'a RawValue>, key: &str) -> Cow<'a, str> {
    let member = member(value, key);
    [value, member].into_iter().find_map(|text| inner::<Text<'_>>(text).into_inner()).unwrap_or_default()
}

/// Adds a result of a tool, unless it is blank.
fn add_result(turn: &mut Turn, text: impl AsRef<str>) {
    let text = text.as_ref();
    if !text.trim().is_empty() {
        turn.tool(format!("→ {text}"));
    }
}

/// Returns the text of an error of the API, with its status (1.18.34); `None` if the user stopped the reply.
fn error_text(error: &RawValue) -> Option<String> {
    let [name, data] = members(Some(error), ["name", "data"]);
    let name = inner::<Text<'_>>(name);
    let name = name.filled().filter(|name| *name != "MessageAbortedError")?;
    let status = member(data, "statusCode").map(|status| format!(" {}", status.get())).unwrap_or_default();
    let message = text_in(data, "message").filled().map(|message| format!(": {message}")).unwrap_or_default();
    Some(format!("{name}{status}{message}"))
}

/// Adds a part of a message: a text, or a tool call.
pub(crate) fn add_part(turn: &mut Turn, data: &str) {
    let part: PartData<'_> = serde_json::from_str(data).unwrap_or_default();
    match part.kind.get() {
        // Files named in a prompt are added as text that the user did not type.
        Some("text") if !part.synthetic.0 && !part.ignored.0 => turn.add_text(part.text.get().unwrap_or_default()),
        // The task of a sub-agent, from a command of the user.
        Some("subtask") => turn.add_text(text_in(serde_json::from_str(data).ok(), "prompt").get().unwrap_or_default()),
        Some("tool") => {
            // Version 2 has a list of blocks in place of the output, and an object in place of the error.
            let [input, output, content, error] = members(part.state, ["input", "output", "content", "error"]);
            turn.tool(call(part.tool.get().or(part.name.get()), input.map(RawValue::get)));
            add_result(turn, inner::<Text<'_>>(output).get().unwrap_or_default());
            add_result(turn, plain_text(content));
            add_result(turn, text_or(error, "message"));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(kind: &str, data: &str) -> Vec<(Role, String)> {
        let turn = turn(None, Some(kind), data);
        turn.messages.into_iter().map(|message| (message.role, message.text)).collect()
    }

    #[test]
    fn turn_has_results_and_errors_of_tools() {
        let tool = |state: &str| {
            texts("assistant", &format!(r#"{{"content":[{{"type":"tool","name":"sh","state":{state}}}]}}"#))
        };
        let result = |text: &str| vec![(Role::Tool, "sh".to_owned()), (Role::Tool, format!("→ {text}"))];
        assert_eq!(tool(r#"{"output":"heron"}"#), result("heron"));
        assert_eq!(tool(r#"{"error":"heron"}"#), result("heron"));
        assert_eq!(tool(r#"{"error":{"type":"x","message":"heron"}}"#), result("heron"));
        assert_eq!(tool(r#"{"content":[{"type":"text","text":"heron"},{"type":"file","uri":"x"}]}"#), result("heron"));
        assert_eq!(tool(r#"{"output":7,"content":7,"error":7}"#), [(Role::Tool, "sh".to_owned())]);
    }

    #[test]
    fn turn_has_command_of_user_and_summary() {
        let expected = [(Role::Tool, "! make".to_owned()), (Role::Tool, "→ made".to_owned())];
        assert_eq!(texts("shell", r#"{"command":"make","output":"made"}"#), expected);
        assert_eq!(texts("shell", r#"{"command":"make","output":{"output":"made","size":4}}"#), expected);
        assert_eq!(texts("shell", r#"{"command":"make"}"#), expected[..1]);
        let summary = r#"{"summary":"heron","recent":"x"}"#;
        assert_eq!(texts("compaction", summary), [(Role::System, "heron".to_owned())]);
        assert_eq!(texts("user", summary), []);
    }
}
