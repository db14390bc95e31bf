//! The messages of a conversation, and the few facts in the files beside them.
//!
//! Facts: measured on Letta Code 0.25.9. The times in its records are invented: a counter of seconds from the beginning of
//! 2026. So none of them is read.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::format::content::{Block, blocks};
use crate::format::json::{Flag, Text, record};
use crate::session::recorded;
use crate::session::{Message, Role};

/// How the texts begin that the program puts before a prompt.
const REMINDER: &str = "<system-reminder>";
/// What stands before the directory and the branch in one of them.
pub(super) const DIRECTORY: &str = "**Current working directory**: ";
const REPOSITORY: &str = "**Git repository**: Yes (branch: ";

/// What conversation.json says.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Conversation<'a> {
    pub agent_id: Text<'a>,
    pub archived: Flag,
    pub summary: Text<'a>,
}

/// What manifest.json says; its time is the only one that is true.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Manifest<'a> {
    pub created_at: Text<'a>,
}

/// A line of messages.jsonl.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Line<'a> {
    role: Text<'a>,
    model: Text<'a>,
    content: Option<&'a RawValue>,
}

/// Where a process was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub dir: PathBuf,
    pub branch: Option<String>,
}

impl<'a> Line<'a> {
    /// Reads a line; `None` when it is no object.
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        record(line)
    }

    /// Returns what was typed: the last text, the others are put before it.
    pub(super) fn prompt(&self) -> Option<String> {
        let texts = self.role.get().filter(|role| *role == "user").map(|_| self.texts())?;
        texts.last().filter(|text| !is_reminder(text)).cloned()
    }

    /// Returns whether it says or calls something.
    pub(super) fn is_reply(&self) -> bool {
        self.role.get() == Some("assistant") && blocks(self.content).iter().any(Block::says_something)
    }

    /// Returns the model that answered.
    pub(super) fn model(&self) -> Option<&str> {
        self.model.filled().filter(|_| self.role.get() == Some("assistant"))
    }

    /// Returns where the process was started that wrote this, if it says so.
    pub(super) fn start(&self) -> Option<Start> {
        if self.role.get() != Some("user") {
            return None;
        }
        let texts = self.texts();
        let after = |text: &str, mark: &str| Some(text.split_once(mark)?.1.lines().next()?.to_owned());
        texts.iter().filter(|text| is_reminder(text)).find_map(|text| {
            let dir = recorded::dir(&after(text, DIRECTORY)?)?;
            let branch = after(text, REPOSITORY).and_then(|rest| Some(rest.split_once(')')?.0.to_owned()));
            Some(Start { dir, branch })
        })
    }

    /// Puts the line in words, without what the program put in.
    pub(super) fn messages(&self) -> Vec<Message> {
        let role = match self.role.get() {
            Some("user") => return self.prompt().into_iter().map(|text| say(Role::User, text)).collect(),
            Some("assistant") => Role::Assistant,
            Some("toolResult") => {
                return self.texts().into_iter().map(|text| say(Role::Tool, format!("→ {text}"))).collect();
            }
            _ => return Vec::new(),
        };
        let said = blocks(self.content).into_iter().filter(Block::says_something);
        said.filter_map(|block| block.message(role, None)).collect()
    }

    fn texts(&self) -> Vec<String> {
        let text = |block| match block {
            Block::Text(text) => Some(text.into_owned()),
            _ => None,
        };
        blocks(self.content).into_iter().filter_map(text).collect()
    }
}

fn say(role: Role, text: String) -> Message {
    Message { role, text, at: None }
}

fn is_reminder(text: &str) -> bool {
    text.trim_start().starts_with(REMINDER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(texts: &[&str]) -> String {
        let parts: Vec<_> = texts.iter().map(|text| serde_json::json!({"type": "text", "text": text})).collect();
        serde_json::json!({"role": "user", "content": parts}).to_string()
    }

    #[test]
    fn what_was_typed_is_the_last_text_and_a_reminder_never_is() {
        let prompt = |texts: &[&str]| Line::parse(user(texts).as_bytes()).and_then(|line| line.prompt());
        assert_eq!(prompt(&["<system-reminder>a", "b"]).as_deref(), Some("b"));
        assert_eq!(prompt(&["b"]).as_deref(), Some("b"));
        assert_eq!(prompt(&["a", "<system-reminder>b"]), None);
        assert_eq!(prompt(&[]), None);
    }

    #[test]
    fn a_start_is_told_by_a_reminder_alone() {
        let start = |texts: &[&str]| Line::parse(user(texts).as_bytes()).and_then(|line| line.start());
        let told =
            "<system-reminder>\n- **Current working directory**: /w/a b\n- **Git repository**: Yes (branch: main)\n";
        assert_eq!(start(&[told, "go"]), Some(Start { dir: "/w/a b".into(), branch: Some("main".to_owned()) }));
        let plain = "<system-reminder>\n- **Current working directory**: /w/a\n- **Git repository**: No\n";
        assert_eq!(start(&[plain, "go"]), Some(Start { dir: "/w/a".into(), branch: None }));
        assert_eq!(start(&["- **Current working directory**: /etc", "go"]), None, "anybody can type that");
        assert_eq!(start(&["<system-reminder>- **Current working directory**: etc"]), None, "relative to what?");
    }

    #[test]
    fn a_reply_says_or_calls_something() {
        let reply = |text: &str| Line::parse(text.as_bytes()).is_some_and(|line| line.is_reply());
        assert!(reply(r#"{"role":"assistant","content":[{"type":"toolCall","name":"Bash","arguments":{}}]}"#));
        for other in [
            r#"{"role":"assistant","content":[]}"#,
            r#"{"role":"toolResult","content":[{"type":"text","text":"x"}]}"#,
            r#"{"role":["assistant"],"content":"x"}"#,
            "[]",
            "{",
        ] {
            assert!(!reply(other), "{other}");
        }
    }
}
