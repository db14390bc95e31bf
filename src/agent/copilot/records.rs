//! The events of Copilot CLI, with only the fields that are used.
//!
//! Facts: measured on Copilot CLI 1.0.102; sub-agents, sources and compaction from the event reference of
//! github/copilot-sdk 03418125.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::format::content::call;
use crate::format::json::{Flag, Text, inner, list, members, record, texts_in};
use crate::session::{Message, Role};

/// A line of `events.jsonl`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Event<'a> {
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
}

/// Where a session works.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Context {
    /// The directory.
    pub cwd: String,
    /// The branch, in a repository.
    pub branch: Option<String>,
}

/// Tells by the first bytes of a line whether it may say where the session works.
pub(crate) fn may_have_context(line: &[u8]) -> bool {
    let start = &line[..line.len().min(64)];
    memchr::memmem::find(start, b"session.").is_some()
}

impl<'a> Event<'a> {
    /// Reads a line; `None` when it is not an event. A list would be taken for the fields in their order.
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        record(line)
    }
}

impl Event<'_> {
    /// Returns when it happened.
    pub(crate) fn at(&self) -> Option<Timestamp> {
        self.timestamp.instant()
    }

    /// Returns the directory and branch that a start, a resume or a change of directory records.
    pub(crate) fn context(&self) -> Option<Context> {
        let raw = match self.kind.get()? {
            "session.start" | "session.resume" => self.data().context,
            "session.context_changed" => self.data,
            _ => None,
        };
        let [cwd, branch] = texts_in(raw, ["cwd", "branch"]);
        // What is no absolute path would mean another directory to every caller.
        let cwd = cwd.filled().filter(|cwd| cwd.starts_with('/'))?;
        Some(Context { cwd: cwd.to_owned(), branch: branch.filled().map(str::to_owned) })
    }

    /// Returns the text that a person typed, if this is one; an attachment alone is an empty text.
    pub(crate) fn prompt(&self) -> Option<String> {
        if self.kind.get() != Some("user.message") {
            return None;
        }
        let data = self.data();
        let is_put_in = data.source.get().is_some_and(|source| source == "system" || source.starts_with("skill-"));
        if is_put_in || self.is_subagents(&data) {
            return None;
        }
        data.content.get().map(str::to_owned)
    }

    /// Returns what makes a reply count once, if it says or calls something.
    pub(crate) fn reply_id(&self) -> Option<String> {
        if self.kind.get() != Some("assistant.message") {
            return None;
        }
        let data = self.data();
        let says_something = data.content.filled().is_some() || !tool_requests(&data).is_empty();
        if !says_something || self.is_subagents(&data) {
            return None;
        }
        Some(data.message_id.filled().or_else(|| self.id.filled()).unwrap_or_default().to_owned())
    }

    /// Returns the model that answered.
    pub(crate) fn model(&self) -> Option<String> {
        if self.kind.get() != Some("assistant.message") {
            return None;
        }
        let data = self.data();
        if self.is_subagents(&data) { None } else { data.model.filled().map(str::to_owned) }
    }

    /// Puts the event in words; events that are no part of the conversation, or a sub-agent's, give none.
    pub(crate) fn messages(&self) -> Vec<Message> {
        let data = self.data();
        if self.is_subagents(&data) {
            return Vec::new();
        }
        let at = self.at();
        let say = |role, text: &str| Message { role, text: text.to_owned(), at };
        match self.kind.get() {
            Some("user.message") => self.prompt().map(|text| say(Role::User, &text)).into_iter().collect(),
            Some("assistant.message") => {
                let text = data.content.filled().map(|text| say(Role::Assistant, text));
                let calls = tool_requests(&data).into_iter().map(|request| {
                    let [name, arguments] = members(Some(request), ["name", "arguments"]);
                    say(Role::Tool, &call(inner::<Text<'_>>(name).get(), arguments.map(RawValue::get)))
                });
                text.into_iter().chain(calls).collect()
            }
            Some("tool.execution_complete") => {
                let [content, message] = texts_in(data.result.or(data.error), ["content", "message"]);
                let text = content.filled().or_else(|| message.filled()).unwrap_or_default();
                vec![say(Role::Tool, &format!("→ {text}"))]
            }
            Some("session.compaction_complete") if data.success.0 => {
                data.summary_content.filled().map(|text| say(Role::System, text)).into_iter().collect()
            }
            Some("session.error") => data.message.filled().map(|text| say(Role::System, text)).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Sub-agents share the file of the session that started them.
    fn is_subagents(&self, data: &Data<'_>) -> bool {
        self.agent_id.filled().is_some() || data.parent_tool_call_id.filled().is_some()
    }

    fn data(&self) -> Data<'_> {
        inner(self.data)
    }
}

fn tool_requests<'a>(data: &Data<'a>) -> Vec<&'a RawValue> {
    list(data.tool_requests).into_iter().filter(|raw| raw.get().starts_with('{')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str) -> Event<'_> {
        Event::parse(text.as_bytes()).expect("an event")
    }

    #[test]
    fn only_what_a_person_typed_is_a_prompt() {
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
    fn a_reply_says_or_calls_something_and_is_not_a_sub_agents() {
        let said = r#"{"type":"assistant.message","id":"e","data":{"messageId":"m1","model":"a","content":"Done."}}"#;
        assert_eq!((event(said).reply_id().as_deref(), event(said).model().as_deref()), (Some("m1"), Some("a")));
        let called = r#"{"type":"assistant.message","id":"e","data":{"content":"","toolRequests":[{"name":"bash"}]}}"#;
        assert_eq!(event(called).reply_id().as_deref(), Some("e"));
        for other in [
            r#"{"type":"assistant.message","data":{"messageId":"m1","content":" ","toolRequests":[]}}"#,
            r#"{"type":"assistant.message","data":{"messageId":"m1","content":"x","parentToolCallId":"c"}}"#,
            r#"{"type":"assistant.message","data":{"messageId":"m1","content":"x"},"agentId":"a1"}"#,
            r#"{"type":"assistant.message","data":{"messageId":"m1","toolRequests":{"name":"bash"}}}"#,
        ] {
            assert_eq!(event(other).reply_id(), None, "{other}");
        }
    }

    #[test]
    fn a_list_is_no_event() {
        assert!(Event::parse(br#"["user.message","e",null,null,{"content":"x"}]"#).is_none());
    }

    #[test]
    fn a_context_is_an_absolute_directory() {
        let start = r#"{"type":"session.start","data":{"context":{"cwd":"/w","branch":"main"}}}"#;
        let expected = Context { cwd: "/w".to_owned(), branch: Some("main".to_owned()) };
        assert_eq!(event(start).context(), Some(expected));
        let changed = r#"{"type":"session.context_changed","data":{"cwd":"/w/x","branch":7}}"#;
        assert_eq!(event(changed).context(), Some(Context { cwd: "/w/x".to_owned(), branch: None }));
        for other in [
            r#"{"type":"session.start","data":{"context":{"cwd":"w"}}}"#,
            r#"{"type":"session.resume","data":{"context":"/w"}}"#,
            r#"{"type":"tool.execution_start","data":{"context":{"cwd":"/w"}}}"#,
        ] {
            assert_eq!(event(other).context(), None, "{other}");
        }
    }
}
