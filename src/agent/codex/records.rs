//! The records of Codex's rollouts, with only the fields that are used.
//!
//! Codex has used three formats, and one file may mix the latter two: bare items without an envelope (until September
//! 2025), `user_message` events (0.57), and `item_completed` events with a `UserMessage` (0.169). Facts: measured on
//! 0.169.0 and 0.57.0; openai/codex rollout crate 005c8184 for the rest.

use std::borrow::Cow;

use crate::agent::prelude::*;
use crate::format::content::{Block, blocks, is_injected, plain_text};
use crate::format::json::record;
use crate::format::skim::{self, Raw};

/// A line of a rollout.
#[derive(Debug, Default, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(crate) struct CodexRecord<'a> {
    #[serde(default)]
    timestamp: Text<'a>,
    #[serde(default, rename = "type")]
    kind: Text<'a>,
    #[serde(default)]
    payload: Raw<'a>,
    /// Set for an item without an envelope, which is its own payload.
    #[serde(skip)]
    is_bare: bool,
}

/// The payload of a record, or the whole line if there is no envelope.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Payload<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    role: Text<'a>,
    cwd: Raw<'a>,
    model: Raw<'a>,
    content: Raw<'a>,
    message: Raw<'a>,
    /// The type of a user message, which only some versions of 2025 record.
    #[serde(rename = "kind")]
    message_kind: Raw<'a>,
    item: Raw<'a>,
    name: Raw<'a>,
    arguments: Raw<'a>,
    input: Raw<'a>,
    action: Raw<'a>,
    output: Raw<'a>,
    error: Raw<'a>,
}

impl<'a> Payload<'a> {
    /// Parses an object; any other value has no fields.
    fn of(raw: Raw<'a>) -> Self {
        let bytes = raw.bytes().unwrap_or_default();
        Self::skimmed(bytes).or_else(|| record(bytes)).unwrap_or_default()
    }

    /// Parses a value that is plainly an object; `None` if only a parser can decide that.
    fn skimmed(bytes: &'a [u8]) -> Option<Self> {
        let (mut payload, mut kind, mut role) = (Self::default(), Raw::default(), Raw::default());
        let mut is_plain = true;
        skim::members(bytes, |name, value| {
            let field = match name {
                b"type" => &mut kind,
                b"role" => &mut role,
                b"cwd" => &mut payload.cwd,
                b"model" => &mut payload.model,
                b"content" => &mut payload.content,
                b"message" => &mut payload.message,
                b"kind" => &mut payload.message_kind,
                b"item" => &mut payload.item,
                b"name" => &mut payload.name,
                b"arguments" => &mut payload.arguments,
                b"input" => &mut payload.input,
                b"action" => &mut payload.action,
                b"output" => &mut payload.output,
                b"error" => &mut payload.error,
                _ => return,
            };
            // A parser refuses a repeated member.
            is_plain &= std::mem::replace(field, value).bytes().is_none();
        })?;
        (payload.kind, payload.role) = (kind.text()?, role.text()?);
        is_plain.then_some(payload)
    }
}

/// A user prompt in the form in which a record contains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Prompt {
    /// From an event; the text is empty for an image alone.
    Typed(String),
    /// A message to the model in the role of the user; it counts only in a rollout without such events.
    Sent(String),
}

/// Beginnings of texts that Codex inserted (0.169.0; the rest is in the source's lists).
const INJECTED: &[&str] = &[
    "<environment_context>",
    "<user_instructions>",
    "<INSTRUCTIONS>",
    "# AGENTS.md instructions",
    "<permissions instructions>",
    "<skills_instructions>",
    "<collaboration_mode>",
    "<turn_aborted>",
    "<user_shell_command>",
    "<subagent_notification>",
    "<skill>",
];
/// The heading after which an editor extension puts the typed text.
const REQUEST: &str = "## My request for Codex:";

/// Returns the typed part of a prompt; an editor extension prepends its context.
fn without_context(text: &str) -> &str {
    match text.split_once(REQUEST) {
        Some((before, typed)) if before.trim_start().starts_with('#') => typed.trim(),
        _ => text,
    }
}

/// The directory and the model of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TurnContext {
    /// Its working directory.
    pub cwd: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
}

impl<'a> CodexRecord<'a> {
    /// Parses a line; `None` if it is not a JSON object.
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        Some(record::<Self>(line)?.or_bare(line))
    }

    /// Parses a line, usually without parsing unused members.
    pub(crate) fn of_line(line: &'a [u8]) -> Option<Self> {
        let skimmed = || {
            let [timestamp, kind, payload] = skim::single_members(line, ["timestamp", "type", "payload"])?;
            Some(Self { timestamp: timestamp.text()?, kind: kind.text()?, payload, is_bare: false }.or_bare(line))
        };
        skimmed().or_else(|| Self::parse(line))
    }

    fn or_bare(self, line: &'a [u8]) -> Self {
        match self.payload.bytes() {
            None | Some(b"null") => Self { is_bare: true, payload: line.into(), ..self },
            Some(_) => self,
        }
    }

    fn kind(&self) -> Option<&str> {
        if self.is_bare { Some("response_item") } else { self.kind.get() }
    }

    /// Returns the time of the record; bare items have none.
    pub(crate) fn at(&self) -> Option<Timestamp> {
        self.timestamp.instant()
    }

    /// Returns whether the record is about the session as a whole.
    pub(crate) fn is_meta(&self) -> bool {
        self.kind() == Some("session_meta")
    }

    /// Returns the directory and the model of the turn that begins here.
    pub(crate) fn turn(&self) -> Option<TurnContext> {
        if self.kind() != Some("turn_context") {
            return None;
        }
        let payload = self.payload();
        Some(TurnContext { cwd: payload.cwd.filled(), model: payload.model.filled() })
    }

    /// Returns the user's prompt, if the record contains one.
    pub(crate) fn prompt(&self) -> Option<Prompt> {
        let kind = self.kind().filter(|kind| matches!(*kind, "event_msg" | "response_item"))?;
        let payload = self.payload();
        match (kind, payload.kind.get()?) {
            ("event_msg", "user_message") => {
                let is_typed = payload.message_kind.lenient_text().get().is_none_or(|kind| kind == "plain");
                let text = payload.message.lenient_text();
                is_typed.then(|| Prompt::Typed(without_context(text.get().unwrap_or_default()).to_owned()))
            }
            ("event_msg", "item_completed") => {
                let item = Payload::of(payload.item);
                let is_typed = item.kind.get() == Some("UserMessage");
                is_typed.then(|| Prompt::Typed(without_context(&texts(item.content).concat()).to_owned()))
            }
            ("response_item", "message") if payload.role.get() == Some("user") => {
                let sent: Vec<_> =
                    texts(payload.content).into_iter().filter(|text| !is_injected(text, INJECTED)).collect();
                (!sent.is_empty()).then(|| Prompt::Sent(without_context(&sent.concat()).to_owned()))
            }
            _ => None,
        }
    }

    /// Returns whether the record is known to carry no conversation (0.169.0 and 0.57.0).
    pub(super) fn is_silent(&self) -> bool {
        let payload = self.payload();
        match (self.kind(), payload.kind.get()) {
            (Some("session_meta" | "turn_context" | "world_state" | "token_usage_record"), _) => true,
            (Some("event_msg"), Some(kind)) => {
                ["thread_settings_applied", "task_started", "task_complete", "token_count", "turn_aborted"]
                    .contains(&kind)
            }
            (Some("response_item"), Some("message")) => {
                let texts = texts(payload.content);
                let is_put_in = |role: &str| match role {
                    "developer" | "system" => true,
                    "user" => texts.iter().all(|text| is_injected(text, INJECTED)),
                    _ => false,
                };
                !texts.is_empty() && payload.role.get().is_some_and(is_put_in)
            }
            _ => false,
        }
    }

    /// Returns whether the record is a reply with a text or a call; each such record is one reply.
    pub(crate) fn is_reply(&self) -> bool {
        if self.kind() != Some("response_item") {
            return false;
        }
        let payload = self.payload();
        match payload.kind.get() {
            Some("message") => {
                payload.role.get() == Some("assistant")
                    && texts(payload.content).iter().any(|text| !text.trim().is_empty())
            }
            Some(kind) => kind.ends_with("_call"),
            None => false,
        }
    }

    /// Returns the directory in the first message to the model of a rollout without an envelope.
    pub(crate) fn told_cwd(&self) -> Option<String> {
        let payload = self.payload();
        let texts = texts(payload.content);
        let context = texts.iter().find(|text| text.trim_start().starts_with("<environment_context>"))?;
        let tagged = context.split_once("<cwd>").and_then(|(_, rest)| rest.split_once("</cwd>"));
        let labelled = || {
            let (_, rest) = context.split_once("Current working directory: ")?;
            Some((rest.lines().next()?, ""))
        };
        let (dir, _) = tagged.or_else(labelled)?;
        Some(dir.trim().to_owned()).filter(|dir| !dir.is_empty())
    }

    /// Formats the record as a message, if it is part of the conversation; for prompts see [`CodexRecord::prompt`].
    pub(crate) fn message(&self) -> Option<Message> {
        let at = self.at();
        let payload = self.payload();
        let message = |role, text: String| Some(Message::new(role, text, at));
        match (self.kind()?, payload.kind.get().unwrap_or_default()) {
            ("compacted", _) => {
                let summary = payload.message.filled().unwrap_or_else(|| "the conversation was compacted".to_owned());
                message(Role::System, summary)
            }
            ("event_msg", "task_complete") => {
                let error = Payload::of(payload.error).message.filled()?;
                message(Role::System, format!("error: {error}")).map(Message::into_error)
            }
            ("response_item", "message") if payload.role.get() == Some("assistant") => {
                message(Role::Assistant, texts(payload.content).join("\n")).filter(|message| !message.text.is_empty())
            }
            ("response_item", kind) if kind.ends_with("_call") => {
                let (arguments, input) = (payload.arguments.lenient_text(), payload.input.lenient_text());
                let given = arguments.get().or(input.get()).map(Cow::Borrowed);
                let given = given.or_else(|| payload.action.source()).unwrap_or_default();
                let name = payload.name.lenient_text();
                message(Role::Tool, format!("{} {given}", name.get().unwrap_or(kind)).trim_end().to_owned())
            }
            ("response_item", kind) if kind.ends_with("_call_output") => {
                let output = match plain_text(payload.output) {
                    text if text.is_empty() => payload.output.source().unwrap_or_default(),
                    text => Cow::Owned(text),
                };
                message(Role::Tool, format!("→ {output}"))
            }
            _ => None,
        }
    }

    fn payload(&self) -> Payload<'a> {
        Payload::of(self.payload)
    }
}

fn texts(content: Raw<'_>) -> Vec<Cow<'_, str>> {
    let texts = blocks(content).into_iter().filter_map(|block| match block {
        Block::Text(text) => Some(text),
        _ => None,
    });
    texts.collect()
}

/// Parses a line of `session_index.jsonl`: a session and its name (0.169.0).
pub(crate) fn named(line: &[u8]) -> Option<(String, String)> {
    let [id, name] = texts_in(record(line), ["id", "thread_name"]);
    Some((id.get()?.to_owned(), name.filled()?.trim().to_owned()))
}

/// `app-server-daemon/daemon.pid`: the process that serves every terminal (0.169.0).
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Daemon {
    /// Its process id.
    pub pid: u32,
    /// The identity of the process.
    #[serde(default, rename = "processIdentity")]
    pub identity: DaemonIdentity,
}

/// Data that distinguishes the process from another one with the same id.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct DaemonIdentity {
    /// Its start in clock ticks since boot.
    pub start_ticks: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(line: &str) -> CodexRecord<'_> {
        let (parsed, skimmed) = (CodexRecord::parse(line.as_bytes()), CodexRecord::of_line(line.as_bytes()));
        assert_eq!(format!("{skimmed:?}"), format!("{parsed:?}"), "{line}");
        skimmed.expect("a record")
    }

    #[test]
    fn typed_prompts_are_parsed_in_both_formats() {
        for (line, expected) in [
            (r#"{"type":"event_msg","payload":{"type":"user_message","message":"a\tb","images":[]}}"#, "a\tb"),
            (r#"{"type":"event_msg","payload":{"type":"user_message","message":"x","kind":"plain"}}"#, "x"),
            (r#"{"type":"event_msg","payload":{"type":"user_message","images":["data:"]}}"#, ""),
            (
                r#"{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"UserMessage","content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}}}"#,
                "ab",
            ),
            (
                r###"{"type":"event_msg","payload":{"type":"user_message","message":"# Context from my IDE setup:\n\n## Open tabs:\n- a.rs\n\n## My request for Codex:\nfix it\n"}}"###,
                "fix it",
            ),
            (
                r###"{"type":"event_msg","payload":{"type":"user_message","message":"what does ## My request for Codex: mean?"}}"###,
                "what does ## My request for Codex: mean?",
            ),
        ] {
            assert_eq!(record(line).prompt(), Some(Prompt::Typed(expected.to_owned())), "{line}");
        }
        for line in [
            r#"{"type":"event_msg","payload":{"type":"user_message","message":"x","kind":"environment_context"}}"#,
            r#"{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"AgentMessage","content":[{"type":"Text","text":"x"}]}}}"#,
            r#"{"type":"event_msg","payload":{"type":"agent_message","message":"x"}}"#,
            r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>\n</environment_context>"}]}}"#,
            r#"{"type":"response_item","payload":{"type":"message","role":"developer","content":[{"type":"input_text","text":"x"}]}}"#,
            r#"{"type":"compacted","payload":{"message":"x","replacement_history":[]}}"#,
            r#"{"type":"event_msg"}"#,
            "{}",
        ] {
            assert_eq!(record(line).prompt(), None, "{line}");
        }
    }

    #[test]
    fn record_with_duplicate_member_is_refused() {
        assert!(CodexRecord::of_line(br#"{"type":"event_msg","type":"event_msg","payload":{}}"#).is_none());
        let twice = r#"{"type":"response_item","payload":{"type":"function_call","name":"a","name":"b"}}"#;
        assert!(!record(twice).is_reply());
    }

    #[test]
    fn prompt_in_response_item_is_marked_as_sent() {
        for line in [
            r##"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"# AGENTS.md instructions for /w"},{"type":"input_text","text":"x"}]}}"##,
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}"#,
        ] {
            assert_eq!(record(line).prompt(), Some(Prompt::Sent("x".to_owned())), "{line}");
        }
    }

    #[test]
    fn reply_has_text_or_a_tool_call() {
        for (line, expected) in [
            (
                r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]}}"#,
                true,
            ),
            (r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[]}}"#, false),
            (r#"{"type":"response_item","payload":{"type":"function_call","name":"shell"}}"#, true),
            (r#"{"type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch"}}"#, true),
            (r#"{"type":"response_item","payload":{"type":"web_search_call"}}"#, true),
            (r#"{"type":"response_item","payload":{"type":"function_call_output","output":"x"}}"#, false),
            (r#"{"type":"response_item","payload":{"type":"reasoning","summary":[]}}"#, false),
            (r#"{"type":"event_msg","payload":{"type":"agent_message","message":"x"}}"#, false),
            (r#"{"type":"function_call","name":"shell"}"#, true),
        ] {
            assert_eq!(record(line).is_reply(), expected, "{line}");
        }
    }

    #[test]
    fn directory_is_read_from_first_message() {
        for line in [
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>\n  <cwd>/w/a b</cwd>\n</environment_context>"}]}"#,
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>\n\nCurrent working directory: /w/a b\nApproval policy: never\n</environment_context>"}]}"#,
        ] {
            assert_eq!(record(line).told_cwd().as_deref(), Some("/w/a b"), "{line}");
        }
        let other = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"<cwd>/x</cwd>"}]}"#;
        assert_eq!(record(other).told_cwd(), None);
    }
}
