//! The events of Copilot CLI, with only the fields that are used.
//!
//! Facts: measured on Copilot CLI 1.0.102; imports from the package of 1.0.40; sub-agents, sources and compaction from the
//! event reference of github/copilot-sdk 03418125.

use crate::agent::lines;
use crate::agent::prelude::*;
use crate::format::content::{call, plain_text};
use crate::format::json::list;

/// A line of `events.jsonl`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct CopilotEvent<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    id: Text<'a>,
    timestamp: Text<'a>,
    agent_id: Text<'a>,
    data: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Data<'a> {
    content: Text<'a>,
    message_id: Text<'a>,
    parent_tool_call_id: Text<'a>,
    source: Text<'a>,
    model: Text<'a>,
    message: Text<'a>,
    summary_content: Text<'a>,
    success: Flag,
    tool_requests: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    context: Option<&'a RawValue>,
    legacy_session: Option<&'a RawValue>,
}

/// The working directory of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CopilotContext {
    /// The directory.
    pub cwd: String,
    /// The git branch, in a repository.
    pub branch: Option<String>,
}

/// Returns whether a line may contain the working directory, by its first bytes.
pub(crate) fn may_have_context(line: &[u8]) -> bool {
    let start = &line[..line.len().min(64)];
    memchr::memmem::find(start, b"session.").is_some()
}

impl CopilotEvent<'_> {
    /// Returns the directory and branch in a start, a resume or a change of directory.
    pub(crate) fn context(&self) -> Option<CopilotContext> {
        let raw = match self.kind.get()? {
            "session.start" | "session.resume" => self.data().context,
            "session.context_changed" => self.data,
            _ => None,
        };
        let [cwd, branch] = texts_in(raw, ["cwd", "branch"]);
        // A relative path would depend on the caller's directory.
        let cwd = cwd.filled().filter(|cwd| cwd.starts_with('/'))?;
        Some(CopilotContext { cwd: cwd.to_owned(), branch: branch.filled().map(str::to_owned) })
    }

    /// Returns whether the event holds a session of a version before 0.0.342.
    pub(crate) fn is_import(&self) -> bool {
        self.kind.get() == Some("session.import_legacy")
    }

    /// Returns the model that answered.
    pub(crate) fn model(&self) -> Option<String> {
        if self.kind.get() != Some("assistant.message") {
            return None;
        }
        let data = self.data();
        if self.is_subagents(&data) { None } else { data.model.filled().map(str::to_owned) }
    }

    /// Sub-agents share the file of the session that started them.
    fn is_subagents(&self, data: &Data<'_>) -> bool {
        self.agent_id.filled().is_some() || data.parent_tool_call_id.filled().is_some()
    }

    fn data(&self) -> Data<'_> {
        inner(self.data)
    }
}

impl lines::Record for CopilotEvent<'_> {
    fn at(&self, _zone: &TimeZone) -> Option<Timestamp> {
        self.timestamp.instant()
    }

    fn turn(&self) -> Option<Turn> {
        let data = self.data();
        if self.is_subagents(&data) {
            return None;
        }
        let role = match self.kind.get()? {
            "user.message" => Role::User,
            "assistant.message" => Role::Assistant,
            _ => Role::System,
        };
        let mut turn = Turn::new(role, self.timestamp.instant());
        match self.kind.get()? {
            "user.message" => {
                let source = data.source.get().unwrap_or_default();
                if source == "system" || source.starts_with("skill-") {
                    return None;
                }
                // An attachment alone is an empty text.
                turn.messages.push(Message::new(role, data.content.get()?.to_owned(), turn.at));
            }
            "assistant.message" => {
                // Several events may report one reply.
                turn.id = data.message_id.filled().or_else(|| self.id.filled()).map(str::to_owned);
                turn.add_text(data.content.filled().unwrap_or_default());
                for request in tool_requests(&data) {
                    let [name, arguments] = members(Some(request), ["name", "arguments"]);
                    turn.tool(call(inner::<Text<'_>>(name).get(), arguments.map(RawValue::get)));
                }
            }
            "tool.execution_complete" => {
                let [content, message] = texts_in(data.result.or(data.error), ["content", "message"]);
                turn.tool(format!("→ {}", content.filled().or_else(|| message.filled()).unwrap_or_default()));
            }
            "session.compaction_complete" if data.success.0 => turn.add_text(data.summary_content.filled()?),
            "session.import_legacy" => turn.messages = imported(&data, turn.at),
            "session.error" => turn.error(data.message.filled()?),
            _ => return None,
        }
        Some(turn)
    }
}

/// Returns the messages of the session that an event holds, as sent to the model (by the package of 1.0.40).
fn imported(data: &Data<'_>, at: Option<Timestamp>) -> Vec<Message> {
    let message = |raw: &RawValue| {
        let [role, content] = members(Some(raw), ["role", "content"]);
        let role = match inner::<Text<'_>>(role).get()? {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool" => Role::Tool,
            _ => return None,
        };
        Some(Message::new(role, plain_text(content), at)).filter(|message| !message.text.is_empty())
    };
    list(member(data.legacy_session, "chatMessages")).into_iter().filter_map(message).collect()
}

fn tool_requests<'a>(data: &Data<'a>) -> Vec<&'a RawValue> {
    list(data.tool_requests).into_iter().filter(|raw| raw.get().starts_with('{')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::lines::Record as _;
    use crate::format::json::record;

    fn event(text: &str) -> CopilotEvent<'_> {
        record::<CopilotEvent<'_>>(text.as_bytes()).expect("an event")
    }

    fn reply_id(event: &CopilotEvent<'_>) -> Option<String> {
        event.turn().filter(|turn| turn.is_reply())?.id
    }

    #[test]
    fn only_typed_text_is_a_prompt() {
        let typed =
            r#"{"type":"user.message","data":{"content":"add a test","transformedContent":"<now/> add a test"}}"#;
        assert_eq!(event(typed).prompt().as_deref(), Some("add a test"));
        for other in [
            r#"{"type":"user.message","data":{"content":"x","source":"skill-pdf"}}"#,
            r#"{"type":"user.message","data":{"content":"x"},"agentId":"a1"}"#,
            r#"{"type":"user.message","data":{"content":["x"]}}"#,
            r#"{"type":"user.message","data":7}"#,
            r#"{"type":"user.message"}"#,
            r#"{"type":["user.message"],"data":{"content":"x"}}"#,
            r#"{"type":"system.message","data":{"content":"x"}}"#,
        ] {
            assert_eq!(event(other).prompt(), None, "{other}");
        }
    }

    #[test]
    fn reply_needs_text_or_tool_call() {
        let reply_line =
            r#"{"type":"assistant.message","id":"e","data":{"messageId":"m1","model":"a","content":"Done."}}"#;
        assert_eq!(
            (reply_id(&event(reply_line)).as_deref(), event(reply_line).model().as_deref()),
            (Some("m1"), Some("a"))
        );
        let called = r#"{"type":"assistant.message","id":"e","data":{"content":"","toolRequests":[{"name":"bash"}]}}"#;
        assert_eq!(reply_id(&event(called)).as_deref(), Some("e"));
        for other in [
            r#"{"type":"assistant.message","data":{"messageId":"m1","content":" ","toolRequests":[]}}"#,
            r#"{"type":"assistant.message","data":{"messageId":"m1","content":"x","parentToolCallId":"c"}}"#,
            r#"{"type":"assistant.message","data":{"messageId":"m1","content":"x"},"agentId":"a1"}"#,
            r#"{"type":"assistant.message","data":{"messageId":"m1","toolRequests":{"name":"bash"}}}"#,
        ] {
            assert_eq!(reply_id(&event(other)), None, "{other}");
        }
    }

    #[test]
    fn json_array_is_not_an_event() {
        assert!(record::<CopilotEvent<'_>>(br#"["user.message","e",null,null,{"content":"x"}]"#).is_none());
    }

    #[test]
    fn context_needs_an_absolute_directory() {
        let start = r#"{"type":"session.start","data":{"context":{"cwd":"/w","branch":"main"}}}"#;
        let expected = CopilotContext { cwd: "/w".to_owned(), branch: Some("main".to_owned()) };
        assert_eq!(event(start).context(), Some(expected));
        let changed = r#"{"type":"session.context_changed","data":{"cwd":"/w/x","branch":7}}"#;
        assert_eq!(event(changed).context(), Some(CopilotContext { cwd: "/w/x".to_owned(), branch: None }));
        for other in [
            r#"{"type":"session.start","data":{"context":{"cwd":"w"}}}"#,
            r#"{"type":"session.resume","data":{"context":"/w"}}"#,
            r#"{"type":"tool.execution_start","data":{"context":{"cwd":"/w"}}}"#,
        ] {
            assert_eq!(event(other).context(), None, "{other}");
        }
    }
}
