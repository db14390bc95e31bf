//! Parses the files of a gptme conversation: its messages, its settings, and the metadata of a sub-agent.
//!
//! Facts: gptme 0.35.1, measured; sub-agents and local times by its code.

use crate::agent::lines;
use crate::agent::prelude::*;
use crate::format::json::{local_instant, record};
use crate::format::toml::TomlSettings;

/// The text before the directory in one of the initial messages of the program.
const DIRECTORY: &str = "**Working Directory:** ";
/// The beginning of a user message that was not typed.
const INJECTED: &str = "<system>";

/// A line of `conversation.jsonl`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(in crate::agent) struct GptmeRecord<'a> {
    role: Text<'a>,
    content: Text<'a>,
    timestamp: Text<'a>,
    call_id: Text<'a>,
    hide: Flag,
    /// The tokens of a reply, and its cost in US dollars.
    pub metadata: Option<&'a RawValue>,
}

impl GptmeRecord<'_> {
    /// Returns whether the record is known to carry no conversation: text that the program inserted.
    pub(super) fn is_silent(&self) -> bool {
        self.said_by("system").is_some() || self.said_by("user").is_some_and(|text| text.starts_with(INJECTED))
    }

    fn said_by(&self, role: &str) -> Option<&str> {
        self.content.filled().filter(|_| self.role.get() == Some(role))
    }

    /// Returns the directory in which the conversation began; a fork has a copy of another conversation's.
    pub(super) fn dir(&self) -> Option<Arc<Path>> {
        let text = self.said_by("system")?;
        let dir = text.lines().find_map(|line| line.strip_prefix(DIRECTORY))?;
        recorded::dir(dir)
    }
}

impl lines::Record for GptmeRecord<'_> {
    /// Parses the time; a time without a zone is local.
    fn at(&self, zone: &TimeZone) -> Option<Timestamp> {
        self.timestamp.get().and_then(|text| local_instant(text, zone))
    }

    /// Returns the turn; hidden messages, with which the program starts, have none.
    fn turn(&self) -> Option<Turn> {
        let content = self.content.filled().filter(|_| !self.hide.0)?;
        let role = match self.role.get()? {
            "user" if !content.starts_with(INJECTED) => Role::User,
            "assistant" => Role::Assistant,
            _ => Role::System,
        };
        let mut turn = Turn::new(role, None);
        if self.role.get() == Some("system") && self.call_id.filled().is_some() {
            turn.tool(format!("→ {content}"));
        } else if member(self.metadata, "error").is_some_and(|flag| flag.get() == "true") {
            turn.error(content);
        } else {
            turn.add_text(content);
        }
        Some(turn)
    }
}

/// The contents of `config.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GptmeConfig {
    /// The working directory; `~` is not expanded yet.
    pub workspace: Option<PathBuf>,
    /// The title.
    pub name: Option<String>,
    /// The model that answers.
    pub model: Option<String>,
    /// Set if the session was created for a terminal.
    pub is_interactive: Option<bool>,
}

impl GptmeConfig {
    /// Parses the file.
    pub(super) fn parse(settings: &str) -> Self {
        let settings = TomlSettings::parse(settings);
        let text = |key| settings.text("chat", key);
        Self {
            workspace: text("workspace").map(PathBuf::from),
            name: text("name"),
            model: text("model"),
            is_interactive: settings.flag("chat", "interactive"),
        }
    }
}

/// Returns the conversation that started a sub-agent, from `subagent-meta.json`.
pub(super) fn parent(meta: &[u8]) -> Option<String> {
    #[derive(Default, Deserialize)]
    #[serde(default, bound(deserialize = "'de: 'a"))]
    struct GptmeMeta<'a> {
        parent_logdir: Text<'a>,
    }
    let meta: GptmeMeta<'_> = record(meta)?;
    Path::new(meta.parent_logdir.filled()?).file_name()?.to_str().map(str::to_owned)
}

/// Returns whether a name can be an id, by gptme's own rule; hidden directories are excluded.
pub(super) fn is_id(name: &str) -> bool {
    let is_fine = |c: char| !c.is_control() && c != '/' && c != '\\';
    !name.is_empty() && name.len() <= 255 && name.trim() == name && !name.starts_with('.') && name.chars().all(is_fine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::lines::Record as _;

    fn parsed(line: &str) -> GptmeRecord<'_> {
        record::<GptmeRecord<'_>>(line.as_bytes()).expect("a record")
    }

    #[test]
    fn only_typed_and_visible_text_is_prompt() {
        let cases = [
            (r#"{"role":"user","content":"a\nb"}"#, true, false, Some((Role::User, "a\nb"))),
            (
                r#"{"role":"user","content":"<system>No tool call"}"#,
                false,
                false,
                Some((Role::System, "<system>No tool call")),
            ),
            (r#"{"role":"assistant","content":"Done."}"#, false, true, Some((Role::Assistant, "Done."))),
            (r#"{"role":"assistant","content":" "}"#, false, false, None),
            (r#"{"role":"system","content":"You are","hide":true}"#, false, false, None),
            (r#"{"role":"system","content":"a b","call_id":"c"}"#, false, false, Some((Role::Tool, "→ a b"))),
            (r#"{"role":"system","content":"error: generic"}"#, false, false, Some((Role::System, "error: generic"))),
            (r#"{"role":7,"content":[]}"#, false, false, None),
        ];
        for (line, is_prompt, is_reply, shown) in cases {
            let record = parsed(line);
            let message = record.messages().pop().map(|message| (message.role, message.text));
            assert_eq!((record.prompt().is_some(), record.is_reply()), (is_prompt, is_reply), "{line}");
            assert_eq!(message, shown.map(|(role, text)| (role, text.to_owned())), "{line}");
        }
        assert!(record::<GptmeRecord<'_>>(b"[]").is_none() && record::<GptmeRecord<'_>>(b"{\"role\":").is_none());
    }

    #[test]
    fn timestamp_without_zone_is_local_time() {
        let zone = TimeZone::fixed(jiff::tz::offset(9));
        let at = |text: &str| {
            let line = format!(r#"{{"timestamp":"{text}"}}"#);
            parsed(&line).at(&zone).map(|at| at.to_string())
        };
        assert_eq!(at("2026-02-01T10:00:00.5").as_deref(), Some("2026-02-01T01:00:00.5Z"));
        assert_eq!(at("2026-02-01T10:00:00+00:00").as_deref(), Some("2026-02-01T10:00:00Z"));
        assert_eq!(at("soon"), None);
    }

    #[test]
    fn config_parses_workspace_name_model_and_interactive() {
        let settings = "[chat]\nmodel = \"m\"\ntools = [\"a\", \"b\"]\ninteractive = false\nworkspace = \"~/my app\"\nname = \"A\"\n\n[env]\n";
        let expected = GptmeConfig {
            workspace: Some("~/my app".into()),
            name: Some("A".to_owned()),
            model: Some("m".to_owned()),
            is_interactive: Some(false),
        };
        assert_eq!(GptmeConfig::parse(settings), expected);
        assert_eq!(GptmeConfig::parse("[chat]\ninteractive = true").is_interactive, Some(true));
        assert_eq!(GptmeConfig::parse("[chat]\ninteractive = \"no\"\nname = 7"), GptmeConfig::default());
    }

    #[test]
    fn parser_accepts_plain_ids_and_finds_parent() {
        for id in ["2026-02-01-a-b-c", "my own", "ü", "a.b", "-x"] {
            assert!(is_id(id), "{id}");
        }
        for other in ["", ".", "..", ".lock", "a/b", "a\\b", " a", "a ", "a\nb", &"a".repeat(256)] {
            assert!(!is_id(other), "{other:?}");
        }
        assert_eq!(
            parent(br#"{"parent_logdir":"/home/me/logs/2026-02-01-a-b-c"}"#).as_deref(),
            Some("2026-02-01-a-b-c")
        );
        assert_eq!((parent(b"{}"), parent(b"{"), parent(br#"{"parent_logdir":7}"#)), (None, None, None));
    }
}
