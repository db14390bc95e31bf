//! The records of Vibe: the entries of its unified store, and the messages of its older directories.
//!
//! Facts: measured on 3.0.2 (store minor version 9); the older directories after mistralai/mistral-vibe 025ba238.

use crate::agent::lines::Record;
use crate::agent::prelude::*;
use crate::format::content::{call, plain_text, tool_calls};
use crate::format::json::{epoch, list, record};
use crate::format::toml::TomlSettings;

/// The known format, as `CURRENT` names it.
pub(crate) const STORE_FORMAT: &str = "mistral.vibe.unified-session-store/v1";

/// `CURRENT`: the current generation.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct Current<'a> {
    /// The name of the store's format.
    pub store_format: Text<'a>,
    generation: Text<'a>,
}

impl Current<'_> {
    /// Returns the generation, if it is a valid directory name.
    pub(crate) fn generation(&self) -> Option<&str> {
        self.generation.get().filter(|name| is_number(name))
    }
}

/// Returns whether a name is that of a generation or of a segment of the journal: 16 digits.
pub(crate) fn is_number(name: &str) -> bool {
    name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// `manifest.json` of a generation: the locations of its conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VibeManifest {
    /// The files in `chunks/` with the entries, in order; `None` if `projection-state.json` contains the entries.
    pub chunks: Option<Vec<String>>,
    /// The first segment of the journal that is not part of the generation.
    pub journal: Option<String>,
}

impl VibeManifest {
    /// Parses a manifest; ignores file names with path separators.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let [projection, segment] = members(Some(record(bytes)?), ["projection_state", "recovery_journal_segment"]);
        let names = member(projection, "chunks").map(|names| {
            let is_digest = |name: &&str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let names: Vec<Text<'_>> = inner(Some(names));
            names.iter().filter_map(Text::get).filter(is_digest).map(str::to_owned).collect()
        });
        let path = text_in(segment, "path");
        let journal = path.get().and_then(|path| path.strip_prefix("journal/")?.strip_suffix(".jsonl"));
        Some(Self { chunks: names, journal: journal.filter(|name| is_number(name)).map(str::to_owned) })
    }
}

/// `meta.json`, which both stores share.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct VibeMeta<'a> {
    /// The full id.
    pub session_id: Text<'a>,
    /// The session from which it was started or forked.
    pub parent_session_id: Text<'a>,
    pub start_time: Text<'a>,
    pub end_time: Text<'a>,
    pub bumped_at: Text<'a>,
    pub archived_at: Text<'a>,
    pub pinned_at: Option<&'a RawValue>,
    /// The git branch that was checked out.
    pub git_branch: Text<'a>,
    /// The title that the user gave or the model generated.
    pub title: Text<'a>,
    /// The directory of the start.
    pub origin_directory: Text<'a>,
    pub environment: Option<&'a RawValue>,
    pub config: Option<&'a RawValue>,
}

/// Returns the id at the beginning of a `meta.json`. The id is the first member.
pub(crate) fn id_in_head(head: &[u8]) -> Option<String> {
    let key = b"\"session_id\"";
    let rest = &head[memchr::memmem::find(head, key)? + key.len()..];
    let rest = rest.trim_ascii_start().strip_prefix(b":")?;
    serde_json::Deserializer::from_slice(rest).into_iter::<String>().next()?.ok()
}

/// One entry of the unified store's conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnifiedEntry {
    /// Its id, by which the journal replaces it.
    pub id: String,
    /// A prompt, a reply, or a tool call with its outcome; `None` if it is not shown.
    pub message: Option<(Role, String)>,
    /// The time of its last change.
    pub at: Option<Timestamp>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct RawEntry<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    role: Text<'a>,
    id: Text<'a>,
    content: Option<&'a RawValue>,
    user_display_content: Option<&'a RawValue>,
    created_at: Option<&'a RawValue>,
    updated_at: Option<&'a RawValue>,
    detail: Option<&'a RawValue>,
    title: Text<'a>,
}

impl UnifiedEntry {
    /// Parses an entry; `None` if it is not one.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let raw: RawEntry<'_> = serde_json::from_slice(bytes).ok()?;
        let at = epoch(raw.updated_at, 1000).or_else(|| epoch(raw.created_at, 1000));
        let message = match (raw.kind.get(), raw.role.get()) {
            (Some("message"), Some("user")) => {
                // The typed text may differ from the text for the model.
                let typed = raw.user_display_content.and_then(display);
                Some((Role::User, typed.unwrap_or_else(|| plain_text(raw.content))))
            }
            (Some("message"), Some("assistant")) => Some((Role::Assistant, plain_text(raw.content))),
            (Some("effect"), _) => {
                let [name, input] = members(raw.detail, ["toolName", "input"]);
                let name: Text<'_> = inner(name);
                Some((Role::Tool, call(name.filled().or(raw.title.filled()), input.map(RawValue::get))))
            }
            _ => None,
        };
        let message = message.filter(|(_, text)| !text.trim().is_empty());
        Some(Self { id: raw.id.get().unwrap_or_default().to_owned(), message, at })
    }

    /// Returns the text that the user typed.
    pub(crate) fn prompt(&self) -> Option<&str> {
        self.message.as_ref().filter(|(role, _)| *role == Role::User).map(|(_, text)| text.as_str())
    }

    /// Returns whether the entry is a reply with a text.
    pub(crate) fn is_reply(&self) -> bool {
        self.message.as_ref().is_some_and(|(role, _)| *role == Role::Assistant)
    }

    /// Formats the entry as a message.
    pub(crate) fn message(self) -> Option<Message> {
        self.message.map(|(role, text)| Message::new(role, text, self.at))
    }
}

fn display(raw: &RawValue) -> Option<String> {
    Some(plain_text(member(Some(raw), "content"))).filter(|text| !text.trim().is_empty())
}

/// Parses the entries inside a document: `snapshot.history.entries`.
pub(crate) fn inline_entries(bytes: &[u8]) -> Option<Vec<UnifiedEntry>> {
    Some(member(Some(record(bytes)?), "snapshot").map(history).unwrap_or_default())
}

/// Returns the entries of a snapshot.
pub(super) fn history(snapshot: &RawValue) -> Vec<UnifiedEntry> {
    entries(member(member(Some(snapshot), "history"), "entries"))
}

pub(super) fn entries(raw: Option<&RawValue>) -> Vec<UnifiedEntry> {
    list(raw).into_iter().filter_map(|raw| UnifiedEntry::parse(raw.get().as_bytes())).collect()
}

/// A line of `messages.jsonl` in an older directory.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct OldMessage<'a> {
    role: Text<'a>,
    content: Option<&'a RawValue>,
    tool_calls: Option<&'a RawValue>,
    name: Text<'a>,
    injected: Flag,
}

impl Record for OldMessage<'_> {
    fn at(&self, _zone: &TimeZone) -> Option<Timestamp> {
        None
    }

    /// Returns the turn: the text first, then each call.
    fn turn(&self) -> Option<Turn> {
        let mut turn = Turn::new(Role::from_name(self.role.get()), None);
        let text = plain_text(self.content);
        match turn.role {
            Role::System => return None,
            Role::User if self.injected.0 => {}
            Role::Tool => turn.tool(format!("{} → {text}", self.name.filled().unwrap_or("tool"))),
            _ => turn.add_text(text),
        }
        tool_calls(self.tool_calls).into_iter().for_each(|call| turn.tool(call));
        Some(turn)
    }
}

/// Returns the directory of sessions in `config.toml`: `save_dir` in the table `session_logging`.
pub(crate) fn save_dir(config: &str) -> Option<String> {
    TomlSettings::parse(config).text("session_logging", "save_dir")
}
