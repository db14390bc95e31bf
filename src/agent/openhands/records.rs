//! Parses the files of an OpenHands conversation: its state, and one event per file.
//!
//! Facts: OpenHands CLI 1.16.0 with SDK 1.21.0, measured.

use std::collections::BTreeMap;

use crate::agent::lines::Record;
use crate::agent::prelude::*;
use crate::format::content::{call, plain_text};
use crate::format::json::{dollars, local_instant};
use crate::session::usage::Cost;

/// The text before the directory in the system prompt, on a separate line.
const DIRECTORY: &str = "Your current working directory is: ";

/// `base_state.json`, rewritten at every change.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct BaseState<'a> {
    /// The id with dashes.
    pub id: Text<'a>,
    /// The current status of the conversation, or its status when its client was killed.
    pub execution_status: Text<'a>,
    workspace: Option<&'a RawValue>,
    agent: Option<&'a RawValue>,
    stats: Option<&'a RawValue>,
}

impl BaseState<'_> {
    /// Returns the cost of all models in US dollars: by LiteLLM, or by the prices in the user's settings. A model
    /// without a price adds zero.
    pub(super) fn cost(&self) -> Option<Cost> {
        let models: BTreeMap<String, &RawValue> = inner(member(self.stats, "usage_to_metrics"));
        Cost::sum(models.into_values().filter_map(|model| dollars(member(Some(model), "accumulated_cost"))))
    }

    /// Returns the working directory.
    pub(super) fn dir(&self) -> Option<Arc<Path>> {
        absolute(text_in(self.workspace, "working_dir").get())
    }

    /// Returns the model that answers.
    pub(super) fn model(&self) -> Option<String> {
        text_in(member(self.agent, "llm"), "model").filled().map(str::to_owned)
    }
}

/// An event; written once and never changed.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct OpenHandsEvent<'a> {
    kind: Text<'a>,
    source: Text<'a>,
    /// Local time, without a zone.
    timestamp: Text<'a>,
    /// The reply of the model that contains the event; one reply may contain several calls.
    llm_response_id: Text<'a>,
    llm_message: Option<&'a RawValue>,
    thought: Option<&'a RawValue>,
    tool_name: Text<'a>,
    tool_call: Option<&'a RawValue>,
    observation: Option<&'a RawValue>,
    dynamic_context: Option<&'a RawValue>,
    code: Text<'a>,
    detail: Text<'a>,
}

impl OpenHandsEvent<'_> {
    /// Returns the start directory, which only the first event contains.
    pub(super) fn dir(&self) -> Option<Arc<Path>> {
        let context = text_in(self.dynamic_context, "text");
        absolute(context.get()?.lines().find_map(|line| line.strip_prefix(DIRECTORY)))
    }
}

impl Record for OpenHandsEvent<'_> {
    fn at(&self, zone: &TimeZone) -> Option<Timestamp> {
        self.timestamp.get().and_then(|text| local_instant(text, zone))
    }

    fn turn(&self) -> Option<Turn> {
        let content = |raw| plain_text(member(raw, "content"));
        let kind = self.kind.get()?;
        let mut turn = Turn::new(
            match (kind, self.source.get()) {
                ("MessageEvent", Some("user")) => Role::User,
                ("MessageEvent", Some("agent")) | ("ActionEvent", _) => Role::Assistant,
                ("ObservationEvent", _) => Role::Tool,
                ("ConversationErrorEvent", _) => Role::System,
                _ => return None,
            },
            None,
        );
        match kind {
            "MessageEvent" => turn.add_text(content(self.llm_message)),
            "ActionEvent" => {
                let [name, arguments] = texts_in(self.tool_call, ["name", "arguments"]);
                turn.add_text(plain_text(self.thought));
                turn.tool(call(name.filled().or(self.tool_name.filled()), arguments.get()));
            }
            "ObservationEvent" => turn.tool(format!("→ {}", content(self.observation))),
            _ => {
                let words = [self.code.filled(), self.detail.filled()];
                turn.add_text(words.into_iter().flatten().collect::<Vec<_>>().join(": "));
            }
        }
        turn.id = self.llm_response_id.filled().map(str::to_owned);
        Some(turn)
    }
}

/// Returns the number in the name of an event's file, `event-00001-<uuid>.json`.
pub(super) fn number(name: &str) -> Option<u64> {
    let (number, _) = name.strip_prefix("event-")?.strip_suffix(".json")?.split_once('-')?;
    number.parse().ok()
}

/// Returns whether a name is an id as OpenHands files it: a UUID without dashes.
pub(super) fn is_id(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn absolute(dir: Option<&str>) -> Option<Arc<Path>> {
    dir.and_then(recorded::dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str) -> OpenHandsEvent<'_> {
        serde_json::from_str(text).expect("an event")
    }

    fn texts(text: &str) -> Vec<(Role, String)> {
        event(text).messages().into_iter().map(|message| (message.role, message.text)).collect()
    }

    #[test]
    fn parser_recognizes_each_event_type() {
        let typed = r#"{"source":"user","kind":"MessageEvent","llm_message":{"role":"user","content":[{"type":"text","text":"a\nb"}]}}"#;
        assert_eq!((event(typed).prompt().as_deref(), event(typed).is_reply()), (Some("a\nb"), false));
        let event_line =
            r#"{"source":"agent","kind":"MessageEvent","llm_message":{"content":[{"type":"text","text":"Done."}]}}"#;
        assert_eq!((event(event_line).prompt(), event(event_line).is_reply()), (None, true));
        let call = r#"{"source":"agent","kind":"ActionEvent","thought":[{"type":"text","text":"Looking."}],
            "tool_name":"terminal","tool_call":{"name":"terminal","arguments":"{\"command\": \"ls\"}"}}"#;
        assert!(event(call).is_reply());
        let expected =
            [(Role::Assistant, "Looking.".to_owned()), (Role::Tool, "terminal {\"command\": \"ls\"}".to_owned())];
        assert_eq!(texts(call), expected);
        let answer = r#"{"source":"environment","kind":"ObservationEvent","observation":{"content":[{"type":"text","text":"a b"}]}}"#;
        assert_eq!(texts(answer), [(Role::Tool, "→ a b".to_owned())]);
        let error = r#"{"kind":"ConversationErrorEvent","code":"BadRequest","detail":"no"}"#;
        assert_eq!((texts(error), event(error).is_reply()), (vec![(Role::System, "BadRequest: no".to_owned())], false));
        for other in [r#"{"kind":"SystemPromptEvent","source":"agent"}"#, "{}", r#"{"kind":7,"llm_message":[]}"#] {
            assert!(texts(other).is_empty() && !event(other).is_reply(), "{other}");
        }
    }

    #[test]
    fn directory_is_an_absolute_path_in_system_prompt() {
        let first = |text: &str| event(&serde_json::json!({"dynamic_context": {"text": text}}).to_string()).dir();
        assert_eq!(
            first("x\nYour current working directory is: /home/me/my app\nUser"),
            Some(Path::new("/home/me/my app").into())
        );
        assert_eq!(first("Your current working directory is: app"), None);
        assert_eq!(first("nothing"), None);
        let state: BaseState<'_> =
            serde_json::from_str(r#"{"workspace":{"working_dir":"x"},"agent":{"llm":7}}"#).expect("a state");
        assert_eq!((state.dir(), state.model()), (None, None));
    }

    #[test]
    fn name_identifies_event_files_and_ids() {
        assert_eq!(number("event-00012-4e14cde2-1202-47c0-8801-cfd7dbf098b0.json"), Some(12));
        for other in [".eventlog.lock", "event-x-y.json", "event-00001.json", "event-00001-a.json.tmp", "event--a.json"]
        {
            assert_eq!(number(other), None, "{other}");
        }
        assert!(is_id("0123456789abcdef0123456789abcdef"));
        for other in ["0123456789ABCDEF0123456789ABCDEF", "0123", "01234567-89ab-cdef-0123-456789abcdef"] {
            assert!(!is_id(other), "{other}");
        }
    }
}
