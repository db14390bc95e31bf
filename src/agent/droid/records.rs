//! The files of a Droid session: a record about itself and then a message a line, and its settings.
//!
//! Facts: read in the packages of droid 0.215.0 and 0.225.2.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::format::content::{Block, blocks};
use crate::format::json::{Flag, Text, list, record, text_in};
use crate::session::{Message, Role};

/// What it calls a session that nobody and no model has named.
const UNTITLED: [&str; 3] = ["New Session", "Untitled", "Generating title…"];
/// What it puts into prompts that nobody typed.
const PUT_IN: [(&str, &str); 2] =
    [("<system-reminder>", "</system-reminder>"), ("<system-notification>", "</system-notification>")];

/// A line.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Record<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    timestamp: Text<'a>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    pub(super) cwd: Text<'a>,
    /// Where it worked last, if that is another directory; the file stays where it is.
    pub(super) last_cwd: Text<'a>,
    title: Text<'a>,
    /// What stood for the title in an older version.
    session_title: Text<'a>,
    /// The session that this one is a fork of.
    pub(super) parent: Text<'a>,
    /// The session that had this one made for a part of its work.
    pub(super) calling_session_id: Text<'a>,
    decomp_session_type: Text<'a>,
}

/// What was said in a line.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Said<'a> {
    role: Text<'a>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    visibility: Text<'a>,
    #[serde(borrow)]
    is_user_visible: Option<&'a RawValue>,
    hidden_from_user_views: Flag,
    hook_event_name: Text<'a>,
    model_id: Text<'a>,
}

impl Said<'_> {
    /// Returns whether it is part of the conversation as both sides see it.
    fn is_for_both(&self) -> bool {
        let is_hidden = self.hidden_from_user_views.0 || self.is_user_visible.is_some_and(|flag| flag.get() == "false");
        !is_hidden && self.hook_event_name.get().is_none() && self.visibility.get().is_none_or(|who| who == "both")
    }
}

impl<'a> Record<'a> {
    /// Reads a line.
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        record(line)
    }

    /// Returns whether it is the one about the session.
    pub(super) fn is_start(&self) -> bool {
        self.kind.get() == Some("session_start")
    }

    /// Returns whether it ends a turn.
    pub(super) fn ends_turn(&self) -> bool {
        self.kind.get() == Some("agent_turn_outcome")
    }

    /// Returns whether a mission had the session made for a part of its work.
    pub(super) fn is_worker(&self) -> bool {
        self.decomp_session_type.get() == Some("worker")
    }

    /// Returns what Droid's list shows, if that says something.
    pub(super) fn title(&self) -> Option<&str> {
        let is_title = |title: &&str| !UNTITLED.iter().any(|none| title.eq_ignore_ascii_case(none));
        [&self.session_title, &self.title].into_iter().filter_map(Text::filled).find(is_title)
    }

    /// Returns when it was written.
    pub(super) fn at(&self) -> Option<Timestamp> {
        self.timestamp.instant()
    }

    /// Returns what a person typed.
    pub(super) fn prompt(&self) -> Option<String> {
        let said = self.said()?;
        let texts: Vec<String> = match said.role.get() {
            Some("user") if said.is_for_both() => blocks(said.content).into_iter().filter_map(typed).collect(),
            _ => Vec::new(),
        };
        Some(texts.join("\n")).filter(|text| !text.is_empty())
    }

    /// Returns whether the model says or calls something.
    pub(super) fn is_reply(&self) -> bool {
        let is_reply = |said: &Said<'_>| said.role.get() == Some("assistant") && said.is_for_both();
        self.said().filter(is_reply).is_some_and(|said| blocks(said.content).iter().any(Block::says_something))
    }

    /// Returns the model that answers.
    pub(super) fn model(&self) -> Option<String> {
        self.said().and_then(|said| said.model_id.filled().map(str::to_owned))
    }

    fn said(&self) -> Option<Said<'a>> {
        let raw = self.message.filter(|_| self.kind.get() == Some("message"))?;
        serde_json::from_str(raw.get()).ok()
    }

    /// Puts the record in words: what is said, and each call of a tool and its answer.
    pub(super) fn messages(&self) -> Vec<Message> {
        let Some(said) = self.said() else { return Vec::new() };
        let is_for_both = said.is_for_both();
        let message = |block: Block<'_>| {
            let role = match (said.role.get(), &block) {
                (Some("assistant"), _) if is_for_both => Role::Assistant,
                (Some("user"), Block::Text(text)) if is_for_both && !without_put_in(text).is_empty() => Role::User,
                _ => Role::System,
            };
            block.message(role, self.at()).filter(|message| !message.text.trim().is_empty())
        };
        blocks(said.content).into_iter().filter_map(message).collect()
    }
}

/// Returns what a person typed of a block.
fn typed(block: Block<'_>) -> Option<String> {
    let Block::Text(text) = block else { return None };
    Some(without_put_in(&text)).filter(|text| !text.is_empty())
}

/// Returns a text without what Droid put in.
fn without_put_in(text: &str) -> String {
    let mut text = text.to_owned();
    for (start, end) in PUT_IN {
        let (mut left, mut rest) = (String::with_capacity(text.len()), text.as_str());
        while let Some((before, inside)) = rest.split_once(start)
            && let Some((_, behind)) = inside.split_once(end)
        {
            left.push_str(before);
            rest = behind;
        }
        left.push_str(rest);
        text = left;
    }
    text.trim().to_owned()
}

/// What the settings beside a session say.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Settings<'a> {
    /// When it was put aside.
    pub(super) archived_at: Text<'a>,
    #[serde(borrow)]
    tags: Option<&'a RawValue>,
}

impl Settings<'_> {
    /// Returns whether the session has one of these tags.
    pub(super) fn has_tag(&self, names: &[&str]) -> bool {
        let is_one = |tag: &RawValue| text_in(Some(tag), "name").get().is_some_and(|name| names.contains(&name));
        list(self.tags).into_iter().any(is_one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(message: &str) -> String {
        format!(r#"{{"type":"message","message":{message}}}"#)
    }

    fn said(message: &str) -> Vec<(Role, String)> {
        let line = line(message);
        let record = Record::parse(line.as_bytes()).expect("a record");
        record.messages().into_iter().map(|message| (message.role, message.text)).collect()
    }

    fn prompt(message: &str) -> Option<String> {
        Record::parse(line(message).as_bytes()).expect("a record").prompt()
    }

    #[test]
    fn what_was_typed_is_told_from_what_was_put_in_and_from_what_tools_say() {
        let cases = [
            (r#"{"role":"user","content":[{"type":"text","text":"a"}]}"#, Role::User, "a"),
            (r#"{"role":"user","content":"a"}"#, Role::User, "a"),
            (r#"{"role":"assistant","content":[{"type":"text","text":"a"}]}"#, Role::Assistant, "a"),
            (r#"{"role":"user","content":"a","visibility":"llm_only"}"#, Role::System, "a"),
            (r#"{"role":"user","content":"a","isUserVisible":false}"#, Role::System, "a"),
            (r#"{"role":"user","content":"a","hiddenFromUserViews":true}"#, Role::System, "a"),
            (r#"{"role":"user","content":"a","hookEventName":"Stop"}"#, Role::System, "a"),
            (r#"{"role":"assistant","content":[{"type":"tool_use","name":"LS","input":{}}]}"#, Role::Tool, "LS {}"),
            (r#"{"role":"user","content":[{"type":"tool_result","content":"x"}]}"#, Role::Tool, "→ x"),
        ];
        for (message, role, text) in cases {
            assert_eq!(said(message), [(role, text.to_owned())], "{message}");
            assert_eq!(prompt(message).is_some(), role == Role::User, "{message}");
        }
        for nothing in ["[]", r#"{"role":"assistant","content":[{"type":"thinking","thinking":"a"}]}"#] {
            assert_eq!(said(nothing), [], "{nothing}");
        }
    }

    #[test]
    fn a_prompt_is_what_is_left_when_what_was_put_in_is_out() {
        let cases = [
            ("<system-reminder>x</system-reminder> why? ", "why?"),
            ("why<system-notification>x</system-notification>?", "why?"),
            ("<system-reminder>x", "<system-reminder>x"),
            ("<system-reminder>x</system-reminder><system-reminder>y</system-reminder>", ""),
        ];
        for (text, left) in cases {
            assert_eq!(without_put_in(text), left, "{text}");
        }
        let parts = r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#;
        assert_eq!(prompt(parts).as_deref(), Some("a\nb"));
    }

    #[test]
    fn settings_of_any_shape_are_read_as_far_as_they_go() {
        let has = |json: &str| serde_json::from_str::<Settings<'_>>(json).unwrap_or_default().has_tag(&["exec"]);
        assert!(has(r#"{"tags":[1,{"name":"other"},{"name":"exec"}]}"#));
        assert!(["{}", "[]", r#"{"tags":{"name":"exec"}}"#, r#"{"tags":["exec"]}"#].iter().all(|json| !has(json)));
    }
}
