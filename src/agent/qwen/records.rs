//! The records of Qwen Code's transcripts, with only the fields that are used.
//!
//! Facts: measured on Qwen Code 0.24.4 and 0.15.10; its chatRecordingService.ts (015346f1) for records that did not
//! occur.

use crate::agent::claude::slug::slug;
use crate::agent::lines;
use crate::agent::prelude::*;
use crate::agent::tree::ParentLink;
use crate::format::content::Block;
use crate::format::json;
use crate::format::parts::{parts, prompt};
use crate::session::branches::{Parent, Part, hash};

/// A line of a transcript.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct QwenRecord<'a> {
    /// The type of the record.
    #[serde(rename = "type")]
    pub kind: Text<'a>,
    /// The subtype of the record.
    pub subtype: Text<'a>,
    /// The time of the record.
    pub timestamp: Text<'a>,
    /// The working directory when the record was written.
    pub cwd: Text<'a>,
    /// The git branch; absent outside a repository.
    pub git_branch: Text<'a>,
    /// The model that answered.
    pub model: Text<'a>,
    /// The record's own id.
    pub uuid: Text<'a>,
    /// The parent record.
    parent_uuid: Text<'a>,
    /// Set if the record is part of a sub-agent's conversation.
    pub is_sidechain: Flag,
    provenance: Text<'a>,
    message: Option<&'a RawValue>,
    system_payload: Option<&'a RawValue>,
    forked_from: Option<&'a RawValue>,
}

/// Beginnings of texts that the program inserted.
const INJECTED: &[&str] = &["<system-reminder>", "<hook_context>"];

/// Parses a line; `None` if it is not a JSON object.
pub(crate) fn record(line: &[u8]) -> Option<QwenRecord<'_>> {
    json::record(line)
}

impl QwenRecord<'_> {
    /// Returns the record's place in the tree: Qwen Code resumes at the last record (measured on 0.24.4), and the
    /// conversation begins at a record whose parent is missing (the package of 0.24.4).
    pub(super) fn link(&self) -> Option<ParentLink> {
        let id = Some(hash(self.uuid.filled()?));
        let parent = self.parent_uuid.filled().map_or(Parent::None, |parent| Parent::Record(hash(parent)));
        let part = match self.kind.get() {
            Some("user" | "assistant") => Part::Message,
            Some("tool_result") => Part::Result,
            _ => Part::Silent,
        };
        Some(ParentLink { id, parent, part, is_leaf: true })
    }

    fn parts(&self) -> Vec<Block<'_>> {
        parts(member(self.message, "parts"))
    }

    /// Returns a text in a record of the program itself.
    fn payload_text(&self, subtype: &str, name: &str) -> Option<String> {
        let is_it = self.kind.get() == Some("system") && self.subtype.get() == Some(subtype);
        text_in(self.system_payload.filter(|_| is_it), name).filled().map(str::to_owned)
    }

    /// Returns the turn of an error of the API (0.24.4).
    fn api_error(&self) -> Option<Turn> {
        let event = member(self.system_payload, "uiEvent").filter(|_| self.subtype.get() == Some("ui_telemetry"));
        let [name, message] = texts_in(event, ["event.name", "error_message"]);
        let mut turn = Turn::new(Role::System, self.timestamp.instant());
        turn.id = self.uuid.filled().map(str::to_owned);
        turn.error(message.filled().filter(|_| name.get() == Some("qwen-code.api_error"))?);
        Some(turn)
    }

    /// Returns the text that the user typed, if the record is a prompt; an image alone is an empty text.
    fn typed(&self) -> Option<String> {
        // Messages from timers, goals and other programs also have the role of the user, each with a separate marker.
        let is_typed = self.kind.get() == Some("user")
            && matches!(self.subtype.get(), None | Some("mid_turn_user_message"))
            && matches!(self.provenance.get(), None | Some("real_user"));
        if !is_typed {
            return None;
        }
        let parts = self.parts();
        if parts.iter().any(|part| matches!(part, Block::ToolResult(_))) {
            return None;
        }
        // The contents of files in a prompt are inserted into its parts; the typed text is then stored separately.
        if let Some(typed) = text_in(self.system_payload, "displayText").filled() {
            return Some(typed.to_owned());
        }
        prompt(&parts, INJECTED)
    }

    /// Returns the title that the user or the program set.
    pub(crate) fn title(&self) -> Option<String> {
        self.payload_text("custom_title", "customTitle")
    }

    /// Returns the session that started this one.
    pub(crate) fn parent(&self) -> Option<String> {
        self.payload_text("parent_session", "parentSessionId")
    }

    /// Returns the session from which `/branch` copied this record.
    pub(crate) fn forked_from(&self) -> Option<String> {
        text_in(self.forked_from, "sessionId").filled().map(str::to_owned)
    }
}

impl lines::Record for QwenRecord<'_> {
    fn at(&self, _zone: &TimeZone) -> Option<Timestamp> {
        self.timestamp.instant()
    }

    /// Returns the turn. A repeated record has the same id.
    fn turn(&self) -> Option<Turn> {
        let (role, typed) = match self.kind.get()? {
            "user" => (Role::User, self.typed()),
            "assistant" => (Role::Assistant, None),
            "tool_result" => (Role::Tool, None),
            "system" => return self.api_error(),
            _ => return None,
        };
        // Other messages in the role of the user were generated by the program.
        let role = if role == Role::User && typed.is_none() { Role::System } else { role };
        let mut turn = Turn::new(role, self.timestamp.instant());
        turn.id = self.uuid.filled().map(str::to_owned);
        match typed {
            Some(text) => turn.messages.push(Message::new(role, text, turn.at)),
            None => turn.messages.extend(self.parts().into_iter().filter_map(|part| part.message(role, turn.at))),
        }
        turn.counts = role == Role::User || self.parts().iter().any(Block::says_something);
        Some(turn)
    }
}

/// A file in `sessions/`: one running client with a terminal (measured on 0.24.4). It remains after a kill.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct QwenRegistration<'a> {
    /// The process.
    pub pid: Option<&'a RawValue>,
    /// The current session of the client.
    pub session_id: Text<'a>,
    /// The id of the boot and the start time of the process in clock ticks, separated by a colon.
    pub proc_start: Text<'a>,
    /// The namespace of that process id.
    pub pid_ns: Option<&'a RawValue>,
}

/// `<id>.runtime.json` next to a transcript: the last client that used it with a terminal. It remains after the end of
/// the client.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Runtime<'a> {
    /// The process.
    pub pid: Option<&'a RawValue>,
    /// The machine.
    pub hostname: Text<'a>,
    /// The working directory of the client.
    pub work_dir: Text<'a>,
}

/// Returns whether Qwen Code files the sessions of a directory under this project; unlike Claude Code it never
/// truncates.
pub(crate) fn is_slug_of(project: &str, dir: &str) -> bool {
    slug(dir).eq(project.chars())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::lines::Record as _;

    fn parsed(text: &str) -> QwenRecord<'_> {
        record(text.as_bytes()).expect("a record")
    }

    #[test]
    fn slug_keeps_only_ascii_letters_and_digits() {
        for (dir, slug) in [
            ("/home/ana/a.b", "-home-ana-a-b"),
            ("/home/ana/a_b", "-home-ana-a-b"),
            ("/w/ünïcode-名前", "-w--n-code---"),
            ("/w/🚀", "-w---"),
        ] {
            assert!(is_slug_of(slug, dir), "{dir}");
            assert!(!is_slug_of(slug, &format!("{dir}x")), "{dir}");
        }
        let long = format!("/{}", "y".repeat(300));
        assert!(is_slug_of(&format!("-{}", "y".repeat(300)), &long), "it is never cut");
    }

    #[test]
    fn only_typed_text_is_a_prompt() {
        for (text, expected) in [
            (r#"{"type":"user","message":{"parts":[{"text":"fix it"}]}}"#, "fix it"),
            (r#"{"type":"user","provenance":"real_user","message":{"parts":[{"text":"fix it"}]}}"#, "fix it"),
            (r#"{"type":"user","subtype":"mid_turn_user_message","message":{"parts":[{"text":"wait"}]}}"#, "wait"),
            (
                r#"{"type":"user","message":{"parts":[{"text":"at @f\n--- f"}]},"systemPayload":{"displayText":"at @f"}}"#,
                "at @f",
            ),
            (r#"{"type":"user","message":{"parts":[{"text":"<system-reminder>x"},{"text":"why?"}]}}"#, "why?"),
            (r#"{"type":"user","message":{"parts":[{"inlineData":{}}]}}"#, ""),
        ] {
            assert_eq!(parsed(text).prompt().as_deref(), Some(expected), "{text}");
        }
        for other in [
            r#"{"type":"user","subtype":"cron","message":{"parts":[{"text":"x"}]}}"#,
            r#"{"type":"user","provenance":"goal_control","message":{"parts":[{"text":"x"}]}}"#,
            r#"{"type":"user","message":{"parts":[{"functionResponse":{}}]}}"#,
            r#"{"type":"user","message":{"parts":[{"text":" "}]}}"#,
            r#"{"type":"user","message":7}"#,
            r#"{"type":"tool_result","message":{"parts":[{"text":"x"}]}}"#,
            r#"{"type":"system","message":{"parts":[{"text":"x"}]}}"#,
        ] {
            assert_eq!(parsed(other).prompt(), None, "{other}");
        }
    }

    #[test]
    fn title_and_parent_need_their_record_type() {
        let title = r#"{"type":"system","subtype":"custom_title","systemPayload":{"customTitle":"T"}}"#;
        assert_eq!(parsed(title).title().as_deref(), Some("T"));
        let other =
            r#"{"type":"system","subtype":"slash_command","systemPayload":{"customTitle":"T","parentSessionId":"p"}}"#;
        assert_eq!((parsed(other).title(), parsed(other).parent()), (None, None));
        let parent = r#"{"type":"system","subtype":"parent_session","systemPayload":{"parentSessionId":"p"}}"#;
        assert_eq!(parsed(parent).parent().as_deref(), Some("p"));
    }
}
