//! Parses the files of a Droid session: a header record, then one message per line, and the settings.
//!
//! Facts: read in the packages of droid 0.215.0 and 0.225.2.

use crate::agent::lines;
use crate::agent::prelude::*;
use crate::format::content::{Block, blocks};
use crate::format::json::list;

/// Titles of a session that neither the user nor a model has named.
const UNTITLED: [&str; 3] = ["New Session", "Untitled", "Generating title…"];
/// Tags of texts that Droid inserts into prompts.
const PUT_IN: [(&str, &str); 2] =
    [("<system-reminder>", "</system-reminder>"), ("<system-notification>", "</system-notification>")];

/// A line of a log.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(in crate::agent) struct DroidRecord<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    timestamp: Text<'a>,
    message: Option<&'a RawValue>,
    cwd: Text<'a>,
    /// Its last working directory, if it has changed; the file stays in its project.
    last_cwd: Text<'a>,
    title: Text<'a>,
    /// The title in an older version.
    session_title: Text<'a>,
    /// The session that this one is a fork of.
    parent: Text<'a>,
    /// The session that started this one for a part of its work.
    calling_session_id: Text<'a>,
    decomp_session_type: Text<'a>,
}

/// The message in a line.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct DroidMessage<'a> {
    role: Text<'a>,
    content: Option<&'a RawValue>,
    visibility: Text<'a>,
    is_user_visible: Option<&'a RawValue>,
    hidden_from_user_views: Flag,
    hook_event_name: Text<'a>,
    model_id: Text<'a>,
}

impl DroidMessage<'_> {
    /// Returns whether the message is visible to both the user and the model.
    fn is_for_both(&self) -> bool {
        let is_hidden = self.hidden_from_user_views.0 || self.is_user_visible.is_some_and(|flag| flag.get() == "false");
        !is_hidden && self.hook_event_name.get().is_none() && self.visibility.get().is_none_or(|who| who == "both")
    }
}

impl<'a> DroidRecord<'a> {
    /// Returns the model that answers.
    pub(super) fn model(&self) -> Option<String> {
        self.message()?.model_id.filled().map(str::to_owned)
    }

    /// Fills in a copy from the first record.
    pub(super) fn describe(&self, copy: &mut SessionCopy) {
        if self.kind.get() != Some("session_start") {
            return;
        }
        let last = self.last_cwd.filled().and_then(recorded::dir);
        if let Some(dir) = last.clone() {
            let detail = "lastCwd of session_start".into();
            copy.evidence.push(Evidence { dir, source: "last-directory", detail, counts: true });
        }
        copy.set_dir(self.cwd.get(), "cwd of session_start");
        copy.last_dir = last.map(|dir| Fact::new(dir, "last-directory")).or(copy.last_dir.take());
        copy.title = self.title().map(|title| Fact::new(title.to_owned(), "session_start"));
        let caller = self.calling_session_id.filled();
        let is_worker = self.decomp_session_type.get() == Some("worker");
        copy.kind = match self.parent.filled() {
            _ if caller.is_some() || is_worker => SessionKind::Subagent,
            Some(_) => SessionKind::Fork,
            None => SessionKind::Main,
        };
        copy.parent_id = caller.or(self.parent.filled()).map(str::to_owned);
    }

    /// Returns the title in Droid's list, if it is meaningful.
    fn title(&self) -> Option<&str> {
        let is_title = |title: &&str| !UNTITLED.iter().any(|none| title.eq_ignore_ascii_case(none));
        [&self.session_title, &self.title].into_iter().filter_map(Text::filled).find(is_title)
    }

    fn message(&self) -> Option<DroidMessage<'a>> {
        let raw = self.message.filter(|_| self.kind.get() == Some("message"))?;
        serde_json::from_str(raw.get()).ok()
    }
}

impl lines::Record for DroidRecord<'_> {
    fn at(&self, _zone: &TimeZone) -> Option<Timestamp> {
        self.timestamp.instant()
    }

    fn turn(&self) -> Option<Turn> {
        let message = self.message()?;
        let role = match message.role.get() {
            Some("user") if message.is_for_both() => Role::User,
            Some("assistant") if message.is_for_both() => Role::Assistant,
            _ => Role::System,
        };
        let mut turn = Turn::new(role, self.timestamp.instant());
        let mut typed = Vec::new();
        for block in blocks(message.content) {
            match block {
                Block::Text(text) if role == Role::User => match without_put_in(&text) {
                    left if left.is_empty() => turn.messages.extend(Block::Text(text).message(Role::System, turn.at)),
                    left => typed.push(left),
                },
                Block::Text(text) => turn.add_text(text),
                block => turn.messages.extend(block.message(role, turn.at)),
            }
        }
        turn.add_text(typed.join("\n"));
        Some(turn)
    }
}

/// Returns a text without the parts that Droid inserted.
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

/// The settings of a session.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct DroidSettings<'a> {
    /// The time at which it was archived.
    pub(super) archived_at: Text<'a>,
    tags: Option<&'a RawValue>,
}

impl DroidSettings<'_> {
    /// Returns whether the session has one of these tags.
    pub(super) fn has_tag(&self, names: &[&str]) -> bool {
        let is_one = |tag: &RawValue| text_in(Some(tag), "name").get().is_some_and(|name| names.contains(&name));
        list(self.tags).into_iter().any(is_one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::lines::Record as _;
    use crate::format::json::record;

    fn line(message: &str) -> String {
        format!(r#"{{"type":"message","message":{message}}}"#)
    }

    fn turn(message: &str) -> Option<Turn> {
        record::<DroidRecord<'_>>(line(message).as_bytes()).expect("a record").turn()
    }

    fn parsed_message(message: &str) -> Vec<(Role, String)> {
        let messages = turn(message).map(|turn| turn.messages).unwrap_or_default();
        messages.into_iter().map(|message| (message.role, message.text)).collect()
    }

    fn prompt(message: &str) -> Option<String> {
        turn(message)?.prompt().map(str::to_owned)
    }

    #[test]
    fn parser_distinguishes_typed_injected_and_tool_text() {
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
            assert_eq!(parsed_message(message), [(role, text.to_owned())], "{message}");
            assert_eq!(prompt(message).is_some(), role == Role::User, "{message}");
        }
        for nothing in ["[]", r#"{"role":"assistant","content":[{"type":"thinking","thinking":"a"}]}"#] {
            assert_eq!(parsed_message(nothing), [], "{nothing}");
        }
    }

    #[test]
    fn parser_removes_injected_reminders_from_prompt() {
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
    fn parser_tolerates_settings_with_unexpected_types() {
        let has = |json: &str| serde_json::from_str::<DroidSettings<'_>>(json).unwrap_or_default().has_tag(&["exec"]);
        assert!(has(r#"{"tags":[1,{"name":"other"},{"name":"exec"}]}"#));
        assert!(["{}", "[]", r#"{"tags":{"name":"exec"}}"#, r#"{"tags":["exec"]}"#].iter().all(|json| !has(json)));
    }
}
