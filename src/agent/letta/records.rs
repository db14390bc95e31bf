//! Parses the lines of messages.jsonl in both of its formats, and the small files in the same folder.
//!
//! Facts: schema 1 (one message per line) measured on Letta Code 0.25.9, schema 2 (Pi's session entries, with the
//! message in a member) on 0.32.18. Times in schema 1 are invented, a counter of seconds from the beginning of 2026,
//! and `migrate-transcripts` keeps them. Only the provider's own time of a reply is real there. By the code of 0.32.18:
//! every time on 2026-01-01 is an invented one, an entry with the id of an earlier message replaces that message, and
//! no entry branches off.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use crate::agent::lines;
use crate::agent::pi::records::PiRecord;
use crate::agent::prelude::*;
use crate::format::content::{Block, blocks};
use crate::format::json::{dollars, epoch, record};
use crate::session::branches::{Id, hash};
use crate::session::usage::Cost;

/// Beginning of the texts that the program inserts before a prompt.
const REMINDER: &str = "<system-reminder>";
/// Text before the directory and the branch in a reminder.
pub(super) const DIRECTORY: &str = "**Current working directory**: ";
const REPOSITORY: &str = "**Git repository**: Yes (branch: ";

/// The date of all placeholder timestamps, which a migration writes.
const INVENTED: Range<Timestamp> = Timestamp::constant(1_767_225_600, 0)..Timestamp::constant(1_767_312_000, 0);

/// The known versions and formats of messages.jsonl.
const SCHEMAS: [&str; 2] = ["1", "2"];
const FORMATS: [&str; 2] = ["pi-ai-message-jsonl", "pi-session-entry-jsonl"];
const STACK: &str = "pi-ai";

/// Members of conversation.json.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct LettaConversation<'a> {
    pub agent_id: Text<'a>,
    pub archived: Flag,
    pub summary: Text<'a>,
    created_at: Text<'a>,
}

impl LettaConversation<'_> {
    /// Returns the start of the conversation, if its time is not invented.
    pub(super) fn created_at(&self) -> Option<Timestamp> {
        real(self.created_at.instant())
    }
}

/// Members of manifest.json.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct LettaManifest<'a> {
    schema_version: Option<&'a RawValue>,
    message_format: Text<'a>,
    provider_stack: Text<'a>,
    created_at: Text<'a>,
    migrated_from: Text<'a>,
}

impl LettaManifest<'_> {
    /// Returns the format if it is unknown; a missing member counts as known.
    pub(super) fn unknown_format(&self) -> Option<String> {
        let schema = self.schema_version.map(RawValue::get).filter(|schema| !SCHEMAS.contains(schema));
        let format = self.message_format.filled().filter(|format| !FORMATS.contains(format));
        let stack = self.provider_stack.filled().filter(|stack| *stack != STACK);
        let named = [schema.map(|schema| format!("schema {schema}")), format.or(stack).map(str::to_owned)];
        let named: Vec<String> = named.into_iter().flatten().collect();
        (!named.is_empty()).then(|| named.join(", "))
    }

    /// Returns the start of the conversation. A migration replaces it by the time of the migration.
    pub(super) fn created_at(&self) -> Option<Timestamp> {
        self.created_at.instant().filter(|_| !self.is_migrated())
    }

    /// Returns whether the messages were converted from an older format.
    pub(super) fn is_migrated(&self) -> bool {
        self.migrated_from.filled().is_some()
    }
}

/// A line of messages.jsonl: a message, or an entry in Pi's format that contains one.
#[derive(Default)]
pub(in crate::agent) struct LettaLine<'a> {
    entry: PiRecord<'a>,
    message: LettaMessage<'a>,
}

/// A message.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct LettaMessage<'a> {
    id: Text<'a>,
    role: Text<'a>,
    model: Text<'a>,
    timestamp: Option<&'a RawValue>,
    content: Option<&'a RawValue>,
    parts: Option<&'a RawValue>,
    usage: Option<&'a RawValue>,
}

/// The start of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProcessStart {
    pub dir: Arc<Path>,
    pub branch: Option<String>,
}

impl<'a> LettaLine<'a> {
    /// Parses a line; `None` if it is not an object.
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        let entry = PiRecord::parse(line)?;
        let message = match entry.kind.get() {
            // A message of schema 1 has no type.
            None => record(line)?,
            Some(_) => inner(entry.raw_message()),
        };
        Some(Self { entry, message })
    }

    /// Returns the directory in the header of a file of schema 2.
    pub(super) fn header_dir(&self) -> Option<PathBuf> {
        let dir = self.entry.cwd.filled().filter(|_| self.entry.is_header()).map(PathBuf::from)?;
        recorded::is_absolute(&dir).then_some(dir)
    }

    /// Returns the cost of a reply in US dollars with the id of its message, as pi-ai of Letta Code 0.32.18 computes it
    /// from the prices of its catalog. A model without a price has zero.
    pub(super) fn cost(&self) -> Option<(Option<String>, Cost)> {
        let cost = dollars(member(member(self.message.usage, "cost"), "total"))?;
        Some((self.message.id.filled().map(str::to_owned), cost))
    }

    /// Returns whether the line is a message in the format before schema 1, which is not read.
    pub(super) fn is_older(&self) -> bool {
        self.message.role.get().is_some() && self.message.content.is_none() && self.message.parts.is_some()
    }

    /// Returns the model that answered.
    pub(super) fn model(&self) -> Option<&str> {
        self.message.model.filled().filter(|_| self.message.role.get() == Some("assistant"))
    }

    /// Returns the start of the process that wrote the line, if it is recorded.
    pub(super) fn start(&self) -> Option<ProcessStart> {
        if self.message.role.get() != Some("user") {
            return None;
        }
        let texts = self.texts();
        let after = |text: &str, mark: &str| Some(text.split_once(mark)?.1.lines().next()?.to_owned());
        texts.iter().filter(|text| is_reminder(text)).find_map(|text| {
            let dir = recorded::dir(&after(text, DIRECTORY)?)?;
            let branch = after(text, REPOSITORY).and_then(|rest| Some(rest.split_once(')')?.0.to_owned()));
            Some(ProcessStart { dir, branch })
        })
    }

    fn time(&self) -> Option<Timestamp> {
        self.entry.raw_message()?;
        let by_provider =
            || epoch(self.message.timestamp, 1000).filter(|_| self.message.role.get() == Some("assistant"));
        real(self.entry.time()).or_else(|| real(by_provider()))
    }

    fn texts(&self) -> Vec<String> {
        let text = |block| match block {
            Block::Text(text) => Some(text.into_owned()),
            _ => None,
        };
        blocks(self.message.content).into_iter().filter_map(text).collect()
    }
}

impl lines::Record for LettaLine<'_> {
    /// Returns the time, unless it is invented. A reply also has the provider's time.
    fn at(&self, _zone: &TimeZone) -> Option<Timestamp> {
        self.time()
    }

    /// Returns the turn without reminders. A compaction is formatted like Pi's.
    fn turn(&self) -> Option<Turn> {
        let role = match self.message.role.get() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("toolResult") => Role::Tool,
            Some(_) => return None,
            None => {
                let mut turn = self.entry.turn()?;
                turn.messages.iter_mut().for_each(|message| message.at = real(message.at));
                return Some(turn);
            }
        };
        let mut turn = Turn::new(role, self.time());
        match role {
            // The user typed the last text; the program inserted the others.
            Role::User => turn.add_text(self.texts().pop().filter(|text| !is_reminder(text))?),
            Role::Tool => self.texts().into_iter().for_each(|text| turn.tool(format!("→ {text}"))),
            _ => {
                let shown_blocks = blocks(self.message.content).into_iter().filter(Block::says_something);
                turn.messages.extend(shown_blocks.filter_map(|block| block.message(role, turn.at)));
            }
        }
        Some(turn)
    }
}

/// Returns the time, unless it is invented.
fn real(at: Option<Timestamp>) -> Option<Timestamp> {
    at.filter(|at| !INVENTED.contains(at))
}

/// The messages that are written again, by the numbers of their lines.
#[derive(Default)]
pub(super) struct Rewritten {
    /// The last line of each message.
    last: HashMap<Id, usize>,
    pub replaced: BTreeSet<usize>,
}

impl Rewritten {
    pub(super) fn add(&mut self, at: usize, line: &LettaLine<'_>) {
        let id = line.message.id.filled().map(hash);
        self.replaced.extend(id.and_then(|id| self.last.insert(id, at)));
    }
}

fn is_reminder(text: &str) -> bool {
    text.trim_start().starts_with(REMINDER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::lines::Record as _;

    fn user(texts: &[&str]) -> String {
        let parts: Vec<_> = texts.iter().map(|text| serde_json::json!({"type": "text", "text": text})).collect();
        serde_json::json!({"role": "user", "content": parts}).to_string()
    }

    #[test]
    fn prompt_is_last_text_except_reminders() {
        let prompt = |texts: &[&str]| LettaLine::parse(user(texts).as_bytes()).and_then(|line| line.prompt());
        assert_eq!(prompt(&["<system-reminder>a", "b"]).as_deref(), Some("b"));
        assert_eq!(prompt(&["b"]).as_deref(), Some("b"));
        assert_eq!(prompt(&["a", "<system-reminder>b"]), None);
        assert_eq!(prompt(&[]), None);
    }

    #[test]
    fn start_directory_comes_only_from_reminder() {
        let start = |texts: &[&str]| LettaLine::parse(user(texts).as_bytes()).and_then(|line| line.start());
        let notice =
            "<system-reminder>\n- **Current working directory**: /w/a b\n- **Git repository**: Yes (branch: main)\n";
        assert_eq!(
            start(&[notice, "go"]),
            Some(ProcessStart { dir: Path::new("/w/a b").into(), branch: Some("main".to_owned()) })
        );
        let plain = "<system-reminder>\n- **Current working directory**: /w/a\n- **Git repository**: No\n";
        assert_eq!(start(&[plain, "go"]), Some(ProcessStart { dir: Path::new("/w/a").into(), branch: None }));
        assert_eq!(start(&["- **Current working directory**: /etc", "go"]), None, "anybody can type that");
        assert_eq!(start(&["<system-reminder>- **Current working directory**: etc"]), None, "relative to what?");
    }

    #[test]
    fn pi_entry_wraps_the_same_message() {
        let entry = |message: &str| {
            format!(
                r#"{{"type":"message","id":"a","parentId":null,"timestamp":"2026-11-25T10:00:00Z","message":{message}}}"#
            )
        };
        let typed = entry(&user(&["<system-reminder>\n- **Current working directory**: /w/a\n", "go"]));
        let line = LettaLine::parse(typed.as_bytes()).expect("an entry");
        assert_eq!(
            (line.prompt().as_deref(), line.start().map(|start| start.dir)),
            (Some("go"), Some(Path::new("/w/a").into()))
        );
        let header = LettaLine::parse(br#"{"type":"session","version":3,"id":"x","cwd":"/w/h"}"#).expect("a header");
        assert_eq!((header.header_dir(), header.prompt(), header.start()), (Some("/w/h".into()), None, None));
        assert_eq!(line.header_dir(), None);
        let summary =
            LettaLine::parse(br#"{"type":"compaction","summary":"so far","message":{"role":"user","content":"x"}}"#);
        let summary = summary.expect("an entry");
        assert_eq!((summary.prompt(), summary.messages()[0].text.as_str()), (None, "so far"));
    }

    #[test]
    fn parser_ignores_invented_timestamps() {
        let at = |written: &str, role: &str, millis: u64| {
            let text = format!(
                r#"{{"type":"message","timestamp":"{written}","message":{{"role":"{role}","timestamp":{millis},"content":[]}}}}"#
            );
            LettaLine::parse(text.as_bytes()).and_then(|line| line.time()).map(|at| at.to_string())
        };
        let (invented, real) = ("2026-01-01T00:00:24Z", "2026-11-25T09:30:00Z");
        assert_eq!(at(real, "user", 1_767_225_624_000).as_deref(), Some(real));
        assert_eq!(at(invented, "user", 1_795_353_445_218), None);
        assert_eq!(at(invented, "assistant", 1_795_353_445_218).as_deref(), Some("2026-11-22T13:17:25.218Z"));
        assert_eq!(at(invented, "assistant", 1_767_225_624_000), None, "the provider said none");
    }

    #[test]
    fn manifest_reports_unknown_format() {
        let unknown =
            |text: &str| record::<LettaManifest<'_>>(text.as_bytes()).and_then(|manifest| manifest.unknown_format());
        for known in [
            "{}",
            r#"{"schema_version":1}"#,
            r#"{"schema_version":2,"message_format":"pi-session-entry-jsonl","provider_stack":"pi-ai"}"#,
        ] {
            assert_eq!(unknown(known), None, "{known}");
        }
        assert_eq!(unknown(r#"{"schema_version":3,"message_format":"x"}"#).as_deref(), Some("schema 3, x"));
        assert_eq!(unknown(r#"{"schema_version":2,"message_format":"x"}"#).as_deref(), Some("x"));
        assert_eq!(unknown(r#"{"schema_version":"2"}"#).as_deref(), Some(r#"schema "2""#));
    }

    #[test]
    fn reply_has_text_or_a_tool_call() {
        let reply = |text: &str| LettaLine::parse(text.as_bytes()).is_some_and(|line| line.is_reply());
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
