//! The files of a Kimi Code session: `state.json`, and the log of what was said.
//!
//! Facts: Kimi Code 2.1.0, measured; the log's types by its code too.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::format::content::{call, plain_text};
use crate::format::json::{Flag, Text, epoch, member, members, record, text_in};
use crate::session::{Message, Role};

/// What `state.json` says.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct State<'a> {
    pub(super) cwd: Text<'a>,
    pub(super) title: Text<'a>,
    pub(super) archived: Flag,
    #[serde(borrow)]
    created_at: Option<&'a RawValue>,
    #[serde(borrow)]
    updated_at: Option<&'a RawValue>,
}

impl State<'_> {
    pub(super) fn created_at(&self) -> Option<Timestamp> {
        epoch(self.created_at, 1000)
    }

    pub(super) fn updated_at(&self) -> Option<Timestamp> {
        epoch(self.updated_at, 1000)
    }
}

/// A line of the log; what is not about the conversation is nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Record<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    #[serde(borrow)]
    time: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    event: Option<&'a RawValue>,
}

impl<'a> Record<'a> {
    /// Reads a line.
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        record(line)
    }

    /// Returns when it was written.
    pub(super) fn at(&self) -> Option<Timestamp> {
        epoch(self.time, 1000)
    }

    /// Returns whether it ends a turn.
    pub(super) fn ends_turn(&self) -> bool {
        matches!(self.kind.get(), Some("turn.ended" | "prompt.completed"))
    }

    /// Returns what a person typed.
    pub(super) fn prompt(&self) -> Option<String> {
        self.message().filter(|message| message.role == Role::User).map(|message| message.text)
    }

    /// Returns the step in which the model says something.
    pub(super) fn reply(&self) -> Option<String> {
        let said = self.message().filter(|message| message.role == Role::Assistant)?;
        let step = text_in(self.event, "stepUuid").into_inner();
        Some(step.map_or(said.text, |step| step.into_owned()))
    }

    /// Puts the record in words.
    pub(super) fn message(&self) -> Option<Message> {
        let (role, text) = match self.kind.get()? {
            "context.append_message" => {
                let [content, origin] = members(self.message, ["content", "origin"]);
                let is_typed = text_in(origin, "kind").get() == Some("user");
                let is_users = text_in(self.message, "role").get() == Some("user");
                (if is_typed && is_users { Role::User } else { Role::System }, plain_text(content))
            }
            "context.append_loop_event" => self.step()?,
            _ => return None,
        };
        Some(Message { role, text, at: self.at() }).filter(|message| !message.text.trim().is_empty())
    }

    /// Returns what happens in a step of the model.
    fn step(&self) -> Option<(Role, String)> {
        let [part, args, result] = members(self.event, ["part", "args", "result"]);
        match text_in(self.event, "type").get()? {
            "content.part" if text_in(part, "type").get() == Some("text") => {
                Some((Role::Assistant, text_in(part, "text").into_inner()?.into_owned()))
            }
            "tool.call" => Some((Role::Tool, call(text_in(self.event, "name").get(), args.map(RawValue::get)))),
            "tool.result" => {
                let output = member(result, "output");
                Some((Role::Tool, format!("→ {}", plain_text(output).trim_end())))
            }
            _ => None,
        }
    }
}

/// Returns whether a name can be an id.
pub(super) fn is_id(name: &str) -> bool {
    let rest = name.strip_prefix("session_").unwrap_or_default();
    !rest.is_empty() && rest.len() <= 128 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(line: &str) -> Option<(Role, String)> {
        Record::parse(line.as_bytes()).and_then(|record| record.message()).map(|message| (message.role, message.text))
    }

    #[test]
    fn what_a_person_typed_the_model_said_and_tools_did_is_told_apart() {
        let typed = r#"{"type":"context.append_message","message":{"role":"user","content":[{"type":"text","text":"a"}],"origin":{"kind":"user"}},"time":1769940000000}"#;
        assert_eq!(message(typed), Some((Role::User, "a".to_owned())));
        assert_eq!(
            message(&typed.replace(r#""kind":"user""#, r#""kind":"injection""#)),
            Some((Role::System, "a".to_owned()))
        );
        let event = |event: &str| message(&format!(r#"{{"type":"context.append_loop_event","event":{event}}}"#));
        let said = r#"{"type":"content.part","stepUuid":"s","part":{"type":"text","text":"b"}}"#;
        assert_eq!(event(said), Some((Role::Assistant, "b".to_owned())));
        assert_eq!(event(&said.replace(r#""type":"text""#, r#""type":"think""#)), None);
        let called = r#"{"type":"tool.call","name":"Bash","args":{"command":"ls"}}"#;
        assert_eq!(event(called), Some((Role::Tool, r#"Bash {"command":"ls"}"#.to_owned())));
        let answered = r#"{"type":"tool.result","result":{"output":"x\n","durationMs":1}}"#;
        assert_eq!(event(answered), Some((Role::Tool, "→ x".to_owned())));
        for other in
            [r#"{"type":"turn.prompt","input":[{"type":"text","text":"a"}]}"#, "{}", r#"{"type":7,"event":[]}"#]
        {
            assert_eq!(message(other), None, "{other}");
        }
    }

    #[test]
    fn only_its_own_names_are_ids() {
        assert!(is_id("session_4d25cf93-d87f-4fe7-bd0d-4c890ea87bdd"));
        for other in ["", "session_", "x", "session_..", "session_a/b", "session_a b", "-session_a"] {
            assert!(!is_id(other), "{other}");
        }
    }
}
