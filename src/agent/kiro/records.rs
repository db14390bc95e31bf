//! The records of Kiro CLI in both layouts, and the files about a session.

use crate::agent::lines;
use crate::agent::prelude::*;
use crate::format::content::call;
use crate::format::json::{epoch, list};

/// A line of a log: `kind` and `data` in the first layout, `timestamp` and `payload` in the second one.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(in crate::agent) struct KiroRecord<'a> {
    kind: Text<'a>,
    data: Option<&'a RawValue>,
    timestamp: Text<'a>,
    payload: Option<&'a RawValue>,
}

impl lines::Record for KiroRecord<'_> {
    fn at(&self, _zone: &TimeZone) -> Option<Timestamp> {
        // Only a prompt of the first layout has a time.
        self.timestamp.instant().or_else(|| epoch(member(member(self.data, "meta"), "timestamp"), 1))
    }

    fn turn(&self) -> Option<Turn> {
        let at = self.at(&TimeZone::UTC);
        let role = match self.kind.get() {
            Some("Prompt") => Role::User,
            Some("AssistantMessage") => Role::Assistant,
            Some("ToolResults") => Role::Tool,
            _ => return self.payload_turn(at),
        };
        let mut turn = Turn::new(role, at);
        for part in list(member(self.data, "content")) {
            add_part(part, &mut turn);
        }
        Some(turn)
    }

    fn ends_turn(&self) -> bool {
        text_in(self.payload, "type").get() == Some("turn_end")
    }
}

impl KiroRecord<'_> {
    fn payload_turn(&self, at: Option<Timestamp>) -> Option<Turn> {
        let [kind, content] = texts_in(self.payload, ["type", "content"]);
        let mut turn = match kind.get()? {
            "user" => Turn::new(Role::User, at),
            "assistant" => Turn::new(Role::Assistant, at),
            "tool_call" => {
                let mut turn = Turn::new(Role::Tool, at);
                turn.tool(call(None, member(self.payload, "args").map(RawValue::get)));
                return Some(turn);
            }
            _ => return None,
        };
        turn.add_text(content.get().unwrap_or_default());
        Some(turn)
    }
}

/// Adds a part of a message in the first layout.
fn add_part(part: &RawValue, turn: &mut Turn) {
    let [kind, data] = members(Some(part), ["kind", "data"]);
    match inner::<Text<'_>>(kind).get() {
        Some("text") => turn.add_text(inner::<Text<'_>>(data).get().unwrap_or_default()),
        Some("toolUse") => {
            let [name, input] = members(data, ["name", "input"]);
            turn.tool(call(inner::<Text<'_>>(name).filled(), input.map(RawValue::get)));
        }
        Some("toolResult") => {
            let texts = list(member(data, "content")).into_iter().filter_map(|part| {
                let [kind, text] = texts_in(Some(part), ["kind", "data"]);
                text.get().filter(|_| kind.get() == Some("text")).map(str::to_owned)
            });
            turn.tool(format!("→ {}", texts.collect::<Vec<_>>().join("\n")));
        }
        _ => {}
    }
}

/// The parsed fields of `<id>.json` of the first layout.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct CliFile<'a> {
    cwd: Text<'a>,
    title: Text<'a>,
    created_at: Text<'a>,
    updated_at: Text<'a>,
    parent_session_id: Text<'a>,
    session_created_reason: Text<'a>,
    session_state: Option<&'a RawValue>,
}

impl CliFile<'_> {
    pub(super) fn describe(&self, copy: &mut SessionCopy, modified: Option<Timestamp>) {
        copy.title = self.title.filled().map(|title| Fact::new(title, "title"));
        copy.parent_id = self.parent_session_id.filled().map(str::to_owned);
        if self.session_created_reason.get() == Some("subagent") && copy.kind == SessionKind::Main {
            // A session without a terminal has the same reason, and no parent (aws/amazon-q-developer-cli #3842).
            copy.kind = if copy.parent_id.is_some() { SessionKind::Subagent } else { SessionKind::Exec };
        }
        let model = member(member(self.session_state, "rts_model_state"), "model_info");
        copy.model = text_in(model, "model_id").filled().map(|model| Fact::new(model, "session"));
        set_times(copy, &self.created_at, &self.updated_at, modified);
        copy.set_dir(self.cwd.filled(), "cwd of its file");
    }
}

/// The parsed fields of `session.json` of the second layout.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct WorkspaceFile<'a> {
    title: Text<'a>,
    model_id: Text<'a>,
    workspace_paths: Option<&'a RawValue>,
    created_at: Text<'a>,
    last_modified_at: Text<'a>,
}

impl WorkspaceFile<'_> {
    pub(super) fn describe(&self, copy: &mut SessionCopy, modified: Option<Timestamp>) {
        copy.title = self.title.filled().map(|title| Fact::new(title, "title"));
        copy.model = self.model_id.filled().map(|model| Fact::new(model, "session"));
        set_times(copy, &self.created_at, &self.last_modified_at, modified);
        // With several directories, the start directory is unknown.
        if let [dir] = list(self.workspace_paths).as_slice() {
            copy.set_dir(inner::<Text<'_>>(Some(*dir)).filled(), "workspacePaths of session.json");
        }
    }
}

/// Sets the times of a session. The time of its file is the last activity if no record has a later one.
fn set_times(copy: &mut SessionCopy, created: &Text<'_>, changed: &Text<'_>, modified: Option<Timestamp>) {
    let fact = |at: &Text<'_>| at.instant().map(|at| Fact::new(at, "session"));
    copy.created_at = fact(created).or_else(|| copy.created_at.take());
    let recorded = copy.active_at.take().filter(|at| at.source != "mtime");
    copy.active_at = recorded.into_iter().chain(fact(changed)).max_by_key(|at| at.value);
    copy.set_active_by_file(modified);
}
