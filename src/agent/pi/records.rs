//! The records of Pi's sessions: a header, then a tree. One branch of the tree is the current one.
//!
//! Facts: measured on Pi 0.87.1 and 1.5.2, whose `context_edit` and `pi.virtual-model-state` are not messages;
//! branches, older versions and compaction from session-manager.ts of badlogic/pi-mono 0507789f.

use crate::agent::ids::is_word;
use crate::agent::lines;
use crate::agent::prelude::*;
use crate::agent::tree::ParentLink;
use crate::agent::unknown_format::has_any;
use crate::format::content::{Block, blocks, plain_text};
use crate::format::json::record;
use crate::session::branches::{Id, Parent, Part, hash};

/// A line of a session's file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(crate) struct PiRecord<'a> {
    /// The type of the record.
    #[serde(rename = "type")]
    pub kind: Text<'a>,
    /// Its id; in the header, the id of the session.
    pub id: Text<'a>,
    timestamp: Text<'a>,
    parent_id: Option<&'a RawValue>,
    /// The directory, in the header.
    pub cwd: Text<'a>,
    /// The file from which the session was forked, in the header.
    pub parent_session: Text<'a>,
    name: Text<'a>,
    title: Text<'a>,
    /// The model, which Command Code writes next to the message.
    model: Text<'a>,
    summary: Text<'a>,
    display: Flag,
    content: Option<&'a RawValue>,
    message: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct PiMessage<'a> {
    role: Text<'a>,
    attribution: Text<'a>,
    model: Text<'a>,
    stop_reason: Text<'a>,
    error_message: Text<'a>,
    command: Text<'a>,
    output: Text<'a>,
    content: Option<&'a RawValue>,
    /// Flags of a message in Command Code's format.
    meta: Option<&'a RawValue>,
}

impl PiMessage<'_> {
    /// Returns whether the program generated a user message, by the flags of Command Code.
    fn is_made(&self) -> bool {
        let flags = members(self.meta, ["isMeta", "isAutomated", "isSummary"]);
        flags.into_iter().flatten().any(|flag| flag.get() == "true")
    }

    /// Returns whether a user message is an API error: Command Code 1.64.0 writes it without the member `source`, and
    /// recognizes it by its first word.
    fn is_api_error(&self, text: &str) -> bool {
        let has_marks = self.meta.is_some_and(|meta| meta.get().starts_with('{'));
        has_marks && member(self.meta, "source").is_none() && text.starts_with("Error:")
    }
}

impl<'a> PiRecord<'a> {
    /// Parses a line; `None` if it is not a record. A list is refused: serde would take it for the fields in their
    /// order.
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        record(line)
    }

    /// Returns the message in a record of type `message`, unparsed; Letta Code's messages have more members.
    pub(crate) fn raw_message(&self) -> Option<&'a RawValue> {
        self.message.filter(|_| self.kind.get() == Some("message"))
    }
}

impl PiRecord<'_> {
    /// Returns the time of the record.
    pub(crate) fn time(&self) -> Option<Timestamp> {
        self.timestamp.instant()
    }

    /// Returns whether the record can be the header of a file; Pi overwrites a file with another first line.
    pub(crate) fn is_header(&self) -> bool {
        self.kind.get() == Some("session") && self.id.get().is_some()
    }

    /// Returns the name in a record that names the session; an empty name removes the name.
    pub(crate) fn session_name(&self) -> Option<&str> {
        (self.kind.get() == Some("session_info")).then(|| self.name.get().unwrap_or_default().trim())
    }

    /// Returns the title in a line before the header, as oh-my-pi writes it; empty if the line has none.
    pub(crate) fn title_line(&self) -> Option<&str> {
        (self.kind.get() == Some("title")).then(|| self.title.get().unwrap_or_default().trim())
    }

    /// Returns the model that answered.
    pub(crate) fn model(&self) -> Option<String> {
        let body = self.body().filter(|body| body.role.get() == Some("assistant"))?;
        body.model.filled().or(self.model.filled()).map(str::to_owned)
    }

    /// Returns the turn of a record with a message.
    fn message_turn(&self) -> Option<Turn> {
        let body = self.body()?;
        let role = match body.role.get()? {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "toolResult" | "bashExecution" => Role::Tool,
            _ => return None,
        };
        let mut turn = Turn::new(role, self.time());
        match (role, body.role.get()) {
            (Role::User, _) => {
                // The task that oh-my-pi gives to a sub-agent is not a prompt; an image alone is a prompt without a
                // text. Command Code writes tool results into user messages.
                let answers: Vec<String> = blocks(body.content).into_iter().filter_map(Block::into_result).collect();
                let text = plain_text(body.content);
                let is_error = body.is_api_error(&text);
                let is_made = is_error || body.is_made();
                turn.counts = body.attribution.get() != Some("agent") && !is_made && answers.is_empty();
                let message = Message::new(if is_made { Role::System } else { role }, text, turn.at);
                turn.messages.push(if is_error { message.into_error() } else { message });
                answers.into_iter().for_each(|answer| turn.tool(format!("→ {answer}")));
            }
            (Role::Assistant, _) => {
                let mut blocks = blocks(body.content);
                let says_something = blocks.iter().any(Block::says_something);
                turn.counts = says_something && body.stop_reason.get() != Some("error");
                blocks.retain(|block| !matches!(block, Block::ToolResult(_)));
                turn.messages.extend(blocks.into_iter().filter_map(|block| block.message(role, turn.at)));
                body.error_message.filled().into_iter().for_each(|text| turn.error(text));
            }
            (_, Some("bashExecution")) => {
                turn.tool(format!("! {}", body.command.get().unwrap_or_default()));
                turn.tool(format!("→ {}", body.output.get().unwrap_or_default()));
            }
            _ => turn.tool(format!("→ {}", plain_text(body.content))),
        }
        Some(turn)
    }

    fn body(&self) -> Option<PiMessage<'_>> {
        self.raw_message().and_then(|raw| serde_json::from_str(raw.get()).ok())
    }

    /// Returns its place in the tree of a file. The active branch ends at the last record, and begins at one whose parent
    /// is missing (session-manager.ts, 0507789f).
    pub(crate) fn link(&self) -> ParentLink {
        let kind = self.kind.get();
        if kind == Some("session") {
            return ParentLink { id: None, parent: Parent::None, part: Part::Silent, is_leaf: false };
        }
        let (id, parent) = self.node();
        let part = if kind == Some("message") { Part::Message } else { Part::Silent };
        ParentLink { id, parent, part, is_leaf: true }
    }

    /// Returns its own id, as a hash, and its parent.
    fn node(&self) -> (Option<Id>, Parent) {
        let own = self.id.get().map(hash);
        let parent = match (own, self.parent_id) {
            // The first version was a list without ids.
            (None, _) => Parent::Previous,
            (_, None) => Parent::None,
            (_, Some(raw)) => {
                let id: Text<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
                id.get().map_or(Parent::Previous, |id| Parent::Record(hash(id)))
            }
        };
        (own, parent)
    }
}

impl lines::Record for PiRecord<'_> {
    fn at(&self, _zone: &TimeZone) -> Option<Timestamp> {
        self.time()
    }

    fn turn(&self) -> Option<Turn> {
        let mut summary = Turn::new(Role::System, self.time());
        match self.kind.get()? {
            "compaction" | "branch_summary" => summary.add_text(self.summary.get()?),
            "custom_message" if self.display.0 => summary.add_text(plain_text(self.content)),
            _ => return self.message_turn(),
        }
        Some(summary)
    }
}

/// Returns whether Pi files the sessions of a directory under this project: `a-b` and `a/b` share a project.
pub(crate) fn is_slug_of(project: &str, dir: &str) -> bool {
    let Some(name) = project.strip_prefix("--").and_then(|name| name.strip_suffix("--")) else { return false };
    encoded(dir).eq(name.chars())
}

/// Returns the project name of a directory.
pub(crate) fn slug(dir: &str) -> String {
    format!("--{}--", encoded(dir).collect::<String>())
}

fn encoded(dir: &str) -> impl Iterator<Item = char> {
    let dir = dir.strip_prefix('/').unwrap_or(dir);
    dir.chars().map(|c| if matches!(c, '/' | '\\' | ':') { '-' } else { c })
}

/// Returns the id in the name of a session's file, which begins with the time of its creation; `None` for another file.
pub(crate) fn id_of_file(name: &str) -> Option<&str> {
    let (time, id) = name.strip_suffix(".jsonl")?.split_once('_')?;
    let is_time =
        !time.is_empty() && time.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'T' | b'Z'));
    (is_time && is_word(id)).then_some(id)
}

/// Returns whether a record is known to carry no conversation: a header, a setting or a name (Pi 1.5.2, oh-my-pi
/// 18.3.4).
pub(in crate::agent) fn is_silent(record: &[u8]) -> bool {
    const SILENT: [&str; 8] = [
        "session",
        "session_info",
        "title",
        "title_change",
        "model_change",
        "thinking_level_change",
        "custom",
        "label",
    ];
    has_any(record, &[("/type", &SILENT)])
        || has_any(record, &[("/type", &["message"])]) && has_any(record, &[("/message/role", &["system"])])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::lines::Record as _;
    use crate::agent::tree::Links;
    use crate::session::branches::BranchFilter;

    fn record(text: &str) -> PiRecord<'_> {
        PiRecord::parse(text.as_bytes()).expect("a record")
    }

    fn branch(lines: &[&str]) -> Vec<usize> {
        let mut tree = Links::default();
        let link = |line: &str| PiRecord::parse(line.as_bytes()).as_ref().map(PiRecord::link);
        lines.iter().enumerate().for_each(|(at, line)| tree.add(at, link(line)));
        let branches = tree.branches(lines.len());
        // A header is on every branch.
        (1..lines.len()).filter(|line| branches.has(*line, BranchFilter::Active)).collect()
    }

    #[test]
    fn slug_replaces_only_path_separators() {
        for (dir, project) in [
            ("/w/a-b", "--w-a-b--"),
            ("/w/a/b", "--w-a-b--"),
            ("/w/has space.v1_x ü", "--w-has space.v1_x ü--"),
            ("/w/c:d\\e", "--w-c-d-e--"),
            ("/", "----"),
        ] {
            assert!(is_slug_of(project, dir), "{dir}");
            assert!(!is_slug_of(project, &format!("{dir}x")), "{dir}");
        }
        for other in ["", "-", "--", "---", "-w-a-b-", "w-a-b", "--w-a-b"] {
            assert!(!is_slug_of(other, "/w/a-b"), "{other}");
        }
    }

    #[test]
    fn file_name_is_timestamp_and_id() {
        assert_eq!(id_of_file("2026-02-01T10-00-00-000Z_ab-1.jsonl"), Some("ab-1"));
        assert_eq!(id_of_file("2026-02-01T10-00-00-000Z_my_own.id.jsonl"), Some("my_own.id"));
        for other in
            ["ab.jsonl", "_ab.jsonl", "notes_ab.jsonl", "2026_.jsonl", "2026_-p.jsonl", "2026_a b.jsonl", "2026_ab"]
        {
            assert_eq!(id_of_file(other), None, "{other}");
        }
    }

    #[test]
    fn branch_follows_parents_from_last_record() {
        let header = r#"{"type":"session","version":3,"id":"s"}"#;
        let [a, b, c] = [
            r#"{"type":"message","id":"a","parentId":null}"#,
            r#"{"type":"message","id":"b","parentId":"a"}"#,
            r#"{"type":"message","id":"c","parentId":"a"}"#,
        ];
        assert_eq!(branch(&[header, a, b]), [1, 2]);
        assert_eq!(branch(&[header, a, b, c]), [1, 3]);
        // An edited first prompt is a separate root.
        assert_eq!(branch(&[header, a, b, r#"{"type":"message","id":"d","parentId":null}"#]), [3]);
        // A torn line at the end does not end another branch.
        assert_eq!(branch(&[header, a, c, b, r#"{"type":"mess"#]), [1, 3, 4]);
        assert_eq!(branch(&[header]), [] as [usize; 0]);
        assert_eq!(branch(&[]), [] as [usize; 0]);
    }

    #[test]
    fn broken_tree_falls_back_to_file_order() {
        let header = r#"{"type":"session","id":"s"}"#;
        let a = r#"{"type":"message","id":"a","parentId":null}"#;
        assert_eq!(branch(&[header, a, "{", r#"{"type":"message","id":"c","parentId":"b"}"#]), [3], "b is lost");
        assert_eq!(branch(&[header, a, r#"{"type":"message","id":"c","parentId":7}"#]), [1, 2]);
        let own_parent = r#"{"type":"message","id":"c","parentId":"c"}"#;
        assert_eq!(branch(&[header, a, own_parent]), [2]);
        let (x, y) = (r#"{"type":"message","id":"x","parentId":"y"}"#, r#"{"type":"message","id":"y","parentId":"x"}"#);
        assert_eq!(branch(&[header, x, y]), [1, 2]);
        // The first version had no ids at all.
        let old = r#"{"type":"message","message":{"role":"user","content":"x"}}"#;
        assert_eq!(branch(&[header, old, old]), [1, 2]);
    }

    #[test]
    fn parser_distinguishes_prompts_replies_and_errors() {
        let typed = [
            (r#"{"type":"message","message":{"role":"user","content":"add a test"}}"#, "add a test"),
            (
                r#"{"type":"message","message":{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}"#,
                "a\nb",
            ),
            (r#"{"type":"message","message":{"role":"user","content":[{"type":"image","data":"x"}]}}"#, ""),
        ];
        for (text, expected) in typed {
            assert_eq!(record(text).prompt().as_deref(), Some(expected));
            assert!(!record(text).is_reply());
        }
        let reply = |message: &str| record(&format!(r#"{{"type":"message","message":{message}}}"#)).is_reply();
        assert!(reply(r#"{"role":"assistant","content":[{"type":"text","text":"x"}]}"#));
        assert!(reply(r#"{"role":"assistant","content":[{"type":"toolCall","name":"bash"}],"stopReason":"toolUse"}"#));
        assert!(reply(r#"{"role":"assistant","content":[{"type":"text","text":"x"}],"stopReason":"aborted"}"#));
        for other in [
            r#"{"role":"assistant","content":[],"stopReason":"error","errorMessage":"400"}"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"half"}],"stopReason":"error"}"#,
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm"}]}"#,
            r#"{"role":"assistant","content":{}}"#,
            r#"{"role":["assistant"],"content":"x"}"#,
            r#"{"role":"toolResult","content":[{"type":"text","text":"x"}]}"#,
            "7",
            "null",
        ] {
            assert!(!reply(other), "{other}");
        }
        assert!(PiRecord::parse(br#"["message","a",{"role":"user","content":"x"}]"#).is_none());
        assert!(!record(r#"{"type":"custom","message":{"role":"assistant","content":"x"}}"#).is_reply());
    }
}
