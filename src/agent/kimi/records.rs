//! The records of Kimi CLI: `wire.jsonl`, the log of displayed events; `context.jsonl`, the messages for the model;
//! `state.json`; and `kimi.json`, which maps projects to directories.
//!
//! Facts: measured on 1.45.0; its session.py (02a40bfe), metadata.py (04fe42b2) and session_state.py (1886a8fb).

use crate::agent::lines::Record;
use crate::agent::prelude::*;
use crate::format::content::{function_call, plain_text, tool_calls};
use crate::format::json::{epoch, list, record};

/// The sentence of the system prompt with the directory, up to the directory.
const DIRECTORY_IS: &str = "The current working directory is `";

/// A directory that `kimi.json` lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkDir {
    /// The path on the machine that `kaos` accesses.
    pub path: String,
    /// The access method of the machine: `local`, or the name of another one.
    pub kaos: String,
}

/// Parses `kimi.json`. Entries that are not directories are skipped; `None` if it is not such a document.
pub(crate) fn work_dirs(bytes: &[u8]) -> Option<Vec<WorkDir>> {
    let dirs = list(member(Some(record(bytes)?), "work_dirs")).into_iter().filter_map(|raw| {
        let [path, kaos] = texts_in(Some(raw), ["path", "kaos"]);
        // Versions with a single access method omit it.
        let kaos = kaos.filled().unwrap_or("local").to_owned();
        path.filled().map(|path| WorkDir { path: path.to_owned(), kaos })
    });
    Some(dirs.collect())
}

/// `state.json`, or `metadata.json` of older versions with fewer members.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct KimiState<'a> {
    custom_title: Text<'a>,
    title: Text<'a>,
    /// Set if the session was archived.
    pub archived: Flag,
}

impl KimiState<'_> {
    /// Returns the title, which the user set or Kimi derived from the first prompt of a successful turn.
    pub(crate) fn title(&self) -> Option<&str> {
        self.custom_title.filled().or_else(|| self.title.filled().filter(|title| *title != "Untitled"))
    }
}

/// A record of `wire.jsonl`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct WireRecord<'a> {
    timestamp: Option<&'a RawValue>,
    message: Option<&'a RawValue>,
}

/// The type of an event, as far as it matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WireEvent {
    /// The user typed a prompt.
    Prompt(String),
    /// A request is sent to the model.
    StepBegin,
    /// A text of the model.
    Text(String),
    /// A tool call of the model.
    Call(String),
    /// The result of a tool.
    Answer(String),
    /// The model has finished its message.
    StepDone,
    /// The model did not finish its message; the program retries or gives up.
    Failed,
    /// The agent waits for the user again.
    TurnEnd,
    /// Any other event.
    Other,
}

impl WireRecord<'_> {
    /// Returns the type of the event.
    pub(crate) fn event(&self) -> WireEvent {
        let [kind, payload] = members(self.message, ["type", "payload"]);
        let [typed, text, function, answered] = members(payload, ["user_input", "text", "function", "return_value"]);
        match inner::<Text<'_>>(kind).get() {
            Some("TurnBegin" | "SteerInput") => match plain_text(typed) {
                text if text.trim().is_empty() || is_command(&text) => WireEvent::StepBegin,
                text => WireEvent::Prompt(text),
            },
            Some("StepBegin") => WireEvent::StepBegin,
            Some("ContentPart") => match inner::<Text<'_>>(text).filled() {
                Some(text) => WireEvent::Text(text.to_owned()),
                None => WireEvent::Other,
            },
            Some("ToolCall") => WireEvent::Call(function_call(function)),
            Some("ToolResult") => WireEvent::Answer(answer(answered)),
            Some("StatusUpdate") => WireEvent::StepDone,
            Some("StepRetry" | "StepInterrupted") => WireEvent::Failed,
            Some("TurnEnd") => WireEvent::TurnEnd,
            _ => WireEvent::Other,
        }
    }

    /// Returns the part of the conversation in an event of this record.
    pub(super) fn turn_of(&self, event: WireEvent) -> Option<Turn> {
        let (role, text) = match event {
            WireEvent::Prompt(text) => (Role::User, text),
            WireEvent::Text(text) => (Role::Assistant, text),
            WireEvent::Call(text) => (Role::Tool, text),
            WireEvent::Answer(text) => (Role::Tool, format!("→ {text}")),
            _ => return None,
        };
        let mut turn = Turn::new(role, epoch(self.timestamp, 1));
        turn.add_text(text);
        Some(turn)
    }
}

impl Record for WireRecord<'_> {
    /// Returns the time of the event; seconds with fractions.
    fn at(&self, _zone: &TimeZone) -> Option<Timestamp> {
        epoch(self.timestamp, 1)
    }

    fn turn(&self) -> Option<Turn> {
        self.turn_of(self.event())
    }

    fn ends_turn(&self) -> bool {
        self.event() == WireEvent::TurnEnd
    }
}

/// Returns whether a record is a command to the program.
pub(super) fn is_command_record(record: &[u8]) -> bool {
    let Ok(record) = serde_json::from_slice::<WireRecord<'_>>(record) else { return false };
    let [kind, payload] = members(record.message, ["type", "payload"]);
    inner::<Text<'_>>(kind).get() == Some("TurnBegin") && is_command(&plain_text(member(payload, "user_input")))
}

/// Returns whether a text is a command to the program, such as `/compact`, and not a prompt.
fn is_command(text: &str) -> bool {
    text.trim().strip_prefix('/').is_some_and(|word| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':'))
    })
}

fn answer(raw: Option<&RawValue>) -> String {
    let [output, message] = members(raw, ["output", "message"]);
    match plain_text(output) {
        output if output.trim().is_empty() => inner::<Text<'_>>(message).get().unwrap_or_default().to_owned(),
        output => output,
    }
}

/// Counts the model's messages in the log of displayed events.
///
/// A message counts if it is finished and its tools have answered: Kimi commits it to the context at that point. A
/// message that was interrupted earlier is lost on resume.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Replies {
    count: u64,
    has_content: bool,
    is_done: bool,
    open_calls: u32,
}

impl Replies {
    /// Adds the next event.
    pub(crate) fn add_event(&mut self, event: &WireEvent) {
        match event {
            WireEvent::Text(_) => self.has_content = true,
            WireEvent::Call(_) => {
                self.has_content = true;
                self.open_calls += 1;
            }
            WireEvent::Answer(_) => self.open_calls = self.open_calls.saturating_sub(1),
            WireEvent::StepDone => self.is_done = true,
            // The next step or the end of the turn implies that the message is finished, like a status.
            WireEvent::StepBegin | WireEvent::TurnEnd => {
                self.is_done = true;
                self.close();
            }
            WireEvent::Prompt(_) | WireEvent::Failed => self.close(),
            WireEvent::Other => {}
        }
    }

    fn close(&mut self) {
        let counts = self.has_content && self.is_done && self.open_calls == 0;
        *self = Self { count: self.count + u64::from(counts), ..Self::default() };
    }

    /// Returns the number of messages after the last event.
    pub(crate) fn count(mut self) -> u64 {
        self.close();
        self.count
    }
}

/// A record of `context.jsonl`; roles that begin with `_` are markers.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct ContextRecord<'a> {
    role: Text<'a>,
    content: Option<&'a RawValue>,
    tool_calls: Option<&'a RawValue>,
}

impl ContextRecord<'_> {
    /// Returns the directory in the system prompt.
    pub(crate) fn directory(&self) -> Option<String> {
        self.role.get().filter(|role| *role == "_system_prompt")?;
        let text = plain_text(self.content);
        let (_, rest) = text.split_once(DIRECTORY_IS)?;
        rest.split_once('`').map(|(dir, _)| dir.to_owned())
    }
}

impl Record for ContextRecord<'_> {
    fn at(&self, _zone: &TimeZone) -> Option<Timestamp> {
        None
    }

    fn turn(&self) -> Option<Turn> {
        let mut turn = Turn::new(Role::from_name(self.role.get()), None);
        let text = plain_text(self.content);
        match turn.role {
            // Texts that the program inserts for the model begin with this tag.
            Role::User if text.starts_with("<system") => {}
            Role::User | Role::Assistant => turn.add_text(text),
            Role::Tool => turn.tool(format!("→ {text}")),
            Role::System => return None,
        }
        tool_calls(self.tool_calls).into_iter().for_each(|call| turn.tool(call));
        Some(turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, payload: &str) -> WireEvent {
        let text = format!(r#"{{"timestamp":1769940000.5,"message":{{"type":"{kind}","payload":{payload}}}}}"#);
        serde_json::from_str::<WireRecord<'_>>(&text).expect("a record").event()
    }

    #[test]
    fn prompt_may_be_string_or_list() {
        assert_eq!(event("TurnBegin", r#"{"user_input":"fix it"}"#), WireEvent::Prompt("fix it".to_owned()));
        let list = r#"{"user_input":[{"type":"text","text":"fix"},{"type":"image_url","image_url":{}},{"type":"text","text":"it"}]}"#;
        assert_eq!(event("SteerInput", list), WireEvent::Prompt("fix\nit".to_owned()));
        assert_eq!(event("TurnBegin", r#"{"user_input":"/compact"}"#), WireEvent::StepBegin);
        assert_eq!(
            event("TurnBegin", r#"{"user_input":"/usr/bin is full"}"#),
            WireEvent::Prompt("/usr/bin is full".to_owned())
        );
        for odd in ["7", "null", "[]", "{}", r#"{"user_input":{}}"#] {
            assert_eq!(event("TurnBegin", odd), WireEvent::StepBegin, "{odd}");
        }
    }

    #[test]
    fn reply_counts_after_its_tool_results() {
        let (text, call, answer) = (
            WireEvent::Text("x".to_owned()),
            WireEvent::Call("Shell".to_owned()),
            WireEvent::Answer("done".to_owned()),
        );
        let (prompt, begin, done, end) =
            (WireEvent::Prompt("p".to_owned()), WireEvent::StepBegin, WireEvent::StepDone, WireEvent::TurnEnd);
        let count = |events: &[&WireEvent]| {
            let mut replies = Replies::default();
            events.iter().for_each(|event| replies.add_event(event));
            replies.count()
        };
        assert_eq!(count(&[&prompt, &begin, &text, &call, &done, &answer, &begin, &text, &done, &end]), 2);
        assert_eq!(
            count(&[&prompt, &begin, &text, &call, &done, &prompt, &begin, &text, &done]),
            1,
            "killed in a tool"
        );
        assert_eq!(count(&[&prompt, &begin, &text]), 0, "killed in a message");
        assert_eq!(count(&[&prompt, &begin, &WireEvent::Failed, &WireEvent::Failed, &end]), 0, "the API failed");
        assert_eq!(count(&[&prompt, &begin, &text, &end]), 1, "without a status");
    }

    #[test]
    fn work_dirs_skip_malformed_entries() {
        let dirs = work_dirs(
            br#"{"work_dirs":[7,{"path":"/a","kaos":"local"},{"path":"/b"},{"path":null},[],{"path":"/c","kaos":"ssh"}]}"#,
        );
        let dirs: Vec<_> = dirs.expect("a map").into_iter().map(|dir| (dir.path, dir.kaos)).collect();
        let expected =
            [("/a", "local"), ("/b", "local"), ("/c", "ssh")].map(|(dir, kaos)| (dir.to_owned(), kaos.to_owned()));
        assert_eq!(dirs, expected);
        assert_eq!(work_dirs(br#"{"work_dirs":7}"#), Some(Vec::new()));
        assert_eq!(work_dirs(b"7"), None);
        assert_eq!(work_dirs(b"{"), None);
    }

    #[test]
    fn context_record_has_directory_and_messages() {
        let read = |text: &str| {
            let record: ContextRecord<'_> = serde_json::from_str(text).expect("a record");
            (record.directory(), record.prompt(), record.is_reply(), record.messages().len())
        };
        let system = r#"{"role":"_system_prompt","content":"X. The current working directory is `/a b`. Y `z`."}"#;
        assert_eq!(read(system), (Some("/a b".to_owned()), None, false, 0));
        assert_eq!(
            read(r#"{"role":"user","content":[{"type":"text","text":"go"}]}"#),
            (None, Some("go".to_owned()), false, 1)
        );
        assert_eq!(read(r#"{"role":"user","content":"<system>compacted</system>"}"#), (None, None, false, 0));
        let call =
            r#"{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"Shell","arguments":"{}"}},7]}"#;
        assert_eq!(read(call), (None, None, true, 2));
        assert_eq!(read(r#"{"role":7,"content":{},"tool_calls":7}"#), (None, None, false, 0));
    }
}
