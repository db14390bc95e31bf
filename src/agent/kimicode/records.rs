//! The files of a Kimi Code session: `state.json`, and the log of the conversation.
//!
//! Facts: Kimi Code 2.1.0, measured; the log's types by its code too, and prompts that begin with a skill by
//! MoonshotAI/kimi-code packages/agent-core-v2/src/agent/contextMemory/types.ts d723cc47. Versions before 2 by its
//! sessionIndexSource.ts (`recoverCwd`, `parseTime`) and packages/agent-core/src/session/store/session-store.ts. The
//! messages of an imported session have no origin: they are those of Kimi CLI's context.jsonl, with their roles.

use crate::agent::ids::consists_of;
use crate::agent::lines;
use crate::agent::prelude::*;
use crate::format::content::{Block, blocks, call, plain_text, tool_calls};
use crate::format::json::{epoch, list};

/// The contents of `state.json`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct KimiCodeState<'a> {
    cwd: Text<'a>,
    work_dir: Text<'a>,
    pub(super) title: Text<'a>,
    pub(super) archived: Flag,
    created_at: Option<&'a RawValue>,
    updated_at: Option<&'a RawValue>,
    custom: Option<&'a RawValue>,
}

/// Prefix of the id of an imported session; the id in Kimi CLI follows.
pub(super) const IMPORTED: &str = "ses_";

/// The origin of an imported session.
#[derive(Debug)]
pub(super) struct ImportOrigin {
    /// The id in Kimi CLI.
    pub(super) id: String,
    /// The path from which it was imported.
    source: PathBuf,
    /// The time of the import.
    pub(super) at: Option<Timestamp>,
}

impl ImportOrigin {
    /// Returns whether the session was imported from this copy. The home may have moved since, so only the end of the
    /// path is compared.
    pub(super) fn is_of(&self, older: &Located) -> bool {
        let name = self.source.file_name().and_then(|name| name.to_str());
        let project = self.source.parent().and_then(|dir| dir.file_name()).and_then(|name| name.to_str());
        let is_named =
            name.is_some_and(|name| name.strip_suffix(".jsonl").unwrap_or(name) == older.id || name == older.id);
        self.id == older.id && is_named && project == older.project.as_deref()
    }
}

impl KimiCodeState<'_> {
    pub(super) fn created_at(&self) -> Option<Timestamp> {
        time(self.created_at)
    }

    pub(super) fn updated_at(&self) -> Option<Timestamp> {
        time(self.updated_at)
    }

    /// Returns the directory, as Kimi Code's `recoverCwd` does.
    pub(super) fn dir(&self) -> Option<String> {
        let custom = text_in(self.custom, "cwd");
        [&self.cwd, &self.work_dir, &custom].into_iter().find_map(Text::filled).map(str::to_owned)
    }

    /// Returns the origin of an imported session.
    pub(super) fn import(&self) -> Option<ImportOrigin> {
        let [is_imported] = members(self.custom, ["imported_from_kimi_cli"]);
        let [id, source, at] = texts_in(self.custom, ["kimi_cli_session_id", "kimi_cli_source_path", "imported_at"]);
        inner::<Flag>(is_imported).0.then_some(())?;
        Some(ImportOrigin { id: id.filled()?.to_owned(), source: source.filled()?.into(), at: at.instant() })
    }
}

/// Parses a time: versions before 2 wrote texts.
fn time(raw: Option<&RawValue>) -> Option<Timestamp> {
    epoch(raw, 1000).or_else(|| inner::<Text<'_>>(raw).instant())
}

/// A line of the log; lines that are not about the conversation have no turn.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(in crate::agent) struct KimiCodeRecord<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    time: Option<&'a RawValue>,
    message: Option<&'a RawValue>,
    event: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

impl KimiCodeRecord<'_> {
    /// Returns a message of the conversation. A message without an origin was imported from Kimi CLI.
    fn message(&self) -> Option<Turn> {
        let [content, origin, calls] = members(self.message, ["content", "origin", "toolCalls"]);
        let said_by = text_in(self.message, "role");
        let (put_in, text) = divide(content, list(member(origin, "skillActivations")).len());
        let slash = origin.and_then(slash_command);
        let is_typed = match origin {
            Some(_) => text_in(origin, "kind").get() == Some("user") || slash.is_some(),
            // Kimi CLI marks the texts that it adds for the model with this tag.
            None => !text.starts_with("<system"),
        };
        let role = match said_by.get() {
            Some("user") if is_typed => Role::User,
            Some("assistant") if origin.is_none() => Role::Assistant,
            _ => Role::System,
        };
        let mut turn = Turn::new(role, self.time());
        if origin.is_none() && said_by.get() == Some("tool") {
            turn.tool(format!("→ {text}"));
        } else {
            let is_command = slash.is_some();
            turn.add_text(slash.unwrap_or_else(|| text.clone()));
            // The model gets the text of a skill; the user typed its name.
            let expanded = if is_command { text } else { put_in };
            if !expanded.is_empty() {
                turn.messages.push(Message::new(Role::System, expanded, turn.at));
            }
        }
        tool_calls(calls).into_iter().for_each(|call| turn.tool(call));
        Some(turn)
    }

    /// Returns an event in a step of the model. All texts of one step are one reply.
    fn step(&self) -> Option<Turn> {
        let [part, args, result] = members(self.event, ["part", "args", "result"]);
        let kind = text_in(self.event, "type");
        let is_said = kind.get() == Some("content.part");
        let mut turn = Turn::new(if is_said { Role::Assistant } else { Role::Tool }, self.time());
        match kind.get()? {
            "content.part" if text_in(part, "type").get() == Some("text") => {
                turn.id = text_in(self.event, "stepUuid").into_inner().map(|step| step.into_owned());
                turn.add_text(text_in(part, "text").get()?);
            }
            "tool.call" => turn.tool(call(text_in(self.event, "name").get(), args.map(RawValue::get))),
            "tool.result" => turn.tool(format!("→ {}", plain_text(member(result, "output")).trim_end())),
            _ => return None,
        }
        Some(turn)
    }

    /// Returns the error with which a turn ended.
    fn api_error(&self) -> Option<Turn> {
        let mut turn = Turn::new(Role::System, self.time());
        let [code, message] = texts_in(self.error, ["code", "message"]);
        turn.error(message.filled().filter(|_| code.get().is_some_and(|code| code.starts_with("provider.")))?);
        Some(turn)
    }

    fn time(&self) -> Option<Timestamp> {
        epoch(self.time, 1000)
    }
}

/// Divides the text of a message: that of the skills before the prompt, one block each, and the rest.
fn divide(content: Option<&RawValue>, skills: usize) -> (String, String) {
    let text = |block| if let Block::Text(text) = block { Some(text) } else { None };
    let texts: Vec<_> = blocks(content).into_iter().filter_map(text).collect();
    let (put_in, typed) = texts.split_at(skills.min(texts.len()));
    (put_in.join("\n"), typed.join("\n"))
}

/// Returns the command that the user typed to start a skill or the command of a plugin, in the form of its menu of `/undo`.
fn slash_command(origin: &RawValue) -> Option<String> {
    let texts = ["kind", "trigger", "skillName", "skillArgs", "pluginId", "commandName", "commandArgs"];
    let [kind, trigger, skill, skill_args, plugin, command, command_args] = texts_in(Some(origin), texts);
    if trigger.get() != Some("user-slash") {
        return None;
    }
    let (name, args) = match kind.get()? {
        "skill_activation" => (skill.filled()?.to_owned(), skill_args),
        "plugin_command" => (format!("{}:{}", plugin.filled()?, command.filled()?), command_args),
        _ => return None,
    };
    Some(format!("/{name} {}", args.get().unwrap_or_default()).trim_end().to_owned())
}

impl lines::Record for KimiCodeRecord<'_> {
    fn at(&self, _zone: &TimeZone) -> Option<Timestamp> {
        self.time()
    }

    fn turn(&self) -> Option<Turn> {
        match self.kind.get()? {
            "context.append_message" => self.message(),
            "context.append_loop_event" => self.step(),
            "turn.ended" => self.api_error(),
            _ => None,
        }
    }

    fn ends_turn(&self) -> bool {
        matches!(self.kind.get(), Some("turn.ended" | "prompt.completed"))
    }
}

/// Returns whether a name can be an id. An imported session has the id from Kimi CLI, which accepts any directory name.
pub(super) fn is_id(name: &str) -> bool {
    if let Some(older) = name.strip_prefix(IMPORTED) {
        return !older.is_empty() && !older.contains('/') && !older.chars().any(char::is_control);
    }
    name.strip_prefix("session_").is_some_and(|rest| consists_of(rest, b"-", 128))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::lines::Record as _;
    use crate::format::json;

    fn message(line: &str) -> Option<(Role, String)> {
        let messages =
            json::record::<KimiCodeRecord<'_>>(line.as_bytes()).map(|record| record.messages()).unwrap_or_default();
        messages.into_iter().next().map(|message| (message.role, message.text))
    }

    #[test]
    fn parser_distinguishes_prompts_replies_and_tools() {
        let typed = r#"{"type":"context.append_message","message":{"role":"user","content":[{"type":"text","text":"a"}],"origin":{"kind":"user"}},"time":1769940000000}"#;
        assert_eq!(message(typed), Some((Role::User, "a".to_owned())));
        assert_eq!(
            message(&typed.replace(r#""kind":"user""#, r#""kind":"injection""#)),
            Some((Role::System, "a".to_owned()))
        );
        let event = |event: &str| message(&format!(r#"{{"type":"context.append_loop_event","event":{event}}}"#));
        let part = r#"{"type":"content.part","stepUuid":"s","part":{"type":"text","text":"b"}}"#;
        assert_eq!(event(part), Some((Role::Assistant, "b".to_owned())));
        assert_eq!(event(&part.replace(r#""type":"text""#, r#""type":"think""#)), None);
        let called = r#"{"type":"tool.call","name":"Bash","args":{"command":"ls"}}"#;
        assert_eq!(event(called), Some((Role::Tool, r#"Bash {"command":"ls"}"#.to_owned())));
        let answered = r#"{"type":"tool.result","result":{"output":"x\n","durationMs":1}}"#;
        assert_eq!(event(answered), Some((Role::Tool, "→ x".to_owned())));
        for other in
            [r#"{"type":"turn.prompt","input":[{"type":"text","text":"a"}]}"#, "{}", r#"{"type":7,"event":[]}"#]
        {
            assert_eq!(message(other), None, "{other}");
        }
    }

    #[test]
    fn slash_command_of_user_is_prompt() {
        let texts = |text: &str, origin: &str| {
            let line = format!(
                r#"{{"type":"context.append_message","message":{{"role":"user","content":[{text}],"origin":{origin}}}}}"#
            );
            let messages = json::record::<KimiCodeRecord<'_>>(line.as_bytes()).expect("a record").messages();
            messages.into_iter().map(|message| (message.role, message.text)).collect::<Vec<_>>()
        };
        let (skill, typed) = (r#"{"type":"text","text":"<skill>"}"#, r#"{"type":"text","text":"paint it"}"#);
        let put_in = (Role::System, "<skill>".to_owned());
        let prompt = |text: &str| (Role::User, text.to_owned());
        let origin =
            r#"{"kind":"skill_activation","trigger":"user-slash","skillName":"review","skillArgs":"the ferry"}"#;
        assert_eq!(texts(skill, origin), [prompt("/review the ferry"), put_in.clone()]);
        assert_eq!(texts(skill, &origin.replace("user-slash", "model-tool")), std::slice::from_ref(&put_in));
        let origin = r#"{"kind":"plugin_command","trigger":"user-slash","pluginId":"p","commandName":"c"}"#;
        assert_eq!(texts(skill, origin), [prompt("/p:c"), put_in.clone()]);
        let origin = r#"{"kind":"user","skillActivations":[{"skillName":"review"}]}"#;
        assert_eq!(texts(&format!("{skill},{typed}"), origin), [prompt("paint it"), put_in]);
        assert_eq!(texts(typed, r#"{"kind":"user"}"#), [prompt("paint it")]);
    }

    #[test]
    fn message_without_origin_counts_as_imported() {
        let record = |message: &str| format!(r#"{{"type":"context.append_message","message":{message}}}"#);
        let texts = |message: &str| {
            let text = record(message);
            let messages = json::record::<KimiCodeRecord<'_>>(text.as_bytes()).expect("a record").messages();
            messages.into_iter().map(|message| (message.role, message.text)).collect::<Vec<_>>()
        };
        let content = |text: &str| format!(r#"[{{"type":"text","text":"{text}"}}]"#);
        let typed = format!(r#"{{"role":"user","content":{},"toolCalls":[]}}"#, content("a"));
        assert_eq!(texts(&typed), [(Role::User, "a".to_owned())]);
        assert_eq!(texts(&typed.replace("\"a\"", "\"<system>x\"")), [(Role::System, "<system>x".to_owned())]);
        let call = r#"{"id":"c","function":{"name":"Shell","arguments":"{}"}}"#;
        let reply = format!(r#"{{"role":"assistant","content":{},"toolCalls":[{call}]}}"#, content("b"));
        assert_eq!(texts(&reply), [(Role::Assistant, "b".to_owned()), (Role::Tool, "Shell {}".to_owned())]);
        assert!(json::record::<KimiCodeRecord<'_>>(record(&reply).as_bytes()).is_some_and(|record| record.is_reply()));
        assert!(!json::record::<KimiCodeRecord<'_>>(record(&typed).as_bytes()).is_some_and(|record| record.is_reply()));
        let answer = format!(r#"{{"role":"tool","content":{},"toolCallId":"c"}}"#, content("x"));
        assert_eq!(texts(&answer), [(Role::Tool, "→ x".to_owned())]);
    }

    #[test]
    fn id_needs_known_prefix_and_plain_characters() {
        assert!(is_id("ses_nosuch") && is_id("ses_two words"));
        assert!(!is_id("ses_") && !is_id("ses_a\u{1b}b"));
        assert!(is_id("session_4d25cf93-d87f-4fe7-bd0d-4c890ea87bdd"));
        for other in ["", "session_", "x", "session_..", "session_a/b", "session_a b", "-session_a"] {
            assert!(!is_id(other), "{other}");
        }
    }
}
