//! The records of Claude Code's transcripts, with only the fields that are used.
//!
//! Facts: measured on Claude Code 2.1.330 and 2.1.197; claude-agent-sdk-python e8bde601 for the rules of listing.

use super::typed::{is_typed, typed};
use crate::agent::prelude::*;
use crate::format::content::{Block, Unread, blocks, count_blocks, unread_blocks};
use crate::format::skim::{self, Raw};
use crate::session::branches::{Part, hash};

/// A line of a transcript. Only conversation records have `cwd`, `uuid` and similar members.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct ClaudeRecord<'a> {
    /// The type of the record.
    #[serde(rename = "type")]
    pub kind: Raw<'a>,
    /// The time of the record.
    pub timestamp: Raw<'a>,
    /// The working directory at that time; it follows `cd`.
    pub cwd: Raw<'a>,
    /// The branch; `HEAD` outside a repository.
    pub git_branch: Raw<'a>,
    /// The way the program was started: `cli`, `sdk-cli`, …
    pub entrypoint: Raw<'a>,
    /// The record's own id.
    pub uuid: Raw<'a>,
    /// The parent record.
    pub parent_uuid: Raw<'a>,
    /// The record before a compaction, which is the parent of the boundary.
    pub logical_parent_uuid: Raw<'a>,
    /// Type of a `system` record.
    pub subtype: Raw<'a>,
    /// The session that a sub-agent's record belongs to.
    pub session_id: Raw<'a>,
    /// Set if it is part of a sub-agent's conversation.
    pub is_sidechain: Flag,
    is_meta: Flag,
    is_compact_summary: Flag,
    is_visible_in_transcript_only: Flag,
    is_api_error_message: Flag,
    message: Raw<'a>,
    attachment: Raw<'a>,
    /// The team of a teammate's record: `session-` and the first eight digits of the lead's id.
    pub team_name: Raw<'a>,
    /// The model that a message names before its content, if the content was not read.
    #[serde(skip)]
    model: Raw<'a>,
    forked_from: Raw<'a>,
    /// The title that the user gave.
    pub custom_title: Raw<'a>,
    /// The title that the program generated.
    pub ai_title: Raw<'a>,
    /// The title of older versions.
    pub summary: Raw<'a>,
    /// The record that a summary ends at; it may be in another session.
    pub leaf_uuid: Raw<'a>,
    /// The directory that the session was moved to.
    pub relocated_cwd: Raw<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Body<'a> {
    id: Raw<'a>,
    content: Raw<'a>,
}

/// Types of records that carry no conversation: those that the client reads as settings or marks (the code of 2.1.332),
/// `marble-origami-*` of 2.1.2xx, and the marks of a session that was continued from the web (anthropics/claude-code
/// 84730). Each version may add some.
const SILENT: [&str; 46] = [
    "agent-color",
    "agent-name",
    "agent-setting",
    "ai-title",
    "artifact-autoreact-ledger",
    "artifact-comment-monitor",
    "atis-latch",
    "attachment",
    "attribution-snapshot",
    "bridge-session",
    "content-replacement",
    "cost-state",
    "custom-title",
    "data-flow-incomplete",
    "data-flow-records",
    "derived-from",
    "dev-mods",
    "ended-by-model",
    "file-history-delta",
    "file-history-snapshot",
    "fork-context-ref",
    "frame-link",
    "history-suppression",
    "hybrid-organization",
    "isolation-latch",
    "last-prompt",
    "marble-origami-commit",
    "marble-origami-reset",
    "marble-origami-snapshot",
    "memory-mode",
    "mode",
    "observer-ref",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "relocated",
    "repl-mode",
    "session-owner",
    "summary",
    "system",
    "tag",
    "teleport-skipped-branch",
    "teleported-from",
    "tools-used",
    "worktree-state",
];

impl<'a> ClaudeRecord<'a> {
    /// Returns whether the record is known to carry no conversation: a setting, or text that the program inserted.
    pub(super) fn is_silent(&self) -> bool {
        let kind = self.kind.lenient_text();
        match kind.get() {
            Some("user") => {
                let blocks = blocks(self.body().content);
                let is_put_in =
                    |block: &Block<'_>| matches!(block, Block::Text(text) if self.is_meta.0 || !is_typed(text));
                !blocks.is_empty() && blocks.iter().all(is_put_in)
            }
            Some("assistant") => self.is_api_error_message.0,
            Some("attachment") => self.queued().is_none(),
            Some(kind) => SILENT.contains(&kind),
            None => false,
        }
    }

    /// Parses a line, usually without parsing unused members.
    pub(crate) fn of_line(line: &'a [u8]) -> Option<Self> {
        Self::skimmed(line).or_else(|| serde_json::from_slice(line).ok())
    }

    /// Parses the members before and after the content of a record; `None` if these do not contain its time, its
    /// directory, and the program that wrote it.
    pub(crate) fn without_content(line: &'a [u8]) -> Option<Self> {
        let (mut record, mut is_plain, mut seen) = (Self::default(), true, 0);
        let (name, rest) = skim::ends(line, |name, value| is_plain &= record.set(name, value, &mut seen))?;
        if name == b"message" {
            record.model = skim::member_near_start(rest, "model");
        }
        let texts = [record.kind, record.timestamp, record.entrypoint, record.cwd, record.git_branch];
        (is_plain && texts.into_iter().all(Raw::is_text)).then_some(record)
    }

    /// Parses a line that is plainly an object; `None` if only a parser can decide that.
    fn skimmed(line: &'a [u8]) -> Option<Self> {
        let (mut record, mut is_plain, mut seen) = (Self::default(), true, 0);
        skim::members(line, |name, value| is_plain &= record.set(name, value, &mut seen))?;
        is_plain.then_some(record)
    }

    /// Stores a member. Returns `false` if a parser has to decide: it refuses a member that was seen before.
    fn set(&mut self, name: &[u8], value: Raw<'a>, seen: &mut u32) -> bool {
        let (bit, kept) = match name {
            b"type" => (0, &mut self.kind),
            b"timestamp" => (1, &mut self.timestamp),
            b"entrypoint" => (2, &mut self.entrypoint),
            b"cwd" => (3, &mut self.cwd),
            b"gitBranch" => (4, &mut self.git_branch),
            b"uuid" => (5, &mut self.uuid),
            b"sessionId" => (6, &mut self.session_id),
            b"customTitle" => (7, &mut self.custom_title),
            b"aiTitle" => (8, &mut self.ai_title),
            b"summary" => (9, &mut self.summary),
            b"relocatedCwd" => (10, &mut self.relocated_cwd),
            b"message" => (11, &mut self.message),
            b"forkedFrom" => (12, &mut self.forked_from),
            b"teamName" => (18, &mut self.team_name),
            b"leafUuid" => (19, &mut self.leaf_uuid),
            b"parentUuid" => (20, &mut self.parent_uuid),
            b"logicalParentUuid" => (21, &mut self.logical_parent_uuid),
            b"subtype" => (22, &mut self.subtype),
            b"attachment" => (23, &mut self.attachment),
            _ => {
                let (bit, flag) = match name {
                    b"isSidechain" => (13, &mut self.is_sidechain),
                    b"isMeta" => (14, &mut self.is_meta),
                    b"isCompactSummary" => (15, &mut self.is_compact_summary),
                    b"isVisibleInTranscriptOnly" => (16, &mut self.is_visible_in_transcript_only),
                    b"isApiErrorMessage" => (17, &mut self.is_api_error_message),
                    _ => return true,
                };
                *flag = value.flag();
                return is_first(bit, seen);
            }
        };
        *kept = value;
        is_first(bit, seen)
    }

    /// Parses a line that a parser accepts; `None` for a bad line.
    pub(super) fn of_sound_line(line: &'a [u8]) -> Option<Self> {
        Self::sound(line).or_else(|| serde_json::from_slice(line).ok())
    }

    /// Parses a line that a parser would accept; `None` if only a parser can decide that.
    fn sound(line: &'a [u8]) -> Option<Self> {
        if !line.is_ascii() {
            std::str::from_utf8(line).ok()?;
        }
        let (mut record, mut is_plain, mut seen) = (Self::default(), true, 0);
        skim::sound_members(line, |name, value| is_plain &= record.set(name, value, &mut seen))?;
        is_plain.then_some(record)
    }

    /// Counts the messages of a line without formatting them; `None` if only a parser can count them.
    pub(crate) fn count_messages(line: &'a [u8], shows_sidechains: bool) -> Option<u64> {
        let record = Self::sound(line)?;
        match record.role().filter(|_| shows_sidechains || !record.is_sidechain.0) {
            Some(Role::User) => count_blocks(record.message, Some(&|text: &str| !is_typed(text))),
            Some(_) => count_blocks(record.message, None),
            None => Some(0),
        }
    }

    /// Returns whether the record is a message of the user or the model.
    pub(super) fn is_message(&self) -> bool {
        self.kind.is("user") || self.kind.is("assistant")
    }

    /// Returns the role of the record on its branch.
    pub(super) fn part(&self) -> Part {
        if self.kind.is("assistant") {
            let id = self.body().id.filled().or_else(|| self.uuid.filled()).unwrap_or_default();
            return Part::Reply(hash(&id));
        }
        if self.queued().is_some() {
            return Part::Message;
        }
        if !self.kind.is("user") || self.is_meta.0 {
            return Part::Silent;
        }
        let is_result = unread_blocks(self.body().content).iter().any(Unread::is_result);
        if is_result { Part::Result } else { Part::Message }
    }

    /// Returns whether the record is an API error in place of a reply.
    pub(super) fn is_api_error(&self) -> bool {
        self.is_api_error_message.0
    }

    /// Returns the content of the message.
    pub(super) fn content(&self) -> Raw<'a> {
        self.body().content
    }

    /// Returns the time of the record.
    pub(crate) fn at(&self) -> Option<Timestamp> {
        self.timestamp.text()?.instant()
    }

    /// Returns the text that the user typed, if the record is a prompt; an image alone is an empty text.
    pub(crate) fn prompt(&self) -> Option<String> {
        let is_users = self.kind.is("user") || self.queued().is_some();
        let is_generated = self.is_meta.0 || self.is_compact_summary.0 || self.is_visible_in_transcript_only.0;
        if !is_users || is_generated {
            return None;
        }
        let blocks = unread_blocks(self.body().content);
        if blocks.iter().any(Unread::is_result) {
            return None;
        }
        let has_blocks = !blocks.is_empty();
        let mut texts = blocks.into_iter().filter_map(Unread::into_text).peekable();
        let has_texts = texts.peek().is_some();
        // The client combines prompts that were typed ahead into one record, one block each.
        match texts.find_map(typed) {
            Some(first) => Some(first.into_owned()),
            None => (!has_texts && has_blocks).then(String::new),
        }
    }

    /// Returns the id by which a reply counts once: that of its message, which may consist of several records.
    pub(crate) fn reply_id(&self) -> Option<String> {
        if !self.kind.is("assistant") || self.is_api_error_message.0 {
            return None;
        }
        let body = self.body();
        let says_something = unread_blocks(body.content).into_iter().any(Unread::says_something);
        let id = || body.id.filled().or_else(|| self.uuid.filled()).unwrap_or_default();
        says_something.then(id)
    }

    /// Returns whether the record contains the model, or is of a type without a model.
    pub(crate) fn knows_model(&self) -> bool {
        self.model.is_text() || !self.kind.is("assistant")
    }

    /// Returns the model that answered; `None` for replies that the program generated itself.
    pub(crate) fn model(&self) -> Option<String> {
        if !self.kind.is("assistant") {
            return None;
        }
        let near_start = Some(self.model).filter(|model| model.is_text());
        real_model(&near_start.map_or_else(|| self.message.text_near_ends("model"), Raw::lenient_text))
    }

    /// Like [`ClaudeRecord::model`], for a line that names the model before any nested value of its message.
    pub(crate) fn model_near_start(line: &[u8]) -> Option<String> {
        let (_, message) = skim::first_nested(line).filter(|(name, _)| *name == b"message")?;
        real_model(&skim::member_near_start(message, "model").lenient_text())
    }

    /// Returns the session from which `/branch` copied this record.
    pub(crate) fn forked_from(&self) -> Option<String> {
        self.forked_from.text_in("sessionId").filled().map(str::to_owned)
    }

    /// Formats the record as messages; empty for a record that is not part of the conversation.
    pub(crate) fn messages(&self) -> Vec<Message> {
        let at = self.at();
        let Some(role) = self.role() else { return Vec::new() };
        let shown = |block| match block {
            Block::Text(text) if role == Role::User => typed(text).map(Block::Text),
            block => Some(block),
        };
        let blocks = blocks(self.body().content).into_iter().filter_map(shown);
        let mut messages: Vec<Message> = blocks.filter_map(|block| block.message(role, at)).collect();
        if self.is_api_error_message.0 {
            messages = messages.into_iter().map(Message::into_error).collect();
        }
        messages
    }

    /// Returns the role, if the record is part of the conversation.
    fn role(&self) -> Option<Role> {
        match self.kind.lenient_text().get() {
            Some("user") if self.is_meta.0 => None,
            Some("user") if self.is_compact_summary.0 => Some(Role::System),
            Some("user") => Some(Role::User),
            Some("assistant") => Some(Role::Assistant),
            Some("attachment") => self.queued().map(|_| Role::User),
            _ => None,
        }
    }

    /// Returns a prompt that was typed while the model worked, and sent with the result of a tool.
    fn queued(&self) -> Option<Raw<'a>> {
        let bytes = self.attachment.bytes()?;
        let is_queued = skim::member_near_start(bytes, "type").is("queued_command");
        let bytes = Some(bytes).filter(|_| is_queued)?;
        let [mode, prompt] = skim::single_members(bytes, ["commandMode", "prompt"])?;
        // Other modes are messages of programs, such as `task-notification`.
        Some(prompt).filter(|_| mode.is("prompt"))
    }

    fn body(&self) -> Body<'a> {
        if let Some(content) = self.queued() {
            return Body { id: Raw::default(), content };
        }
        let skimmed = self.message.bytes().and_then(|bytes| skim::single_members(bytes, ["id", "content"]));
        skimmed.map_or_else(|| self.message.read(), |[id, content]| Body { id, content })
    }
}

fn real_model(model: &Text<'_>) -> Option<String> {
    model.filled().filter(|model| *model != "<synthetic>").map(str::to_owned)
}

/// Records that a member was seen. Returns whether it is the first one.
fn is_first(bit: u32, seen: &mut u32) -> bool {
    let is_first = *seen & 1 << bit == 0;
    *seen |= 1 << bit;
    is_first
}

/// A file in `sessions/`: one running client (measured on 2.1.330).
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct Registration<'a> {
    /// The process.
    pub pid: u32,
    /// The current session of the client.
    pub session_id: Text<'a>,
    /// The start of the process, in the format of [`StartTime::parse`](crate::system::process::StartTime::parse).
    pub proc_start: Text<'a>,
    /// `idle` while it waits for a prompt, `busy` while it works (measured on 2.1).
    pub status: Option<Text<'a>>,
    /// `interactive`, or `bg` in the background (measured on 2.1.332).
    pub kind: Text<'a>,
    /// The name of the job in the background.
    pub job_id: Text<'a>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record(text: &str) -> ClaudeRecord<'_> {
        serde_json::from_str(text).expect("a record")
    }

    #[test]
    fn skimmed_record_equals_parsed_record() {
        let line = br#" {"type":"user","timestamp":"2026-02-01T10:00:00Z","cwd":"/w/\u00fc","gitBranch":"main",
            "entrypoint":"cli","uuid":"u","sessionId":"s","isSidechain":true,"isMeta":1,"isCompactSummary":true,
            "isVisibleInTranscriptOnly":true,"isApiErrorMessage":true,"message":{"content":"\n"},"forkedFrom":{"a":[]},
            "teamName":"t","customTitle":"c","aiTitle":"a","summary":"s","leafUuid":"l","relocatedCwd":"/w","parentUuid":"p",
            "logicalParentUuid":"q","subtype":"b","attachment":{},"other":[{"x":"}"}],"none":null} "#;
        let parsed: ClaudeRecord<'_> = serde_json::from_slice(line).expect("a record");
        assert_eq!(format!("{:?}", ClaudeRecord::skimmed(line).expect("a record")), format!("{parsed:?}"));
        assert!(format!("{parsed:?}").matches("None").count() == 1, "every field but the model is filled: {parsed:?}");
        assert!(ClaudeRecord::of_line(br#"{"type":"user","timest"#).is_none());
        for line in
            [&br#"{"cwd":"/a","cwd":"/b"}"#[..], br#"{"isMeta":true,"isMeta":true}"#, br#"{"message":{"a":1 2}}"#]
        {
            assert!(ClaudeRecord::of_line(line).is_none(), "a parser refuses it");
        }
        let line = br#"{"cwd":"/w","message":{},"timestamp":1,"x":[],"type":"user","timestamp":"2026-02-01T10:00:00Z","gitBranch":"","entrypoint":"cli"}"#;
        let record = ClaudeRecord::without_content(line).expect("a record");
        assert_eq!(
            (record.cwd.filled().as_deref(), record.timestamp.filled().as_deref()),
            (Some("/w"), Some("2026-02-01T10:00:00Z"))
        );
        assert!(
            ClaudeRecord::without_content(br#"{"cwd":"/w","message":{},"timestamp":"2026-02-01T10:00:00Z"}"#).is_none()
        );
    }

    proptest! {
        #[test]
        fn fast_message_count_equals_parsed_count(
            kind in "user|assistant|system",
            flags in "|\"isMeta\":true,|\"isSidechain\":true,|\"isCompactSummary\":true,|\"isMeta\":1,|\"type\":\"user\",",
            blocks in prop::collection::vec(
                prop_oneof![
                    r#"\{"type":"text","text":"(|a| |<tick>|\\n<tick>|\\ud800|\\u0061\\")"\}"#,
                    r#"\{"type":"(tool_use|toolCall|tool_result|thinking|te\\u0078t)","name":("Bash"|null|7),"input":\{"a":"b"\},"content":"x"\}"#,
                    r#"\{"type":("text"|1|null)(,"text":(1|null|"a"))?(,"text":"b")?\}"#,
                    r#""(a|<tick>|)"|null|1|\["text","a"\]|\{\}"#,
                ],
                0..4,
            ),
            whole in r#""(a|<tick>|\\ud800|\\")"|null|1|\{\}"#,
            form in 0..5,
            shows_sidechains: bool,
        ) {
            let content = if form == 0 { whole } else { format!("[{}]", blocks.join(",")) };
            let message = match form {
                1 => format!(r#"[null,{content}]"#),
                2 => format!(r#"{{"id":1,"content":{content},"content":1}}"#),
                3 => "7".to_owned(),
                _ => format!(r#"{{"role":"x","content":{content}}}"#),
            };
            let line = format!(r#"{{{flags}"message":{message},"type":"{kind}"}}"#);
            let parsed: Option<ClaudeRecord<'_>> = serde_json::from_str(&line).ok();
            let parsed = parsed.filter(|record| shows_sidechains || !record.is_sidechain.0);
            let messages = parsed.map_or(0, |record| record.messages().len());
            let counted = ClaudeRecord::count_messages(line.as_bytes(), shows_sidechains);
            prop_assert!(counted.is_none_or(|counted| counted == messages as u64), "{counted:?}, {messages}: {line}");
        }
    }

    #[test]
    fn common_lines_are_counted_without_parsing() {
        for (line, expected) in [
            (r#"{"type":"user","message":{"content":"add a \"test\""}}"#, Some(1)),
            (
                r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"\u001b[0m"},{"type":"text","text":"a"}]}}"#,
                Some(2),
            ),
            (
                r#"{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"x"},{"type":"tool_use","name":"Bash","input":{}}]}}"#,
                Some(1),
            ),
            (r#"{"type":"mode"}"#, Some(0)),
            (r#"{"type":"user","type":"user"}"#, None),
            (r#"{"type":"user","message":"\x"}"#, None),
        ] {
            assert_eq!(ClaudeRecord::count_messages(line.as_bytes(), false), expected, "{line}");
        }
    }

    #[test]
    fn only_typed_text_is_a_prompt() {
        let typed = [
            (r#"{"type":"user","message":{"content":"add a test"}}"#, "add a test"),
            (
                r#"{"type":"user","message":{"content":[{"type":"text","text":"<ide_selection>x</ide_selection>"},{"type":"text","text":"why?"}]}}"#,
                "why?",
            ),
            (r#"{"type":"user","message":{"content":[{"type":"image","source":{}}]}}"#, ""),
        ];
        for (text, expected) in typed {
            assert_eq!(record(text).prompt().as_deref(), Some(expected));
        }
        for other in [
            r#"{"type":"user","isMeta":true,"message":{"content":"x"}}"#,
            r#"{"type":"user","isCompactSummary":true,"message":{"content":"x"}}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"x"}]}}"#,
            r#"{"type":"user","message":{"content":"<command-name>/cost</command-name>"}}"#,
            r#"{"type":"user","message":{"content":"[Request interrupted by user for tool use]"}}"#,
            r#"{"type":"user","message":{"content":""}}"#,
            r#"{"type":"user"}"#,
            r#"{"type":"assistant","message":{"content":"x"}}"#,
        ] {
            assert_eq!(record(other).prompt(), None, "{other}");
        }
    }

    #[test]
    fn reply_has_message_id_but_error_has_none() {
        let said = r#"{"type":"assistant","uuid":"u","message":{"id":"m1","model":"a","content":[{"type":"text","text":"x"}]}}"#;
        assert_eq!(record(said).reply_id().as_deref(), Some("m1"));
        let thought =
            r#"{"type":"assistant","uuid":"u","message":{"id":"m1","content":[{"type":"thinking","thinking":"x"}]}}"#;
        assert_eq!(record(thought).reply_id(), None);
        let error = r#"{"type":"assistant","isApiErrorMessage":true,"message":{"id":"m1","model":"<synthetic>","content":[{"type":"text","text":"x"}]}}"#;
        assert_eq!(record(error).reply_id(), None);
        assert_eq!(record(error).model(), None);
    }
}
